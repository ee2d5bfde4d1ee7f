"""Papers: experiments and claims as data, with the functions that turn them into scenarios, numbers and figures."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane.intervals import CONFIDENCE
from fairlane.papers.claims import Claim
from fairlane.papers.grid import Point

if TYPE_CHECKING:
    from fairlane.papers.drawing import Draw
    from fairlane.scenario import Scenario

Record = Mapping[str, Any]
"""A run record."""


@dataclass(frozen=True)
class Experiment:
    """A figure, table or result in words.

    Attributes:
        id: Such as `abc2018.fig4a`.
        title: In words.
        where: Place in the paper.
        kind: `figure`, `table` or `text`.
        schemes: Schemes that are compared.
        metrics: Names of what is measured; the first ones are what its figure shows.
        grid: Values of each variable of the sweep.
        parameters: Everything else.
        claims: What the paper says about it.
    """

    id: str
    title: str
    where: str
    kind: str
    schemes: Sequence[str]
    metrics: Sequence[str]
    grid: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any]
    claims: Sequence[Claim]

    @property
    def replications(self) -> int:
        """Runs of each point in the paper."""
        return int(self.parameters["runs"])

    @property
    def confidence(self) -> float:
        """Confidence level of its intervals: 0.95 unless its parameters say otherwise."""
        return float(self.parameters.get("confidence", CONFIDENCE))

    def points(self) -> Iterator[Point]:
        """Every combination of scheme and variables, the last variable running fastest."""
        for values in itertools.product(self.schemes, *self.grid.values()):
            yield dict(zip(("scheme", *self.grid), values, strict=True))


@dataclass(frozen=True)
class Expected:
    """Outcomes as they were when they were last looked at by a person (verdicts.toml).

    Attributes:
        claims: Verdict, measured number and worst point by claim id.
        cpu_seconds: CPU time of all runs by experiment id.
    """

    claims: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes:
        key: Such as `abc2018`.
        title: Authors, title, place and year.
        folder: Where its data are.
        experiments: By id, in the paper's order.
        scenario: The scenario under the paper's own scheme, from the values of parameters and variables.
        metrics: Functions of run record and values; None if the run has no such number.
        traces: Functions of run record that give a curve over time, in steps of `trace_interval_s`.
        trace_interval_s: Step of the traces.
        figures: Loads the functions that draw the figure of an experiment, by its id.
    """

    key: str
    title: str
    folder: Path
    experiments: Mapping[str, Experiment]
    scenario: Callable[[Mapping[str, Any]], Scenario]
    metrics: Mapping[str, Callable[[Record, Mapping[str, Any]], float | None]]
    figures: Callable[[], Mapping[str, Draw]]
    traces: Mapping[str, Callable[[Record], Sequence[float]]] = field(default_factory=dict)
    trace_interval_s: float = 0.1

    @property
    def expected_file(self) -> Path:
        """Where the expected outcomes are."""
        return self.folder / "verdicts.toml"

    def expected(self) -> Expected:
        """The expected outcomes; none if there is no file yet."""
        if not self.expected_file.exists():
            return Expected()
        table = tomllib.loads(self.expected_file.read_text(encoding="utf-8"))
        return Expected(table["claims"], table["cpu_seconds"])


def load_experiments(file: Path, paper: str, sweep_defaults: Sequence[str] = ()) -> dict[str, Experiment]:
    """Reads experiments and claims of a paper.

    Args:
        file: A claims.toml.
        paper: Key of the paper.
        sweep_defaults: Parameters whose default is a list of values to sweep, where an experiment does not set them.
    """
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
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
                if name not in grid and isinstance(parameters[name], list)
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
        )
    return experiments
