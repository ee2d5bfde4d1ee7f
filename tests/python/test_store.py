import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from conftest import FAIRLANE, files
from fairlane import Scenario
from fairlane.runner import simulate
from fairlane.store import Store, key


@pytest.fixture
def scenario(workdir: Path) -> str:
    return Scenario.from_toml(workdir / "short.toml").canonical()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_run_comes_back_as_it_was(store: Store, scenario: str) -> None:
    (runs,) = simulate([scenario], store, keep=True)
    assert store.load(scenario) == dict(enumerate(runs))


def test_only_what_is_missing_is_simulated(store: Store, scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = simulate([scenario], store, keep=True)
    more = Scenario.from_dict(json.loads(scenario)).replace("run.replications", 5).canonical()
    (runs,) = simulate([more], store, keep=True)
    assert runs[:3] == first
    assert len(runs) == 5
    monkeypatch.setattr("fairlane._fairlane.Batch", None)  # nothing is left to run
    assert simulate([more, scenario], store, keep=True) == [runs, first]


def test_name_and_number_of_replications_do_not_matter(scenario: str) -> None:
    table = Scenario.from_dict(json.loads(scenario))
    same = table.replace("name", "other").replace("run.replications", 99)
    other = table.replace("run.seed", 2)
    assert key(same.canonical()) == key(scenario) != key(other.canonical())


def test_a_stored_run_carries_the_name_of_the_scenario_that_asks(store: Store, scenario: str) -> None:
    simulate([scenario], store, keep=True)
    renamed = Scenario.from_dict(json.loads(scenario)).replace("name", "other").canonical()
    assert {json.loads(run)["scenario"] for run in store.load(renamed).values()} == {"other"}


def test_a_file_that_cannot_be_read_counts_as_missing(store: Store, scenario: str) -> None:
    (runs,) = simulate([scenario], store, keep=True)
    (file,) = store.folder.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert store.load(scenario) == {}
    (again,) = simulate([scenario], store, keep=True)
    assert [deterministic(run) for run in again] == [deterministic(run) for run in runs]


def test_metadata_tell_what_a_file_holds(store: Store, scenario: str) -> None:
    simulate([scenario], store, keep=True)
    (file,) = store.folder.iterdir()
    metadata = pl.read_parquet_metadata(file)
    assert json.loads(metadata["fairlane.scenario"]) == json.loads(scenario)
    assert metadata["fairlane.schema"] == "1"


@pytest.mark.parametrize("threads", [1, 2])
def test_runs_do_not_depend_on_threads(threads: int, store: Store, scenario: str, tmp_path: Path) -> None:
    (reference,) = simulate([scenario], Store(tmp_path / "reference"), keep=False, threads=1)
    (runs,) = simulate([scenario], store, keep=False, threads=threads)
    assert [deterministic(run) for run in runs] == [deterministic(run) for run in reference]


def deterministic(run: str) -> str:
    """The run without its CPU time, bytes as they came."""
    before, performance, _ = run.partition(',"performance":')
    assert performance
    return before


LONG = ["reproduce", "abc2018.fig4a", "--store", "store", "--out", "out", "--replications", "100"]


def wait_for_some_runs(folder: Path) -> None:
    deadline = time.monotonic() + 30
    while not list(folder.glob("store/*.parquet")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def stored_runs(folder: Path) -> int:
    """Replications in the store; every file must be whole."""
    return sum(pl.read_parquet(file).height for file in folder.glob("store/*"))


def test_a_kill_keeps_whole_files_that_the_next_call_uses(tmp_path: Path) -> None:
    process = subprocess.Popen([FAIRLANE, *LONG], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_for_some_runs(tmp_path)
    process.kill()
    process.wait()
    before = stored_runs(tmp_path)
    assert before > 0
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_control_c_ends_at_once_and_keeps_what_is_finished(tmp_path: Path) -> None:
    process = subprocess.Popen([FAIRLANE, *LONG], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    wait_for_some_runs(tmp_path)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, stderr = process.communicate(timeout=10)
    assert time.monotonic() - start < 3
    assert process.returncode == 130
    last = stderr.splitlines()[-1]
    assert last.startswith("interrupted: ")
    kept = stored_runs(tmp_path)
    assert f"interrupted: {kept} of 2400 runs finished and kept in store" in last
    assert [file for file in files(tmp_path) if not file.startswith("store/")] == []


def test_control_c_in_run_keeps_what_is_finished_and_the_next_run_uses_it(workdir: Path) -> None:
    command = [FAIRLANE, "run", "short.toml", "--replications", "100000", "--set", "run.measure=5 s"]
    process = subprocess.Popen(
        command, cwd=workdir, stderr=subprocess.PIPE, text=True, env=os.environ | {"FAIRLANE_STORE": "kept"}
    )
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "of 100000 runs finished and kept in kept" in stderr.splitlines()[-1]
    (file,) = workdir.glob("kept/*.parquet")
    assert pl.read_parquet(file).height > 0


def test_an_interrupt_before_anything_is_finished_says_so(workdir: Path) -> None:
    # From Python, where the moment can be chosen.
    code = (
        "import fairlane, threading, _thread\n"
        "threading.Timer(0.5, _thread.interrupt_main).start()\n"
        "try:\n"
        "    fairlane.run('short.toml', replications=1, threads=1, store='kept')\n"
        "except fairlane.Interrupted as interrupted:\n"
        "    print(interrupted)\n"
    )
    (workdir / "short.toml").write_text((workdir / "short.toml").read_text().replace('"1 s"', '"900000 s"'))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=workdir, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "interrupted: 0 of 1 runs finished, nothing to keep\n"
    assert not (workdir / "kept").exists()
