"""Compares BBR, DCTCP, Vegas and LEDBAT with those of ns-3 in 48 cells (about half an hour; a repeated run continues).

The criterion for a measure is that of compare.py. A cell agrees if utilisation, share of the smaller user and mean
queue agree. Retransmissions are also compared, but do not affect the verdict. Finished runs are stored in `--out`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from fairlane._fairlane import canonical
from fairlane.base.files import write_aside

from ..agreement import LEGEND, Measure, agree, verdict, yes_or_no
from ..harness import Report, bench, chosen, jobs, markdown, only, out
from . import ns3
from .compare import Run, document, measured, run_fairlane, run_ns3
from .controls import Table
from .sender_grid import AS_IS, GRID_CONTROLS, MENDED, Cell, cells

RUNS_OF_NS3 = 5
RUNS_OF_FAIRLANE = 20
WAYS: Mapping[str, Table] = {"mended": MENDED, "as it is": AS_IS}
Found = dict[Cell, dict[str, list[Measure]]]

MEASURES: Mapping[str, Callable[[Run], float]] = {
    "use of the link": lambda run: run.utilisation,
    "share of the smaller user": lambda run: run.smaller_share,
    "mean queue, packets": lambda run: run.queue_packets,
    "retransmissions, %": lambda run: 100.0 * run.retransmissions / run.packets,
}
NOT_COUNTED = "retransmissions, %"


def compared(program: Path, store: Path, cell: Cell, way: str) -> list[Measure]:
    """Runs a cell in both simulators."""
    scenario = canonical(json.dumps(cell.scenario(mended=WAYS[way] is MENDED)))
    theirs = [kept_run(store, program, scenario, WAYS[way], number) for number in range(RUNS_OF_NS3)]
    ours = [run_fairlane(scenario, number) for number in range(RUNS_OF_FAIRLANE)]
    names = [name for name in MEASURES if cell.mix != "alone" or name != "share of the smaller user"]
    return [measured(name, name != NOT_COUNTED, ours, theirs, MEASURES[name]) for name in names]


def kept_run(store: Path, program: Path, scenario: str, options: Table, number: int) -> Run:
    """Runs a replication in ns-3, or returns its stored result."""
    words = [*ns3.arguments(json.loads(scenario)), json.dumps(options), str(number), _sources(program)]
    file = store / f"{hashlib.sha256(' '.join(words).encode()).hexdigest()[:24]}.json"
    if file.exists():
        return Run(**json.loads(file.read_text(encoding="utf-8")))
    run = run_ns3(program, json.loads(scenario), options, number)
    write_aside(file, json.dumps(asdict(run)).encode())
    return run


def _sources(program: Path) -> str:
    """Returns a hash of the program's sources, so that results of older sources are not reused."""
    files = sorted(ns3.HERE.glob("*.cc")) + sorted(ns3.HERE.glob("*.h"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files) + program.name.encode()).hexdigest()


def text(found: Found) -> str:
    """The results in Markdown."""
    lines = []
    for way in WAYS:
        verdicts = {cell: agree(ways[way]) for cell, ways in found.items() if way in ways}
        by_control = (
            f"{control} {sum(yes for cell, yes in verdicts.items() if cell.control == control)} of "
            f"{sum(cell.control == control for cell in verdicts)}"
            for control in GRID_CONTROLS
        )
        lines.append(
            f"- ns-3 {way}: **{sum(verdicts.values())} of {len(verdicts)}** cells agree ({', '.join(by_control)})."
        )
    rows = []
    for cell, ways in found.items():
        for way, measures in ways.items():
            texts = {measure.name: measure.text() for measure in measures}
            rows.append([cell.name, way, yes_or_no(measures), *(texts.get(name, "–") for name in MEASURES)])
    table = markdown(["cell", "ns-3", "agrees", *MEASURES], rows)
    return "\n\n".join([f"{ns3.conditions()}.", "\n".join(lines), f"Fairlane / ns-3, {LEGEND}", table])


def save(out: Path, found: Found) -> list[Table]:
    """Writes the results after each cell, so that a killed process loses at most one cell."""
    kept = [
        {"cell": asdict(cell), "ns3": way, "agrees": agree(measures), "measures": [*map(document, measures)]}
        for cell, ways in found.items()
        for way, measures in ways.items()
    ]
    write_aside(out / "agreement.json", (json.dumps(kept, indent=1) + "\n").encode())
    write_aside(out / "agreement.md", (text(found) + "\n").encode())
    return kept


@bench("ns3-senders", page="site/data/agreement-ns3.json")
@out("results/ns3-senders")
@only
@jobs(2)
def main(report: Report, out: Path, only: str, jobs: int) -> None:
    """Runs the cells in both simulators, and writes which of them agree."""
    program = ns3.build()
    of = chosen(report, cells(), only, lambda cell: cell.name)
    # Cells with low rates first, since they are fastest.
    pairs = [(cell, way) for way in WAYS for cell in sorted(of, key=lambda cell: cell.rate_mbps)]
    found: Found = {cell: {} for cell in of}
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda pair: compared(program, out / "store", *pair), pairs)
        for number, ((cell, way), measures) in enumerate(zip(pairs, results, strict=True), 1):
            found[cell][way] = measures
            report.document["cells"] = save(out, found)
            report.progress(number, len(pairs), f"{cell.name}, {way}: {verdict(measures)}")
    report.put("senders", text(found))
