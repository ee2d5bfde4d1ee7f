"""The command `pairs`: every sender against every other under a scheme, one flow each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairlane.pairs.plan import QUEUES, plan
from fairlane.pairs.result import Pairs
from fairlane.sweeps.sweep import finish


def pairs(
    senders: Iterable[str] | None = None,
    queues: Iterable[str] = QUEUES,
    *,
    replications: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Pairs:
    """Runs every pair of senders under each scheme, reusing stored runs.

    Args:
        senders: Congestion controls, also registered ones of your own, whose runs are not stored; all of the
            catalogue without.
        queues: Schemes of the bottleneck; `["all"]` for every scheme.
        replications: Runs of each pair, instead of 5.
        seed: Seed of all random streams.
        settings: Keys of the scenario that differ in every pair.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        store: Folder of finished runs.
        progress: Report progress on stderr.

    Raises:
        UserError: A sender or scheme is unknown or named twice; the store cannot be written.
        ScenarioError: A setting that the scenario does not take.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    planned = plan(senders, queues, {"run.replications": replications, "run.seed": seed}, settings or {})
    swept = finish(planned.plan, threads=threads, store=store, progress=progress)
    return Pairs(planned.senders, planned.queues, swept)
