"""The folder of the store: looks up and stores runs.

    runs/KEY.parquet    the runs of a point; the bytes are the same on every machine
    costs/KEY.parquet   CPU time, host and date of these runs
    journal/*.jsonl     finished runs that are not in their files yet
    lock                held while files of points change

Files are written under a temporary name and renamed. A process that is killed leaves complete files and a journal. The
next process that uses the store moves the journal into the files.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from fairlane.base.errors import UserError
from fairlane.base.files import check_writable
from fairlane.results.kept import Cost, Kept, with_name
from fairlane.store import point
from fairlane.store.journal import Journal, Points, abandoned, read
from fairlane.store.point import DamagedError, Identity

DEFAULT_FOLDER = Path("results/store")
SETTLE_BYTES = 16 << 20
"""Size of a journal at which its runs are moved into the files of their points."""
_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""System errors for a full or read-only file system."""


class Store:
    """A folder with finished runs.

    Attributes:
        folder: Path of the store.
        unsettled: Finished runs that are not yet in the file of their point. They are in a journal of a read-only
            store, or only in memory because they depend on the user's code.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        """Opens `folder`; default: $FAIRLANE_STORE, else results/store. The folder is created when first written."""
        self.folder = Path(folder or os.environ.get("FAIRLANE_STORE") or DEFAULT_FOLDER)
        self._recovered = False
        self.unsettled: Points = {}

    @property
    def kept_words(self) -> str:
        """Sentence about the runs of an interrupted command."""
        return f"finished and kept in {self.folder}; the same command continues from there"

    def kept_words_of(self, own: Iterable[bool]) -> str:
        """Sentence about the runs of an interrupted command; `own` is true for each scenario with the user's code."""
        is_own = list(own)
        if all(is_own):
            return "finished, not kept: runs of code of your own never are"
        return f"{self.kept_words}, but runs of code of your own are not kept" if any(is_own) else self.kept_words

    def load(self, scenario: str, identity: Identity | None = None) -> dict[int, Kept]:
        """The stored runs of a canonical scenario by replication. A damaged file counts as missing.

        The records get the scenario's name. If `identity` is None, returns runs of the simulator.
        """
        name = json.loads(scenario)["name"]
        return {number: kept.named(name) for number, kept in self.kept(identity or Identity.of(scenario)).items()}

    def kept(self, identity: Identity) -> dict[int, Kept]:
        """The stored runs of a point by replication; a damaged file counts as missing."""
        self.try_recover()
        found = dict(self.unsettled.get(identity, {}))
        if point.runs_file(self.folder, identity.key).exists():
            with suppress(DamagedError):
                found |= point.read(self.folder, identity.key)[1]
        return found

    def runs(self, identity: Identity, count: int) -> list[Kept]:
        """The first `count` runs of a point.

        Raises:
            UserError: Some of these runs are no longer in the store, for example since the folder was deleted.
        """
        kept = self.kept(identity)
        if gone := sum(number not in kept for number in range(count)):
            raise UserError(
                f"{self.folder}: {gone} of {count} runs of a point are no longer in the store, which was deleted or "
                "damaged; the same command simulates them again"
            )
        return [kept[number] for number in range(count)]

    def add(self, point: Identity | str, runs: Mapping[int, Kept]) -> None:
        """Stores runs of a point, or simulated runs of a canonical scenario."""
        identity = Identity.of(point) if isinstance(point, str) else point
        with Writer(self) as writer:
            for number, run in runs.items():
                if run.cost:
                    writer.keep(identity, number, run.run, run.cost)

    def writer(self) -> Writer:
        """A writer for a `with` block.

        Raises:
            UserError: The folder cannot be written.
        """
        check_writable(self.folder, "--store")
        return Writer(self)

    def recover(self) -> None:
        """Moves runs from abandoned journals into the files of their points. Removes leftovers of killed processes.

        Raises:
            OSError: A file cannot be written; the other files are complete, and the journals stay.
        """
        self._recovered = True
        journals = self.folder / "journal"
        if not any(journals.glob("*.jsonl")) and not self._aside():
            return
        # Lock first: another process that took our journal has then finished.
        with self.locked(), abandoned(journals) as points:
            for identity, new in points.items():
                try:
                    _, old = point.read(self.folder, identity.key)
                except DamagedError:
                    old = {}
                if not new.keys() <= old.keys():
                    point.write(self.folder, identity, {**new, **old})
            # Writers hold the lock, so existing temporary files are leftovers of a kill.
            for path in self._aside():
                path.unlink(missing_ok=True)

    def try_recover(self) -> None:
        """Calls `recover` once; without write access, reads runs from the journals instead."""
        if not self._recovered:
            try:
                self.recover()
            except OSError as error:
                if error.errno not in _NOT_WRITABLE:
                    raise
                for path in (self.folder / "journal").glob("*.jsonl"):
                    with suppress(OSError):
                        read(path, self.unsettled)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Prevents other processes from changing files of points during the block."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _aside(self) -> list[Path]:
        return [path for name in ("runs", "costs") for path in (self.folder / name).glob(".*")]


class Writer:
    """Stores runs as they finish; stored runs survive a kill."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._journal = Journal(store.folder / "journal")

    def __enter__(self) -> Writer:
        self._store.recover()
        return self

    def keep(self, identity: Identity, replication: int, run: str, cost: Cost) -> None:
        """Stores a run (JSON) without scenario name. Keeps a run of the user's code only while the store is open.

        Raises:
            OSError: The run cannot be written; earlier runs are safe.
        """
        if identity.is_own:
            self._store.unsettled.setdefault(identity, {})[replication] = Kept(with_name(run, ""), cost)
            return
        self._journal.append(identity, replication, with_name(run, ""), cost)
        if self._journal.bytes >= SETTLE_BYTES:
            self.settle()

    def settle(self) -> None:
        """Moves all runs from the journal into the files of their points."""
        self._journal.close()
        self._store.recover()

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        # After an error, the runs are safe in the journal. Report this error, not a later error of moving the runs.
        with suppress(*([OSError] if error else [])):
            self.settle()
