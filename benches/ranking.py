"""Ranks schemes in the same cells on two sides, and counts the pairs whose order agrees.

The rule was fixed before the first comparison:

- A side separates two schemes by a measure if their 95 % intervals do not overlap. This is the rule of
  `fairlane.evaluate.ranks.order`, which also gives the ranks of the league.
- A pair disagrees if both sides separate it, in opposite orders. Otherwise it agrees, since the intervals of a side
  that does not separate a pair allow either order.

This rule is lenient, since a side with wide intervals separates few pairs. So two strict counts are reported, too. The
first counts the pairs that both sides separate in the same order. The second counts the pairs that only one side
separates, if the means of the other side have the same order.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

from fairlane.base.files import write_aside
from fairlane.evaluate.ranks import order
from fairlane.results.intervals import Interval

from .harness import ROOT, Report, markdown
from .rank_cells import Cell

Sides = tuple[Interval, Interval]
"""Intervals of Fairlane and of the other side."""
Values = Mapping[str, Mapping[str, Sides]]
"""Results of a cell, by scheme and measure."""
Found = Mapping[str, Values]
"""Results by cell."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Order of two schemes by one measure in one cell, on both sides.

    Attributes:
        cell: Name of the cell.
        measure: Name of the measure.
        first: One scheme.
        second: The other scheme.
        ours: 1 if the first scheme has the larger value in Fairlane, -1 if the smaller, 0 if the intervals overlap.
        theirs: Order on the other side, with the same values.
        same_means: True if the means are in the same order, regardless of the intervals. Equal means have no order.
    """

    cell: str
    measure: str
    first: str
    second: str
    ours: int
    theirs: int
    same_means: bool

    @property
    def agrees(self) -> bool:
        """True if the order is the same within intervals."""
        return self.ours * self.theirs >= 0

    @property
    def by_both(self) -> bool:
        """True if both sides separate the pair."""
        return self.ours * self.theirs != 0

    @property
    def by_one(self) -> bool:
        """True if only one side separates the pair."""
        return (self.ours == 0) != (self.theirs == 0)


@dataclass(frozen=True, slots=True)
class Count:
    """Numbers of pairs, such as all pairs of a cell or of a measure, by how the two sides order them.

    Attributes:
        pairs: Number of all counted pairs.
        agree: Pairs whose order agrees by the rule at the top of this file.
        both: Pairs that both sides separate.
        both_same: Pairs that both sides separate, in the same order.
        one: Pairs that only one side separates.
        one_same: Pairs that only one side separates, with means in the same order.
    """

    pairs: int
    agree: int
    both: int
    both_same: int
    one: int
    one_same: int


def pairs(found: Found) -> list[Pair]:
    """The order of every two schemes, by each measure in each cell."""
    return [
        Pair(
            cell,
            measure,
            first,
            second,
            ours=order(values[first][measure][0], values[second][measure][0]),
            theirs=order(values[first][measure][1], values[second][measure][1]),
            same_means=_same_means(values[first][measure], values[second][measure]),
        )
        for cell, values in found.items()
        for first, second in itertools.combinations(values, 2)
        for measure in values[first]
    ]


def _same_means(first: Sides, second: Sides) -> bool:
    ours, theirs = (a.mean - b.mean for a, b in zip(first, second, strict=True))
    return ours * theirs > 0 or ours == theirs == 0


def count(of: Iterable[Pair]) -> Count:
    """Counts pairs."""
    all_ = list(of)
    return Count(
        pairs=len(all_),
        agree=sum(pair.agrees for pair in all_),
        both=sum(pair.by_both for pair in all_),
        both_same=sum(pair.by_both and pair.agrees for pair in all_),
        one=sum(pair.by_one for pair in all_),
        one_same=sum(pair.by_one and pair.same_means for pair in all_),
    )


def table(found: Found, other: str) -> str:
    """The results in Markdown: a sentence, the counts by measure and by cell, and the pairs that disagree.

    Args:
        found: Results of the measured cells.
        other: Name of the other side.
    """
    every = pairs(found)
    total = count(every)
    head = ["", "pairs", "agree", "both separate", "of these the same", "one separates", "of these means the same"]
    rows = [
        [name, *(f"{value}" for value in astuple(count(pair for pair in every if getattr(pair, key) == name)))]
        for key in ("measure", "cell")
        for name in dict.fromkeys(getattr(pair, key) for pair in every)
    ]
    parts = [
        f"**{total.agree} of {total.pairs} pairs ({_percent(total.agree, total.pairs)}) are in the same order within "
        f"intervals**, in {len(found)} cells.",
        f"Strictly: of {total.both} pairs that both separate, {total.both_same} "
        f"({_percent(total.both_same, total.both)}) are in the same order.\n"
        f"Of {total.one} that one of them separates, the means of the other are in the same order in {total.one_same} "
        f"({_percent(total.one_same, total.one)}).",
        markdown(head, rows),
    ]
    if wrong := [_opposite(pair, found) for pair in every if not pair.agrees]:
        parts.append(f"Pairs that both separate, the other way round: Fairlane, then {other}.")
        parts.append(markdown(["cell", "measure", "schemes", "Fairlane", other], wrong))
    return "\n\n".join(parts)


def _opposite(pair: Pair, found: Found) -> list[str]:
    first, second = (found[pair.cell][scheme][pair.measure] for scheme in (pair.first, pair.second))
    sides = (f"{first[side]}, {second[side]}" for side in (0, 1))
    return [pair.cell, pair.measure, f"{pair.first}, {pair.second}", *sides]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def values_csv(found: Found, other: str) -> str:
    """A row for each cell, scheme and measure: both means with half widths and numbers of runs."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("mean", "half_width", "runs")
    sides = [f"{side}_{name}" for side in ("fairlane", other) for name in names]
    writer.writerow(["cell", "scheme", "measure", *sides])
    for cell, values in found.items():
        for scheme, measures in values.items():
            for measure, both in measures.items():
                numbers = [number for one in both for number in (f"{one.mean:.9g}", f"{one.slack:.9g}", one.n)]
                writer.writerow([cell, scheme, measure, *numbers])
    return text.getvalue()


def rank(
    report: Report,
    out: Path,
    work: Mapping[Cell, Mapping[str, Callable[[], Mapping[str, Sides]]]],
    *,
    mark: str,
    other: str,
    head: str,
) -> None:
    """Runs the schemes in the cells. Writes the table into the page, and the values into the folder of figures."""
    found: dict[str, Values] = {}
    for number, (cell, by_scheme) in enumerate(work.items(), 1):
        found[cell.name] = {scheme: measure() for scheme, measure in by_scheme.items()}
        report.document |= save(out, found, other, head)
        here = count(pairs({cell.name: found[cell.name]}))
        verdict = f"{here.agree} of {here.pairs} pairs agree; {here.both_same} of {here.both} that both separate"
        report.progress(number, len(work), f"{cell.name}: {verdict}")
    if report.page is not None:
        values = ROOT / "docs" / "figures" / f"{report.page.stem}.{mark}.csv"
        write_aside(values, values_csv(found, other).encode())
        report.put(mark, f"{head}\n\n{table(found, other)}")


def save(out: Path, found: Found, other: str, head: str) -> dict[str, Any]:
    """Writes ranks.json, ranks.csv and ranks.md after each cell, so that a killed process loses at most one cell."""
    every = pairs(found)
    document: dict[str, Any] = {
        "measured": head,
        "total": asdict(count(every)),
        "values": {
            cell: {
                scheme: {measure: [one.document() for one in both] for measure, both in measures.items()}
                for scheme, measures in values.items()
            }
            for cell, values in found.items()
        },
        "pairs": [asdict(pair) | {"agrees": pair.agrees} for pair in every],
    }
    write_aside(out / "ranks.json", (json.dumps(document, indent=1) + "\n").encode())
    write_aside(out / "ranks.csv", values_csv(found, other).encode())
    write_aside(out / "ranks.md", f"{head}\n\n{table(found, other)}\n".encode())
    return document
