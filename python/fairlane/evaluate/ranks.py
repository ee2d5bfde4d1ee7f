"""Ranks of entries by each criterion, and the most similar entries."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairlane.results.intervals import Interval
from fairlane.results.metrics import CRITERIA

NEAREST = 5
"""Number of similar entries on a report card."""

Values = Mapping[str, Mapping[str, Interval]]
"""Values by entry and criterion."""


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank among all entries that have the criterion.

    Attributes:
        rank: Rank; 1 is the best, and equal values share the better rank.
        first: Best rank that the intervals allow.
        last: Worst rank that the intervals allow.
        of: Number of compared entries.
    """

    rank: int
    first: int
    last: int
    of: int


def order(one: Interval, other: Interval) -> int:
    """1 if `one` lies above `other`, -1 if below, 0 if the intervals touch, so that both orders are possible."""
    return (one.mean - one.slack > other.mean + other.slack) - (one.mean + one.slack < other.mean - other.slack)


def ranks(values: Values, key: str) -> dict[str, Rank]:
    """The ranks of all entries that have a criterion."""
    sign = CRITERIA[key].sign
    known = {label: of_entry[key] for label, of_entry in values.items() if key in of_entry}
    means = sorted(sign * one.mean for one in known.values())
    lows = sorted(one.mean - one.slack for one in known.values())
    highs = sorted(one.mean + one.slack for one in known.values())
    found = {}
    for label, one in known.items():
        below = bisect_left(highs, one.mean - one.slack)
        above = len(known) - bisect_right(lows, one.mean + one.slack)
        better, worse = (below, above) if sign > 0 else (above, below)
        rank = 1 + bisect_left(means, sign * one.mean)
        found[label] = Rank(rank, min(1 + better, rank), max(len(known) - worse, rank), len(known))
    return found


def all_ranks(values: Values) -> dict[str, dict[str, Rank]]:
    """The ranks of all entries, by criterion and entry."""
    return {key: ranks(values, key) for key in CRITERIA if any(key in one for one in values.values())}


def best(places: Mapping[str, Mapping[str, Rank]], key: str) -> list[str]:
    """The entries with rank 1."""
    return [label for label, rank in places[key].items() if rank.rank == 1]


def nearest(places: Mapping[str, Mapping[str, Rank]], label: str, most: int = NEAREST) -> Sequence[str]:
    """The entries with the most similar ranks, by the mean squared difference.

    Ranks are divided by the number of entries, since not every entry has every criterion.
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
