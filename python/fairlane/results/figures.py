"""The pictures that `run` and `compare` write: throughput of users, queue, and both over time.

Up to seven schemes share axes and a legend. More would be told apart by nobody: each has a row or a panel of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlane.base.text import for_figure
from fairlane.results import plots
from fairlane.results.intervals import interval
from fairlane.results.replications import Replications

MOST_IN_ONE = len(plots.COLOURS)
"""Schemes that share axes."""
MOST_PANELS = 16
"""Groups that a picture of rows has room for."""
PANEL_COLUMNS = 4
PANEL_IN = 1.25
"""Height of a scheme's panel."""
WAITING = "waiting packets at the bottleneck"
OF_RUNS = "mean over the runs"


def result_figures(results: Sequence[Replications]) -> dict[str, Figure]:
    """Throughput of users, queue length, and, where there are series, rate and queue over time; by file name."""
    many = len(results) > MOST_IN_ONE
    figures = {
        "throughput": _throughput_rows(results) if many else _throughput(results),
        "queue": _queue_rows(results) if many else _queue(results),
    }
    if any(run["series"] for result in results for run in result.runs):
        figures |= {
            "rate-over-time": _rate_panels(results) if many else _rates(results),
            "queue-over-time": _queue_panels(results) if many else _queue_over_time(results),
        }
    return figures


def _throughput_rows(results: Sequence[Replications]) -> Figure:
    groups = [group["name"] for group in results[0].scenario["groups"]][:MOST_PANELS]
    panels = {}
    for index, group in enumerate(groups):
        estimates = [result.summary["groups"][index]["throughput_bps"] for result in results]
        panels[f"{for_figure(group)} (Mbit/s)"] = [
            (one["mean"] / 1e6, one["half_width"] and one["half_width"] / 1e6) for one in estimates
        ]
    left_out = len(results[0].scenario["groups"]) - len(groups)
    what = "throughput of a user" + (f", without {left_out} more groups" if left_out else "")
    schemes = [result.scenario["queue"]["scheme"] for result in results]
    title = "\n".join(_titles(results, what, "bars: 95% intervals"))
    return plots.rows_of_schemes(title, schemes, panels, min(len(panels), PANEL_COLUMNS))


def _queue_rows(results: Sequence[Replications]) -> Figure:
    how = "dot: median, thick: 25 to 75 % of the time, thin: 5 to 95 %"
    with _figure(results, WAITING, how, (6.4, 1.2 + plots.ROW_IN * len(results))) as (drawn, axes):
        places = range(len(results))
        quantiles = [_quantiles(_mean_distribution(result), (0.05, 0.25, 0.5, 0.75, 0.95)) for result in results]
        low, lower, median, upper, high = zip(*quantiles, strict=True)
        axes.hlines(places, low, high, color=plots.COLOURS[0], linewidth=1)
        axes.hlines(places, lower, upper, color=plots.COLOURS[0], linewidth=4)
        axes.plot(median, places, "o", color=plots.COLOURS[0])
        axes.set_yticks(places, [_queue_name(result) for result in results])
        axes.set(xlabel="queue length (packets)", xlim=(0, None))
        axes.margins(y=0.6 / len(results))
        axes.invert_yaxis()
    return drawn


def _mean_distribution(result: Replications) -> list[float]:
    """Fraction of time at each queue length, the mean over the runs."""
    parts = [run["links"][0]["queue"]["distribution"] for run in result.runs]
    return [sum(parts) / len(parts) for parts in itertools.zip_longest(*parts, fillvalue=0.0)]


def _quantiles(distribution: Sequence[float], levels: Sequence[float]) -> list[int]:
    reached = list(itertools.accumulate(distribution))
    last = len(reached) - 1
    return [next((length for length, share in enumerate(reached) if share >= level), last) for level in levels]


def _rate_panels(results: Sequence[Replications]) -> Figure:
    def draw(axes: Axes, result: Replications) -> None:
        for index, group in enumerate(result.runs[0]["series"]["groups"][:MOST_IN_ONE]):
            means = _mean_rates(result, index)
            axes.plot(_times(result.runs[0]), means, color=plots.COLOURS[index], label=for_figure(group["name"]))

    left_out = len(results[0].scenario["groups"]) - MOST_IN_ONE
    what = "rate of each group" + (f", without {left_out} more" if left_out > 0 else "")
    return _panels(results, what, "metered rate (Mbit/s)", draw)


def _queue_panels(results: Sequence[Replications]) -> Figure:
    def draw(axes: Axes, result: Replications) -> None:
        axes.plot(_times(result.runs[0]), _mean_queue(result), color=plots.COLOURS[0])

    return _panels(results, WAITING, "mean queue length (packets)", draw)


def _panels(
    results: Sequence[Replications], what: str, measure: str, draw: Callable[[Axes, Replications], None]
) -> Figure:
    """A panel over time for each scheme, all on the same axes."""
    rows = math.ceil(len(results) / PANEL_COLUMNS)
    with mpl.rc_context(plots.STYLE):
        drawn = Figure(figsize=(1.9 * PANEL_COLUMNS, 1.6 + PANEL_IN * rows), layout="constrained")
        grid = drawn.subplots(rows, PANEL_COLUMNS, sharex=True, sharey=True, squeeze=False)
        drawn.suptitle("\n".join(_titles(results, what)), fontsize=11, x=0.01, ha="left")
        for axes, result in zip(grid.flat, results, strict=False):
            draw(axes, result)
            axes.set_title(_queue_name(result), loc="left", fontsize=9)
        for axes in list(grid.flat)[len(results) :]:
            axes.remove()
        grid[0, 0].set(ylim=(0, None))
        for lowest in grid.flat[len(results) - PANEL_COLUMNS : len(results)]:
            lowest.tick_params(labelbottom=True)
            lowest.set_xlabel("time (s)")
        drawn.supylabel(measure, fontsize=10)
        plots.legend(drawn, grid[0, 0])
    return drawn


def _throughput(results: Sequence[Replications]) -> Figure:
    with _figure(results, "throughput of a user", "bars: 95% intervals") as (drawn, axes):
        groups = [for_figure(group["name"]) for group in results[0].scenario["groups"]]
        width = 0.8 / len(results)
        for number, result in enumerate(results):
            summaries = result.summary["groups"]
            places = [index + (number - (len(results) - 1) / 2) * width for index in range(len(groups))]
            axes.bar(
                places,
                [summary["throughput_bps"]["mean"] / 1e6 for summary in summaries],
                0.9 * width,
                yerr=[(summary["throughput_bps"]["half_width"] or 0) / 1e6 for summary in summaries],
                capsize=3,
                color=plots.COLOURS[number % len(plots.COLOURS)],
                label=_queue_name(result),
            )
        axes.set_xticks(range(len(groups)), groups)
        axes.set(ylabel="mean throughput of a user (Mbit/s)", ylim=(0, None))
        axes.grid(visible=False, axis="x")
    return drawn


def _queue(results: Sequence[Replications]) -> Figure:
    with _figure(results, WAITING) as (drawn, axes):
        for number, result in enumerate(results):
            axes.plot(
                _mean_distribution(result),
                plots.MARKERS[number % len(plots.MARKERS)] + "-",
                color=plots.COLOURS[number % len(plots.COLOURS)],
                label=_queue_name(result),
            )
        axes.set(xlabel="queue length (packets)", ylabel="fraction of time", ylim=(0, None))
    return drawn


def _rates(results: Sequence[Replications]) -> Figure:
    with _figure(results, "rate of each group") as (drawn, axes):
        for number, result in enumerate(results):
            runs = result.runs
            for index, group in enumerate(runs[0]["series"]["groups"]):
                axes.plot(
                    _times(runs[0]),
                    _mean_rates(result, index),
                    plots.LINES[number % len(plots.LINES)],
                    color=plots.COLOURS[index % len(plots.COLOURS)],
                    label=f"{_queue_name(result)}, {for_figure(group['name'])}",
                )
        axes.set(xlabel="time (s)", ylabel="metered rate of the group (Mbit/s)", ylim=(0, None))
    return drawn


def _queue_over_time(results: Sequence[Replications]) -> Figure:
    with _figure(results, WAITING) as (drawn, axes):
        for number, result in enumerate(results):
            colour = plots.COLOURS[number % len(plots.COLOURS)]
            axes.plot(_times(result.runs[0]), _mean_queue(result), color=colour, label=_queue_name(result))
        axes.set(xlabel="time (s)", ylabel="mean queue length (packets)", ylim=(0, None))
    return drawn


def _mean_rates(result: Replications, group: int) -> list[float]:
    """In Mbit/s."""
    rates = [run["series"]["groups"][group]["rate_bps"] for run in result.runs]
    return [interval(values).mean / 1e6 for values in zip(*rates, strict=True)]


def _mean_queue(result: Replications) -> list[float]:
    lengths = [run["series"]["queue_packets"] for run in result.runs]
    return [interval(values).mean for values in zip(*lengths, strict=True)]


def _times(run: dict[str, Any]) -> list[float]:
    series = run["series"]
    count = len(series["queue_packets"])
    return [series["start_s"] + (index + 1) * series["interval_s"] for index in range(count)]


def _queue_name(result: Replications) -> str:
    return for_figure(result.scenario["queue"]["scheme"])


@contextmanager
def _figure(
    results: Sequence[Replications], what: str, how: str = OF_RUNS, size_in: tuple[float, float] = plots.SIZE_IN
) -> Iterator[tuple[Figure, Axes]]:
    """A figure of one pair of axes, with titles and legend."""
    with plots.figure(*_titles(results, what, how), size_in) as (drawn, axes):
        yield drawn, axes
        plots.legend(drawn, axes)


def _titles(results: Sequence[Replications], what: str, how: str = OF_RUNS) -> tuple[str, str]:
    """Title and subtitle."""
    count = len(results[0].runs_json)
    name = for_figure(results[0].scenario["name"])
    return f"{name}: {what}", f"{count} replication{'s' if count != 1 else ''}, {how}"
