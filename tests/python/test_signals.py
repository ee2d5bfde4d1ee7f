"""Finished work is kept when a command is ended by Ctrl-C, a batch system or a closed terminal."""

import os
import pty
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

import fairlane
from conftest import (
    FAIRLANE,
    Cli,
    Process,
    Word,
    ended,
    execute,
    wait_for_a_kept_run,
    wait_for_simulated_work,
    wait_until,
)
from fairlane import Scenario
from fairlane.base.signals import REPEATED_S, as_interrupts
from fairlane.store import Store, Writer
from fairlane.store.simulate import simulate
from fairlane.store.upkeep import entries

ENDLESS = ["short.toml", "--replications", "100000", "--set", "run.measure=5 s"]
COMMANDS = {
    "run": ["run", *ENDLESS],
    "compare": ["compare", *ENDLESS, "--queues", "droptail,abc"],
    "reproduce": ["reproduce", "abc2018.fig4a", "--replications", "200", "--store", "kept"],
    "sweep": ["sweep", "sweep.toml", "--store", "kept"],
    "check": ["check", *ENDLESS, "--set", "expect=[{ metric = 'jain_index', min = 0 }]"],
}
SWEEP = """
scenario = "short.toml"
replications = 100000
set.run.measure = "5 s"
grid.queue.scheme = ["droptail", "abc"]
"""


def start(cli: Cli, command: str, hangup: Literal["default", "ignore"]) -> Process:
    """Starts a command that does not end, with SIGHUP at its default or ignored, whatever the tests' parent has set."""
    (cli.folder / "sweep.toml").write_text(SWEEP)
    return cli.start(*COMMANDS[command], before=["env", f"--{hangup}-signal=HUP", "FAIRLANE_STORE=kept"])


def kept_runs(workdir: Path) -> int:
    found = entries(Store(workdir / "kept"))
    assert not any(entry.damage for entry in found)
    return sum(len(entry.runs) for entry in found)


@pytest.mark.parametrize(
    ("command", "number"),
    [
        pytest.param("run", signal.SIGINT, marks=pytest.mark.long),
        pytest.param("run", signal.SIGTERM, marks=pytest.mark.long),
        ("run", signal.SIGHUP),
        ("compare", signal.SIGTERM),
        ("reproduce", signal.SIGINT),
        pytest.param("reproduce", signal.SIGHUP, marks=pytest.mark.long),
        ("sweep", signal.SIGTERM),
        ("check", signal.SIGINT),
    ],
)
def test_what_is_finished_is_kept(cli: Cli, workdir: Path, command: str, number: signal.Signals) -> None:
    process = start(cli, command, "default")
    if command in ("run", "compare", "check"):
        wait_for_simulated_work(process.pid, 0.3)  # finished runs are only in memory; a run takes about 0.01 s
    else:
        wait_for_a_kept_run(workdir / "kept")
    process.send_signal(number)
    last = ended(process, number)  # the second signal must not disturb the first
    told = r"interrupted: (\d+) of (\d+) runs finished and kept in kept; the same command continues from there"
    counts = re.fullmatch(told, last)
    assert counts, last
    finished, wanted = int(counts[1]), int(counts[2])
    assert 0 < finished == kept_runs(workdir) < wanted
    assert {path.name for path in workdir.iterdir()} == {"short.toml", "sweep.toml", "kept"}


@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.parametrize("work", ["sweep", "simulate"])
def test_an_interrupt_while_a_run_is_kept_is_counted_as_the_store_has_it(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, work: str, stage: str
) -> None:
    keep, calls = Writer.keep, 0

    def interrupted(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2 and stage == "before":
            raise KeyboardInterrupt
        keep(*arguments)
        if calls == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Writer, "keep", interrupted)
    (workdir / "sweep.toml").write_text(SWEEP)
    scenario = Scenario.from_toml(workdir / "short.toml").replace("run.replications", 100_000).canonical()
    works: dict[str, Callable[[], object]] = {
        "sweep": lambda: fairlane.sweep(workdir / "sweep.toml", store=workdir / "kept", threads=1),
        "simulate": lambda: simulate([scenario], Store(workdir / "kept"), keep=True, threads=1),
    }
    with pytest.raises(fairlane.Interrupted) as raised:
        works[work]()
    assert 0 < raised.value.finished == kept_runs(workdir)
    wait_until(lambda: not simulating())


def simulating() -> bool:
    """True if a thread of this process simulates, or has just ended."""
    try:
        return any(comm.read_text() == "fairlane-runs\n" for comm in Path("/proc/self/task").glob("*/comm"))
    except OSError:
        return True


ENDLESS_SCHEME = """
import fairlane

@fairlane.register_scheme("endless")
class Endless:
    def __init__(self, port):
        pass

    def admit(self, packet, port, now):
        open("reached", "w")
        while True:
            pass
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_scheme_that_never_returns_holds_up_no_signal(cli: Cli, number: signal.Signals) -> None:
    (cli.folder / "endless.py").write_text(ENDLESS_SCHEME)
    process = cli.start("run", "short.toml", "--scheme-module", "endless.py", "--set", "queue.scheme=endless")
    wait_until((cli.folder / "reached").exists)
    assert ended(process, number) == "interrupted: 0 of 3 runs finished, nothing to keep"


def test_a_hangup_that_is_ignored_stays_ignored(cli: Cli) -> None:
    process = start(cli, "run", "ignore")
    wait_for_simulated_work(process.pid, 0.05)
    process.send_signal(signal.SIGHUP)
    wait_for_simulated_work(process.pid, 0.3)
    ended(process, signal.SIGTERM)


def test_a_terminal_that_is_closed_loses_nothing(workdir: Path) -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(workdir)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execv(FAIRLANE, [str(FAIRLANE), *COMMANDS["run"], "--store", "kept"])
    wait_for_simulated_work(pid, 0.3)
    os.close(terminal)  # the kernel sends SIGHUP, and writes to the terminal now fail
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    assert kept_runs(workdir) > 0


def test_an_interrupt_that_python_swallows_ends_what_follows(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    swallowed = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: swallowed.append(what.exc_type))
    with as_interrupts():
        Finalized()
        with pytest.raises(fairlane.Interrupted):
            fairlane.run(workdir / "short.toml", store=workdir / "kept")
    assert swallowed == [KeyboardInterrupt]


def test_a_repeated_interrupt_is_passed_over_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    with as_interrupts():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        now_s += 0.9 * REPEATED_S
        signal.raise_signal(signal.SIGINT)
        now_s += 0.2 * REPEATED_S
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


AS_MODULE = [sys.executable, "-m", "fairlane"]


@pytest.mark.parametrize(
    ("command", "loaded"),
    [(AS_MODULE, "fairlane_command"), (AS_MODULE, "fairlane.cli.main"), ([FAIRLANE], "fairlane.store")],
    ids=["module, early", "module", "command"],
)
def test_an_interrupt_while_python_loads_modules_is_quiet(tmp_path: Path, command: Sequence[Word], loaded: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"""
import builtins, os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
load = builtins.__import__
def interrupted(name, *rest, **named):
    if name == {loaded!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return load(name, *rest, **named)
builtins.__import__ = interrupted
""")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = execute(*command, "run", "--help", env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
