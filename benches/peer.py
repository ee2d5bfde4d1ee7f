"""Compares packets per CPU second with another simulator.

    python -m benches peer dumbbell-32 --other './their-dumbbell 32 100 ...'

The other program must run the same scenario, and print one line of JSON with at least `delivered_packets` and
`cpu_seconds`. `delivered_packets` counts packets over the bottleneck; `cpu_seconds` is the CPU time from building the
network to the last event. Without `--other`, variants of Fairlane are compared.
"""

from __future__ import annotations

import shlex
from functools import partial

import click

from .harness import SCENARIOS, Report, bench, build, conditions, interleaved, rate, run, scenario, turns

SCENARIOS_OF_TCP = ("dumbbell-32", "dumbbell-1000")
# Label, scheme, changed keys of [tcp].
VARIANTS = [
    ("drop-tail", "droptail", {}),
    ("drop-tail, an ACK for 2 segments", "droptail", {"delayed_ack": 2}),
    ("ABC", "abc", {}),
    ("ABC, an ACK for 2 segments", "abc", {"delayed_ack": 2}),
]


@bench("peer")
@click.argument("scenarios", nargs=-1, type=click.Choice(SCENARIOS_OF_TCP))
@turns(9)
@click.option("--other", default="", help="Command of the other simulator.")
def main(report: Report, scenarios: tuple[str, ...], turns: int, other: str) -> None:
    """Measures the given scenarios, or all scenarios if none is given, and prints a table for each."""
    for name in scenarios or SCENARIOS_OF_TCP:
        compare(report, name, turns, other)


def compare(report: Report, name: str, turns: int, other: str) -> None:
    """Measures one scenario."""
    measure, file = build("measure"), SCENARIOS / f"{name}.toml"
    commands = {"other": partial(run, *shlex.split(other))} if other else {}
    for label, scheme, tcp in VARIANTS:
        commands[label] = partial(run, measure, scenario(file, queue={"scheme": scheme}, tcp=tcp))
    lines = interleaved(turns, commands)
    base = next(iter(commands))
    columns = {"variant": "", "M packets per CPU s": "{:.2f}", f"ratio to {base}": "{:.2f}"}
    columns |= {"events per packet": "{:.2f}", "use": "{:.3f}", "drops": "{}"}
    rows = []
    for label, results in lines.items():
        ratios = [rate(mine) / rate(theirs) for mine, theirs in zip(results, lines[base], strict=True)]
        last = results[-1]
        events = last["events"] / last["delivered_packets"] if "events" in last else None
        use, drops = last.get("utilisation"), last.get("dropped_packets")
        rows.append([label, [rate(line) for line in results], ratios, events, use, drops])
    above = f"{name}, medians of {turns} turns (lowest to highest), {conditions()}."
    report.table(columns, rows, above=above)
