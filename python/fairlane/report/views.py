"""Content for the templates, from reproductions: claims, counts, tables and facts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlane import _fairlane
from fairlane.base.progress import duration
from fairlane.judge.claim import Claim, paper_text
from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Cell
from fairlane.judge.readings import MARKS, Standing
from fairlane.judge.reproduce import Reproduction
from fairlane.judge.verdicts import QUICK, ClaimVerdict, VerdictName
from fairlane.report.collect import Collected
from fairlane.simulate.scenario import Scenario


@dataclass(frozen=True)
class Outcome:
    """A possible outcome of a claim.

    Attributes:
        key: Name in style sheet and pages.
        words: Text for readers.
        sign: Symbol, so that the outcome is recognisable without colour.
    """

    key: str
    words: str
    sign: str

    def of(self, count: int) -> str:
        """The text after a number: 1 differs, 2 differ."""
        return self.words if count == 1 else _OF_MANY.get(self.words, self.words)


_OF_MANY = {"agrees with ns-3": "agree with ns-3", "differs": "differ", "deviates": "deviate"}

REPRODUCED = Outcome("reproduced", "reproduced", "✓")
CONSISTENT = Outcome("reproduced", "consistent", "~")
DEVIATES = Outcome("differs", "deviates", "≠")
AS_NS3 = Outcome("as-ns3", "agrees with ns-3", "≈")
INCONCLUSIVE = Outcome("inconclusive", "inconclusive", "±")
DIFFERS = Outcome("differs", "differs", "≠")
UNJUDGED = Outcome("unjudged", "could not be judged", "?")
NOT_RUN = Outcome("not-run", "not run yet", "–")
_WORST_FIRST = (NOT_RUN, DIFFERS, DEVIATES, INCONCLUSIVE, UNJUDGED, AS_NS3, CONSISTENT, REPRODUCED)
_BY_VERDICT: Mapping[VerdictName, Outcome] = {
    "reproduced": REPRODUCED,
    "consistent": CONSISTENT,
    "as ns-3": AS_NS3,
    "inconclusive": INCONCLUSIVE,
    "differs": DIFFERS,
    "deviates": DEVIATES,
    "not applicable": UNJUDGED,
}
OUTCOMES = (*_BY_VERDICT.values(), NOT_RUN)
LEGEND: Mapping[Outcome, str] = {
    REPRODUCED: "Our mean is within the tolerance that was set for the claim beforehand, and its confidence interval "
    "narrow enough to say so: the half width is no larger than the tolerance, or all of the interval is within it. "
    "Where there are many points this holds for each, unless the claim says otherwise.",
    INCONCLUSIVE: "Interval and tolerance overlap, but not enough to decide. The points in question were run more "
    "often, up to four times as often or as the experiment says.",
    DIFFERS: "No part of the interval is within the tolerance. The claim's row says why, as far as we know.",
    AS_NS3: "It differs, but ns-3 differs from the paper too, and its numbers agree with ours: within 5 %, with an "
    "interval no wider than that. It does not count as reproduced.",
    UNJUDGED: "The claim cannot be put to the test; the row says what is lacking.",
    NOT_RUN: "No results are stored. The page of the experiment has the command.",
    CONSISTENT: "As reproduced, but from quick runs, whose verdicts do not count.",
    DEVIATES: "As differs, but from quick runs.",
}
"""Meaning of the outcomes; the full rule is in judge/rule.py."""
HOLDS = {REPRODUCED, CONSISTENT}
"""Outcomes that count as holding: `CONSISTENT` is the outcome of a claim that holds in a preview."""


@dataclass(frozen=True)
class FindingView:
    """The paper's value of a metric, and the measured value, which is empty without runs."""

    metric: str
    paper: str
    measured: str
    farthest: str
    outcome: Outcome


@dataclass(frozen=True)
class ClaimView:
    """A claim, with a row for each of its metrics.

    Attributes:
        name: Identifier without paper and experiment.
        statement: Statement of the claim.
        where: Place in the paper.
        marks: `hard`, or why the claim is counted separately.
        findings: The paper's value and the measured value of each metric. A single metric is not named.
        outcome: Outcome of the whole claim.
        explanation: Why the claim is not reproduced, the result of ns-3, and the reading that its numbers chose.
        standing: Says that the claim tests the paper independently, or why it does not.
    """

    name: str
    statement: str
    where: str
    marks: Sequence[str]
    findings: Sequence[FindingView]
    outcome: Outcome
    explanation: str
    standing: Standing


@dataclass(frozen=True)
class Counts:
    """Counts of outcomes.

    Attributes:
        by_outcome: Number of independent claims with each outcome.
        apart: Counts, as text, of the claims that are not independent tests of the paper.
        worst: Worst outcome of all claims, independent or not.
    """

    by_outcome: Mapping[Outcome, int]
    apart: Mapping[str, str]
    worst: Outcome

    @classmethod
    def of(cls, claims: Sequence[ClaimView]) -> Counts:
        """Counts claims."""
        apart = {
            words: _words(_counted(claims, standing))
            for standing, words in MARKS.items()
            if any(claim.standing == standing for claim in claims)
        }
        worst = min((claim.outcome for claim in claims), key=_WORST_FIRST.index, default=UNJUDGED)
        return cls(_counted(claims, "independent"), apart, worst)

    @property
    def total(self) -> int:
        """All independent claims."""
        return sum(self.by_outcome.values())

    @property
    def words(self) -> str:
        """`9 of 12 reproduced, 3 differ`; leaves out outcomes without claims."""
        apart = [f"{words}: {counted}" for words, counted in self.apart.items()]
        return "; ".join([_words(self.by_outcome), *apart] if self.total or not apart else apart)


def _counted(claims: Sequence[ClaimView], standing: Standing) -> dict[Outcome, int]:
    counted = Counter(claim.outcome for claim in claims if claim.standing == standing)
    return {outcome: counted[outcome] for outcome in OUTCOMES}


def _words(by_outcome: Mapping[Outcome, int]) -> str:
    quick = any(by_outcome[outcome] for outcome in (CONSISTENT, DEVIATES))
    first = CONSISTENT if quick else REPRODUCED
    parts = [f"{count} {outcome.of(count)}" for outcome, count in by_outcome.items() if count and outcome is not first]
    return ", ".join([f"{by_outcome[first]} of {sum(by_outcome.values())} {first.words}", *parts])


@dataclass(frozen=True)
class PointTable:
    """The numbers of a plot: variables of the sweep, then metrics."""

    variables: Sequence[str]
    metrics: Sequence[str]
    rows: Sequence[tuple[Sequence[str], Sequence[str]]]


@dataclass(frozen=True)
class ExperimentView:
    """An experiment: a figure, a table or a result stated in the text.

    Attributes:
        about: The experiment; its identifier is the name of its files.
        missing: Runs that the store lacks.
        command: Command that simulates the experiment.
        counts: Counts of its claims.
        claims: Its claims.
        facts: Facts about the simulation, as name and value.
        notes: Caveats.
        parameters: Parameters with name and value as in the paper.
        scenario: The scenario of the first point as TOML; empty if the results are computed.
        table: The numbers; None without runs.
        is_drawn: True if there is a figure.
    """

    about: Experiment
    missing: int
    command: str
    counts: Counts
    claims: Sequence[ClaimView]
    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]
    parameters: Sequence[tuple[str, str]]
    scenario: str
    table: PointTable | None
    is_drawn: bool


@dataclass(frozen=True)
class PaperView:
    """A paper with its experiments."""

    key: str
    title: str
    command: str
    counts: Counts
    experiments: Sequence[ExperimentView]

    @property
    def open_claims(self) -> list[tuple[ExperimentView, ClaimView]]:
        """Claims that differ, are inconclusive, or cannot be tested."""
        return [
            (experiment, claim)
            for experiment in self.experiments
            for claim in experiment.claims
            if claim.outcome not in {*HOLDS, NOT_RUN}
        ]


def paper_view(collected: Collected) -> PaperView:
    """Prepares a paper for its pages."""
    experiments = [_experiment_view(collected, experiment) for experiment in collected.experiments]
    return PaperView(
        key=collected.paper.key,
        title=collected.paper.title,
        command=collected.wanted.command(collected.paper.key),
        counts=Counts.of([claim for experiment in experiments for claim in experiment.claims]),
        experiments=experiments,
    )


def _experiment_view(collected: Collected, experiment: Experiment) -> ExperimentView:
    lacking = collected.missing[experiment.id]
    reproduction = None if lacking else collected.reproduction
    verdicts = {verdict.claim: verdict for verdict in reproduction.verdicts_of(experiment)} if reproduction else {}
    explanations = collected.paper.explanations
    claims = [
        _claim_view(collected, claim, verdicts.get(claim["id"]), explanations.get(claim["id"], ""))
        for claim in experiment.claims
    ]
    scenarios = reproduction.scenarios(experiment) if reproduction else []
    return ExperimentView(
        about=experiment,
        missing=lacking,
        command=collected.wanted.command(experiment.id),
        counts=Counts.of(claims),
        claims=claims,
        facts=_facts(reproduction, experiment, scenarios) if reproduction else [],
        notes=reproduction.notes(experiment) if reproduction else [],
        parameters=_parameters(experiment),
        scenario=Scenario.from_dict(json.loads(scenarios[0])).to_toml() if scenarios else "",
        table=_point_table(reproduction, experiment) if reproduction else None,
        is_drawn=reproduction is not None and experiment.kind == "figure",
    )


def _claim_view(collected: Collected, claim: Claim, verdict: ClaimVerdict | None, explanation: str) -> ClaimView:
    paper = collected.paper
    outcome = _BY_VERDICT[verdict.verdict] if verdict else NOT_RUN
    reading = paper.chosen_by(claim)
    # An explanation belongs to a verdict and would be wrong with another one.
    why = [explanation if verdict and outcome not in HOLDS else "", verdict.ns3 if verdict else ""]
    why.append(f"Chose the reading: {reading}" if reading else "")
    return ClaimView(
        name=claim["id"].rsplit(".", 1)[1],
        statement=claim["statement"],
        where=claim["where"],
        marks=paper.marks(claim),
        findings=_finding_views(claim, verdict, outcome, quick=collected.wanted.quick),
        outcome=outcome,
        explanation=" ".join(filter(None, why)),
        standing=paper.standing(claim),
    )


def _finding_views(claim: Claim, verdict: ClaimVerdict | None, outcome: Outcome, *, quick: bool) -> list[FindingView]:
    if verdict is None or not verdict.findings:
        return [FindingView("", paper_text(claim), verdict.reason if verdict else "", "", outcome)]
    if len(verdict.findings) == 1:
        (one,) = verdict.findings
        return [FindingView("", one.paper, one.measured, one.worst, outcome)]
    views = []
    for one in verdict.findings:
        metric = f"{one.metric} ({one.unit})" if one.unit else one.metric
        own = _BY_VERDICT[QUICK.get(one.verdict, one.verdict) if quick else one.verdict]
        views.append(FindingView(metric, one.paper, one.measured, one.worst, own))
    return views


def _facts(reproduction: Reproduction, experiment: Experiment, scenarios: Sequence[str]) -> list[tuple[str, str]]:
    if not scenarios:
        return [("simulation", "none: computed")]
    runs = [json.loads(scenario)["run"] for scenario in scenarios]
    count = reproduction.replications[experiment.id]
    facts = [
        ("points", str(len(scenarios))),
        ("replications of each", str(count)),
        ("confidence of intervals", f"{reproduction.paper.confidence:.0%}"),
        ("seed", _one_of(runs, "seed")),
        ("warm-up", _one_of(runs, "warmup")),
        ("measured", _one_of(runs, "measure")),
        ("CPU time of all runs", _time(reproduction.cpu_seconds.get(experiment.id, 0.0))),
        ("version", f"fairlane {_fairlane.version()}"),
    ]
    changed = {**experiment.settings, **reproduction.settings}
    if changed:
        facts.append(("changed", ", ".join(f"{key} = {_text(value)}" for key, value in changed.items())))
    return facts


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else duration(seconds)


def _one_of(runs: Sequence[Mapping[str, Any]], key: str) -> str:
    """The distinct values of a key of `run`."""
    return ", ".join(dict.fromkeys(str(run[key]) for run in runs))


def _parameters(experiment: Experiment) -> list[tuple[str, str]]:
    swept = [(name, _text(values)) for name, values in experiment.grid.items()]
    fixed = [(name, _text(value)) for name, value in experiment.parameters.items()]
    return [("scheme", _text(experiment.schemes)), *swept, *fixed]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_text(inner)}" for name, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _point_table(reproduction: Reproduction, experiment: Experiment) -> PointTable | None:
    table = reproduction.tables[experiment.id]
    of_metric = {metric: table.cells(experiment.schemes, [metric]) for metric in experiment.metrics}
    metrics = [metric for metric, cells in of_metric.items() if cells]
    points: dict[tuple[tuple[str, Any], ...], dict[str, Cell]] = {}
    for metric in metrics:
        for cell in of_metric[metric]:
            at = tuple((name, value) for name, value in cell.at.items() if name != "metric")
            points.setdefault(at, {})[metric] = cell
    if not points:
        return None
    variables = list(dict.fromkeys(name for at in points for name, _ in at))
    count = reproduction.replications[experiment.id]
    rows = []
    for at, cells in points.items():
        values = [_text(dict(at).get(name, "")) for name in variables]
        rows.append((values, [_number(cells.get(metric), count) for metric in metrics]))
    return PointTable(variables, metrics, rows)


def _number(cell: Cell | None, replications: int) -> str:
    if cell is None:
        return "–"
    mean = cell.interval
    # Computed numbers have one sample, regardless of the number of runs.
    return str(mean) if mean.n in {1, replications} else f"{mean} (n = {mean.n})"
