"""Ranks 9 schemes in Fairlane and in ns-3, in 24 cells (a quarter of an hour; a repeated run continues).

benches/ranking.py defines when the order is the same. Finished runs of ns-3 are stored in `--out`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fairlane._fairlane import canonical
from fairlane.results.intervals import interval

from ..harness import Report, bench, chosen, jobs, only, out
from ..rank_cells import Cell
from ..ranking import Sides, rank
from . import ns3
from .compare import Run, run_fairlane
from .controls import Table
from .rank_grid import SCHEMES, cells, scenario
from .sender_grid import MENDED
from .senders import kept_run

RUNS_OF_NS3 = 5
RUNS_OF_FAIRLANE = 20
WITH_CODEL = {"codel", "fq_codel"}
SHORT_QUEUE: Table = {"ns3::CoDelQueueDisc::MinBytes": 1501}
"""CoDel does not drop if at most an MTU remains in the queue (RFC 8289 4.4). ns-3 drops if at least MinBytes remain, by
default 1500, so it drops even if only one full packet is waiting. This happens often with FQ-CoDel, which has short
queues; see docs/agreement-ranks.md.
"""


MEASURES: Mapping[str, Callable[[Run, Cell], float]] = {
    "share of the worst user": lambda run, cell: cell.worst_share(run.user_throughput_bps),
    "mean queue, packets": lambda run, _: run.queue_packets,
    "use of the link": lambda run, _: run.utilisation,
}


def measured(program: Path, store: Path, cell: Cell, scheme: str) -> Mapping[str, Sides]:
    """Runs a scheme in a cell in both simulators."""
    text = canonical(json.dumps(scenario(cell, scheme)))
    options = MENDED | (SHORT_QUEUE if scheme in WITH_CODEL else {})
    theirs = [kept_run(store, program, text, options, number) for number in range(RUNS_OF_NS3)]
    ours = [run_fairlane(text, number) for number in range(RUNS_OF_FAIRLANE)]
    return {
        name: (interval([value(run, cell) for run in ours]), interval([value(run, cell) for run in theirs]))
        for name, value in MEASURES.items()
    }


@bench("ranks", page="site/data/agreement-ranks.json")
@out("results/ns3-ranks")
@only
@jobs(2)
def main(report: Report, out: Path, only: str, jobs: int) -> None:
    """Runs the cells in both simulators, and counts pairs of schemes in the same order."""
    program = ns3.build()
    runs = f"{RUNS_OF_FAIRLANE} runs of Fairlane and {RUNS_OF_NS3} of ns-3"
    head = f"{ns3.conditions()}; {runs} of each scheme in each cell."
    of = chosen(report, cells(), only, lambda cell: cell.name)
    with ThreadPoolExecutor(jobs) as pool:
        work = {
            cell: {scheme: pool.submit(measured, program, out / "store", cell, scheme).result for scheme in SCHEMES}
            for cell in of
        }
        rank(report, out, work, mark="ns3", other="ns-3", head=head)
