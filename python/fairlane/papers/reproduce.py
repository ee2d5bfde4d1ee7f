"""The verb `reproduce`: runs the experiments of a paper, tests its claims, draws its figures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane, papers
from fairlane.errors import UserError
from fairlane.files import write_aside
from fairlane.folders import staged
from fairlane.notes import joined, notes_of
from fairlane.papers.claims import Verdict
from fairlane.papers.grid import Measured, Point, Row, Table, matches
from fairlane.papers.paper import Experiment, Paper, Record
from fairlane.runner import simulate
from fairlane.store import Store, key

if TYPE_CHECKING:
    import polars as pl


_HOLDS = {"reproduced": {"reproduced"}, "as ns-3": {"reproduced", "as ns-3"}}
"""Verdicts that are no worse than one that was held."""

Runner = Callable[[Sequence[str], Store], Sequence[Sequence[str | Measured]]]
"""Runs canonical scenarios, each as often as it says, but for what the store has; gives their run records (JSON), or
the metrics of runs whose records are elsewhere."""


@dataclass(frozen=True, repr=False)
class Reproduction:
    """Measured grids and verdicts of some experiments of one paper.

    Attributes:
        paper: The paper.
        experiments: Those that were asked for.
        tables: Measured grid by experiment id; those that claims refer to are there too, as far as they are needed.
        verdicts: Of all claims of the experiments.
        replications: Of each experiment.
        settings: Scenario keys that differ from the paper's.
        cpu_seconds: CPU time of the runs of each experiment, when they were simulated.
        quick: Whether runs were fewer and shorter than those whose verdicts count.
    """

    paper: Paper
    experiments: Sequence[Experiment]
    tables: Mapping[str, Table]
    verdicts: Sequence[Verdict]
    replications: Mapping[str, int]
    settings: Mapping[str, Any]
    cpu_seconds: Mapping[str, float]
    quick: bool = False

    def verdicts_of(self, experiment: Experiment) -> list[Verdict]:
        """The verdicts of one experiment's claims."""
        claims = {claim["id"] for claim in experiment.claims}
        return [verdict for verdict in self.verdicts if verdict.claim in claims]

    def frame(self, experiment: Experiment) -> pl.DataFrame:
        """Measured points in long form: scheme, variables, metric, mean, half_width, n."""
        import polars as pl

        return pl.DataFrame(list(self._points(experiment)), infer_schema_length=None)

    def document(self) -> dict[str, Any]:
        """Everything as one table, ready for JSON."""
        return {
            "schema": 1,
            "version": _fairlane.version(),
            "paper": self.paper.key,
            "quick": self.quick,
            "settings": dict(self.settings),
            "experiments": [
                {
                    "id": experiment.id,
                    "title": experiment.title,
                    "where": experiment.where,
                    "replications": self.replications[experiment.id],
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
        """The canonical scenario of every point of an experiment; none if it is computed."""
        count = self.replications[experiment.id]
        points = self.paper.points(experiment)
        return [point_scenario(self.paper, experiment, at, count, self.settings) for at in points]

    def notes(self, experiment: Experiment) -> list[str]:
        """What to know about the scenarios of an experiment, a line each."""
        scenarios = enumerate(self.scenarios(experiment))
        return joined({f"point {number}": notes_of(scenario) for number, scenario in scenarios})

    def regressions(self) -> list[str]:
        """One line for each claim that is not reproduced as expected, or of which nothing is expected."""
        expected = self.paper.expected().claims
        lines = []
        for verdict in self.verdicts:
            if verdict.claim not in expected:
                lines.append(f"{verdict.claim}: {verdict.verdict}, no expected verdict")
            elif (before := expected[verdict.claim]["verdict"]) in _HOLDS and verdict.verdict not in _HOLDS[before]:
                lines.append(f"{verdict.claim}: {verdict.verdict}, was {before}: {verdict.measured}")
        return lines

    def write(self, folder: str | Path) -> list[Path]:
        """Writes, for each experiment, its points (Parquet) and figure (PNG, SVG); and claims.json.

        Returns:
            The figures, as PNG.
        """
        with staged(Path(folder)) as stage:
            figures = self.write_into(stage)
        return [Path(folder) / figure.name for figure in figures]

    def write_into(self, stage: Path) -> list[Path]:
        """Writes the same files into a folder that is there, and gives the figures."""
        from fairlane import frames, plots
        from fairlane.papers.drawing import draw

        figures = []
        for experiment in self.experiments:
            frames.write(self.frame(experiment), stage / f"{experiment.name}.parquet")
            if experiment.kind == "figure":
                plots.save(draw(self, experiment), stage / experiment.name)
                figures.append(stage / f"{experiment.name}.png")
        (stage / "claims.json").write_text(self.json() + "\n", encoding="utf-8")
        return figures

    def write_expected(self) -> None:
        """Makes the verdicts and CPU times the expected ones, those of other experiments stay."""
        import tomli_w

        old = self.paper.expected()
        claims = {**old.claims} | {
            verdict.claim: {
                "verdict": verdict.verdict,
                "measured": verdict.measured,
                "worst": verdict.worst,
                **({"ns3": verdict.ns3} if verdict.ns3 else {}),
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
            mean = cell.interval
            finite = math.isfinite(mean.mean)
            yield {
                **cell.at,
                "mean": mean.mean if finite else None,
                "half_width": mean.half_width,
                "n": mean.n,
            }

    def __repr__(self) -> str:
        return f"<Reproduction of {', '.join(experiment.id for experiment in self.experiments)}>"


@dataclass(frozen=True)
class Place:
    """A point of an experiment and its canonical scenario."""

    experiment: Experiment
    at: Point
    scenario: str


def reproduce(
    *names: str,
    quick: bool = False,
    replications: int | None = None,
    settings: Mapping[str, Any] | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
    runner: Runner | None = None,
) -> Reproduction:
    """Runs what the store lacks for some experiments of a paper and tests their claims.

    Args:
        names: `abc2018` for a whole paper, `abc2018.fig4a` for one experiment; all of the same paper.
        quick: Whether to run fewer points, replications or seconds, as the paper's runs.toml says, for a first look.
        replications: Runs of each point, in place of the paper's number.
        settings: Scenario keys to change in every run, such as `{"tcp.delayed_ack": 1}`.
        threads: Simulator threads; all cores if None.
        store: Folder of finished replications.
        progress: Whether to report on stderr.
        runner: Who runs, if not the simulator.

    Raises:
        UserError: An unknown name, names of several papers, or a store that cannot be written.
        ScenarioError: A setting that no scenario takes.
        Interrupted: Ctrl-C; what is finished is in the store.
    """
    paper, experiments = _select(names, quick=quick)
    settings = settings or {}
    counts = _counts(paper, replications)
    places = list(_places(paper, experiments, settings, counts))
    unique: dict[str, str] = {}
    for place in sorted(places, key=lambda place: counts[place.experiment.id]):
        unique[key(place.scenario)] = place.scenario  # the one with most replications stays
    where = Store(store)
    where.check()
    scenarios = list(unique.values())
    if runner is None:
        runs: Sequence[Sequence[str | Measured]] = simulate(
            scenarios, where, keep=True, threads=threads, show_progress=progress, title=paper.key
        )
    else:
        runs = runner(scenarios, where)
    rows, seconds = _measure(paper, places, dict(zip(unique, runs, strict=True)), counts)
    needed = _needed(paper, experiments)
    for name in needed.keys() & paper.computed.keys():
        rows[name], seconds[name] = list(paper.computed[name](paper.experiments[name])), 0.0
    tables = {name: paper.table(paper.experiments[name], rows.get(name, [])) for name in needed}
    verdicts = [paper.judge(claim, tables) for experiment in experiments for claim in experiment.claims]
    return Reproduction(paper, experiments, tables, verdicts, counts, settings, seconds, quick)


def plan(
    *names: str, quick: bool = False, replications: int | None = None, settings: Mapping[str, Any] | None = None
) -> tuple[Paper, list[Place]]:
    """The paper and every point that `reproduce` with these arguments needs.

    Raises:
        UserError: An unknown name, or names of several papers.
        ScenarioError: A setting that no scenario takes.
    """
    paper, experiments = _select(names, quick=quick)
    return paper, list(_places(paper, experiments, settings or {}, _counts(paper, replications)))


def missing(
    *names: str,
    quick: bool = False,
    replications: int | None = None,
    settings: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
) -> dict[str, int]:
    """How many runs the store lacks for each experiment and its claims: what `reproduce` of it alone would simulate.

    Args:
        names: As for `reproduce`, and so are the others.
        quick: Whether fewer and shorter runs are asked for.
        replications: Runs of each point, in place of the paper's number.
        settings: Scenario keys that differ in every run.
        store: Folder of finished replications.

    Raises:
        UserError: An unknown name, or names of several papers.
        ScenarioError: A setting that no scenario takes.
    """
    paper, experiments = _select(names, quick=quick)
    counts = _counts(paper, replications)
    where = Store(store)
    stored: dict[str, set[int]] = {}
    lacking = {}
    for experiment in experiments:
        wanted: dict[str, int] = {}
        for place in _places(paper, [experiment], settings or {}, counts):
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
    selected = papers.select(names)
    if len(selected) != 1:
        raise UserError(f"{' '.join(names)}: name experiments of one paper")
    ((paper, experiments),) = selected
    if not quick:
        return paper, experiments
    shorter = paper.quick()
    return shorter, [shorter.experiments[experiment.id] for experiment in experiments]


def _places(
    paper: Paper, experiments: Sequence[Experiment], settings: Mapping[str, Any], counts: Mapping[str, int]
) -> Iterator[Place]:
    """All points of the experiments, and those of others that their claims refer to."""
    for name, conditions in _needed(paper, experiments).items():
        experiment = paper.experiments[name]
        for at in paper.points(experiment):
            if any(matches(at, condition, experiment.grid) for condition in conditions):
                yield Place(experiment, at, point_scenario(paper, experiment, at, counts[name], settings))


def _needed(paper: Paper, experiments: Sequence[Experiment]) -> dict[str, list[Mapping[str, Any]]]:
    """The experiments and those that their claims refer to, each with the conditions of the points that are needed."""
    needed: dict[str, list[Mapping[str, Any]]] = {}
    for experiment in experiments:
        for claim in experiment.claims:
            for other, fixed in paper.needs(claim):
                needed.setdefault(other, []).append(fixed)
    return needed | {experiment.id: [{}] for experiment in experiments}


def point_scenario(
    paper: Paper, experiment: Experiment, at: Point, replications: int, settings: Mapping[str, Any] | None = None
) -> str:
    """The canonical scenario of a point, with scenario keys changed to `settings`."""
    scenario = paper.scenario({**experiment.parameters, **at})
    changes = {"name": experiment.id, "run.replications": replications, **experiment.settings, **(settings or {})}
    for name, value in changes.items():
        scenario = scenario.replace(name, value)
    canonical = scenario.canonical()
    wanted = paper.engine_schemes.get(at["scheme"], at["scheme"])
    own = json.loads(canonical)["queue"]["scheme"]
    return canonical if own == wanted else _fairlane.with_queue(canonical, wanted)


def _measure(
    paper: Paper,
    places: Sequence[Place],
    runs: Mapping[str, Sequence[str | Measured]],
    counts: Mapping[str, int],
) -> tuple[dict[str, list[Row]], dict[str, float]]:
    """Rows and CPU seconds by experiment."""
    rows: dict[str, dict[int, Row]] = {place.experiment.id: {} for place in places}
    seconds = dict.fromkeys(rows, 0.0)
    by_scenario: dict[str, list[int]] = {}
    for index, place in enumerate(places):
        by_scenario.setdefault(key(place.scenario), []).append(index)
    for scenario, indices in by_scenario.items():
        # Records are large: those of one scenario at a time.
        records = [run if isinstance(run, Measured) else json.loads(run) for run in runs[scenario]]
        counted: set[str] = set()
        for index in indices:
            place = places[index]
            name = place.experiment.id
            used = records[: counts[name]]
            rows[name][index] = _row(paper, place, used)
            if name not in counted:
                counted.add(name)
                own = (record for record in used if not isinstance(record, Measured))
                seconds[name] += sum(record["performance"]["cpu_seconds"] for record in own)
    return {name: [of_name[index] for index in sorted(of_name)] for name, of_name in rows.items()}, seconds


def _row(paper: Paper, place: Place, records: Sequence[Record | Measured]) -> Row:
    measured = [metrics_of(paper, place, record) for record in records]
    samples = {name: tuple(metrics.get(name) for metrics in measured) for name in paper.metrics}
    own = [record for record in records if not isinstance(record, Measured)]
    traces = {
        name: tuple(curve for record in own if (curve := tuple(trace(record)))) for name, trace in paper.traces.items()
    }
    return Row(place.at, samples, traces)


def metrics_of(paper: Paper, place: Place, record: Record | Measured) -> Mapping[str, float | None]:
    """All metrics of a run at a point, None where it has no such number."""
    if isinstance(record, Measured):
        return record.metrics
    values = {**place.experiment.parameters, **place.at}
    return {name: metric(record, values) for name, metric in paper.metrics.items()}
