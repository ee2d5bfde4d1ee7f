"""Type of a metric; `results/catalogue.py` has all metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_FACTORS = {("bit/s", "Mbit/s"): 1e-6, ("s", "ms"): 1e3, ("1", "%"): 100.0}
_UNTOLD = ("", "1", "1/min")
"""Units that headings leave out."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of a run.

    Attributes:
        name: Name in columns, sweeps and expectations; a group or link follows after a dot.
        scope: `run`, `group`, `user`, `flow`, `link`, `application`, ...
        path: Names of the fields from the record of its scope to the metric; for an evaluation, a column's name.
        heading: Heading of a column, without the unit.
        doc: One sentence.
        about: Sentence about the part of the record that contains the metric.
        unit: Unit; `1` for a ratio, empty for a count.
        shown_as: Unit in tables for people, if different.
        better: `high` or `low`; empty if neither is better.
        words: Long name, if the heading is an abbreviation.
        symbol: Symbol used in the field or in the paper.
        source: Paper or standard.
        by: Field that distinguishes several values, such as the traffic class of a delay.
        shown: Tables and commands that show it.
    """

    name: str
    scope: str
    path: tuple[str, ...]
    heading: str
    doc: str
    about: str = ""
    unit: str = ""
    shown_as: str = ""
    better: str = ""
    words: str = ""
    symbol: str = ""
    source: str = ""
    by: str = ""
    shown: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Long name."""
        return self.words or self.heading

    @property
    def factor(self) -> float:
        """Factor from the unit to the unit of tables."""
        return _FACTORS.get((self.unit, self.shown_as), 1.0)

    @property
    def suffix(self) -> str:
        """Unit that tables write after heading or number; empty for ratios and counts."""
        unit = self.shown_as or self.unit
        return "" if unit in _UNTOLD else unit

    @property
    def head(self) -> str:
        """Heading with the unit of tables."""
        return f"{self.heading} ({self.suffix})" if self.suffix else self.heading

    @property
    def label(self) -> str:
        """Long name with the unit of tables, for axes of figures."""
        return f"{self.title} ({self.suffix})" if self.suffix else self.title

    @property
    def is_quantile(self) -> bool:
        """True if the metric is a quantile of a histogram, exact to one bin."""
        return self.path[-1].removesuffix("_s") in {"p50", "p90", "p95", "p99"}

    @property
    def sign(self) -> int:
        """Factor that makes smaller values better: -1 if more is better, else 1."""
        return -1 if self.better == "high" else 1

    def of(self, record: Mapping[str, Any] | None) -> Any:
        """Value in a record of the metric's scope, or in a summary of the same form; None if missing."""
        found: Any = record
        for name in self.path:
            found = found.get(name) if found else None
        return found
