"""A sweep that is killed repeatedly stores the same bytes as an uninterrupted sweep."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import FAIRLANE, contents, files, wait_until
from fairlane.results.kept import Kept
from fairlane.store import point
from fairlane.store.journal import read
from fairlane.store.point import Identity

SWEEP = """
scenario = "short.toml"

[set]
run.measure = "2 s"

[grid]
queue.scheme = ["droptail", "abc"]
topology.bottleneck_delay = ["5 ms", "50 ms"]

[stop]
min_replications = 10
max_replications = 24
relative_half_width = { utilisation.bottleneck = 0.001 }
"""

OFTEN = [
    sys.executable,
    "-c",
    "import fairlane.store.folder as folder, fairlane.cli.main as cli; folder.SETTLE_BYTES = 20_000; cli.main()",
]
"""The command with a journal that is moved into the files many times per second, so that kills also interrupt this
move."""


def start(command: list[str | Path], workdir: Path, store: str) -> "subprocess.Popen[bytes]":
    arguments = ["sweep", "kill.toml", "--store", store, "--out", f"{store}-out"]
    return subprocess.Popen([*command, *arguments], cwd=workdir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_a_file(process: "subprocess.Popen[bytes]", store: Path) -> None:
    wait_until(lambda: process.poll() is not None or any(store.glob("*/*.*")))


def finished(store: Path) -> set[tuple[str, int]]:
    """All runs in files, which must be complete, and in journals."""
    in_files = {
        (file.stem, number) for file in store.glob("runs/[!.]*.parquet") for number in point.read(store, file.stem)[1]
    }
    in_journals: dict[Identity, dict[int, Kept]] = {}
    for journal in store.glob("journal/*.jsonl"):
        read(journal, in_journals)
    return in_files | {(identity.key, number) for identity, runs in in_journals.items() for number in runs}


@pytest.mark.parametrize("least", [2, pytest.param(60, marks=pytest.mark.long)])
def test_killed_at_random_moments_and_resumed_it_ends_with_the_same_bytes(least: int, workdir: Path) -> None:
    (workdir / "kill.toml").write_text(SWEEP)
    begin = time.monotonic()
    assert start([FAIRLANE], workdir, "reference").wait(120) == 0
    whole_s = time.monotonic() - begin
    reference = contents(workdir / "reference")
    assert len(reference) == 4
    moments = random.Random(20)
    kills = trial = 0
    lost: set[tuple[str, int]] = set()
    while kills < least:
        trial += 1
        store = workdir / f"store-{trial}"
        before: set[tuple[str, int]] = set()
        while True:
            command: list[str | Path] = [FAIRLANE] if kills % 2 else list(OFTEN)
            process = start(command, workdir, store.name)
            if kills < least:
                wait_for_a_file(process, store)  # earlier kills prove little
                time.sleep(moments.uniform(0, whole_s / 2))
            else:
                process.wait(120)
            process.kill()
            code = process.wait()
            if code == 0:
                break
            assert code == -signal.SIGKILL
            kills += 1
            after = finished(store)
            lost |= before - after
            before = after
        assert contents(store) == reference
        assert files(store / "journal") == []
        assert files(store / "costs") == list(reference)
    assert lost == set()
