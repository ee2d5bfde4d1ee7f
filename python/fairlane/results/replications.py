"""The replications of one scenario: canonical scenario, run records, and the result document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from fairlane.results import summary as summaries
from fairlane.results.intervals import CONFIDENCE
from fairlane.results.kept import Kept
from fairlane.results.notes import notes_of

if TYPE_CHECKING:
    from fairlane.results.records import Summary


@dataclass(frozen=True, repr=False)
class Replications:
    """The replications of one scenario.

    Attributes:
        scenario_json: The canonical scenario.
        runs_json: One run record per replication, in order; their bytes are reproducible.
        cpu_seconds: CPU time of each replication, None if unknown.
        label: Name of the queue in a comparison; if empty, the name of its scheme.
    """

    scenario_json: str
    runs_json: tuple[str, ...]
    cpu_seconds: tuple[float | None, ...]
    label: str = ""

    @classmethod
    def of(cls, scenario: str, runs: Sequence[Kept]) -> Self:
        """The result of a canonical scenario."""
        return cls(scenario, tuple(run.run for run in runs), tuple(run.cpu_seconds for run in runs))

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default filled in."""
        table: dict[str, Any] = json.loads(self.scenario_json)
        return table

    @property
    def queue(self) -> str:
        """Name of the queue in tables and figures."""
        return self.label or str(self.scenario["queue"]["scheme"])

    @property
    def runs(self) -> list[dict[str, Any]]:
        """One record per replication."""
        return [json.loads(run) for run in self.runs_json]

    @property
    def notes(self) -> list[str]:
        """Caveats about the scenario, one line each, key first."""
        return notes_of(self.scenario_json)

    def json(self, confidence: float = CONFIDENCE) -> str:
        """The result document: scenario, notes, means with intervals, runs, cost (`fairlane schema result`)."""
        return summaries.document(self.scenario_json, self.runs_json, self.cpu_seconds, confidence)

    def document(self, confidence: float = CONFIDENCE) -> dict[str, Any]:
        """The result document as a table."""
        document: dict[str, Any] = json.loads(self.json(confidence))
        return document

    @cached_property
    def summary(self) -> Summary:
        """Means over the replications with 95% intervals."""
        summary: Summary = cast("Summary", summaries.summary(self.runs, CONFIDENCE))
        return summary
