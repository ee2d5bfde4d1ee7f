"""Result of an evaluation: report cards, ranks, tables and pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.folders import staged
from fairlane.evaluate import league as leagues
from fairlane.evaluate.entries import Entry, asks
from fairlane.evaluate.ranks import best
from fairlane.evaluate.standing import Standing
from fairlane.results import frames
from fairlane.results.intervals import CONFIDENCE
from fairlane.results.metrics import CRITERIA

if TYPE_CHECKING:
    import polars as pl

    from fairlane.documents import EvaluatedCriterion, EvaluatedEntry, EvaluationDocument

SCHEMA = 1


@dataclass(frozen=True, repr=False)
class Evaluation(Standing):
    """Measured entries and their ranks in the league of a suite, as documents, tables and pages."""

    def document(self) -> EvaluationDocument:
        """Everything except single runs, ready for JSON (`fairlane schema evaluation`)."""
        return {
            "schema": SCHEMA,
            "version": _fairlane.version(),
            "engine": _fairlane.engine_version(),
            "confidence": CONFIDENCE,
            "suite": self.suite.key,
            "digest": self.suite.digest,
            "quick": self.quick,
            "scenarios": [one.name for one in self.scenarios],
            "notes": self.notes,
            "entries": [self._entry(entry) for entry in self.entries],
            "unmet": [f"{label}: {one}" for label, one in self.unmet],
        }

    def _entry(self, entry: Entry) -> EvaluatedEntry:
        placed = self.placed[entry.label]
        return {
            "entry": entry.label,
            "scheme": entry.scheme,
            "settings": dict(entry.settings),
            "shares_per": entry.shares_per,
            "asks": asks(entry),
            "nearest": list(self.nearest(entry.label)),
            "criteria": [self._criterion(entry.label, key) for key in self.values[entry.label]],
            "scenarios": [
                {"scenario": scenario, "criterion": key, "value": cell.document()}
                for (scenario, key), cell in placed.cells.items()
            ],
        }

    def _criterion(self, label: str, key: str) -> EvaluatedCriterion:
        rank = self.places[key][label]
        return {
            "criterion": key,
            "value": self.values[label][key].document(),
            "rank": rank.rank,
            "rank_first": rank.first,
            "rank_last": rank.last,
            "of": rank.of,
            "best": [{"entry": other, "value": self.values[other][key].document()} for other in best(self.places, key)],
            "nearest": [
                {"entry": other, "value": self.values[other][key].document()}
                for other in self.nearest(label)
                if key in self.values[other]
            ],
        }

    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document(), allow_nan=False, ensure_ascii=False)

    def runs_frame(self) -> pl.DataFrame:
        """One row per run: entry, scenario, number, all measures."""
        return frames.frame(self._runs(), schema_overrides=self._floats)

    def cells_frame(self) -> pl.DataFrame:
        """One row per entry, scenario and criterion of the scenario: mean, half width, runs."""
        return frames.frame(
            {"entry": entry.label, "scenario": scenario, "criterion": key, **cell.document()}
            for entry in self.entries
            for (scenario, key), cell in self.placed[entry.label].cells.items()
        )

    def criteria_frame(self) -> pl.DataFrame:
        """One row per entry of the league and criterion: value, half width, rank and its bounds."""
        rows = (
            {
                "entry": label,
                "measured": label in self.measured,
                "criterion": key,
                "unit": CRITERIA[key].suffix,
                "value": value.mean,
                "half_width": value.half_width,
                "rank": self.places[key][label].rank,
                "rank_first": self.places[key][label].first,
                "rank_last": self.places[key][label].last,
                "of": self.places[key][label].of,
            }
            for label, of_entry in self.values.items()
            for key, value in of_entry.items()
        )
        return frames.frame(rows, schema_overrides={"half_width": float})

    def write(self, folder: str | Path) -> None:
        """Writes runs, cells and criteria as Parquet, evaluation.json, and pages with figures."""
        from fairlane.evaluate import pages  # slow: loads matplotlib

        with staged(Path(folder)) as stage:
            tables = {"runs": self.runs_frame(), "cells": self.cells_frame(), "criteria": self.criteria_frame()}
            for name, frame in tables.items():
                frames.write(frame, stage / f"{name}.parquet")
            (stage / "evaluation.json").write_text(self.json() + "\n", encoding="utf-8")
            pages.write(self, stage)

    def write_league(self) -> list[Path]:
        """Overwrites the committed league results of the measured entries.

        Raises:
            UserError: Only a part of the suite was run.
        """
        if len(self.scenarios) < len(self.suite.scenarios):
            raise UserError("write_league: the league is of the whole suite, without quick and only")
        for entry in self.entries:
            if entry.about is None or not entry.label.startswith(entry.scheme):
                raise UserError(f"write_league: {entry.label} is no scheme of the catalogue under its own name")
        return [leagues.write(self.suite, entry.label, self.placed[entry.label].cells) for entry in self.entries]

    def _runs(self) -> Iterator[dict[str, Any]]:
        for label, measured in self.measured.items():
            for scenario, rows in measured.rows.items():
                for number, row in enumerate(rows):
                    yield {"entry": label, "scenario": scenario, "replication": number, **row}

    @property
    def _floats(self) -> dict[str, Any]:
        first = next(iter(self.measured.values()))
        return dict.fromkeys(next(iter(first.rows.values()))[0], float)

    def __repr__(self) -> str:
        return f"<Evaluation of {', '.join(self.measured)} on {self.suite.key}: {len(self.scenarios)} scenarios>"
