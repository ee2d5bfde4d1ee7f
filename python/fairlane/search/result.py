"""Results of the adversary: a row and a scenario file for each scheme."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairlane import _fairlane
from fairlane.base.files import write_aside
from fairlane.base.progress import duration
from fairlane.results import frames
from fairlane.results.intervals import CONFIDENCE
from fairlane.search import scenario_file
from fairlane.search.attack import IDEAL, Found
from fairlane.search.words import described, shares_by

if TYPE_CHECKING:
    import polars as pl

    from fairlane.documents import AdversaryDocument

SCHEMA = 1


@dataclass(frozen=True)
class Cost:
    """Cost of a search. It differs between repetitions; all other results are reproducible.

    Attributes:
        runs: Number of simulated runs, without runs from the journal.
        seconds: Elapsed time.
        cpu_seconds: CPU time of this process, including its threads.
    """

    runs: int
    seconds: float
    cpu_seconds: float

    @property
    def words(self) -> str:
        """The cost as text for the last line of a table."""
        speed = (
            f", {self.runs / self.cpu_seconds * 3600:.0f} an hour and core" if self.runs and self.cpu_seconds else ""
        )
        return f"{self.runs} runs in {duration(self.seconds)}, {self.cpu_seconds:.0f} s of CPU time{speed}"

    @classmethod
    def since(cls, runs: int, started: tuple[float, float]) -> Cost:
        """Cost since `Cost.now()` returned `started`."""
        now = cls.now()
        return cls(runs, now[0] - started[0], now[1] - started[1])

    @staticmethod
    def now() -> tuple[float, float]:
        """Time and CPU time."""
        return time.monotonic(), time.process_time()


@dataclass(frozen=True, repr=False)
class Adversaries:
    """The scenarios found, by name.

    Attributes:
        found: Results for each scheme.
        commands: For each scheme, the command that repeats the search.
        cost: Cost of the search.
    """

    found: Mapping[str, Found]
    commands: Mapping[str, str]
    cost: Cost

    @property
    def beaten(self) -> list[str]:
        """Names of the results in which the light user certainly has less than half of its share."""
        return [name for name, found in self.found.items() if found.is_beaten]

    def text(self, name: str) -> str:
        """The scenario file of a result."""
        return scenario_file.text(self.found[name], self.commands[name])

    def document(self) -> AdversaryDocument:
        """The results as a document (`fairlane schema search-adversary`)."""
        return {
            "schema": SCHEMA,
            "version": _fairlane.version(),
            "engine": _fairlane.engine_version(),
            "confidence": CONFIDENCE,
            "ideal": IDEAL,
            "found": [
                {
                    "name": name,
                    "scheme": found.scheme,
                    "shares_by": shares_by(found.scenario["queue"]),
                    "beaten": found.is_beaten,
                    "share": found.share.document(),
                    "ideal_share": found.ideal.document(),
                    "searched_share": found.first_share,
                    "evaluations": found.evaluations,
                    "groups": described(found.scenario),
                    "scenario": {**found.scenario, "expect": [scenario_file.expectation(found)]},
                }
                for name, found in self.found.items()
            ],
        }

    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document(), allow_nan=False, ensure_ascii=False)

    def frame(self) -> pl.DataFrame:
        """One row per scheme: sharing unit, and the light user's shares under the scheme and the ideal scheduler."""
        return frames.frame(
            {
                "name": name,
                "scheme": found.scheme,
                "shares_by": shares_by(found.scenario["queue"]),
                "beaten": found.is_beaten,
                "share": found.share.mean,
                "share_half_width": found.share.half_width,
                "ideal_share": found.ideal.mean,
                "ideal_share_half_width": found.ideal.half_width,
                "evaluations": found.evaluations,
            }
            for name, found in self.found.items()
        )

    def write(self, folder: str | Path) -> None:
        """Writes a scenario file for each scheme, and adversary.json."""
        for name in self.found:
            write_aside(Path(folder) / f"{name}.toml", self.text(name).encode())
        write_aside(Path(folder) / "adversary.json", self.json().encode() + b"\n")

    def __repr__(self) -> str:
        return f"<Adversaries of {len(self.found)} schemes: {len(self.beaten)} beaten>"
