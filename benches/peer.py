"""Measures Fairlane against another simulator: delivered packets per CPU second, turn by turn.

    .venv/bin/python benches/peer.py benches/scenarios/dumbbell-32.toml --other ./their-dumbbell 32 100 ...

The other program runs the same scenario and prints one line of JSON with at least `delivered_packets` and
`cpu_seconds`, counted as ours are: packets over the bottleneck, CPU time from building the network to the last event.
Each turn runs every variant once, one after another. Without `--other`, Fairlane's variants are compared among
themselves.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median

from measuring import Json, build, machine, run, rustc, scenario

# Label, scheme, whether TCP acknowledges as the scenario says or every second segment.
VARIANTS = [
    ("drop-tail", "droptail", {}),
    ("drop-tail, an ACK for 2 segments", "droptail", {"delayed_ack": 2}),
    ("ABC", "abc", {}),
    ("ABC, an ACK for 2 segments", "abc", {"delayed_ack": 2}),
]


def rate(line: Json) -> float:
    """Million delivered packets per CPU second."""
    return float(line["delivered_packets"]) / float(line["cpu_seconds"]) / 1e6


def main() -> None:
    """Measure, then print a Markdown table."""
    parser = argparse.ArgumentParser(description="Measure Fairlane against another simulator, turn by turn.")
    parser.add_argument("scenario", type=Path, help="scenario file")
    parser.add_argument("--turns", type=int, default=9, help="turns (default: %(default)s)")
    parser.add_argument("--other", nargs=argparse.REMAINDER, default=[], help="command of the other simulator")
    options = parser.parse_args()

    measure = build("measure")
    commands: dict[str, list[str | Path]] = {"other": list(options.other)} if options.other else {}
    for label, scheme, tcp in VARIANTS:
        commands[label] = [measure, scenario(options.scenario, queue={"scheme": scheme}, tcp=tcp)]
    lines: dict[str, list[Json]] = {label: [] for label in commands}
    for _ in range(options.turns):
        for label, command in commands.items():
            lines[label].append(run(*command))

    base = next(iter(commands))
    print(f"{options.scenario.stem}, {options.turns} turns, {machine()}, {rustc()[0]}\n")
    columns = ["variant", "M packets per CPU s: median (lowest to highest)", f"ratio to {base}"]
    columns += ["events per packet", "use", "drops"]
    print(f"| {' | '.join(columns)} |")
    print(f"|{'---|' * len(columns)}")
    for label, results in lines.items():
        rates = [rate(line) for line in results]
        ratios = [mine / rate(theirs) for mine, theirs in zip(rates, lines[base], strict=True)]
        last = results[-1]
        events = last.get("events", float("nan")) / last["delivered_packets"]
        use, drops = last.get("utilisation", float("nan")), last.get("dropped_packets", "")
        print(
            f"| {label} | {median(rates):.2f} ({min(rates):.2f} to {max(rates):.2f}) "
            f"| {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) | {events:.2f} | {use:.3f} | {drops} |"
        )


if __name__ == "__main__":
    main()
