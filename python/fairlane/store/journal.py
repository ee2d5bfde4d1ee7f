"""The journal stores every run as soon as it has finished. Later the run moves to the file of its point.

Every writing process appends lines to its own file. A line is a checksum and a JSON object; a truncated line does not
match its checksum and is ignored. The writer locks its file, so that other processes can tell an active journal from
the journal of a killed writer.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from fairlane.base.checked_lines import checked_entries, checked_line
from fairlane.results.kept import Cost, Kept, without_cost
from fairlane.store.point import Identity

Points = dict[Identity, dict[int, Kept]]
"""Runs by point and replication."""


class Journal:
    """The journal of this process; the first run creates its file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None
        self._path = folder
        self._known: set[Identity] = set()
        self.bytes = 0

    def append(self, identity: Identity, replication: int, run: str, cost: Cost) -> None:
        """Appends a run, which then survives a kill of the process.

        Raises:
            OSError: The run cannot be written; the journal is unchanged.
        """
        text = b""
        if identity not in self._known:
            text = checked_line({"key": identity.key, "engine": identity.engine, "scenario": identity.scenario})
        text += checked_line(
            {
                "key": identity.key,
                "replication": replication,
                **asdict(cost),
                "run": run,
            }
        )
        self._write(text)
        self._known.add(identity)

    def close(self) -> None:
        """Closes and unlocks the file, so that `abandoned` finds it. A further run begins a new file."""
        if self._file is not None:
            os.close(self._file)
        self._file = None
        self._known.clear()
        self.bytes = 0

    def _write(self, text: bytes) -> None:
        if self._file is None:
            self._file, self._path = _create(self._folder)
        try:
            rest = memoryview(text)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            os.ftruncate(self._file, self.bytes)
            error.filename = str(self._path)
            raise
        self.bytes += len(text)


@contextmanager
def abandoned(folder: Path) -> Iterator[Points]:
    """The runs in journals whose writers have ended; removes the journals if the block ends without an error."""
    points: Points = {}
    with ExitStack() as locks:
        paths = [path for path in sorted(folder.glob("*.jsonl")) if _is_abandoned(path, locks)]
        for path in paths:
            read(path, points)
        yield points
        for path in paths:
            path.unlink(missing_ok=True)


def _create(folder: Path) -> tuple[int, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        path = folder / f"{socket.gethostname()}-{os.getpid()}-{os.urandom(8).hex()}.jsonl"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_nlink:
            return file, path
        # Another process removed the empty file as abandoned before it was locked.
        os.close(file)


def _is_abandoned(path: Path, locks: ExitStack) -> bool:
    """True if the writer has ended; `locks` then holds a lock on the file."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        locks.callback(os.close, file)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ELOOP, errno.EWOULDBLOCK}:  # removed, a link, or being written
            return False
        raise
    return True


def read(path: Path, points: Points) -> None:
    """Adds the complete lines of a journal to `points`."""
    identities: dict[str, Identity] = {}
    for entry in checked_entries(path):
        if "engine" in entry:
            identities[entry["key"]] = Identity(entry["engine"], entry["scenario"])
        elif (identity := identities.get(entry["key"])) is not None:
            cost = Cost(entry["cpu_seconds"], entry["host"], entry["finished_at"])
            points.setdefault(identity, {})[entry["replication"]] = Kept(without_cost(entry["run"]), cost)
