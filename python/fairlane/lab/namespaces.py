"""Network namespaces of a run, created with unique names and always removed with everything in them.

A name contains the owner's process id and start time: `fairlane-lab-PID-START-ROLE`. Thus leftovers of a killed lab can
be distinguished from namespaces in use.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from fairlane.base.errors import FairlaneError
from fairlane.base.signals import ENDING

PREFIX = "fairlane-lab"
COMMAND_S = 20
"""Time limit of a set-up command."""
END_S = 3.0
"""Time for a process to end after SIGTERM."""


class LabError(FairlaneError):
    """The lab failed; the message is one line."""


class RejectedError(LabError):
    """The network of a run did not behave as requested since the machine was too busy; a retry may succeed."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignores terminating signals within the block: a second Ctrl-C must not interrupt the clean-up."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *ENDING)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


class Namespaces:
    """The namespaces and processes of one run, for a `with` block."""

    def __init__(self) -> None:
        self._owner = f"{PREFIX}-{os.getpid()}-{_started(os.getpid())}"
        self._names: list[str] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._talking: list[subprocess.Popen[bytes]] = []
        self._mounts: list[Path] = []

    def __enter__(self) -> Namespaces:
        return self

    def __exit__(self, *_: object) -> None:
        with undisturbed():
            self.close()

    def close(self) -> None:
        """Ends all processes, then removes all namespaces."""
        for talking in self._talking:
            talking.kill()
            with talking:
                pass
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.terminate()
        until = time.monotonic() + END_S
        for process in self._processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for name in self._names:
            remove(name)
        for folder in self._mounts:
            _unmount(folder)
        self._processes, self._talking, self._names, self._mounts = [], [], [], []

    def add(self, role: str) -> str:
        """Creates a namespace with loopback up and IPv6 off; returns its name."""
        name = f"{self._owner}-{role}"
        self._names.append(name)  # before creating it, so that an interrupt cannot leave it behind
        run(["ip", "netns", "add", name])
        run(["ip", "-n", name, "link", "set", "lo", "up"])
        self.set(name, "net.ipv6.conf.all.disable_ipv6", 1)
        self.set(name, "net.ipv6.conf.default.disable_ipv6", 1)
        return name

    def set(self, name: str, key: str, value: int | str) -> None:
        """Sets a kernel parameter in a namespace."""
        self.run(name, ["sysctl", "-qw", f"{key}={value}"])

    def run(self, name: str, command: Sequence[str]) -> str:
        """Runs a short command in a namespace and returns its output."""
        return run(["ip", "netns", "exec", name, *command])

    def start(
        self, name: str, command: Sequence[str], stdout: IO[bytes] | None = None, stderr: IO[bytes] | None = None
    ) -> subprocess.Popen[bytes]:
        """Starts a process in a namespace.

        The process is in a separate process group, so Ctrl-C does not reach it: the lab gets the signal and ends the
        process.
        """
        null, words = subprocess.DEVNULL, ["ip", "netns", "exec", name, *command]
        # A group, not a session: sessions would all get the same priority.
        process = subprocess.Popen(words, stdin=null, stdout=stdout or null, stderr=stderr or null, process_group=0)
        self._processes.append(process)
        return process

    def converse(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts an interactive process in a namespace; stderr is merged into its output."""
        pipe, words = subprocess.PIPE, ["ip", "netns", "exec", name, *command]
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, start_new_session=True)
        self._talking.append(process)
        return process

    def mount_bpf(self) -> Path:
        """Mounts a separate BPF file system for the run."""
        folder = Path("/run") / self._owner
        folder.mkdir(exist_ok=True)
        self._mounts.append(folder)
        run(["mount", "-t", "bpf", "bpf", str(folder)])
        return folder


def run(command: Sequence[str]) -> str:
    """Runs a short command and returns its output.

    Raises:
        LabError: The command failed or does not exist.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, check=False)
    except FileNotFoundError as error:
        raise LabError(f"{command[0]}: not installed") from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{' '.join(command)}: no end within {COMMAND_S} s") from error
    if done.returncode:
        raise LabError(f"{' '.join(command)}: {' '.join(done.stderr.split()) or done.returncode}")
    return done.stdout


def remove(name: str) -> None:
    """Ends all processes in a namespace, by process id, and removes the namespace, if it exists."""
    with suppress(LabError):
        for pid in run(["ip", "netns", "pids", name]).split():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)
        run(["ip", "netns", "del", name])


def clean() -> list[str]:
    """Removes the namespaces and mounts of labs whose processes have ended.

    Returns:
        Names of the removed namespaces.
    """
    try:
        names = [line.split()[0] for line in run(["ip", "netns", "list"]).splitlines() if line.strip()]
    except LabError:
        names = []
    left = [name for name in names if _is_left(name)]
    for name in left:
        remove(name)
    folders = [folder for folder in Path("/run").glob(f"{PREFIX}-*") if _is_left(folder.name)]
    for folder in folders:
        _unmount(folder)
    return left + [str(folder) for folder in folders]


def _is_left(name: str) -> bool:
    """True for the name of a lab's namespace whose owner, the process in the name, has ended."""
    parts = name.removeprefix(f"{PREFIX}-").split("-")
    if not name.startswith(f"{PREFIX}-") or len(parts) < 2 or not (parts[0] + parts[1]).isdigit():
        return False
    return _started(int(parts[0])) != int(parts[1])


def _started(pid: int) -> int:
    """Start time of a process in ticks; 0 if it does not exist or is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    # The program's name, in brackets, may contain anything; the time is the 20th field after it.
    fields = stat.rpartition(")")[2].split()
    return 0 if fields[0] in "ZX" else int(fields[19])


def _unmount(folder: Path) -> None:
    with suppress(LabError):
        run(["umount", str(folder)])
    with suppress(OSError):
        folder.rmdir()
