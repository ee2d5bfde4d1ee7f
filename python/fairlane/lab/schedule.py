"""Executes runs that the store lacks in the lab, several at a time, and stores them."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from fairlane import _fairlane
from fairlane.base.errors import Interrupted, UserError
from fairlane.base.files import written_below
from fairlane.base.planes import LINUX
from fairlane.base.progress import progress
from fairlane.judge.grid import Measured
from fairlane.lab import keys
from fairlane.lab.namespaces import LabError, RejectedError
from fairlane.lab.planes import PLANES
from fairlane.lab.setup import Setup, setup_of
from fairlane.lab.table import PlaneRuns, identity
from fairlane.lab.workers import Job, Workers, default_jobs
from fairlane.linux import runs as linux
from fairlane.results.kept import Kept
from fairlane.simulate.replications import replications
from fairlane.store import Store
from fairlane.store.point import MEASURED, Identity

TRIES = 4
"""Number of attempts of a run before the machine counts as too busy."""
TRIES_BESIDE_OTHERS = 2
"""Number of attempts alongside other runs; afterwards the run waits until it can run alone."""

Keep = Callable[[Job, Kept, int], None]
"""Receives a run and the number of rejected attempts so far."""


def run_in_lab(
    scenarios: Sequence[str],
    store: Store,
    *,
    plane: str,
    known: PlaneRuns | None = None,
    jobs: int | None = None,
    kernel: str | None = None,
    show_progress: bool = False,
) -> Sequence[Sequence[Kept | Measured]]:
    """Returns the runs of every canonical scenario in order of replication.

    Known runs have only metrics; other runs have records.

    Args:
        scenarios: Canonical scenarios with their numbers of replications.
        store: Store of finished runs.
        plane: Plane to run on, a key of `planes.PLANES`.
        known: Runs from other machines.
        jobs: Concurrent runs, each in a separate network; `default_jobs` if None.
        kernel: Version of the kernel of the plane `linux`.
        show_progress: Report progress on stderr.

    Raises:
        UserError: The lab does not support a scenario, or known runs do not match those of this machine.
        LabError: The network cannot be built, or the machine is too busy; finished runs are in the store.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    if plane == LINUX:
        return linux.runs(scenarios, store, keep=True, kernel=kernel, jobs=jobs, show_progress=show_progress)
    check(scenarios, plane)
    engines = engines_of(known, scenarios, plane)
    points = {scenario: _Point(setup_of(scenario), identity(scenario, engines[scenario])) for scenario in scenarios}
    for scenario, point in points.items():
        point.load(store)
        if known is not None:
            point.done.update(known.measured(scenario))
    wanted = [Job(scenario, plane, number) for scenario, point in points.items() for number in point.missing()]
    if wanted:
        try:
            with store.writer() as writer, progress(f"lab, {plane}", len(wanted), show=show_progress) as advance:

                def keep(job: Job, run: Kept, rejected: int) -> None:
                    point = points[job.scenario]
                    if run.cost:
                        with written_below(store.folder, "--store"):
                            writer.keep(point.identity, job.replication, run.run, run.cost)
                    point.done[job.replication] = run
                    advance(f"{rejected} rejected" if rejected else "")

                _make(wanted, min(jobs or default_jobs(), len(wanted)), keep)
        except KeyboardInterrupt:
            finished = sum(len(point.done) for point in points.values())
            total = sum(point.wanted for point in points.values())
            raise Interrupted(finished, total, store.kept_words) from None
    return [[points[scenario].done[number] for number in range(points[scenario].wanted)] for scenario in scenarios]


def check(scenarios: Sequence[str], plane: str) -> None:
    """Raises a UserError naming the parts of canonical scenarios that a plane does not support."""
    if plane == LINUX:
        linux.check(scenarios)
        return
    for scenario in scenarios:
        setup_of(scenario)
        keys.check(scenario, plane)


def engine_of(plane: str, scheme: str, kernel: str | None = None) -> str:
    """Identity of a scheme's engine on a plane: the lab, its version, and the program of a switch.

    Raises:
        UserError: The plane does not have the scheme; a switch's program or its compiler is missing.
        LabError: The program does not compile.
    """
    if plane == LINUX:
        return linux.engine(linux.find(kernel))
    schemes = PLANES[plane].schemes
    if schemes is not None and scheme not in schemes:
        raise UserError(f'queue.scheme: "{scheme}", the plane {plane} has {", ".join(schemes)}')
    loaded = PLANES[plane].loaded(scheme)
    return MEASURED + "/".join([plane, str(PLANES[plane].version), _fairlane.version(), *loaded])


def engines_of(
    known: PlaneRuns | None, scenarios: Sequence[str], plane: str, kernel: str | None = None
) -> dict[str, str]:
    """Returns the engine of each scenario's runs: the engine of the known runs if none is missing, else `engine_of`.

    So a switch is needed only if runs are missing.

    Raises:
        UserError: As for `engine_of`; or new runs do not match the known ones.
        LabError: As for `engine_of`.
    """
    schemes = {scenario: json.loads(scenario)["queue"]["scheme"] for scenario in scenarios}
    engines = {}
    for scheme in dict.fromkeys(schemes.values()):
        own = [scenario for scenario in scenarios if schemes[scenario] == scheme]
        is_known = known is not None and known.has_all(own)
        engines[scheme] = known.engine(own) if known and is_known else engine_of(plane, scheme, kernel)
        if known is not None:
            known.check_engine(engines[scheme], own)
    return {scenario: engines[scheme] for scenario, scheme in schemes.items()}


class _Point:
    """A scenario and its runs."""

    def __init__(self, setup: Setup, identity: Identity) -> None:
        self.setup = setup
        self.identity = identity
        self.wanted = replications(setup.scenario)
        self.done: dict[int, Kept | Measured] = {}

    def load(self, store: Store) -> None:
        name = json.loads(self.setup.scenario)["name"]
        for number, kept in store.kept(self.identity).items():
            self.done[number] = kept.named(name)

    def missing(self) -> list[int]:
        return [number for number in range(self.wanted) if number not in self.done]


def _make(wanted: Sequence[Job], count: int, keep: Keep) -> None:
    """Executes all runs, at most `count` at a time.

    A rejected run is repeated after the other runs of its replication. If rejected again, it runs alone at the end.

    Raises:
        LabError: The lab failed; or a run was rejected too often, and all others have finished.
    """
    # All points of a replication are adjacent, so that changes of the machine over time affect all points.
    together = [(job.replication, 0, number, job) for number, job in enumerate(wanted)]
    heapify(together)
    alone = deque[Job]()
    tries: Counter[Job] = Counter()
    given_up: list[str] = []
    with Workers(count) as workers:
        while together or alone or workers.busy:
            while together and workers.has_idle:
                workers.begin(heappop(together)[-1])
            if alone and not workers.busy:
                workers.begin(alone.popleft())
            for job, outcome in workers.finished():
                if isinstance(outcome, Kept):
                    keep(job, outcome, tries.total())
                    continue
                table = json.loads(job.scenario)
                name = f"{table['name']}, {table['queue']['scheme']}, run {job.replication}"
                if not isinstance(outcome, RejectedError):
                    raise LabError(f"{name}: {outcome}")
                tries[job] += 1
                if tries[job] >= TRIES:
                    given_up.append(f"{name}: rejected {TRIES} times, last: {outcome}")
                elif count > 1 and tries[job] >= TRIES_BESIDE_OTHERS:
                    alone.append(job)
                else:
                    heappush(together, (job.replication, tries[job], tries.total(), job))
    if given_up:
        more = f"; and {len(given_up) - 1} others" if len(given_up) > 1 else ""
        raise LabError(given_up[0] + more)
