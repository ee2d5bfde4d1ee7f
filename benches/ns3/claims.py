"""Runs ns-3 for claims of abc2018 that have the verdict "differs" in Fairlane, at the points where they differ.

Writes the results into python/fairlane/papers/abc2018/ns3.toml, one row per claim and point. `fairlane reproduce`
compares its own results with these rows (python/fairlane/judge/ns3.py). Where a window can fill ns-3's default socket
buffer, ns-3 also runs with this buffer, and the row has `shipped = true`.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import tomli_w

from fairlane.base.files import write_aside
from fairlane.judge import library as papers
from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Point, matches
from fairlane.judge.measurements import point_scenario
from fairlane.judge.paper import Paper

from ..harness import Report, bench, jobs, replications
from . import ns3
from .scenarios import Table
from .units import BYTES, PACKETS, RATE, TIME, quantity

SHIPPED = {"tcp.socket_buffer": "131072 B"}
"""Defaults of ns-3 that the scenarios replace (SndBufSize and RcvBufSize in tcp-socket.cc)."""
PACKET_B = 1500

HEAD = "# What ns-3 gives at points of claims. Written by `python -m benches ns3-claims`.\n\n"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A point of a claim."""

    claim: str
    metric: str
    experiment: Experiment
    at: Point
    canonical: str
    shipped: bool


def wanted(paper: Paper, selection: Mapping[str, Any], replications: int) -> Iterator[Wanted]:
    """The points of one entry of claims.toml."""
    claims = {claim["id"]: claim for experiment in paper.experiments.values() for claim in experiment.claims}
    metric = claims[selection["id"]]["metric"]
    for name, condition in selection["points"].items():
        experiment = paper.experiments[name]
        found = [at for at in paper.points(experiment) if matches(at, condition, experiment.grid)]
        if not found:
            raise click.ClickException(f"claims.toml: {selection['id']}: {name} has no point {condition}")
        for at in found:
            canonical = point_scenario(paper, experiment, at, replications)
            yield Wanted(selection["id"], metric, experiment, at, canonical, shipped=False)
            if fills(canonical):
                canonical = point_scenario(paper, experiment, at, replications, SHIPPED)
                yield Wanted(selection["id"], metric, experiment, at, canonical, shipped=True)


def fills(canonical: str) -> bool:
    """Returns true if more data than ns-3's default socket buffer fit into path and bottleneck queue."""
    scenario = json.loads(canonical)
    topology = scenario["topology"]
    round_trip_s = 2 * (quantity(topology["bottleneck_delay"], TIME) + quantity(topology["access_delay"], TIME))
    path_b = quantity(topology["bottleneck_rate"], RATE) * round_trip_s / 8
    return path_b + PACKET_B * quantity(scenario["queue"]["limit"], PACKETS) > quantity(
        SHIPPED["tcp.socket_buffer"], BYTES
    )


def record(result: Table) -> Table:
    """Converts the output of `dumbbell` to a Fairlane record, as far as the metrics of abc2018 need it."""
    link = {
        "name": "bottleneck",
        "utilisation": result["utilisation"],
        "queue": {"mean_packets": result["queue_mean_packets"]},
        "delay": [{"traffic_class": name, "mean_s": mean} for name, mean in result["wait_seconds"].items()],
    }
    return {"groups": result["groups"], "links": [link]}


@bench("ns3-claims")
@click.argument("names", nargs=-1, metavar="[CLAIM]...")
@click.option("--missing", is_flag=True, help="Run only points that ns3.toml lacks.")
@replications(None)
@jobs(os.cpu_count() or 1)
def main(report: Report, names: tuple[str, ...], missing: bool, replications: int | None, jobs: int) -> None:
    """Runs the points of the claims, and writes their rows."""
    program = ns3.build()
    table = tomllib.loads((ns3.HERE / "claims.toml").read_text(encoding="utf-8"))
    count = replications or table["replications"]
    ((paper, _),) = papers.select(["abc2018"])
    file = Path(paper.folder) / "ns3.toml"
    with ThreadPoolExecutor(jobs) as pool:
        selected = [claim for claim in table["claim"] if not names or claim["id"] in names]
        for number, selection in enumerate(selected, 1):
            known = [_place(row) for row in _rows(file)] if missing else []
            points = [point for point in wanted(paper, selection, count) if _place(_row(paper, point, [])) not in known]
            runs = [
                [pool.submit(ns3.run, program, json.loads(point.canonical), {}, k) for k in range(count)]
                for point in points
            ]
            rows = [_row(paper, point, [run.result() for run in of]) for point, of in zip(points, runs, strict=True)]
            _save(file, [entry["id"] for entry in table["claim"]], rows)
            report.progress(number, len(selected), f"{selection['id']}: {len(points)} points")


def _row(paper: Paper, point: Wanted, results: list[Table]) -> Table:
    values = {**point.experiment.parameters, **point.at}
    samples = [paper.metrics[point.metric](record(result), values) for result in results]
    return {
        "claim": point.claim,
        "experiment": point.experiment.id,
        **({"shipped": True} if point.shipped else {}),
        "at": dict(point.at),
        "metric": point.metric,
        "samples": samples,
    }


def _rows(file: Path) -> list[Table]:
    rows: list[Table] = tomllib.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else []
    return rows


def _place(row: Table) -> tuple[Any, ...]:
    """Identity of a row."""
    return row["claim"], row["experiment"], row["at"], row.get("shipped", False)


def _save(file: Path, order: list[str], rows: list[Table]) -> None:
    places = [_place(row) for row in rows]
    kept = [row for row in _rows(file) if _place(row) not in places] + rows
    document = {"version": ns3.version(), "rows": sorted(kept, key=lambda row: order.index(row["claim"]))}
    write_aside(file, (HEAD + tomli_w.dumps(document)).encode())
