"""Executes runs in threads of this process; `cluster.py` does so on a Ray cluster."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairlane import _fairlane
from fairlane.base.errors import ThreadError

POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Job:
    """A run to execute."""

    work: int
    replication: int
    scenario: str


Run = Callable[[str, int, threading.Event], tuple[str, float]]
"""Runs a replication of a canonical scenario and returns its record and CPU time (s). The event ends the run early."""
Done = tuple[Job, str, float]
"""A job, its run record, and its CPU time in seconds."""


class Threads:
    """Threads of this process; each runs one batch at a time and releases the interpreter lock."""

    batch_s = 0.2

    def __init__(self, threads: int) -> None:
        self._batches: queue.SimpleQueue[Sequence[Job] | None] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[Done | BaseException] = queue.SimpleQueue()
        self._running: set[_fairlane.Batch] = set()
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []
        for _ in range(threads):
            thread = threading.Thread(target=self._work, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                if not self._threads:
                    raise ThreadError(f"the system starts no thread for a run: {error}") from error
                break  # the system provides no more threads
            self._threads.append(thread)
        self.slots = len(self._threads)

    @property
    def has_room(self) -> bool:
        """False if every thread already has its next batch."""
        return self._batches.qsize() < self.slots

    def submit(self, jobs: Sequence[Job]) -> None:
        """Submits a batch."""
        self._batches.put(jobs)

    def wait(self, timeout_s: float) -> list[Done]:
        """Waits for a run to finish; returns all runs that have finished by then."""
        finished = []
        try:
            one = self._finished.get(timeout=timeout_s)
            while True:
                if isinstance(one, BaseException):
                    raise one
                finished.append(one)
                one = self._finished.get_nowait()
        except queue.Empty:
            return finished

    def reached(self) -> list[tuple[float, float, int]]:
        """Progress of active runs: simulated seconds, total seconds, and events."""
        return [run for batch in list(self._running) for run in batch.reached()]

    def close(self) -> None:
        """Stops all running batches within milliseconds."""
        self._closed.set()
        for _ in self._threads:
            self._batches.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while not self._closed.is_set() and (jobs := self._batches.get()) is not None:
            try:
                self._run(jobs)
            except BaseException as error:  # passed on to the waiting thread
                self._finished.put(error)
                return

    def _run(self, jobs: Sequence[Job]) -> None:
        batch = _fairlane.Batch([(job.scenario, job.replication) for job in jobs], 1)
        self._running.add(batch)
        try:
            while batch.remaining and not self._closed.is_set():
                if (done := batch.next(POLL_S)) is not None:
                    index, run, cpu_seconds = done
                    self._finished.put((jobs[index], run, cpu_seconds))
        finally:
            self._running.discard(batch)
            batch.cancel()


class Runners(Threads):
    """Threads that execute each run by calling a function instead of the simulator."""

    def __init__(self, threads: int, run: Run) -> None:
        self._run_one = run
        super().__init__(threads)

    def _run(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if self._closed.is_set():
                return
            self._finished.put((job, *self._run_one(job.scenario, job.replication, self._closed)))
