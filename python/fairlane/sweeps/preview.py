"""Preview of a sweep: `fairlane sweep --dry-run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairlane import _fairlane
from fairlane.store import Store
from fairlane.sweeps.estimate import Estimate
from fairlane.sweeps.plan import Plan
from fairlane.sweeps.work import Work

if TYPE_CHECKING:
    from fairlane.documents import PlanDocument, PlannedPoint

SCHEMA = 1


def preview(plan: Plan, folder: str | Path | None = None) -> PlanDocument:
    """Points of a plan, with stored and missing runs of each."""
    store = Store(folder)
    work = Work(plan, store)
    points: list[PlannedPoint] = [
        {
            "point": point.index,
            "at": dict(point.at),
            "key": point.identity.key,
            "stored": own.finished,
            "missing": len(own.missing),
            "most": own.stop.most,
        }
        for point, own in ((point, work.at(point.identity)) for point in plan.points)
    ]
    estimate = Estimate(work.points)
    costs = [(len(point.missing), estimate.run_seconds(point)) for point in work.points]
    known = all(cost is not None for runs, cost in costs if runs)
    return {
        "schema": SCHEMA,
        "version": _fairlane.version(),
        "engine": plan.engine,
        "name": plan.name,
        "store": str(store.folder),
        "stored": work.finished,
        "missing": work.total - work.finished,
        "cpu_seconds": sum(runs * (cost or 0.0) for runs, cost in costs) if known else None,
        "points": points,
    }
