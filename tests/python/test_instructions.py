"""The instruction guard: what the engine executes per packet, against the committed baseline."""

import importlib
import sys
from types import ModuleType

import pytest

from conftest import ROOT, execute

SCRIPT = ROOT / "benches" / "instructions" / "check.py"


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return importlib.import_module("check")


@pytest.mark.long
def test_no_scenario_executes_more_instructions_than_the_baseline_allows(capsys: pytest.CaptureFixture[str]) -> None:
    done = execute(sys.executable, SCRIPT, timeout_s=1800)
    with capsys.disabled():
        sys.stdout.write(f"\n{done.stdout}{done.stderr}")
    if done.returncode == 77:
        pytest.skip(done.stdout.strip().removeprefix("skipped: "))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("counted", "code"), [(80.0, 0), (104.9, 0), (105.1, 1)])
def test_more_than_5_percent_above_the_baseline_fails(guard: ModuleType, counted: float, code: int) -> None:
    assert guard.check({"instructions_per_packet": {"mix": 100.0}}, {"mix": counted}) == code


def test_a_scenario_without_baseline_fails(guard: ModuleType) -> None:
    assert guard.check({}, {"mix": 100.0}) == 1


@pytest.mark.parametrize(
    ("valgrind", "reason"),
    [("/usr/bin/valgrind", "here is rustc 2.0.0 for some-target"), (None, "valgrind is not installed")],
    ids=["another compiler", "no valgrind"],
)
def test_a_machine_that_cannot_be_compared_is_skipped_with_the_reason(
    valgrind: str | None,
    reason: str,
    guard: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(guard.shutil, "which", lambda _: valgrind)
    monkeypatch.setattr(guard, "rustc", lambda: ("rustc 2.0.0", "some-target"))
    monkeypatch.setattr(sys, "argv", ["check.py"])
    assert guard.main() == guard.SKIPPED
    assert reason in capsys.readouterr().out
