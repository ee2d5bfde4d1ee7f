"""Runs what an evaluation needs: entries of the catalogue through the store, schemes of the user's in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairlane.base.errors import UserError
from fairlane.evaluate.cells import GOODPUT, Measured
from fairlane.evaluate.entries import Entry
from fairlane.evaluate.measures import Row, goodput, measures
from fairlane.evaluate.suite import SuiteScenario
from fairlane.simulate.replications import replications as count
from fairlane.simulate.replications import simulate
from fairlane.store import Store
from fairlane.store.point import Identity
from fairlane.sweeps.plan import Plan, Point
from fairlane.sweeps.stop import Stop
from fairlane.sweeps.sweep import sweep

QUICK_REPLICATIONS = 3
"""In place of those of the suite; they are the first of them, so that a full evaluation finds them stored."""


UNCOUNTED: Row = {"state_core_bytes": None, "state_edge_bytes": None}


def measure(
    entries: Sequence[Entry],
    scenarios: Sequence[SuiteScenario],
    *,
    replications: int | None,
    threads: int | None,
    ray: str | None,
    store: str | Path | None,
    progress: bool,
) -> dict[str, Measured]:
    """The runs of every entry in every scenario, simulating what the store lacks, by label.

    Raises:
        UserError: A parameter that a scheme does not take; the store cannot be written; there is no such cluster.
        Interrupted: Ctrl-C; what is finished is in the store, but for schemes of the user's.
    """
    victims = {name: one.harm.victim for one in scenarios if one.harm for name in (one.harm.itself, one.harm.alone)}
    victims |= {one.name: one.harm.victim for one in scenarios if one.harm}
    jobs = [(entry, one, _canonical(entry, one, replications)) for entry in entries for one in scenarios]
    found: dict[str, dict[str, list[Row]]] = {entry.label: {} for entry in entries}
    for entry, one, canonical, runs in _runs(jobs, threads=threads, ray=ray, store=store, progress=progress):
        table = json.loads(canonical)
        rows = [_row(one, table, run, victims.get(one.name)) for run in runs]
        # What a scheme in Python remembers is not counted.
        found[entry.label][one.name] = [row | (UNCOUNTED if entry.about is None else {}) for row in rows]
    return {label: Measured(rows) for label, rows in found.items()}


_Job = tuple[Entry, SuiteScenario, str]


def _canonical(entry: Entry, one: SuiteScenario, replications: int | None) -> str:
    canonical = entry.canonical(one)
    if replications is None or replications == count(canonical):
        return canonical
    table = json.loads(canonical)
    table["run"]["replications"] = replications
    return json.dumps(table, ensure_ascii=False)


def _runs(
    jobs: Sequence[_Job], *, threads: int | None, ray: str | None, store: str | Path | None, progress: bool
) -> Iterator[tuple[Entry, SuiteScenario, str, list[str]]]:
    """The records of every job."""
    own = [job for job in jobs if job[0].about is None]
    if own and ray is not None:
        raise UserError(f"ray: {own[0][0].scheme} is written in Python, which stays in this process")
    stored = [job for job in jobs if job[0].about is not None]
    for number in sorted({count(canonical) for _, _, canonical in stored}):
        of_number = [job for job in stored if count(job[2]) == number]
        points = [
            Point(index, {"scheme": entry.label, "scenario": one.name}, canonical, Identity.of(canonical))
            for index, (entry, one, canonical) in enumerate(of_number)
        ]
        plan = Plan("evaluating", points, ["scheme", "scenario"], Stop.after(number))
        swept = sweep(plan, threads=threads, ray=ray, store=store, progress=progress)
        for (entry, one, canonical), point in zip(of_number, points, strict=True):
            kept = swept.store.kept(point.identity)
            yield entry, one, canonical, [kept[index].run for index in range(number)]
    if own:
        canonicals = [canonical for _, _, canonical in own]
        title = "evaluating schemes of your own"
        runs = simulate(canonicals, Store(store), keep=False, threads=threads, show_progress=progress, title=title)
        for job, of_job in zip(own, runs, strict=True):
            yield *job, [kept.run for kept in of_job]


def _row(one: SuiteScenario, canonical: dict[str, Any], text: str, victim: str | None) -> Row:
    run = json.loads(text)
    return measures(one, canonical, run) | {GOODPUT: goodput(run, victim) if victim else None}
