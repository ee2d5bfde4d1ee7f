"""All planes in one figure: axes for each scheme, a colour for each plane."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairlane.base.planes import FORWARDER, KERNEL, LINUX, P4, SIMULATOR
from fairlane.base.text import for_figure
from fairlane.judge.drawing import Canvas
from fairlane.lab.page import TITLES, conditions
from fairlane.results.intervals import Interval
from fairlane.results.metrics import metric_of
from fairlane.results.names import display_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairlane.judge.reproduce import Reproduction

STYLES = {
    SIMULATOR: ("-", None, 0),
    FORWARDER: ("--", "o", 1),
    KERNEL: ("--", "s", 2),
    P4: ("--", "^", 3),
    LINUX: ("--", "D", 5),
}
"""Line style, marker and index of the colour of each plane; the simulator is the reference."""
PANEL_IN = (4.2, 3.1)
COLUMNS = 3
FIGURES = {
    "shares": ("normalised_throughput", "goodput_bps"),
    "delay": ("one_way_delay_p99_s", "one_way_delay_mean_s"),
}
"""Metrics of each figure of a comparison, which shows the first that all planes have."""


@dataclass(frozen=True)
class _Recorder(Canvas):
    """Records the content of a paper's figure instead of drawing it."""

    shown: dict[str, Any] = field(default_factory=dict)

    def curves(self, x: str, *metrics: str, names: Mapping[tuple[str, Any], str], **_: Any) -> None:
        self.shown.update(x=x, metrics=metrics, names=names)


def planes_in_one(found: Mapping[str, Reproduction], experiment_id: str) -> Figure:
    """The figure of an experiment with all planes."""
    from fairlane.results import plots

    first = next(iter(found.values()))
    experiment = first.paper.experiments[experiment_id]
    with plots.figure("", "") as (_, axes):
        recorder = _Recorder(axes, first.tables[experiment_id], experiment)
        first.paper.figures()[experiment_id](recorder)
    metrics, names = recorder.shown["metrics"], recorder.shown["names"]
    cells_of = [(scheme, metric) for scheme in experiment.schemes for metric in metrics]
    size_in = PANEL_IN[0] * len(metrics), 0.9 + PANEL_IN[1] * len(experiment.schemes)
    shared = {"sharex": True, "sharey": True}
    title = _title(found, experiment_id)
    with plots.panels(len(cells_of), title, len(metrics), size_in, **shared) as (drawn, panels):
        for axes, (scheme, metric) in zip(panels, cells_of, strict=True):
            for plane, reproduction in found.items():
                cells = reproduction.tables[experiment_id].cells([scheme], [metric])
                line, marker, colour = STYLES[plane]
                plots.error_bars(
                    axes,
                    [cell.at[recorder.shown["x"]] for cell in cells],
                    [cell.interval for cell in cells],
                    color=plots.COLOURS[colour],
                    linestyle=line,
                    marker=marker,
                    markerfacecolor="white",
                    label=TITLES[plane],
                )
            plots.set_subtitle(axes, f"{names['metric', metric]}, {names['scheme', scheme]}")
            axes.set(xlabel=recorder.axes.get_xlabel(), ylabel=recorder.axes.get_ylabel(), ylim=(0, None))
            axes.label_outer()
        plots.legend(drawn, drawn.axes[0], len(found))
    return drawn


def _title(found: Mapping[str, Reproduction], experiment_id: str) -> str:
    experiment = next(iter(found.values())).paper.experiments[experiment_id]
    return f"{experiment_id}: {experiment.title}\n{conditions(found, experiment_id)}"


def by_plane(scenario: str, found: Mapping[str, Mapping[str, Mapping[str, Interval]]]) -> dict[str, Figure]:
    """Figures of a comparison by file name: a panel for each queue, a bar for each group and plane.

    `found` has the means by queue, plane and column of `runs_frame`.
    """
    measured = [{column.partition(".")[0] for column in means} for of in found.values() for means in of.values()]
    shown = {name: [one for one in metrics if all(one in has for has in measured)] for name, metrics in FIGURES.items()}
    return {name: _bars(scenario, found, metrics[0]) for name, metrics in shown.items() if metrics}


def _bars(scenario: str, found: Mapping[str, Mapping[str, Mapping[str, Interval]]], name: str) -> Figure:
    from fairlane.results import plots

    metric = metric_of(name)
    every = (column for of in found.values() for means in of.values() for column in means)
    columns = list(dict.fromkeys(column for column in every if column.startswith(f"{name}.")))
    groups = [for_figure(column.partition(".")[2]) for column in columns]
    across = plots.even_columns(len(found), COLUMNS)
    size_in = max(plots.SIZE_IN[0], PANEL_IN[0] * across), 1.2 + PANEL_IN[1] * math.ceil(len(found) / across)
    title = f"{for_figure(scenario)}: {metric.title} by plane\nbars: 95% intervals"
    with plots.panels(len(found), title, across, size_in, sharey=True) as (drawn, grid):
        for axes, planes in zip(grid, found.values(), strict=True):
            bars = [
                (
                    TITLES[plane],
                    plots.COLOURS[STYLES[plane][-1]],
                    [_estimate(means.get(one), metric.factor) for one in columns],
                )
                for plane, means in planes.items()
            ]
            plots.bars(axes, groups, bars, 1.0 if name == "normalised_throughput" else None)
        plots.from_zero(grid, "y")
        plots.label_panels(grid, across, [for_figure(display_name(queue)) for queue in found], "")
        drawn.supylabel(metric.label, fontsize=10)
        plots.legend(drawn, grid[0])
    return drawn


def _estimate(mean: Interval | None, factor: float) -> tuple[float, float]:
    return (factor * mean.mean, factor * mean.slack) if mean else (math.nan, 0.0)
