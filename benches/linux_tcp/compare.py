"""Compares the profile `linux` with this kernel's TCP on a grid of 72 cells (needs root, iperf3; about 85 minutes).

Both planes have the same schemes at the bottleneck, those of the forwarder; what differs is TCP: the kernel's of this
machine, and the profile `linux`. What has run is kept in the store of `--out`: the same command continues.

Per cell and measure the tolerance of the criterion (agreement.py) is 10 %. A cell agrees if the share of the smaller
user, the mean queue and the use of the link do.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import fairlane
from fairlane import Scenario
from fairlane.base.files import write_aside
from fairlane.base.planes import FORWARDER, SIMULATOR
from fairlane.lab import compare

from ..agreement import LEGEND, Measure, agree, verdict, yes_or_no
from ..harness import Report, bench, chosen, machine, markdown, only, out
from .grid import Cell, cells

TOLERANCE = 0.10
RUNS = {SIMULATOR: 20, FORWARDER: 3}
RECORDED = Path(__file__).with_name("recorded.json")
"""What the kernel did: by cell and measure, a value for each run."""


Found = dict[Cell, list[Measure]]


def measures(record: Mapping[str, Any]) -> dict[str, float]:
    """What is compared of a run."""
    goodputs = [group["goodput_bps"] for group in record["groups"]]
    link = record["links"][0]
    return {
        "share of the smaller user": min(goodputs) / sum(goodputs) if sum(goodputs) else 0.0,
        "mean queue, packets": link["queue"]["mean_packets"],
        "use of the link": link["utilisation"],
    }


def judged(cell: Cell, store: Path, recorded: Mapping[str, Sequence[float]] | None = None) -> list[Measure]:
    """Runs a cell on both planes, or in the simulator alone, and takes the kernel's values from a recording."""
    scenario = Scenario.from_dict(cell.scenario())
    if recorded is not None:
        runs = [measures(run) for run in fairlane.run(scenario, replications=RUNS[SIMULATOR]).runs]
        return [Measure(name, [run[name] for run in runs], recorded[name], TOLERANCE) for name in runs[0]]
    return on_both(scenario, cell.queue, RUNS, store, measures)


def on_both(
    scenario: Scenario,
    scheme: str,
    runs: Mapping[str, int],
    store: Path,
    of: Callable[[Mapping[str, Any]], Mapping[str, float]],
    jobs: int = 1,
) -> list[Measure]:
    """Measures of a scenario in the simulator and on another plane, each with its number of runs."""
    counts = {f"{plane}:run.replications": count for plane, count in runs.items()}
    found = compare(scenario, [scheme], planes=tuple(runs), settings=counts, store=store, jobs=jobs)
    ours, theirs = ([of(run) for run in one.result.runs] for one in found)
    return [Measure(name, [run[name] for run in ours], [run[name] for run in theirs], TOLERANCE) for name in ours[0]]


def text(found: Found, linux: str) -> str:
    """The results in Markdown."""
    names = [measure.name for measure in next(iter(found.values()))]
    agreeing = sum(map(agree, found.values()))
    by_measure = [f"{name} {sum(of[at].agrees for of in found.values())}" for at, name in enumerate(names)]
    rows = [[cell.name, yes_or_no(of), *map(str, of)] for cell, of in found.items()]
    counted = f"**{agreeing} of {len(found)}** cells agree; by measure: {', '.join(by_measure)}."
    table = markdown(["cell", "agrees", *names], rows)
    return "\n\n".join([f"Linux {linux}, {machine()}.", counted, f"Simulator / kernel, {LEGEND}", table])


def save(out: Path, found: Found, linux: str) -> list[dict[str, Any]]:
    """Writes the results after each cell, so that a kill loses one."""
    document = [
        {
            "cell": asdict(cell),
            "measures": {m.name: {"simulator": m.ours, "kernel": m.theirs, "agrees": m.agrees} for m in of},
        }
        for cell, of in found.items()
    ]
    write_aside(out / "agreement.json", (json.dumps(document, indent=1) + "\n").encode())
    write_aside(out / "agreement.md", (text(found, linux) + "\n").encode())
    return document


@bench("linux-tcp", page="")
@out("results/linux-tcp")
@only
@click.option("--recorded", is_flag=True, help=f"Take the kernel's side from {RECORDED.name}: only the simulator runs.")
def main(report: Report, out: Path, only: str, recorded: bool) -> None:
    """Runs the cells, and writes what agrees."""
    of = chosen(report, cells(), only, lambda cell: cell.name)
    kept: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8")) if recorded else {}
    linux: str = kept.get("linux", platform.release())
    found: Found = {}
    for number, cell in enumerate(of, 1):
        found[cell] = judged(cell, out / "store", kept.get("cells", {}).get(cell.name))
        report.document["cells"] = save(out, found, linux)
        report.progress(number, len(of), f"{cell.name}: {verdict(found[cell])}")
    report.put("results", text(found, linux))
