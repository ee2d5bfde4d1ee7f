"""Runs BBR, DCTCP, Vegas and LEDBAT of Fairlane and of ns-3 in the cells of sender_grid.py, and says where they agree.

    python benches/ns3/senders.py --out results/ns3-senders

The criterion, per measure, is that of compare.py. A cell agrees if the use of the link, the share of the smaller user
and the mean queue do. Retransmissions are judged by the same rule and shown, but do not count. What has run is kept in
`--out`: the same command continues.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
import ns3
from compare import Measure, Run, cell_text, cpu, measured, run_fairlane, run_ns3
from controls import Table
from sender_grid import AS_IS, GRID_CONTROLS, MENDED, Cell, cells

from fairlane._fairlane import canonical, version
from fairlane.base.files import write_aside

sys.path.insert(0, str(Path(__file__).parents[1]))

from measuring import put_on_page

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
    """A cell in both simulators."""
    scenario = canonical(json.dumps(cell.scenario(mended=WAYS[way] is MENDED)))
    theirs = [kept_run(store, program, scenario, WAYS[way], number) for number in range(RUNS_OF_NS3)]
    ours = [run_fairlane(scenario, number) for number in range(RUNS_OF_FAIRLANE)]
    names = [name for name in MEASURES if cell.mix != "alone" or name != "share of the smaller user"]
    return [measured(name, name != NOT_COUNTED, ours, theirs, MEASURES[name]) for name in names]


def kept_run(store: Path, program: Path, scenario: str, options: Table, number: int) -> Run:
    """A replication in ns-3, from the store if it has run."""
    words = [*ns3.arguments(json.loads(scenario)), json.dumps(options), str(number), _sources(program)]
    file = store / f"{hashlib.sha256(' '.join(words).encode()).hexdigest()[:24]}.json"
    if file.exists():
        return Run(**json.loads(file.read_text(encoding="utf-8")))
    run = run_ns3(program, json.loads(scenario), options, number)
    write_aside(file, json.dumps(asdict(run)).encode())
    return run


def _sources(program: Path) -> str:
    """What the program is made from: what an older one found is not taken for its own."""
    files = sorted(ns3.HERE.glob("*.cc")) + sorted(ns3.HERE.glob("*.h"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files) + program.name.encode()).hexdigest()


def agrees(measures: list[Measure]) -> bool:
    """Whether all that counts does."""
    return all(measure.agrees for measure in measures if measure.counts)


def table(found: Found) -> str:
    """The results in Markdown."""
    lines = [f"Fairlane {version()}, ns-3 {ns3.version()}, {cpu()}.", ""]
    for way in WAYS:
        verdicts = {cell: agrees(ways[way]) for cell, ways in found.items() if way in ways}
        by_control = (
            f"{control} {sum(yes for cell, yes in verdicts.items() if cell.control == control)} of "
            f"{sum(cell.control == control for cell in verdicts)}"
            for control in GRID_CONTROLS
        )
        lines.append(
            f"- ns-3 {way}: **{sum(verdicts.values())} of {len(verdicts)}** cells agree ({', '.join(by_control)})."
        )
    names = list(MEASURES)
    lines += [
        "",
        "Fairlane / ns-3, mean ± half width of the 95 % interval; ✗ marks what differs beyond the criterion.",
        "",
        f"| cell | ns-3 | agrees | {' | '.join(names)} |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for cell, ways in found.items():
        for way, measures in ways.items():
            by_name = {measure.name: measure for measure in measures}
            texts = [cell_text(by_name.get(name)) for name in names]
            verdict = "yes" if agrees(measures) else "**no**"
            lines.append(f"| {cell.name} | {way} | {verdict} | {' | '.join(texts)} |")
    return "\n".join(lines)


def _save(out: Path, found: Found) -> None:
    document = [
        {"cell": asdict(cell), "ns3": way, "agrees": agrees(measures), "measures": [asdict(m) for m in measures]}
        for cell, ways in found.items()
        for way, measures in ways.items()
    ]
    write_aside(out / "agreement.json", (json.dumps(document, indent=1) + "\n").encode())
    write_aside(out / "agreement.md", (table(found) + "\n").encode())


@click.command(help=__doc__.partition("\n")[0])
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/ns3-senders"), help="Folder of results.")
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
    # The quick ones first.
    pairs = [(cell, way) for way in WAYS for cell in sorted(chosen, key=lambda cell: cell.rate_mbps)]
    found: Found = {cell: {} for cell in chosen}
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda pair: partial(compared, program, out / "store")(*pair), pairs)
        for number, ((cell, way), measures) in enumerate(zip(pairs, results, strict=True), 1):
            found[cell][way] = measures
            differing = "; ".join(f"{m.name} {cell_text(m)}" for m in measures if m.counts and not m.agrees)
            verdict = f"DIFFERS in {differing}" if differing else "agrees"
            _save(out, found)  # after each, so that a kill loses one
            click.echo(f"[{number}/{len(pairs)}] {cell.name}, {way}: {verdict}")
    if docs is not None:
        put_on_page(docs, "senders", table(found))


if __name__ == "__main__":
    main()
