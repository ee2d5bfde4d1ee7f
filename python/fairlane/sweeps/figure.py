"""Figure of a sweep: metrics over one varying key, with a line per combination of the other varying keys."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlane.base.errors import UserError
from fairlane.base.quantities import UNITS, parsed
from fairlane.base.text import for_figure, near, quoted
from fairlane.results import plots
from fairlane.results.answers import MEASURES
from fairlane.results.frames import columns_like
from fairlane.results.intervals import Interval, scaled
from fairlane.results.metrics import label_of, metric_of
from fairlane.results.names import display_name
from fairlane.sweeps.words import SCHEME, Words

if TYPE_CHECKING:
    from fairlane.documents import SweepDocument, SweepPoint

MOST_IN_ONE = len(plots.COLOURS)
"""Maximum number of lines that share axes; more have a panel each."""
PANEL_COLUMNS = 4
MOST_PANELS = 16
"""Maximum number of panels of the default figure."""
HOW = "mean over the runs, bars: 95% intervals"
LOGARITHMIC_FROM = 10.0
"""Ratio of largest to smallest value of the key from which the axis is logarithmic."""
EVEN = 1.1
"""Three or more values count as a geometric series, such as 1, 2, 4, 8, if the ratios of neighbouring values differ by
at most this factor."""
LETTERS_PER_IN = 11
"""Letters per inch below an axis; longer labels are written vertically."""
LEAST_GAP_IN = 0.5
"""Smallest distance between two values that leaves room for labels; below it, values are spaced evenly."""


def draw(
    document: SweepDocument, metric: str | Sequence[str] | None = None, over: str | None = None, *, column: bool = False
) -> Figure:
    """Means of metrics with intervals, in a panel for each metric and group.

    Args:
        document: Document of the sweep.
        metric: One or several columns of `runs_frame`; a name without group or link stands for all groups or links. If
            None, the main measures of a comparison, for all groups and the first link, in at most 16 panels.
        over: The key on the horizontal axis; if None, the last key with several values.
        column: True to draw one paper column wide.

    Raises:
        UserError: A metric or key is unknown, or nothing varies.
    """
    points = document["points"]
    known = list(dict.fromkeys(itertools.chain.from_iterable(point["metrics"] for point in points)))
    names = _main(known) if metric is None else columns_like([metric] if isinstance(metric, str) else metric, known)
    keys = list(points[0]["at"])
    if not keys:
        raise UserError("plot: nothing varies in this sweep")
    if over is not None and over not in keys:
        raise UserError(f"over: {quoted(over)} is no key that varies; {near(over, keys)}")
    if over is None:
        over = _last_that_varies(points, keys) if metric is not None else _with_few_lines(points, keys)
    words = Words(known)
    parts = _parts(points, keys, over, words)
    styles = _styles(points, {line: of_line for part in parts.values() for line, of_line in part.items()})
    panels = [(name, part) for name in names for part in parts]
    left_out = len(panels) - MOST_PANELS if metric is None else 0
    if column and metric is not None and len(panels) > MOST_PANELS:
        raise UserError(f"plot: {len(panels)} panels, {MOST_PANELS} fit into a column; name fewer metrics or groups")
    panels = panels[: MOST_PANELS if left_out > 0 else None]
    most = 2 if column else PANEL_COLUMNS
    columns = len(parts) if 1 < len(parts) <= most else plots.even_columns(len(panels), most)
    rows = math.ceil(len(panels) / columns)
    size_in = plots.SIZE_IN if columns == 1 else (max(plots.SIZE_IN[0], 1.9 * columns), 1.4 + 2.0 * rows)
    axis = _Axis([point["at"][over] for point in points], (plots.COLUMN_IN if column else size_in[0]) / columns)
    metrics = {metric_of(name).name for name, _ in panels}
    title = f"{for_figure(document['name'])}: {', '.join(dict.fromkeys(metric_of(name).title for name, _ in panels))}"
    title += f", without {left_out} more panels" if left_out > 0 else ""
    title += f"\n{HOW}" if len(panels) > 1 else ""
    with plots.panels(len(panels), title, columns, size_in, sharex=True, sharey=len(metrics) == 1) as (drawn, grid):
        for axes, (name, part) in zip(grid, panels, strict=True):
            for line, of_line in parts[part].items():
                _draw_line(axes, of_line, name, over, axis, {"label": line, **styles[line]})
            axis.label(axes)
        for own in metrics:
            plots.from_zero(
                [axes for axes, (name, _) in zip(grid, panels, strict=True) if metric_of(name).name == own], "y"
            )
        across = words.of(over) + axis.unit
        if len(panels) == 1:
            plots.set_subtitle(grid[0], HOW)
            grid[0].set(xlabel=across, ylabel=for_figure(label_of(names[0])))
        else:
            plots.label_panels(
                grid, columns, [_panel_name(name, part, metrics, names, parts) for name, part in panels], across
            )
            drawn.supylabel(metric_of(names[0]).label if len(metrics) == 1 else "", fontsize=10)
        if len(parts) == 1 or len(styles) < len(parts) * len(parts[panels[0][1]]):
            plots.legend(drawn, grid[0])
    if column:
        plots.for_column(drawn)
    return drawn


def _with_few_lines(points: Sequence[SweepPoint], keys: Sequence[str]) -> str:
    """The last key with several values, or another one for which all lines fit into shared axes."""
    last = _last_that_varies(points, keys)
    few = (key for key in (last, *reversed(keys)) if len(_lines(points, keys, key, Words([]))) <= MOST_IN_ONE)
    return next(few, last)


def _main(known: Sequence[str]) -> list[str]:
    """Columns of the main measures; if there are none, the first column."""
    found: list[str] = []
    for measure in MEASURES:
        names = [name for name in known if name.partition(".")[0] == measure]
        found += names[:1] if metric_of(measure).scope == "link" else names
    return found or list(known[:1])


def _last_that_varies(points: Sequence[SweepPoint], keys: Sequence[str]) -> str:
    several = [key for key in keys if len({str(point["at"][key]) for point in points}) > 1]
    return (several or list(keys))[-1]


def _panel_name(name: str, part: str, metrics: Collection[str], names: Sequence[str], parts: Collection[str]) -> str:
    """Title of a panel: metric, group or link, and `part`. Leaves out whatever is the same in all panels."""
    own = label_of(name) if len(metrics) > 1 else ", ".join(name.split(".")[1:])
    return ", ".join([*([for_figure(own)] if len(names) > 1 else []), *([part] if len(parts) > 1 else [])])


def _lines(points: Sequence[SweepPoint], keys: Sequence[str], over: str, words: Words) -> dict[str, list[SweepPoint]]:
    """The points of each line. A line's name has the values of all keys, except `over` and keys that depend on it."""
    others = [key for key in keys if key != over and not _is_decided(points, key, over)]
    lines: dict[str, list[SweepPoint]] = {}
    for point in points:
        at = point["at"]
        parts = (display_name(at[key]) if key == SCHEME else f"{words.short(key, others)} {at[key]}" for key in others)
        lines.setdefault(for_figure(", ".join(parts)), []).append(point)
    return lines


def _parts(
    points: Sequence[SweepPoint], keys: Sequence[str], over: str, words: Words
) -> dict[str, dict[str, list[SweepPoint]]]:
    """Lines by title of their panel: all in one, or one panel per value of a key, or one per line."""
    lines = _lines(points, keys, over, words)
    if len(lines) <= MOST_IN_ONE:
        return {"": lines}
    for key in reversed([key for key in keys if key not in (over, SCHEME)]):
        others = [other for other in keys if other != key]
        parts: dict[str, list[SweepPoint]] = {}
        for point in points:
            parts.setdefault(for_figure(f"{words.short(key, keys)} {point['at'][key]}"), []).append(point)
        found = {title: _lines(own, others, over, words) for title, own in parts.items()}
        if len(found) > 1 and all(len(of_part) <= MOST_IN_ONE for of_part in found.values()):
            return found
    return {name: {name: of_line} for name, of_line in lines.items()}


def _styles(points: Sequence[SweepPoint], lines: Mapping[str, Sequence[SweepPoint]]) -> dict[str, dict[str, Any]]:
    """Colour and marker of each line. Lines of the same scheme share its colour and differ in marker and line style."""
    if len(lines) > MOST_IN_ONE:
        return {name: {"color": plots.INK, "marker": "o"} for name in lines}
    schemes = {name: str(of_line[0]["at"].get(SCHEME, "")) for name, of_line in lines.items()}
    if len({str(point["at"].get(SCHEME)) for point in points}) < 2 or len({*schemes.values()}) < 2:
        colours = dict(zip(lines, plots.COLOURS, strict=False))
        return {name: {"color": colours[name], "marker": plots.MARKERS[n]} for n, name in enumerate(lines)}
    by_scheme = plots.colours_of(schemes.values())
    found = {}
    for number, (name, scheme) in enumerate(schemes.items()):
        before = sum(schemes[other] == scheme for other in list(lines)[:number])
        line = plots.LINES[before % len(plots.LINES)]
        found[name] = {"color": by_scheme[scheme], "marker": plots.MARKERS[number], "linestyle": line}
    return found


def _is_decided(points: Sequence[SweepPoint], key: str, by: str) -> bool:
    """True if each value of `by` has only one value of `key`, as in a `zip` table."""
    found: dict[str, str] = {}
    return all(found.setdefault(str(p["at"][by]), str(p["at"][key])) == str(p["at"][key]) for p in points)


class _Axis:
    """Positions of a key's values. Quantities and numbers are to scale if labels fit; others are evenly spaced."""

    def __init__(self, values: Sequence[Any], width_in: float) -> None:
        self._most_letters = LETTERS_PER_IN * width_in
        found = sizes(values)
        distinct = sorted(set(found))
        ratios = [high / low for low, high in itertools.pairwise(distinct)] if distinct and distinct[0] > 0 else []
        is_even = len(ratios) > 1 and max(ratios) < EVEN * min(ratios)
        self.base = (2 if max(ratios) < 4.5 else 10) if is_even or math.prod(ratios) >= LOGARITHMIC_FROM else 0
        scaled = [math.log(size) for size in distinct] if self.base else distinct
        self.places = {str(value): size for value, size in zip(values, found, strict=False)}
        gaps = [high - low for low, high in itertools.pairwise(scaled)]
        if not found or (gaps and min(gaps) < LEAST_GAP_IN / width_in * (scaled[-1] - scaled[0])):
            order = sorted(zip(found, map(str, values), strict=True)) if found else [(0, str(one)) for one in values]
            self.base = 0
            self.places = {name: float(place) for place, name in enumerate(dict.fromkeys(name for _, name in order))}
        units = {name.partition(" ")[2] for name in self.places} if found else {""}
        self._unit = units.pop() if len(units) == 1 else ""
        self.is_ordered = bool(found)

    @property
    def unit(self) -> str:
        """The common unit of all values, for the label."""
        return f" ({self._unit})" if self._unit else ""

    def label(self, axes: Axes) -> None:
        """Writes the values below the axes."""
        places = list(self.places.values())
        if self.base:
            plots.logarithmic(axes, "x", places, self.base)
        names = [for_figure(display_name(name.removesuffix(f" {self._unit}"))) for name in self.places]
        axes.set_xticks(places, names)
        if len(places) * max(map(len, names)) > self._most_letters:
            axes.tick_params(axis="x", rotation=90)


def sizes(values: Sequence[Any]) -> list[float]:
    """The values as numbers if they are numbers or quantities of one kind; else an empty list."""
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
    axes: Axes, points: Sequence[SweepPoint], metric: str, over: str, axis: _Axis, style: Mapping[str, Any]
) -> None:
    found = [(axis.places[str(p["at"][over])], p["metrics"][metric]) for p in points if metric in p["metrics"]]
    found.sort(key=lambda one: one[0])
    factor = metric_of(metric).factor
    means = [scaled(Interval(one["mean"], one["half_width"], one["n"]), factor) for _, one in found]
    names_only = {} if axis.is_ordered else {"linestyle": "none"}
    plots.error_bars(axes, [place for place, _ in found], means, **(dict(style) | names_only))
