"""Runs all schemes that ns-3 has too in the cells of rank_grid.py, and says in how many pairs both order them alike.

    python benches/ns3/ranks.py --out results/ns3-ranks

What counts as the same order says benches/ranking.py. What ns-3 has run is kept in `--out`: the same command continues.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import ns3
from compare import Run, cpu, run_fairlane
from controls import Table
from rank_grid import SCHEMES, cells, scenario
from sender_grid import MENDED
from senders import kept_run

from fairlane._fairlane import canonical, version
from fairlane.results.intervals import interval

sys.path.insert(0, str(Path(__file__).parents[1]))

from rank_cells import Cell
from ranking import Sides, Values, count, pairs, publish, save

RUNS_OF_NS3 = 5
RUNS_OF_FAIRLANE = 20
WITH_CODEL = {"codel", "fq_codel"}
SHORT_QUEUE: Table = {"ns3::CoDelQueueDisc::MinBytes": 1501}
"""CoDel lets pass what leaves an MTU or less behind (RFC 8289 4.4), ns-3's what leaves less than MinBytes, 1500 unless
set: it drops where one full packet waits. In FQ-CoDel, whose queues are short, that is often: see
docs/agreement-ranks.md."""


MEASURES: Mapping[str, Callable[[Run, Cell], float]] = {
    "share of the worst user": lambda run, cell: cell.worst_share(run.user_throughput_bps),
    "mean queue, packets": lambda run, _: run.queue_packets,
    "use of the link": lambda run, _: run.utilisation,
}


def measured(program: Path, store: Path, cell: Cell, scheme: str) -> Mapping[str, Sides]:
    """A scheme in a cell in both simulators."""
    text = canonical(json.dumps(scenario(cell, scheme)))
    options = MENDED | (SHORT_QUEUE if scheme in WITH_CODEL else {})
    theirs = [kept_run(store, program, text, options, number) for number in range(RUNS_OF_NS3)]
    ours = [run_fairlane(text, number) for number in range(RUNS_OF_FAIRLANE)]
    return {
        name: (interval([value(run, cell) for run in ours]), interval([value(run, cell) for run in theirs]))
        for name, value in MEASURES.items()
    }


@click.command(help=__doc__.partition("\n")[0])
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/ns3-ranks"), help="Folder of results.")
@click.option("--docs", type=click.Path(path_type=Path, exists=True), help="Page whose table of results is replaced.")
@click.option("--only", default="", help="Only cells whose name contains this.")
@click.option("--jobs", type=click.IntRange(1), default=2, help="Processes of ns-3 at a time.")
def main(out: Path, docs: Path | None, only: str, jobs: int) -> None:
    """See the module."""
    try:
        program = ns3.build()
    except ns3.NotInstalledError as missing:
        click.echo(f"skipped: {missing}")
        return
    chosen = [cell for cell in cells() if only in cell.name]
    if not chosen:
        raise click.BadParameter(f'no cell contains "{only}"; a cell is "{cells()[0].name}"', param_hint="--only")
    head = (
        f"Fairlane {version()}, ns-3 {ns3.version()}, {cpu()}; {RUNS_OF_FAIRLANE} runs of Fairlane and {RUNS_OF_NS3} "
        "of ns-3 of each scheme in each cell."
    )
    found: dict[str, Values] = {}
    started = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        work = {
            cell: [pool.submit(measured, program, out / "store", cell, scheme) for scheme in SCHEMES] for cell in chosen
        }
        for number, (cell, runs) in enumerate(work.items(), 1):
            found[cell.name] = {scheme: run.result() for scheme, run in zip(SCHEMES, runs, strict=True)}
            save(out, found, "ns-3", head)
            of = count(pairs({cell.name: found[cell.name]}))
            verdict = f"{of.agree} of {of.pairs} pairs agree; {of.both_same} of {of.both} that both separate"
            click.echo(f"[{number}/{len(chosen)}, {time.monotonic() - started:.0f} s] {cell.name}: {verdict}")
    if docs is not None:
        publish(docs, "ns3", found, "ns-3", head)


if __name__ == "__main__":
    main()
