"""The command `sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairlane.base.errors import Interrupted, UserError, check_kind
from fairlane.base.files import written_below
from fairlane.base.planes import LINUX, SIMULATOR
from fairlane.base.progress import reporting
from fairlane.results.notes import warn
from fairlane.runs.run import check_plane, prepared
from fairlane.simulate.external import SchemeLib, external_part, load_scheme_lib
from fairlane.simulate.replications import check_threads, cores, tell_of_expectations, tell_of_long_runs
from fairlane.simulate.scenario import Scenario
from fairlane.store import Store
from fairlane.sweeps.executors import Runners, Threads
from fairlane.sweeps.plan import Grid, Plan, Settings
from fairlane.sweeps.result import SweepResult
from fairlane.sweeps.work import Executor, Work


def sweep(
    plan: Plan | Scenario | str | Path,
    *,
    grid: Grid | None = None,
    zip: Sequence[Grid] | None = None,
    stop: Settings | None = None,
    name: str | None = None,
    replications: int | None = None,
    settings: Settings | None = None,
    threads: int | None = None,
    ray: str | None = None,
    store: str | Path | None = None,
    scheme_lib: SchemeLib = None,
    progress: bool = False,
    plane: str = SIMULATOR,
    kernel: str | None = None,
) -> SweepResult:
    """Runs a sweep, reusing stored runs.

        fairlane.sweep(scenario, grid={"queue.scheme": ["droptail", "abc"], "groups[0].sources[0].flows": [1, 5, 20]})

    Args:
        plan: The path of a sweep file, or a plan; with `grid` or `zip`, a scenario or the path of its file.
        grid: Values by key of the scenario; every combination is a point.
        zip: Tables of values; the keys of a table change together.
        stop: Stopping rule of a point, such as `{"relative_half_width": {"throughput_ratio": 0.05}}`.
        name: Name of the sweep; default: the scenario's name.
        replications: Replaces the number in the file or the scenario.
        settings: Scenario keys to change at every point.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        ray: Address of a Ray cluster to run on instead of threads: `auto`, `local`, HOST:PORT or ray://HOST:PORT.
        store: Folder of finished runs.
        scheme_lib: Scheme library or libraries to load first.
        progress: Report progress on stderr.
        plane: `simulator` or `linux`, as for `fairlane.run`.
        kernel: Kernel version for the plane `linux`; if None, the newest kernel that was built.

    Raises:
        UserError: The file is invalid, the store cannot be written, or the cluster does not exist; the plane `linux`
            does not support a point.
        GuestError: A kernel gave no result; finished runs are in the store.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    if ray is not None and scheme_lib is not None:
        raise UserError("scheme_lib: cannot be combined with ray, whose nodes have no such library")
    load_scheme_lib(scheme_lib)
    check_plane(plane, kernel, scheme_lib)
    if grid is not None or zip is not None:
        if isinstance(plan, Plan):
            raise UserError("grid: has no effect on a Plan, it needs a Scenario or the path of its file")
        given: dict[str, Any] = {"grid": grid, "zip": zip, "stop": stop, "name": name}
        plan = Plan.of(prepared(plan, None, None), **given, replications=replications, settings=settings)
    elif isinstance(plan, Scenario):
        raise UserError("grid: missing, a sweep of a Scenario needs grid or zip; fairlane.run simulates it")
    check_kind("plan", plan, (Plan, str, Path), "the path of a sweep file or a Plan")
    if not isinstance(plan, Plan):
        for argument, value in (("stop", stop), ("name", name)):
            if value is not None:
                raise UserError(f"{argument}: has no effect without grid or zip; a sweep file says it")
        plan = Plan.read(plan, replications=replications, settings=settings)
    warn({f"point {point.index}": point.scenario for point in plan.points})
    return finish(plan, threads=threads, ray=ray, store=store, progress=progress, plane=plane, kernel=kernel)


def on_plane(plan: Plan, plane: str, kernel: str | None) -> Plan:
    """The plan with the identities of runs on a plane.

    Raises:
        UserError: The plane `linux` does not support a point, or there is no such kernel.
    """
    if plane != LINUX:
        return plan
    from fairlane.linux import record
    from fairlane.linux import runs as linux

    if lacking := next(filter(record.lacks, plan.stop.targets), None):
        raise UserError(f"stop.relative_half_width.{lacking}: the plane linux does not measure it")
    linux.check([point.scenario for point in plan.points])
    engine = linux.engine(linux.find(kernel))
    return plan.on(engine, lambda scenario: linux.identity(scenario, engine))


def finish(
    plan: Plan,
    *,
    threads: int | None = None,
    ray: str | None = None,
    store: str | Path | None = None,
    progress: bool = False,
    plane: str = SIMULATOR,
    kernel: str | None = None,
) -> SweepResult:
    """Runs a plan like `sweep`, but without warnings about its scenarios."""
    check_threads(threads)
    if ray is not None and threads is not None:
        raise UserError(f"threads: {threads} cannot be combined with ray, which uses the CPUs of the cluster")
    own = next((external_part(point.scenario) for point in plan.points if point.identity.is_own), None)
    if ray is not None and own is not None:
        raise UserError(f"ray: {own[1]} is written in Python, which stays in this process")
    if ray is not None and plane == LINUX:
        raise UserError("ray: has no effect on the plane linux, whose kernels run on this machine")
    plan = on_plane(plan, plane, kernel)
    tell_of_expectations(plan.unjudged, show=progress)
    where = Store(store)
    work = Work(plan, where)

    def connect() -> Executor:
        slots = cores() if threads is None else threads
        if plane == LINUX:
            from fairlane.linux import runs as linux

            return Runners(slots, partial(linux.run, linux.find(kernel)))
        if ray is None:
            return Threads(slots)
        from fairlane.sweeps.cluster import Cluster

        return Cluster(ray)

    try:
        if work.finished < work.total:
            if plane == SIMULATOR:
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
        kept = where.kept_words_of(point.identity.is_own for point in work.points)
        raise Interrupted(work.finished, work.total, kept, at_least) from None
    return SweepResult(plan, where, work)
