"""Tables of docs/reproduction.md: what became of every claim, from the expected verdicts and their explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fairlane.papers.claims import Claim, paper_text
from fairlane.papers.paper import Paper
from fairlane.papers.readings import Standing

Rows = list[list[str]]

OUTCOMES = {
    "reproduced": "reproduced",
    "as ns-3": "agrees with ns-3, which differs from the paper",
    "differs": "**differs**",
    "not applicable": "could not be judged",
}
"""Words of the page for a verdict."""

KINDS: Mapping[Standing, str] = {
    "independent": "**the paper's own**",
    "not independent": "the paper's own, not independent",
    "added": "added by this project",
}
"""Rows of the counts."""

MARKS: Mapping[Standing, str] = {"not independent": "not independent", "added": "not in the paper"}
"""Marks of a claim."""

COUNT_HEAD = [
    "paper",
    "kind of claim",
    "claims",
    "reproduced",
    "agree with ns-3, which differs",
    "differ",
    "could not be judged",
]
CLAIM_HEAD = ["claim", "paper", "measured", "farthest point", "verdict", "explanation"]
READINGS_HEAD = [
    "left open by the paper",
    "default here",
    "numbers under each reading",
    "claims that are not independent",
]
RUNS_HEAD = ["experiments", "replications here", "why not the paper's number"]


def counts(papers: Sequence[Paper]) -> Rows:
    """How many claims hold, by paper and kind of claim, and of all papers; claims that are no test apart."""
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
    """What holds of a paper's own claims and of those that are counted apart."""
    return [_count(paper, KINDS[standing], counted[standing]) for standing in KINDS if standing in counted]


def claims(paper: Paper) -> Rows:
    """Every claim of a paper: what the paper says, what was measured, and why if they differ."""
    expected, explanations = paper.expected().claims, paper.explanations
    rows: Rows = []
    for claim, outcome in _outcomes(paper):
        seen = expected.get(claim["id"], {})
        rows.append(
            [
                f"`{claim['id'].split('.', 1)[1]}`{_marks(paper, claim)}: {claim['statement']}",
                f"{paper_text(claim)}; {claim['where']}",
                seen.get("measured", ""),
                seen.get("worst", ""),
                OUTCOMES[outcome],
                " ".join(filter(None, [_ns3_words(seen), explanations.get(claim["id"], "")])),
            ]
        )
    return rows


def readings(paper: Paper) -> Rows:
    """The readings that the paper's own numbers chose."""
    return [
        [
            reading.open,
            reading.taken,
            reading.numbers,
            ", ".join(f"`{name.split('.', 1)[1]}`" for name in reading.claims),
        ]
        for reading in paper.readings
    ]


def fewer_runs(paper: Paper) -> Rows:
    """The experiments that are repeated less often than in the paper, and why."""
    return [
        [", ".join(f"`{name}`" for name in rule.experiments or ["all"]), str(rule.replications), rule.why]
        for rule in paper.runs.full
        if rule.replications is not None
    ]


def _outcomes(paper: Paper) -> Iterator[tuple[Claim, str]]:
    expected = paper.expected().claims
    for experiment in paper.experiments.values():
        for claim in experiment.claims:
            yield claim, expected.get(claim["id"], {}).get("verdict", "not applicable")


def _ns3_words(seen: Mapping[str, str]) -> str:
    return f"{seen['ns3']}." if seen.get("ns3") else ""


def _marks(paper: Paper, claim: Claim) -> str:
    standing = paper.standing(claim)
    marks = [*(["hard"] if _hard(claim) else []), *([MARKS[standing]] if standing in MARKS else [])]
    return f" ({', '.join(marks)})" if marks else ""


def _hard(claim: Claim) -> bool:
    return bool(claim.get("difficulty") == "hard")


def _kind(claim: Claim) -> str:
    return f"{claim['strength']}{', hard' if _hard(claim) else ''}"


def _count(paper: str, kind: str, outcomes: Counter[str]) -> list[str]:
    return [paper, kind, str(outcomes.total()), *(str(outcomes[outcome]) for outcome in OUTCOMES)]
