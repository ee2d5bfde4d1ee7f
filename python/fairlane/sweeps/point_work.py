"""Finished and missing work at a point of a sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fairlane.results.kept import Kept
from fairlane.results.metrics import metrics
from fairlane.store.point import Identity
from fairlane.sweeps.stop import Stop


class PointWork:
    """Finished and missing work at a point.

    Attributes:
        scenario: Canonical scenario.
        identity: Where its runs are in the store.
        stop: When it has enough.
        wanted: Replications up to the end of this round; all that it gets once `missing` is empty.
        expected: Replications that it is expected to need in the end.
        missing: Replications of this round that are not there.
        costs: Number and CPU seconds of the runs whose cost is known.
    """

    def __init__(self, scenario: str, identity: Identity, stop: Stop, kept: Mapping[int, Kept]) -> None:
        """A point with the runs of it that are stored; rounds that are complete lie behind it."""
        self.scenario = scenario
        self.identity = identity
        self.stop = stop
        self.wanted = self.expected = stop.least
        self.costs = (0, 0.0)
        self._done: set[int] = set()
        self._samples: dict[str, dict[int, float | None]] = {metric: {} for metric in stop.targets}
        for replication, one in kept.items():
            self._note(replication, one.run, one.cpu_seconds)
        self.missing = self._missing(self.wanted)
        self.advance()

    @property
    def finished(self) -> int:
        """Runs that are there of those wanted."""
        return self.wanted - len(self.missing)

    @property
    def has_enough(self) -> bool:
        """True if the rule is met, or there is none."""
        return self.stop.met(self._round())

    def finish(self, replication: int, run: str, cpu_seconds: float) -> None:
        """A run has finished."""
        self._note(replication, run, cpu_seconds)
        self.missing.discard(replication)

    def advance(self) -> Sequence[int]:
        """Goes to the first round that is not complete, if there is one; gives what that lacks."""
        while not self.missing:
            samples = self._round()
            following = self.stop.next_round(samples, self.wanted)
            if following == self.wanted:
                self.expected = self.wanted
                break
            self.expected = self.stop.expected(samples, self.wanted)
            # Together: an interrupt in between would count runs that are missing as finished.
            self.wanted, self.missing = following, self._missing(following)
        return sorted(self.missing)

    def _missing(self, wanted: int) -> set[int]:
        return set(range(wanted)) - self._done

    def _round(self) -> dict[str, list[float | None]]:
        """The samples of all replications up to the end of this round."""
        return {metric: [of[number] for number in range(self.wanted)] for metric, of in self._samples.items()}

    def _note(self, replication: int, run: str, cpu_seconds: float | None) -> None:
        self._done.add(replication)
        if cpu_seconds is not None:
            self.costs = (self.costs[0] + 1, self.costs[1] + cpu_seconds)
        if self.stop.targets:
            measured = metrics(json.loads(run))
            for metric, of_metric in self._samples.items():
                of_metric[replication] = measured.get(metric)
