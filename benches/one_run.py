"""Measures one run of an access network on one thread and on two, turn by turn.

    make bench-parallel

`benches/scenarios/access-20000.toml`, shortened. The table of docs/benchmarks.md between `<!-- measured:one_run -->`
and `<!-- end -->` is replaced. Times are those on the clock: on a machine with other work the gain is too small.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from statistics import median

from measuring import ROOT, SCENARIOS, Json, build, machine, put_on_page, rustc, scenario

RUN = {"warmup": "5 s", "measure": "1 s"}


def of(values: list[float]) -> str:
    """Median with lowest and highest."""
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def table(line: Json, turns: int) -> str:
    """What was measured, as Markdown."""
    threads = line["threads"]
    rows = [
        f"Medians of {turns} turns (lowest to highest), {machine()}, {rustc()[0]}; 6 simulated seconds; "
        f"{line['users']} users, {line['links']} links, {line['parts']} parts, "
        f"lookahead {1e3 * line['lookahead_s']:g} ms.",
        "",
        f"| | 1 thread | {threads} threads |",
        "| --- | --- | --- |",
        f"| time on the clock (s) | {of(line['seconds'][0])} | {of(line['seconds'][1])} |",
        f"| CPU time (s) | {of(line['cpu_seconds'][0])} | {of(line['cpu_seconds'][1])} |",
        f"| gain | 1 | {of(line['gains'])} |",
    ]
    return "\n".join(rows)


def main() -> None:
    """Measure, and put the table on the page."""
    parser = argparse.ArgumentParser(description="Measure one run on one thread and on several.")
    parser.add_argument("--threads", type=int, default=2, help="threads (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=9, help="turns (default: %(default)s)")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/benchmarks.md", help="page with the table")
    options = parser.parse_args()

    text = scenario(SCENARIOS / "access-20000.toml", run=RUN)
    command = [str(build("one_run")), text, str(options.threads), str(options.turns)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = table(json.loads(done.stdout), options.turns)
    print(found)
    put_on_page(options.page, "measured:one_run", found)


if __name__ == "__main__":
    main()
