"""Measures the result store beside one SQLite file, in WAL mode and with a rollback journal.

    .venv/bin/python benches/stores.py [--points 1000] [--replications 3] [--turns 3] [--machines DIR DIR ...]

`--machines` names the same empty folder as several machines see it, such as mounts of one export; each gets a writer.
With a rollback journal every commit waits for the disk, so runs are committed fifty at a time there. As root, stores
that may only be read are read as another user.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import random
import resource
import shutil
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from measuring import SCENARIOS, machine

import fairlane
from fairlane.store import Store
from fairlane.store.export import export
from fairlane.store.point import Cost, Identity, Kept
from fairlane.store.record import with_name
from fairlane.store.upkeep import Entry, entries

KINDS = {"files": "a file per point", "wal": "SQLite, WAL", "delete": "SQLite, rollback journal"}
COMMITTED = {"wal": 1, "delete": 50}
WRITERS = 4
KILLS = 20
FLIPS = 60
LIMIT_BYTES = 64 << 10
NOBODY = 65534
TABLES = """
create table if not exists point (id integer primary key, key text unique, engine text, scenario text);
create table if not exists run (
    point integer, replication integer, record blob, digest blob, cpu_seconds real, host text, finished_at text,
    unique (point, replication));
"""
Run = tuple[Identity, int, str, Cost]
_processes = get_context("forkserver")  # a process that is forked while polars has threads would hang


class Database:
    """The store as one SQLite file: records compressed, a digest over each record and its cost."""

    def __init__(self, folder: Path, mode: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        may_write = os.access(folder, os.W_OK)
        how = "mode=rwc" if may_write else "mode=ro" if any(folder.glob("store.db-*")) else "immutable=1"
        self.sql = sqlite3.connect(f"file:{folder / 'store.db'}?{how}", uri=True, timeout=60, isolation_level=None)
        if may_write:
            self.sql.executescript(f"pragma journal_mode={mode}; pragma synchronous=normal; {TABLES}")

    def keep(self, runs: Iterable[Run]) -> None:
        """Keeps runs in one transaction."""
        self.sql.execute("begin immediate")
        for identity, number, run, cost in runs:
            key, record = identity.key, run.encode()
            values = (number, zlib.compress(record), _digest(number, record, cost))
            point = (key, identity.engine, identity.scenario)
            self.sql.execute("insert or ignore into point values (null, ?, ?, ?)", point)
            self.sql.execute(
                "insert or ignore into run select id, ?, ?, ?, ?, ?, ? from point where key = ?",
                (*values, cost.cpu_seconds, cost.host, cost.finished_at, key),
            )
        self.sql.execute("commit")

    def entries(self, key: str | None = None) -> list[Entry]:
        """The points, every byte checked."""
        where, chosen = ("where key = ?", (key,)) if key else ("", ())
        found: dict[int, Entry] = {}
        for point, name, engine, scenario in self.sql.execute(f"select * from point {where}", chosen):
            found[point] = Entry(name, 0, "", Identity(engine, scenario), {})
        for point, number, record, digest, *cost in self.sql.execute(
            f"select run.* from run join point on point = id {where}", chosen
        ):
            with suppress(zlib.error):
                text, kept = zlib.decompress(record), Cost(*cost)
                if digest == _digest(number, text, kept) and point in found:
                    found[point].runs[number] = Kept(text.decode(), kept)
        return [entry for entry in found.values() if entry.identity and entry.identity.key == entry.key]


def _digest(number: int, record: bytes, cost: Cost) -> bytes:
    return hashlib.sha256(f"{number} {cost}".encode() + record).digest()


def runs_of(points: int, replications: int) -> list[Run]:
    """Runs of as many scenarios, which differ in their seeds; the records are those of one of them."""
    short = fairlane.Scenario.from_toml(SCENARIOS / "abc-default.toml").replace("run.measure", "1 s")
    records = [with_name(record, "") for record in fairlane.run(short, replications=replications).runs_json]
    identity = Identity.of(short.canonical())
    seed = identity.table["run"]["seed"]
    cost = Cost(0.125, "host.example", "2026-01-01T00:00:00+00:00")
    return [
        (
            Identity(identity.engine, identity.scenario.replace(f'"seed": {seed}', f'"seed": {own}', 1)),
            number,
            record.replace(f'"seed":{seed}', f'"seed":{own}', 1),
            cost,
        )
        for own in range(1000, 1000 + points)
        for number, record in enumerate(records)
    ]


def write(kind: str, folder: Path, runs: Sequence[Run], safe: Synchronized[int]) -> None:
    """Keeps runs; `safe` says how many no kill can take any more."""
    if kind == "files":
        with Store(folder).writer() as writer:
            for count, run in enumerate(runs, 1):
                writer.keep(*run)
                safe.value = count
        return
    database = Database(folder, kind)
    for begin in range(0, len(runs), COMMITTED[kind]):
        database.keep(runs[begin : begin + COMMITTED[kind]])
        safe.value = min(begin + COMMITTED[kind], len(runs))
    database.sql.close()


def read(kind: str, folder: Path) -> list[Entry]:
    """All points, every byte checked."""
    return entries(Store(folder)) if kind == "files" else Database(folder, kind).entries()


def served(kind: str, folder: Path, runs: Sequence[Run]) -> int:
    """How many of these runs are found."""
    found = 0
    with suppress(sqlite3.Error):
        store, database = Store(folder), None if kind == "files" else Database(folder, kind)
        for identity in dict.fromkeys(run[0] for run in runs):
            with suppress(sqlite3.Error):
                of_point = [one.runs for one in database.entries(identity.key)] if database else [store.kept(identity)]
                found += sum(map(len, of_point))
    return found


def count(kind: str, folder: Path, runs: Sequence[Run], found: Synchronized[int]) -> None:
    """Counts the runs that somebody finds who may not write."""
    if os.geteuid() == 0:
        served(kind, folder.with_name("whole"), runs)  # modules may be out of reach later
        os.setuid(NOBODY)
    found.value = served(kind, folder, runs)


def write_little(kind: str, folder: Path, runs: Sequence[Run], safe: Synchronized[int]) -> None:
    """Keeps runs in files that may not grow far, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))
    write(kind, folder, runs, safe)


def start(work: Callable[..., None], *arguments: object) -> tuple[ForkServerProcess, Synchronized[int]]:
    """Starts work in a process of its own, with a number that it counts up."""
    number: Synchronized[int] = _processes.Value("i", 0)
    process = _processes.Process(target=work, args=(*arguments, number))
    process.start()
    return process, number


def served_to_readers(kind: str, folder: Path, runs: Sequence[Run]) -> int:
    """Runs that are served to somebody who may only read."""
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    process, found = start(count, kind, folder, runs)
    process.join()
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return found.value


def speed(kind: str, folder: Path, runs: Sequence[Run], turns: int) -> dict[str, float]:
    """Seconds of CPU time, of reading the least of some turns, and bytes on the disk."""
    times: dict[str, float] = {}

    def timed(what: str, work: Callable[[], object], turns: int = 1) -> None:
        for _ in range(turns):
            begin = time.process_time()
            work()
            times[what] = min(times.get(what, math.inf), time.process_time() - begin)

    timed("put", lambda: write(kind, folder, runs, _processes.Value("i", 0)))
    some = [run[0] for run in random.Random(1).sample(runs, min(200, len(runs)))]
    store, database = Store(folder), None if kind == "files" else Database(folder, kind)
    timed("get", lambda: [database.entries(one.key) if database else store.kept(one) for one in some], turns)
    timed("list and verify", lambda: read(kind, folder), turns)
    timed("export", lambda: export(read(kind, folder), folder.with_suffix(".out"), "parquet"), turns)
    times["size on disk"] = sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))
    if database:
        timed("prune", lambda: database.sql.executescript("delete from run; delete from point; vacuum"))
    else:
        timed("prune", lambda: shutil.rmtree(folder))
    return times


def killed(kind: str, folder: Path, runs: Sequence[Run]) -> tuple[str, str]:
    """Kills writers at random moments: what is lost, and what a store that may only be read then serves."""
    begin = time.perf_counter()
    write(kind, folder / "whole", runs, _processes.Value("i", 0))
    whole_s = time.perf_counter() - begin
    moments = random.Random(20)
    lost = unread = 0
    for trial in range(KILLS):
        store = folder / str(trial)
        process, safe = start(write, kind, store, runs)
        while not safe.value:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, whole_s))
        process.kill()
        process.join()
        unread += served_to_readers(kind, store, runs) < safe.value
        lost += served(kind, store, runs) < safe.value
    return f"{lost} of {KILLS} lose a run", f"{unread} of {KILLS} are not served whole"


def at_once(kind: str, folders: Sequence[Path], runs: Sequence[Run]) -> str:
    """A writer for each folder, which all show the same store; they share some of the runs."""
    begin = time.perf_counter()
    writers = [
        start(write, kind, folder, [*runs[number :: len(folders)], *runs[:30]]) for number, folder in enumerate(folders)
    ]
    for process, _ in writers:
        process.join()
    took_s = time.perf_counter() - begin
    failed = sum(process.exitcode != 0 for process, _ in writers)
    return f"{served(kind, folders[0], runs)} of {len(runs)} runs, {failed} writers fail, {took_s:.1f} s"


def full(kind: str, folder: Path, runs: Sequence[Run]) -> str:
    """A disk that is full, and later no more."""
    process, safe = start(write_little, kind, folder, runs)
    process.join()
    kept, first = safe.value, served(kind, folder, runs)
    write(kind, folder, runs, safe)
    return f"{first} of {kept} runs kept, then {served(kind, folder, runs)} of {len(runs)}"


def flipped(kind: str, folder: Path, runs: Sequence[Run]) -> str:
    """One bit of one file is wrong."""
    write(kind, folder, runs, _processes.Value("i", 0))
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    places = [(path, place) for path in files for place in range(path.stat().st_size)]
    lost = []
    for path, place in random.Random(1).sample(places, FLIPS):
        content = path.read_bytes()
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        lost.append(len(runs) - served(kind, folder, runs))
        path.write_bytes(content)
    return f"{max(lost)} of {len(runs)} runs at worst, {sum(lost) / FLIPS:.1f} on average"


def main() -> None:
    """Measure, then print a Markdown table."""
    parser = argparse.ArgumentParser(description="Measure the result store beside one SQLite file.")
    parser.add_argument("--points", type=int, default=1000, help="points of the speeds (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="of what only reads (default: %(default)s)")
    parser.add_argument("--replications", type=int, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument(
        "--machines", type=Path, nargs="+", default=[], help="one empty folder, as each of them sees it"
    )
    options = parser.parse_args()
    runs = runs_of(options.points, options.replications)
    few = runs[:900]
    table: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        speeds = [speed(kind, Path(name, "speed", kind), runs, options.turns) for kind in KINDS]
        for what, base in speeds[0].items():
            table[what] = [f"{times[what] / base:.2f}" for times in speeds]
        for kind in KINDS:
            here = Path(name, kind)
            here.mkdir(parents=True)
            killed_row, read_row = killed(kind, here, few)
            rows = {"writers killed at random moments": killed_row, "then read without the right to write": read_row}
            rows[f"{WRITERS} writers at once"] = at_once(kind, [here / "at-once"] * WRITERS, few)
            if options.machines:
                rows[f"{len(options.machines)} machines at once"] = at_once(
                    kind, [m / kind for m in options.machines], few
                )
            rows["a full disk"] = full(kind, here / "full", few)
            rows["one wrong bit loses"] = flipped(kind, here / "flipped", few)
            for row, value in rows.items():
                table.setdefault(row, []).append(value)
    print(f"{options.points} points of {options.replications} runs, {machine()}, SQLite {sqlite3.sqlite_version}\n")
    print(f"| | {' | '.join(KINDS.values())} |\n|{'---|' * (len(KINDS) + 1)}")
    for row, values in table.items():
        print(f"| {row} | {' | '.join(values)} |")


if __name__ == "__main__":
    main()
