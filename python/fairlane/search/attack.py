"""The adversary finds the scenario within bounds in which an honest light user gets the smallest part of its share.

The harm must be due to the scheme, not to the circumstances. Therefore every scenario also runs under an ideal
scheduler, weighted fair queueing for each user. A scenario does not count if the light user also loses too much of its
share under this scheduler. This excludes buffers too small for the round-trip time, senders that converge too slowly,
and users without demand.

Three stages use different seeds: the search, the choice and shrinking of the best scenarios, and the final file.
Therefore the search did not select the reported runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlane.base.errors import UserError
from fairlane.results.intervals import Interval, interval
from fairlane.search.bounds import Bounds
from fairlane.search.evaluation import Evaluator, Numbers
from fairlane.search.optimiser import Optimiser, OptimiserFactory, Point
from fairlane.search.shrink import shrunk
from fairlane.search.space import Values
from fairlane.search.world import light_share_packets, scenario, unused
from fairlane.simulate.scenario import Table

IDEAL = "wfq"
"""Ideal scheduler: serves users by weight, at most a packet time later than a fluid server. A full buffer drops packets
of the user that fills it. No scheme with the same buffer can be expected to give a light user more."""
HALF = 0.5
"""A user with less than this fraction of its share counts as beaten."""
FINALISTS = 8
"""Number of the search's best scenarios to run again."""
APART = 0.25
"""Minimum distance between finalists in the unit cube, so that they differ."""
REPLICATIONS, FEWER = 10, 5
"""Number of runs of a scenario: for the final result, and for the choice and the shrinking before it."""
KEPT_LOSS = 0.9
"""Fraction of the light user's loss that a smaller scenario must keep."""
_INADMISSIBLE = 2.0
"""Objective of a scenario in which the light user's share has too few packets; worse than any share."""
SEARCHED, SHRUNK, JUDGED = 1, 2, 3
"""Seeds of the search, of choice and shrinking, and of the final result."""


@dataclass(frozen=True)
class Found:
    """The scenario found for a scheme.

    Attributes:
        scheme: Name of the scheme.
        scenario: Table of the scenario file, without expectations.
        values: Chosen values.
        share: The light user's fraction of its max-min share.
        ideal: This fraction under the ideal scheduler.
        first_share: This fraction in the run of the search, before shrinking; biased, since the search selected this
            run.
        evaluations: Number of scenarios that the search simulated.
    """

    scheme: str
    scenario: Table
    values: Values
    share: Interval
    ideal: Interval
    first_share: float
    evaluations: int

    @property
    def is_beaten(self) -> bool:
        """True if the light user's interval is entirely below half of its share."""
        return self.share.mean + self.share.uncertainty < HALF


def light_share(record: Mapping[str, Any]) -> Numbers:
    """The light user's fraction of its max-min share."""
    return [record["groups"][0]["normalised_throughput"]]


@dataclass
class Adversary:
    """A search against one scheme.

    Attributes:
        name: Name of the scenario.
        scheme: The tables `queue` and `marker` of its scheme.
        bounds: Ranges to search.
        evaluator: Runs scenarios.
    """

    name: str
    scheme: Mapping[str, Table]
    bounds: Bounds
    evaluator: Evaluator

    def search(
        self, make: OptimiserFactory, seed: int, evaluations: int, advance: Callable[[int, float], None]
    ) -> Found:
        """Searches, chooses among the best, shrinks, and measures the final result.

        Args:
            make: Creates the optimiser.
            seed: Seed of the optimiser.
            evaluations: Minimum number of scenarios; the last generation is completed.
            advance: Receives the number of scenarios and the smallest share so far.
        """
        judged = self._explore(make(self.bounds.space.dimensions, seed), evaluations, advance)
        values, share = self._choose(judged)
        goal = 1 - KEPT_LOSS * (1 - share)
        kept = min(goal, HALF) if share < HALF else goal
        small = shrunk(self.bounds.space, self.bounds.plain, values, unused, lambda tried: self._shows(tried, kept))
        shares, ideals = self._runs([small], JUDGED, REPLICATIONS)[0]
        table = scenario(self.name, small, self.scheme, JUDGED, REPLICATIONS)
        return Found(
            str(self.scheme["queue"]["scheme"]),
            table,
            small,
            interval(shares),
            interval(ideals),
            min(value for value, _ in judged),
            len(judged),
        )

    def _explore(
        self, optimiser: Optimiser, evaluations: int, advance: Callable[[int, float], None]
    ) -> list[tuple[float, Point]]:
        """All evaluated points with their values."""
        judged: list[tuple[float, Point]] = []
        while len(judged) < evaluations:
            points = asked(optimiser, self.bounds.space.dimensions)
            values = self._values(points)
            optimiser.tell(points, values)
            judged += zip(values, points, strict=True)
            advance(len(judged), min(value for value, _ in judged))
        return judged

    def _values(self, points: Sequence[Point]) -> list[float]:
        """Objective of the adversary at each point; lower is better.

        The objective is the light user's share. If the ideal scheduler gives the user less than `guard.ideal_share`,
        the objective is at least one plus the deficit.
        """
        chosen = [self.bounds.space.values(point) for point in points]
        admitted = [self._is_admitted(values) for values in chosen]
        runs = iter(self._runs([values for values, is_in in zip(chosen, admitted, strict=True) if is_in], SEARCHED, 1))
        return [self._value(*(one[0] for one in next(runs))) if is_in else _INADMISSIBLE for is_in in admitted]

    def _value(self, share: float, ideal: float) -> float:
        missing = self.bounds.ideal_share - ideal
        return share if missing <= 0 else max(share, 1 + missing)

    def _choose(self, judged: Sequence[tuple[float, Point]]) -> tuple[Values, float]:
        """Runs the best distinct points again with another seed; returns the values and the objective of the best."""
        finalists: list[Point] = []
        for value, point in sorted(judged, key=lambda one: one[0]):
            if len(finalists) == FINALISTS or value >= _INADMISSIBLE:
                break
            if all(_distance(point, other) >= APART for other in finalists):
                finalists.append(point)
        chosen = [self.bounds.space.values(point) for point in finalists]
        runs = [(interval(shares), interval(ideals)) for shares, ideals in self._runs(chosen, SHRUNK, FEWER)]
        worth = [
            (self._surely(share, ideal), self._value(share.mean, ideal.mean), place)
            for place, (share, ideal) in enumerate(runs)
        ]
        if not worth or min(worth)[1] > 1:
            raise UserError(
                f"{self.name}: in none of {len(judged)} scenarios does the ideal scheduler leave the light user "
                f"{self.bounds.ideal_share:g} of its share; give more evaluations, or other bounds"
            )
        _, value, place = min(worth)
        return chosen[place], value

    def _surely(self, share: Interval, ideal: Interval) -> float:
        """The objective at the interval bounds that are worse for the adversary."""
        return self._value(share.mean + share.uncertainty, ideal.mean - ideal.uncertainty)

    def _shows(self, tried: Sequence[Values], most: float) -> list[bool]:
        """For each choice, true if its scenario is admitted, and its objective is certainly at most `most`."""
        admitted = [self._is_admitted(values) for values in tried]
        runs = iter(self._runs([v for v, is_in in zip(tried, admitted, strict=True) if is_in], SHRUNK, FEWER))
        return [is_in and self._surely(*map(interval, next(runs))) <= most for is_in in admitted]

    def _is_admitted(self, values: Values) -> bool:
        return light_share_packets(values) >= self.bounds.packets

    def _runs(self, chosen: Sequence[Values], seed: int, replications: int) -> list[tuple[list[float], list[float]]]:
        """The light user's shares under the scheme and under the ideal scheduler, by replication."""
        tables = [
            scenario(self.name, values, scheme, seed, replications)
            for scheme in (self.scheme, {"queue": {"scheme": IDEAL}})
            for values in chosen
        ]
        # An equal name lets all schemes share the ideal runs of equal choices.
        for table in tables:
            table["name"] = "search"
        shares = self.evaluator.firsts(tables, replications)
        return list(zip(shares[: len(chosen)], shares[len(chosen) :], strict=True))


def asked(optimiser: Optimiser, dimensions: int) -> list[Point]:
    """Returns the points that an optimiser requests. Checks the points, since the optimiser may be the user's."""
    points = [tuple(float(x) for x in point) for point in optimiser.ask()]
    for point in points:
        if len(point) < dimensions or not all(0 <= x <= 1 for x in point):
            raise UserError(f"optimiser: asks for {point}, must be {dimensions} numbers from 0 to 1")
    if not points:
        raise UserError("optimiser: asks for no point, must be at least one")
    return list(points)


def _distance(one: Point, other: Iterable[float]) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5)
