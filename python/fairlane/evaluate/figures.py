"""Pareto figures: all entries by two criteria, and the entries that no other entry dominates."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairlane.base.text import for_figure
from fairlane.evaluate.ranks import Values
from fairlane.results import plots
from fairlane.results.intervals import Interval, format_number, scaled
from fairlane.results.metric import Metric
from fairlane.results.metrics import CRITERIA
from fairlane.results.names import display_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OTHERS, FRONT, *OWN = "0.62", *plots.COLOURS
MOST_OWN = 4
"""Maximum number of the user's entries that are highlighted."""
TOUCHING = (0.04, 0.05)
"""Distances in x and y, as fractions of the axes, below which points or their numbers overlap."""
LEGEND_CHARACTERS = 56
DELAY_TICKS_MS = (5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two criteria of a figure.

    Attributes:
        stem: Stem of its files.
        across: Key of the criterion on the x-axis.
        up: Key of the criterion on the y-axis.
        with_zero: Axes (`x`, `y` or `xy`) whose values span orders of magnitude and include zero.
    """

    stem: str
    across: str
    up: str
    with_zero: str = ""

    @property
    def title(self) -> str:
        """Both criteria."""
        return f"{CRITERIA[self.up].title} against {CRITERIA[self.across].title}"


PAIRS = (
    Pair("share-delay", "delay_p99", "worst_share"),
    Pair("share-state", "state_core", "worst_share", "x"),
    Pair("edge-core", "state_core", "state_edge", "xy"),
)


def known(values: Values, pair: Pair) -> dict[str, tuple[Interval, Interval]]:
    """Pairs of values of all entries that have both."""
    return {
        label: (of_entry[pair.across], of_entry[pair.up])
        for label, of_entry in values.items()
        if pair.across in of_entry and pair.up in of_entry
    }


def front(values: Values, pair: Pair) -> list[str]:
    """The Pareto front: entries that no other entry dominates, sorted by the first criterion."""
    signs = [CRITERIA[key].sign for key in (pair.across, pair.up)]
    points = {label: (signs[0] * x.mean, signs[1] * y.mean) for label, (x, y) in known(values, pair).items()}
    found = [
        label
        for label, (x, y) in points.items()
        if not any(other != (x, y) and other[0] <= x and other[1] <= y for other in points.values())
    ]
    return sorted(found, key=lambda label: (points[label], label))


def draw(values: Values, pair: Pair, own: Collection[str] = ()) -> Figure:
    """Draws all entries with intervals, the front with lines and names, and the user's own entries."""
    metrics = _for_people(pair.across), _for_people(pair.up)
    points = {
        label: (scaled(x, metrics[0].factor), scaled(y, metrics[1].factor))
        for label, (x, y) in known(values, pair).items()
    }
    best = front(values, pair)
    singled = [label for label in own if label in points] if len(own) <= MOST_OWN else []
    better = {"high": "higher", "low": "lower"}
    subtitle = (
        f"{len(points)} entries; {better[CRITERIA[pair.up].better]} is better, and further "
        f"{'right' if CRITERIA[pair.across].better == 'high' else 'left'}; bars are 95% intervals"
    )
    with plots.figure(pair.title, subtitle) as (drawn, axes):
        _points(axes, points, [label for label in points if label not in best], OTHERS, "others", 3.5)
        _points(axes, points, best, FRONT, _named(best), 5)
        for label, colour in zip(singled, OWN, strict=False):
            _points(axes, points, [label], colour, for_figure(display_name(label)), 6)
        axes.step(
            [points[label][0].mean for label in best],
            [points[label][1].mean for label in best],
            where="post",
            color=FRONT,
            linewidth=0.8,
            linestyle=":",
        )
        for name in pair.with_zero:
            most = max(point["xy".index(name)].mean for point in points.values())
            axes.set(**{f"{name}scale": "symlog"})
            axes.set(**{f"{name}lim": (-0.5, 2 * most + 1)})
        if pair.across == "delay_p99":
            plots.logarithmic(axes, "x", DELAY_TICKS_MS)
        axes.set(xlabel=metrics[0].label, ylabel=metrics[1].label)
        if pair.up == "worst_share":
            axes.set(ylim=(0, None))
        _numbers(axes, points, best)
        plots.legend(drawn, axes)
    return drawn


def _for_people(key: str) -> Metric:
    """The criterion for figures, with times in ms."""
    return replace(CRITERIA[key], shown_as="ms") if CRITERIA[key].unit == "s" else CRITERIA[key]


def _points(
    axes: Axes,
    points: dict[str, tuple[Interval, Interval]],
    labels: Sequence[str],
    colour: str,
    name: str,
    size: float,
) -> None:
    if labels:
        across, up = zip(*(points[label] for label in labels), strict=True)
        axes.errorbar(
            [one.mean for one in across],
            [one.mean for one in up],
            xerr=[one.slack for one in across],
            yerr=[one.slack for one in up],
            fmt="o",
            markersize=size,
            elinewidth=0.7,
            color=colour,
            label=name,
        )


def _numbers(axes: Axes, points: dict[str, tuple[Interval, Interval]], best: Sequence[str]) -> None:
    """Numbers the points of the front in the order of `front`. Points that nearly coincide share a label."""
    into_axes = axes.transData + axes.transAxes.inverted()
    clusters: list[tuple[tuple[float, float], list[int]]] = []
    for number, label in enumerate(best, 1):
        place = points[label][0].mean, points[label][1].mean
        x, y = into_axes.transform(place)
        for other, numbers in clusters:
            at = into_axes.transform(other)
            if abs(at[0] - x) < TOUCHING[0] and abs(at[1] - y) < TOUCHING[1]:
                numbers.append(number)
                break
        else:
            clusters.append((place, [number]))
    for place, numbers in clusters:
        text = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
        if numbers != list(range(numbers[0], numbers[-1] + 1)):
            text = ",".join(map(str, numbers))
        axes.annotate(text, place, xytext=(-4, 4), textcoords="offset points", ha="right", fontsize=8)


def _named(best: Sequence[str]) -> str:
    """Names and numbers of the front, for the legend."""
    names = ", ".join(
        f"{number}\N{NO-BREAK SPACE}{for_figure(display_name(label))}" for number, label in enumerate(best, 1)
    )
    return textwrap.fill(f"no other is better in both: {names}", LEGEND_CHARACTERS, break_on_hyphens=False)


def describe(values: Values, pair: Pair) -> str:
    """Text alternative of the figure: the entries on the front, by number."""
    points = known(values, pair)
    names = [
        f"{number} {label} ({format_number(points[label][0].mean)}, {format_number(points[label][1].mean)})"
        for number, label in enumerate(front(values, pair), 1)
    ]
    return f"{len(points)} entries. No entry is better in both criteria than {', '.join(names)}."
