"""The command `lab compare` runs a scenario under several queues, on real packets and in the simulator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioWarning
from fairlane.base.folders import staged
from fairlane.base.planes import FORWARDER, SIMULATOR
from fairlane.judge.grid import Measured
from fairlane.lab.experiments import check_planes, own_settings, prepare
from fairlane.lab.page import TITLES
from fairlane.lab.schedule import check, engines_of, run_in_lab
from fairlane.results import frames
from fairlane.results.answers import differences
from fairlane.results.intervals import Interval, interval
from fairlane.results.kept import Kept
from fairlane.results.metrics import jain, path_metrics, shown
from fairlane.results.names import display_name
from fairlane.results.notes import joined
from fairlane.results.result import Result, Summarised
from fairlane.results.summary import dropped_share
from fairlane.runs.run import under
from fairlane.simulate.replications import tell_of_expectations
from fairlane.simulate.scenario import Scenario
from fairlane.simulate.variants import Queues, Variant, variants
from fairlane.store import Store
from fairlane.store.simulate import simulate

if TYPE_CHECKING:
    import polars as pl

    from fairlane.results.table import Table

OF_PATHS = {metric.name: metric for metric in shown("lab", "group")}
"""Metrics of a group's packets in tables of the lab. Not every plane measures them."""


@dataclass(frozen=True)
class PlaneResult:
    """The runs of a scenario under one queue on one plane.

    Attributes:
        queue: Name of the scheme or variant.
        plane: Plane on which the scenario ran.
        result: The runs. Runs on real planes lack what only a simulator can measure.
    """

    queue: str
    plane: str
    result: Result

    def metrics(self) -> dict[str, Interval]:
        """Mean over the runs of each metric that all runs have, such as the goodput per user of each group."""
        runs = [_metrics(run) for run in self.result.runs]
        samples = {name: [value for run in runs if (value := run[name]) is not None] for name in runs[0]}
        return {name: interval(values) for name, values in samples.items() if len(values) == len(runs)}


class PlaneResults(Summarised, list[PlaneResult]):
    """Results by queue, then by plane."""

    def summary_frame(self) -> pl.DataFrame:
        """The rows of `Result.summary_frame` of each queue and plane; the first column is `plane`."""
        import polars as pl

        return pl.concat(
            [one.result.summary_frame().select(pl.lit(one.plane).alias("plane"), pl.all()) for one in self]
        )

    def _table(self, *, paper: bool = False) -> Table:
        found = {f"{one.queue} on {one.plane}": frames.estimates(one.result.runs) for one in self}
        table = differences(found, everything=True).table
        names = (f"{display_name(one.queue)} on {TITLES[one.plane]}" for one in self)
        return replace(table, heads=["", *names]) if paper else table


def _metrics(run: Mapping[str, Any]) -> dict[str, float | None]:
    """Metrics of the users' goodput and of the first link; None if the plane cannot measure them."""
    link = run["links"][0]
    goodputs = {f"goodput_bps.{group['name']}": float(group["goodput_bps"]) for group in run["groups"]}
    first, second = goodputs.values() if len(goodputs) == 2 else (0.0, 0.0)
    return {
        **goodputs,
        "goodput_ratio": first / second if second else None,
        "jain_index": jain([goodput for group in run["groups"] for goodput in group["user_goodput_bps"]]),
        "utilisation": link["utilisation"],
        "queue_mean_packets": link.get("queue", {}).get("mean_packets"),
        "dropped_share": dropped_share(link),
        **{
            f"{metric}.{group['name']}": value
            for group in run["groups"]
            for metric, value in path_metrics(group).items()
            if metric in OF_PATHS
        },
    }


def compare(
    scenario: Scenario | str | Path,
    queues: Queues,
    *,
    planes: Sequence[str] = (FORWARDER,),
    replications: int | None = None,
    settings: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    kernel: str | None = None,
    progress: bool = False,
) -> PlaneResults:
    """Runs a scenario under each queue on each plane. The planes `linux` and `simulator` run in virtual time.

    Args:
        scenario: A scenario, or the path of its TOML file. Planes in real time need a one-sided dumbbell with one
            source per user.
        queues: As for `fairlane.compare`; the scenario's own queue keeps its parameters.
        planes: `forwarder`, `kernel`, `p4`, `linux`, `simulator`.
        replications: Replaces `run.replications`.
        settings: Scenario keys to change. A key prefixed with a plane, such as `p4:run.measure`, applies only there.
        store: Folder of finished runs.
        jobs: Concurrent runs; if None, one per core on `linux`, and one per two cores on planes in real time.
        kernel: Kernel version of the plane `linux`; if None, the newest kernel that was built.
        progress: Report progress on stderr.

    Returns:
        Results by queue, then by plane; `summary_frame()` has their means.

    Raises:
        ScenarioError: The scenario cannot be simulated.
        UserError: The file cannot be read, a queue is unknown or not available on a plane, the lab cannot build the
            scenario, or this machine lacks the plane.
        LabError: The lab failed.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    check_planes(planes)
    chosen = variants(queues)
    base = scenario if isinstance(scenario, Scenario) else Scenario.from_toml(scenario)
    tell_of_expectations(len(base.expectations), show=progress)
    scenarios = {plane: _scenarios(base, chosen, plane, replications, settings or {}) for plane in planes}
    real = [plane for plane in planes if plane != SIMULATOR]
    prepare(real)
    for plane in real:  # report what a plane lacks before another one runs for long
        check(scenarios[plane], plane)
        engines_of(None, scenarios[plane], plane, kernel)
    where = Store(store)
    runs: dict[tuple[str, str], Result] = {}
    for plane in planes:
        made = _made(scenarios[plane], where, plane, jobs, kernel, show_progress=progress)
        for variant, canonical, records in zip(chosen, scenarios[plane], made, strict=True):
            result = Result.of(canonical, [run for run in records if isinstance(run, Kept)])
            runs[variant.label, plane] = replace(result, label=variant.label)
    return PlaneResults(PlaneResult(one.label, plane, runs[one.label, plane]) for one in chosen for plane in planes)


def _made(
    scenarios: Sequence[str], store: Store, plane: str, jobs: int | None, kernel: str | None, *, show_progress: bool
) -> Sequence[Sequence[Kept | Measured]]:
    if plane == SIMULATOR:
        return simulate(scenarios, store, keep=True, show_progress=show_progress)
    return run_in_lab(scenarios, store, plane=plane, jobs=jobs, kernel=kernel, show_progress=show_progress)


def _scenarios(
    base: Scenario, queues: Sequence[Variant], plane: str, replications: int | None, settings: Mapping[str, Any]
) -> list[str]:
    given = {} if replications is None else {"run.replications": replications}
    canonical = base.changed({**given, **own_settings(plane, settings)}).canonical()
    return [under(queue, canonical) for queue in queues]


def document(found: Sequence[PlaneResult]) -> dict[str, Any]:
    """The means, ready for JSON, with a row for each queue and plane."""
    return {
        "schema": 1,
        "version": _fairlane.version(),
        "scenario": found[0].result.scenario["name"],
        "notes": joined({f"{one.queue} on {one.plane}": one.result.notes for one in found}),
        "rows": [
            {
                "queue": one.queue,
                "plane": one.plane,
                "metrics": {name: mean.document() for name, mean in one.metrics().items()},
            }
            for one in found
        ],
    }


def write(found: Sequence[PlaneResult], folder: Path) -> list[str]:
    """Writes the frames of all runs as Parquet, each with the column `lab_plane`, and figures as PNG and SVG.

    Returns:
        The names of the files.
    """
    import polars as pl  # takes longer to load than most commands run

    from fairlane.lab.drawing import by_plane  # slow: loads matplotlib
    from fairlane.results import plots

    means: dict[str, dict[str, Mapping[str, Interval]]] = {}
    tables: dict[str, list[pl.DataFrame]] = {}
    for one in found:
        means.setdefault(one.queue, {})[one.plane] = frames.estimates(one.result.runs)
        for name, frame in frames.all_frames([one.result]).items():
            tables.setdefault(name, []).append(frame.with_columns(pl.lit(one.plane).alias("lab_plane")))
    figures = by_plane(found[0].result.scenario["name"], means)
    if "delay" not in figures:
        warnings.warn(
            "figures: none of delay, since no delay was measured on all planes", ScenarioWarning, stacklevel=2
        )
    with staged(folder) as stage:
        for name, figure in figures.items():
            plots.save(figure, stage / name)
        for name, parts in tables.items():
            # Planes and schemes have different columns.
            frames.write(pl.concat(parts, how="diagonal_relaxed"), stage / f"{name}.parquet")
        return sorted(file.name for file in stage.iterdir())
