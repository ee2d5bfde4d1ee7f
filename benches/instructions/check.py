"""Compares instructions per delivered packet with the baseline; fails if they are more than 5 % above it.

Unlike times, counts do not depend on other load, since valgrind executes the program instruction by instruction. The
same program and scenario give the same count within 1/100 000; addresses and environment have a slight effect. Counts
depend on the compiler, so the baseline includes the compiler's version. With another compiler, or without valgrind, the
check is skipped and the exit code is 77.

A result is the number of all instructions of the program, from start to end, divided by the delivered packets. It
ignores cache misses, so an engine with fewer instructions can be slower. `make bench` and `make bench-scale` measure
times.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import click
import tomli_w

from ..harness import Report, Skipped, bench, build, instructions, rustc

HERE = Path(__file__).parent
BASELINE = HERE / "baseline.toml"
TOLERANCE = 0.05
SKIPPED = 77


def check(report: Report, baseline: dict[str, Any], counts: dict[str, float]) -> int:
    """Prints the table. Returns 1 if a scenario exceeds its baseline by more than the tolerance, or has no baseline."""
    limits: dict[str, float] = baseline.get("instructions_per_packet", {})
    rows = []
    for name, value in counts.items():
        change = value / limits[name] - 1 if name in limits else None
        verdict = "within the tolerance"
        if change is None:
            verdict = "not in the baseline: run with --update"
        elif abs(change) > TOLERANCE:
            verdict = "above the tolerance of 5 %" if change > 0 else "below: keep the gain with --update"
        rows.append([name, value, limits.get(name), change, verdict])
    columns = {"scenario": "", "instructions per packet": "{:.1f}", "baseline": "{:.1f}", "change": "{:+.1%}"}
    report.table({**columns, "verdict": ""}, rows)
    return int(any(name not in limits or value / limits[name] - 1 > TOLERANCE for name, value in counts.items()))


@bench("instructions")
@click.option("--update", is_flag=True, help="Write the baseline instead of comparing with it.")
def main(report: Report, update: bool) -> int:
    """Counts instructions. Compares them with the baseline, or updates the baseline."""
    if shutil.which("valgrind") is None:
        raise Skipped("valgrind is not installed (Debian and Ubuntu: apt install valgrind)", SKIPPED)
    version, target = rustc()
    baseline = tomllib.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    known = baseline.get("rustc"), baseline.get("target")
    if not update and known != (version, target):
        reason = f"the baseline is of {known[0]} for {known[1]}, here is {version} for {target}"
        raise Skipped(reason, SKIPPED)

    program = build("count")
    scenarios = tomllib.loads((HERE / "scenarios.toml").read_text(encoding="utf-8"))
    texts = {name: json.dumps(scenario) for name, scenario in scenarios.items()}
    counts = {name: found for name, text in texts.items() if (found := instructions(program, text)) is not None}
    if update:
        content = {
            "rustc": version,
            "target": target,
            "instructions_per_packet": {name: round(value, 1) for name, value in counts.items()},
        }
        head = "# Written by `python -m benches instructions --update`. The commit that changes it says why.\n\n"
        BASELINE.write_text(head + tomli_w.dumps(content), encoding="utf-8")
        baseline = content
    return check(report, baseline, counts)
