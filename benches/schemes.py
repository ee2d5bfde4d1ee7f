"""Measures what every scheme costs, and writes the table into docs/costs.md.

    make bench-schemes                          # all schemes: time, instructions, state
    python benches/schemes.py abc csfq          # only these, printed, nothing written

For 10, 1 000 and 100 000 active flows: nanoseconds and instructions per packet at the edge (marker) and at the port (an
arrival, and the departure or drop that it leads to), bytes of state at the port with all flows active, and at the edge
per user. Times are the least of several processes; instructions are counted by callgrind, which does not see cache
misses. `crates/bench/src/bin/cost.rs` says what is sent.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from measuring import ROOT, build, instructions, machine, put_on_page, run, rustc

FLOWS = (10, 1_000, 100_000)
TURNS = 3
COUNTED_PACKETS = 100_000
EVALUATED = ROOT / "python" / "fairlane" / "evaluate" / "costs.csv"


Cost = dict[str, float | None]
"""Of a scheme with so many active flows, by column of the table; instructions are not known without valgrind."""
ONCE = {"bytes at the port, idle", "bytes at the edge per user"}
"""Columns that do not depend on the number of flows."""


def instructions_per_packet(program: Path, function: str, *arguments: str) -> float | None:
    """Instructions per packet inside a function of the program; None without valgrind."""
    if shutil.which("valgrind") is None:
        return None
    inside = [f"--toggle-collect=cost::{function}*"]
    total, printed = instructions(program, *arguments, str(COUNTED_PACKETS), options=inside)
    packets: int = json.loads(printed)["packets"]
    return total / packets


def measure(program: Path, scheme: str, flows: int) -> Cost:
    """Run a scheme several times."""
    turns: list[dict[str, Any]] = [run(program, scheme, str(flows)) for _ in range(TURNS)]
    state = turns[0]
    has_edge = state["edge_bytes"] > 0
    return {
        "ns per packet, port": min(turn["port_ns"] for turn in turns),
        "instructions, port": instructions_per_packet(program, "port", scheme, str(flows)),
        "ns, edge": min(turn["edge_ns"] for turn in turns) if has_edge else 0.0,
        "instructions, edge": instructions_per_packet(program, "edge", scheme, str(flows)) if has_edge else 0.0,
        "bytes at the port, idle": state["port_bytes_idle"],
        "bytes at the port": state["port_bytes"],
        "bytes at the edge per user": state["edge_bytes"] / flows,
    }


def table(costs: dict[str, list[Cost]]) -> str:
    """The costs as a Markdown table."""
    columns = list(next(iter(costs.values()))[0])
    head = f"| scheme | {' | '.join(columns)} |\n{'| --- ' * (1 + len(columns))}|\n"
    return head + "".join(row(scheme, of_flows) for scheme, of_flows in costs.items())


def row(scheme: str, of_flows: list[Cost]) -> str:
    """One line: each cell with the figures of all numbers of flows."""

    def cell(values: list[float | None]) -> str:
        if not any(values):
            return "-"
        return " / ".join("?" if value is None else f"{value:.0f}" for value in values)

    cells = [cell([cost[name] for cost in (of_flows[:1] if name in ONCE else of_flows)]) for name in of_flows[0]]
    return f"| `{scheme}` | {' | '.join(cells)} |\n"


def write_instructions(costs: dict[str, list[Cost]]) -> None:
    """Writes instructions with 1 000 flows, criteria of `fairlane evaluate`, of schemes that have them."""
    lines = ["scheme,cost_core,cost_edge"]
    for scheme, (_, of_many, _) in costs.items():
        core, edge = of_many["instructions, port"], of_many["instructions, edge"]
        if core is not None and edge is not None:
            lines.append(f"{scheme},{core:.0f},{edge:.0f}")
    EVALUATED.write_text("\n".join([*lines, ""]), encoding="utf-8")


def main() -> int:
    """Measure and print or write."""
    parser = argparse.ArgumentParser(description="Measure what every scheme costs.")
    parser.add_argument("schemes", nargs="*", help="only these, printed instead of written")
    wanted: list[str] = parser.parse_args().schemes

    from fairlane.simulate.catalogue import schemes

    names = wanted or [scheme["name"] for scheme in schemes()]
    program = build("cost")
    costs = {}
    for name in names:
        costs[name] = [measure(program, name, flows) for flows in FLOWS]
        print(f"{name}: {costs[name][1]['ns per packet, port']:.0f} ns at the port with 1000 flows", file=sys.stderr)
    if wanted:
        print(table(costs))
        return 0
    flows = ", ".join(f"{number:,}".replace(",", " ") for number in FLOWS)
    head = f"Measured on {machine()}, {rustc()[0]}. Cells with three figures are for {flows} flows."
    write_instructions(costs)
    put_on_page(ROOT / "docs" / "costs.md", "measured", f"{head}\n\n{table(costs).rstrip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
