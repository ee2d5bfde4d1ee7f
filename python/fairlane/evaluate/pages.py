"""Pages of `fairlane evaluate`: a table of entries and criteria with Pareto figures, and report cards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairlane.evaluate.entries import Entry, asks
from fairlane.evaluate.figures import PAIRS, Pair, describe, draw
from fairlane.evaluate.ranks import Rank, best
from fairlane.evaluate.sentences import Findings, findings
from fairlane.report import figures
from fairlane.report.figures import Size
from fairlane.report.pages import NARROW, Pages
from fairlane.results.metric import Metric
from fairlane.results.metrics import CRITERIA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlane.evaluate.standing import Standing
    from fairlane.results.intervals import Interval


@dataclass(frozen=True)
class Drawing:
    """A figure of the page, a version for small screens, and its text alternative."""

    pair: Pair
    words: str
    size: Size
    narrow: Size


@dataclass(frozen=True)
class CriterionRow:
    """A row of a report card."""

    criterion: Metric
    value: Interval
    rank: Rank
    best: str
    best_value: Interval
    nearest: Sequence[Interval | None]


@dataclass(frozen=True)
class Card:
    """A report card, prepared for its page."""

    entry: Entry
    file: str
    asks: Sequence[str]
    nearest: Sequence[str]
    rows: Sequence[CriterionRow]
    found: Findings
    cells: Sequence[tuple[str, str, Interval]]


def write(evaluation: Standing, stage: Path) -> None:
    """Writes index.html, a page for each measured entry, the figures and the style sheet."""
    drawings = [_draw(evaluation, pair, stage) for pair in PAIRS if _drawable(evaluation, pair)]
    cards = [card(evaluation, entry) for entry in evaluation.entries]
    pages = Pages(
        stage,
        evaluation=evaluation,
        criteria=[CRITERIA[key] for key in evaluation.places],
        cards=cards,
        files={one.entry.label: one.file for one in cards},
        drawings=drawings,
    )
    pages.write("evaluation", "index", here="index")
    for one in cards:
        pages.write("card", one.file.removesuffix(".html"), here=one.entry.label, card=one)
    pages.write_style_sheet()


def card(evaluation: Standing, entry: Entry) -> Card:
    """The report card of an entry."""
    label = entry.label
    near = evaluation.nearest(label)
    rows = []
    for key, value in evaluation.values[label].items():
        first = best(evaluation.places, key)
        words = first[0] if len(first) == 1 else f"{first[0]} and {len(first) - 1} more"
        others = [evaluation.values[name].get(key) for name in near]
        rank = evaluation.places[key][label]
        rows.append(CriterionRow(CRITERIA[key], value, rank, words, evaluation.values[first[0]][key], others))
    names = [one.name for one in evaluation.scenarios]
    found = findings(label, evaluation.placed, evaluation.values, evaluation.places, names)
    cells = [(scenario, key, cell) for (scenario, key), cell in evaluation.placed[label].cells.items()]
    return Card(entry, _file(label), asks(entry), near, rows, found, cells)


def _file(label: str) -> str:
    return f"entry-{re.sub(r'[^A-Za-z0-9_.-]', '-', label)}.html"


def _drawable(evaluation: Standing, pair: Pair) -> bool:
    return {pair.across, pair.up} <= evaluation.places.keys()


def _draw(evaluation: Standing, pair: Pair, stage: Path) -> Drawing:
    drawn = draw(evaluation.values, pair, list(evaluation.measured))
    size = figures.write(drawn, stage / pair.stem)
    narrow = figures.write_narrow(drawn, stage / f"{pair.stem}{NARROW}")
    return Drawing(pair, describe(evaluation.values, pair), size, narrow)
