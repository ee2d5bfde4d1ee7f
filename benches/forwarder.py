"""Measures the user-space forwarder on veth pairs, with AF_PACKET and AF_XDP: packets per second and lateness.

Packets per second are those of the forwarder's single thread. Lateness is measured on a link with a rate of 100 Mbit/s
and a delay of 5 ms. Needs root, clang, iproute2, ethtool, chrt, taskset and two processors. The forwarder uses one
processor; the frame source and the receiving stacks use the other. The kernel generates the frames faster than the
forwarder can forward them; a sender that builds packets one by one would be too slow.
"""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import click
import tomli_w

from fairlane.lab import hosts, node
from fairlane.lab.namespaces import Namespaces
from fairlane.lab.node import Reporter

from .harness import Report, bench, cargo, conditions, interleaved, turns

SETTLE_S = 1.0
WINDOW_S = 2.0
IO = ("af-packet", "af-xdp")
ABC = {
    "scheme": "abc",
    "limit": "1000 packets",
    "q_min": "100 packets",
    "q_base": "800 packets",
    "gamma": "200 packets",
}
CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "1500 B, no scheme": (1500, {}),
    "1500 B, ABC at 40 Gbit/s": (1500, {"rate": "40 Gbit/s", "queue": ABC}),
    "60 B, no scheme": (60, {}),
}
LATENESS = {"rate": "100 Mbit/s", "delay": "5 ms", "queue": {"scheme": "droptail"}}


@bench("forwarder")
@turns(7)
def main(report: Report, turns: int) -> None:
    """Builds the forwarder and its frame source, measures, and prints two tables."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise click.ClickException("needs two processors, one for the forwarder alone")
    packages = ("--package", "fairlane-node", "--features", "fairlane-node/ebpf")
    cargo("build", *packages)
    flood = cargo("build", *packages, "--example", "flood") / "examples" / "flood"
    rows: list[list[object]] = []
    for name, (size, egress) in CASES.items():
        on = {io: partial(_throughput, flood, processors, io, size, egress) for io in IO}
        packet, xdp = interleaved(turns, on).values()
        rows.append([name, packet, xdp, [b / a for a, b in zip(packet, xdp, strict=True)]])
    columns = {"frames, scheme": "", "AF_PACKET": "{:.0f}", "AF_XDP, copy": "{:.0f}"}
    above = f"{turns} turns of {WINDOW_S:g} s, {conditions()}: median packets/s (least to most)."
    report.table({**columns, "AF_XDP over AF_PACKET": "{:.2f}"}, rows, above=above)
    columns = {"95 Mbit/s of 1500 B, link of 100 Mbit/s and 5 ms": "", "lateness mean, p99, max (us)": "{:.0f}"}
    report.table(columns, [[io, _lateness(processors, io)] for io in IO])


class _Row:
    """A client, a forwarder and a server in namespaces, with the forwarder on the second processor."""

    def __init__(self, processors: list[int], io: str, egress: dict[str, Any]) -> None:
        self.namespaces = Namespaces()
        self.folder = tempfile.TemporaryDirectory()
        self.others = str(processors[0])
        self.own = processors[1]
        self.config = {"forward": {"io": io}, "ports": [{"interface": "in"}, {"interface": "out", "egress": egress}]}

    def __enter__(self) -> _Row:
        self.namespaces.__enter__()
        self.client, self.at, self.server = (self.namespaces.add(role) for role in ("client", "node", "server"))
        hosts.cable(self.namespaces, (self.client, "eth0"), (self.at, "in"))
        hosts.cable(self.namespaces, (self.server, "eth0"), (self.at, "out"))
        # veth receives XDP frames only if NAPI is enabled.
        self.namespaces.run(self.at, ["ethtool", "-K", "in", "gro", "on"])
        for at, name in ((self.server, "eth0"), (self.at, "in"), (self.at, "out")):
            steer = f"echo {1 << int(self.others):x} > /sys/class/net/{name}/queues/rx-0/rps_cpus"
            self.namespaces.run(at, ["sh", "-c", steer])
        config = Path(self.folder.name) / "forward.toml"
        config.write_text(tomli_w.dumps(self.config), encoding="utf-8")
        self.forwarder = Reporter(self.namespaces, self.at, ["forward", str(config)])
        os.sched_setaffinity(self.forwarder.process.pid, {self.own})
        return self

    def __exit__(self, *error: object) -> None:
        self.namespaces.__exit__(None, None, None)
        self.folder.cleanup()

    def send(self, command: list[str]) -> dict[str, Any]:
        """Sends from the client while the command runs; returns the forwarder's report of the measurement window."""
        with (Path(self.folder.name) / "sent.json").open("wb") as out:
            real_time = ["taskset", "-c", self.others, "chrt", "-f", "10"]
            sender = self.namespaces.start(self.client, [*real_time, *command], out)
        time.sleep(SETTLE_S)
        self.forwarder.report()
        time.sleep(WINDOW_S)
        report = self.forwarder.report()
        sender.wait(30)
        return report


def _throughput(flood: Path, processors: list[int], io: str, size: int, egress: dict[str, Any]) -> float:
    with _Row(processors, io, egress) as row:
        report = row.send([str(flood), "eth0", str(size), f"{SETTLE_S + WINDOW_S + 0.5:g}"])
    incoming, outgoing = report["ports"][0]["ingress"], report["ports"][1]["egress"]
    if incoming["kernel_drops"] == 0:
        click.echo(f"{io}: nothing was dropped in front of the forwarder: the source was the limit", err=True)
    window_s: float = report["window_s"][1] - report["window_s"][0]
    forwarded: int = outgoing["accounting"]["departed"] - outgoing["send_errors"]
    return forwarded / window_s


def _lateness(processors: list[int], io: str) -> tuple[float, ...]:
    with _Row(processors, io, LATENESS) as row:
        row.namespaces.run(row.client, ["ip", "addr", "add", "10.9.0.1/24", "dev", "eth0"])
        # An unused address: the server's host drops the frames immediately.
        nobody = ["10.9.0.9", "lladdr", "02:00:00:00:00:99", "dev", "eth0"]
        row.namespaces.run(row.client, ["ip", "neigh", "add", *nobody])
        send = [node.program(), "send", "10.9.0.9:9", "--rate", "95 Mbit/s", "--payload", "1472"]
        report = row.send([*send, "--time", f"{SETTLE_S + WINDOW_S + 0.5:g} s"])
    lateness = report["ports"][1]["egress"]["lateness"]
    return tuple(1e6 * lateness[f"{name}_s"] for name in ("mean", "p99", "max"))
