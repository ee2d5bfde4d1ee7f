"""The journal of a search keeps all simulated values, so that a killed search continues where it stopped.

A search is a function of its seed. A repeated search requests the same runs, and the journal returns the values of
known runs. So the store need not keep the records of several hundred thousand runs.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from fairlane import _fairlane
from fairlane.base.checked_lines import checked_entries, checked_line
from fairlane.base.errors import UserError


class Journal:
    """Values by the digest of their run, in an append-only file or only in memory."""

    def __init__(self, file: int | None, known: dict[str, list[float | None]]) -> None:
        self._file = file
        self._known = known

    def find(self, digest: str) -> list[float | None] | None:
        """The values of a run; None if unknown."""
        return self._known.get(digest)

    def add(self, values: Mapping[str, list[float | None]]) -> None:
        """Stores values, which then survive a kill of the process."""
        self._known.update(values)
        if self._file is not None and values:
            _append(self._file, checked_line({"values": values}))


def _append(file: int, line: bytes) -> None:
    size = os.fstat(file).st_size
    try:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise


def digest(job: str, replication: int) -> str:
    """Key of a run."""
    return blake2b(f"{replication} {job}".encode(), digest_size=12).hexdigest()


@contextmanager
def journal(folder: Path, name: str) -> Iterator[Journal]:
    """Opens a journal and locks it against other searches. Empties a journal of another engine version.

    Raises:
        UserError: Another search uses the journal.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{path}: another search is writing it") from None
        engine, known = None, {}
        for entry in checked_entries(path):
            engine = entry.get("engine", engine)
            known.update(entry.get("values", {}))
        if engine != _fairlane.engine_version():
            known = {}
            os.ftruncate(file, 0)
            _append(file, checked_line({"engine": _fairlane.engine_version()}))
        _append(file, b"\n")  # ends a line truncated by a kill
        yield Journal(file, known)
    finally:
        os.close(file)
