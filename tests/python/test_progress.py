"""Tests the progress of long work on stderr."""

import pytest

from fairlane.base import progress


def test_a_run_that_does_not_end_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.progress("simulating", 2, show=True) as advance:
        now = progress.LINE_EVERY_S - 0.1
        advance.waiting(lambda: "too early")
        now = progress.LINE_EVERY_S
        advance.waiting(lambda: "simulated 0 of 200 s")
        now = 10.0
        advance()
        now = 20.0
        advance.waiting(lambda: "simulated 7 of 200 s")
    assert capsys.readouterr().err.splitlines() == [
        "simulating: 0 of 2 runs, simulated 0 of 200 s",
        "simulating: 1 of 2 runs, about 10 s left",
        "simulating: 1 of 2 runs, about 10 s left, simulated 7 of 200 s",
    ]
