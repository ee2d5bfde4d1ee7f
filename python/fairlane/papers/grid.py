"""Measured grids: what an experiment measured at every point of its sweep, and how claims select points."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairlane.intervals import CONFIDENCE, Interval, interval
from fairlane.papers.expressions import ExpressionError, evaluate

Point = Mapping[str, Any]
"""Value of each variable of the sweep, `scheme` (and, in cells, `metric`) among them."""

_BOUND = re.compile(r"(<=|>=|<|>)\s*(-?[\d.]+)")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A run of which the metrics are known, its record is not; None where it has no such number."""

    metrics: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """All metrics of one point.

    Attributes:
        at: The point.
        samples: One sample per replication for each metric, None where a run has no such number.
        traces: Curves over time, one per replication for each name.
    """

    at: Point
    samples: Mapping[str, tuple[float | None, ...]]
    traces: Mapping[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict)

    def metric(self, expression: str) -> tuple[float, ...]:
        """The samples of a metric or of a sum of metrics; none if the point does not have it."""
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
    """One metric at one point, and the confidence level of its interval."""

    at: Point
    samples: tuple[float, ...]
    confidence: float = CONFIDENCE

    @property
    def interval(self) -> Interval:
        """Mean over the replications."""
        return interval(self.samples, self.confidence)


@dataclass(frozen=True)
class Table:
    """The points of one experiment.

    Attributes:
        experiment: Its id.
        grid: Values of each variable of the sweep in order, schemes left out.
        parameters: Value of everything that does not vary.
        rows: One per point.
        confidence: Level of the intervals.
        labels: Names of points, such as the row of a printed table, that claims use as if they were variables.
    """

    experiment: str
    grid: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any]
    rows: Sequence[Row]
    confidence: float = CONFIDENCE
    labels: Mapping[str, Callable[[Point], Any]] = field(default_factory=dict)

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
        """The cells of the points that a claim selects, in order of the grid, without those that lack the metric."""
        schemes = list(schemes)
        selected = [
            row
            for row in self.rows
            if row.at["scheme"] in schemes
            and matches(row.at, condition or {}, self.grid)
            and (predicate is None or evaluate(predicate, {**self.parameters, **row.at}))
        ]
        cells = (
            Cell({**row.at, "metric": metric}, row.metric(metric), self.confidence)
            for metric in metrics
            for row in selected
        )
        return [cell for cell in cells if cell.samples]


def matches(at: Point, condition: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a point meets every part of a condition; a variable that it does not have is not met."""
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
        case str() if not isinstance(value, str) and (bound := _BOUND.fullmatch(wanted)):
            return _COMPARE[bound[1]](value, float(bound[2]))
        case _:
            return bool(value == wanted)
