"""Runs scenarios on the kernel with one guest per core, and keeps finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event

from fairlane import _fairlane
from fairlane.base.progress import progress
from fairlane.base.signals import received
from fairlane.linux import guest, keys, plan
from fairlane.linux.guest import Kernel
from fairlane.linux.plan import Extra
from fairlane.linux.record import record
from fairlane.results.kept import Kept
from fairlane.simulate import honoured
from fairlane.simulate.replications import WAIT_S, Making, cores
from fairlane.store import Store
from fairlane.store.point import MEASURED, Identity
from fairlane.store.simulate import Maker, simulate

ENGINE = f"{MEASURED}linux/"
"""Prefix of the engine of this plane's runs."""
SAMPLE_NS = 100_000_000
"""Time between two samples of the smoothed round-trip time."""


def find(version: str | None) -> Kernel:
    """The kernel of a version, or the newest kernel that was built.

    Raises:
        UserError: No such kernel was built; the message contains the command to build one.
    """
    from fairlane.kernel import find as find_built

    return find_built(version)


def check(scenarios: Sequence[str]) -> None:
    """Raises a UserError naming all keys of canonical scenarios that the plane does not support."""
    plan.check(*scenarios)


def engine(built: Kernel) -> str:
    """Engine of the runs on a kernel: everything that determines the runs except the scenario."""
    return ENGINE + "/".join([str(plan.VERSION), _fairlane.version(), built.identity])


def identity(scenario: str, engine: str) -> Identity:
    """Identity of the runs of a canonical scenario in the store."""
    return Identity(engine, Identity.of(honoured.decisive(scenario, keys.RULES)).scenario)


def runs(
    scenarios: Sequence[str],
    store: Store,
    *,
    keep: bool,
    kernel: str | None = None,
    jobs: int | None = None,
    show_progress: bool = False,
) -> list[list[Kept]]:
    """The runs of every canonical scenario in order of replication, like `store.simulate`.

    Args:
        scenarios: Canonical scenarios with their numbers of replications.
        store: Store of finished runs.
        keep: Store runs as they finish; otherwise only if the work is interrupted.
        kernel: Version of the kernel.
        jobs: Concurrent guests; one per core if None.
        show_progress: Report progress on stderr.

    Raises:
        UserError: The plane does not support a scenario, or the kernel does not exist.
        GuestError: A guest returned no result; finished runs are in the store.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    check(scenarios)
    built = find(kernel)

    def made(wanted: Sequence[tuple[str, int]]) -> Making:
        return _finished(built, wanted, jobs or cores(), show_progress=show_progress)

    maker = Maker(made, lambda scenario: identity(scenario, engine(built)))
    return simulate(scenarios, store, keep=keep, maker=maker)


def _finished(built: Kernel, wanted: Sequence[tuple[str, int]], jobs: int, *, show_progress: bool) -> Making:
    """Yields job number, record and CPU time as runs finish."""
    stop = Event()
    waiting = iter(enumerate(wanted))
    title = f"Linux {built.release}"
    with ThreadPoolExecutor(jobs) as pool, progress(title, len(wanted), show=show_progress) as advance:
        running: dict[Future[tuple[str, float]], int] = {}
        try:
            while True:
                while len(running) < jobs and (following := next(waiting, None)):
                    number, (scenario, replication) = following
                    running[pool.submit(run, built, scenario, replication, stop)] = number
                if not running:
                    return
                received.check()
                for future in wait(running, WAIT_S, FIRST_COMPLETED).done:
                    yield running.pop(future), *future.result()
                    advance()
        finally:
            stop.set()


def run(built: Kernel, scenario: str, replication: int, stop: Event) -> tuple[str, float]:
    """Record and CPU time of one replication of a canonical scenario.

    Raises:
        GuestError: The guest gave no result.
        Stopped: `stop` was set.
    """
    made = plan.made(scenario, replication, Extra(info_ns=SAMPLE_NS))
    output = guest.run(built, made, stop, ("info.csv",))
    samples = output.files.get("info.csv", b"").decode("ascii")
    about = {"kernel": output.result["release"], "identity": built.identity}
    return record(scenario, replication, made, output.result, samples, about), output.cpu_seconds
