"""Ranks 6 schemes in the simulator and on real packets, in 10 cells (needs root, iperf3; about 20 minutes).

Simulator and lab run the same schemes, those of the forwarder. The lab uses the TCP of this machine's kernel, and the
simulator uses the profile `linux`. benches/ranking.py defines when the order is the same. Finished runs are stored
below `--out`, so an interrupted command can be repeated and continues.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fairlane import Scenario
from fairlane.base.planes import FORWARDER, SIMULATOR
from fairlane.results.intervals import interval

from ..harness import Report, bench, chosen, jobs, machine, only, out
from ..rank_cells import Cell
from ..ranking import Sides, rank
from .compare import on_both
from .lab_rank_grid import SCHEMES, cells, scenario

RUNS = {SIMULATOR: 20, FORWARDER: 3}


def measures(record: Mapping[str, Any], cell: Cell) -> dict[str, float]:
    """Compared measures of a run."""
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
    found = on_both(asked, scheme, RUNS, store, lambda run: measures(run, cell), jobs)
    return {measure.name: (interval(measure.ours), interval(measure.theirs)) for measure in found}


@bench("lab-ranks", page="site/data/agreement-ranks.json")
@out("results/lab-ranks")
@only
@jobs(3)
def main(report: Report, out: Path, only: str, jobs: int) -> None:
    """Runs the cells, and counts pairs of schemes in the same order."""
    head = (
        f"Linux {platform.release().partition('-')[0]}, {machine()}; {RUNS[SIMULATOR]} runs of the simulator and "
        f"{RUNS[FORWARDER]} on real packets of each scheme in each cell."
    )
    of = chosen(report, cells(), only, lambda cell: cell.name)
    work = {cell: {scheme: partial(measured, out / "store", cell, scheme, jobs) for scheme in SCHEMES} for cell in of}
    rank(report, out, work, mark="lab", other="kernel", head=head)
