"""Results of scenarios: one document, and frames with one row per run, user, link or sample.

Rates are in bit/s, times in s, queues in packets or bytes of waiting packets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.folders import staged
from fairlane.results import frames
from fairlane.results.intervals import CONFIDENCE
from fairlane.results.overview import overview
from fairlane.results.replications import Replications

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, repr=False)
class Result(Replications):
    """The replications of one scenario, as frames and files."""

    def flows_frame(self) -> pl.DataFrame:
        """One row per run and TCP flow that lasts as long as the run."""
        return frames.flows_frame([self])

    def transfers_frame(self) -> pl.DataFrame:
        """One row per run, group and class of finite transfers, by time and by size."""
        return frames.transfers_frame([self])

    def runs_frame(self) -> pl.DataFrame:
        """One row per run: parameters, seed, replication, version and every metric."""
        return frames.runs_frame([self])

    def costs_frame(self) -> pl.DataFrame:
        """One row per run: what it cost, which differs from one time to the next."""
        return frames.costs_frame([self])

    def users_frame(self) -> pl.DataFrame:
        """One row per run and user."""
        return frames.users_frame([self])

    def links_frame(self) -> pl.DataFrame:
        """One row per run and link."""
        return frames.links_frame([self])

    def series_frame(self) -> pl.DataFrame:
        """One row per run, instant and quantity; empty without `probes.series_interval`."""
        return frames.series_frame([self])

    def write(self, folder: str | Path) -> None:
        """Writes result.json, the frames as Parquet, and figures as PNG and SVG."""
        _write(Path(folder), self.json(), [self])

    def __repr__(self) -> str:
        notes = f", {len(self.notes)} to note" if self.notes else ""
        return f"<Result of {self.scenario['name']}: {len(self.runs_json)} runs{notes}>"


@dataclass(frozen=True, repr=False)
class Comparison:
    """Results of one scenario under several queues.

    Attributes:
        results: Result by name of the queue's scheme.
    """

    results: dict[str, Result]

    def json(self, confidence: float = CONFIDENCE) -> str:
        """An overview of all queues, and one result document per queue (`fairlane schema comparison`)."""
        return json.dumps(self.document(confidence), allow_nan=False, ensure_ascii=False)

    def document(self, confidence: float = CONFIDENCE) -> dict[str, Any]:
        """The same as a table."""
        documents = {queue: result.document(confidence) for queue, result in self.results.items()}
        version = _fairlane.version()
        return {"schema": 1, "version": version, "overview": overview(documents), "results": documents}

    def runs_frame(self) -> pl.DataFrame:
        """The frames of the results below one another, told apart by the column `queue`."""
        return frames.runs_frame(list(self.results.values()))

    def write(self, folder: str | Path) -> None:
        """Writes result.json, the frames as Parquet, and figures as PNG and SVG."""
        _write(Path(folder), self.json(), list(self.results.values()))

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.results)}>"


def _write(folder: Path, document: str, results: list[Result]) -> None:
    from fairlane.results import plots  # which loads matplotlib
    from fairlane.results.figures import result_figures

    with staged(folder) as stage:
        for name, figure in result_figures(results).items():
            plots.save(figure, stage / name)
        for name, frame in frames.all_frames(results).items():
            frames.write(frame, stage / f"{name}.parquet")
        (stage / "result.json").write_text(document + "\n", encoding="utf-8")
