"""Finds the program `fairlane-node`, and communicates with its forwarder and sinks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from fairlane.base.errors import UserError
from fairlane.lab.namespaces import LabError, Namespaces, RejectedError

REPORT_S = 10.0
"""Time limit for a process to print a report."""


def program() -> str:
    """Path of `fairlane-node`: $FAIRLANE_NODE, else the program in $PATH, else a build in this repository.

    Raises:
        UserError: The program is in none of these places.
    """
    target = Path(os.environ.get("CARGO_TARGET_DIR") or Path(__file__).parents[3] / "target")
    built = [str(path) for profile in ("release", "debug") if (path := target / profile / "fairlane-node").exists()]
    found = os.environ.get("FAIRLANE_NODE") or shutil.which("fairlane-node") or next(iter(built), None)
    if found is None:
        raise UserError("fairlane-node: not found; build it with `make node`, or set FAIRLANE_NODE to its path")
    return found


class Reporter:
    """A forwarder or sink, which prints a line of JSON when it is ready, and reports on request."""

    def __init__(self, namespaces: Namespaces, at: str, arguments: list[str]) -> None:
        self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 closed with the object
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = namespaces.start(at, [program(), *arguments], self._out, self._errors)
        self._lines = 0
        self._name = arguments[0]
        self.answer()  # wait until it is ready

    def ask(self) -> None:
        """Requests a report."""
        self._check()
        self.process.send_signal(signal.SIGUSR1)

    def answer(self) -> dict[str, Any]:
        """Returns the requested report.

        Raises:
            RejectedError: The report does not arrive in time.
            LabError: The process has ended.
        """
        until = time.monotonic() + REPORT_S
        while time.monotonic() < until:
            self._out.seek(0)
            lines = self._out.read().split(b"\n")[:-1]
            if len(lines) > self._lines:
                self._lines += 1
                report: dict[str, Any] = json.loads(lines[self._lines - 1])
                return report
            self._check()
            time.sleep(0.01)
        raise RejectedError(f"fairlane-node {self._name}: no report within {REPORT_S:g} s")

    def report(self) -> dict[str, Any]:
        """Requests and returns a report; raises the same errors as `answer`."""
        self.ask()
        return self.answer()

    def _check(self) -> None:
        if self.process.poll() is not None:
            self._errors.seek(0)
            message = " ".join(self._errors.read().decode(errors="replace").split())
            raise LabError(f"fairlane-node ended with {self.process.returncode}: {message}")


def has_kernel_plane() -> bool:
    """True if the program was built with the kernel data plane."""
    done = subprocess.run([program(), "attach", "--help"], capture_output=True, timeout=10, check=False)
    return done.returncode == 0
