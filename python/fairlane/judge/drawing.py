"""Common parts of papers' figures: curves over a sweep with error bars, and markers for the paper's numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlane.judge.checks import expectation
from fairlane.judge.claim import Claim
from fairlane.judge.grid import Cell, Table
from fairlane.judge.reductions import select
from fairlane.results.plots import COLOURS, LINES, MARKERS, PAPER_GREY, colours_of, error_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairlane.judge.experiment import Experiment


@dataclass(frozen=True)
class Canvas:
    """Axes for the figure of an experiment.

    Attributes:
        axes: Axes of matplotlib.
        table: Measured points.
        experiment: Experiment of the paper.
    """

    axes: Axes
    table: Table
    experiment: Experiment

    def curves(
        self,
        x: str,
        *metrics: str,
        colour: str,
        line: str,
        names: Mapping[tuple[str, Any], str],
        within: tuple[float, float] = (-math.inf, math.inf),
        where: Mapping[str, Any] | None = None,
    ) -> None:
        """Draws metrics over variable `x` with error bars, with a curve for each pair of values of two variables.

        Args:
            x: Variable of the sweep.
            metrics: Metrics to draw.
            colour: Variable shown by colour; `scheme` and `metric` are variables, too.
            line: Variable shown by line style and marker.
            names: Text of the legend for (variable, value).
            within: Draws only points whose mean is within this range.
            where: Values of further variables.
        """
        grid = {**self.table.grid, "scheme": self.experiment.schemes, "metric": metrics}
        low, high = within
        schemes = colours_of(self.experiment.schemes)
        cells = [cell for cell in self.table.cells(grid["scheme"], metrics, where) if low < cell.interval.mean < high]
        for i, j in itertools.product(range(len(grid[colour])), range(len(grid[line]))):
            of_curve = {colour: grid[colour][i], line: grid[line][j]}
            curve = [cell for cell in cells if all(cell.at[key] == value for key, value in of_curve.items())]
            if not curve:
                continue
            error_bars(
                self.axes,
                [cell.at[x] for cell in curve],
                [cell.interval for cell in curve],
                color=schemes[grid[colour][i]] if colour == "scheme" else COLOURS[i % len(COLOURS)],
                linestyle=LINES[j % len(LINES)],
                marker=MARKERS[j % len(MARKERS)],
                markerfacecolor="white" if j else None,
                label=", ".join(names[key, value] for key, value in of_curve.items()),
            )
        self._mark(x, metrics)

    def _mark(self, x: str, metrics: Sequence[str]) -> None:
        """Marks the claims' numbers behind the curves of the metrics; bounds are thin lines."""
        styles: dict[bool, dict[str, Any]] = {
            False: {"color": PAPER_GREY, "linewidth": 5, "solid_capstyle": "round", "markersize": 9, "label": "paper"},
            True: {"color": "0.6", "linewidth": 1, "linestyle": ":", "markersize": 6, "label": "paper, bound"},
        }
        for claim in self.experiment.claims:
            if claim["metric"] not in metrics or "statistic" in claim or claim["kind"] in {"ordering", "ratio"}:
                continue
            style = styles[claim["kind"] in {"at_most", "at_least"} or claim.get("reduce") in {"max", "min"}]
            for points, numbers in _marks(claim, self.table, x):
                marker = "o" if len(points) == 1 else None
                self.axes.plot(points, numbers, marker=marker, zorder=1, **style)
                style["label"] = None  # only one entry in the legend


def _marks(claim: Claim, table: Table, x: str) -> list[tuple[list[float], list[float]]]:
    """The lines of a claim: x values and numbers."""
    if claim.get("reduce") == "argmax":
        return []
    cells = select(claim, {table.experiment: table})
    cells.sort(key=lambda cell: table.grid[x].index(cell.at[x]))
    if claim["kind"] == "trend":
        ends = [(cells[0], claim.get("from")), (cells[-1], claim.get("to"))] if cells else []
        return [([cell.at[x]], [number]) for cell, number in ends if number is not None]
    if "points" in claim:
        stated = ((cell, expectation(claim, cell, table)) for cell in cells)
        return [([cell.at[x]], [number]) for cell, number in stated if number is not None]
    curves: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        curves.setdefault(tuple(value for name, value in cell.at.items() if name != x), []).append(cell)
    marks: list[tuple[list[float], list[float]]] = []
    for curve in curves.values():
        if claim["kind"] == "range":
            stated_of = [[claim[end]] * len(curve) for end in ("min", "max") if end in claim]
        else:
            stated_of = [[number for cell in curve if (number := expectation(claim, cell, table)) is not None]]
        for numbers in stated_of:
            mark = ([cell.at[x] for cell in curve], numbers)
            if mark not in marks:
                marks.append(mark)
    return marks


Draw = Callable[[Canvas], None]
"""Draws one figure."""
