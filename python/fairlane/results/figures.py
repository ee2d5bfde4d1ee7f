"""Figures of results: throughput and share of users, delay, queue, and time series of rate and queue.

Up to seven schemes share axes and a legend, each in a separate colour. More colours could not be distinguished, so with
more schemes each has a separate row or panel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlane.base.errors import UserError
from fairlane.base.text import counted, for_figure
from fairlane.results import plots
from fairlane.results.frames import columns_like, estimates
from fairlane.results.intervals import interval
from fairlane.results.metric import Metric
from fairlane.results.metrics import label_of, metric_of
from fairlane.results.names import display_name
from fairlane.results.replications import Replications
from fairlane.results.summary import key

MOST_IN_ONE = len(plots.COLOURS)
"""Maximum number of schemes that share axes."""
MOST_PANELS = 16
"""Maximum number of groups in a figure of rows."""
PANEL_COLUMNS = 4
MOST_OF_TWO_COLUMNS = 16
"""Maximum number of panels in two columns within a paper column; more panels need three columns."""
PANEL_IN, GROUP_IN = 1.25, 2.4
"""Heights in inches of a panel for one scheme and of a panel for one group."""
DELAY = "one-way delay (ms)"
REACHED = "packets with at most that delay (%)"
GUIDE = "means over the runs; lines only guide the eye"
QUANTILES = {"p50_s": "median", "p95_s": "95 %", "p99_s": "99 %", "max_s": "maximum"}
"""Labels of the percentiles in records of times."""
WAITING = "queue at the bottleneck"
LENGTH = "queue length (packets)"
RATE = "metered rate (Mbit/s)"
OF_RUNS = "mean over the runs"

_Panels = Callable[[Sequence[Replications], int], Figure]
Maker = Callable[..., Figure]
"""Draws results; with `column=True`, one paper column wide."""


def _for_page_and_column(make: _Panels) -> Maker:
    """Decorator: adds the option `column` for a figure one paper column wide, with fewer panels side by side."""

    @wraps(make)
    def draw(results: Sequence[Replications], *, column: bool = False) -> Figure:
        if not column:
            return make(results, PANEL_COLUMNS)
        drawn = make(results, 2 if len(results) <= MOST_OF_TWO_COLUMNS else 3)
        plots.for_column(drawn)
        return drawn

    return draw


def result_figures(results: Sequence[Replications], *, column: bool = False) -> dict[str, Figure]:
    """Figures by file name: throughput, shares, queue and delay; if recorded also rate and queue over time."""
    makers: dict[str, Maker] = {"throughput": throughput, "shares": shares, "queue": queue}
    if have_distributions(results):
        makers["delay"] = delay_cdf
    elif have_quantiles(results):
        makers["delay"] = delay_quantiles
    elif _have_delays(results, ["mean_s"]):
        makers["delay"] = partial(metrics, names=["one_way_delay_mean_s"])
    if have_series(results):
        makers |= {"rate-over-time": rate_over_time, "queue-over-time": queue_over_time}
    return {name: make(results, column=column) for name, make in makers.items()}


def not_drawn(results: Sequence[Replications]) -> list[str]:
    """Notes on figures for which the runs lack numbers."""
    if have_distributions(results) or have_quantiles(results):
        return []
    if _have_delays(results, ["mean_s"]):
        return ["figures: delay shows only means, since the runs have no quantiles"]
    return ["figures: none of delay, since the runs have no delays"]


@_for_page_and_column
def throughput(results: Sequence[Replications], columns: int) -> Figure:
    """Mean throughput of a user, by group."""
    return _by_group(results, metric_of("throughput_bps"), columns)


@_for_page_and_column
def shares(results: Sequence[Replications], columns: int) -> Figure:
    """Throughput of a user divided by its max-min share, by group."""
    return _by_group(results, metric_of("normalised_throughput"), columns, fair=1.0)


@_for_page_and_column
def queue(results: Sequence[Replications], columns: int) -> Figure:
    """Distribution of the queue length over time; for many schemes, its quantiles."""
    del columns  # it has no panels
    return _queue_rows(results) if _are_many(results) else _queue(results)


@_for_page_and_column
def rate_over_time(results: Sequence[Replications], columns: int) -> Figure:
    """Metered rate of each group.

    Raises:
        UserError: There are no time series.
    """
    _check_series(results)

    def draw(axes: Axes, result: Replications, group: int, **style: Any) -> None:
        axes.plot(_times(result.runs[0]), _mean_rates(result, group), **style)

    return _small_multiples(results, "rate of each group", RATE, "time (s)", draw, columns)


@_for_page_and_column
def queue_over_time(results: Sequence[Replications], columns: int) -> Figure:
    """Waiting packets at the first link.

    Raises:
        UserError: There are no time series.
    """
    _check_series(results)
    if _are_many(results):

        def draw(axes: Axes, number: int) -> None:
            axes.plot(_times(results[number].runs[0]), _mean_queue(results[number]), color=plots.INK)

        names = [_queue_name(result) for result in results]
        return _panels(_titles(results, WAITING), names, LENGTH, "time (s)", draw, columns)
    with _figure(results, WAITING) as (drawn, axes):
        for result, colour in _coloured(results):
            axes.plot(_times(result.runs[0]), _mean_queue(result), color=colour, label=_queue_name(result))
        axes.set(xlabel="time (s)", ylabel=LENGTH, ylim=(0, None))
    return drawn


@_for_page_and_column
def delay_cdf(results: Sequence[Replications], columns: int) -> Figure:
    """Distribution of the one-way delay over the packets of each group; all runs have the same weight.

    Raises:
        UserError: The runs recorded only quantiles.
    """
    if not have_distributions(results):
        raise UserError("delay_cdf: no distribution of delays, the scenario needs probes.delay_distribution = true")

    def draw(axes: Axes, result: Replications, group: int, **style: Any) -> None:
        found = [run["groups"][group].get("delay_distribution") for run in result.runs]
        delays, shares = _mean_cdf([one for one in found if one])  # a run in which no packet arrived has none
        axes.plot([1e3 * delay for delay in delays], [100 * share for share in shares], **(style | {"marker": None}))
        axes.set_ylim(0, 102)

    return _small_multiples(results, "one-way delay of packets", REACHED, DELAY, draw, columns)


@_for_page_and_column
def delay_quantiles(results: Sequence[Replications], columns: int) -> Figure:
    """Quantiles of the one-way delay, which all records of the simulator contain.

    Raises:
        UserError: The plane of the runs records only the mean.
    """
    if not have_quantiles(results):
        raise UserError("delay_quantiles: the runs have only means of delays, as those of the plane linux")

    def draw(axes: Axes, result: Replications, group: int, **style: Any) -> None:
        times: Any = result.summary["groups"][group]["path"]["one_way_delay"]
        # A group without packets has none.
        delays = [1e3 * times[name]["mean"] if times and times[name] else math.nan for name in QUANTILES]
        axes.plot(delays, range(len(delays)), **(style | {"linestyle": ":", "linewidth": 1}))
        axes.set_yticks(range(len(QUANTILES)), list(QUANTILES.values()))

    return _small_multiples(results, "quantiles of the one-way delay", "quantile", DELAY, draw, columns, how=GUIDE)


@_for_page_and_column
def users(results: Sequence[Replications], columns: int) -> Figure:
    """Distribution of throughput over the users of each group in all runs.

    Raises:
        UserError: The runs did not record individual users.
    """
    if not all(group["user_throughput_bps"] for group in results[0].runs[0]["groups"]):
        raise UserError("users: there are no rows of users, the scenario needs probes.user_rows = true")

    def draw(axes: Axes, result: Replications, group: int, **style: Any) -> None:
        found = sorted(1e-6 * rate for run in result.runs for rate in run["groups"][group]["user_throughput_bps"])
        shares = [100 * (index + 1) / len(found) for index in range(len(found))]
        axes.step([found[0], *found], [0, *shares], where="post", **(style | {"marker": None}))

    label = metric_of("throughput_bps").label
    return _small_multiples(results, "throughput over the users", "share of the users (%)", label, draw, columns)


def metrics(results: Sequence[Replications], names: Sequence[str], *, column: bool = False) -> Figure:
    """Means of metrics with intervals: a panel for each metric and group, a row for each scheme.

    Raises:
        UserError: A metric is unknown.
    """
    found = [estimates(result.runs) for result in results]
    wanted = columns_like(names, list(dict.fromkeys(itertools.chain.from_iterable(found))))
    panels = {
        for_figure(label_of(name)): [
            (factor * one[name].mean, factor * one[name].slack) if name in one else None for one in found
        ]
        for name in wanted
        for factor in (metric_of(name).factor,)
    }
    title = "\n".join(_titles(results, "schemes side by side", "bars: 95% intervals"))
    schemes, columns = _schemes(results), min(len(panels), 2 if column else 4)
    drawn = plots.rows_of_schemes(title, schemes, panels, columns, [metric_of(name).name for name in wanted])
    if column:
        plots.for_column(drawn)
    return drawn


def _are_many(results: Sequence[Replications]) -> bool:
    return len(results) > MOST_IN_ONE


def have_series(results: Sequence[Replications]) -> bool:
    """True if the runs recorded time series."""
    return any(run["series"] for result in results for run in result.runs)


def have_quantiles(results: Sequence[Replications]) -> bool:
    """True if the runs have quantiles of one-way delays; runs of the plane `linux` have only means."""
    return _have_delays(results, QUANTILES)


def have_distributions(results: Sequence[Replications]) -> bool:
    """True if the runs recorded the distribution of delays."""
    return any("delay_distribution" in group for result in results for run in result.runs for group in run["groups"])


def _have_delays(results: Sequence[Replications], names: Iterable[str]) -> bool:
    groups: list[Any] = [group["path"]["one_way_delay"] for result in results for group in result.summary["groups"]]
    return any(times[name] for times in groups if times for name in names)


def _mean_cdf(distributions: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """Mean cumulative distribution: ends of steps, and the fraction of samples up to each."""
    edges = [[one["min_s"], *one["end_s"]] for one in distributions]
    places = sorted(set(itertools.chain.from_iterable(edges)))
    parts = [
        np.interp(places, own, [0, *itertools.accumulate(one["share"])], left=0, right=1)
        for own, one in zip(edges, distributions, strict=True)
    ]
    return places, [float(part) for part in np.mean(parts, axis=0)] if parts else []


def _check_series(results: Sequence[Replications]) -> None:
    if not have_series(results):
        raise UserError('over_time: no time series, the scenario needs probes.series_interval such as "0.1 s"')


def _by_group(results: Sequence[Replications], metric: Metric, columns: int, fair: float | None = None) -> Figure:
    return _rows(results, metric, columns) if _are_many(results) else _bars(results, metric, fair)


def _estimates(result: Replications, metric: Metric) -> list[tuple[float, float | None]]:
    """Mean and half width of a metric by group; NaN and None if a group has no value."""
    groups: Sequence[Mapping[str, Any]] = result.summary["groups"]
    found = [group[key(metric)] for group in groups]
    return [
        (metric.factor * one["mean"], one["half_width"] and metric.factor * one["half_width"])
        if one
        else (math.nan, None)
        for one in found
    ]


def _rows(results: Sequence[Replications], metric: Metric, columns: int) -> Figure:
    groups = [group["name"] for group in results[0].scenario["groups"]][:MOST_PANELS]
    found = [_estimates(result, metric) for result in results]
    unit = f" ({metric.suffix})" if metric.suffix else ""
    panels = {f"{for_figure(group)}{unit}": [one[index] for one in found] for index, group in enumerate(groups)}
    left_out = len(results[0].scenario["groups"]) - len(groups)
    what = metric.title + (f", without {left_out} more groups" if left_out else "")
    title = "\n".join(_titles(results, what, "bars: 95% intervals"))
    return plots.rows_of_schemes(
        title, _schemes(results), panels, min(len(panels), columns), [metric.name] * len(panels)
    )


def _queue_rows(results: Sequence[Replications]) -> Figure:
    how = "dot: median, thick: 25 to 75 % of the time, thin: 5 to 95 %"
    with _figure(results, WAITING, how, (6.4, 1.2 + plots.ROW_IN * len(results))) as (drawn, axes):
        places = range(len(results))
        quantiles = [_quantiles(_mean_distribution(result), (0.05, 0.25, 0.5, 0.75, 0.95)) for result in results]
        low, lower, median, upper, high = zip(*quantiles, strict=True)
        axes.hlines(places, low, high, color=plots.INK, linewidth=1)
        axes.hlines(places, lower, upper, color=plots.INK, linewidth=4)
        axes.plot(median, places, "o", color=plots.INK, markerfacecolor="white")
        axes.set_yticks(places, [_queue_name(result) for result in results])
        axes.set(xlabel=LENGTH, xlim=(0, None))
        axes.margins(y=0.6 / len(results))
        axes.invert_yaxis()
    return drawn


def _mean_distribution(result: Replications) -> list[float]:
    """Fraction of time at each queue length, averaged over the runs."""
    parts = [run["links"][0]["queue"]["distribution"] for run in result.runs]
    return [sum(parts) / len(parts) for parts in itertools.zip_longest(*parts, fillvalue=0.0)]


def _quantiles(distribution: Sequence[float], levels: Sequence[float]) -> list[int]:
    reached = list(itertools.accumulate(distribution))
    last = len(reached) - 1
    return [next((length for length, share in enumerate(reached) if share >= level), last) for level in levels]


def _small_multiples(
    results: Sequence[Replications],
    what: str,
    up: str,
    across: str,
    draw: Callable[..., None],
    columns: int,
    how: str = OF_RUNS,
) -> Figure:
    """A panel per group with a line per scheme; for many schemes, a panel per scheme with a line per group.

    `draw` receives axes, a result, the number of a group and a line style.
    """
    groups = [for_figure(group["name"]) for group in results[0].scenario["groups"]]
    is_time = across.startswith("time")
    most = MOST_IN_ONE if _are_many(results) else MOST_PANELS
    left_out = f", without {len(groups) - most} more groups" if len(groups) > most else ""

    def by_scheme(axes: Axes, number: int) -> None:
        for group, name in enumerate(groups[:most]):
            marker = "" if is_time else plots.MARKERS[group]
            draw(axes, results[number], group, color=plots.GROUP_COLOURS[group], marker=marker, label=name)

    def by_group(axes: Axes, group: int) -> None:
        for number, (result, colour) in enumerate(_coloured(results)):
            marker = "" if is_time else plots.MARKERS[number]
            draw(axes, result, group, color=colour, marker=marker, label=_queue_name(result))

    titles = _titles(results, what + left_out, how)
    if _are_many(results):
        return _panels(titles, [_queue_name(result) for result in results], up, across, by_scheme, columns)
    return _panels(titles, groups[:most], up, across, by_group, columns, GROUP_IN)


def _panels(
    titles: tuple[str, str],
    names: Sequence[str],
    up: str,
    across: str,
    draw: Callable[[Axes, int], None],
    columns: int,
    height_in: float = PANEL_IN,
) -> Figure:
    """A panel for each name, all with the same axes."""
    letters = plots.NARROW_CHARACTERS if columns == plots.NARROW_COLUMNS else plots.LABEL_CHARACTERS
    columns = plots.even_columns(len(names), columns)
    rows = math.ceil(len(names) / columns)
    size_in = max(plots.SIZE_IN[0], 1.9 * columns), 1.5 + height_in * rows
    with plots.panels(len(names), "\n".join(titles), columns, size_in, sharex=True, sharey=True) as (drawn, grid):
        for number, axes in enumerate(grid):
            draw(axes, number)
        for axes in grid:
            axes.set(**{"ylim" if across.startswith("time") else "xlim": (0, None)})
        plots.label_panels(grid, columns, names, across, letters)
        drawn.supylabel(up, fontsize=10)
        plots.legend(drawn, grid[0])
    return drawn


def _bars(results: Sequence[Replications], metric: Metric, fair: float | None) -> Figure:
    with _figure(results, metric.title, "bars: 95% intervals") as (drawn, axes):
        groups = [for_figure(group["name"]) for group in results[0].scenario["groups"]]
        plots.bars(
            axes,
            groups,
            [(_queue_name(result), colour, _estimates(result, metric)) for result, colour in _coloured(results)],
            fair,
        )
        axes.set(ylabel=metric.label, ylim=(0, None))
    return drawn


def _queue(results: Sequence[Replications]) -> Figure:
    with _figure(results, WAITING) as (drawn, axes):
        for result, colour in _coloured(results):
            reached = [100 * share for share in itertools.accumulate(_mean_distribution(result))]
            axes.step(range(len(reached)), reached, where="post", color=colour, label=_queue_name(result))
        axes.set(xlabel=LENGTH, ylabel="time with at most that queue (%)", xlim=(0, None), ylim=(0, 102))
    return drawn


def _coloured(results: Sequence[Replications]) -> list[tuple[Replications, str]]:
    """Each result with the colour of its scheme."""
    colours = plots.colours_of(_schemes(results))
    return [(result, colours[result.queue]) for result in results]


def _schemes(results: Sequence[Replications]) -> dict[str, str]:
    """Maps the name of each queue to its scheme."""
    return {result.queue: str(result.scenario["queue"]["scheme"]) for result in results}


def _mean_rates(result: Replications, group: int) -> list[float]:
    """Mean rates of a group, in Mbit/s."""
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
    return for_figure(display_name(result.queue))


@contextmanager
def _figure(
    results: Sequence[Replications], what: str, how: str = OF_RUNS, size_in: tuple[float, float] = plots.SIZE_IN
) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one pair of axes, titles and legend."""
    with plots.figure(*_titles(results, what, how), size_in) as (drawn, axes):
        yield drawn, axes
        plots.legend(drawn, axes)


def _titles(results: Sequence[Replications], what: str, how: str = OF_RUNS) -> tuple[str, str]:
    """Title and subtitle."""
    count = len(results[0].runs_json)
    name = for_figure(results[0].scenario["name"])
    return f"{name}: {what}", f"{counted(count, 'replication')}, {how}"
