"""Tables of docs/reproduction.md: what became of every claim, from the expected verdicts and their explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fairlane.papers.claims import Claim, paper_text
from fairlane.papers.paper import Paper

Rows = list[list[str]]

OUTCOMES = {
    "reproduced": "reproduced",
    "as ns-3": "agrees with ns-3, which differs from the paper",
    "differs": "**differs**",
    "not applicable": "could not be judged",
}
"""Words of the page for a verdict."""

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
RUNS_HEAD = ["experiments", "replications here", "why not the paper's number"]


def counts(papers: Sequence[Paper]) -> Rows:
    """How many claims hold: by paper and kind of claim, and of all papers."""
    rows: Rows = []
    total: Counter[str] = Counter()
    for paper in papers:
        by_kind: dict[str, Counter[str]] = {}
        for claim, outcome in _outcomes(paper):
            by_kind.setdefault(_kind(claim), Counter())[outcome] += 1
        rows += [_count(f"`{paper.key}`", kind, by_kind[kind]) for kind in sorted(by_kind)]
        whole = sum(by_kind.values(), Counter())
        rows.append(_count(f"`{paper.key}`", "all", whole))
        total += whole
    return [*rows, _count("all papers", "all", total)]


def claims(paper: Paper) -> Rows:
    """Every claim of a paper: what the paper says, what was measured, and why if they differ."""
    expected, explanations = paper.expected().claims, paper.explanations
    rows: Rows = []
    for claim, outcome in _outcomes(paper):
        seen = expected.get(claim["id"], {})
        rows.append(
            [
                f"`{claim['id'].split('.', 1)[1]}`{' (hard)' if _hard(claim) else ''}: {claim['statement']}",
                f"{paper_text(claim)}; {claim['where']}",
                seen.get("measured", ""),
                seen.get("worst", ""),
                OUTCOMES[outcome],
                " ".join(filter(None, [_ns3_words(seen), explanations.get(claim["id"], "")])),
            ]
        )
    return rows


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


def _hard(claim: Claim) -> bool:
    return bool(claim.get("difficulty") == "hard")


def _kind(claim: Claim) -> str:
    return f"{claim['strength']}{', hard' if _hard(claim) else ''}"


def _count(paper: str, kind: str, outcomes: Counter[str]) -> list[str]:
    return [paper, kind, str(outcomes.total()), *(str(outcomes[outcome]) for outcome in OUTCOMES)]
