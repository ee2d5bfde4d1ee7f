"""The command `pairs` runs every pair of senders under each scheme, with one flow each."""

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
        senders: Congestion controls; default: all of the catalogue. Runs of controls that you registered are not
            stored.
        queues: Schemes of the bottleneck; `["all"]` for every scheme.
        replications: Runs of each pair; default: 5.
        seed: Seed of all random streams.
        settings: Scenario keys to change in every pair.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        store: Folder of finished runs.
        progress: Report progress on stderr.

    Raises:
        UserError: A sender or scheme is unknown or named twice; the store cannot be written.
        ScenarioError: A setting is invalid in the scenario.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    planned = plan(senders, queues, {"run.replications": replications, "run.seed": seed}, settings or {})
    swept = finish(planned.plan, threads=threads, store=store, progress=progress)
    return Pairs(planned.senders, planned.queues, swept)
