"""Compares the simulator with a Linux kernel in virtual time on a grid of 246 cells (`make kernel` first; two hours).

On one side the kernel provides senders, receivers and queue; on the other side the simulator does. Finished runs are
stored below `--out`, so an interrupted command can be repeated and continues.

The tolerance of the criterion (agreement.py) is 5 %. A cell agrees if the share of the smaller user, the mean queue and
the utilisation agree. Other measures do not affect the verdict.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import click

import fairlane
from fairlane import Scenario, kernel
from fairlane.base.files import write_aside
from fairlane.base.planes import LINUX, SIMULATOR
from fairlane.lab import compare
from fairlane.results import plots

from ..agreement import LEGEND, Measure, agree, verdict, yes_or_no
from ..harness import Report, bench, chosen, markdown, only, out
from .grid import cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 0.05
RUNS = {SIMULATOR: 24, LINUX: 16}
PACKET_BYTES = 1500
RECORDED = Path(__file__).with_name("recorded.json")
Recorded = Mapping[str, Mapping[str, Sequence[float]]]
Run = Mapping[str, Any]

COUNTED = ("share of the smaller user", "mean queue, packets", "use of the link")
"""Measures on which the verdict depends."""
REPORTED = ("95th percentile of the queue, packets", "dropped share", "marked share")
"""Measures that do not affect the verdict."""


class Compared(Protocol):
    """A cell of a grid."""

    @property
    def name(self) -> str:
        """Description."""

    @property
    def scheme(self) -> str:
        """Scheme of the queue."""

    def scenario(self) -> dict[str, Any]:
        """Scenario for Fairlane."""


C = TypeVar("C", bound=Compared)
Found = dict[C, list[Measure]]


@dataclass(frozen=True)
class Grid(Generic[C]):
    """Cells to compare.

    Attributes:
        cells: Cells of the grid, in order.
        measures: Returns the compared measures of a run.
        by: Factors by which cells are counted: the factor's name, and a function that returns a cell's level.
        recorded: File with the values of all runs by cell, measure and side, with five significant digits.
        prefix: Prefix of the names of this grid's generated tables on the page.
    """

    cells: Sequence[C]
    measures: Callable[[Run], dict[str, float]]
    by: Mapping[str, Callable[[C], str]]
    recorded: Path
    prefix: str = ""


def measures(record: Run) -> dict[str, float]:
    """Compared measures of a run."""
    goodputs = [group["goodput_bps"] for group in record["groups"]]
    link, total = record["links"][0], sum(goodputs)
    sent = link["throughput_bps"] * (record["window_s"][1] - record["window_s"][0]) / (8 * PACKET_BYTES)
    dropped = sum(reason["packets"] for reason in link["drops"])
    found = (
        min(goodputs) / total if total else 0.0,
        link["queue"]["mean_packets"],
        link["utilisation"],
        quantile(link["queue"]["distribution"], 0.95),
        dropped / max(sent + dropped, 1),
        link["marks"] / max(sent, 1),
    )
    return dict(zip((*COUNTED, *REPORTED), found, strict=True))


def quantile(distribution: Sequence[float], level: float) -> float:
    """Returns the smallest queue length that is exceeded for at most a fraction `1 - level` of the time."""
    sums = itertools.accumulate(distribution)
    return float(next((packets for packets, share in enumerate(sums) if share >= level), len(distribution)))


def simulated(cell: C, of: Callable[[Run], dict[str, float]]) -> dict[str, list[float]]:
    """Values of the simulator's runs by measure."""
    runs = fairlane.run(Scenario.from_dict(cell.scenario()), replications=RUNS[SIMULATOR]).runs
    found = [of(run) for run in runs]
    return {name: [run[name] for run in found] for name in found[0]}


def judged(
    cell: C,
    of: Callable[[Run], dict[str, float]],
    store: Path,
    recorded: Recorded | None = None,
    kernel: str | None = None,
) -> list[Measure]:
    """Runs a cell in the simulator, and on the kernel unless the kernel's values are given from a recording."""
    if recorded is not None:
        return [_measure(name, ours, recorded[name]["kernel"]) for name, ours in simulated(cell, of).items()]
    return on_both(Scenario.from_dict(cell.scenario()), cell.scheme, RUNS, store, of, jobs=None, kernel=kernel)


def on_both(
    scenario: Scenario,
    scheme: str,
    runs: Mapping[str, int],
    store: Path,
    of: Callable[[Run], Mapping[str, float]],
    jobs: int | None = 1,
    kernel: str | None = None,
) -> list[Measure]:
    """Returns the measures of a scenario in the simulator and on another plane, with the given numbers of runs."""
    counts = {f"{plane}:run.replications": count for plane, count in runs.items()}
    found = compare(scenario, [scheme], planes=tuple(runs), settings=counts, store=store, jobs=jobs, kernel=kernel)
    ours, theirs = ([of(run) for run in one.result.runs] for one in found)
    return [_measure(name, [run[name] for run in ours], [run[name] for run in theirs]) for name in ours[0]]


def _measure(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Measure:
    return Measure(name, ours, theirs, TOLERANCE, counts=name not in REPORTED)


def text(found: Found[C], linux: str) -> str:
    """The results in Markdown."""
    names = [measure.name for measure in next(iter(found.values()))]
    agreeing = sum(map(agree, found.values()))
    by_measure = [f"{name} {sum(of[at].agrees for of in found.values())}" for at, name in enumerate(names)]
    rows = [[cell.name, yes_or_no(of), *map(str, of)] for cell, of in found.items()]
    counted = f"**{agreeing} of {len(found)}** cells agree; by measure: {', '.join(by_measure)}."
    table = markdown(["cell", "agrees", *names], rows)
    return "\n\n".join([f"Linux {linux} in virtual time.", counted, f"Simulator / kernel, {LEGEND}", table])


def counts(found: Found[C], by: Mapping[str, Callable[[C], str]]) -> str:
    """Number of agreeing cells by level of each factor, in Markdown."""
    rows = []
    for name, of in by.items():
        for value in dict.fromkeys(map(of, found)):
            own = [measures for cell, measures in found.items() if of(cell) == value]
            rows.append([name, value, f"{sum(map(agree, own))} of {len(own)}"])
    return markdown(["by", "value", "cells that agree"], rows)


def save(out: Path, found: Found[C], linux: str) -> dict[str, Any]:
    """Writes the results after each cell, so that a killed process loses at most one cell."""

    def short(values: Sequence[float]) -> list[float]:
        return [float(f"{value:.5g}") for value in values]

    document = {
        "linux": linux,
        "cells": {
            cell.name: {
                measure.name: {"simulator": short(measure.ours), "kernel": short(measure.theirs)} for measure in of
            }
            for cell, of in found.items()
        },
    }
    write_aside(out / "recorded.json", (json.dumps(document).replace('}}, "', '}},\n"') + "\n").encode())
    write_aside(out / "agreement.md", (text(found, linux) + "\n").encode())
    return document


def draw(found: Found[C], linux: str) -> Figure:
    """Draws the simulator's share and mean queue against the kernel's, for every cell."""
    agreeing = sum(map(agree, found.values()))
    title = f"Simulator and Linux {linux}: {agreeing} of {len(found)} cells agree"
    shown = (("share of the smaller user", "linear", (0.0, 0.55)), ("mean queue, packets", "log", (0.05, 5e4)))
    with plots.panels(len(shown), title, columns=len(shown), size_in=(7.4, 3.9)) as (drawn, grid):
        for axes, (name, scale, ends) in zip(grid, shown, strict=True):
            for agrees, colour, label in ((True, plots.COLOURS[0], "agrees"), (False, plots.COLOURS[1], "differs")):
                points = [next(m for m in of if m.name == name) for of in found.values() if agree(of) == agrees]
                across, up = ([fmean(side) for side in sides] for sides in _sides(points))
                axes.scatter(across, up, s=9, color=colour, label=f"cell {label}", alpha=0.7, linewidths=0)
            axes.plot(ends, ends, color="0.6", linewidth=0.8, zorder=0)
            axes.set(xscale=scale, yscale=scale, xlim=ends, ylim=ends, xlabel="Linux", ylabel="simulator")
            plots.set_subtitle(axes, name.replace(", packets", " (packets)"))
        plots.legend(drawn, grid[0])
    return drawn


def _sides(points: Sequence[Measure]) -> tuple[list[Sequence[float]], list[Sequence[float]]]:
    return [point.theirs for point in points], [point.ours for point in points]


def run_all(report: Report, grid: Grid[C], out: Path, only: str, version: str | None, recorded: bool) -> Found[C]:
    """Runs the cells of a grid, and writes which cells agree."""
    of = chosen(report, grid.cells, only, lambda cell: cell.name)
    kept: dict[str, Any] = json.loads(grid.recorded.read_text(encoding="utf-8")) if recorded else {}
    linux: str = kept.get("linux") or kernel.find(version).release
    found: Found[C] = {}
    for number, cell in enumerate(of, 1):
        found[cell] = judged(cell, grid.measures, out / "store", kept.get("cells", {}).get(cell.name), version)
        report.document.update(save(out, found, linux))
        report.progress(number, len(of), f"{cell.name}: {verdict(found[cell])}")
    report.put(f"{grid.prefix}results", text(found, linux))
    report.put(f"{grid.prefix}counts", counts(found, grid.by))
    return found


which_kernel = click.option(
    "--kernel", "version", metavar="VERSION", help="Version of the kernel [default: the newest built]."
)
from_recording = click.option("--recorded", is_flag=True, help="Run only the simulator; the kernel's values are kept.")
GRID = Grid(
    cells(),
    measures,
    {
        "queue": lambda cell: cell.scheme,
        "controls": lambda cell: " and ".join(cell.mix),
        "rate": lambda cell: f"{cell.rate_mbps} Mbit/s",
        "round-trip time": lambda cell: f"{cell.rtt_ms} ms",
    },
    RECORDED,
)


@bench("linux-tcp", page="")
@out("results/linux-tcp")
@only
@which_kernel
@from_recording
@click.option("--figure", "stem", type=click.Path(path_type=Path), help="Draw all cells into STEM.png.")
def main(report: Report, out: Path, only: str, version: str | None, recorded: bool, stem: Path | None) -> None:
    """Runs the cells, and writes which of them agree."""
    found = run_all(report, GRID, out, only, version, recorded)
    if stem:
        plots.save(draw(found, report.document["linux"]), stem, (".png",))
