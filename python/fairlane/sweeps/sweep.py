"""The command `sweep`."""

from __future__ import annotations

from pathlib import Path

from fairlane.base.errors import Interrupted, UserError, check_kind
from fairlane.base.files import written_below
from fairlane.base.progress import reporting
from fairlane.simulate.replications import check_threads, cores, tell_of_expectations, tell_of_long_runs
from fairlane.simulate.scenario import Scenario
from fairlane.store import Store
from fairlane.sweeps.executors import Threads
from fairlane.sweeps.plan import Plan, Settings
from fairlane.sweeps.result import SweepResult
from fairlane.sweeps.work import Executor, Work


def sweep(
    plan: Plan | str | Path,
    *,
    replications: int | None = None,
    settings: Settings | None = None,
    threads: int | None = None,
    ray: str | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> SweepResult:
    """Runs what the store lacks of a sweep.

    Args:
        plan: A plan, or the path of a sweep file; the next two are for a file.
        replications: In place of what the file says.
        settings: Keys of the scenario that differ at every point.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        ray: Address of a Ray cluster to run on in place of threads: `auto`, `local`, HOST:PORT or ray://HOST:PORT.
        store: Folder of finished runs.
        progress: Whether to report on stderr.

    Raises:
        UserError: The file is wrong; the store cannot be written; there is no such cluster.
        Interrupted: Ctrl-C; what is finished is in the store.
    """
    if isinstance(plan, Scenario):
        raise UserError("plan: a Scenario is not the path of a sweep file or a Plan; fairlane.run simulates it")
    check_kind("plan", plan, (Plan, str, Path), "the path of a sweep file or a Plan")
    if not isinstance(plan, Plan):
        plan = Plan.read(plan, replications=replications, settings=settings)
    check_threads(threads)
    if ray is not None and threads is not None:
        raise UserError(f"threads: {threads} cannot be combined with ray, which uses the CPUs of the cluster")
    tell_of_expectations(plan.unjudged, show=progress)
    where = Store(store)
    work = Work(plan, where)

    def connect() -> Executor:
        if ray is None:
            return Threads(cores() if threads is None else threads)
        from fairlane.sweeps.cluster import Cluster

        return Cluster(ray)

    try:
        if work.finished < work.total:
            tell_of_long_runs((point.scenario for point in work.points if point.missing), show=progress)
            with (
                written_below(where.folder, "--store"),
                where.writer() as writer,
                reporting(plan.name, work.total, show=progress) as report,
            ):
                work.execute(connect, writer, report)
    except KeyboardInterrupt:
        work.recount(where)
        at_least = "at least " if plan.stop.targets else ""
        raise Interrupted(work.finished, work.total, where.kept_words, at_least) from None
    return SweepResult(plan, where, work)
