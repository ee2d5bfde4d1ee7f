import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import polars as pl
import pytest

import fairlane
from conftest import (
    SHORT_SCENARIO,
    SHORTEST,
    Cli,
    contents,
    files,
    wait_for_a_kept_run,
    wait_for_simulated_work,
)
from fairlane import _fairlane
from fairlane.base.files import write_aside
from fairlane.results.kept import Cost, Kept, with_name, without_cost
from fairlane.store import Store, key, point
from fairlane.store.journal import Journal, Points, abandoned
from fairlane.store.point import Identity
from fairlane.store.simulate import simulate
from fairlane.store.upkeep import entries


@pytest.fixture
def scenario() -> str:
    return SHORT_SCENARIO.canonical()


def other(key: str, value: object) -> str:
    """The scenario with another value of a key."""
    return SHORT_SCENARIO.replace(key, value).canonical()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_run_comes_back_as_it_was(store: Store, scenario: str) -> None:
    (runs,) = simulate([scenario], store, keep=True)
    assert store.load(scenario) == dict(enumerate(runs))


def test_only_what_is_missing_is_simulated(store: Store, scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = simulate([scenario], store, keep=True)
    more = other("run.replications", 5)
    (runs,) = simulate([more], store, keep=True)
    assert runs[:3] == first
    assert len(runs) == 5
    monkeypatch.setattr("fairlane._fairlane.Batch", None)  # nothing is left to run
    assert simulate([more, scenario], store, keep=True) == [runs, first]


def test_name_and_number_of_replications_do_not_matter(scenario: str) -> None:
    for same in (other("name", "other"), other("run.replications", 99)):
        assert key(same) == key(scenario) != key(other("run.seed", 2))


def test_a_stored_run_carries_the_name_of_the_scenario_that_asks(store: Store, scenario: str) -> None:
    simulate([scenario], store, keep=True)
    renamed = other("name", "other")
    assert {json.loads(run.run)["scenario"] for run in store.load(renamed).values()} == {"other"}


def test_a_file_that_cannot_be_read_counts_as_missing(store: Store, scenario: str) -> None:
    (runs,) = simulate([scenario], store, keep=True)
    (file,) = (store.folder / "runs").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert store.load(scenario) == {}
    (again,) = simulate([scenario], store, keep=True)
    assert [run.run for run in again] == [run.run for run in runs]


def test_metadata_tell_what_a_file_holds(store: Store, scenario: str) -> None:
    simulate([scenario], store, keep=True)
    (file,) = (store.folder / "runs").iterdir()
    metadata = pl.read_parquet_metadata(file)
    table = json.loads(scenario)
    del table["name"], table["run"]["replications"]
    assert json.loads(metadata["fairlane.scenario"]) == table
    assert metadata["fairlane.schema"] == "3"
    assert metadata["fairlane.engine"] == _fairlane.engine_version()
    assert json.loads(metadata["fairlane.units"])["delivered_packets"] == "packets"


def test_the_same_runs_are_the_same_bytes_in_whatever_order_they_came(
    store: Store, scenario: str, tmp_path: Path
) -> None:
    (runs,) = simulate([scenario], store, keep=True)
    backwards = Store(tmp_path / "other")
    for number in (2, 0, 1):
        backwards.add(other("name", "other"), {number: Kept(with_name(runs[number].run, "other"), Cost.now(7.0))})
    assert contents(store.folder) == contents(backwards.folder)


@pytest.mark.parametrize("name", ["plain", 'with "quotes"', "back\\slash", 'ü "cpu_seconds":1}}', ""])
def test_a_record_is_kept_without_its_name_and_gets_another(name: str) -> None:
    (run,) = fairlane.run(SHORT_SCENARIO.replace("name", name), replications=1).runs_json
    kept = with_name(run, "")
    assert with_name(kept, name) == run
    assert json.loads(kept) == {**json.loads(run), "scenario": ""}
    assert without_cost(run) == run


def test_what_is_no_record_is_not_kept(store: Store, scenario: str) -> None:
    with pytest.raises(ValueError, match="no run record"):
        store.add(scenario, {0: Kept("{}", Cost.now(1.0))})
    assert store.load(scenario) == {}


def of_format_1(run: Kept) -> str:
    """The record in format 1, which included costs."""
    return with_name(run.run.removesuffix("}}") + ',"cpu_seconds":0.0}}', "").replace('"schema":2', '"schema":1', 1)


def test_runs_of_an_earlier_layout_are_read_and_kept_in_the_new_one(
    store: Store, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runs,) = simulate([scenario], store, keep=False)
    identity = Identity.of(scenario)
    assert all(run.cost for run in runs)
    with monkeypatch.context() as patch:
        patch.setattr(point, "SCHEMA", 2)
        point.write(store.folder, identity, {0: Kept(of_format_1(runs[0]), runs[0].cost)})
    journal = Journal(store.folder / "journal")
    for number in (0, 1):
        journal.append(identity, number, of_format_1(runs[number]), Cost.now(1.0))
    journal.close()
    store = Store(store.folder)  # reads the journals again
    (entry,) = entries(store)
    assert entry.damage == ""
    expected = {number: json.loads(runs[number].run) | {"schema": 1} for number in (0, 1)}
    assert {number: json.loads(kept.run) for number, kept in store.load(scenario).items()} == expected
    assert store.load(scenario)[0].cost == runs[0].cost
    metadata = pl.read_parquet_metadata(point.runs_file(store.folder, identity.key))
    assert metadata["fairlane.schema"] == "3"


def test_an_engine_with_other_sources_has_other_keys(
    store: Store, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate([scenario], store, keep=True)
    monkeypatch.setattr(_fairlane, "engine_version", lambda: "1-00000000000000000000000000000000")
    assert store.load(scenario) == {}


def test_the_engine_is_the_format_and_a_fingerprint() -> None:
    assert re.fullmatch(r"2-[0-9a-f]{32}", _fairlane.engine_version())


def test_a_journal_that_was_cut_off_gives_every_whole_run(store: Store, scenario: str, tmp_path: Path) -> None:
    (runs,) = simulate([scenario], store, keep=True)
    killed = Store(tmp_path / "killed")
    writer = killed.writer()
    for number, run in enumerate(runs):
        assert run.cost
        writer.keep(Identity.of(scenario), number, run.run, run.cost)
    (journal,) = (killed.folder / "journal").iterdir()
    content = journal.read_bytes()
    writer._journal.close()  # like a kill, without settling
    whole = content.splitlines(keepends=True)  # the point, then one run per line
    assert len(whole) == 4
    for size in (0, 10, len(whole[0]), len(content) - len(whole[3]), len(content) - 1, len(content)):
        journal.write_bytes(content[:size])
        found = Store(killed.folder).load(scenario)
        complete = sum(size >= len(b"".join(whole[: number + 2])) for number in range(3))
        assert found == dict(enumerate(runs[:complete]))
        for file in (killed.folder / "runs").glob("*"):
            file.unlink()


def test_journals_are_taken_under_the_lock_so_that_who_waits_for_it_finds_their_runs_in_files(
    store: Store, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    def watched(journals: Path) -> AbstractContextManager[Points]:
        with (store.folder / "lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        taken.append(journals)
        return abandoned(journals)

    monkeypatch.setattr("fairlane.store.folder.abandoned", watched)
    (runs,) = simulate([scenario], store, keep=True)
    assert taken == [store.folder / "journal"]
    assert store.load(scenario) == dict(enumerate(runs))


def test_a_journal_that_is_being_written_is_left_alone(store: Store, scenario: str) -> None:
    (run,) = fairlane.run(SHORT_SCENARIO, replications=1, store=store.folder).runs_json
    cost = Cost.now(1.0)
    with store.writer() as writer:
        writer.keep(Identity.of(scenario), 0, run, cost)
        assert Store(store.folder).load(scenario) == {}
        assert len(files(store.folder / "journal")) == 1
    assert store.load(scenario) == {0: Kept(run, cost)}
    assert files(store.folder / "journal") == []


def test_nobody_can_lead_a_write_elsewhere_by_a_link(store: Store, scenario: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    records = fairlane.run(SHORT_SCENARIO).runs_json
    runs = {number: Kept(record, Cost.now(1.0)) for number, record in enumerate(records)}
    (tmp_path / f".file.{os.getpid()}").symlink_to(victim)
    write_aside(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    (store.folder / "journal").mkdir(parents=True)
    (store.folder / "journal" / "x.jsonl").symlink_to(victim)
    (store.folder / "lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        store.add(scenario, runs)
    assert victim.read_text() == "untouched"
    (store.folder / "lock").unlink()
    store.add(scenario, runs)
    assert store.load(scenario) == runs
    assert victim.read_text() == "untouched"


def test_what_a_kill_left_aside_goes(store: Store, scenario: str) -> None:
    simulate([scenario], store, keep=True)
    before = contents(store.folder)
    (store.folder / "runs" / ".half.parquet.123").write_bytes(b"PAR1")
    Store(store.folder).load(scenario)
    assert contents(store.folder) == before


LONG = ["reproduce", "abc2018.fig4a", "--store", "store", "--out", "out", "--replications", "100"]


def stored_runs(folder: Path) -> int:
    """Number of replications in the store; every file must be complete."""
    found = entries(Store(folder))
    assert [entry.damage for entry in found if entry.damage] == []
    return sum(len(entry.runs) for entry in found)


def test_a_kill_keeps_whole_files_that_the_next_call_uses(cli: Cli, workdir: Path) -> None:
    process = cli.start(*LONG)
    wait_for_a_kept_run(workdir / "store")
    process.kill()
    process.communicate()
    assert {path.name for path in workdir.iterdir()} == {"store", "short.toml"}
    assert stored_runs(workdir / "store") > 0
    assert files(workdir / "store" / "journal") == []


def test_an_interrupt_before_anything_is_finished_says_so(workdir: Path) -> None:
    code = """
import fairlane
try:
    fairlane.run("short.toml", replications=1, threads=1, store="kept")
except fairlane.Interrupted as interrupted:
    print(interrupted)
"""
    (workdir / "short.toml").write_text((workdir / "short.toml").read_text().replace('"1 s"', '"900000 s"'))
    process = subprocess.Popen([sys.executable, "-c", code], cwd=workdir, stdout=subprocess.PIPE, text=True)
    wait_for_simulated_work(process.pid, 0.1)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=120)[0] == "interrupted: 0 of 1 runs finished, nothing to keep\n"
    assert not (workdir / "kept").exists()


@pytest.mark.parametrize(
    "command",
    [
        lambda store: fairlane.sweep(SHORT_SCENARIO, grid={"queue.scheme": ["droptail"]}, store=store).json(),
        lambda store: fairlane.pairs(["reno"], ["droptail"], settings=SHORTEST, store=store).json(),
        lambda store: fairlane.evaluate("abc", only="cheats/flood", replications=1, store=store).json(),
    ],
    ids=["sweep", "pairs", "evaluate"],
)
def test_a_store_that_disappears_after_the_runs_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[[Path], str]
) -> None:
    read = Store.kept

    def after_somebody_deleted_it(store: Store, identity: Identity) -> dict[int, Kept]:
        if (tmp_path / "runs").is_dir():
            shutil.rmtree(tmp_path)
        return read(store, identity)

    monkeypatch.setattr(Store, "kept", after_somebody_deleted_it)
    with pytest.raises(fairlane.UserError, match=r"runs of a point are no longer in the store, which was deleted"):
        command(tmp_path)
