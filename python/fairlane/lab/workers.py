"""Concurrent runs, each in a separate process."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE

from fairlane.lab.namespaces import LabError, RejectedError, undisturbed
from fairlane.results.kept import Cost, Kept

END_S = 30.0
"""Time for a worker to clean up."""


def default_jobs() -> int:
    """Default number of concurrent runs: half the processors, since a run at 50 Mbit/s uses 0.6 processors."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


@dataclass(frozen=True)
class Job:
    """A run to execute.

    Attributes:
        scenario: The canonical scenario.
        plane: Plane to run on.
        replication: Number of the run.
    """

    scenario: str
    plane: str
    replication: int

    def line(self) -> bytes:
        """The job as a line of a worker's input."""
        return json.dumps(vars(self)).encode() + b"\n"


Outcome = Kept | RejectedError | LabError
"""The run, or the error."""


class Workers:
    """Processes that execute runs, for a `with` block. They end with the block, even during a run."""

    def __init__(self, count: int) -> None:
        self._idle: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []
        self._selector = selectors.DefaultSelector()
        for _ in range(count):
            command = [sys.executable, "-m", "fairlane.lab.process"]
            # The worker runs in a separate session, so Ctrl-C does not reach it: this process gets the signal and ends
            # the worker.
            self._all.append(subprocess.Popen(command, stdin=PIPE, stdout=PIPE, start_new_session=True))
            self._idle.append(self._all[-1])

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        with undisturbed():
            self._end()

    @property
    def has_idle(self) -> bool:
        """True if a run can begin immediately."""
        return bool(self._idle)

    @property
    def busy(self) -> int:
        """Number of active runs."""
        return len(self._all) - len(self._idle)

    def begin(self, job: Job) -> None:
        """Passes a job to an idle worker."""
        worker = self._idle.pop()
        self._selector.register(worker.stdout, selectors.EVENT_READ, (worker, job))  # type: ignore[arg-type]
        with suppress(BrokenPipeError):  # `finished` notices the worker's end at its output
            worker.stdin.write(job.line())  # type: ignore[union-attr]
            worker.stdin.flush()  # type: ignore[union-attr]

    def finished(self) -> Iterator[tuple[Job, Outcome]]:
        """Waits until at least one run has ended; yields all that have ended."""
        for key, _ in self._selector.select():
            worker, job = key.data
            self._selector.unregister(worker.stdout)
            self._idle.append(worker)
            yield job, _outcome(worker.stdout.readline())

    def _end(self) -> None:
        """Closes the input of the workers, which ends them."""
        for worker in self._all:
            with suppress(BrokenPipeError):
                worker.stdin.close()  # type: ignore[union-attr]
        for worker in self._all:
            try:
                worker.wait(END_S)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            worker.stdout.close()  # type: ignore[union-attr]
        self._selector.close()


def _outcome(line: bytes) -> Outcome:
    if not line:
        return LabError("a process of the lab has ended")
    answer = json.loads(line)
    if "run" in answer:
        return Kept(answer["run"], Cost.now(answer["cpu_seconds"]))
    return RejectedError(answer["rejected"]) if "rejected" in answer else LabError(answer["failed"])
