"""How much time is left, from what finished runs cost.

Points differ in cost: a run of a point is taken to cost what finished runs of that point cost on average, or those of
all points where it has none. Time left is the CPU time left over the rate at which CPU time was spent so far, but not
less than one run of the dearest point takes. A rule makes the number of runs itself a guess; then the time with as many
runs as the rule allows is given too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from fairlane.base.progress import duration
from fairlane.sweeps.point_work import PointWork

NOTEWORTHY = 1.5
"""Say the upper bound if it is that many times the estimate."""


class Estimate:
    """Of the time left of a sweep that is running."""

    def __init__(self, points: Sequence[PointWork]) -> None:
        self._points = points
        self._known_runs = sum(point.costs[0] for point in points)
        self._known_cpu_s = sum(point.costs[1] for point in points)
        self._start = time.monotonic()
        self._spent_cpu_s = 0.0
        self._finished = 0

    def finished(self, cpu_seconds: float) -> None:
        """A run has finished."""
        self._finished += 1
        self._spent_cpu_s += cpu_seconds
        self._known_runs += 1
        self._known_cpu_s += cpu_seconds

    def run_seconds(self, point: PointWork) -> float | None:
        """CPU time that a run of a point takes; None while nothing is known."""
        runs, cpu_s = point.costs
        if runs:
            return cpu_s / runs
        return self._known_cpu_s / self._known_runs if self._known_runs else None

    def words(self, slots: int) -> tuple[int, int, str]:
        """Runs done, runs expected in all, and the time left in words."""
        done = sum(point.finished for point in self._points)
        expected = sum(point.expected for point in self._points)
        return done, expected, self._left(slots)

    def _left(self, slots: int) -> str:
        elapsed = time.monotonic() - self._start
        if not self._finished or elapsed <= 0:
            return "time left not yet known"
        # Until every slot has given a run, the rate so far is too low.
        rate = max(self._spent_cpu_s / elapsed, 1e-9) if self._finished >= slots else float(slots)
        likely = self._seconds(rate, lambda point: point.expected)
        longest = self._seconds(rate, lambda point: point.stop.most)
        if longest > NOTEWORTHY * likely:
            return f"about {duration(likely)} left, at most {duration(longest)}"
        return f"about {duration(likely)} left"

    def _seconds(self, rate: float, replications: Callable[[PointWork], int]) -> float:
        """Time for the points that are not complete, if each gets so many replications."""
        left_cpu_s = dearest_s = 0.0
        for point in self._points:
            if point.missing and (cost := self.run_seconds(point)) is not None:
                left_cpu_s += (replications(point) - point.finished) * cost
                dearest_s = max(dearest_s, cost)
        return max(left_cpu_s / rate, dearest_s)
