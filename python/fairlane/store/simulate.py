"""Simulates missing runs and stores them as they finish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from fairlane.base.errors import Interrupted
from fairlane.base.files import written_below
from fairlane.results.kept import Cost, Kept
from fairlane.simulate.external import external_part
from fairlane.simulate.replications import Making, check_threads, finished, replications, tell_of_long_runs
from fairlane.store.folder import Store, Writer
from fairlane.store.point import Identity


@dataclass(frozen=True)
class Maker:
    """A function that executes runs instead of the simulator.

    Attributes:
        made: Executes the given runs (scenario, replication). As runs finish, yields the index of the run in this list,
            its record, and its CPU time in s.
        identity: Returns the identity of a scenario's runs.
    """

    made: Callable[[Sequence[tuple[str, int]]], Making]
    identity: Callable[[str], Identity]


def simulate(
    scenarios: Sequence[str],
    store: Store,
    *,
    keep: bool,
    given: Mapping[int, Kept] | None = None,
    threads: int | None = None,
    show_progress: bool = False,
    title: str = "simulating",
    maker: Maker | None = None,
) -> list[list[Kept]]:
    """Runs of every canonical scenario in order of replication; simulates only missing runs.

    Args:
        scenarios: Canonical scenarios with their numbers of replications.
        store: Store of finished runs. Runs with the user's scheme or congestion control are not stored, since that code
            may change without a change of its name.
        keep: Store runs as they finish; otherwise only if the work is interrupted.
        given: Existing runs of the first scenario, by replication.
        threads: Simulator threads; all cores if None.
        show_progress: Report progress on stderr.
        title: Name of the work in the progress display.
        maker: Executes runs instead of the simulator, without `threads`, `show_progress` and `title`.

    Raises:
        UserError: The number of threads is out of range.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    check_threads(threads)
    work = _Work(scenarios, store, maker.identity if maker else None)
    for number, run in (given or {}).items():
        work.finish(0, number, run)
    jobs = work.missing()
    if not jobs:
        return work.runs()
    wanted = [(scenarios[index], number) for index, number in jobs]

    def made() -> Making:
        if maker:
            return maker.made(wanted)
        tell_of_long_runs((scenarios[index] for index in dict(jobs)), show=show_progress)
        return finished(wanted, threads, title, show_progress=show_progress)

    try:
        if keep:
            with written_below(store.folder, "--store"), store.writer() as work.writer:
                work.finish_all(jobs, made())
        else:
            work.finish_all(jobs, made())
    except KeyboardInterrupt:
        raise Interrupted(work.finished, work.total, work.save_or_say_why()) from None
    return work.runs()


class _Work:
    """Stored and missing runs of some scenarios."""

    def __init__(
        self, scenarios: Sequence[str], store: Store, identify: Callable[[str], Identity] | None = None
    ) -> None:
        self.scenarios = scenarios
        self._store = store
        self._wanted = [replications(scenario) for scenario in scenarios]
        self._identities = [
            None if external_part(scenario) else (identify or Identity.of)(scenario) for scenario in scenarios
        ]
        self._done = [
            store.load(scenario, identity) if identity else {}
            for scenario, identity in zip(scenarios, self._identities, strict=True)
        ]
        self._saved = [set(done) for done in self._done]
        self.writer: Writer | None = None
        """Receives runs as they finish."""

    @property
    def total(self) -> int:
        return sum(self._wanted)

    @property
    def finished(self) -> int:
        return self.total - len(self.missing())

    def missing(self) -> list[tuple[int, int]]:
        """(scenario, replication) of every missing run."""
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

    def finish_all(self, jobs: Sequence[tuple[int, int]], made: Making) -> None:
        with closing(made):  # after an interrupt, the exception would keep the generator and its threads alive
            for job, run, cpu_seconds in made:
                self.finish(*jobs[job], Kept(run, Cost.now(cpu_seconds)))

    def save_or_say_why(self) -> str:
        if not self.finished:
            return "finished, nothing to keep"
        try:
            for index, identity in enumerate(self._identities):
                unsaved = {number: run for number, run in self._done[index].items() if number not in self._saved[index]}
                if unsaved and identity:
                    self._store.add(identity, unsaved)
        except OSError as error:
            return f"finished, but {self._store.folder} cannot keep them: {error.strerror}"
        return self._store.kept_words_of(identity is None for identity in self._identities)

    def runs(self) -> list[list[Kept]]:
        return [
            [done[number] for number in range(wanted)] for done, wanted in zip(self._done, self._wanted, strict=True)
        ]
