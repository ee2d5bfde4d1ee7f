"""Results of scenarios: one document, and frames with one row per run, user, link or sample.

Rates are in bit/s, times in s, queues in packets or bytes of waiting packets.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.folders import staged
from fairlane.results import frames
from fairlane.results.intervals import CONFIDENCE
from fairlane.results.overview import overview
from fairlane.results.pictures import Pictures
from fairlane.results.replications import Replications

if TYPE_CHECKING:
    import polars as pl


class Framed(ABC):
    """Figures and frames of all runs; the column `queue` distinguishes those of a comparison."""

    @abstractmethod
    def _all(self) -> list[Result]:
        """The results, in order."""

    @property
    def plot(self) -> Pictures:
        """Figures, such as `plot.throughput()`."""
        return Pictures(self._all())

    def runs_frame(self) -> pl.DataFrame:
        """One row per run: parameters, seed, replication, version and every metric."""
        return frames.runs_frame(self._all())

    def costs_frame(self) -> pl.DataFrame:
        """One row per run: its cost, which differs between runs."""
        return frames.costs_frame(self._all())

    def users_frame(self) -> pl.DataFrame:
        """One row per run and user."""
        return frames.users_frame(self._all())

    def flows_frame(self) -> pl.DataFrame:
        """One row per run and TCP flow that lasts as long as the run."""
        return frames.flows_frame(self._all())

    def transfers_frame(self) -> pl.DataFrame:
        """One row per run, group and class of finite transfers, by time and by size."""
        return frames.transfers_frame(self._all())

    def links_frame(self) -> pl.DataFrame:
        """One row per run and link."""
        return frames.links_frame(self._all())

    def series_frame(self) -> pl.DataFrame:
        """One row per run, instant and quantity; empty without `probes.series_interval`."""
        return frames.series_frame(self._all())


@dataclass(frozen=True, repr=False)
class Result(Replications, Framed):
    """The replications of one scenario, as frames and files."""

    def _all(self) -> list[Result]:
        return [self]

    def write(self, folder: str | Path, *, pdf: bool = False) -> None:
        """Writes result.json, the frames as Parquet, and figures as PNG and SVG, with `pdf` for a paper too."""
        _write(Path(folder), self.json(), [self], pdf)

    def _repr_html_(self) -> str:
        from fairlane.results.display import result_html  # for notebooks alone

        return result_html(self.document(), self.queue)

    def __repr__(self) -> str:
        notes = f", {len(self.notes)} to note" if self.notes else ""
        return f"<Result of {self.scenario['name']}: {len(self.runs_json)} runs{notes}>"


@dataclass(frozen=True, repr=False)
class Comparison(Framed):
    """Results of one scenario under several queues.

    Attributes:
        results: Results by the name of the queue: that of its scheme, or of a variant.
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

    def _all(self) -> list[Result]:
        return list(self.results.values())

    def write(self, folder: str | Path, *, pdf: bool = False) -> None:
        """Writes result.json, the frames as Parquet, and figures as PNG and SVG, with `pdf` for a paper too."""
        _write(Path(folder), self.json(), self._all(), pdf)

    def _repr_html_(self) -> str:
        from fairlane.results.display import comparison_html

        return comparison_html(self.document())

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.results)}>"


def _write(folder: Path, document: str, results: list[Result], pdf: bool) -> None:
    from fairlane.results import plots  # which loads matplotlib
    from fairlane.results.figures import column_figures, result_figures

    with staged(folder) as stage:
        for name, figure in result_figures(results).items():
            plots.save(figure, stage / name)
        for name, figure in column_figures(results).items() if pdf else ():
            plots.save(figure, stage / name, [".pdf"])
        for name, frame in frames.all_frames(results).items():
            frames.write(frame, stage / f"{name}.parquet")
        (stage / "result.json").write_text(document + "\n", encoding="utf-8")
