"""Supervised worker processes: interrupts cases that take long, and replaces workers that die."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from fuzzer.case import Case
from fuzzer.worker import Ending

LONG_CPU_S = 4.0
"""CPU time in s. A case that uses more is a long simulation and gets a Ctrl-C."""
LONG_S = 90.0
"""Limit in s of real time, for cases that wait. A busy machine may need this long for a few seconds of CPU time."""
END_CPU_S = 15.0
"""CPU time allowed from Ctrl-C to the end."""
END_S = 90.0
"""Real time allowed from Ctrl-C to the end."""
_TICK_S = 0.1
_HERE = Path(__file__).parents[1]
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Outcome:
    """Outcome of a case.

    Attributes:
        endings: Endings of the commands; fewer if the worker died.
        interrupted: True if the case took too long and got a Ctrl-C.
        death: Cause of the worker's death; empty if the worker did not die.
    """

    endings: tuple[Ending, ...] = ()
    interrupted: bool = False
    death: str = ""


class Pool:
    """Workers for a `with` block."""

    def __init__(self, workers: int) -> None:
        self._workers = [_Worker() for _ in range(workers)]

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.close()

    def run(self, cases: Iterable[tuple[int, Case]]) -> Iterator[tuple[int, Case, Outcome]]:
        """Passes numbered cases to the workers; yields outcomes as they arrive."""
        waiting = iter(cases)
        while True:
            for worker in self._workers:
                if worker.case is None and (following := next(waiting, None)) is not None:
                    worker.begin(*following)
            busy = [worker for worker in self._workers if worker.case is not None]
            if not busy:
                return
            with selectors.DefaultSelector() as selector:
                for worker in busy:
                    selector.register(worker.answers, selectors.EVENT_READ)
                selector.select(_TICK_S)
            for worker in busy:
                if (outcome := worker.look()) is not None:
                    assert worker.case is not None
                    number, case = worker.case
                    worker.case = None
                    yield number, case, outcome


class _Worker:
    def __init__(self) -> None:
        self.case: tuple[int, Case] | None = None
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzzer.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_HERE,
            process_group=0,
        )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self.answers = self._process.stdout.fileno()
        self._answer = b""

    def begin(self, number: int, case: Case) -> None:
        assert self._process.stdin is not None
        self.case = (number, case)
        self._began, self._began_cpu = time.monotonic(), self._cpu_s()
        self._interrupted_at: tuple[float, float] | None = None
        self._process.stdin.write(case.to_json().encode() + b"\n")
        self._process.stdin.flush()

    def look(self) -> Outcome | None:
        """Returns the outcome if there is one; interrupts and kills a case that takes too long."""
        try:
            read = os.read(self.answers, 1 << 20)
        except BlockingIOError:
            return self._watch()
        self._answer += read
        interrupted = self._interrupted_at is not None
        if not read:
            code = self._process.wait()
            self._replace()
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return Outcome(interrupted=interrupted, death=how)
        if not self._answer.endswith(b"\n"):
            return None
        endings = tuple(Ending(**ending) for ending in json.loads(self._answer))
        self._answer = b""
        return Outcome(endings, interrupted=interrupted)

    def _watch(self) -> Outcome | None:
        now, cpu = time.monotonic(), self._cpu_s()
        if self._interrupted_at is None:
            if now - self._began > LONG_S or cpu - self._began_cpu > LONG_CPU_S:
                self._interrupted_at = now, cpu
                os.killpg(self._process.pid, signal.SIGINT)
            return None
        if now - self._interrupted_at[0] > END_S or cpu - self._interrupted_at[1] > END_CPU_S:
            self._replace()
            return Outcome(interrupted=True, death="no end after Ctrl-C")
        return None

    def _cpu_s(self) -> float:
        """CPU time of the worker and its children."""
        return sum(_cpu_s(pid) for pid in (self._process.pid, *_children(self._process.pid)))

    def _replace(self) -> None:
        self.close()
        self._start()

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        with self._process:
            pass


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # User and system time of the process and of ended children: fields 14 to 17 in proc(5).
    return sum(map(int, fields[11:15])) / _TICKS_PER_S


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
