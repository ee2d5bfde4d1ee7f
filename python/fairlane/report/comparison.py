"""All schemes of a `fairlane compare` document side by side: their numbers, and a figure of the main metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlane.base.text import for_figure
from fairlane.results.intervals import format_interval
from fairlane.results.metric import Metric
from fairlane.results.metrics import APPLICATIONS, of_applications, shown
from fairlane.results.names import display_name
from fairlane.results.notes import joined, notes_in
from fairlane.results.plots import for_column, logarithmic, rows_of_schemes
from fairlane.results.summary import key
from fairlane.results.tables import plane_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Json = Mapping[str, Any]
Estimate = tuple[float, float | None]
"""Mean and half width."""


@dataclass(frozen=True)
class Column:
    """A column of the page.

    Attributes:
        metric: Displayed metric.
        group: Number of the group; None for the whole link.
        group_name: Name of the group.
    """

    metric: Metric
    group: int | None = None
    group_name: str = ""

    @property
    def application(self) -> str:
        """Kind of application, if the metric belongs to one."""
        return self.metric.path[0] if self.metric.path[0] in APPLICATIONS else ""

    @property
    def better(self) -> str:
        """States whether higher or lower is better."""
        return f"{self.metric.better}er is better" if self.metric.better else ""

    def of(self, summary: Json) -> Estimate | None:
        """Number in a summary. Uses the first link for metrics of links, and the first class for metrics by class."""
        found = summary
        if self.group is not None:
            found = summary["groups"][self.group]
        elif self.metric.scope == "link":
            found = summary["links"][0]
        if self.application:
            found = found["applications"]
        elif self.metric.by:
            rows = found[self.metric.path[0]]
            return _estimate(rows[0][self.metric.path[1]], self.metric.factor) if rows else None
        estimate = _estimate(found.get(key(self.metric)), self.metric.factor)
        # The share is a sum over drop reasons. They are correlated, so the sum has no interval.
        return (estimate[0], None) if estimate and self.metric.name == "dropped_share" else estimate


@dataclass(frozen=True)
class ComparisonView:
    """A comparison, prepared for its page.

    Attributes:
        name: Name of the scenario.
        facts: Facts about the simulation.
        notes: Caveats.
        order: Description of the sort criterion of the schemes.
        schemes: Scheme of each queue, fairest first.
        columns: Displayed values.
        numbers: Estimates by scheme, one for each column.
    """

    name: str
    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]
    order: str
    schemes: Mapping[str, str]
    columns: Sequence[Column]
    numbers: Mapping[str, Sequence[Estimate | None]]

    def text(self, scheme: str, column: int) -> str:
        """A number of the table."""
        estimate = self.numbers[scheme][column]
        return "–" if estimate is None else format_interval(*estimate)


def view(results: Mapping[str, Json]) -> ComparisonView:
    """Creates the view from result documents of one scenario by queue name."""
    first = next(iter(results.values()))
    scenario, summary = first["scenario"], first["summary"]
    run = scenario["run"]
    columns = _columns(summary)
    numbers = {name: [column.of(result["summary"]) for column in columns] for name, result in results.items()}
    kept = [index for index in range(len(columns)) if any(row[index] is not None for row in numbers.values())]
    order, schemes = _fairest_first(results)
    return ComparisonView(
        name=str(scenario["name"]),
        facts=[
            ("replications of each", str(summary["replications"])),
            ("seed", str(run["seed"])),
            ("warm-up", str(run["warmup"])),
            ("measured", str(run["measure"])),
            ("version", f"fairlane {first['runs'][0]['version']}"),
            *([("plane", plane)] if (plane := plane_of(first)) else []),
        ],
        notes=joined({name: notes_in(result) for name, result in results.items()}),
        order=order,
        schemes={name: str(results[name]["scenario"]["queue"]["scheme"]) for name in schemes},
        columns=[columns[index] for index in kept],
        numbers={name: [row[index] for index in kept] for name, row in numbers.items()},
    )


def _fairest_first(results: Mapping[str, Json]) -> tuple[str, list[str]]:
    """The sort criterion, and the names of the schemes in that order. Ties keep the document's order."""
    ratios = {name: _estimate(result["summary"]["throughput_ratio"]) for name, result in results.items()}
    if any(ratios.values()):

        def unfairness(name: str) -> float:
            ratio = ratios[name]
            return abs(math.log(ratio[0])) if ratio and ratio[0] > 0 else math.inf

        return "closeness of the throughput ratio to 1", sorted(results, key=unfairness)
    indices = {name: _estimate(result["summary"]["jain_index"]) for name, result in results.items()}
    return "Jain index", sorted(results, key=lambda name: -(indices[name] or (0.0, None))[0])


def _columns(summary: Json) -> list[Column]:
    """Returns metrics of the link, then the groups of each metric, then the applications of each group."""
    groups = list(enumerate(group["name"] for group in summary["groups"]))
    return [
        *(Column(metric) for scope in ("run", "link") for metric in shown("report", scope)),
        *(Column(metric, *group) for metric in shown("report", "group") for group in groups),
        *(Column(metric, *group) for group in groups for kind in APPLICATIONS for metric in of_applications(kind)),
    ]


def _estimate(estimate: Json | None, factor: float = 1.0) -> Estimate | None:
    if estimate is None or estimate["mean"] is None:
        return None
    half_width = estimate["half_width"]
    return factor * estimate["mean"], None if half_width is None else factor * half_width


def draw(view: ComparisonView, *, column: bool = False) -> Figure:
    """Draws a row per scheme and a panel per main metric; with `column`, one paper column wide."""
    of_figure = _drawn(view)
    panels = {metric.label: [view.numbers[scheme][index] for scheme in view.schemes] for index, metric in of_figure}
    title = f"{for_figure(view.name)}: schemes side by side"
    drawn = rows_of_schemes(title, view.schemes, panels, 2 if column else len(shown("drawn")))
    for axes, (_, metric) in zip(drawn.axes, of_figure, strict=True):
        if metric.name == "throughput_ratio":
            _draw_ratios(axes, [estimate for estimate in panels[metric.label] if estimate])
    if column:
        for_column(drawn)
    return drawn


def _drawn(view: ComparisonView) -> list[tuple[int, Metric]]:
    """Columns of the figure, with their numbers."""
    return [(index, one.metric) for index, one in enumerate(view.columns) if "drawn" in one.metric.shown]


def _draw_ratios(axes: Axes, ratios: Sequence[Estimate]) -> None:
    """Makes the axis of ratios logarithmic, with a line at 1: twice a share is as unfair as half of it."""
    means = [mean for mean, _ in ratios if mean > 0]
    if len(means) < len(ratios) or not means:
        return
    low, high = min(0.5, *means) / 1.5, max(2.0, *means) * 1.5
    decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    few = [power for power in decades if power % math.ceil(len(decades) / 4) == 0]
    ticks = [0.5, 1.0, 2.0] if high / low < 20 else [10.0**power for power in few]
    logarithmic(axes, "x", ticks)
    axes.set(xlim=(low, high))
    axes.axvline(1, color="0.6", linewidth=0.8, linestyle=":")


def describe(view: ComparisonView) -> str:
    """Text alternative of the figure, with its numbers."""
    lines = []
    for index, metric in _drawn(view):
        numbers = ", ".join(f"{display_name(scheme)} {view.text(scheme, index)}" for scheme in view.schemes)
        lines.append(f"{metric.head}: {numbers}.")
    return " ".join(lines)
