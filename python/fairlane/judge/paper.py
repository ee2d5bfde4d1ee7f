"""Papers: experiments and claims as data, with functions that convert them to scenarios, numbers and figures."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fairlane.base import toml
from fairlane.judge.claim import Claim, is_hard
from fairlane.judge.experiment import Experiment, Record
from fairlane.judge.grid import Cell, Point, Row, Table
from fairlane.judge.ns3 import Ns3, load, with_ns3
from fairlane.judge.readings import MARKS, Reading, Standing, load_readings
from fairlane.judge.reductions import references
from fairlane.judge.run_rules import Runs, apply, load_runs
from fairlane.judge.verdicts import ClaimVerdict, Statistic, judge, undecided
from fairlane.results.intervals import CONFIDENCE

if TYPE_CHECKING:
    from fairlane.judge.drawing import Draw
    from fairlane.simulate.scenario import Scenario


@dataclass(frozen=True)
class Expected:
    """Expected outcomes, as last confirmed by a person (verdicts.toml).

    Attributes:
        claims: Verdict and findings, as in `ClaimVerdict`, by claim id.
        cpu_seconds: CPU time of all runs by experiment id.
    """

    claims: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes:
        key: Key, such as `abc2018`.
        title: Authors, title, place and year.
        folder: Folder of its data.
        experiments: Experiments by id, in the paper's order.
        scenario: Creates a scenario from the values of parameters and variables, with the paper's own scheme or the
            scheme that `scheme` names.
        metrics: Functions of run record and values; they return None if the run lacks the number.
        traces: Functions of a run record that return a curve over time.
        runs: Rules by which the number and the duration of runs differ from the paper's (runs.toml).
        confidence: Confidence level of the intervals.
        engine_schemes: Name of a scheme in the simulator by its name in the claims, where the names differ.
        exists: Returns true if a combination of scheme and variables is a point. If None, all combinations are points.
        labels: Functions that compute further names of a point, such as its row in a printed table. Claims can select
            points by these names as by variables.
        computed: Rows of experiments without simulation (`kind = "analytic"`).
        statistics: Statistics by claim id, for claims that are not about a metric of a point.
    """

    key: str
    title: str
    folder: Path
    experiments: Mapping[str, Experiment]
    scenario: Callable[[Mapping[str, Any]], Scenario]
    metrics: Mapping[str, Callable[[Record, Mapping[str, Any]], float | None]]
    traces: Mapping[str, Callable[[Record], Sequence[float]]] = field(default_factory=dict)
    runs: Runs = field(default_factory=Runs)
    confidence: float = CONFIDENCE
    engine_schemes: Mapping[str, str] = field(default_factory=dict)
    exists: Callable[[Point], bool] | None = None
    labels: Mapping[str, Callable[[Point], Any]] = field(default_factory=dict)
    computed: Mapping[str, Callable[[Experiment], Sequence[Row]]] = field(default_factory=dict)
    statistics: Mapping[str, Statistic] = field(default_factory=dict)

    def figures(self) -> Mapping[str, Draw]:
        """Functions that draw the figures of experiments, by id: FIGURES of the paper's `figures.py`.

        Loaded lazily: most commands need no drawing library.
        """
        if not (self.folder / "figures.py").exists():
            return {}
        figures: Mapping[str, Draw] = importlib.import_module(f"fairlane.papers.{self.key}.figures").FIGURES
        return figures

    def quick(self) -> Paper:
        """The paper with fewer or shorter runs, as a preview."""
        return replace(self, experiments=apply(self.runs.quick, self.experiments))

    def points(self, experiment: Experiment) -> Iterator[Point]:
        """The points of a simulated experiment."""
        if experiment.id not in self.computed:
            yield from (at for at in experiment.points() if self.exists is None or self.exists(at))

    def table(self, experiment: Experiment, rows: Sequence[Row]) -> Table:
        """The measured grid of an experiment."""
        return Table(experiment.id, experiment.grid, experiment.parameters, rows, self.confidence, self.labels)

    def needs(self, claim: Claim) -> list[tuple[str, Mapping[str, Any]]]:
        """Other experiments that the test of a claim needs, each with the values that select its points."""
        statistic = self.statistics.get(claim["id"])
        return [*references(claim), *((other, {}) for other in (statistic.needs if statistic else ()))]

    def judge(self, claim: Claim, tables: Mapping[str, Table]) -> ClaimVerdict:
        """Tests a claim; if it differs, also compares it with ns-3."""
        verdict = judge(claim, tables, self.statistics.get(claim["id"]))
        verdict = replace(verdict, standing=self.standing(claim), reading=self.chosen_by(claim))
        return with_ns3(verdict, claim, tables, self.ns3)

    def undecided(self, claim: Claim, tables: Mapping[str, Table]) -> list[Cell]:
        """The points that keep a claim inconclusive; empty if it is decided."""
        return undecided(claim, tables, self.statistics.get(claim["id"]))

    def standing(self, claim: Claim) -> Standing:
        """Standing of a claim: that of its experiment, unless the claim's numbers were used to choose a reading."""
        return "not independent" if self.chosen_by(claim) else self.experiments[claim["experiment"]].standing

    def marks(self, claim: Claim) -> list[str]:
        """Remarks on a claim: `hard`, or why the claim is counted separately."""
        standing = self.standing(claim)
        return [*(["hard"] if is_hard(claim) else []), *([MARKS[standing]] if standing in MARKS else [])]

    def chosen_by(self, claim: Claim) -> str:
        """Text about the readings that the claim's numbers were used to choose; empty if none."""
        return " ".join(reading.words for reading in self.readings if claim["id"] in reading.claims)

    @cached_property
    def readings(self) -> Sequence[Reading]:
        """Readings that were chosen by the paper's numbers (readings.toml)."""
        return load_readings(self.folder / "readings.toml")

    @cached_property
    def ns3(self) -> Ns3 | None:
        """Results of ns-3 for claims that differ (ns3.toml)."""
        return load(self.folder / "ns3.toml")

    @property
    def explanations(self) -> Mapping[str, str]:
        """Reasons why claims differ or cannot be tested, by claim id (explanations.toml)."""
        entries = toml.read_if_there(self.folder / "explanations.toml").get("explanations", ())
        return {claim: " ".join(entry["text"].split()) for entry in entries for claim in entry["claims"]}

    @property
    def not_testable(self) -> Sequence[tuple[str, str, str]]:
        """Sentences of the paper that no claim tests: section, quotation, reason (not_testable.toml)."""
        rows = toml.read_if_there(self.folder / "not_testable.toml").get("sentences", ())
        return [(section, words, reason) for section, words, reason in rows]

    @property
    def expected_file(self) -> Path:
        """Path of the expected outcomes."""
        return self.folder / "verdicts.toml"

    def expected(self) -> Expected:
        """The expected outcomes; empty if the file does not exist yet."""
        return Expected(**toml.read_if_there(self.expected_file))


def declared(*modules: ModuleType) -> dict[str, Any]:
    """Declarations in a paper's modules by attribute name, such as METRICS of `metrics`."""
    names = ("metrics", "traces", "engine_schemes", "labels", "computed", "statistics")
    return {name: vars(module)[name.upper()] for name in names for module in modules if name.upper() in vars(module)}


def load_paper(key: str, title: str, folder: Path, sweep_defaults: Sequence[str] = (), **parts: Any) -> Paper:
    """Loads a paper with the experiments and runs in its folder.

    Args:
        key: Key, such as `abc2018`.
        title: Authors, title, place and year.
        folder: Folder with claims.toml and runs.toml.
        sweep_defaults: Parameters whose default is a list of values, swept by experiments that do not set them.
        **parts: Other attributes of the paper.
    """
    runs = load_runs(folder / "runs.toml")
    experiments = _load_experiments(folder / "claims.toml", key, sweep_defaults, runs)
    return Paper(key, title, folder, experiments, runs=runs, **parts)


def _load_experiments(file: Path, paper: str, sweep_defaults: Sequence[str], runs: Runs) -> dict[str, Experiment]:
    """Reads experiments and claims of a paper."""
    tables = toml.read(file)
    raw = {experiment["id"]: experiment for experiment in tables["experiments"]}
    experiments = {}
    for own in raw.values():
        sources = [raw[own["same_runs_as"]], own] if "same_runs_as" in own else [own]
        parameters = dict(tables["defaults"][paper])
        grid: dict[str, Sequence[Any]] = {}
        for source in sources:
            parameters |= source.get("parameters", {})
            grid |= {entry["var"]: entry["values"] for entry in source.get("sweep", ())}
        grid = {
            **{
                name: parameters[name]
                for name in sweep_defaults
                if own["kind"] != "analytic" and name not in grid and isinstance(parameters[name], list)
            },
            **grid,
        }
        experiments[own["id"]] = Experiment(
            id=own["id"],
            title=own["title"],
            where=own["source"]["where"],
            kind=own["kind"],
            schemes=own["schemes"],
            metrics=own["metrics"],
            grid=grid,
            parameters={name: value for name, value in parameters.items() if name not in grid},
            claims=[claim for claim in tables["claims"] if claim["experiment"] == own["id"]],
            replications=parameters["runs"] if isinstance(parameters["runs"], int) else 0,
            standing=own.get("standing", "independent"),
        )
    experiments = apply(runs.full, experiments)
    if unknown := [name for name, experiment in experiments.items() if not experiment.replications]:
        raise ValueError(f"{file}: no number of runs of {', '.join(unknown)}; give one in runs.toml")
    return experiments
