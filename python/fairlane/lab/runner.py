"""Runs what the store lacks in the lab, keeping what finishes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fairlane import _fairlane
from fairlane.errors import Interrupted
from fairlane.lab.measure import measure
from fairlane.lab.namespaces import LabError, RejectedError
from fairlane.lab.setup import Setup, setup_of
from fairlane.progress import progress
from fairlane.runner import replications
from fairlane.store import Store
from fairlane.store.point import MEASURED, Identity
from fairlane.store.record import join

VERSION = 2
"""Of what can change a measured run: raised with the lab, the forwarder or the kernel programs."""
TRIES = 4
"""How often a run is tried before the machine counts as too busy."""


def run_in_lab(scenarios: Sequence[str], store: Store, *, plane: str, show_progress: bool = False) -> list[list[str]]:
    """The runs (JSON) of every canonical scenario in order of replication, one after another.

    Args:
        scenarios: Canonical scenarios; each says how many replications it needs.
        store: Where finished runs are looked up and kept.
        plane: Who forwards: a key of `planes.PLANES`.
        show_progress: Whether to report on stderr.

    Raises:
        UserError: A scenario has something that the lab cannot build.
        LabError: The network cannot be built, or the machine is too busy.
        Interrupted: Ctrl-C; all that was finished is in the store.
    """
    points = [_Point(setup_of(scenario), identity(scenario, plane)) for scenario in scenarios]
    for point in points:
        point.load(store)
    jobs = [(point, number) for point in points for number in point.missing()]
    # Point by point within each replication: what changes on the machine meanwhile, changes for all points.
    jobs.sort(key=lambda job: job[1])
    if jobs:
        try:
            with store.writer() as writer, progress(f"lab, {plane}", len(jobs), show=show_progress) as advance:
                for point, number in jobs:
                    run = _try(point.setup, plane, number)
                    writer.keep(point.identity, number, run)
                    point.done[number] = run
                    advance()
        except KeyboardInterrupt:
            finished = sum(len(point.done) for point in points)
            total = sum(point.wanted for point in points)
            kept = f"finished and kept in {store.folder}; the same command continues from there"
            raise Interrupted(finished, total, kept) from None
    return [[point.done[number] for number in range(point.wanted)] for point in points]


def identity(scenario: str, plane: str) -> Identity:
    """What the runs of a scenario on a plane are kept under."""
    return Identity(f"{MEASURED}{plane}/{VERSION}/{_fairlane.version()}", Identity.of(scenario).scenario)


class _Point:
    """A scenario and its runs."""

    def __init__(self, setup: Setup, identity: Identity) -> None:
        self.setup = setup
        self.identity = identity
        self.wanted = replications(setup.scenario)
        self.done: dict[int, str] = {}

    def load(self, store: Store) -> None:
        name = json.loads(self.setup.scenario)["name"]
        for number, kept in store.kept(self.identity).items():
            self.done[number] = join(kept.run, kept.cost.cpu_seconds if kept.cost else 0.0, name)

    def missing(self) -> list[int]:
        return [number for number in range(self.wanted) if number not in self.done]


def _try(setup: Setup, plane: str, number: int) -> str:
    for left in range(TRIES - 1, -1, -1):
        try:
            return measure(setup, plane, number)
        except RejectedError as error:
            if not left:
                raise LabError(f"{setup.table['name']}, run {number}: rejected {TRIES} times, last: {error}") from error
    raise AssertionError
