"""All schemes of a document of `fairlane compare` side by side: their numbers, and the figure of the main ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlane.base.text import for_figure
from fairlane.results.applications import FIGURES
from fairlane.results.intervals import format_interval
from fairlane.results.notes import joined, notes_in
from fairlane.results.plots import logarithmic, rows_of_schemes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Json = Mapping[str, Any]
Estimate = tuple[float, float | None]
"""Mean and half width."""


@dataclass(frozen=True)
class Measure:
    """A column of the page.

    Attributes:
        name: In words.
        unit: Its unit; empty for a plain number.
        better: What is good, in words.
        of: Takes it from a summary; None if there is no such number.
        group: Whose it is; empty for the whole link.
        application: What kind of application it is of, if of one.
    """

    name: str
    unit: str
    better: str
    of: Callable[[Json], Estimate | None]
    group: str = ""
    application: str = ""

    @property
    def head(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class ComparisonView:
    """A comparison as its page shows it.

    Attributes:
        name: Of the scenario.
        facts: How it was simulated.
        notes: What to know before the numbers are trusted.
        order: What the schemes are sorted by, in words.
        schemes: Names, the fairest first.
        measures: Columns.
        numbers: Estimates by scheme, one for each measure.
    """

    name: str
    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]
    order: str
    schemes: Sequence[str]
    measures: Sequence[Measure]
    numbers: Mapping[str, Sequence[Estimate | None]]

    def text(self, scheme: str, column: int) -> str:
        """A number of the table."""
        estimate = self.numbers[scheme][column]
        return "–" if estimate is None else format_interval(*estimate)


def view(results: Mapping[str, Json]) -> ComparisonView:
    """Result documents of one scenario by the name of their queue."""
    first = next(iter(results.values()))
    scenario, summary = first["scenario"], first["summary"]
    run = scenario["run"]
    measures = _measures(summary)
    numbers = {name: [measure.of(result["summary"]) for measure in measures] for name, result in results.items()}
    kept = [index for index in range(len(measures)) if any(row[index] is not None for row in numbers.values())]
    order, schemes = _fairest_first(results)
    return ComparisonView(
        name=str(scenario["name"]),
        facts=[
            ("replications of each", str(summary["replications"])),
            ("seed", str(run["seed"])),
            ("warm-up", str(run["warmup"])),
            ("measured", str(run["measure"])),
            ("version", f"fairlane {first['runs'][0]['version']}"),
        ],
        notes=joined({name: notes_in(result) for name, result in results.items()}),
        order=order,
        schemes=schemes,
        measures=[measures[index] for index in kept],
        numbers={name: [row[index] for index in kept] for name, row in numbers.items()},
    )


def _fairest_first(results: Mapping[str, Json]) -> tuple[str, list[str]]:
    """What schemes are sorted by, and their names in that order; equals stay in the document's."""
    ratios = {name: _estimate(result["summary"]["throughput_ratio"]) for name, result in results.items()}
    if any(ratios.values()):

        def unfairness(name: str) -> float:
            ratio = ratios[name]
            return abs(math.log(ratio[0])) if ratio and ratio[0] > 0 else math.inf

        return "closeness of the throughput ratio to 1", sorted(results, key=unfairness)
    indices = {name: _estimate(result["summary"]["jain_index"]) for name, result in results.items()}
    return "Jain index", sorted(results, key=lambda name: -(indices[name] or (0.0, None))[0])


def _measures(summary: Json) -> list[Measure]:
    groups = [
        Measure(
            "throughput of a user",
            "Mbit/s",
            "",
            lambda summary, index=index: _estimate(summary["groups"][index]["throughput_bps"], 1e-6),  # type: ignore[misc]
            group["name"],
        )
        for index, group in enumerate(summary["groups"])
    ]
    applications = [
        Measure(
            figure.words,
            figure.unit,
            "",
            lambda summary, index=index, figure=figure: _estimate(  # type: ignore[misc]
                summary["groups"][index]["applications"].get(figure.name), figure.factor
            ),
            group["name"],
            kind,
        )
        for index, group in enumerate(summary["groups"])
        for kind, figures in FIGURES.items()
        for figure in figures
        if figure.name in group["applications"]
    ]
    return [
        Measure("throughput ratio", "", "fair at 1", lambda summary: _estimate(summary["throughput_ratio"])),
        Measure("Jain index", "", "fair at 1", lambda summary: _estimate(summary["jain_index"])),
        Measure("utilisation", "%", "", lambda summary: _estimate(summary["links"][0]["utilisation"], 100)),
        Measure("mean queue", "packets", "", lambda summary: _estimate(summary["links"][0]["queue_mean_packets"])),
        Measure("mean delay", "ms", "", lambda summary: _delay(summary, "mean_s")),
        Measure("99% delay", "ms", "", lambda summary: _delay(summary, "p99_s")),
        Measure("dropped", "% of arrivals", "", _dropped),
        *groups,
        *applications,
    ]


def _estimate(estimate: Json | None, factor: float = 1.0) -> Estimate | None:
    if estimate is None or estimate["mean"] is None:
        return None
    half_width = estimate["half_width"]
    return factor * estimate["mean"], None if half_width is None else factor * half_width


def _delay(summary: Json, key: str) -> Estimate | None:
    """Of the first class at the first link: best effort, if there is any."""
    delays = summary["links"][0]["delay"]
    return _estimate(delays[0][key], 1e3) if delays else None


def _dropped(summary: Json) -> Estimate | None:
    """The sum over the reasons; no interval, since they vary together."""
    shares = [_estimate(drop["share_of_arrivals"], 100) for drop in summary["links"][0]["drops"]]
    return sum(share[0] for share in shares if share is not None), None


DRAWN = ("throughput ratio", "utilisation", "mean delay", "dropped")


def draw(view: ComparisonView, columns: int = len(DRAWN)) -> Figure:
    """A row for each scheme, a panel for each of the main measures, that many side by side."""
    shown = [(index, measure) for index, measure in enumerate(view.measures) if measure.name in DRAWN]
    panels = {measure.head: [view.numbers[scheme][index] for scheme in view.schemes] for index, measure in shown}
    drawn = rows_of_schemes(f"{for_figure(view.name)}: schemes side by side", view.schemes, panels, columns)
    for axes, (_, measure) in zip(drawn.axes, shown, strict=True):
        if measure.name == "throughput ratio":
            _draw_ratios(axes, [estimate for estimate in panels[measure.head] if estimate])
    return drawn


def _draw_ratios(axes: Axes, ratios: Sequence[Estimate]) -> None:
    """A logarithmic axis over the means: twice as much and half as much are as far from fair."""
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
    """The figure in words, with its numbers."""
    lines = []
    for index, measure in enumerate(view.measures):
        if measure.name in DRAWN:
            numbers = ", ".join(f"{scheme} {view.text(scheme, index)}" for scheme in view.schemes)
            lines.append(f"{measure.head}: {numbers}.")
    return " ".join(lines)
