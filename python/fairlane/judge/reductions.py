"""Computes the numbers of a claim from measured grids: selects points, groups, reduces and divides them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairlane.judge.claim import Claim, names
from fairlane.judge.grid import Cell, Point, Table
from fairlane.results.intervals import Interval, jackknife


class NotApplicable(Exception):  # noqa: N818 it is an outcome, not an error
    """The claim cannot be tested; the message says why."""


@dataclass(frozen=True, slots=True)
class Number:
    """Values compared with a claim.

    Attributes:
        at: Point of the measurement.
        interval: Mean with interval.
        cells: The points from which the mean was computed.
    """

    at: Point
    interval: Interval
    cells: Sequence[Cell] = field(default=())


def select(claim: Claim, tables: Mapping[str, Table]) -> list[Cell]:
    """The cells that a claim is about."""
    return tables[claim["experiment"]].cells(
        names(claim["scheme"]), names(claim["metric"]), claim.get("condition"), claim.get("predicate")
    )


def groups(cells: Sequence[Cell], without: str, keep: set[str] | None = None) -> list[tuple[Point, list[Cell]]]:
    """Groups cells that agree in all variables except `without`, or in the variables of `keep`."""
    found: dict[Hashable, tuple[Point, list[Cell]]] = {}
    for cell in cells:
        at = {key: value for key, value in cell.at.items() if key != without and (keep is None or key in keep)}
        found.setdefault(tuple(at.items()), (at, []))[1].append(cell)
    return list(found.values())


def is_each(claim: Claim) -> bool:
    """True if the claim applies to every point separately."""
    return claim.get("reduce", "every") in {"every", "most"}


def reduced(claim: Claim, cells: Sequence[Cell]) -> list[Number]:
    """Values to test: every cell, or one number for each scheme and metric."""
    if is_each(claim):
        return [Number(cell.at, cell.interval, [cell]) for cell in cells]
    return [reduce(claim, group) for _, group in groups(cells, without="", keep={"scheme", "metric"})]


def reduce(claim: Claim, cells: Sequence[Cell]) -> Number:
    """Reduces several cells to one number."""
    match claim.get("reduce", "every"):
        case "every" | "most":
            (chosen,) = cells
        case "mean":
            chosen = _mean_cell(cells)
        case "max" | "min" as extreme:
            chosen = (max if extreme == "max" else min)(cells, key=lambda cell: cell.interval.mean)
        case "argmax":
            return _argmax(claim, cells)
        case str() as reduction if reduction.startswith("quantile_"):
            return Number(cells[0].at, _pooled_quantile(float(reduction.removeprefix("quantile_")), cells), cells)
        case reduction:
            raise NotApplicable(f"no test for reduce = '{reduction}'")
    return Number(chosen.at, chosen.interval, cells)


def _argmax(claim: Claim, cells: Sequence[Cell]) -> Number:
    """Position of the largest mean, with an interval of all possible positions (argmax in judge/rule.py)."""
    argument = claim["argument"]
    means = [cell.interval for cell in cells]
    best = max(range(len(cells)), key=lambda i: means[i].mean)
    place = float(cells[best].at[argument])
    reach = 0.0
    for cell, mean in zip(cells, means, strict=True):
        width = math.hypot(mean.uncertainty, means[best].uncertainty)
        if cell is not cells[best] and means[best].mean - mean.mean <= width:
            reach = max(reach, abs(float(cell.at[argument]) - place))
    exact = all(mean.exact for mean in means)
    runs = min(mean.n for mean in means)
    known = runs > 1 or exact
    return Number(cells[best].at, Interval(place, reach if known else None, runs, exact), cells)


def _pooled_quantile(share: float, cells: Sequence[Cell]) -> Interval:
    def quantile(pooled: Sequence[float]) -> float:
        return sorted(pooled)[max(math.ceil(share * len(pooled)), 1) - 1]

    if len(cells) == 1 and len(cells[0].samples) == 1:  # already one number over all runs
        return cells[0].interval
    number = quantile([sample for cell in cells for sample in cell.samples])
    if all(cell.interval.exact for cell in cells):
        return Interval(number, None, 1, exact=True)
    runs = min(len(cell.samples) for cell in cells)
    without = [[sample for cell in cells for j, sample in enumerate(cell.samples) if j != i] for i in range(runs)]
    return jackknife(number, [quantile(rest) for rest in without if rest], cells[0].confidence)


def _mean_cell(cells: Sequence[Cell]) -> Cell:
    """The mean of cells in each replication, so that the interval accounts for correlated cells."""
    common = min(len(cell.samples) for cell in cells)
    means = [math.fsum(cell.samples[index] for cell in cells) / len(cells) for index in range(common)]
    at = {key: cells[0].at[key] for key in cells[0].at if all(cell.at[key] == cells[0].at[key] for cell in cells)}
    exact = next((cell.row for cell in cells if all(other.interval.exact for other in cells)), None)
    return Cell(at, tuple(means), cells[0].confidence, cells[0].experiment, exact)


def ratios(claim: Claim, tables: Mapping[str, Table]) -> list[Number]:
    """Ratios of numerator to denominator, reduced as the claim requires.

    The two points of a ratio have equal values of all variables that neither side fixes.
    """
    above, fixed_above = _side(claim, "numerator", tables)
    below, fixed_below = _side(claim, "denominator", tables)
    shared = [
        variable
        for variable in (below[0].at if below else ())
        if variable not in {"metric", *fixed_above, *fixed_below} and above and variable in above[0].at
    ]
    found = []
    for cell in above:
        partners = [other for other in below if all(other.at[key] == cell.at[key] for key in shared)]
        if len(partners) > 1:
            raise NotApplicable(f"the denominator is not one point at {point_text(cell.at, shared)}")
        if partners:
            ratio = quotient(cell.interval, partners[0].interval)
            if not math.isnan(ratio.mean):
                found.append(Number(cell.at, ratio, [cell, partners[0]]))
    return _reduced_ratios(claim, found)


def references(claim: Claim) -> list[tuple[str, dict[str, Any]]]:
    """The experiments that a ratio refers to, each with the values (`scheme` and variables) that it fixes."""
    sides = [claim.get("numerator", {}), claim.get("denominator", {})]
    fixed = [{key: value for key, value in side.items() if key not in {"experiment", "metric"}} for side in sides]
    return [(side["experiment"], values) for side, values in zip(sides, fixed, strict=True) if "experiment" in side]


def _side(claim: Claim, name: str, tables: Mapping[str, Table]) -> tuple[list[Cell], set[str]]:
    side = dict(claim[name])
    table = tables[side.pop("experiment", claim["experiment"])]
    metric = side.pop("metric", claim["metric"])
    schemes = names(side.get("scheme") or claim["scheme"])
    fixed = {key: value for key, value in side.items() if key != "scheme"}
    own = table.experiment == claim["experiment"] or name == "numerator"
    condition = {key: value for key, value in claim.get("condition", {}).items() if own and key not in fixed}
    predicate = claim.get("predicate") if own else None
    return table.cells(schemes, names(metric), {**condition, **fixed}, predicate), set(side)


def _reduced_ratios(claim: Claim, found: list[Number]) -> list[Number]:
    match claim.get("reduce", "every"):
        case "every" | "most":
            return found
        case "max" | "min" | "mean" if not found:
            return []
        case "max" | "min" as reduction:
            pick = max if reduction == "max" else min
            best = pick(found, key=lambda ratio: ratio.interval.mean)
            return [Number(best.at, best.interval, _cells(found))]
        case "mean":
            width = math.sqrt(math.fsum(ratio.interval.uncertainty**2 for ratio in found)) / len(found)
            mean = math.fsum(ratio.interval.mean for ratio in found) / len(found)
            exact = all(ratio.interval.exact for ratio in found)
            return [Number({}, _known(mean, width, min(ratio.interval.n for ratio in found), exact), _cells(found))]
        case reduction:
            raise NotApplicable(f"no test for reduce = '{reduction}' of a ratio")


def _cells(numbers: Sequence[Number]) -> list[Cell]:
    return [cell for number in numbers for cell in number.cells]


def quotient(above: Interval, below: Interval) -> Interval:
    """Quotient of two independent means, to first order in their half widths; NaN for 0/0 or infinite means."""
    runs, exact = min(above.n, below.n), above.exact and below.exact
    if below.mean == 0:
        return Interval(math.inf if above.mean > 0 else math.nan, None, runs, exact)
    if math.isinf(below.mean):
        return Interval(math.nan if math.isinf(above.mean) else 0.0, None, runs, exact or runs > 1)
    mean = above.mean / below.mean
    width = math.hypot(above.uncertainty, abs(mean) * below.uncertainty if mean else 0.0) / abs(below.mean)
    return _known(mean, width, runs, exact)


def _known(mean: float, width: float, runs: int, exact: bool) -> Interval:
    known = math.isfinite(width) and math.isfinite(mean) and not exact
    return Interval(mean, width if known else None, runs, exact)


def point_text(at: Point, variables: Sequence[str]) -> str:
    """Text about a point with some of its variables."""
    return ", ".join(
        str(at[variable]) if variable in {"scheme", "metric"} else f"{variable} = {at[variable]}"
        for variable in variables
    )
