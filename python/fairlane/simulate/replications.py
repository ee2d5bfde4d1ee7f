"""Runs replications in the simulator's threads and yields them as they finish."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable, Sequence
from typing import TypeAlias

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.progress import duration, progress, tell
from fairlane.base.signals import received
from fairlane.base.text import quoted

WAIT_S = 0.1
MOST_THREADS = 1024

Making: TypeAlias = Generator[tuple[int, str, float], None, None]
"""Runs as they finish: job number, record and CPU time (s)."""


def replications(scenario: str) -> int:
    """Number of replications of a canonical scenario."""
    return int(json.loads(scenario)["run"]["replications"])


def check_threads(threads: int | None) -> None:
    """Raises a UserError for fewer than one thread, or more than `MOST_THREADS`."""
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise UserError(f"threads: {quoted(threads)} is out of range, it must be from 1 to {MOST_THREADS}")


def finished(jobs: Sequence[tuple[str, int]], threads: int | None, title: str, *, show_progress: bool) -> Making:
    """Simulates replications of scenarios; yields job number, record and CPU time as they finish.

    Closing the generator stops all runs.
    """
    batch = _fairlane.Batch(list(jobs), cores() if threads is None else threads)
    try:
        with progress(title, len(jobs), show=show_progress) as advance:
            pace = Pace()
            while batch.remaining:
                received.check()
                if (done := batch.next(WAIT_S)) is None:
                    advance.waiting(lambda: pace.say(batch.reached()))
                    continue
                yield done
                advance()
    finally:
        batch.cancel()


def tell_of_long_runs(scenarios: Iterable[str], *, show: bool) -> None:
    """Reports on stderr if the runs of a scenario will take long."""
    if show and (note := next(filter(None, map(_fairlane.long_runs, scenarios)), None)):
        tell(f"note: {note[0]}: {note[1]}", show=True)


def tell_of_expectations(count: int, *, show: bool) -> None:
    """Reports on stderr that a command does not check the scenario's expectations, if there are any."""
    if count:
        what = "1 expectation is" if count == 1 else f"{count} expectations are"
        tell(f"note: expect: {what} not judged by this command, but by `fairlane check`", show=show)


def slowest(reached: Sequence[tuple[float, float, int]]) -> str:
    """Progress of the slowest run; empty if none is active."""
    if not reached:
        return ""
    now_s, end_s, events = min(reached)
    return f"simulated {now_s:.3g} of {end_s:.3g} s in {events / 1e6:.0f} million events"


class Pace:
    """Progress of the slowest run, and its remaining time at the current pace."""

    def __init__(self) -> None:
        self._since: tuple[float, float] | None = None

    def say(self, reached: Sequence[tuple[float, float, int]]) -> str:
        """Returns the progress of the slowest run and, from that run's second report on, its remaining time."""
        if not (text := slowest(reached)):
            return text
        now_s, end_s, _ = min(reached)
        time_s = time.monotonic()
        if self._since is None or now_s < self._since[1]:
            self._since = (time_s, now_s)
        since_s, from_s = self._since
        if now_s <= from_s:
            return text
        return f"{text}, about {duration((time_s - since_s) * (end_s - now_s) / (now_s - from_s))} left of it"


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
