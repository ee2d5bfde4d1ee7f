"""Measures time, instructions and state of every scheme by number of flows (about 15 minutes for all).

The table has values for 10, 1 000 and 100 000 active flows: nanoseconds and instructions per packet at the edge
(marker) and at the port, and bytes of state at the port and per user at the edge. At the port, a packet is an arrival
and the resulting departure or drop. Times are the minimum of several processes. Callgrind counts instructions but not
cache misses. `crates/bench/src/bin/cost.rs` defines the traffic.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fairlane.simulate.catalogue import schemes as catalogue

from .harness import ROOT, Report, bench, build, conditions, instructions, run

FLOWS = (10, 1_000, 100_000)
TURNS = 3
COUNTED_PACKETS = 100_000
EVALUATED = ROOT / "python" / "fairlane" / "evaluate" / "costs.csv"

Cost = dict[str, float | None]
"""Values of a scheme for a number of active flows, by column of the table. Without valgrind, instructions are None.
"""
ONCE = {"bytes at the port, idle", "bytes at the edge per user"}
"""Columns that do not depend on the number of flows."""


def measure(program: Path, scheme: str, flows: int) -> Cost:
    """Runs a scheme several times."""
    turns: list[dict[str, Any]] = [run(program, scheme, str(flows)) for _ in range(TURNS)]
    state = turns[0]
    has_edge = state["edge_bytes"] > 0

    def count(function: str) -> float | None:
        inside = [f"--toggle-collect=cost::{function}*"]
        return instructions(program, scheme, str(flows), str(COUNTED_PACKETS), options=inside)

    return {
        "ns per packet, port": min(turn["port_ns"] for turn in turns),
        "instructions, port": count("port"),
        "ns, edge": min(turn["edge_ns"] for turn in turns) if has_edge else 0.0,
        "instructions, edge": count("edge") if has_edge else 0.0,
        "bytes at the port, idle": state["port_bytes_idle"],
        "bytes at the port": state["port_bytes"],
        "bytes at the edge per user": state["edge_bytes"] / flows,
    }


def cells(of_flows: list[Cost]) -> list[object]:
    """Returns a row of the table. Each cell has the values for all numbers of flows."""
    found = {name: tuple(cost[name] for cost in (of_flows[:1] if name in ONCE else of_flows)) for name in of_flows[0]}
    return [values if any(values) else "-" for values in found.values()]


def write_instructions(costs: dict[str, list[Cost]]) -> None:
    """Writes the instructions per packet with 1 000 flows, which are criteria of `fairlane evaluate`."""
    lines = ["scheme,cost_core,cost_edge"]
    for scheme, (_, of_many, _) in costs.items():
        core, edge = of_many["instructions, port"], of_many["instructions, edge"]
        if core is not None and edge is not None:
            lines.append(f"{scheme},{core:.0f},{edge:.0f}")
    EVALUATED.write_text("\n".join([*lines, ""]), encoding="utf-8")


@bench("schemes", page="site/data/costs.json")
@click.argument("schemes", nargs=-1, metavar="[SCHEME]...")
def main(report: Report, schemes: tuple[str, ...]) -> None:
    """Measures schemes. Writes the page and the criteria of `fairlane evaluate` only if all schemes are measured."""
    names = schemes or [scheme["name"] for scheme in catalogue()]
    program = build("cost")
    costs: dict[str, list[Cost]] = {}
    for number, name in enumerate(names, 1):
        costs[name] = [measure(program, name, flows) for flows in FLOWS]
        port = costs[name][1]["ns per packet, port"]
        report.progress(number, len(names), f"{name}: {port:.0f} ns at the port with 1000 flows")
    if schemes:
        report.page = None
    else:
        write_instructions(costs)
    columns = {"scheme": "", **dict.fromkeys(costs[names[0]][0], "{:.0f}")}
    flows = ", ".join(f"{number:,}".replace(",", " ") for number in FLOWS)
    above = f"Measured on {conditions()}. Cells with three figures are for {flows} flows."
    report.table(columns, [[f"`{name}`", *cells(of)] for name, of in costs.items()], "measured", above=above)
