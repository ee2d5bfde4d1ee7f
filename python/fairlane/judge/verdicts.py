"""Tests claims of a paper on measured grids.

A claim is a table in a paper's claims.toml; the comment at the start of that file explains the keys. judge/checks.py
has the comparisons for each kind of claim; judge/rule.py has the rule that decides them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from fairlane.judge.checks import Check, checks_of
from fairlane.judge.claim import Claim, names, paper_text, unit_of
from fairlane.judge.expressions import ExpressionError
from fairlane.judge.grid import Cell, Row, Table, matches
from fairlane.judge.readings import Standing
from fairlane.judge.reductions import NotApplicable, point_text
from fairlane.judge.rule import Outcome, together
from fairlane.results.intervals import format_number, jackknife

VerdictName = Literal["reproduced", "as ns-3", "inconclusive", "differs", "not applicable", "consistent", "deviates"]

QUICK: Mapping[VerdictName, VerdictName] = {"reproduced": "consistent", "differs": "deviates"}
"""Names of verdicts of quick runs, which are only a preview."""

MOST = 0.8
"""Share of the points that must pass for `reduce = "most"`."""


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """Measured value of one metric of a claim."""

    metric: Annotated[str, "Name of the metric."]
    unit: Annotated[str, "Unit of the metric; empty if it has none."]
    verdict: Annotated[Outcome, "Outcome of this metric alone."]
    paper: Annotated[str, "The paper's value, as a number with tolerance or as a rule."]
    measured: Annotated[str, "Measured value."]
    worst: Annotated[str, "Point with the largest deviation, or the smallest margin; empty for a single point."]
    passed: Annotated[int, "Number of reproduced comparisons."]
    checks: Annotated[int, "Number of comparisons."]
    runs: Annotated[int, "Largest number of replications of a point; 0 if nothing was sampled."]


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """Verdict on a claim of a paper."""

    claim: Annotated[str, "Identifier."]
    statement: Annotated[str, "Statement of the claim."]
    where: Annotated[str, "Place in the paper."]
    verdict: Annotated[VerdictName, "Outcome; quick runs give consistent or deviates, never reproduced or differs."]
    findings: Annotated[Sequence[ClaimFinding], "Findings for each metric; empty if the claim cannot be tested."] = ()
    reason: Annotated[str, "Why the claim cannot be tested; empty if it can."] = ""
    ns3: Annotated[str, "Result of ns-3 at the point with the largest deviation; empty if it was not run."] = ""
    standing: Annotated[
        Standing,
        "Independent if it tests the paper; not independent if its numbers chose a reading, arithmetic if it only "
        "computes a number again, added if it is not in the paper.",
    ] = "independent"
    reading: Annotated[
        str, "Interpretation of the paper that the claim's numbers were used to choose; empty if none."
    ] = ""

    @property
    def runs(self) -> int:
        """Maximum number of replications of a point."""
        return max((finding.runs for finding in self.findings), default=0)

    @property
    def measured(self) -> str:
        """Measured values by metric, or the reason why there are none."""
        if len(self.findings) == 1:
            return self.findings[0].measured
        return "; ".join(f"{finding.metric} {finding.measured}" for finding in self.findings) or self.reason

    def quick(self) -> ClaimVerdict:
        """The verdict with the names for quick runs."""
        return replace(self, verdict=QUICK.get(self.verdict, self.verdict))

    def to_dict(self) -> dict[str, Any]:
        """The verdict as a table."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Statistic:
    """Statistic for claims that are about neither a metric of a point nor a reduction of metrics.

    Attributes:
        table: Computes the table to test from the measured tables, given by experiment id. Returns None if a measured
            table is missing. A number over all replications gets a jackknife interval.
        needs: Experiments needed in addition to the claim's own.
        extreme: True for a minimum or maximum over all runs, which is not an estimate and has no interval.
    """

    table: Callable[[Mapping[str, Table]], Table | None]
    needs: Sequence[str] = ()
    extreme: bool = False

    def of(self, tables: Mapping[str, Table]) -> Table | None:
        """The table; numbers over several replications have intervals."""
        made = self.table(tables)
        runs = min((table.replications for table in tables.values() if table.replications), default=0)
        if made is None or runs < 2:
            return made
        single = [row for row in made.rows if not row.exact and row.replications == 1]
        if not single:
            return made
        if self.extreme:
            return replace(made, rows=[replace(row, exact=True) for row in made.rows])
        without = [self.table({name: table.without(i) for name, table in tables.items()}) for i in range(runs)]
        rows = [_with_interval(row, without, made.confidence) if row in single else row for row in made.rows]
        return replace(made, rows=rows)


def rows_at(experiment: str, **at: Any) -> Statistic:
    """The rows of an experiment that have these values."""

    def table(tables: Mapping[str, Table]) -> Table:
        own = tables[experiment]
        return replace(own, rows=[row for row in own.rows if matches(row.at, at, own.grid)])

    return Statistic(table)


def judge(claim: Claim, tables: Mapping[str, Table], statistic: Statistic | None = None) -> ClaimVerdict:
    """Tests a claim on the tables (by experiment id) of its experiment and of all experiments that it refers to."""
    try:
        checks = examine(claim, tables, statistic)
    except (NotApplicable, ExpressionError) as reason:
        return _verdict(claim, "not applicable", reason=str(reason))
    findings = _findings(claim, checks)
    if statistic:  # computed from the runs of all points
        runs = max((row.replications for table in tables.values() for row in table.rows if not row.exact), default=0)
        findings = [replace(finding, runs=runs) for finding in findings]
    return _verdict(claim, _outcome(claim, checks), findings=findings)


def undecided(claim: Claim, tables: Mapping[str, Table], statistic: Statistic | None = None) -> list[Cell]:
    """The points that keep a claim inconclusive; empty if it is decided."""
    with suppress(NotApplicable, ExpressionError):
        checks = examine(claim, tables, statistic)
        if _outcome(claim, checks) == "inconclusive":
            return [cell for check in checks if check.outcome == "inconclusive" for cell in check.cells]
    return []


def examine(claim: Claim, tables: Mapping[str, Table], statistic: Statistic | None = None) -> list[Check]:
    """All comparisons of a claim.

    Raises:
        NotApplicable: The tables contain nothing to compare.
        ExpressionError: A formula or predicate is wrong.
    """
    if statistic:
        made = statistic.of(tables)
        tables = {**tables, claim["experiment"]: made or replace(tables[claim["experiment"]], rows=())}
    elif "statistic" in claim:
        raise NotApplicable(f"no test for the statistic '{claim['statistic']}'")
    checks = checks_of(claim, tables)
    if not checks:
        raise NotApplicable("nothing was measured at the points of the claim")
    return checks


def _with_interval(row: Row, without: Sequence[Table | None], confidence: float) -> Row:
    """The row with jackknife intervals of its numbers."""
    others = [next((other for other in table.rows if other.at == row.at), None) if table else None for table in without]
    half_widths: dict[str, float | None] = {}
    for name, (number,) in row.samples.items():
        left = [other.samples[name][0] for other in others if other is not None]
        known = [value for value in left if value is not None]
        complete = number is not None and len(known) == len(without)
        half_widths[name] = jackknife(number, known, confidence).half_width if complete and number is not None else None
    return replace(row, half_widths=half_widths)


def _outcome(claim: Claim, checks: Sequence[Check]) -> Outcome:
    return together([check.outcome for check in checks], MOST if claim.get("reduce") == "most" else 1.0)


def _findings(claim: Claim, checks: Sequence[Check]) -> list[ClaimFinding]:
    """One finding per metric."""
    by_metric: dict[str, list[Check]] = {}
    for check in checks:
        by_metric.setdefault(check.at.get("metric", ", ".join(names(claim["metric"]))), []).append(check)
    return [_finding(claim, metric, own) for metric, own in by_metric.items()]


def _finding(claim: Claim, metric: str, checks: Sequence[Check]) -> ClaimFinding:
    worst = max(checks, key=lambda check: check.comparison.badness)
    return ClaimFinding(
        metric=metric,
        unit=unit_of(claim, metric),
        verdict=_outcome(claim, checks),
        paper=paper_text(claim, metric),
        measured=_summary(checks),
        worst=f"{_place(worst, checks)}: {worst.text}" if len(checks) > 1 else "",
        passed=sum(check.outcome == "reproduced" for check in checks),
        checks=len(checks),
        runs=max(
            (cell.row.replications for check in checks for cell in check.cells if cell.row and not cell.row.exact),
            default=0,
        ),
    )


def _verdict(claim: Claim, verdict: VerdictName, **measured: Any) -> ClaimVerdict:
    return ClaimVerdict(claim["id"], claim["statement"], claim["where"], verdict, **measured)


def _summary(checks: Sequence[Check]) -> str:
    if len(checks) == 1:
        return checks[0].text
    held = sum(check.outcome == "reproduced" for check in checks)
    means = [check.mean for check in checks if check.mean is not None]
    if not means:
        return f"holds {held} times of {len(checks)}"
    return f"{format_number(min(means))} to {format_number(max(means))}, holds at {held} of {len(checks)} points"


def _place(check: Check, checks: Sequence[Check]) -> str:
    """Describes the point of a check by the variables in which the checks differ."""
    varying = [key for key in check.at if any(other.at.get(key) != check.at[key] for other in checks)]
    return point_text(check.at, varying)
