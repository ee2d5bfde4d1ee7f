"""What a sweep gives: one row per run, means with intervals per point, and both as files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.folders import staged
from fairlane.intervals import CONFIDENCE, interval
from fairlane.measures import metrics, unit_of
from fairlane.notes import joined, notes_of
from fairlane.store import Store
from fairlane.sweeps.plan import Plan, Point

if TYPE_CHECKING:
    import polars as pl

    from fairlane.documents import PointEstimate, SweepDocument
    from fairlane.sweeps.work import Work

SCHEMA = 1
_KINDS: dict[type, str] = {bool: "truth", int: "number", float: "number", str: "text"}


@dataclass(frozen=True, repr=False)
class SweepResult:
    """The points of a sweep, all runs stored.

    Attributes:
        plan: What was run.
        store: Where the runs are.
        work: How many runs each point got.
    """

    plan: Plan
    store: Store
    work: Work

    def runs_frame(self) -> pl.DataFrame:
        """One row per run: point, values that vary, identity, metrics, cost, version, every parameter."""
        import polars as pl

        frames = [pl.DataFrame(list(self._rows(point)), infer_schema_length=None) for point in self.plan.points]
        # Points of different schemes have different columns.
        return pl.concat(frames, how="diagonal_relaxed")

    def points_frame(self) -> pl.DataFrame:
        """One row per point and metric: mean, half width of the 95 % interval, number of runs."""
        import polars as pl

        rows = [
            {**self._place(point), "metric": metric, "unit": unit_of(metric), **estimate}
            for point in self.plan.points
            for metric, estimate in self._estimates(point).items()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def document(self) -> SweepDocument:
        """Everything but the single runs as one table, ready for JSON (`fairlane schema sweep-result`)."""
        return {
            "schema": SCHEMA,
            "version": _fairlane.version(),
            "engine": _fairlane.engine_version(),
            "name": self.plan.name,
            "store": str(self.store.folder),
            "confidence": CONFIDENCE,
            "runs": self.work.total,
            "cpu_seconds": sum(point.costs[1] for point in self.work.points),
            "notes": joined({f"point {point.index}": notes_of(point.scenario) for point in self.plan.points}),
            "points": [
                {
                    "point": point.index,
                    "at": dict(point.at),
                    "key": point.identity.key,
                    "replications": self.work.at(point.identity).wanted,
                    "narrow_enough": self._narrow_enough(point),
                    "metrics": self._estimates(point),
                }
                for point in self.plan.points
            ],
        }

    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document(), allow_nan=False, ensure_ascii=False)

    def write(self, folder: str | Path) -> None:
        """Writes runs and points as Parquet and CSV, and sweep.json."""
        from fairlane import frames

        with staged(Path(folder)) as stage:
            for name, frame in {"runs": self.runs_frame(), "points": self.points_frame()}.items():
                frames.write(frame, stage / f"{name}.parquet")
                frame.write_csv(stage / f"{name}.csv")
            (stage / "sweep.json").write_text(self.json() + "\n", encoding="utf-8")

    def _rows(self, point: Point) -> Iterator[dict[str, Any]]:
        from fairlane.frames import run_row

        scenario = json.loads(point.scenario)
        for run, host, finished_at in self._runs(point):
            row = {**self._place(point), **run_row(scenario, run)}
            yield row | {"engine": point.identity.engine, "host": host, "finished_at": finished_at}

    def _runs(self, point: Point) -> Iterator[tuple[dict[str, Any], str | None, str | None]]:
        """Record, host and date of every run."""
        name = json.loads(point.scenario)["name"]
        kept = self.store.kept(point.identity)
        for number in range(self.work.at(point.identity).wanted):
            record = json.loads(kept[number].run)
            record["scenario"] = name
            cost = kept[number].cost
            record["performance"]["cpu_seconds"] = cost.cpu_seconds if cost else None
            yield record, cost.host if cost else None, cost.finished_at if cost else None

    def _estimates(self, point: Point) -> dict[str, PointEstimate]:
        """Mean and half width by metric, over the runs that have it."""
        samples: dict[str, list[float]] = {}
        for run, _, _ in self._runs(point):
            for metric, value in metrics(run).items():
                if value is not None:
                    samples.setdefault(metric, []).append(value)
        estimates = {metric: interval(values) for metric, values in samples.items()}
        return {
            metric: {"mean": mean.mean, "half_width": mean.half_width, "n": mean.n}
            for metric, mean in estimates.items()
        }

    def _narrow_enough(self, point: Point) -> bool | None:
        return self.work.at(point.identity).has_enough if self.plan.stop.targets else None

    def _place(self, point: Point) -> dict[str, Any]:
        """The columns that say where a row belongs; values of several kinds, arrays and tables as JSON text."""
        cells = {
            key: json.dumps(value, ensure_ascii=False) if key in self._as_text else value
            for key, value in point.at.items()
        }
        return {"point": point.index} | {f"point.{key}": cell for key, cell in cells.items()}

    @cached_property
    def _as_text(self) -> set[str]:
        kinds = {key: {_KINDS.get(type(point.at[key])) for point in self.plan.points} for key in self.plan.axes}
        return {key for key, of_key in kinds.items() if len(of_key) > 1 or None in of_key}

    def __repr__(self) -> str:
        return f"<SweepResult of {self.plan.name}: {len(self.plan.points)} points, {self.work.total} runs>"
