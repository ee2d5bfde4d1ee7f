"""Sentences about an entry's best and worst results, generated from its numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairlane.evaluate.league import Placed
from fairlane.evaluate.ranks import Rank, Values
from fairlane.results.intervals import Interval, format_number
from fairlane.results.metrics import CRITERIA

TENTH = 0.1
"""Fraction of best and of worst ranks to mention."""
MOST_SCENARIOS = 3
"""Maximum number of best and of worst scenarios to mention."""
_SCENARIO_CRITERIA = ("worst_share", "cheats", "many_users", "completion")
"""Criteria that are shares, so that their differences are comparable."""
_WORDS = {
    "worst_share": "the worst user gets {} of its share",
    "cheats": "the worst honest user gets {} of its share",
    "many_users": "the worst hundredth gets {} of its share",
    "completion": "the slowest transfers have {} of the speed of an empty link",
}


@dataclass(frozen=True, slots=True)
class Findings:
    """Sentences about an entry.

    Attributes:
        wins: Criteria and scenarios in which the entry is among the best, or far above the median.
        fails: Criteria and scenarios in which the entry is among the worst, or far below the median.
    """

    wins: Sequence[str]
    fails: Sequence[str]


def findings(
    label: str,
    placed: Mapping[str, Placed],
    values: Values,
    places: Mapping[str, Mapping[str, Rank]],
    scenarios: Sequence[str],
) -> Findings:
    """Finds criteria by which an entry ranks in the first or last tenth, and scenarios where it is far from the median.

    Args:
        label: Label of the entry.
        placed: All entries with their cells.
        values: Values of the entries by criterion.
        places: Ranks of the entries.
        scenarios: Scenarios of the evaluation.
    """
    wins, fails = [], []
    for key, value in values[label].items():
        rank = places[key][label]
        ends = math.ceil(rank.of * TENTH)
        middle = statistics.median(of_entry[key].mean for of_entry in values.values() if key in of_entry)
        if rank.of < 3 or value.mean == middle:
            continue
        text = f"{_place(rank)} of {rank.of} by {CRITERIA[key].title}: {_with_unit(value, key)}, the median entry has "
        text = f"{text}{format_number(middle, 3)}."
        if rank.rank <= ends:
            wins.append(text)
        elif _from_the_end(values, key, label) < ends:
            fails.append(text)
    far = _scenarios(label, placed, scenarios)
    wins += [_scenario(*one) for one in far if one[0] > 0][:MOST_SCENARIOS]
    fails += [_scenario(*one) for one in reversed(far) if one[0] < 0][:MOST_SCENARIOS]
    return Findings(wins, fails)


_Far = tuple[float, str, str, Interval, float]
"""Difference from the median, scenario, criterion, value, median."""


def _scenarios(label: str, placed: Mapping[str, Placed], scenarios: Sequence[str]) -> list[_Far]:
    """Scenarios in which an entry differs from the median by more than its interval, best first."""
    found = []
    for (scenario, key), cell in placed[label].cells.items():
        if key not in _SCENARIO_CRITERIA or scenario not in scenarios:
            continue
        others = [one.cells[scenario, key].mean for one in placed.values() if (scenario, key) in one.cells]
        difference = cell.mean - (middle := statistics.median(others))
        if abs(difference) > cell.slack and len(others) > 2:
            found.append((difference, scenario, key, cell, middle))
    return sorted(found, key=lambda one: (-one[0], one[1]))


def _scenario(difference: float, scenario: str, key: str, cell: Interval, middle: float) -> str:
    del difference
    what = _WORDS[key].format(cell)
    return f"In `{scenario}` {what}; the median entry has {format_number(middle, 3)}."


def _from_the_end(values: Values, key: str, label: str) -> int:
    """Number of worse entries."""
    sign = CRITERIA[key].sign
    own = sign * values[label][key].mean
    return sum(sign * of_entry[key].mean > own for of_entry in values.values() if key in of_entry)


def _place(rank: Rank) -> str:
    room = f" (intervals: {rank.first} to {rank.last})" if rank.first < rank.last else ""
    return f"Place {rank.rank}{room}"


def _with_unit(value: Interval, key: str) -> str:
    unit = CRITERIA[key].suffix
    return f"{value} {unit}" if unit else str(value)
