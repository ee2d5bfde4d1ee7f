"""The page of `fairlane compare`: all schemes of one document side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from fairlane.errors import UserError
from fairlane.intervals import format_interval
from fairlane.notes import joined, notes_in
from fairlane.plots import COLOURS, STYLE
from fairlane.text import for_figure

if TYPE_CHECKING:
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
    """

    name: str
    unit: str
    better: str
    of: Callable[[Json], Estimate | None]

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
        schemes: Names, in the document's order.
        measures: Columns.
        numbers: Estimates by scheme, one for each measure.
    """

    name: str
    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]
    schemes: Sequence[str]
    measures: Sequence[Measure]
    numbers: Mapping[str, Sequence[Estimate | None]]

    def text(self, scheme: str, column: int) -> str:
        """A number of the table."""
        estimate = self.numbers[scheme][column]
        return "–" if estimate is None else format_interval(*estimate)


def read(file: Path) -> ComparisonView:
    """Reads the document that `fairlane compare --json` prints or writes as result.json.

    Raises:
        UserError: It cannot be read or is none.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"--compare: {file}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"--compare: {file}: no JSON: {error}") from error
    try:
        return _view(document["results"])
    except (KeyError, TypeError, IndexError, AttributeError, StopIteration) as error:
        raise UserError(f"--compare: {file}: not a document of `fairlane compare`") from error


def _view(results: Mapping[str, Json]) -> ComparisonView:
    first = next(iter(results.values()))
    scenario, summary = first["scenario"], first["summary"]
    run = scenario["run"]
    measures = _measures(summary)
    numbers = {name: [measure.of(result["summary"]) for measure in measures] for name, result in results.items()}
    kept = [index for index in range(len(measures)) if any(row[index] is not None for row in numbers.values())]
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
        schemes=list(results),
        measures=[measures[index] for index in kept],
        numbers={name: [row[index] for index in kept] for name, row in numbers.items()},
    )


def _measures(summary: Json) -> list[Measure]:
    groups = [
        Measure(
            f"throughput of a user, {group['name']}",
            "Mbit/s",
            "",
            lambda summary, index=index: _estimate(summary["groups"][index]["throughput_bps"], 1e-6),  # type: ignore[misc]
        )
        for index, group in enumerate(summary["groups"])
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
    """A row for each scheme, a panel for each of the main measures, so many beside one another."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    shown = [(index, measure) for index, measure in enumerate(view.measures) if measure.name in DRAWN]
    places = range(len(view.schemes))
    rows = math.ceil(len(shown) / columns)
    with mpl.rc_context(STYLE):
        size_in = 0.9 + 1.8 * columns, 0.4 + rows * (0.8 + 0.24 * len(view.schemes))
        drawn = Figure(figsize=size_in, layout="constrained")
        panels = list(drawn.subplots(rows, columns, sharey=True, squeeze=False).flat)
        for unused in panels[len(shown) :]:
            unused.remove()
        drawn.suptitle(f"{for_figure(view.name)}: schemes side by side", fontsize=11, x=0.01, ha="left")
        for number, (axes, (index, measure)) in enumerate(zip(panels[: len(shown)], shown, strict=True)):
            estimates = [view.numbers[scheme][index] for scheme in view.schemes]
            axes.errorbar(
                [estimate[0] if estimate else float("nan") for estimate in estimates],
                places,
                xerr=[(estimate[1] or 0.0) if estimate else 0.0 for estimate in estimates],
                fmt="o",
                color=COLOURS[number],
                capsize=2,
            )
            axes.set(xlabel=measure.head)
            axes.margins(y=0.6 / len(view.schemes))
            if measure.name == "throughput ratio" and all(estimate[0] > 0 for estimate in estimates if estimate):
                axes.set_xscale("log")
                axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=5))
                axes.xaxis.set_minor_locator(NullLocator())
                axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
                axes.axvline(1, color="0.6", linewidth=0.8, linestyle=":")
        panels[0].set_yticks(places, list(map(for_figure, view.schemes)))
        panels[0].invert_yaxis()
    return drawn


def describe(view: ComparisonView) -> str:
    """The figure in words, with its numbers."""
    lines = []
    for index, measure in enumerate(view.measures):
        if measure.name in DRAWN:
            numbers = ", ".join(f"{scheme} {view.text(scheme, index)}" for scheme in view.schemes)
            lines.append(f"{measure.head}: {numbers}.")
    return " ".join(lines)
