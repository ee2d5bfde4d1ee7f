"""The designer tunes parameters of a scheme on some scenarios and validates them on others."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioError, UserError
from fairlane.results.intervals import Interval, interval
from fairlane.results.metric import Metric
from fairlane.results.metrics import OBJECTIVES, worst_of
from fairlane.search.attack import asked
from fairlane.search.evaluation import Evaluator, Numbers
from fairlane.search.optimiser import Optimiser
from fairlane.search.scenario_set import Member
from fairlane.search.space import Space, Values

FINALISTS = 5
FINAL_REPLICATIONS = 5
_REFUSED = math.inf


def criteria(record: Mapping[str, Any]) -> Numbers:
    """The objectives of a record, in their order."""
    return [_objective(metric, dict(record)) for metric in OBJECTIVES.values()]


def _objective(metric: Metric, record: dict[str, Any]) -> float:
    """Returns the value of the worst group, or of the link with the largest value."""
    if metric.scope == "search":
        return min([*_shares(record), 1.0])
    return worst_of(replace(metric, better="") if metric.scope == "link" else metric, record) or 0.0


def _shares(record: dict[str, Any]) -> list[float]:
    """Throughput of each user divided by its max-min share."""
    return [
        throughput / group["max_min_share_bps"]
        for group in record["groups"]
        if group["max_min_share_bps"] > 0
        for throughput in group["user_throughput_bps"]
    ]


@dataclass(frozen=True)
class Judged:
    """Results of one choice of parameters: for each criterion and replication, the mean over the scenarios."""

    samples: Mapping[str, Sequence[float]]

    @classmethod
    def of(cls, runs: Sequence[Sequence[Numbers]], replications: int) -> Judged:
        """Averages the criteria of each replication over the scenarios."""
        return cls(
            {
                criterion: [
                    math.fsum(of_scenario[number][place] or 0.0 for of_scenario in runs) / len(runs)
                    for number in range(replications)
                ]
                for place, criterion in enumerate(OBJECTIVES)
            }
        )

    def interval(self, criterion: str) -> Interval:
        """Mean over replications."""
        return interval(self.samples[criterion])

    def gain(self, over: Judged, criterion: str) -> Interval:
        """Difference from another result, computed for each replication, since both results use the same seeds."""
        pairs = zip(self.samples[criterion], over.samples[criterion], strict=True)
        return interval([one - other for one, other in pairs])


@dataclass
class Designer:
    """A search for parameters of one scheme.

    Attributes:
        scheme: Name of the scheme.
        space: Ranges, by key of the scenario.
        objective: Criterion to optimise.
        evaluator: Runs scenarios.
    """

    scheme: str
    space: Space
    objective: str
    evaluator: Evaluator
    _bases: dict[str, str] = field(default_factory=dict)

    def search(
        self, optimiser: Optimiser, members: Sequence[Member], evaluations: int, advance: Callable[[int, float], None]
    ) -> dict[str, Any]:
        """The best parameters on the given scenarios; empty if the defaults are as good.

        The search runs each scenario once for each combination of parameters. The best combinations and the defaults
        then get `FINAL_REPLICATIONS` runs, which decide.
        """
        judged: list[tuple[float, Values]] = []
        refusal = None
        while len(judged) < evaluations:
            points = asked(optimiser, self.space.dimensions)
            chosen = [self.space.values(point) for point in points]
            values, error = self._values(chosen, members)
            refusal = refusal or error
            optimiser.tell(points, [value if math.isfinite(value) else 1e3 for value in values])
            judged += zip(values, chosen, strict=True)
            best = min(value for value, _ in judged)
            if best == _REFUSED:
                raise UserError(f"{self.scheme}: no combination of the first {len(judged)} can be simulated: {refusal}")
            advance(len(judged), self._worth(best))
        finalists: list[Values] = [{}]
        for value, values_of_keys in sorted(judged, key=lambda one: one[0]):
            if len(finalists) <= FINALISTS and value < _REFUSED and values_of_keys not in finalists:
                finalists.append(values_of_keys)
        results = self.judge(finalists, members, FINAL_REPLICATIONS)
        worth = [self._worth(result.interval(self.objective).mean) for result in results]
        return dict(finalists[worth.index(min(worth))])

    def judge(self, chosen: Sequence[Values], members: Sequence[Member], replications: int) -> list[Judged]:
        """Criteria of each choice of parameters on the scenarios."""
        return self._judge([[self._scenario(member, values) for member in members] for values in chosen], replications)

    def _judge(self, scenarios: Sequence[Sequence[str]], replications: int) -> list[Judged]:
        """Criteria of each list of scenarios."""
        jobs = [(text, number) for texts in scenarios for text in texts for number in range(replications)]
        numbers = iter(self.evaluator.numbers(jobs))
        return [
            Judged.of([[next(numbers) for _ in range(replications)] for _ in texts], replications)
            for texts in scenarios
        ]

    def _values(self, chosen: Sequence[Values], members: Sequence[Member]) -> tuple[list[float], str | None]:
        """Objective of each choice (less is better), and the error of the first invalid choice."""
        scenarios: list[list[str] | None] = []
        refusal = None
        for values in chosen:
            try:
                scenarios.append([self._scenario(member, values) for member in members])
            except ScenarioError as error:
                scenarios.append(None)
                refusal = refusal or str(error)
        results = iter(self._judge([texts for texts in scenarios if texts], 1))
        worth = [self._worth(next(results).interval(self.objective).mean) if texts else _REFUSED for texts in scenarios]
        return worth, refusal

    def _scenario(self, member: Member, values: Values) -> str:
        """The scenario of `member` under the scheme with the parameters `values`; buffer and scheduler stay."""
        table = json.loads(self._bases.get(member.canonical) or self._base(member.canonical))
        for key, value in values.items():
            place, _, name = key.partition(".")
            table.setdefault(place, {})[name] = value
        return _fairlane.canonical(json.dumps(table))

    def _base(self, canonical: str) -> str:
        """A scenario under the scheme with its defaults."""
        self._bases[canonical] = base = _fairlane.with_queue(canonical, self.scheme)
        return base

    def _worth(self, mean: float) -> float:
        """Flips the sign of the objective if more is better, so that less is better. A second call reverses this."""
        return OBJECTIVES[self.objective].sign * mean
