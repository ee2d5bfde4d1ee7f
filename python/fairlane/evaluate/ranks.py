"""Places of entries by each criterion, and which entries are most alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairlane.results.intervals import Interval
from fairlane.results.metrics import CRITERIA

NEAREST = 5
"""Number of entries that a report card compares with."""

Values = Mapping[str, Mapping[str, Interval]]
"""By entry and criterion."""


@dataclass(frozen=True, slots=True)
class Rank:
    """A place among all entries that have the criterion.

    Attributes:
        rank: 1 is the best; equal values share the better rank.
        first: The best place that the intervals leave room for,
        last: and the worst.
        of: Entries that were compared.
    """

    rank: int
    first: int
    last: int
    of: int


def order(one: Interval, other: Interval) -> int:
    """1 if an interval lies above another, -1 if below, 0 if they touch: then they leave room for either order."""
    return (one.mean - one.slack > other.mean + other.slack) - (one.mean + one.slack < other.mean - other.slack)


def ranks(values: Values, key: str) -> dict[str, Rank]:
    """The place of every entry that has a criterion."""
    sign = CRITERIA[key].sign
    known = {label: of_entry[key] for label, of_entry in values.items() if key in of_entry}
    found = {}
    for label, one in known.items():
        others = [other for name, other in known.items() if name != label]
        rank = 1 + sum(sign * other.mean < sign * one.mean for other in others)
        first = 1 + sum(sign * order(other, one) < 0 for other in others)
        last = len(known) - sum(sign * order(other, one) > 0 for other in others)
        found[label] = Rank(rank, min(first, rank), max(last, rank), len(known))
    return found


def all_ranks(values: Values) -> dict[str, dict[str, Rank]]:
    """The places of all entries, by criterion and entry."""
    return {key: ranks(values, key) for key in CRITERIA if any(key in one for one in values.values())}


def best(places: Mapping[str, Mapping[str, Rank]], key: str) -> list[str]:
    """The entries in the first place."""
    return [label for label, rank in places[key].items() if rank.rank == 1]


def nearest(places: Mapping[str, Mapping[str, Rank]], label: str, most: int = NEAREST) -> Sequence[str]:
    """The entries whose places are most like those of another, by the mean square of their differences.

    Places count as shares of the number of entries, since not every entry has every criterion.
    """
    mine = {key: of_key[label] for key, of_key in places.items() if label in of_key}
    others = sorted({name for of_key in places.values() for name in of_key} - {label})
    distances = {}
    for other in others:
        squares = [
            ((rank.rank - places[key][other].rank) / rank.of) ** 2 for key, rank in mine.items() if other in places[key]
        ]
        distances[other] = math.fsum(squares) / len(squares) if squares else math.inf
    return sorted(others, key=lambda other: (distances[other], other))[:most]
