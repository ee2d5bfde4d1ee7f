"""Measures cost per packet and memory for 32 to 100 000 flows, and memory over the simulated time.

Every point is a separate process, so that peak memory is that of one run. Figures show medians with the range of all
turns.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes

from fairlane.results import plots

from . import harness
from .harness import SCENARIOS, Json, Report, bench, build, interleaved, run, scenario, turns

FLOWS = (32, 100, 1_000, 10_000, 30_000, 100_000)
SCHEMES = {"droptail": "drop-tail", "abc": "ABC"}
# Goals: maximum cost relative to the cost with 32 flows; maximum memory in total and per flow.
COST_RATIO = 3
MEMORY_BYTES, MEMORY_BYTES_PER_FLOW = 30_000_000, 1000
COLUMNS = {"scheme": "", "flows": "{}", "bottleneck": "", "ns per packet": "{:.0f}", "over 32 flows": "{:.2f}"}
COLUMNS |= {"events per packet": "{:.2f}", "peak MB": "{:.1f}", "growth per flow": "{:.0f} B"}
WINDOWS = {"10 s": ("5 s", "5 s"), "1000 s": ("5 s", "995 s")}

Points = dict[tuple[str, int], list[Json]]


def memory_over_time(turns: int) -> str:
    """Peak memory of the default mix of abc2018 by simulated time, as Markdown."""
    program, file = build("measure"), SCENARIOS / "abc-default.toml"
    windows = {
        name: partial(run, program, scenario(file, run={"warmup": warmup, "measure": window}))
        for name, (warmup, window) in WINDOWS.items()
    }
    lines = ["Peak memory of the default mix of abc2018 with ABC, without Python, by simulated time:", ""]
    for simulated, results in interleaved(turns, windows).items():
        lines.append(f"- {simulated}: {median(line['peak_bytes'] for line in results) / 1e6:.2f} MB")
    return "\n".join(lines)


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
    subtitle = f"New Reno, one user per flow; median and range of {turns} turns; {harness.machine()}"
    with plots.figure("CPU time per delivered packet", subtitle) as (drawn, axes):
        for number, (scheme, label) in enumerate(SCHEMES.items()):
            costs = {n: [harness.nanoseconds(line) for line in points[scheme, n]] for n in FLOWS}
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


def rows(points: Points) -> list[list[object]]:
    """Values of the table."""
    found: list[list[object]] = []
    for (scheme, flows), results in points.items():
        bases = points[scheme, FLOWS[0]]
        last = results[-1]
        rate = last["bottleneck_mbit"]
        found.append(
            [
                SCHEMES[scheme],
                flows,
                f"{rate // 1000} Gbit/s" if rate >= 1000 else f"{rate} Mbit/s",
                [harness.nanoseconds(line) for line in results],
                median(
                    harness.nanoseconds(line) / harness.nanoseconds(base)
                    for line, base in zip(results, bases, strict=True)
                ),
                last["events"] / last["delivered_packets"],
                median(line["peak_bytes"] / 1e6 for line in results),
                median((line["peak_bytes"] - line["peak_bytes_before"]) / flows for line in results),
            ]
        )
    return found


@bench("scale", page="site/data/benchmarks.json")
@turns(5)
@harness.out("docs/figures")
def main(report: Report, turns: int, out: Path) -> None:
    """Measures, draws, and writes the table into the page."""
    program = build("scale")
    keys = [(scheme, flows) for scheme in SCHEMES for flows in FLOWS]
    points = interleaved(turns, {(scheme, n): partial(run, program, scheme, str(n)) for scheme, n in keys})
    draw(points, turns, out)
    above = f"Medians of {turns} turns (lowest to highest), {harness.conditions()}.\n"
    above += "Growth is memory beyond that of the process before the run, over the flows."
    report.table(COLUMNS, rows(points), "measured:scale", above=above, below=memory_over_time(turns))
