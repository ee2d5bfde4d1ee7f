"""Results of scenarios: one document, and frames with one row per run, user, link or sample.

Rates are in bit/s, times in s, queues in packets or bytes of waiting packets.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.folders import staged
from fairlane.results.intervals import CONFIDENCE
from fairlane.results.notes import notes_of

if TYPE_CHECKING:
    import polars as pl

    from fairlane.store.point import Kept


@dataclass(frozen=True, repr=False)
class Result:
    """The replications of one scenario.

    Attributes:
        scenario_json: The canonical scenario.
        runs_json: One run record per replication, in order; the same bytes each time that they are simulated.
        cpu_seconds: What each of them cost, None where that is not known.
    """

    scenario_json: str
    runs_json: tuple[str, ...]
    cpu_seconds: tuple[float | None, ...]

    @classmethod
    def of(cls, scenario: str, runs: Sequence[Kept]) -> Result:
        """The result of a canonical scenario."""
        return cls(scenario, tuple(run.run for run in runs), tuple(run.cpu_seconds for run in runs))

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default filled in."""
        table: dict[str, Any] = json.loads(self.scenario_json)
        return table

    @property
    def runs(self) -> list[dict[str, Any]]:
        """One record per replication."""
        return [json.loads(run) for run in self.runs_json]

    @property
    def notes(self) -> list[str]:
        """What to know about the scenario before the numbers are trusted; a line each, key first."""
        return notes_of(self.scenario_json)

    def json(self, confidence: float = CONFIDENCE) -> str:
        """The result document: scenario, notes, means with intervals, runs, cost (`fairlane schema result`)."""
        return _fairlane.summarise(self.scenario_json, list(self.runs_json), list(self.cpu_seconds), confidence)

    def document(self, confidence: float = CONFIDENCE) -> dict[str, Any]:
        """The result document as a table."""
        document: dict[str, Any] = json.loads(self.json(confidence))
        return document

    @property
    def summary(self) -> dict[str, Any]:
        """Means over the replications with 95% intervals."""
        summary: dict[str, Any] = self.document()["summary"]
        return summary

    def flows_frame(self) -> pl.DataFrame:
        """One row per run and TCP flow that lasts as long as the run."""
        from fairlane.results import frames

        return frames.flows_frame([self])

    def transfers_frame(self) -> pl.DataFrame:
        """One row per run, group and class of finite transfers, by time and by size."""
        from fairlane.results import frames

        return frames.transfers_frame([self])

    def runs_frame(self) -> pl.DataFrame:
        """One row per run: parameters, seed, replication, version and every metric."""
        from fairlane.results import frames

        return frames.runs_frame([self])

    def costs_frame(self) -> pl.DataFrame:
        """One row per run: what it cost, which differs from one time to the next."""
        from fairlane.results import frames

        return frames.costs_frame([self])

    def users_frame(self) -> pl.DataFrame:
        """One row per run and user."""
        from fairlane.results import frames

        return frames.users_frame([self])

    def links_frame(self) -> pl.DataFrame:
        """One row per run and link."""
        from fairlane.results import frames

        return frames.links_frame([self])

    def series_frame(self) -> pl.DataFrame:
        """One row per run, instant and quantity; empty without `probes.series_interval`."""
        from fairlane.results import frames

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
        from fairlane.results.overview import overview

        documents = {queue: result.document(confidence) for queue, result in self.results.items()}
        version = _fairlane.version()
        return {"schema": 1, "version": version, "overview": overview(documents), "results": documents}

    def runs_frame(self) -> pl.DataFrame:
        """The frames of the results below one another, told apart by the column `queue`."""
        from fairlane.results import frames

        return frames.runs_frame(list(self.results.values()))

    def write(self, folder: str | Path) -> None:
        """Writes result.json, the frames as Parquet, and figures as PNG and SVG."""
        _write(Path(folder), self.json(), list(self.results.values()))

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.results)}>"


def _write(folder: Path, document: str, results: list[Result]) -> None:
    from fairlane.results import frames, plots
    from fairlane.results.figures import result_figures

    with staged(folder) as stage:
        for name, figure in result_figures(results).items():
            plots.save(figure, stage / name)
        for name, frame in frames.all_frames(results).items():
            frames.write(frame, stage / f"{name}.parquet")
        (stage / "result.json").write_text(document + "\n", encoding="utf-8")
