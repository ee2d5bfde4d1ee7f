"""Creates the comparisons for each kind of claim; judge/rule.py decides whether a comparison holds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from fairlane.judge.claim import Claim, steps
from fairlane.judge.expressions import evaluate
from fairlane.judge.grid import Cell, Point, Table
from fairlane.judge.reductions import NotApplicable, Number, groups, is_each, ratios, reduce, reduced, select
from fairlane.judge.rule import Comparison, Outcome, best, compared, near, within, worst
from fairlane.results.intervals import Interval


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison of a claim.

    Attributes:
        at: Point of the comparison.
        text: The measured numbers.
        mean: The measured mean, if there is one.
        comparison: Comparison of the numbers with the claim.
        cells: The measured points.
    """

    at: Point
    text: str
    mean: float | None
    comparison: Comparison
    cells: Sequence[Cell]

    @property
    def outcome(self) -> Outcome:
        """Outcome by the rule."""
        return self.comparison.outcome


def checks_of(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    """The comparisons of a claim about metrics of points."""
    return _KINDS[claim["kind"]](claim, tables)


def expectation(claim: Claim, cell: Cell | Number, table: Table) -> float | None:
    """The number that the claim states for a cell, or None."""
    if "expect" in claim:
        number = claim["expect"].get(cell.at["metric"])
    elif "points" in claim:
        by_point = dict(zip(claim["points"], claim["values"], strict=True))
        number = by_point.get(table.value(cell.at, claim["over"]))
    elif "value" in claim:
        number = claim["value"]
    else:
        number = evaluate(claim["formula"], {**table.parameters, **cell.at})
    return None if number is None else float(number)


def tolerance(claim: Claim, number: float, metric: str) -> float:
    """The larger of the absolute tolerance and the tolerance relative to `number`."""
    given: Mapping[str, float] | None = claim.get("tolerance", {}).get(metric)
    if given is None:
        given = {"rel": claim.get("tol_rel", 0.0), "abs": claim.get("tol_abs", 0.0)}
    return max(given.get("rel", 0.0) * abs(number), given.get("abs", 0.0))


def _check_numbers(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    """Compares numbers with a value or with bounds, for the kinds value, near, range, at_most, at_least and ratio."""
    kind = claim["kind"]
    checks = []
    for number in ratios(claim, tables) if kind == "ratio" else reduced(claim, select(claim, tables)):
        if kind == "range" or (kind == "ratio" and ("min" in claim or "max" in claim)):
            checks.append(_within(claim, number, claim.get("min"), claim.get("max")))
            continue
        expected = claim["value"] if kind == "ratio" else expectation(claim, number, tables[claim["experiment"]])
        if kind in {"at_most", "at_least"}:
            checks.append(_within(claim, number, *((None, expected) if kind == "at_most" else (expected, None))))
        elif expected is not None:
            allowed = tolerance(claim, expected, "" if kind == "ratio" else number.at["metric"])
            checks.append(_check(number, near(number.interval, expected, allowed)))
    return checks


def _within(claim: Claim, number: Number, low: float | None, high: float | None) -> Check:
    metric = number.at.get("metric", "")
    given: list[tuple[Literal["min", "max"], float | None]] = [("min", low), ("max", high)]
    bounds = [(kind, bound, tolerance(claim, bound, metric)) for kind, bound in given if bound is not None]
    return _check(number, within(number.interval, *bounds))


def _check(number: Number, comparison: Comparison) -> Check:
    return Check(number.at, str(number.interval), number.interval.mean, comparison, number.cells)


def _check_ordering(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    over = claim["over"]
    checks = []
    for at, cells in groups(select(claim, tables), without=over, keep=None if is_each(claim) else {"scheme", "metric"}):
        sides = [[[cell for cell in cells if cell.at[over] == value] for value in step] for step in steps(claim)]
        flat = [side for step in sides for side in step]
        if all(flat):
            means = [[reduce(claim, side).interval for side in step] for step in sides]
            text = " against ".join(", ".join(map(str, step)) for step in means)
            pairs = [pair for above, below in pairwise(means) for pair in itertools.product(above, below)]
            comparison = worst(*(_falls(claim, high, low) for high, low in pairs))
            checks.append(Check(at, text, None, comparison, [cell for side in flat for cell in side]))
    return checks


def _falls(claim: Claim, high: Interval, low: Interval) -> Comparison:
    """Checks that `high` is at least `low` minus the claim's larger tolerance, and above `low` by any margin."""
    short = claim.get("tol_rel", 0.0)
    allowed = [_above(high, low, 1 - short, 0.0, short * abs(low.mean))]
    if "tol_abs" in claim:
        allowed.append(_above(high, low, 1.0, claim["tol_abs"], claim["tol_abs"]))
    wanted = [_above(high, low, 1 + claim["margin"], 0.0, 0.0)] if "margin" in claim else []
    return worst(best(*allowed), *wanted)


def _above(high: Interval, low: Interval, factor: float, less: float, allowed: float) -> Comparison:
    """Checks that `high` is at least `factor * low - less`."""
    missed = _difference(factor * low.mean - less, high.mean)
    return compared(missed, math.hypot(high.uncertainty, factor * low.uncertainty), allowed, high.mean, low.mean)


def _difference(a: float, b: float) -> float:
    """The difference; 0 for equal infinite numbers."""
    return 0.0 if a == b else a - b


def _check_trend(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    over = claim["over"]
    values = tables[claim["experiment"]].grid[over]
    checks = []
    for at, group in groups(select(claim, tables), without=over):
        cells = sorted(group, key=lambda cell: values.index(cell.at[over]))
        means = [cell.interval for cell in cells]
        if len(means) > 1:
            first, last = cells[0].at[over], cells[-1].at[over]
            text = f"{means[0]} at {over} = {first} to {means[-1]} at {over} = {last}"
            comparison = worst(_shape(claim, means), *_ends(claim, means))
            checks.append(Check(at, text, None, comparison, cells))
    return checks


def _shape(claim: Claim, means: Sequence[Interval]) -> Comparison:
    match claim["direction"]:
        case "up" | "down" as direction:
            return _way(claim, means, up=direction == "up")
        case "up_then_down" | "down_then_up" as direction:
            rises_first = direction == "up_then_down"
            turns = [
                worst(_way(claim, means[: turn + 1], up=rises_first), _way(claim, means[turn:], up=not rises_first))
                for turn in range(1, len(means) - 1)
            ]
            return best(*turns) if turns else Comparison(math.inf, 0.0, 0.0, 1.0)
        case "flat":
            centre = math.fsum(mean.mean for mean in means) / len(means)
            return worst(*(near(mean, centre, tolerance(claim, centre, "")) for mean in means))
        case direction:
            raise NotApplicable(f"no test for the direction '{direction}'")


def _way(claim: Claim, means: Sequence[Interval], *, up: bool) -> Comparison:
    """Checks the largest step back of a rise or fall. Also compares its ends, since small steps back could add up."""
    low, high = (means[0], means[-1]) if up else (means[-1], means[0])
    width = math.hypot(low.uncertainty, high.uncertainty)
    missed = _difference(low.mean, high.mean) or (0.0 if width else math.inf)  # equal numbers are not a rise
    ends = compared(missed, width, 0.0, low.mean, high.mean)
    return worst(_worst_step(claim, means, up=up), ends)


def _worst_step(claim: Claim, means: Sequence[Interval], *, up: bool) -> Comparison:
    """Checks the worst step back between neighbours."""

    def step(before: Interval, after: Interval) -> Comparison:
        back = _difference(before.mean, after.mean) if up else _difference(after.mean, before.mean)
        allowed = max(claim.get("step_rel", 0.0) * abs(before.mean), claim.get("step_abs", 0.0))
        width = math.hypot(before.uncertainty, after.uncertainty)
        return compared(back - allowed, width, allowed, before.mean, after.mean)

    return worst(*(step(before, after) for before, after in pairwise(means)))


def _ends(claim: Claim, means: Sequence[Interval]) -> list[Comparison]:
    """Checks the values at the ends, and the minimum change between them."""
    first, last = means[0], means[-1]
    found = [
        near(end, claim[key], tolerance(claim, claim[key], ""))
        for key, end in (("from", first), ("to", last))
        if key in claim
    ]
    if "margin" in claim:
        margin, rises = claim["margin"], claim["direction"] == "up"
        missing = margin * abs(first.mean) - (last.mean - first.mean if rises else first.mean - last.mean)
        width = math.hypot((1 + margin if rises else 1 - margin) * first.uncertainty, last.uncertainty)
        found.append(compared(missing, width, 0.0, first.mean, last.mean))
    return found


_KINDS: dict[str, Callable[[Claim, Mapping[str, Table]], list[Check]]] = {
    **dict.fromkeys(("value", "near", "range", "at_most", "at_least", "ratio"), _check_numbers),
    "ordering": _check_ordering,
    "trend": _check_trend,
}
