"""A process that executes runs one by one; a lab starts several (`python -m fairlane.lab.process`).

The process reads jobs from its input, one line of JSON each, and answers each with a line. The names of a run's
namespaces contain the process id. So the resources of a run end with its process and do not affect other runs. The end
of the input means that the lab has ended; the process then aborts the current run and cleans up.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fairlane.base.errors import UserError
from fairlane.lab.measure import measure
from fairlane.lab.namespaces import LabError, RejectedError
from fairlane.lab.setup import setup_of

REALTIME_PRIORITY = 10
"""SCHED_RR priority of a run's processes: hosts must not wait for a processor. Forwarders have a higher priority."""
NICENESS = -10
"""Niceness used if SCHED_RR is not allowed."""


class Worker:
    """Executes jobs until the input ends."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[str | None] = SimpleQueue()
        self._is_running = False

    def serve(self) -> None:
        """Answers jobs until the input ends."""
        signal.signal(signal.SIGTERM, self._interrupt)
        threading.Thread(target=self._listen, daemon=True).start()
        while (line := self._jobs.get()) is not None:
            self._is_running = True
            try:
                answer = _answer(json.loads(line))
            except KeyboardInterrupt:
                return
            self._is_running = False
            print(json.dumps(answer), flush=True)  # noqa: T201

    def _listen(self) -> None:
        for line in sys.stdin:
            self._jobs.put(line)
        self._jobs.put(None)
        os.kill(os.getpid(), signal.SIGTERM)

    def _interrupt(self, _number: int, _frame: object) -> None:
        if self._is_running:
            self._is_running = False
            raise KeyboardInterrupt


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    """The run record, or the reason why there is none."""
    try:
        run, cpu_seconds = measure(setup_of(job["scenario"]), job["plane"], job["replication"])
        return {"run": run, "cpu_seconds": cpu_seconds}
    except RejectedError as error:
        return {"rejected": str(error)}
    except (LabError, UserError) as error:
        return {"failed": str(error)}


def _ask_for_priority() -> None:
    """Requests the maximum allowed priority; the processes of a run inherit it."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(REALTIME_PRIORITY))
        return
    with suppress(OSError):
        if os.getpriority(os.PRIO_PROCESS, 0) > NICENESS:
            os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
        # With autogroups, sessions share the processors equally, and niceness counts only within a session. So set the
        # niceness of the session itself.
        Path("/proc/self/autogroup").write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))


if __name__ == "__main__":
    _ask_for_priority()
    Worker().serve()
