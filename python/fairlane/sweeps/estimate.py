"""Estimates the remaining time from the cost of finished runs.

Points differ in cost. A run is assumed to cost the average of its point's finished runs or, before the first, the
average of all finished runs. The remaining time is the remaining CPU time divided by the CPU time spent per second so
far. It is at least the time of one run of the most expensive point. A stopping rule makes the number of runs
uncertain, so the time for the maximum number is also reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from fairlane.base.progress import duration
from fairlane.sweeps.point_work import PointWork

NOTEWORTHY = 1.5
"""Report the upper bound if it exceeds this multiple of the estimate."""


class Estimate:
    """Estimates the remaining time of a running sweep."""

    def __init__(self, points: Sequence[PointWork]) -> None:
        self._points = points
        self._known_runs = sum(point.costs[0] for point in points)
        self._known_cpu_s = sum(point.costs[1] for point in points)
        self._start = time.monotonic()
        self._spent_cpu_s = 0.0
        self._finished = 0

    def finished(self, cpu_seconds: float) -> None:
        """Records the cost of a finished run."""
        self._finished += 1
        self._spent_cpu_s += cpu_seconds
        self._known_runs += 1
        self._known_cpu_s += cpu_seconds

    def run_seconds(self, point: PointWork) -> float | None:
        """Estimated CPU time of a run of a point; None before any run has finished."""
        runs, cpu_s = point.costs
        if runs:
            return cpu_s / runs
        return self._known_cpu_s / self._known_runs if self._known_runs else None

    def words(self, slots: int) -> tuple[int, int, str]:
        """Finished runs, expected total of runs, and the remaining time in words."""
        done = sum(point.finished for point in self._points)
        expected = sum(point.expected for point in self._points)
        return done, expected, self._left(slots)

    def _left(self, slots: int) -> str:
        elapsed = time.monotonic() - self._start
        if not self._finished or elapsed <= 0:
            return "time left not yet known"
        # The measured rate is too low until every slot has finished a run.
        rate = max(self._spent_cpu_s / elapsed, 1e-9) if self._finished >= slots else float(slots)
        likely = self._seconds(rate, lambda point: point.expected)
        longest = self._seconds(rate, lambda point: point.stop.most)
        if longest > NOTEWORTHY * likely:
            return f"about {duration(likely)} left, at most {duration(longest)}"
        return f"about {duration(likely)} left"

    def _seconds(self, rate: float, replications: Callable[[PointWork], int]) -> float:
        """Time for the incomplete points if each gets `replications` runs."""
        left_cpu_s = dearest_s = 0.0
        for point in self._points:
            if point.missing and (cost := self.run_seconds(point)) is not None:
                left_cpu_s += (replications(point) - point.finished) * cost
                dearest_s = max(dearest_s, cost)
        return max(left_cpu_s / rate, dearest_s)
