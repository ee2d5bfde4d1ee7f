"""Executes the runs of an evaluation: catalogue schemes through the store, the user's schemes in this process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fairlane.base.errors import UserError
from fairlane.evaluate.cells import GOODPUT, Measured
from fairlane.evaluate.entries import Entry
from fairlane.evaluate.measures import Row, goodput, measures
from fairlane.evaluate.suite import SuiteScenario
from fairlane.simulate.replications import replications as count
from fairlane.store import Store
from fairlane.store.point import Identity
from fairlane.store.simulate import simulate
from fairlane.sweeps.plan import Plan, Point
from fairlane.sweeps.stop import Stop
from fairlane.sweeps.sweep import finish

QUICK_REPLICATIONS = 3
"""Number of replications in a quick evaluation. These are the first replications, so that a full evaluation can reuse
them."""


UNCOUNTED: Row = {"state_core_bytes": None, "state_edge_bytes": None}


@dataclass(frozen=True)
class Wanted:
    """Requested runs.

    Attributes:
        entry: Entry to run.
        one: Scenario.
        replications: Number of replications; the scenario's if None.
    """

    entry: Entry
    one: SuiteScenario
    replications: int | None = None

    @cached_property
    def canonical(self) -> str:
        """The scenario to run."""
        canonical = self.entry.canonical(self.one)
        if self.replications is None or self.replications == count(canonical):
            return canonical
        table = json.loads(canonical)
        table["run"]["replications"] = self.replications
        return json.dumps(table, ensure_ascii=False)


def measure(
    wanted: Sequence[Wanted],
    *,
    threads: int | None,
    ray: str | None,
    store: str | Path | None,
    progress: bool,
) -> dict[str, Measured]:
    """The requested runs by label of the entry; simulates missing runs.

    Raises:
        UserError: A scheme does not have a parameter, the store cannot be written, or the cluster does not exist.
        Interrupted: Ctrl-C; finished runs are in the store, except those of the user's schemes.
    """
    return _measured(_runs(wanted, threads=threads, ray=ray, store=store, progress=progress), wanted)


def stored(wanted: Sequence[Wanted], store: str | Path | None) -> dict[str, Measured] | None:
    """The requested runs from the store; None if one is missing."""
    where = Store(store)
    found = []
    for one in wanted:
        kept = where.kept(Identity.of(one.canonical))
        numbers = range(count(one.canonical))
        if not all(number in kept for number in numbers):
            return None
        found.append((one, [kept[number].run for number in numbers]))
    return _measured(found, wanted)


_Runs = Iterable[tuple[Wanted, list[str]]]
"""Requests with the records of their runs."""


def _measured(runs: _Runs, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    compared = {each.one.name: each.one for each in wanted if each.one.harm}.values()
    victims = {name: one.harm.victim for one in compared if one.harm for name in (one.harm.itself, one.harm.alone)}
    victims |= {one.name: one.harm.victim for one in compared if one.harm}
    found: dict[str, dict[str, list[Row]]] = {each.entry.label: {} for each in wanted}
    for each, texts in runs:
        table = json.loads(each.canonical)
        rows = [_row(each.one, table, text, victims.get(each.one.name)) for text in texts]
        # The state of a Python scheme is unknown.
        of_entry = found[each.entry.label]
        of_entry[each.one.name] = [row | (UNCOUNTED if each.entry.about is None else {}) for row in rows]
    return {label: Measured(rows) for label, rows in found.items()}


def _runs(
    wanted: Sequence[Wanted], *, threads: int | None, ray: str | None, store: str | Path | None, progress: bool
) -> _Runs:
    own = [each for each in wanted if each.entry.about is None]
    if own and ray is not None:
        raise UserError(f"ray: {own[0].entry.scheme} is written in Python, which stays in this process")
    in_store = [each for each in wanted if each.entry.about is not None]
    for number in sorted({count(each.canonical) for each in in_store}):
        of_number = [each for each in in_store if count(each.canonical) == number]
        points = [
            Point(
                index,
                {"scheme": each.entry.label, "scenario": each.one.name},
                each.canonical,
                Identity.within_process(each.canonical),
            )
            for index, each in enumerate(of_number)
        ]
        plan = Plan("evaluating", points, ["scheme", "scenario"], Stop.after(number))
        swept = finish(plan, threads=threads, ray=ray, store=store, progress=progress)
        for each, point in zip(of_number, points, strict=True):
            yield each, [kept.run for kept in swept.store.runs(point.identity, number)]
    if own:
        canonicals = [each.canonical for each in own]
        title = "evaluating schemes of your own"
        runs = simulate(canonicals, Store(store), keep=False, threads=threads, show_progress=progress, title=title)
        for each, of_each in zip(own, runs, strict=True):
            yield each, [kept.run for kept in of_each]


def _row(one: SuiteScenario, canonical: dict[str, Any], text: str, victim: str | None) -> Row:
    run = json.loads(text)
    return measures(one, canonical, run) | {GOODPUT: goodput(run, victim) if victim else None}
