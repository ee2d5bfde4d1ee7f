"""The command `reproduce` runs the experiments of a paper, tests its claims and draws its figures."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.files import write_aside
from fairlane.base.folders import staged
from fairlane.base.text import for_figure
from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Table
from fairlane.judge.library import select
from fairlane.judge.measurements import Measurements, Place, Run, needed, places, point_scenario
from fairlane.judge.paper import Paper
from fairlane.judge.readings import STANDINGS, Standing
from fairlane.judge.rounds import Rounds
from fairlane.judge.verdicts import ClaimVerdict, VerdictName
from fairlane.results import frames
from fairlane.results.notes import joined, notes_of
from fairlane.store import Store, key
from fairlane.store.simulate import simulate

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

_HOLDS = {"reproduced": {"reproduced"}, "as ns-3": {"reproduced", "as ns-3"}}
"""For each successful verdict, the verdicts that are at least as good."""

EXPECTED = ("metric", "verdict", "measured", "worst", "runs")
"""Fields of a finding that verdicts.toml stores."""

Runner = Callable[[Sequence[str], Store], Sequence[Sequence[Run]]]
"""Runs canonical scenarios with their numbers of replications, reusing stored runs. Returns run records (JSON), or the
metrics of runs whose records are stored elsewhere."""


@dataclass(frozen=True, repr=False)
class Reproduction:
    """Measured grids and verdicts of some experiments of one paper.

    Attributes:
        paper: The paper.
        experiments: Requested experiments.
        tables: Measured grid by experiment id, including needed points of experiments that claims refer to.
        verdicts: Verdicts on all claims of the experiments.
        replications: Number of replications of each experiment.
        most: For each experiment, the maximum number of replications of a point while a claim is inconclusive.
        settings: Scenario keys that differ from the paper's.
        cpu_seconds: CPU time of the runs of each experiment, including stored runs.
        quick: True for a preview, with fewer and shorter runs.
    """

    paper: Paper
    experiments: Sequence[Experiment]
    tables: Mapping[str, Table]
    verdicts: Sequence[ClaimVerdict]
    replications: Mapping[str, int]
    most: Mapping[str, int]
    settings: Mapping[str, Any]
    cpu_seconds: Mapping[str, float]
    quick: bool = False

    def verdicts_of(self, experiment: Experiment) -> list[ClaimVerdict]:
        """The verdicts of one experiment's claims."""
        claims = {claim["id"] for claim in experiment.claims}
        return [verdict for verdict in self.verdicts if verdict.claim in claims]

    def counts(self) -> dict[Standing, Counter[VerdictName]]:
        """Counts of verdicts for each standing."""
        found: dict[Standing, Counter[VerdictName]] = {}
        for verdict in self.verdicts:
            found.setdefault(verdict.standing, Counter())[verdict.verdict] += 1
        return {standing: found[standing] for standing in STANDINGS if standing in found}

    def frame(self, experiment: Experiment) -> pl.DataFrame:
        """Measured points in long form: scheme, variables, metric, mean, half_width, n."""
        return frames.frame(self._points(experiment))

    def figure(self, experiment: Experiment) -> Figure:
        """The figure of an experiment."""
        from fairlane.judge.drawing import Canvas  # slow: loads matplotlib
        from fairlane.results import plots

        count = self.replications[experiment.id]
        subtitle = (
            f"mean of {count} replications, bars: {self.paper.confidence:.0%} intervals" if count > 1 else "one run"
        )
        if self.quick:
            subtitle += "; quick"
        if self.settings:
            subtitle += "; " + ", ".join(for_figure(f"{key} = {value}") for key, value in self.settings.items())
        with plots.figure(f"{experiment.id}: {experiment.title}", subtitle) as (drawn, axes):
            self.paper.figures()[experiment.id](Canvas(axes, self.tables[experiment.id], experiment))
            plots.legend(drawn, axes)
        return drawn

    def document(self) -> dict[str, Any]:
        """The reproduction as a document, ready for JSON."""
        return {
            "schema": 2,
            "version": _fairlane.version(),
            "paper": self.paper.key,
            "quick": self.quick,
            "settings": dict(self.settings),
            "counts": [
                {"standing": standing, "verdicts": dict(counted)} for standing, counted in self.counts().items()
            ],
            "experiments": [
                {
                    "id": experiment.id,
                    "title": experiment.title,
                    "where": experiment.where,
                    "replications": self.replications[experiment.id],
                    "most_replications": self.most[experiment.id],
                    "confidence": self.paper.confidence,
                    "notes": self.notes(experiment),
                    "points": list(self._points(experiment)),
                    "claims": [verdict.to_dict() for verdict in self.verdicts_of(experiment)],
                }
                for experiment in self.experiments
            ],
        }

    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document(), allow_nan=False, ensure_ascii=False)

    def scenarios(self, experiment: Experiment) -> list[str]:
        """The canonical scenarios of all points of an experiment; empty if the experiment is computed."""
        count = self.replications[experiment.id]
        points = self.paper.points(experiment)
        return [point_scenario(self.paper, experiment, at, count, self.settings) for at in points]

    def notes(self, experiment: Experiment) -> list[str]:
        """Caveats about an experiment's scenarios, one line each."""
        scenarios = enumerate(self.scenarios(experiment))
        return joined({f"point {number}": notes_of(scenario) for number, scenario in scenarios})

    def regressions(self) -> list[str]:
        """One line for each claim that is not reproduced as expected, or that has no expected verdict."""
        expected = self.paper.expected().claims
        lines = []
        for verdict in self.verdicts:
            if verdict.claim not in expected:
                lines.append(f"{verdict.claim}: {verdict.verdict}, no expected verdict")
            elif (before := expected[verdict.claim]["verdict"]) in _HOLDS and verdict.verdict not in _HOLDS[before]:
                lines.append(f"{verdict.claim}: {verdict.verdict}, was {before}: {verdict.measured}")
        return lines

    def write(self, folder: str | Path) -> list[Path]:
        """Writes points (Parquet) and figure (PNG, SVG) of each experiment, and claims.json.

        Returns:
            The figures, as PNG.
        """
        with staged(Path(folder)) as stage:
            figures = self.write_into(stage)
        return [Path(folder) / figure.name for figure in figures]

    def write_into(self, stage: Path) -> list[Path]:
        """Writes the files of `write` into an existing folder; returns the figures (PNG)."""
        from fairlane.results import plots  # slow: loads matplotlib

        figures = []
        for experiment in self.experiments:
            frames.write(self.frame(experiment), stage / f"{experiment.name}.parquet")
            if experiment.kind == "figure":
                plots.save(self.figure(experiment), stage / experiment.name)
                figures.append(stage / f"{experiment.name}.png")
        (stage / "claims.json").write_text(self.json() + "\n", encoding="utf-8")
        return figures

    def write_expected(self) -> None:
        """Records verdicts and CPU times as the expected outcomes. Keeps the records of other experiments."""
        import tomli_w

        old = self.paper.expected()
        claims = {**old.claims} | {
            verdict.claim: {
                "verdict": verdict.verdict,
                **{name: text for name, text in (("reason", verdict.reason), ("ns3", verdict.ns3)) if text},
                "findings": [{name: getattr(finding, name) for name in EXPECTED} for finding in verdict.findings],
            }
            for verdict in self.verdicts
        }
        seconds = {**old.cpu_seconds, **{name: round(value, 1) for name, value in self.cpu_seconds.items()}}
        known = self.paper.experiments
        order = [claim["id"] for experiment in known.values() for claim in experiment.claims]
        document = {
            "cpu_seconds": {name: seconds[name] for name in known if name in seconds},
            "claims": {claim: claims[claim] for claim in order if claim in claims},
        }
        head = (
            f"# Verdicts that `fairlane reproduce {self.paper.key} --check` expects, and the CPU seconds of all runs.\n"
            f"# Written by `fairlane reproduce {self.paper.key} --write-verdicts`.\n\n"
        )
        write_aside(self.paper.expected_file, (head + tomli_w.dumps(document)).encode())

    def _points(self, experiment: Experiment) -> Iterator[dict[str, Any]]:
        cells = self.tables[experiment.id].cells(experiment.schemes, experiment.metrics)
        for cell in cells:
            mean = cell.interval.document()
            yield {**cell.at, **mean, "mean": mean["mean"] if math.isfinite(mean["mean"]) else None}

    def __repr__(self) -> str:
        return f"<Reproduction of {', '.join(experiment.id for experiment in self.experiments)}>"


def reproduce(
    *names: str,
    quick: bool = False,
    replications: int | None = None,
    settings: Mapping[str, Any] | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
    runner: Runner | None = None,
    stored: bool = False,
) -> Reproduction:
    """Runs experiments of a paper, reusing stored runs, and tests their claims.

    Points that keep a claim inconclusive get more replications (judge/rounds.py), except with `quick`, `replications`
    or `runner`.

    Args:
        names: `abc2018` for a whole paper, `abc2018.fig4a` for one experiment; all names must belong to one paper.
        quick: Preview with fewer points, replications or seconds, as defined in the paper's runs.toml.
        replications: Runs of each point, instead of the paper's number.
        settings: Scenario keys to change in every run, such as `{"tcp.delayed_ack": 1}`.
        threads: Simulator threads; all cores if None.
        store: Folder of finished replications.
        progress: Report progress on stderr.
        runner: Runner to use instead of the simulator.
        stored: Use only stored runs when adding replications.

    Raises:
        UserError: A name is unknown, the names belong to several papers, or the store cannot be written.
        ScenarioError: A setting is invalid.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    paper, experiments = _select(names, quick=quick)
    settings = settings or {}
    counts = _counts(paper, replications)
    where = Store(store)

    def simulated(scenarios: Sequence[str]) -> Sequence[Sequence[Run]]:
        if runner is not None:
            return runner(scenarios, where)
        return simulate(scenarios, where, keep=True, threads=threads, show_progress=progress, title=paper.key)

    measured = Measurements(paper, list(places(paper, experiments, settings, counts)), simulated)
    measured.extend({index: counts[place.experiment.id] for index, place in enumerate(measured.places)})
    computed = {
        name: list(paper.computed[name](paper.experiments[name]))
        for name in needed(paper, experiments)
        if name in paper.computed
    }
    grows = not quick and replications is None and runner is None
    most = {
        name: experiment.most if grows and name not in paper.computed else counts[name]
        for name, experiment in paper.experiments.items()
    }

    def granted(more: Mapping[int, int]) -> bool:
        return not stored or all(_has(where, measured.places[index], count) for index, count in more.items())

    judged = Rounds(paper, measured, computed, counts, most).judge(experiments, granted)
    verdicts = [verdict.quick() for verdict in judged.verdicts] if quick else judged.verdicts
    seconds = {**dict.fromkeys(computed, 0.0), **measured.cpu_seconds}
    return Reproduction(paper, experiments, judged.tables, verdicts, counts, most, settings, seconds, quick)


def _has(store: Store, place: Place, replications: int) -> bool:
    return store.load(place.scenario).keys() >= set(range(replications))


def plan(*names: str, quick: bool, replications: int | None, settings: Mapping[str, Any]) -> tuple[Paper, list[Place]]:
    """The paper and every point that `reproduce` with these arguments needs.

    Raises:
        UserError: A name is unknown, or the names belong to several papers.
        ScenarioError: A setting is invalid.
    """
    paper, experiments = _select(names, quick=quick)
    return paper, list(places(paper, experiments, settings, _counts(paper, replications)))


def missing(
    *names: str, quick: bool, replications: int | None, settings: Mapping[str, Any], store: str | Path | None
) -> dict[str, int]:
    """Number of runs that `reproduce` would simulate for each experiment.

    Args:
        names: Names of experiments, as for `reproduce`.
        quick: Use fewer and shorter runs.
        replications: Runs of each point, instead of the paper's number.
        settings: Scenario keys to change in every run.
        store: Folder of finished replications.

    Raises:
        UserError: A name is unknown, or the names belong to several papers.
        ScenarioError: A setting is invalid.
    """
    paper, experiments = _select(names, quick=quick)
    counts = _counts(paper, replications)
    where = Store(store)
    stored: dict[str, set[int]] = {}
    lacking = {}
    for experiment in experiments:
        wanted: dict[str, int] = {}
        for place in places(paper, [experiment], settings, counts):
            name = key(place.scenario)
            if name not in stored:
                stored[name] = set(where.load(place.scenario))
            wanted[name] = max(wanted.get(name, 0), counts[place.experiment.id])
        lacking[experiment.id] = sum(len(set(range(count)) - stored[name]) for name, count in wanted.items())
    return lacking


def _counts(paper: Paper, replications: int | None) -> dict[str, int]:
    return {
        experiment.id: experiment.replications if replications is None else replications
        for experiment in paper.experiments.values()
    }


def _select(names: Sequence[str], *, quick: bool) -> tuple[Paper, list[Experiment]]:
    selected = select(names)
    if len(selected) != 1:
        raise UserError(f"{' '.join(names)}: name experiments of one paper")
    ((paper, experiments),) = selected
    if not quick:
        return paper, experiments
    shorter = paper.quick()
    return shorter, [shorter.experiments[experiment.id] for experiment in experiments]
