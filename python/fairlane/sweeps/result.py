"""Result of a sweep: one row per run, means with intervals per point, and their files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.folders import staged
from fairlane.results import frames
from fairlane.results.intervals import CONFIDENCE
from fairlane.results.metrics import unit_of
from fairlane.results.notes import joined, notes_of
from fairlane.results.result import Summarised
from fairlane.store import Store
from fairlane.sweeps.plan import Plan, Point
from fairlane.sweeps.table import paper_table, points_table

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from fairlane.documents import SweepDocument
    from fairlane.results.intervals import Interval, PointEstimate
    from fairlane.results.kept import Kept
    from fairlane.results.table import Table
    from fairlane.sweeps.work import Work

SCHEMA = 2
_COST: dict[str, Any] = {"cpu_seconds": float, "host": str, "finished_at": str}
_KINDS: dict[type, str] = {bool: "truth", int: "number", float: "number", str: "text"}


@dataclass(frozen=True, repr=False)
class SweepResult(Summarised):
    """The points of a sweep, whose runs are all stored.

    Attributes:
        plan: Plan of the sweep.
        store: Store of the runs.
        work: Finished runs of each point.
    """

    plan: Plan
    store: Store
    work: Work

    @cached_property
    def notes(self) -> list[str]:
        """Caveats about the numbers, with the affected points."""
        return joined({f"point {point.index}": notes_of(point.scenario) for point in self.plan.points})

    def runs_frame(self) -> pl.DataFrame:
        """One row per run: point, varying values, identity, metrics, version, all parameters."""
        import polars as pl  # slow: loading takes longer than most commands

        # Points of different schemes have different columns.
        return pl.concat((frames.frame(self._rows(point)) for point in self.plan.points), how="diagonal_relaxed")

    def costs_frame(self) -> pl.DataFrame:
        """One row per run: point, varying values, and CPU time, host and date (null if lost)."""
        rows = [
            {
                **self._place(point),
                "replication": number,
                **(asdict(kept.cost) if kept.cost else dict.fromkeys(_COST)),
            }
            for point in self.plan.points
            for number, kept in enumerate(self._runs(point))
        ]
        return frames.frame(rows, schema_overrides=_COST)

    def points_frame(self) -> pl.DataFrame:
        """One row per point and metric: mean, half width of the 95 % interval, number of runs."""
        rows = (
            {**self._place(point), "metric": metric, "unit": unit_of(metric), **estimate}
            for point in self.plan.points
            for metric, estimate in self._estimates(point).items()
        )
        return frames.frame(rows)

    def summary_frame(self) -> pl.DataFrame:
        """One row per point, group and metric: mean, bounds of the 95 % interval, number of runs, varying values."""
        rows = (
            {**row, **{key: cell for key, cell in self._place(point).items() if key != "point"}}
            for point in self.plan.points
            for row in frames.summary_rows(
                self._intervals(point), str(json.loads(point.scenario)["queue"]["scheme"]), point.index
            )
        )
        return frames.frame(rows, schema_overrides=frames.SUMMARY_TYPES)

    def _table(self, *, paper: bool = False) -> Table:
        return (paper_table if paper else points_table)(self.document(), list(self.plan.stop.targets))

    def document(self) -> SweepDocument:
        """Everything except single runs, ready for JSON (`fairlane schema sweep-result`)."""
        return {
            "schema": SCHEMA,
            "version": _fairlane.version(),
            "engine": self.plan.engine,
            "name": self.plan.name,
            "store": str(self.store.folder),
            "confidence": CONFIDENCE,
            "runs": self.work.total,
            "notes": self.notes,
            "points": [
                {
                    "point": point.index,
                    "at": dict(point.at),
                    "key": point.identity.key,
                    "replications": self.work.at(point.identity).wanted,
                    "narrow_enough": self.work.at(point.identity).has_enough if self.plan.stop.targets else None,
                    "metrics": self._estimates(point),
                }
                for point in self.plan.points
            ],
            "cost": {"cpu_seconds": sum(point.costs[1] for point in self.work.points)},
        }

    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document(), allow_nan=False, ensure_ascii=False)

    def plot(
        self, metric: str | Sequence[str] | None = None, over: str | None = None, *, column: bool = False
    ) -> Figure:
        """Metrics over a varying key, with a line per combination of the other varying keys.

        Args:
            metric: One or several columns of `runs_frame`, such as `"throughput_ratio"` or `"utilisation.bottleneck"`,
                each in a panel. A name without group or link stands for all groups or links. None means share, delay
                and utilisation of all groups in at most 16 panels, like the figure of `write`.
            over: The key on the horizontal axis; if None, the last key with several values.
            column: True to draw one paper column (3.5 in) wide, without a title.

        Raises:
            UserError: A metric or key is unknown, or nothing varies.
        """
        from fairlane.sweeps.figure import draw  # slow: loads matplotlib

        return draw(self.document(), metric, over, column=column)

    def write(self, folder: str | Path, *, pdf: bool = False) -> None:
        """Writes runs, points and costs as Parquet and CSV, sweep.json, and a figure as PNG and SVG if anything varies.

        Args:
            folder: Folder to write into.
            pdf: Also write the figure as PDF, one paper column wide.
        """
        from fairlane.results import plots  # slow: loads matplotlib

        with staged(Path(folder)) as stage:
            if self.plan.axes:
                plots.save(self.plot(), stage / "sweep")
            if self.plan.axes and pdf:
                plots.save(self.plot(column=True), stage / "sweep", [".pdf"])
            tables = {"runs": self.runs_frame(), "points": self.points_frame(), "costs": self.costs_frame()}
            for name, frame in tables.items():
                frames.write(frame, stage / f"{name}.parquet")
                frame.write_csv(stage / f"{name}.csv")
            (stage / "sweep.json").write_text(self.json() + "\n", encoding="utf-8")

    def _rows(self, point: Point) -> Iterator[dict[str, Any]]:
        scenario = json.loads(point.scenario)
        for kept in self._runs(point):
            row = frames.run_row(scenario, json.loads(kept.run), scenario["queue"]["scheme"])
            yield {**self._place(point), **row, "engine": point.identity.engine}

    def _runs(self, point: Point) -> list[Kept]:
        """All runs of a point."""
        name = str(json.loads(point.scenario)["name"])
        return [kept.named(name) for kept in self.store.runs(point.identity, self.work.at(point.identity).wanted)]

    def _estimates(self, point: Point) -> dict[str, PointEstimate]:
        """Mean and half width of each metric over the runs that have it."""
        return {metric: found.document() for metric, found in self._intervals(point).items()}

    def _intervals(self, point: Point) -> dict[str, Interval]:
        return frames.estimates(json.loads(kept.run) for kept in self._runs(point))

    def _place(self, point: Point) -> dict[str, Any]:
        """The columns that identify a row's point; values of mixed kinds, arrays and tables are JSON text."""
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
        notes = f", {len(self.notes)} to note" if self.notes else ""
        return f"<SweepResult of {self.plan.name}: {len(self.plan.points)} points, {self.work.total} runs{notes}>"
