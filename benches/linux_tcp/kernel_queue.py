"""The known cases of the kernel's own queue: TCP of this machine through a token bucket, and the profile `linux`.

    sudo .venv/bin/python benches/linux_tcp/kernel_queue.py    # 4 cases, five runs each: 10 minutes

Runs of 26 s on the plane `kernel`, in the network of p4abc: 50 Mbit/s, 24 packets, 20 ms. Criterion: `compare.py`.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from compare import Measure

from fairlane import Scenario
from fairlane.base.errors import UserError
from fairlane.base.planes import KERNEL, SIMULATOR
from fairlane.lab import compare

sys.path.insert(0, str(Path(__file__).parents[1]))

from measuring import machine, put_on_page

RUNS = {KERNEL: 5, SIMULATOR: 20}
CASES = (("bbr1", 1), ("cubic", 8))
"""Congestion control and flows of the user who faces one flow of CUBIC."""
QUEUES = ("droptail", "abc")


def scenario(control: str, flows: int, scheme: str) -> dict[str, Any]:
    """p4abc 5.1 with another first user."""
    first = {"kind": "tcp", "flows": flows, "congestion_control": control}
    if control == "bbr1":
        first["tso"] = "0 B"  # The lab's hosts have no offloads.
    second = {"kind": "tcp", "congestion_control": "cubic"}
    return {
        "name": f"{flows} {control} against 1 cubic",
        "run": {"warmup": "5 s", "measure": "15 s"},
        "topology": {
            "bottleneck_rate": "50 Mbit/s",
            "bottleneck_delay": "5 ms",
            "access_delay": "5 ms",
            "access_rate": "100 Mbit/s",
            "access_limit": "1000 packets",
        },
        "tcp": {"profile": "linux"},
        "queue": {"scheme": scheme, "limit": "24 packets"},
        "groups": [
            {"name": name, "start_until": "0.1 s", "sources": [source]}
            for name, source in (("first", first), ("second", second))
        ],
    }


def measures(record: Mapping[str, Any]) -> dict[str, float]:
    """What is compared of a run."""
    first, second = (group["goodput_bps"] for group in record["groups"])
    link = record["links"][0]
    return {
        "goodput of the first user over that of the second": first / second,
        "lost, %": 100 * sum(drops["share_of_arrivals"] for drops in link["drops"]),
        "mean queue, packets": link["queue"]["mean_packets"],
    }


def judged(control: str, flows: int, scheme: str, store: Path) -> dict[str, Measure]:
    """Runs a case on both planes."""
    counts = {f"{plane}:run.replications": runs for plane, runs in RUNS.items()}
    asked = Scenario.from_dict(scenario(control, flows, scheme))
    found = compare(asked, [scheme], planes=(SIMULATOR, KERNEL), settings=counts, store=store, jobs=1)
    simulator, kernel = ([measures(run) for run in one.result.runs] for one in found)
    return {name: Measure([run[name] for run in simulator], [run[name] for run in kernel]) for name in simulator[0]}


def table(found: Mapping[str, Mapping[str, Measure]]) -> str:
    """The results in Markdown."""
    names = list(next(iter(found.values())))
    rows = [f"| {case} | " + " | ".join(str(of[name]) for name in names) + " |" for case, of in found.items()]
    return "\n".join(
        [
            f"Linux {platform.release()}, {machine()}. Simulator / kernel, {RUNS[SIMULATOR]} and {RUNS[KERNEL]} runs.",
            "",
            f"| case | {' | '.join(names)} |",
            "|---|" + "---|" * len(names),
            *rows,
        ]
    )


@click.command(help=__doc__.partition("\n")[0])
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results/linux-tcp"), help="Folder of the results."
)
@click.option("--docs", type=click.Path(path_type=Path, exists=True), help="Page whose table of cases is replaced.")
def main(out: Path, docs: Path | None) -> None:
    """See the module."""
    found: dict[str, dict[str, Measure]] = {}
    for control, flows in CASES:
        for scheme in QUEUES:
            try:
                found[f"{flows} {control} against 1 cubic, {scheme}"] = judged(control, flows, scheme, out / "store")
            except UserError as error:
                raise click.ClickException(str(error)) from error
            click.echo(table(found).rsplit("\n", 1)[-1])
    if docs is not None:
        put_on_page(docs, "kernel-queue", table(found))


if __name__ == "__main__":
    main()
