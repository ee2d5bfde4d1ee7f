"""Executes a sweep: distributes missing runs, stores finished runs, adds runs if the stopping rule requires them."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from fairlane.base.progress import LINE_EVERY_S, Report
from fairlane.base.signals import received
from fairlane.results.kept import Cost
from fairlane.simulate.replications import slowest
from fairlane.store import Store, Writer
from fairlane.store.point import Identity
from fairlane.sweeps.estimate import Estimate
from fairlane.sweeps.executors import Job, Threads
from fairlane.sweeps.plan import Plan
from fairlane.sweeps.point_work import PointWork

if TYPE_CHECKING:
    from fairlane.sweeps.cluster import Cluster

Executor: TypeAlias = "Threads | Cluster"
"""Executes batches of jobs; `batch_s` is the intended duration of a batch, `slots` the number of concurrent batches."""
WAIT_S = 0.1
REPORT_EVERY_S = 0.2


class Work:
    """All points of a sweep; points with the same scenario are merged."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.points: list[PointWork] = []
        self._of_identity: dict[Identity, int] = {}
        self._keeping: tuple[PointWork, int] | None = None
        for point in plan.points:
            if point.identity not in self._of_identity:
                self._of_identity[point.identity] = len(self.points)
                kept = store.kept(point.identity)
                self.points.append(PointWork(point.scenario, point.identity, plan.stop, kept))

    def at(self, identity: Identity) -> PointWork:
        """The work of a point."""
        return self.points[self._of_identity[identity]]

    @property
    def finished(self) -> int:
        """Number of currently wanted runs that have finished."""
        return sum(point.finished for point in self.points)

    @property
    def total(self) -> int:
        """Number of currently wanted runs; the stopping rule may add more."""
        return sum(point.wanted for point in self.points)

    def execute(self, connect: Callable[[], Executor], writer: Writer, report: Report) -> None:
        """Executes all missing runs.

        Args:
            connect: Returns the executor; not called if nothing is missing.
            writer: Stores runs as they finish.
            report: Receives the progress.
        """
        pending = deque((index, number) for index, point in enumerate(self.points) for number in sorted(point.missing))
        if not pending:
            return
        executor = connect()
        estimate = Estimate(self.points)
        running = 0
        reported_at, finished_at = -math.inf, time.monotonic()
        try:
            while pending or running:
                received.check()
                while pending and executor.has_room:
                    jobs = self._batch(pending, executor, estimate)
                    executor.submit(jobs)
                    running += len(jobs)
                for job, run, cpu_seconds in executor.wait(WAIT_S):
                    running -= 1
                    finished_at = time.monotonic()
                    self._keeping = self.points[job.work], job.replication
                    writer.keep(self.points[job.work].identity, job.replication, run, Cost.now(cpu_seconds))
                    pending.extend(self._finish(job, run, cpu_seconds, estimate))
                    self._keeping = None
                now = time.monotonic()
                if now - reported_at >= REPORT_EVERY_S:
                    done, expected, left = estimate.words(executor.slots)
                    note = slowest(executor.reached()) if now - finished_at >= LINE_EVERY_S else ""
                    report(done, expected, ", ".join(filter(None, [left, note])))
                    reported_at = now
        finally:
            executor.close()

    def recount(self, store: Store) -> None:
        """Looks whether the run that was being stored at an interrupt is in the store; if so, counts it as finished."""
        if self._keeping:
            point, replication = self._keeping
            if replication in store.kept(point.identity):
                point.missing.discard(replication)

    def _batch(self, pending: deque[tuple[int, int]], executor: Executor, estimate: Estimate) -> list[Job]:
        """Jobs for the intended duration of a batch, but few enough that no worker is idle at the end."""
        share = math.ceil(len(pending) / (2 * executor.slots))
        jobs: list[Job] = []
        seconds = 0.0
        while pending and len(jobs) < share and seconds < executor.batch_s:
            index, number = pending.popleft()
            jobs.append(Job(index, number, self.points[index].scenario))
            cost = estimate.run_seconds(self.points[index])
            # Before any run has finished, batches of single runs give the earliest estimate.
            seconds += executor.batch_s if cost is None else cost
        return jobs

    def _finish(self, job: Job, run: str, cpu_seconds: float, estimate: Estimate) -> list[tuple[int, int]]:
        point = self.points[job.work]
        point.finish(job.replication, run, cpu_seconds)
        estimate.finished(cpu_seconds)
        return [] if point.missing else [(job.work, number) for number in point.advance()]
