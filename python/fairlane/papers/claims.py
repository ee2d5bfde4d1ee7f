"""Claims of a paper put to the test of measured grids.

A claim is a table of a paper's claims.toml, whose head says what its keys mean. Throughout, the half width of the
confidence interval of what is tested is added to the tolerance: of one mean for value, near, range, at_most, at_least
and flat trends; of a difference or quotient of two means, taken as independent, for ordering, trend and ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from fairlane.intervals import Interval, format_number
from fairlane.papers.expressions import ExpressionError, evaluate
from fairlane.papers.grid import Cell, Point, Table
from fairlane.papers.readings import Standing

Claim = Mapping[str, Any]
VerdictName = Literal["reproduced", "as ns-3", "differs", "not applicable"]

MOST = 0.8
"""Share of the points that must pass for `reduce = "most"`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a claim fared.

    Attributes:
        claim: Its id.
        statement: Its words.
        where: Place in the paper.
        verdict: Outcome.
        paper: What the paper says, as a number with its tolerance or as a rule.
        measured: What was measured.
        worst: The point that is farthest out, or nearest to it; empty where there is one point only.
        passed: Number of checks that passed,
        checks: of so many.
        ns3: What ns-3 gives at its farthest point, if it was asked (papers/ns3.py).
        standing: Whether it is an independent test of the paper (papers/readings.py).
        reading: The reading that its numbers chose; empty if they chose none.
    """

    claim: str
    statement: str
    where: str
    verdict: VerdictName
    paper: str
    measured: str
    worst: str = ""
    passed: int = 0
    checks: int = 0
    ns3: str = ""
    standing: Standing = "independent"
    reading: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The verdict as a table."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison of a claim.

    Attributes:
        at: Its point.
        text: The measured numbers.
        mean: The measured mean, if it is one.
        excess: By how much the comparison is missed, relative to the numbers compared; it holds if not above 0.
    """

    at: Point
    text: str
    mean: float | None
    excess: float


class NotApplicable(Exception):  # noqa: N818 it is an outcome, not an error
    """The claim cannot be put to the test; the message says why."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """What a claim is about, where that is neither a metric of a point nor one of its reductions.

    Attributes:
        table: Makes the table that the claim is tested on from those that were measured, by experiment id; None if
            what it needs was not measured.
        needs: Experiments that it takes, besides the claim's own.
    """

    table: Callable[[Mapping[str, Table]], Table | None]
    needs: Sequence[str] = ()


def judge(claim: Claim, tables: Mapping[str, Table], statistic: Statistic | None = None) -> Verdict:
    """Tests a claim on the tables of its experiment and of those that it refers to, by experiment id."""
    try:
        if statistic:
            made = statistic.table(tables)
            tables = {**tables, claim["experiment"]: made or replace(tables[claim["experiment"]], rows=())}
        elif "statistic" in claim:
            raise NotApplicable(f"no test for the statistic '{claim['statistic']}'")
        checks = checks_of(claim, tables)
        if not checks:
            raise NotApplicable("nothing was measured at the points of the claim")
    except (NotApplicable, ExpressionError) as reason:
        return _verdict(claim, "not applicable", measured=str(reason))
    passed = sum(check.excess <= 0 for check in checks)
    needed = MOST * len(checks) if claim.get("reduce") == "most" else len(checks)
    worst = max(checks, key=lambda check: check.excess)
    return _verdict(
        claim,
        "reproduced" if passed >= needed else "differs",
        measured=_summary(checks),
        worst=f"{_place(worst, checks)}: {worst.text}" if len(checks) > 1 else "",
        passed=passed,
        checks=len(checks),
    )


def checks_of(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    """The comparisons of a claim that is about metrics of points."""
    return _KINDS[claim["kind"]](claim, tables)


def references(claim: Claim) -> list[tuple[str, dict[str, Any]]]:
    """The experiments that a ratio refers to, each with the values that it fixes (`scheme` and variables)."""
    sides = [claim.get("numerator", {}), claim.get("denominator", {})]
    fixed = [{key: value for key, value in side.items() if key not in {"experiment", "metric"}} for side in sides]
    return [(side["experiment"], values) for side, values in zip(sides, fixed, strict=True) if "experiment" in side]


def expectation(claim: Claim, cell: Cell, table: Table) -> float | None:
    """The number that the claim gives for a cell; None if it gives none for this one."""
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


def names(value: str | Sequence[str]) -> list[str]:
    """A key that holds one name or a list of them."""
    return [value] if isinstance(value, str) else list(value)


def select(claim: Claim, tables: Mapping[str, Table]) -> list[Cell]:
    """The cells that a claim is about."""
    return tables[claim["experiment"]].cells(
        names(claim["scheme"]), names(claim["metric"]), claim.get("condition"), claim.get("predicate")
    )


def tolerance(claim: Claim, number: float, metric: str) -> float:
    """The larger of the absolute tolerance and the one relative to `number`."""
    given: Mapping[str, float] | None = claim.get("tolerance", {}).get(metric)
    if given is None:
        given = {"rel": claim.get("tol_rel", 0.0), "abs": claim.get("tol_abs", 0.0)}
    return max(given.get("rel", 0.0) * abs(number), given.get("abs", 0.0))


# The kinds.


def _check_value(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    checks = []
    for cell, measured in _reduced(claim, select(claim, tables)):
        expected = expectation(claim, cell, tables[claim["experiment"]])
        if expected is not None:
            allowed = tolerance(claim, expected, cell.at["metric"])
            checks.append(_check(cell.at, measured, abs(measured.mean - expected) - allowed, expected))
    return checks


def _check_bounds(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    """range, at_most, at_least."""
    checks = []
    for cell, measured in _reduced(claim, select(claim, tables)):
        if claim["kind"] == "range":
            low, high = claim.get("min"), claim.get("max")
        else:
            bound = expectation(claim, cell, tables[claim["experiment"]])
            low, high = (None, bound) if claim["kind"] == "at_most" else (bound, None)
        checks.append(_within(claim, cell.at, measured, low, high))
    return checks


def _check_ratio(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    checks = []
    for at, measured in _reduced_ratios(claim, _ratios(claim, tables)):
        if "min" in claim or "max" in claim:
            checks.append(_within(claim, at, measured, claim.get("min"), claim.get("max")))
        else:
            allowed = tolerance(claim, claim["value"], "")
            checks.append(_check(at, measured, abs(measured.mean - claim["value"]) - allowed, claim["value"]))
    return checks


def _check_ordering(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    over, order = claim["over"], claim["order"]
    keep = None if claim.get("reduce", "every") in {"every", "most"} else {"scheme", "metric"}
    checks = []
    for at, cells in _groups(select(claim, tables), without=over, keep=keep):
        means = []
        for value in order:
            side = [cell for cell in cells if cell.at[over] == value]
            if not side:
                break
            means.append(_reduce(claim, side)[1])
        else:
            checks.append(_falling(claim, at, means))
    return checks


def _falling(claim: Claim, at: Point, means: Sequence[Interval]) -> Check:
    def excess(high: Interval, low: Interval) -> float:
        allowed = [_above(high, low, factor=1 - claim.get("tol_rel", 0.0))]
        if "tol_abs" in claim:
            allowed.append(_above(high, low, less=claim["tol_abs"]))  # the larger tolerance counts
        wanted = [_above(high, low, factor=1 + claim["margin"])] if "margin" in claim else []
        return max([min(allowed), *wanted])

    worst = max(excess(high, low) for high, low in pairwise(means))
    return Check(at, " against ".join(str(mean) for mean in means), None, worst)


def _above(high: Interval, low: Interval, factor: float = 1.0, less: float = 0.0) -> float:
    """By how much `high` misses `factor * low - less`."""
    missed = factor * low.mean - less - high.mean - math.hypot(high.slack, factor * low.slack)
    return _relative(missed, high.mean, low.mean)


def _check_trend(claim: Claim, tables: Mapping[str, Table]) -> list[Check]:
    over = claim["over"]
    values = tables[claim["experiment"]].grid[over]
    checks = []
    for at, cells in _groups(select(claim, tables), without=over):
        means = [cell.interval for cell in sorted(cells, key=lambda cell: values.index(cell.at[over]))]
        if len(means) > 1:
            excess = max(_shape_excess(claim, means), _ends_excess(claim, means))
            places = sorted((cell.at[over] for cell in cells), key=values.index)
            text = f"{means[0]} at {over} = {places[0]} to {means[-1]} at {over} = {places[-1]}"
            checks.append(Check(at, text, None, excess))
    return checks


def _shape_excess(claim: Claim, means: Sequence[Interval]) -> float:
    match claim["direction"]:
        case "up":
            return _step_excess(claim, means, up=True)
        case "down":
            return _step_excess(claim, means, up=False)
        case "up_then_down" | "down_then_up" as direction:
            rises_first = direction == "up_then_down"
            turns = [
                max(
                    _step_excess(claim, means[: turn + 1], up=rises_first),
                    _step_excess(claim, means[turn:], up=not rises_first),
                )
                for turn in range(1, len(means) - 1)
            ]
            return min(turns, default=math.inf)
        case "flat":
            centre = math.fsum(mean.mean for mean in means) / len(means)
            allowed = tolerance(claim, centre, "")
            return max(_relative(abs(m.mean - centre) - allowed - m.slack, centre, m.mean) for m in means)
        case direction:
            raise NotApplicable(f"no test for the direction '{direction}'")


def _step_excess(claim: Claim, means: Sequence[Interval], *, up: bool) -> float:
    """By how much the largest step back between neighbours is too large."""

    def excess(before: Interval, after: Interval) -> float:
        back = before.mean - after.mean if up else after.mean - before.mean
        allowed = max(claim.get("step_rel", 0.0) * abs(before.mean), claim.get("step_abs", 0.0))
        return _relative(back - allowed - math.hypot(before.slack, after.slack), before.mean, after.mean)

    return max(excess(before, after) for before, after in pairwise(means))


def _ends_excess(claim: Claim, means: Sequence[Interval]) -> float:
    excesses = [-math.inf]
    for key, end in (("from", means[0]), ("to", means[-1])):
        if key in claim:
            distance = abs(end.mean - claim[key]) - tolerance(claim, claim[key], "") - end.slack
            excesses.append(_relative(distance, claim[key], end.mean))
    if "margin" in claim:
        first, last = means[0], means[-1]
        change = last.mean - first.mean if claim["direction"] == "up" else first.mean - last.mean
        missing = claim["margin"] * abs(first.mean) - change - math.hypot(first.slack, last.slack)
        excesses.append(_relative(missing, first.mean, last.mean))
    return max(excesses)


_KINDS: dict[str, Callable[[Claim, Mapping[str, Table]], list[Check]]] = {
    "value": _check_value,
    "near": _check_value,
    "range": _check_bounds,
    "at_most": _check_bounds,
    "at_least": _check_bounds,
    "ordering": _check_ordering,
    "trend": _check_trend,
    "ratio": _check_ratio,
}


# Selecting, grouping, reducing.


def _groups(cells: Sequence[Cell], without: str, keep: set[str] | None = None) -> list[tuple[Point, list[Cell]]]:
    """Cells that agree in every variable but `without`, or in those of `keep` alone."""
    groups: dict[Hashable, tuple[Point, list[Cell]]] = {}
    for cell in cells:
        at = {key: value for key, value in cell.at.items() if key != without and (keep is None or key in keep)}
        groups.setdefault(tuple(at.items()), (at, []))[1].append(cell)
    return list(groups.values())


def _reduced(claim: Claim, cells: Sequence[Cell]) -> list[tuple[Cell, Interval]]:
    """What is tested: every cell, or one number for each scheme and metric."""
    if claim.get("reduce", "every") in {"every", "most"}:
        return [(cell, cell.interval) for cell in cells]
    return [_reduce(claim, group) for _, group in _groups(cells, without="", keep={"scheme", "metric"})]


def _reduce(claim: Claim, cells: Sequence[Cell]) -> tuple[Cell, Interval]:
    """One number for several cells, and the cell that stands for them."""
    match claim.get("reduce", "every"):
        case "every" | "most":
            (cell,) = cells
            return cell, cell.interval
        case "mean":
            merged = _mean_cell(cells)
            return merged, merged.interval
        case "max":
            best = max(cells, key=lambda cell: cell.interval.mean)
            return best, best.interval
        case "min":
            best = min(cells, key=lambda cell: cell.interval.mean)
            return best, best.interval
        case "argmax":
            best = max(cells, key=lambda cell: cell.interval.mean)
            return best, Interval(float(best.at[claim["argument"]]), None, len(best.samples))
        case str() as reduce if reduce.startswith("quantile_"):
            pooled = sorted(sample for cell in cells for sample in cell.samples)
            rank = math.ceil(float(reduce.removeprefix("quantile_")) * len(pooled))
            return cells[0], Interval(pooled[max(rank, 1) - 1], None, len(pooled))
        case reduce:
            raise NotApplicable(f"no test for reduce = '{reduce}'")


def _mean_cell(cells: Sequence[Cell]) -> Cell:
    """The mean of cells in each replication, so that its interval allows for cells that vary together."""
    common = min(len(cell.samples) for cell in cells)
    means = [math.fsum(cell.samples[index] for cell in cells) / len(cells) for index in range(common)]
    at = {key: cells[0].at[key] for key in cells[0].at if all(cell.at[key] == cells[0].at[key] for cell in cells)}
    return Cell(at, tuple(means), cells[0].confidence)


def _ratios(claim: Claim, tables: Mapping[str, Table]) -> list[tuple[Point, Interval]]:
    """Numerator over denominator at equal values of all variables that neither side fixes."""
    above, fixed_above = _side(claim, "numerator", tables)
    below, fixed_below = _side(claim, "denominator", tables)
    shared = [
        variable
        for variable in (below[0].at if below else ())
        if variable not in {"metric", *fixed_above, *fixed_below} and above and variable in above[0].at
    ]
    ratios = []
    for cell in above:
        partners = [other for other in below if all(other.at[key] == cell.at[key] for key in shared)]
        if len(partners) > 1:
            raise NotApplicable(f"the denominator is not one point at {_point_text(cell.at, shared)}")
        if partners:
            ratios.append((cell.at, _quotient(cell.interval, partners[0].interval)))
    return ratios


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


def _reduced_ratios(claim: Claim, ratios: list[tuple[Point, Interval]]) -> list[tuple[Point, Interval]]:
    match claim.get("reduce", "every"):
        case "every" | "most":
            return ratios
        case "max" | "min" as reduce if ratios:
            pick = max if reduce == "max" else min
            return [pick(ratios, key=lambda ratio: ratio[1].mean)]
        case "mean" if ratios:
            slack = math.sqrt(math.fsum(ratio.slack**2 for _, ratio in ratios)) / len(ratios)
            mean = math.fsum(ratio.mean for _, ratio in ratios) / len(ratios)
            return [({}, Interval(mean, slack, ratios[0][1].n))]
        case reduce:
            raise NotApplicable(f"no test for reduce = '{reduce}' of a ratio")


def _quotient(above: Interval, below: Interval) -> Interval:
    """Quotient of two independent means; relative half widths add as squares."""
    if below.mean == 0:
        return Interval(math.inf, None, min(above.n, below.n))
    mean = above.mean / below.mean
    if above.mean == 0 or not math.isfinite(mean):
        return Interval(mean, None, min(above.n, below.n))
    relative = math.hypot(above.slack / above.mean, below.slack / below.mean)
    return Interval(mean, abs(mean) * relative, min(above.n, below.n))


def _within(claim: Claim, at: Point, measured: Interval, low: float | None, high: float | None) -> Check:
    metric = at.get("metric", "")
    excesses = []
    if low is not None:
        excesses.append((low - tolerance(claim, low, metric) - measured.mean, low))
    if high is not None:
        excesses.append((measured.mean - high - tolerance(claim, high, metric), high))
    excess, bound = max(excesses)
    return _check(at, measured, excess, bound)


def _check(at: Point, measured: Interval, excess: float, expected: float) -> Check:
    return Check(at, str(measured), measured.mean, _relative(excess - measured.slack, expected, measured.mean))


def _relative(excess: float, *numbers: float) -> float:
    """`excess` in units of the larger number, so that the worst of several checks can be told."""
    # Floating-point noise of tolerances must not decide: 0.1 + 0.2 is within 0.3.
    if math.isinf(excess):
        return excess
    scale = max(abs(number) for number in numbers)
    relative = excess / scale if scale else excess
    return relative if abs(relative) > 1e-12 else 0.0


# Words.


def _verdict(claim: Claim, verdict: VerdictName, **measured: Any) -> Verdict:
    return Verdict(claim["id"], claim["statement"], claim["where"], verdict, paper_text(claim), **measured)


def paper_text(claim: Claim) -> str:
    """What the claim demands, in short."""
    unit = f" {claim['unit']}" if claim.get("unit", "1") != "1" else ""
    reduce = claim.get("reduce", "every")
    what = "" if reduce in {"every", "most"} else f"{reduce}: "
    if reduce == "argmax":
        what = f"best {claim['argument']}: "
    match claim["kind"]:
        case "ordering":
            order = " ≥ ".join(str(value) for value in claim["order"])
            by = f" by {claim['margin']:.0%}" if "margin" in claim else _tolerance_text(claim)
            return f"{what}{claim['over']}: {order}{by}"
        case "trend":
            ends = f", {claim['from']} to {claim['to']}{unit}" if "from" in claim else ""
            by = f" by {claim['margin']:.0%}" if "margin" in claim else ""
            direction = claim["direction"].replace("_", " ")
            return f"{direction} over {claim['over']}{by}{ends}{_tolerance_text(claim)}"
        case "ratio":
            what = "ratio "
    return f"{what}{_demand(claim)}{unit}{_tolerance_text(claim)}"


def _demand(claim: Claim) -> str:
    if "min" in claim or "max" in claim:
        low, high = claim.get("min"), claim.get("max")
        if low is not None and high is not None:
            return f"{low} to {high}"
        return f"≥ {low}" if low is not None else f"≤ {high}"
    if "expect" in claim:
        return ", ".join(f"{metric} {number}" for metric, number in claim["expect"].items())
    if "points" in claim:
        return ", ".join(f"{number} at {point}" for point, number in zip(claim["points"], claim["values"], strict=True))
    sign = {"at_most": "≤ ", "at_least": "≥ "}.get(claim["kind"], "")
    return f"{sign}{claim.get('value', claim.get('formula'))}"


def _tolerance_text(claim: Claim) -> str:
    parts = []
    if claim.get("tol_rel"):
        parts.append(f"{100 * claim['tol_rel']:.3g}%")
    if claim.get("tol_abs"):
        parts.append(format_number(claim["tol_abs"]))
    if claim.get("step_rel"):
        parts.append(f"steps back {100 * claim['step_rel']:.3g}%")
    return f" (± {', '.join(parts)})" if parts else ""


def _summary(checks: Sequence[Check]) -> str:
    if len(checks) == 1:
        return checks[0].text
    held = sum(check.excess <= 0 for check in checks)
    means = [check.mean for check in checks if check.mean is not None]
    if not means:
        return f"holds {held} times of {len(checks)}"
    return f"{format_number(min(means))} to {format_number(max(means))}, holds at {held} of {len(checks)} points"


def _place(check: Check, checks: Sequence[Check]) -> str:
    """The point of a test, by the variables in which the checks differ."""
    varying = [key for key in check.at if any(other.at.get(key) != check.at[key] for other in checks)]
    return _point_text(check.at, varying)


def _point_text(at: Point, variables: Sequence[str]) -> str:
    return ", ".join(
        str(at[variable]) if variable in {"scheme", "metric"} else f"{variable} = {at[variable]}"
        for variable in variables
    )
