"""Measured grids: results of an experiment at every point of its sweep, and selection of points by claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairlane.judge.expressions import ExpressionError, evaluate
from fairlane.results.intervals import CONFIDENCE, Interval, interval

Point = Mapping[str, Any]
"""Value of each variable of the sweep, including `scheme` and (in cells) `metric`."""

_BOUND = re.compile(r"(<=|>=|<|>)\s*-?[\d.]+")


@dataclass(frozen=True, slots=True)
class Measured:
    """A run without a record, of which only metrics are known (None for a missing metric)."""

    metrics: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """All metrics of one point.

    Attributes:
        at: The point.
        samples: One sample per replication for each metric; None if the run lacks the metric.
        traces: Curves over time, one per replication for each name.
        exact: True if the numbers are computed, not sampled.
        half_widths: Half widths of the intervals of metrics that are one number over all replications.
    """

    at: Point
    samples: Mapping[str, tuple[float | None, ...]]
    traces: Mapping[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict)
    exact: bool = False
    half_widths: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def replications(self) -> int:
        """Number of replications."""
        return max((len(values) for values in (*self.samples.values(), *self.traces.values())), default=0)

    def chosen(self, replications: Sequence[int]) -> Row:
        """The row with only these replications."""
        if self.exact:
            return self
        return replace(
            self,
            samples={name: tuple(values[i] for i in replications) for name, values in self.samples.items()},
            traces={
                name: tuple(curves[i] for i in replications if i < len(curves)) for name, curves in self.traces.items()
            },
        )

    def metric(self, expression: str) -> tuple[float, ...]:
        """The samples of a metric or of a sum of metrics; empty if the point lacks it."""
        if expression in self.samples:
            return tuple(sample for sample in self.samples[expression] if sample is not None)
        replications = zip(*self.samples.values(), strict=True)
        named = [dict(zip(self.samples, values, strict=True)) for values in replications]
        try:
            return tuple(evaluate(expression, names) for names in named)
        except ExpressionError:
            return ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric at one point.

    Attributes:
        at: The point, and the name of the metric under the key `metric`.
        samples: One sample per replication.
        confidence: Confidence level of the interval.
        experiment: Identifier of the experiment.
        row: Row of the cell; None for a mean over several rows.
    """

    at: Point
    samples: tuple[float, ...]
    confidence: float = CONFIDENCE
    experiment: str = ""
    row: Row | None = None

    @property
    def interval(self) -> Interval:
        """Mean over the replications."""
        mean = interval(self.samples, self.confidence)
        if self.row and self.row.exact:
            return replace(mean, half_width=None, exact=True)
        if self.row and self.at["metric"] in self.row.half_widths:
            return replace(mean, half_width=self.row.half_widths[self.at["metric"]])
        return mean


@dataclass(frozen=True)
class Table:
    """The points of one experiment.

    Attributes:
        experiment: Identifier of the experiment.
        grid: Values of each variable of the sweep in order, without schemes.
        parameters: Values of all parameters that do not vary.
        rows: One row per point.
        confidence: Confidence level of the intervals.
        labels: Functions that compute further names of a point, such as its row in a printed table. Claims can select
            points by these names as by variables.
    """

    experiment: str
    grid: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any]
    rows: Sequence[Row]
    confidence: float = CONFIDENCE
    labels: Mapping[str, Callable[[Point], Any]] = field(default_factory=dict)

    @property
    def replications(self) -> int:
        """Smallest number of replications of a sampled point; 0 if there is none."""
        return min((row.replications for row in self.rows if not row.exact), default=0)

    def without(self, replication: int) -> Table:
        """The table without one replication."""
        rows = [row.chosen([i for i in range(row.replications) if i != replication]) for row in self.rows]
        return replace(self, rows=rows)

    def value(self, at: Point, variable: str) -> Any:
        """The value of a variable, or of a label, at a point."""
        return at[variable] if variable in at else self.labels[variable](at)

    def cells(
        self,
        schemes: Iterable[str],
        metrics: Iterable[str],
        condition: Mapping[str, Any] | None = None,
        predicate: str | None = None,
    ) -> list[Cell]:
        """The cells that a claim selects, in order of the grid; points that lack the metric are left out."""
        schemes = list(schemes)
        selected = [
            row
            for row in self.rows
            if row.at["scheme"] in schemes
            and matches(row.at, condition or {}, self.grid)
            and (predicate is None or evaluate(predicate, {**self.parameters, **row.at}))
        ]
        cells = (
            Cell({**row.at, "metric": metric}, row.metric(metric), self.confidence, self.experiment, row)
            for metric in metrics
            for row in selected
        )
        return [cell for cell in cells if cell.samples]


def matches(at: Point, condition: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> bool:
    """True if a point satisfies every part of a condition; a missing variable does not match."""
    return all(
        variable in at and _meets(at[variable], wanted, grid.get(variable, ()))
        for variable, wanted in condition.items()
    )


def _meets(value: Any, wanted: Any, values: Sequence[Any]) -> bool:
    match wanted:
        case list():
            return value in wanted
        case "first":
            return bool(value == values[0])
        case "last":
            return bool(value == values[-1])
        case str() if not isinstance(value, str) and _BOUND.fullmatch(wanted):
            return bool(evaluate(f"value {wanted}", {"value": value}))
        case _:
            return bool(value == wanted)
