"""The pictures of results: throughput of users and their shares, delay, queue, and both over time.

Up to seven schemes share axes and a legend. More could not be distinguished: each has a separate row or panel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlane.base.errors import UserError
from fairlane.base.text import for_figure
from fairlane.results import plots
from fairlane.results.intervals import interval
from fairlane.results.replications import Replications

MOST_IN_ONE = len(plots.COLOURS)
"""Schemes that share axes."""
MOST_PANELS = 16
"""Groups that a picture of rows has room for."""
PANEL_COLUMNS = 4
MOST_OF_TWO_COLUMNS = 16
"""Maximum number of panels that a paper column has room for in two columns; more are in three."""
PANEL_IN = 1.25
"""Height of a scheme's panel."""
DELAY = "one-way delay (ms)"
OF_PACKETS = "part of the packets"
GUIDE = "means over the runs; lines only guide the eye"
QUANTILES = {"p50_s": "50 %", "p95_s": "95 %", "p99_s": "99 %", "max_s": "all"}
"""Percentiles in records of times, with the share of packets that each covers."""
WAITING = "waiting packets at the bottleneck"
OF_RUNS = "mean over the runs"


class _Measure(NamedTuple):
    """A measure of groups: its name in summaries, words, axis, unit, factor to it, and what would be fair."""

    name: str
    words: str
    axis: str
    unit: str
    factor: float
    target: float | None


THROUGHPUT = _Measure(
    "throughput_bps", "throughput of a user", "mean throughput of a user (Mbit/s)", "Mbit/s", 1e-6, None
)
SHARE = _Measure(
    "normalised_throughput",
    "throughput over max-min share",
    "throughput of a user over its max-min share",
    "",
    1.0,
    1.0,
)


def result_figures(results: Sequence[Replications], columns: int = PANEL_COLUMNS) -> dict[str, Figure]:
    """Throughput of users, queue length, and, where there are series, rate and queue over time; by file name.

    Number of `columns` in figures of many panels.
    """
    figures = {"throughput": throughput(results, columns), "queue": queue(results)}
    if have_series(results):
        over_time = {"rate-over-time": rate_over_time, "queue-over-time": queue_over_time}
        figures |= {name: draw(results, columns) for name, draw in over_time.items()}
    return figures


def columns_of_a_column(results: Sequence[Replications]) -> int:
    """Columns of panels that have room in a column of a paper."""
    return 2 if len(results) <= MOST_OF_TWO_COLUMNS else 3


def column_figures(results: Sequence[Replications]) -> dict[str, Figure]:
    """The same as wide as a column of a paper."""
    figures = result_figures(results, columns_of_a_column(results))
    for drawn in figures.values():
        plots.for_column(drawn)
    return figures


def throughput(results: Sequence[Replications], columns: int = PANEL_COLUMNS) -> Figure:
    """Throughput of a user by group."""
    return _by_group(results, THROUGHPUT, columns)


def shares(results: Sequence[Replications], columns: int = PANEL_COLUMNS) -> Figure:
    """The same over its max-min share."""
    return _by_group(results, SHARE, columns)


def queue(results: Sequence[Replications], columns: int = PANEL_COLUMNS) -> Figure:
    """Fraction of the time at each length of the queue; of many schemes quantiles."""
    del columns  # it has no panels
    return _queue_rows(results) if _are_many(results) else _queue(results)


def rate_over_time(results: Sequence[Replications], columns: int = PANEL_COLUMNS) -> Figure:
    """Metered rate of each group.

    Raises:
        UserError: There are no time series.
    """
    _check_series(results)
    return _rate_panels(results, columns) if _are_many(results) else _rates(results)


def queue_over_time(results: Sequence[Replications], columns: int = PANEL_COLUMNS) -> Figure:
    """Waiting packets at the first link.

    Raises:
        UserError: There are no time series.
    """
    _check_series(results)
    return _queue_panels(results, columns) if _are_many(results) else _queue_over_time(results)


def delay_cdf(results: Sequence[Replications], columns: int = PANEL_COLUMNS) -> Figure:
    """Quantiles of the one-way delay, which is what records keep of its distribution.

    A panel for each group; of many schemes for each scheme.
    """
    return _delay_panels(results, columns) if _are_many(results) else _delays(results, columns)


def _are_many(results: Sequence[Replications]) -> bool:
    return len(results) > MOST_IN_ONE


def have_series(results: Sequence[Replications]) -> bool:
    """True if there is anything to draw over time."""
    return any(run["series"] for result in results for run in result.runs)


def _check_series(results: Sequence[Replications]) -> None:
    if not have_series(results):
        raise UserError('over_time: no time series, the scenario needs probes.series_interval such as "0.1 s"')


def _by_group(results: Sequence[Replications], measure: _Measure, columns: int = PANEL_COLUMNS) -> Figure:
    return _rows(results, measure, columns) if _are_many(results) else _bars(results, measure)


def _estimates(result: Replications, measure: _Measure) -> list[tuple[float, float | None]]:
    """Mean and half width by group; a share of nothing is not a number."""
    groups: Sequence[Mapping[str, Any]] = result.summary["groups"]
    found = [group[measure.name] for group in groups]
    return [
        (measure.factor * one["mean"], one["half_width"] and measure.factor * one["half_width"])
        if one
        else (math.nan, None)
        for one in found
    ]


def _rows(results: Sequence[Replications], measure: _Measure, columns: int) -> Figure:
    groups = [group["name"] for group in results[0].scenario["groups"]][:MOST_PANELS]
    estimates = [_estimates(result, measure) for result in results]
    unit = f" ({measure.unit})" if measure.unit else ""
    panels = {
        f"{for_figure(group)}{unit}": [of_result[index] for of_result in estimates]
        for index, group in enumerate(groups)
    }
    left_out = len(results[0].scenario["groups"]) - len(groups)
    what = measure.words + (f", without {left_out} more groups" if left_out else "")
    schemes = [result.queue for result in results]
    title = "\n".join(_titles(results, what, "bars: 95% intervals"))
    return plots.rows_of_schemes(title, schemes, panels, min(len(panels), columns))


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


def _rate_panels(results: Sequence[Replications], columns: int = PANEL_COLUMNS) -> Figure:
    def draw(axes: Axes, result: Replications) -> None:
        for index, group in enumerate(result.runs[0]["series"]["groups"][:MOST_IN_ONE]):
            means = _mean_rates(result, index)
            axes.plot(_times(result.runs[0]), means, color=plots.COLOURS[index], label=for_figure(group["name"]))

    left_out = len(results[0].scenario["groups"]) - MOST_IN_ONE
    what = "rate of each group" + (f", without {left_out} more" if left_out > 0 else "")
    return _panels(results, what, "metered rate (Mbit/s)", draw, columns)


def _queue_panels(results: Sequence[Replications], columns: int = PANEL_COLUMNS) -> Figure:
    def draw(axes: Axes, result: Replications) -> None:
        axes.plot(_times(result.runs[0]), _mean_queue(result), color=plots.COLOURS[0])

    return _panels(results, WAITING, "mean queue length (packets)", draw, columns)


def _delay_panels(results: Sequence[Replications], columns: int) -> Figure:
    def draw(axes: Axes, result: Replications) -> None:
        for index, group in enumerate(result.summary["groups"][:MOST_IN_ONE]):
            _draw_delays(axes, group, index, for_figure(group["name"]))

    return _panels(results, "one-way delay of packets", OF_PACKETS, draw, columns, DELAY, GUIDE)


def _delays(results: Sequence[Replications], columns: int) -> Figure:
    groups = results[0].scenario["groups"][:MOST_PANELS]
    columns = min(len(groups), columns)
    rows = math.ceil(len(groups) / columns)
    with mpl.rc_context(plots.STYLE):
        size_in = max(plots.SIZE_IN[0], 1.9 * columns), 1.4 + 2.4 * rows
        drawn = plots.Drawn(figsize=size_in, layout="constrained")
        grid = drawn.subplots(rows, columns, sharey=True, squeeze=False)
        drawn.suptitle("\n".join(_titles(results, "one-way delay of packets", GUIDE)), fontsize=11, x=0.01, ha="left")
        for index, (axes, group) in enumerate(zip(grid.flat, groups, strict=False)):
            for number, result in enumerate(results):
                _draw_delays(axes, result.summary["groups"][index], number, _queue_name(result))
            axes.set_title(for_figure(group["name"]), loc="left", fontsize=9)
            axes.set(xlim=(0, None), xlabel=DELAY)
        for unused in list(grid.flat)[len(groups) :]:
            unused.remove()
        drawn.supylabel(OF_PACKETS, fontsize=10)
        plots.legend(drawn, grid[0, 0])
    return drawn


def _draw_delays(axes: Axes, group: Mapping[str, Any], number: int, label: str) -> None:
    """The quantiles of a group; what had no packets has none."""
    times = group["path"]["one_way_delay"]
    delays = [1e3 * times[name]["mean"] if times else math.nan for name in QUANTILES]
    axes.plot(delays, range(len(delays)), plots.MARKERS[number] + "-", color=plots.COLOURS[number], label=label)
    axes.set_yticks(range(len(QUANTILES)), list(QUANTILES.values()))


def _panels(
    results: Sequence[Replications],
    what: str,
    measure: str,
    draw: Callable[[Axes, Replications], None],
    columns: int,
    across: str = "time (s)",
    how: str = OF_RUNS,
) -> Figure:
    """A panel for each scheme, all on the same axes."""
    rows = math.ceil(len(results) / columns)
    with mpl.rc_context(plots.STYLE):
        drawn = plots.Drawn(figsize=(1.9 * columns, 1.6 + PANEL_IN * rows), layout="constrained")
        grid = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        drawn.suptitle("\n".join(_titles(results, what, how)), fontsize=11, x=0.01, ha="left")
        for axes, result in zip(grid.flat, results, strict=False):
            draw(axes, result)
            axes.set_title(_queue_name(result), loc="left", fontsize=9)
        for axes in list(grid.flat)[len(results) :]:
            axes.remove()
        if across == DELAY:
            grid[0, 0].set(xlim=(0, None))
        else:
            grid[0, 0].set(ylim=(0, None))
        for column, lowest in enumerate(grid.flat[len(results) - columns : len(results)]):
            lowest.tick_params(labelbottom=True)
            # Three are for a column of a paper, where the words of each would run into the next.
            if columns != 3 or column == 1:
                lowest.set_xlabel(across)
        drawn.supylabel(measure, fontsize=10)
        plots.legend(drawn, grid[0, 0])
    return drawn


def _bars(results: Sequence[Replications], measure: _Measure) -> Figure:
    with _figure(results, measure.words, "bars: 95% intervals") as (drawn, axes):
        groups = [for_figure(group["name"]) for group in results[0].scenario["groups"]]
        width = 0.8 / len(results)
        for number, result in enumerate(results):
            means, half_widths = zip(*_estimates(result, measure), strict=True)
            axes.bar(
                [index + (number - (len(results) - 1) / 2) * width for index in range(len(groups))],
                means,
                0.9 * width,
                yerr=[half_width or 0 for half_width in half_widths],
                capsize=3,
                color=plots.COLOURS[number % len(plots.COLOURS)],
                label=_queue_name(result),
            )
        if measure.target is not None:
            axes.axhline(measure.target, color="0.4", linewidth=1, linestyle="--")
        axes.set_xticks(range(len(groups)), groups)
        axes.set(ylabel=measure.axis, ylim=(0, None))
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
    return for_figure(result.queue)


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
