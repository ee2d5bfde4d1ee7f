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
        identity: Identity of its runs in the store.
        stop: Stopping rule.
        wanted: Number of replications at the end of the current round (see stop.py).
        expected: Expected final number of replications.
        missing: Unfinished replications of the current round; after `advance`, empty only if no round follows.
        costs: Number and CPU seconds of the runs whose cost is known.
    """

    def __init__(self, scenario: str, identity: Identity, stop: Stop, kept: Mapping[int, Kept]) -> None:
        """Creates a point from its stored runs, at its first incomplete round."""
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
        """Number of wanted runs that have finished."""
        return self.wanted - len(self.missing)

    @property
    def has_enough(self) -> bool:
        """True if the stopping rule is satisfied, or there is none."""
        return self.stop.met(self._round())

    def finish(self, replication: int, run: str, cpu_seconds: float) -> None:
        """Records a finished run."""
        self._note(replication, run, cpu_seconds)
        self.missing.discard(replication)

    def advance(self) -> Sequence[int]:
        """Advances to the first incomplete round, if any; returns its missing replications."""
        while not self.missing:
            samples = self._round()
            following = self.stop.next_round(samples, self.wanted)
            if following == self.wanted:
                self.expected = self.wanted
                break
            self.expected = self.stop.expected(samples, self.wanted)
            # One statement: an interrupt between two would count missing runs as finished.
            self.wanted, self.missing = following, self._missing(following)
        return sorted(self.missing)

    def _missing(self, wanted: int) -> set[int]:
        return set(range(wanted)) - self._done

    def _round(self) -> dict[str, list[float | None]]:
        """Samples of all replications up to the end of the current round."""
        return {metric: [of[number] for number in range(self.wanted)] for metric, of in self._samples.items()}

    def _note(self, replication: int, run: str, cpu_seconds: float | None) -> None:
        self._done.add(replication)
        if cpu_seconds is not None:
            self.costs = (self.costs[0] + 1, self.costs[1] + cpu_seconds)
        if self.stop.targets:
            measured = metrics(json.loads(run))
            for metric, of_metric in self._samples.items():
                of_metric[replication] = measured.get(metric)
