"""The instruction guard compares the engine's instructions per packet with the committed baseline."""

import sys

import pytest
from click.testing import CliRunner

from benches.harness import Report
from benches.instructions import check as guard
from conftest import execute


@pytest.mark.long
def test_no_scenario_executes_more_instructions_than_the_baseline_allows(capsys: pytest.CaptureFixture[str]) -> None:
    done = execute(sys.executable, "-m", "benches", "instructions", timeout_s=1800)
    with capsys.disabled():
        sys.stdout.write(f"\n{done.stdout}{done.stderr}")
    if done.returncode == 77:
        pytest.skip(done.stdout.strip().removeprefix("skipped: "))
    assert done.returncode == 0, done.stdout + done.stderr


def report() -> Report:
    return Report(None, {"tables": []})


@pytest.mark.parametrize(("counted", "code"), [(80.0, 0), (104.9, 0), (105.1, 1)])
def test_more_than_5_percent_above_the_baseline_fails(counted: float, code: int) -> None:
    assert guard.check(report(), {"instructions_per_packet": {"mix": 100.0}}, {"mix": counted}) == code


def test_a_scenario_without_baseline_fails() -> None:
    assert guard.check(report(), {}, {"mix": 100.0}) == 1


@pytest.mark.parametrize(
    ("valgrind", "reason"),
    [("/usr/bin/valgrind", "here is rustc 2.0.0 for some-target"), (None, "valgrind is not installed")],
    ids=["another compiler", "no valgrind"],
)
def test_a_machine_that_cannot_be_compared_is_skipped_with_the_reason(
    valgrind: str | None,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard.shutil, "which", lambda _: valgrind)
    monkeypatch.setattr(guard, "rustc", lambda: ("rustc 2.0.0", "some-target"))
    done = CliRunner().invoke(guard.main)
    assert done.exit_code == guard.SKIPPED
    assert reason in done.output
