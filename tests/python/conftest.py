"""What the tests share: the command as a user calls it, and a scenario that takes milliseconds."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fairlane.base.folders import LIST

# Commands that are started here take Ctrl-C as usual, also if whoever runs the tests ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)

FAIRLANE = Path(sys.executable).with_name("fairlane")
EXAMPLES = Path(__file__).parents[2] / "examples"

SHORT = """
name = "short"

[run]
warmup = "1 s"
measure = "1 s"
replications = 3

[queue]
scheme = "abc"

[[groups]]
name = "heavy"
start_until = "0.5 s"

[[groups.sources]]
kind = "tcp"
flows = 5

[[groups]]
name = "light"
users = 2
start_until = "0.5 s"

[[groups.sources]]
kind = "poisson"
rate = "4 Mbit/s"
"""

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """An empty working directory with short.toml."""
    (tmp_path / "short.toml").write_text(SHORT)
    return tmp_path


@pytest.fixture
def cli(workdir: Path) -> Cli:
    """Runs `fairlane` in the working directory."""

    def run(*arguments: str | Path, timeout_s: float = 300) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [FAIRLANE, *arguments], cwd=workdir, capture_output=True, text=True, timeout=timeout_s, check=False
        )

    return run


def files(folder: Path) -> Sequence[str]:
    """Every file below a folder, but for the list that a folder of results has of its files."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name != LIST)


def wait_until(done: Callable[[], object]) -> None:
    """Until something has come about, however busy the machine is."""
    deadline = time.monotonic() + 120
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_cpu_time(pid: int, seconds: float) -> None:
    """Until a process has computed for so long."""

    def computed() -> float:
        user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    wait_until(lambda: computed() >= seconds)


def wait_for_a_kept_run(store: Path) -> None:
    """Until a journal of the store has one."""
    wait_until(lambda: any(journal.stat().st_size for journal in store.glob("journal/*.jsonl")))
