"""Runs replications in the simulator's threads, keeping what finishes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fairlane import _fairlane
from fairlane.base.errors import Interrupted, UserError
from fairlane.base.files import written_below
from fairlane.base.progress import duration, progress, tell
from fairlane.base.signals import received
from fairlane.base.text import quoted
from fairlane.simulate.external import external_part
from fairlane.store import Store, Writer
from fairlane.store.point import Cost, Identity, Kept

WAIT_S = 0.1
MOST_THREADS = 1024


def replications(scenario: str) -> int:
    """The number of replications that a canonical scenario asks for."""
    return int(json.loads(scenario)["run"]["replications"])


def check_threads(threads: int | None) -> None:
    """Raises a UserError for fewer than one thread, or more than any machine has use for."""
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise UserError(f"threads: {quoted(threads)} is out of range, it must be from 1 to {MOST_THREADS}")


def simulate(
    scenarios: Sequence[str],
    store: Store,
    *,
    keep: bool,
    given: Mapping[int, Kept] | None = None,
    threads: int | None = None,
    show_progress: bool = False,
    title: str = "simulating",
) -> list[list[Kept]]:
    """The runs of every canonical scenario in order of replication, simulating only what the store lacks.

    Args:
        scenarios: Canonical scenarios; each says how many replications it needs.
        store: Where finished runs are looked up and kept, but for those with a scheme or congestion control of
            the user's: the same scenario may mean another one tomorrow.
        keep: Whether runs go to the store as they finish; otherwise they do only if the work is interrupted.
        given: Runs of the first scenario that are there already, by replication.
        threads: Simulator threads; all cores if None.
        show_progress: Whether to report on stderr.
        title: What the report calls the work.

    Raises:
        UserError: A number of threads that is out of range.
        Interrupted: Ctrl-C; all that was finished is in the store.
    """
    check_threads(threads)
    work = _Work(scenarios, store)
    for number, run in (given or {}).items():
        work.finish(0, number, run)
    jobs = work.missing()
    if not jobs:
        return work.runs()
    try:
        if keep:
            with written_below(store.folder, "--store"), store.writer() as work.writer:
                _run(work, jobs, threads, title, show_progress)
        else:
            _run(work, jobs, threads, title, show_progress)
    except KeyboardInterrupt:
        raise Interrupted(work.finished, work.total, work.save_or_say_why()) from None
    return work.runs()


def _run(work: _Work, jobs: Sequence[tuple[int, int]], threads: int | None, title: str, show_progress: bool) -> None:
    tell_of_long_runs((work.scenarios[index] for index in dict(jobs)), show=show_progress)
    runs = [(work.scenarios[index], number) for index, number in jobs]
    for job, run, cpu_seconds in finished(runs, threads, title, show_progress=show_progress):
        work.finish(*jobs[job], Kept(run, Cost.now(cpu_seconds)))


def finished(
    jobs: Sequence[tuple[str, int]], threads: int | None, title: str, *, show_progress: bool
) -> Iterator[tuple[int, str, float]]:
    """Simulates replications of scenarios; gives the number of the job, the record and the CPU time as they finish."""
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
    """Says on stderr that runs of a scenario take long, if those of one do."""
    if show and (note := next(filter(None, map(_fairlane.long_runs, scenarios)), None)):
        tell(f"note: {note[0]}: {note[1]}", show=True)


def tell_of_expectations(count: int, *, show: bool) -> None:
    """Says on stderr that a command judges none of the expectations of a scenario, if it has any."""
    if count:
        what = "1 expectation is" if count == 1 else f"{count} expectations are"
        tell(f"note: expect: {what} not judged by this command, but by `fairlane check`", show=show)


def slowest(reached: Sequence[tuple[float, float, int]]) -> str:
    """How far the run is that is least far; nothing if none is under way."""
    if not reached:
        return ""
    now_s, end_s, events = min(reached)
    return f"simulated {now_s:.3g} of {end_s:.3g} s in {events / 1e6:.0f} million events"


class Pace:
    """How far the slowest run is, and how long it will take at the pace so far."""

    def __init__(self) -> None:
        self._since: tuple[float, float] | None = None

    def say(self, reached: Sequence[tuple[float, float, int]]) -> str:
        """As `slowest`, with the time that is left once the run has been seen before."""
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


class _Work:
    """What is done and what is missing of some scenarios."""

    def __init__(self, scenarios: Sequence[str], store: Store) -> None:
        self.scenarios = scenarios
        self._store = store
        self._wanted = [replications(scenario) for scenario in scenarios]
        self._identities = [None if external_part(scenario) else Identity.of(scenario) for scenario in scenarios]
        self._done = [
            store.load(scenario) if identity else {}
            for scenario, identity in zip(scenarios, self._identities, strict=True)
        ]
        self._saved = [set(done) for done in self._done]
        self.writer: Writer | None = None
        """Runs go to it as they finish."""

    @property
    def total(self) -> int:
        return sum(self._wanted)

    @property
    def finished(self) -> int:
        return self.total - len(self.missing())

    def missing(self) -> list[tuple[int, int]]:
        """(scenario, replication) of every run that is not there."""
        return [
            (index, number)
            for index, wanted in enumerate(self._wanted)
            for number in range(wanted)
            if number not in self._done[index]
        ]

    def finish(self, index: int, number: int, run: Kept) -> None:
        self._done[index][number] = run
        identity = self._identities[index]
        if identity and run.cost and self.writer:
            self.writer.keep(identity, number, run.run, run.cost)
            self._saved[index].add(number)

    def save_or_say_why(self) -> str:
        if not self.finished:
            return "finished, nothing to keep"
        try:
            for index, scenario in enumerate(self.scenarios):
                unsaved = {number: run for number, run in self._done[index].items() if number not in self._saved[index]}
                if unsaved and self._identities[index]:
                    self._store.add(scenario, unsaved)
        except OSError as error:
            return f"finished, but {self._store.folder} cannot keep them: {error.strerror}"
        return self._store.kept_words_of(identity is None for identity in self._identities)

    def runs(self) -> list[list[Kept]]:
        return [
            [done[number] for number in range(wanted)] for done, wanted in zip(self._done, self._wanted, strict=True)
        ]


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
