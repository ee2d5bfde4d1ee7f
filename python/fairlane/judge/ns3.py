"""Compares claims that differ with results of ns-3 at the same points.

A claim that differs counts as agreeing with ns-3 under three conditions:

1. The claim also differs in ns-3, at one of the points at which it differs here.

2. All numbers agree by the rule of claims (judge/rule.py). The means differ by at most 5 % of ns-3's mean. The half
width of the 95 % interval of the difference (Welch) is also at most 5 % of ns-3's mean.

3. The claim also differs in ns-3 as shipped, with ns-3's default socket buffer.

benches/ns3/claims.py writes the numbers into the paper's ns3.toml.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairlane.base import toml
from fairlane.judge.checks import checks_of
from fairlane.judge.claim import Claim
from fairlane.judge.grid import Row, Table
from fairlane.judge.rule import compared
from fairlane.judge.verdicts import ClaimVerdict
from fairlane.results.intervals import half_width_of_sum, interval

CONFIDENCE = 0.95
TOLERANCE = 0.05


@dataclass(frozen=True)
class Ns3:
    """Results of ns-3.

    Attributes:
        version: Version of ns-3.
        rows: Rows by claim id, then by experiment id.
        shipped: Rows with ns-3's default socket buffer, only for points where this buffer can matter.
    """

    version: str
    rows: Mapping[str, Mapping[str, Sequence[Row]]]
    shipped: Mapping[str, Mapping[str, Sequence[Row]]] = field(default_factory=dict)


def load(file: Path) -> Ns3 | None:
    """Reads an ns3.toml; None if the file does not exist."""
    if not (document := toml.read_if_there(file)):
        return None
    found: dict[bool, dict[str, dict[str, list[Row]]]] = {False: {}, True: {}}
    for row in document["rows"]:
        of_claim = found[row.get("shipped", False)].setdefault(row["claim"], {})
        of_claim.setdefault(row["experiment"], []).append(Row(row["at"], {row["metric"]: tuple(row["samples"])}))
    return Ns3(document["version"], found[False], found[True])


def with_ns3(verdict: ClaimVerdict, claim: Claim, tables: Mapping[str, Table], ns3: Ns3 | None) -> ClaimVerdict:
    """Adds the result of ns-3 to a verdict; changes "differs" to "as ns-3" if ns-3 differs as much as we do."""
    if verdict.verdict != "differs" or ns3 is None or claim["id"] not in ns3.rows:
        return verdict
    rows, shipped = ns3.rows[claim["id"]], ns3.shipped.get(claim["id"], {})
    ours = [check.at for check in checks_of(claim, tables) if check.outcome == "differs"]
    extreme = claim.get("reduce") in {"max", "min"}  # the extreme may be at another point in ns-3
    texts, shared = [], True
    for which in [rows, *([_instead(rows, shipped)] if shipped else [])]:
        others = checks_of(claim, {name: replace(table, rows=which.get(name, ())) for name, table in tables.items()})
        if not others:
            return verdict
        texts.append(max(others, key=lambda check: check.comparison.badness).text)
        shared = shared and any(check.at in ours or extreme for check in others if check.outcome == "differs")
    agrees = all(_same(tables[name], row) for name, of in rows.items() for row in of)
    text = f"ns-3 {ns3.version}: {'; as shipped: '.join(texts)}"
    return replace(verdict, verdict="as ns-3" if shared and agrees else "differs", ns3=text)


def _instead(rows: Mapping[str, Sequence[Row]], others: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Rows by experiment; `others` replace rows at the same points."""
    return {
        name: [next((other for other in others.get(name, ()) if other.at == row.at), row) for row in of]
        for name, of in rows.items()
    }


def _same(table: Table, theirs: Row) -> bool:
    """True if our number at the point of a row agrees with ns-3's."""
    found = [row for row in table.rows if row.at == theirs.at]
    ((metric, samples),) = theirs.samples.items()
    return bool(found) and agree(found[0].metric(metric), [sample for sample in samples if sample is not None])


def agree(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """True if two means satisfy condition 2 at the top of this file."""
    if not ours or not theirs:
        return False
    a, b = interval(ours).mean, interval(theirs).mean
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b
    allowed = TOLERANCE * abs(b)
    return compared(abs(a - b) - allowed, joint_half_width(ours, theirs), allowed, a, b).outcome == "reproduced"


def joint_half_width(a: Sequence[float], b: Sequence[float]) -> float:
    """Half width of the interval of the difference of two means with unknown, unequal variances (Welch)."""
    if len(a) < 2 or len(b) < 2:
        return math.inf
    variances = [statistics.variance(one) / len(one) for one in (a, b)]
    return half_width_of_sum(variances, [len(a), len(b)])
