"""Compares the scheme `htb` with the kernel's sch_htb on real packets (six minutes).

Needs root, `make node`, iperf3 and a kernel with sch_htb. Expected values are computed by hand from rates, quanta and
ceilings, as in `tests/python/test_lab.py`.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from fairlane import Scenario
from fairlane.lab import compare
from fairlane.results.intervals import Interval, interval

from .harness import Report, bench, machine, replications

TIMES = {"run.warmup": "1 s", "run.measure": "5 s"}
PLANES = ("simulator", "kernel")
# Payload as a fraction of a packet of 1500 bytes: 1470 in a datagram of the lab, 1448 in a segment.
UDP, TCP = 1470 / 1500, 1448 / 1500

Case = tuple[Scenario, Mapping[str, object], Sequence[float]]
"""A scenario, the keys that the case changes in it, and the expected goodputs in Mbit/s, computed by hand."""


def datagrams() -> Scenario:
    """Returns four users with weights 1 to 4 on a link of 20 Mbit/s; each user sends 12 Mbit/s."""
    source = {"kind": "cbr", "rate": "12 Mbit/s", "packet_size": "1500 B", "jitter": 0.1}
    return users({f"weight {weight}": {"weight": weight, "sources": [source]} for weight in (1, 2, 3, 4)})


def flows() -> Scenario:
    """Returns a user with eight flows and a user with one flow on a link of 20 Mbit/s."""
    counts = {"8 flows": 8, "1 flow": 1}
    return users({name: {"sources": [{"kind": "tcp", "flows": count}]} for name, count in counts.items()})


def users(groups: Mapping[str, Mapping[str, Any]]) -> Scenario:
    """Returns users in separate groups. Leaves of `htb` are FIFOs, as in the lab's kernel."""
    return Scenario.from_dict(
        {
            "topology": {"bottleneck_rate": "20 Mbit/s", "access_rate": "50 Mbit/s"},
            "queue": {"scheme": "htb", "leaf": "droptail", "limit": "20 packets"},
            "tcp": {"profile": "linux"},
            "groups": [{"name": name, "start_until": "0.1 s", **group} for name, group in groups.items()],
        }
    )


def cases() -> dict[str, Case]:
    """Returns the cases, by the behaviour that each case shows."""
    packet = {"queue.quantum": "1500 B"}
    return {
        "rates 1 to 4 Mbit/s, quanta by rate": (datagrams(), {}, [UDP * rate for rate in (2, 4, 6, 8)]),
        "the same, quanta of one packet": (datagrams(), packet, [UDP * rate for rate in (3.5, 4.5, 5.5, 6.5)]),
        "the same, ceilings of 6 Mbit/s": (
            datagrams(),
            {**packet, "queue.ceil": "6 Mbit/s"},
            [UDP * rate for rate in (11 / 3, 14 / 3, 17 / 3, 6)],
        ),
        "TCP, eight flows and one, rates of 1 Mbit/s": (flows(), packet, [TCP * 10, TCP * 10]),
    }


def goodputs(runs: Sequence[Mapping[str, Any]]) -> list[Interval]:
    """Goodput of each user, in Mbit/s."""
    by_user = zip(*([group["goodput_bps"] / 1e6 for group in run["groups"]] for run in runs), strict=True)
    return [interval(list(values)) for values in by_user]


@bench("kernel-htb", page="site/data/htb.json")
@replications(10)
def main(report: Report, replications: int) -> None:
    """Runs the simulator and the kernel, and writes the table."""
    rows: list[list[object]] = []
    for number, (name, (scenario, settings, expected)) in enumerate(cases().items(), 1):
        with tempfile.TemporaryDirectory() as store:
            found = compare(
                scenario,
                ["htb"],
                planes=PLANES,
                replications=replications,
                settings={**TIMES, **settings},
                store=store,
            )
        simulated, measured = (goodputs(one.result.runs) for one in found)
        report.progress(number, len(cases()), name)
        for group, rate, ours, kernels in zip(scenario.to_dict()["groups"], expected, simulated, measured, strict=True):
            off = f"{100 * (kernels.mean / ours.mean - 1):+.1f} %"
            rows.append([name, group["name"], rate, ours, kernels, off])
    columns = {"case": "", "user": "", "expected": "{:.2f}", "simulated": "{:.2f}", "kernel": "{:.2f}"}
    # Other load affects only the kernel's runs.
    load = os.getloadavg()[1]
    above = (
        f"Goodput in Mbit/s, means of {replications} runs of 5 s with 95 % intervals. "
        f"Linux {platform.release().split('-')[0]}, {machine()}; load of the machine meanwhile {load:.0f}."
    )
    report.table({**columns, "kernel over simulated": ""}, rows, "measured:htb kernel", above=above)
