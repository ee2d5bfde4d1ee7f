"""Compares the simulator with a Linux kernel in virtual time on a grid of 246 cells (`make kernel` first; an hour).

Senders, receivers and queue are the kernel's on one side and the simulator's on the other. What has run is kept in the
store of `--out`: the same command continues.

Per cell and measure the tolerance of the criterion (agreement.py) is 5 %. A cell agrees if the share of the smaller
user, the mean queue and the use of the link do; the other measures are shown.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import fairlane
from fairlane import Scenario, kernel
from fairlane.base.files import write_aside
from fairlane.base.planes import LINUX, SIMULATOR
from fairlane.lab import compare

from ..agreement import LEGEND, Measure, agree, verdict, yes_or_no
from ..harness import Report, bench, chosen, machine, markdown, only, out
from .grid import Cell, cells

TOLERANCE = 0.05
RUNS = {SIMULATOR: 10, LINUX: 5}
PACKET_BYTES = 1500
RECORDED = Path(__file__).with_name("recorded.json")
"""Results of the kernel: by cell and measure, a value for each run."""


Found = dict[Cell, list[Measure]]


COUNTED = ("share of the smaller user", "mean queue, packets", "use of the link")
"""Measures on which the verdict depends."""


def measures(record: Mapping[str, Any]) -> dict[str, float]:
    """Compared measures of a run."""
    goodputs = [group["goodput_bps"] for group in record["groups"]]
    link, total = record["links"][0], sum(goodputs)
    sent = link["throughput_bps"] * (record["window_s"][1] - record["window_s"][0]) / (8 * PACKET_BYTES)
    dropped = sum(reason["packets"] for reason in link["drops"])
    found = (
        min(goodputs) / total if total else 0.0,
        link["queue"]["mean_packets"],
        link["utilisation"],
    )
    return {
        **dict(zip(COUNTED, found, strict=True)),
        "95th percentile of the queue, packets": quantile(link["queue"]["distribution"], 0.95),
        "dropped share": dropped / (sent + dropped),
        "marked share": link["marks"] / sent,
    }


def quantile(distribution: Sequence[float], level: float) -> float:
    """The shortest queue that is not exceeded for a share of the time."""
    sums = itertools.accumulate(distribution)
    return float(next((packets for packets, share in enumerate(sums) if share >= level), len(distribution)))


def judged(cell: Cell, store: Path, recorded: Mapping[str, Sequence[float]] | None = None) -> list[Measure]:
    """Runs a cell on both planes, or in the simulator alone with the kernel's values from a recording."""
    scenario = Scenario.from_dict(cell.scenario())
    if recorded is not None:
        runs = [measures(run) for run in fairlane.run(scenario, replications=RUNS[SIMULATOR]).runs]
        return [_measure(name, [run[name] for run in runs], recorded[name]) for name in runs[0]]
    return on_both(scenario, cell.scheme, RUNS, store, measures, jobs=None)


def on_both(
    scenario: Scenario,
    scheme: str,
    runs: Mapping[str, int],
    store: Path,
    of: Callable[[Mapping[str, Any]], Mapping[str, float]],
    jobs: int | None = 1,
) -> list[Measure]:
    """Measures of a scenario in the simulator and on another plane, each with its number of runs."""
    counts = {f"{plane}:run.replications": count for plane, count in runs.items()}
    found = compare(scenario, [scheme], planes=tuple(runs), settings=counts, store=store, jobs=jobs)
    ours, theirs = ([of(run) for run in one.result.runs] for one in found)
    return [_measure(name, [run[name] for run in ours], [run[name] for run in theirs]) for name in ours[0]]


def _measure(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Measure:
    return Measure(name, ours, theirs, TOLERANCE, counts=name in COUNTED)


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
    """Writes the results after each cell, so that a kill loses at most one."""
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
    """Runs the cells, and writes which of them agree."""
    of = chosen(report, cells(), only, lambda cell: cell.name)
    kept: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8")) if recorded else {}
    linux: str = kept.get("linux") or kernel.find().release
    found: Found = {}
    for number, cell in enumerate(of, 1):
        found[cell] = judged(cell, out / "store", kept.get("cells", {}).get(cell.name))
        report.document["cells"] = save(out, found, linux)
        report.progress(number, len(of), f"{cell.name}: {verdict(found[cell])}")
    report.put("results", text(found, linux))
