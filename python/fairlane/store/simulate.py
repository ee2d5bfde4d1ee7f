"""Simulates what the store lacks, and keeps what finishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlane.base.errors import Interrupted
from fairlane.base.files import written_below
from fairlane.results.kept import Cost, Kept
from fairlane.simulate.external import external_part
from fairlane.simulate.replications import check_threads, finished, replications, tell_of_long_runs
from fairlane.store.folder import Store, Writer
from fairlane.store.point import Identity


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
