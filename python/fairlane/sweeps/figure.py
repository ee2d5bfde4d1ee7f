"""The picture of a sweep: a metric over one of the keys that vary, a line for each combination of the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlane.base.errors import UserError
from fairlane.base.quantities import UNITS, parsed
from fairlane.base.text import for_figure, near, quoted
from fairlane.results import plots
from fairlane.results.intervals import Interval
from fairlane.results.metrics import unit_of

if TYPE_CHECKING:
    from fairlane.documents import SweepDocument, SweepPoint

MOST_IN_ONE = len(plots.COLOURS)
"""Lines that share axes; more have a panel each."""
PANEL_COLUMNS = 4
LOGARITHMIC_FROM = 10.0
"""Greatest value of the key over its least, from where the axis is logarithmic."""
MOST_LETTERS = 84
"""Below an axis; more are written upwards."""
LEAST_GAP = {1: 0.08, PANEL_COLUMNS: 0.3}
"""By columns of panels, part of the axis between two values that leaves room for their names; below it, values stand in
order and not to scale."""


def draw(document: SweepDocument, metric: str, over: str | None = None) -> Figure:
    """Means of a metric with their intervals.

    Args:
        document: Of the sweep.
        metric: Its name, a column of `runs_frame`.
        over: The key on the horizontal axis; the last with several values if None.

    Raises:
        UserError: There is no such metric or key.
    """
    points = document["points"]
    known = list(dict.fromkeys(itertools.chain.from_iterable(point["metrics"] for point in points)))
    if metric not in known:
        raise UserError(f"metric: {quoted(metric)} is none of this sweep; {near(metric, known)}")
    keys = list(points[0]["at"])
    if over is not None and over not in keys:
        raise UserError(f"over: {quoted(over)} is no key that varies; {near(over, keys)}")
    over = over or _last_that_varies(points, keys)
    lines = _lines(points, keys, over)
    columns = 1 if len(lines) <= MOST_IN_ONE else PANEL_COLUMNS
    axis = _Axis([point["at"][over] for point in points], columns)
    subtitle = "mean over the runs, bars: 95% intervals"
    title = f"{for_figure(document['name'])}: {for_figure(metric)}"
    unit = unit_of(metric)
    measure = f"{for_figure(metric.partition('.')[0])}{f' ({unit})' if unit and unit != '1' else ''}"
    if columns == 1:
        with plots.figure(title, subtitle) as (drawn, axes):
            for number, (name, of_line) in enumerate(lines.items()):
                _draw_line(axes, of_line, metric, over, axis, name, number)
            axes.set(xlabel=for_figure(over), ylabel=measure)
            axis.label(axes)
            plots.legend(drawn, axes)
        return drawn
    rows = math.ceil(len(lines) / columns)
    with mpl.rc_context(plots.STYLE):
        drawn = plots.Drawn(figsize=(1.9 * columns, 1.2 + 1.4 * rows), layout="constrained")
        grid = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        drawn.suptitle(f"{title}\n{subtitle}", fontsize=11, x=0.01, ha="left")
        for axes, (name, of_line) in zip(grid.flat, lines.items(), strict=False):
            _draw_line(axes, of_line, metric, over, axis, name, 0)
            axes.set_title(name, loc="left", fontsize=8)
            axis.label(axes)
        for unused in list(grid.flat)[len(lines) :]:
            unused.remove()
        for lowest in list(grid.flat)[len(lines) - columns : len(lines)]:
            lowest.tick_params(labelbottom=True)
        drawn.supxlabel(for_figure(over), fontsize=10)
        drawn.supylabel(measure, fontsize=10)
    return drawn


def _last_that_varies(points: Sequence[SweepPoint], keys: Sequence[str]) -> str:
    several = [key for key in keys if len({str(point["at"][key]) for point in points}) > 1]
    return (several or list(keys))[-1]


def _lines(points: Sequence[SweepPoint], keys: Sequence[str], over: str) -> dict[str, list[SweepPoint]]:
    """The points of each line by its name: the values of all keys but those that `over` decides."""
    others = [key for key in keys if key != over and not _is_decided(points, key, over)]
    short = {key: key.rpartition(".")[2] for key in others}
    lines: dict[str, list[SweepPoint]] = {}
    for point in points:
        at = point["at"]
        words = (str(at[key]) if key == "queue.scheme" else f"{short[key]} {at[key]}" for key in others)
        lines.setdefault(for_figure(", ".join(words)), []).append(point)
    return lines


def _is_decided(points: Sequence[SweepPoint], key: str, by: str) -> bool:
    """True if a key has one value for each value of another, as in a `zip` table."""
    found: dict[str, str] = {}
    return all(found.setdefault(str(p["at"][by]), str(p["at"][key])) == str(p["at"][key]) for p in points)


class _Axis:
    """Positions of a key's values: quantities and numbers by size if their labels have room, others in order."""

    def __init__(self, values: Sequence[Any], columns: int) -> None:
        self._most_letters = MOST_LETTERS / columns
        found = sizes(values)
        self.logarithmic = bool(found) and min(found) > 0 and max(found) / min(found) >= LOGARITHMIC_FROM
        scaled = [math.log(size) for size in found] if self.logarithmic else list(found)
        self.places = {str(value): size for value, size in zip(values, found, strict=False)}
        distinct = sorted(set(scaled))
        gaps = [high - low for low, high in itertools.pairwise(distinct)]
        if not found or (gaps and min(gaps) < LEAST_GAP[columns] * (distinct[-1] - distinct[0])):
            order = sorted(zip(found, map(str, values), strict=True)) if found else [(0, str(one)) for one in values]
            self.logarithmic = False
            self.places = {name: float(place) for place, name in enumerate(dict.fromkeys(name for _, name in order))}

    def label(self, axes: Axes) -> None:
        """Writes the values below the axes."""
        places = list(self.places.values())
        if self.logarithmic:
            plots.logarithmic(axes, "x", places)
        axes.set_xticks(places, list(map(for_figure, self.places)))
        if len(places) * max(map(len, self.places)) > self._most_letters:
            axes.tick_params(axis="x", rotation=90)


def sizes(values: Sequence[Any]) -> list[float]:
    """Numbers, or quantities of one kind; none if they are neither."""
    for unit in (None, *UNITS):
        found = [_size(value, unit) for value in values]
        known = [size for size in found if size is not None]
        if len(known) == len(found):
            return known
    return []


def _size(value: Any, unit: str | None) -> float | None:
    if unit is None:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return parsed(value, unit) if isinstance(value, str) else None


def _draw_line(
    axes: Axes,
    points: Sequence[SweepPoint],
    metric: str,
    over: str,
    axis: _Axis,
    name: str,
    number: int,
) -> None:
    found = [(axis.places[str(p["at"][over])], p["metrics"][metric]) for p in points if metric in p["metrics"]]
    found.sort(key=lambda one: one[0])
    means = [Interval(one["mean"], one["half_width"], one["n"]) for _, one in found]
    style = {"color": plots.COLOURS[number], "marker": plots.MARKERS[number], "label": name}
    plots.error_bars(axes, [place for place, _ in found], means, **style)
