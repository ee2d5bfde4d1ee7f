"""Documentation of the evaluation: criteria, suite, the league, and the strengths and weaknesses of each entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fairlane.evaluate import league as leagues
from fairlane.evaluate import suite as suites
from fairlane.evaluate.entries import asks, parsed
from fairlane.evaluate.figures import PAIRS, describe
from fairlane.evaluate.ranks import Rank
from fairlane.evaluate.sentences import findings
from fairlane.evaluate.standing import Standing
from fairlane.results.metrics import CRITERIA

Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Headings of the columns, and rows."""
FIGURES = Path(__file__).parents[2] / "docs" / "figures"
"""In a checkout: figures drawn by `make league`."""
_NONE = "\nNothing yet: `make league` evaluates all schemes on the whole suite and writes what it finds here.\n"


def criteria() -> Table:
    """A row for each criterion."""
    rows = [
        [f"`{name}`", one.title, one.suffix or "1", one.better, one.doc, one.source] for name, one in CRITERIA.items()
    ]
    return ["criterion", "", "unit", "better", "meaning", "source"], rows


def suite() -> Table:
    """A row for each family."""
    rows = []
    for family in suites.read().families:
        keys = {key for one in family.scenarios for key in one.scores}
        scored = ", ".join(f"`{key}`" for key in CRITERIA if key in keys)
        names = ", ".join(f"`{one.path.stem}`" for one in family.scenarios)
        rows.append([f"`{family.key}`", family.source, family.measures, names, scored])
    return ["family", "source", "what it measures", "scenarios", "scored by"], rows


def standing() -> Standing:
    """All entries of the league, without new measurements."""
    read = suites.read()
    return Standing(read, list(read.scenarios.values()), False, [], {}, leagues.read(read), [])


def league() -> Table | str:
    """A row for each entry: value and rank for every criterion, and requirements."""
    found = standing()
    if not found.values:
        return _NONE
    keys = list(found.places)
    rows = [
        [
            f"`{label}`",
            *(f"{of_entry[key]} · {_place(found.places[key][label])}" if key in of_entry else "–" for key in keys),
            "; ".join(asks(parsed(label))),
        ]
        for label, of_entry in sorted(found.values.items())
    ]
    return ["entry", *(CRITERIA[key].head for key in keys), "asks"], rows


def pictures() -> str:
    """The Pareto figures with their text alternatives."""
    found = standing()
    drawn = [pair for pair in PAIRS if {pair.across, pair.up} <= found.places.keys()]
    if not drawn:
        return _NONE
    return "".join(
        f"\n![{pair.title}](figures/evaluation-{pair.stem}.png)\n\n{describe(found.values, pair)}\n"
        for pair in drawn
        if (FIGURES / f"evaluation-{pair.stem}.png").exists()
    )


def entries() -> str:
    """A section for each entry: strengths and weaknesses."""
    found = standing()
    return "\n".join(_section(found, label) for label in sorted(found.values)) or _NONE


def _section(found: Standing, label: str) -> str:
    one = findings(label, found.placed, found.values, found.places, [scenario.name for scenario in found.scenarios])
    return "\n".join(
        [
            f"\n## {label}\n",
            "Where it wins:\n",
            *_list(one.wins),
            "\nWhere it fails:\n",
            *_list(one.fails),
            "",
        ]
    )


def _list(sentences: Sequence[str]) -> Iterator[str]:
    return iter([f"- {sentence}" for sentence in sentences] or ["- Nothing stands out."])


def _place(rank: Rank) -> str:
    return f"{rank.rank} ({rank.first}–{rank.last})" if rank.first < rank.last else str(rank.rank)
