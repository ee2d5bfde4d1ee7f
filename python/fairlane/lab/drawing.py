"""All planes in one figure: axes for each scheme and metric, a colour for each plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairlane.base.planes import FORWARDER, KERNEL, LINUX, P4, SIMULATOR
from fairlane.judge.drawing import Canvas
from fairlane.lab.page import TITLES, conditions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairlane.judge.reproduce import Reproduction

STYLES = {SIMULATOR: ("-", None), FORWARDER: ("--", "o"), KERNEL: ("--", "s"), P4: ("--", "^"), LINUX: ("--", "D")}
"""Line style and marker of each plane; the simulator is the reference."""
PANEL_IN = (4.2, 3.1)


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
            for number, (plane, reproduction) in enumerate(found.items()):
                cells = reproduction.tables[experiment_id].cells([scheme], [metric])
                line, marker = STYLES[plane]
                plots.error_bars(
                    axes,
                    [cell.at[recorder.shown["x"]] for cell in cells],
                    [cell.interval for cell in cells],
                    color=plots.COLOURS[number % len(plots.COLOURS)],
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
