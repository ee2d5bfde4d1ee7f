"""Runs schemes on real packets and in the simulator, in the cells of lab_rank_grid.py: where is their order the same?

    sudo make bench-lab-ranks                  # 10 cells, 6 schemes, three runs of 15 s each, three at once

Both planes have the same schemes, those of the forwarder; what differs is TCP: the kernel's of this machine, and the
profile `linux`. What counts as the same order says benches/ranking.py. What has run is kept in the store of `--out`:
the same command continues.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from lab_rank_grid import SCHEMES, cells, scenario

from fairlane import Scenario
from fairlane.base.errors import UserError
from fairlane.base.planes import FORWARDER, SIMULATOR
from fairlane.lab import compare
from fairlane.results.intervals import interval

sys.path.insert(0, str(Path(__file__).parents[1]))

from measuring import machine
from rank_cells import Cell
from ranking import Sides, Values, count, pairs, publish, save

RUNS = {FORWARDER: 3, SIMULATOR: 20}


def measures(record: Mapping[str, Any], cell: Cell) -> dict[str, float]:
    """What is compared of a run."""
    goodputs = [goodput for group in record["groups"] for goodput in group["user_goodput_bps"]]
    link = record["links"][0]
    return {
        "share of the worst user": cell.worst_share(goodputs),
        "mean queue, packets": link["queue"]["mean_packets"],
        "use of the link": link["utilisation"],
    }


def measured(store: Path, cell: Cell, scheme: str, jobs: int) -> dict[str, Sides]:
    """A scheme in a cell on both planes."""
    asked = Scenario.from_dict(scenario(cell, scheme))
    counts = {f"{plane}:run.replications": runs for plane, runs in RUNS.items()}
    found = compare(asked, [scheme], planes=(SIMULATOR, FORWARDER), settings=counts, store=store, jobs=jobs)
    ours, theirs = ([measures(run, cell) for run in one.result.runs] for one in found)
    return {name: (interval([run[name] for run in ours]), interval([run[name] for run in theirs])) for name in ours[0]}


@click.command(help=__doc__.partition("\n")[0])
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results/lab-ranks"), help="Folder of the results."
)
@click.option("--docs", type=click.Path(path_type=Path, exists=True), help="Page whose table of results is replaced.")
@click.option("--only", default="", help="Only cells whose name contains this.")
@click.option("--jobs", type=click.IntRange(1), default=3, help="Runs at once.")
def main(out: Path, docs: Path | None, only: str, jobs: int) -> None:
    """See the module."""
    chosen = [cell for cell in cells() if only in cell.name]
    if not chosen:
        raise click.BadParameter(f'no cell contains "{only}"; a cell is "{cells()[0].name}"', param_hint="--only")
    head = (
        f"Linux {platform.release().partition('-')[0]}, {machine()}; {RUNS[SIMULATOR]} runs of the simulator and "
        f"{RUNS[FORWARDER]} on real packets of each scheme in each cell."
    )
    found: dict[str, Values] = {}
    started = time.monotonic()
    for number, cell in enumerate(chosen, 1):
        try:
            found[cell.name] = {scheme: measured(out / "store", cell, scheme, jobs) for scheme in SCHEMES}
        except UserError as error:
            raise click.ClickException(str(error)) from error
        save(out, found, "kernel", head)
        of = count(pairs({cell.name: found[cell.name]}))
        verdict = f"{of.agree} of {of.pairs} pairs agree; {of.both_same} of {of.both} that both separate"
        click.echo(f"[{number}/{len(chosen)}, {time.monotonic() - started:.0f} s] {cell.name}: {verdict}")
    if docs is not None:
        publish(docs, "lab", found, "kernel", head)


if __name__ == "__main__":
    main()
