"""Tables of docs/reproduction.md: the verdict on every claim, from the expected verdicts and their explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairlane.judge.claim import Claim, is_hard, paper_text, unit_of
from fairlane.judge.experiment import MOST_TIMES
from fairlane.judge.paper import Paper
from fairlane.judge.readings import Standing

Rows = list[list[str]]

OUTCOMES = {
    "reproduced": "reproduced",
    "as ns-3": "agrees with ns-3, which differs from the paper",
    "inconclusive": "*inconclusive*",
    "differs": "**differs**",
    "not applicable": "could not be judged",
}
"""Text for a verdict."""

KINDS: Mapping[Standing, str] = {
    "independent": "**the paper's own**",
    "not independent": "the paper's own, not independent",
    "arithmetic": "the paper's own, arithmetic only",
    "added": "added by this project",
}
"""Text for a kind of claim."""

COUNT_HEAD = [
    "paper",
    "kind of claim",
    "claims",
    "reproduced",
    "agree with ns-3, which differs",
    "inconclusive",
    "differ",
    "could not be judged",
]
CLAIM_HEAD = ["claim", "paper", "measured", "farthest point", "verdict", "explanation"]
READINGS_HEAD = [
    "choice that the paper leaves open",
    "default in Fairlane",
    "numbers for each option",
    "claims that are not independent",
]
NOT_TESTABLE_HEAD = ["section", "words of the paper", "reason why they are not testable"]
RUNS_HEAD = ["experiments", "replications", "maximum for inconclusive claims", "reason"]


def counts(papers: Sequence[Paper]) -> Rows:
    """Counts the claims that hold, by paper and kind, and in total. Claims that test nothing have separate rows."""
    rows: Rows = []
    total: dict[Standing, Counter[str]] = {}
    for paper in papers:
        by_kind: dict[str, Counter[str]] = {}
        by_standing: dict[Standing, Counter[str]] = {}
        for claim, outcome in _outcomes(paper):
            standing = paper.standing(claim)
            by_standing.setdefault(standing, Counter())[outcome] += 1
            total.setdefault(standing, Counter())[outcome] += 1
            if standing == "independent":
                by_kind.setdefault(_kind(claim), Counter())[outcome] += 1
        rows += [_count(f"`{paper.key}`", kind, by_kind[kind]) for kind in sorted(by_kind)]
        rows += _by_standing(f"`{paper.key}`", by_standing)
    return [*rows, *_by_standing("all papers", total)]


def _by_standing(paper: str, counted: Mapping[Standing, Counter[str]]) -> Rows:
    """Counts the claims of a paper that hold, by standing."""
    return [_count(paper, KINDS[standing], counted[standing]) for standing in KINDS if standing in counted]


def summary(papers: Sequence[Paper]) -> str:
    """A paragraph with the number of claims of all papers that hold."""
    of = {standing: Counter[str]() for standing in KINDS}
    not_hard: Counter[str] = Counter()
    for paper in papers:
        for claim, outcome in _outcomes(paper):
            standing = paper.standing(claim)
            of[standing][outcome] += 1
            if standing == "independent" and not is_hard(claim):
                not_hard[outcome] += 1
    own, apart, arithmetic, added = (of[standing] for standing in KINDS)
    parts = [
        f"{own['reproduced']} are reproduced",
        f"{own['as ns-3']} differ from the paper but agree with ns-3",
        f"{own['inconclusive']} are inconclusive",
        f"{own['differs']} differ",
        *([f"{own['not applicable']} could not be judged"] if own["not applicable"] else []),
    ]
    counted_apart = [
        *([f"{apart.total()} that helped to interpret their paper ({apart['reproduced']} hold)"] if apart else []),
        *(
            [f"{arithmetic.total()} that only recompute a number ({arithmetic['reproduced']} hold)"]
            if arithmetic
            else []
        ),
        f"{added.total()} that this project added ({added['reproduced']} hold)",
    ]
    return (
        f"Of {own.total()} claims of {len(papers)} papers, {', '.join(parts[:-1])} and {parts[-1]}. "
        f"Of the {not_hard.total()} claims for which we expected no deviation, "
        f"{not_hard['reproduced']} are reproduced. "
        f"Other claims are counted separately: {'; '.join(counted_apart)}."
    )


def claims(paper: Paper) -> Rows:
    """Returns a row for each claim of a paper: paper's value, measured value, and reason for a difference."""
    expected, explanations = paper.expected().claims, paper.explanations
    rows: Rows = []
    for claim, outcome in _outcomes(paper):
        seen = expected.get(claim["id"], {})
        findings = seen.get("findings", [])
        name = f"`{claim['id'].split('.', 1)[1]}`{_marks(paper, claim)}: {claim['statement']}"
        why = " ".join(filter(None, [f"{seen['ns3']}." if seen.get("ns3") else "", explanations.get(claim["id"], "")]))
        if len(findings) == 1:
            words, (found,) = OUTCOMES[outcome], findings
            rows.append([name, f"{paper_text(claim)}; {claim['where']}", *_measured(paper, claim, found), words, why])
            continue
        rows.append([name, claim["where"], seen.get("reason", ""), "", OUTCOMES[outcome], why])
        for found in findings:
            unit = unit_of(claim, found["metric"])
            metric = f"– {found['metric']}{f' ({unit})' if unit else ''}"
            measured = _measured(paper, claim, found)
            rows.append([metric, paper_text(claim, found["metric"]), *measured, OUTCOMES[found["verdict"]], ""])
    return rows


def _measured(paper: Paper, claim: Claim, found: Mapping[str, Any]) -> list[str]:
    """Returns the measured value with the number of runs, if increased, and the point with the largest deviation."""
    runs = found.get("runs", 0)
    more = f" (n = {runs})" if runs > paper.experiments[claim["experiment"]].replications else ""
    return [found["measured"] + more, found["worst"]]


def readings(paper: Paper) -> Rows:
    """Returns a row for each choice that the paper leaves open and that its numbers decided."""
    rows = []
    for one in paper.readings:
        names = ", ".join(f"`{name.split('.', 1)[1]}`" for name in one.claims)
        rows.append([one.open, one.taken, one.numbers, names])
    return rows


def fewer_runs(paper: Paper) -> Rows:
    """Returns a row for each rule that changes the number of replications or its maximum, with the reason."""
    return [
        [
            ", ".join(f"`{name}`" for name in rule.experiments or ["all"]),
            "as in the paper" if rule.replications is None else str(rule.replications),
            f"{MOST_TIMES} times as many" if rule.most is None else str(rule.most),
            rule.why,
        ]
        for rule in paper.runs.full
        if rule.replications is not None or rule.most is not None
    ]


def _outcomes(paper: Paper) -> Iterator[tuple[Claim, str]]:
    expected = paper.expected().claims
    for experiment in paper.experiments.values():
        for claim in experiment.claims:
            yield claim, expected.get(claim["id"], {}).get("verdict", "not applicable")


def _marks(paper: Paper, claim: Claim) -> str:
    words = paper.marks(claim)
    return f" ({', '.join(words)})" if words else ""


def _kind(claim: Claim) -> str:
    return f"{claim['strength']}{', hard' if is_hard(claim) else ''}"


def _count(paper: str, kind: str, outcomes: Counter[str]) -> list[str]:
    return [paper, kind, str(outcomes.total()), *(str(outcomes[outcome]) for outcome in OUTCOMES)]
