"""Runs the guest once: the kernel as a process, with a folder for its plan and output, and a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, Protocol

from fairlane.base.errors import FairlaneError
from fairlane.base.text import visible
from fairlane.linux.plan import Plan, fastest_bps

ARGUMENTS = (
    "mem=512M rootfstype=hostfs rootflags=/ ro quiet con=null con0=null,fd:1 time-travel=inf-cpu "
    "time-travel-start=1000000000 norandmaps init=/proc/self/cwd/init"
)
_LOOK_EVERY_S = 0.02
_LEAST_LIMIT_S = 120.0
_PACKET_COST_S = 26e-6
"""CPU seconds per packet and link, measured at 1 Gbit/s."""
_SLACK = 20
"""Factor by which a run may exceed the expected time, since the machine may be busy."""
_PACKET_BITS = 12_000
_PANIC = "Kernel panic"
_LONGEST_LINE = 200


class Kernel(Protocol):
    """A kernel that can run, see `fairlane.kernel.Built`."""

    @property
    def linux(self) -> Path:
        """The kernel, a program of the host."""

    @property
    def init(self) -> Path:
        """The guest's only program."""

    @property
    def release(self) -> str:
        """Release, such as `6.12.117`."""

    @property
    def identity(self) -> str:
        """Identity, equal for equal kernels."""


class GuestError(FairlaneError):
    """The guest returned no result; the message is one line."""


class Stopped(Exception):  # noqa: N818 nothing went wrong
    """The run was killed."""


class Output:
    """Output of the guest.

    Attributes:
        result: `result.json`.
        files: Content of the other requested files that exist, by name.
        cpu_seconds: CPU time of the guest.
    """

    def __init__(self, result: dict[str, Any], files: dict[str, bytes], cpu_seconds: float) -> None:
        self.result, self.files, self.cpu_seconds = result, files, cpu_seconds


def limit_s(plan: Plan) -> float:
    """Real time that a run may take."""
    run_s = float(plan.text.split(maxsplit=3)[2]) / 1e9
    packets = sum(map(fastest_bps, plan.layout["links"])) / _PACKET_BITS
    return _LEAST_LIMIT_S + _SLACK * run_s * (1 + packets * _PACKET_COST_S)


def run(built: Kernel, plan: Plan, stop: Event, files: tuple[str, ...] = (), limit: float | None = None) -> Output:
    """Boots the guest, waits for its end, and reads its output. Always removes the guest's processes and files.

    Args:
        built: The kernel.
        plan: Input of the guest.
        stop: Ends the run.
        files: Names of files to read in addition to the result.
        limit: Maximum real time, instead of `limit_s`.

    Raises:
        GuestError: The guest panicked, hung, or reported an error.
        Stopped: `stop` was set.
    """
    limit = limit_s(plan) if limit is None else limit
    with TemporaryDirectory(prefix="fairlane-linux-") as name:
        folder = Path(name)
        (folder / "plan").write_text(plan.text, encoding="ascii")
        cpu_seconds, in_time = _boot(built, plan.seed, folder, stop, limit)
        return Output(_result(folder, limit, in_time=in_time), _read(folder, files), cpu_seconds)


def _boot(built: Kernel, seed: int, folder: Path, stop: Event, limit: float) -> tuple[float, bool]:
    """Returns the CPU time, and whether the guest ended normally."""
    # The command line seeds the kernel's random numbers, so it must not contain a path.
    (folder / "init").symlink_to(built.init)
    command = ["linux", *ARGUMENTS.split(), f"fairlane.seed={seed}"]
    # The kernel creates the folder of its control socket below HOME.
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "."}
    with (folder / "console").open("wb") as console:
        try:
            process = subprocess.Popen(
                command,
                executable=built.linux,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise GuestError(f"{built.linux}: {error.strerror}") from error
    until = time.monotonic() + limit
    in_time = False
    try:
        while time.monotonic() < until:
            if stop.is_set():
                raise Stopped
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                in_time = True
                return usage.ru_utime + usage.ru_stime, True
            stop.wait(_LOOK_EVERY_S)
        return limit, False
    finally:
        # A kernel consists of several processes, which remain after a panic.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if not in_time:
            process.wait()


def _result(folder: Path, limit: float, *, in_time: bool) -> dict[str, Any]:
    with suppress(OSError):
        raise GuestError(f"the guest: {_line((folder / 'error').read_text(encoding='utf-8', errors='replace'))}")
    with suppress(OSError):
        found: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return found
    lines = (folder / "console").read_text(encoding="utf-8", errors="replace").splitlines()
    said = [line for line in lines if line.strip()]
    if panics := [line for line in said if _PANIC in line]:
        raise GuestError(f"the guest's kernel: {_line(panics[-1])}")
    last = f", last line: {_line(said[-1])}" if said else ", and said nothing"
    if not in_time:
        raise GuestError(f"the guest: no end within {limit:.3g} s{last}")
    raise GuestError(f"the guest: ended without a result{last}")


def _line(text: str) -> str:
    return visible(text.strip().partition("\n")[0])[:_LONGEST_LINE]


def _read(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    found = {}
    for name in names:
        with suppress(FileNotFoundError):
            found[name] = (folder / name).read_bytes()
    return found
