"""Draws cost per packet and memory against the number of flows, and checks that memory does not grow with time.

    make bench-scale

Every point is a process of its own, so that peak memory is that of one run. Turn by turn: each turn runs every point of
every scheme once. Figures get medians with the range of all turns; the tables on the page between
`<!-- measured:scale -->` and `<!-- end -->` are replaced.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from measuring import ROOT, SCENARIOS, Json, build, machine, put_on_page, run, rustc, scenario

from fairlane.results import plots

FLOWS = (32, 100, 1_000, 10_000, 30_000, 100_000)
SCHEMES = {"droptail": "drop-tail", "abc": "ABC"}
# The aims: cost at most this multiple of that of 32 flows, memory at most this much and this much per flow.
COST_RATIO = 3
MEMORY_BYTES, MEMORY_BYTES_PER_FLOW = 30_000_000, 1000
COLUMNS = ["scheme", "flows", "bottleneck", "ns per packet", "over 32 flows", "events per packet", "peak MB"]
COLUMNS += ["growth per flow"]

Points = dict[tuple[str, int], list[Json]]


def nanoseconds(line: Json) -> float:
    """CPU time per delivered packet."""
    return 1e9 * float(line["cpu_seconds"]) / float(line["delivered_packets"])


def measure(turns: int) -> Points:
    """Every point of every scheme, turn by turn."""
    program = build("scale")
    points: Points = {(scheme, flows): [] for scheme in SCHEMES for flows in FLOWS}
    for turn in range(turns):
        for (scheme, flows), lines in points.items():
            print(f"turn {turn + 1} of {turns}: {scheme}, {flows} flows", file=sys.stderr)
            lines.append(run(program, scheme, str(flows)))
    return points


def memory_over_time(turns: int) -> dict[str, float]:
    """Peak memory in bytes of the default mix of abc2018 by simulated time."""
    program = build("measure")
    windows = {"10 s": ("5 s", "5 s"), "1000 s": ("5 s", "995 s")}
    peaks: dict[str, list[float]] = {simulated: [] for simulated in windows}
    for _ in range(turns):
        for simulated, (warmup, window) in windows.items():
            text = scenario(SCENARIOS / "abc-default.toml", run={"warmup": warmup, "measure": window})
            peaks[simulated].append(run(program, text)["peak_bytes"])
    return {simulated: median(values) for simulated, values in peaks.items()}


def curve(axes: Axes, label: str, number: int, values: dict[int, list[float]]) -> None:
    """Medians with the range of all turns."""
    middle = [median(list_) for list_ in values.values()]
    below = [value - min(list_) for value, list_ in zip(middle, values.values(), strict=True)]
    above = [max(list_) - value for value, list_ in zip(middle, values.values(), strict=True)]
    style: Json = {"label": label, "marker": plots.MARKERS[number], "color": plots.COLOURS[number], "capsize": 3}
    axes.errorbar(list(values), middle, yerr=[below, above], **style)


def draw(points: Points, turns: int, out: Path) -> None:
    """The two figures."""
    out.mkdir(parents=True, exist_ok=True)
    subtitle = f"New Reno, one user per flow; median and range of {turns} turns; {machine()}"
    with plots.figure("CPU time per delivered packet", subtitle) as (drawn, axes):
        for number, (scheme, label) in enumerate(SCHEMES.items()):
            costs = {n: [nanoseconds(line) for line in points[scheme, n]] for n in FLOWS}
            curve(axes, label, number, costs)
            aim = COST_RATIO * median(costs[FLOWS[0]])
            text = f"aim for {label}: {COST_RATIO} times the cost of {FLOWS[0]} flows"
            axes.axhline(aim, color=plots.COLOURS[number], linestyle=":", label=text)
        axes.set(xscale="log", xlabel="TCP flows", ylabel="ns", ylim=(0, None))
        plots.legend(drawn, axes)
        plots.save(drawn, out / "scale-cost")
    with plots.figure("Peak memory of a run", subtitle) as (drawn, axes):
        for number, (scheme, label) in enumerate(SCHEMES.items()):
            curve(axes, label, number, {n: [line["peak_bytes"] / 1e6 for line in points[scheme, n]] for n in FLOWS})
        limits = [(MEMORY_BYTES + MEMORY_BYTES_PER_FLOW * n) / 1e6 for n in FLOWS]
        axes.plot(FLOWS, limits, color=plots.PAPER_GREY, label="aim: 30 MB and 1 KB per flow")
        axes.set(xscale="log", yscale="log", xlabel="TCP flows", ylabel="MB")
        plots.legend(drawn, axes)
        plots.save(drawn, out / "scale-memory")


def tables(points: Points, over_time: dict[str, float], turns: int) -> str:
    """What was measured, as Markdown."""
    lines = [
        f"Medians of {turns} turns (lowest to highest), {machine()}, {rustc()[0]}.",
        "Growth is memory beyond that of the process before the run, over the flows.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"| {' | '.join(['---'] * len(COLUMNS))} |",
    ]
    for (scheme, flows), results in points.items():
        cost = [nanoseconds(line) for line in results]
        ratios = [
            nanoseconds(line) / nanoseconds(base) for line, base in zip(results, points[scheme, FLOWS[0]], strict=True)
        ]
        last = results[-1]
        rate = last["bottleneck_mbit"]
        growth = median([(line["peak_bytes"] - line["peak_bytes_before"]) / flows for line in results])
        lines.append(
            f"| {SCHEMES[scheme]} | {flows} | {f'{rate // 1000} Gbit/s' if rate >= 1000 else f'{rate} Mbit/s'} "
            f"| {median(cost):.0f} ({min(cost):.0f} to {max(cost):.0f}) | {median(ratios):.2f} "
            f"| {last['events'] / last['delivered_packets']:.2f} "
            f"| {median([line['peak_bytes'] for line in results]) / 1e6:.1f} | {growth:.0f} B |"
        )
    lines += ["", "Peak memory of the default mix of abc2018 with ABC, without Python, by simulated time:", ""]
    lines += [f"- {simulated}: {peak / 1e6:.2f} MB" for simulated, peak in over_time.items()]
    return "\n".join(lines)


def main() -> None:
    """Measure, draw, and put the tables on the page."""
    parser = argparse.ArgumentParser(description="Draw cost per packet and memory against the number of flows.")
    parser.add_argument("--turns", type=int, default=5, help="turns (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/figures", help="folder of the figures")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/benchmarks.md", help="page with the tables")
    options = parser.parse_args()

    points = measure(options.turns)
    text = tables(points, memory_over_time(options.turns), options.turns)
    draw(points, options.turns, options.out)
    print(text)
    put_on_page(options.page, "measured:scale", text)


if __name__ == "__main__":
    main()
