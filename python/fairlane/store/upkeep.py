"""Maintenance of a store: lists points, checks files, removes unusable files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypedDict

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.progress import progress
from fairlane.results.kept import Kept, with_name
from fairlane.simulate.replications import finished
from fairlane.store import point
from fairlane.store.folder import Store
from fairlane.store.point import DamagedError, Identity

SHORT_KEY = 12
"""Displayed digits of a key; enough to distinguish points."""


class _Always(TypedDict):
    key: Annotated[str, "Hash of scenario and engine."]
    engine: Annotated[str | None, "Engine version; null if damaged."]
    current: Annotated[bool, "Whether this engine would use the runs."]
    damage: Annotated[str | None, "Damage found; null if none."]
    queue: Annotated[str | None, "Scheme of the queue; null if damaged."]
    groups: Annotated[list[str], "Names of the user groups."]
    seed: Annotated[int | None, "Seed; null if damaged."]
    replications: Annotated[int, "Runs."]
    cpu_seconds: Annotated[float, "CPU time of the runs, as far as it is known."]
    bytes: Annotated[int, "Size of its files."]


class StoreEntry(_Always, total=False):
    """A point of the store."""

    differing: Annotated[
        list[int], "Replications whose bytes differ when simulated again; only of `verify --simulate`."
    ]


@dataclass(frozen=True, slots=True)
class Entry:
    """A point of the store.

    Attributes:
        key: Key of the point.
        bytes: Size of the point's files.
        damage: Description of the damage of the files; empty if there is none.
        identity: Scenario and engine; None if the file of the runs is damaged.
        runs: Runs by replication.
    """

    key: str
    bytes: int
    damage: str
    identity: Identity | None
    runs: dict[int, Kept]

    @property
    def is_current(self) -> bool:
        """True if this engine would use the runs. It uses measurements of the lab regardless of their engine."""
        if self.identity is None:
            return False
        return self.identity.is_measured or self.identity.engine == _fairlane.engine_version()

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the runs, as far as it is known."""
        return sum(kept.cost.cpu_seconds for kept in self.runs.values() if kept.cost)

    def to_dict(self) -> StoreEntry:
        """The entry without its runs, ready for JSON."""
        table = self.identity.table if self.identity else {}
        return {
            "key": self.key,
            "engine": self.identity.engine if self.identity else None,
            "current": self.is_current,
            "damage": self.damage or None,
            "queue": table["queue"]["scheme"] if table else None,
            "groups": [group["name"] for group in table.get("groups", [])],
            "seed": table["run"]["seed"] if table else None,
            "replications": len(self.runs),
            "cpu_seconds": self.cpu_seconds,
            "bytes": self.bytes,
        }


@dataclass(frozen=True, slots=True)
class Garbage:
    """A file that can be removed, and the reason."""

    path: Path
    bytes: int
    reason: str


def entries(store: Store, keys: Sequence[str] = (), *, show_progress: bool = False) -> list[Entry]:
    """The points of the store by key; verifies every byte.

    Args:
        store: The store.
        keys: Prefixes of keys; without any, all points.
        show_progress: Report progress on stderr.

    Raises:
        UserError: The folder or a key does not exist.
    """
    if not store.folder.is_dir():
        raise UserError(f"--store: {store.folder}: no such folder")
    store.try_recover()
    unsettled = {identity.key: (identity, runs) for identity, runs in store.unsettled.items()}
    names = sorted({path.stem for path in (store.folder / "runs").glob("*.parquet")} | unsettled.keys())
    for key in keys:
        if not any(name.startswith(key) for name in names):
            raise UserError(f"{key}: no such key in {store.folder}; `fairlane store ls` lists them")
    chosen = [name for name in names if not keys or name.startswith(tuple(keys))]
    found = []
    with progress("reading", len(chosen), show=show_progress, unit="points") as advance:
        for name in chosen:
            found.append(_entry(store, name, *unsettled.get(name, (None, {}))))
            advance()
    return found


def simulate_again(entry: Entry, most: int, *, threads: int | None = None, show_progress: bool = False) -> list[int]:
    """Simulates the first replications of a point again.

    Args:
        entry: The point; its runs must be of this engine.
        most: Maximum number of replications.
        threads: Simulator threads; all cores if None.
        show_progress: Report progress on stderr.

    Returns:
        The replications whose bytes differ from the stored bytes.
    """
    if entry.identity is None or entry.identity.is_measured or not entry.is_current:
        return []
    chosen = sorted(entry.runs)[:most]
    scenario = entry.identity.canonical(entry.key[:SHORT_KEY], max(chosen) + 1)
    jobs = [(scenario, number) for number in chosen]
    differing = []
    title = f"verifying {entry.key[:SHORT_KEY]}"
    with closing(finished(jobs, threads, title, show_progress=show_progress)) as runs:
        for job, run, _ in runs:
            if with_name(run, "") != entry.runs[chosen[job]].run:
                differing.append(chosen[job])
    return sorted(differing)


def garbage(store: Store) -> list[Garbage]:
    """Files that this engine cannot use: points of other engines, damaged files, costs without runs."""
    found = []
    for entry in entries(store):
        if entry.is_current and not entry.damage:
            continue
        reason = f"damaged: {entry.damage}" if entry.damage else f"of engine {_engine(entry)}"
        files = [point.costs_file(store.folder, entry.key)]
        if not entry.is_current:
            files.insert(0, point.runs_file(store.folder, entry.key))
        for path in files:
            if path.exists():
                found.append(Garbage(path, path.stat().st_size, reason))
    for path in sorted((store.folder / "costs").glob("*.parquet")):
        if not point.runs_file(store.folder, path.stem).exists():
            found.append(Garbage(path, path.stat().st_size, "costs without runs"))
    return found


def remove(store: Store, found: Sequence[Garbage]) -> None:
    """Removes files."""
    with store.locked():
        for one in found:
            one.path.unlink(missing_ok=True)


def _engine(entry: Entry) -> str:
    return entry.identity.engine if entry.identity else "unknown"


def _entry(store: Store, key: str, identity: Identity | None, unsettled: dict[int, Kept]) -> Entry:
    """The entry of a point, including runs that are still in journals."""
    files = [
        path for path in (point.runs_file(store.folder, key), point.costs_file(store.folder, key)) if path.exists()
    ]
    size = sum(path.stat().st_size for path in files)
    damage = ""
    runs: dict[int, Kept] = {}
    if point.runs_file(store.folder, key) in files:
        try:
            identity, runs, damage = point.examine(store.folder, key, columns=True)
            _check_records(runs, identity)
        except DamagedError as error:
            return Entry(key, size, str(error), None, {})
    return Entry(key, size, damage, identity, unsettled | runs)


def _check_records(runs: dict[int, Kept], identity: Identity) -> None:
    seed = identity.table["run"]["seed"]
    for number, kept in runs.items():
        record = json.loads(kept.run)
        if (record["replication"], record["seed"]) != (number, seed):
            raise DamagedError(f"replication {number} is that of replication {record['replication']}, {record['seed']}")
