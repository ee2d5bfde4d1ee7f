"""Measures what senders cost: delivered packets per CPU second of 32 flows over 100 Mbit/s, turn by turn.

    .venv/bin/python benches/sender_costs.py --turns 9

Each turn runs every congestion control once, one after another, paced where it sets a rate. With valgrind the table
also has the instructions per packet, which depend on nothing else that the machine does.
"""

from __future__ import annotations

import argparse
import shutil
from statistics import median

from measuring import SCENARIOS, Json, build, instructions, machine, run, rustc, scenario

SCENARIO = SCENARIOS / "paced-32.toml"
# Label, keys of [tcp].
VARIANTS: dict[str, Json] = {
    "reno": {"congestion_control": "reno"},
    "cubic": {"congestion_control": "cubic"},
    "cubic, paced": {"congestion_control": "cubic", "pacing": "on"},
    "bbr1": {"congestion_control": "bbr1"},
    "bbr3": {"congestion_control": "bbr3"},
}
# Under valgrind a shorter run tells as much.
SHORT = {"warmup": "2 s", "measure": "8 s"}


def rate(line: Json) -> float:
    """Million delivered packets per CPU second."""
    return float(line["delivered_packets"]) / float(line["cpu_seconds"]) / 1e6


def per_packet(tcp: Json) -> str:
    """Instructions per delivered packet, if valgrind is there."""
    if shutil.which("valgrind") is None:
        return ""
    total, packets = instructions(build("count"), scenario(SCENARIO, tcp=tcp, run=SHORT))
    return f"{total / int(packets):.0f}"


def main() -> None:
    """Measure, then print a Markdown table."""
    parser = argparse.ArgumentParser(description="Measure what senders cost, turn by turn.")
    parser.add_argument("--turns", type=int, default=9, help="turns (default: %(default)s)")
    turns = parser.parse_args().turns

    measure = build("measure")
    lines: dict[str, list[Json]] = {label: [] for label in VARIANTS}
    for _ in range(turns):
        for label, tcp in VARIANTS.items():
            lines[label].append(run(measure, scenario(SCENARIO, tcp=tcp)))

    print(f"{SCENARIO.stem}, {turns} turns, {machine()}, {rustc()[0]}\n")
    columns = ["sender", "M packets per CPU s: median (lowest to highest)", "events per packet"]
    columns += ["instructions per packet", "use", "dropped share"]
    print(f"| {' | '.join(columns)} |")
    print(f"|{'---|' * len(columns)}")
    for label, results in lines.items():
        rates, last = [rate(line) for line in results], results[-1]
        delivered, dropped = int(last["delivered_packets"]), int(last["dropped_packets"])
        print(
            f"| {label} | {median(rates):.2f} ({min(rates):.2f} to {max(rates):.2f}) "
            f"| {last['events'] / delivered:.2f} | {per_packet(VARIANTS[label])} | {last['utilisation']:.3f} "
            f"| {dropped / (delivered + dropped):.3f} |"
        )


if __name__ == "__main__":
    main()
