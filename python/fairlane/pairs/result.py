"""Result of all pairs: the share of each sender against every other, as tables, document and figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fairlane import _fairlane
from fairlane.base.folders import staged
from fairlane.pairs.plan import COLUMN, ROW
from fairlane.results import frames
from fairlane.results.intervals import CONFIDENCE, Interval, interval
from fairlane.results.notes import joined, notes_of
from fairlane.sweeps.result import SweepResult

if TYPE_CHECKING:
    import polars as pl

    from fairlane.documents import Ahead, PairsDocument
    from fairlane.sweeps.plan import Point

SCHEMA = 1
EVEN = 0.5


@dataclass(frozen=True)
class Pair:
    """Two senders under a scheme.

    Attributes:
        queue: The scheme.
        row: A sender.
        column: The other sender; may equal `row`.
        share: Throughput of `row` divided by the throughput of both senders; None if no packet arrived.
        utilisation: Busy time of the bottleneck divided by measured time.
    """

    queue: str
    row: str
    column: str
    share: Interval | None
    utilisation: Interval

    @property
    def ahead(self) -> Ahead | None:
        """Sender with the larger share; None if the interval is missing or contains equal shares."""
        if self.share is None or abs(self.share.mean - EVEN) <= self.share.uncertainty:
            return None
        return "row" if self.share.mean > EVEN else "column"


@dataclass(frozen=True, repr=False)
class Pairs:
    """Shares of all pairs of senders.

    Attributes:
        senders: Congestion controls, in the requested order.
        queues: Schemes, in the requested order.
        swept: The runs, with a point for each pair under each scheme.
    """

    senders: Sequence[str]
    queues: Sequence[str]
    swept: SweepResult

    @cached_property
    def pairs(self) -> list[Pair]:
        """Each pair once, under each scheme."""
        return [self._pair(point) for point in self.swept.plan.points]

    def frame(self) -> pl.DataFrame:
        """One row per pair and scheme: share of the sender `row` with half width, the sender ahead, utilisation."""
        rows = (
            {
                "queue": pair.queue,
                "row": pair.row,
                "column": pair.column,
                "share": pair.share and pair.share.mean,
                "share_half_width": pair.share and pair.share.half_width,
                "replications": pair.utilisation.n,
                "ahead": pair.ahead,
                "utilisation": pair.utilisation.mean,
            }
            for pair in self.pairs
        )
        return frames.frame(rows, schema_overrides={"share": float, "share_half_width": float, "ahead": str})

    def document(self) -> PairsDocument:
        """Everything except single runs, ready for JSON (`fairlane schema pairs`)."""
        points = self.swept.plan.points
        return {
            "schema": SCHEMA,
            "version": _fairlane.version(),
            "engine": _fairlane.engine_version(),
            "confidence": CONFIDENCE,
            "scenario": json.loads(points[0].scenario),
            "senders": list(self.senders),
            "queues": list(self.queues),
            "notes": joined({str(point.at["queue"]): notes_of(point.scenario) for point in points}),
            "pairs": [
                {
                    "queue": pair.queue,
                    "row": pair.row,
                    "column": pair.column,
                    "share": None if pair.share is None else pair.share.document(),
                    "ahead": pair.ahead,
                    "utilisation": pair.utilisation.document(),
                }
                for pair in self.pairs
            ],
        }

    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document(), allow_nan=False, ensure_ascii=False)

    def write(self, folder: str | Path) -> None:
        """Writes pairs.json, pairs.csv, pairs.parquet, and the heat map as PNG and SVG."""
        from fairlane.report.figures import write
        from fairlane.report.pairs_figure import draw

        with staged(Path(folder)) as stage:
            (stage / "pairs.json").write_text(self.json() + "\n", encoding="utf-8")
            frame = self.frame()
            frame.write_csv(stage / "pairs.csv")
            frames.write(frame, stage / "pairs.parquet")
            write(draw(self.document()), stage / "pairs")

    def _pair(self, point: Point) -> Pair:
        kept = self.swept.store.runs(point.identity, self.swept.work.at(point.identity).wanted)
        runs = [json.loads(one.run) for one in kept]
        rates = [[group["throughput_bps"] for group in run["groups"]] for run in runs]
        shares = [row / (row + column) for row, column in rates if row + column > 0]
        return Pair(
            point.at["queue"],
            point.at[ROW],
            point.at[COLUMN],
            interval(shares) if shares else None,
            interval([run["links"][0]["utilisation"] for run in runs]),
        )

    def __repr__(self) -> str:
        return f"<Pairs of {len(self.senders)} senders under {', '.join(self.queues)}>"
