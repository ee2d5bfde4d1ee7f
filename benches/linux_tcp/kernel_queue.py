"""Compares TCP over a queue of the kernel with the simulator in a few cases (needs root; 10 minutes).

The kernel's side has this machine's TCP over a token bucket filter; the simulator's side has the profile `linux`. Each
case has five runs of 26 s on the plane `kernel`, in the network of p4abc: a link of 50 Mbit/s with a queue of 24
packets, and an RTT of 20 ms. The criterion is that of `compare.py`.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane import Scenario
from fairlane.base.planes import KERNEL, SIMULATOR

from ..harness import Report, bench, machine, out
from .compare import on_both

RUNS = {SIMULATOR: 20, KERNEL: 5}
CASES = (("bbr1", 1), ("cubic", 8))
"""Congestion control and number of flows of the user that competes with one flow of CUBIC."""
QUEUES = ("droptail", "abc")


def scenario(control: str, flows: int, scheme: str) -> dict[str, Any]:
    """Returns the scenario of p4abc, section 5.1, in which the first user has `flows` flows with `control`."""
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
    """Compared measures of a run."""
    first, second = (group["goodput_bps"] for group in record["groups"])
    link = record["links"][0]
    return {
        "goodput of the first user over that of the second": first / second,
        "lost, %": 100 * sum(drops["share_of_arrivals"] for drops in link["drops"]),
        "mean queue, packets": link["queue"]["mean_packets"],
    }


@bench("kernel-queue", page="")
@out("results/linux-tcp")
def main(report: Report, out: Path) -> None:
    """Runs the cases and prints the table."""
    rows = []
    for control, flows in CASES:
        for scheme in QUEUES:
            asked = Scenario.from_dict(scenario(control, flows, scheme))
            found = on_both(asked, scheme, RUNS, out / "store", measures)
            rows.append([f"{flows} {control} against 1 cubic, {scheme}", *map(str, found)])
            report.progress(len(rows), len(CASES) * len(QUEUES), " | ".join(rows[-1]))
    above = f"Linux {platform.release()}, {machine()}. Simulator / kernel, {RUNS[SIMULATOR]} and {RUNS[KERNEL]} runs."
    report.table(dict.fromkeys(["case", *(measure.name for measure in found)], ""), rows, "kernel-queue", above=above)
