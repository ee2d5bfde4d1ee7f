"""Converts the points of experiments to scenarios, and the runs of these scenarios to rows of metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairlane import _fairlane
from fairlane.judge.experiment import Experiment, Record
from fairlane.judge.grid import Measured, Point, Row, matches
from fairlane.judge.paper import Paper
from fairlane.results.kept import Kept
from fairlane.simulate.scenario import Scenario
from fairlane.store import Store, key
from fairlane.store.simulate import simulate

Run = Kept | Measured
"""A run with its record, or the metrics of a run whose record is stored elsewhere."""

Simulate = Callable[[Sequence[str]], Sequence[Sequence[Run]]]
"""Function that returns the runs of canonical scenarios. Each scenario contains its number of replications."""


@dataclass(frozen=True)
class Place:
    """A point of an experiment and its canonical scenario."""

    experiment: Experiment
    at: Point
    scenario: str


def places(
    paper: Paper, experiments: Sequence[Experiment], settings: Mapping[str, Any], counts: Mapping[str, int]
) -> Iterator[Place]:
    """All points of the experiments, and points of other experiments that their claims refer to."""
    for name, conditions in needed(paper, experiments).items():
        experiment = paper.experiments[name]
        for at in paper.points(experiment):
            if any(matches(at, condition, experiment.grid) for condition in conditions):
                yield Place(experiment, at, point_scenario(paper, experiment, at, counts[name], settings))


def needed(paper: Paper, experiments: Sequence[Experiment]) -> dict[str, list[Mapping[str, Any]]]:
    """The experiments and all experiments that their claims refer to, with conditions that select needed points."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for experiment in experiments:
        for claim in experiment.claims:
            for other, fixed in paper.needs(claim):
                found.setdefault(other, []).append(fixed)
    return found | {experiment.id: [{}] for experiment in experiments}


def point_scenario(
    paper: Paper, experiment: Experiment, at: Point, replications: int, settings: Mapping[str, Any] | None = None
) -> str:
    """The canonical scenario of a point, changed by `settings`."""
    scenario = paper.scenario({**experiment.parameters, **at})
    changes = {"name": experiment.id, "run.replications": replications, **experiment.settings, **(settings or {})}
    canonical = scenario.changed(changes).canonical()
    wanted = paper.engine_schemes.get(at["scheme"], at["scheme"])
    own = json.loads(canonical)["queue"]["scheme"]
    return canonical if own == wanted else _fairlane.with_queue(canonical, wanted)


def metrics_of(paper: Paper, place: Place, record: Record | Measured) -> Mapping[str, float | None]:
    """All metrics of a run at a point; None for metrics that the run lacks."""
    if isinstance(record, Measured):
        return record.metrics
    values = {**place.experiment.parameters, **place.at}
    return {name: metric(record, values) for name, metric in paper.metrics.items()}


class Measurements:
    """Rows of points, which grow as more replications are requested.

    Attributes:
        places: The points, by index.
        rows: Rows of the points, with all replications requested so far.
        cpu_seconds: CPU time by experiment; a run that several points share counts once.
    """

    def __init__(self, paper: Paper, of: Sequence[Place], simulate: Simulate) -> None:
        self.places = of
        self.rows = [Row(place.at, dict.fromkeys(paper.metrics, ()), dict.fromkeys(paper.traces, ())) for place in of]
        self.cpu_seconds = dict.fromkeys((place.experiment.id for place in of), 0.0)
        self._paper = paper
        self._simulate = simulate
        self._counted: set[tuple[str, str, int]] = set()

    def extend(self, wanted: Mapping[int, int]) -> None:
        """Extends points to the wanted number of replications, given by index."""
        by_scenario: dict[str, list[int]] = {}
        for index in wanted:
            by_scenario.setdefault(key(self.places[index].scenario), []).append(index)
        scenarios = [
            with_replications(self.places[indices[0]].scenario, max(wanted[index] for index in indices))
            for indices in by_scenario.values()
        ]
        runs = self._simulate(scenarios)
        for (scenario, indices), of_scenario in zip(by_scenario.items(), runs, strict=True):
            done = min(self.rows[index].replications for index in indices)
            # Records are large, so keep only those of one scenario.
            records = {
                number: run if isinstance(run, Measured) else json.loads(run.run)
                for number, run in enumerate(of_scenario)
                if number >= done
            }
            for index in indices:
                new = range(self.rows[index].replications, wanted[index])
                self._append(index, [records[number] for number in new])
                self._count(scenario, index, {number: of_scenario[number] for number in new})

    def _append(self, index: int, records: Sequence[Record | Measured]) -> None:
        row, place = self.rows[index], self.places[index]
        measured = [metrics_of(self._paper, place, record) for record in records]
        own = [record for record in records if not isinstance(record, Measured)]
        self.rows[index] = replace(
            row,
            samples={name: (*old, *(one.get(name) for one in measured)) for name, old in row.samples.items()},
            traces={
                name: (*old, *(curve for record in own if (curve := tuple(self._paper.traces[name](record)))))
                for name, old in row.traces.items()
            },
        )

    def _count(self, scenario: str, index: int, runs: Mapping[int, Run]) -> None:
        name = self.places[index].experiment.id
        for number, run in runs.items():
            if not isinstance(run, Measured) and (name, scenario, number) not in self._counted:
                self._counted.add((name, scenario, number))
                self.cpu_seconds[name] += run.cpu_seconds or 0.0


def records_of(scenario: Scenario) -> list[Record]:
    """Simulates a scenario without storing its records."""
    (runs,) = simulate([scenario.canonical()], Store(None), keep=False)
    return [json.loads(run.run) for run in runs]


def with_replications(scenario: str, replications: int) -> str:
    """A canonical scenario with another number of replications."""
    table = json.loads(scenario)
    if table["run"]["replications"] == replications:
        return scenario
    table["run"]["replications"] = replications
    return _fairlane.canonical(json.dumps(table))
