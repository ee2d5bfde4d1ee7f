"""Runs the grid of `grid.py` on real packets and in the simulator, and says in how many cells the two agree.

    sudo make bench-linux-tcp                  # 72 cells, three runs of 22 s each: about 85 minutes on a quiet machine
    .venv/bin/python benches/linux_tcp/compare.py --recorded    # the simulator alone, beside the kernel as recorded

Both planes have the same schemes at the bottleneck, those of the forwarder; what differs is TCP: the kernel's of this
machine, and the profile `linux`. What has run is kept in the store of `--out`: the same command continues.

Criterion, per cell and measure: the means differ by no more than the half width of the 95 % interval of their
difference (Welch), or by no more than 10 % of that of the kernel. A cell agrees if the share of the smaller user, the
mean queue and the use of the link do.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from grid import Cell, cells

import fairlane
from fairlane import Scenario
from fairlane.base.errors import UserError
from fairlane.base.files import write_aside
from fairlane.base.planes import FORWARDER, SIMULATOR
from fairlane.judge.ns3 import joint_half_width
from fairlane.lab import compare
from fairlane.results.intervals import interval

sys.path.insert(0, str(Path(__file__).parents[1]))

from measuring import machine, put_on_page

TOLERANCE = 0.10
RUNS = {FORWARDER: 3, SIMULATOR: 20}
RECORDED = Path(__file__).with_name("recorded.json")
"""What the kernel did: by cell and measure, a value for each run."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of a cell: a value for each run in the simulator and of the kernel."""

    simulator: Sequence[float]
    kernel: Sequence[float]

    @property
    def agrees(self) -> bool:
        """Whether the means do, by the criterion."""
        means = [statistics.fmean(runs) for runs in (self.simulator, self.kernel)]
        most = max(TOLERANCE * abs(means[1]), joint_half_width(self.simulator, self.kernel))
        return abs(means[0] - means[1]) <= most

    def __str__(self) -> str:
        sides = " / ".join(str(interval(runs)) for runs in (self.simulator, self.kernel))
        return sides if self.agrees else f"{sides} ✗"


def measures(record: Mapping[str, Any]) -> dict[str, float]:
    """What is compared of a run."""
    goodputs = [group["goodput_bps"] for group in record["groups"]]
    link = record["links"][0]
    return {
        "share of the smaller user": min(goodputs) / sum(goodputs) if sum(goodputs) else 0.0,
        "mean queue, packets": link["queue"]["mean_packets"],
        "use of the link": link["utilisation"],
    }


def judged(cell: Cell, store: Path, recorded: Mapping[str, Sequence[float]] | None = None) -> dict[str, Measure]:
    """Runs a cell on both planes, or in the simulator alone, beside what is recorded of the kernel."""
    scenario = Scenario.from_dict(cell.scenario())
    if recorded is not None:
        runs = [measures(run) for run in fairlane.run(scenario, replications=RUNS[SIMULATOR]).runs]
        return {name: Measure([run[name] for run in runs], recorded[name]) for name in runs[0]}
    counts = {f"{plane}:run.replications": runs for plane, runs in RUNS.items()}
    planes = (SIMULATOR, FORWARDER)
    found = compare(scenario, [cell.queue], planes=planes, settings=counts, store=store, jobs=1)
    simulator, kernel = ([measures(run) for run in one.result.runs] for one in found)
    return {name: Measure([run[name] for run in simulator], [run[name] for run in kernel]) for name in simulator[0]}


def table(found: Mapping[Cell, Mapping[str, Measure]], linux: str) -> str:
    """The results in Markdown."""
    agreeing = sum(all(m.agrees for m in measures.values()) for measures in found.values())
    names = list(next(iter(found.values())))
    by_measure = [f"{name} {sum(measures[name].agrees for measures in found.values())}" for name in names]
    rows = [
        f"| {cell.name} | {'yes' if all(m.agrees for m in measures.values()) else '**no**'} | "
        + " | ".join(str(measures[name]) for name in names)
        + " |"
        for cell, measures in found.items()
    ]
    return "\n".join(
        [
            f"Linux {linux}, {machine()}.",
            "",
            f"**{agreeing} of {len(found)}** cells agree; by measure: {', '.join(by_measure)}.",
            "",
            "Simulator / kernel, mean ± half width of the 95 % interval; ✗ marks what differs beyond the criterion.",
            "",
            f"| cell | agrees | {' | '.join(names)} |",
            "|---|---|" + "---|" * len(names),
            *rows,
        ]
    )


def save(out: Path, found: Mapping[Cell, Mapping[str, Measure]], linux: str) -> None:
    """After each cell, so that a kill loses one."""
    document = [
        {"cell": asdict(cell), "measures": {name: asdict(m) | {"agrees": m.agrees} for name, m in measures.items()}}
        for cell, measures in found.items()
    ]
    write_aside(out / "agreement.json", (json.dumps(document, indent=1) + "\n").encode())
    write_aside(out / "agreement.md", (table(found, linux) + "\n").encode())


@click.command(help=__doc__.partition("\n")[0])
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results/linux-tcp"), help="Folder of the results."
)
@click.option("--docs", type=click.Path(path_type=Path, exists=True), help="Page whose table of results is replaced.")
@click.option("--only", default="", help="Only cells whose name contains this.")
@click.option("--recorded", is_flag=True, help=f"Take the kernel's side from {RECORDED.name}: only the simulator runs.")
def main(out: Path, docs: Path | None, only: str, recorded: bool) -> None:
    """See the module."""
    chosen = [cell for cell in cells() if only in cell.name]
    if not chosen:
        raise click.BadParameter(f'no cell contains "{only}"; a cell is "{cells()[0].name}"', param_hint="--only")
    kept: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8")) if recorded else {}
    linux: str = kept.get("linux", platform.release())
    found: dict[Cell, dict[str, Measure]] = {}
    for number, cell in enumerate(chosen, 1):
        try:
            found[cell] = judged(cell, out / "store", kept.get("cells", {}).get(cell.name))
        except UserError as error:
            raise click.ClickException(str(error)) from error
        save(out, found, linux)
        differing = ", ".join(f"{name} {measure}" for name, measure in found[cell].items() if not measure.agrees)
        click.echo(f"[{number}/{len(chosen)}] {cell.name}: {f'DIFFERS in {differing}' if differing else 'agrees'}")
    if docs is not None:
        put_on_page(docs, "results", table(found, linux))


if __name__ == "__main__":
    main()
