"""Measures the speed-up of replications, and of a single run of an access network, with two threads.

The single run is a shortened `benches/scenarios/access-20000.toml`. Times are wall-clock times, so other load on the
machine reduces the measured speed-up.
"""

from __future__ import annotations

import subprocess

import click

from .harness import SCENARIOS, Report, bench, build, conditions, run, scenario, turns

RUN = {"warmup": "5 s", "measure": "1 s"}


@bench("parallel", page="site/data/benchmarks.json")
@click.option("--threads", default=2, show_default=True, help="Threads of the run.")
@turns(9)
def main(report: Report, threads: int, turns: int) -> None:
    """Prints a table of replications, and writes a table of the single run into the page."""
    subprocess.run([build("parallel")], check=True)
    text = scenario(SCENARIOS / "access-20000.toml", run=RUN)
    line = run(build("one_run"), text, str(threads), str(turns))
    report.table(
        {"": "", "1 thread": "{:.2f}", f"{threads} threads": "{:.2f}"},
        [
            ["time on the clock (s)", *line["seconds"]],
            ["CPU time (s)", *line["cpu_seconds"]],
            ["gain", "1", line["gains"]],
        ],
        "measured:one_run",
        above=f"Medians of {turns} turns (lowest to highest), {conditions()}; 6 simulated seconds; {line['users']} "
        f"users, {line['links']} links, {line['parts']} parts, lookahead {1e3 * line['lookahead_s']:g} ms.",
    )
