"""Measures the user-space forwarder on veth pairs, on AF_PACKET and AF_XDP turn by turn.

Packets per second of its one thread, and lateness at 100 Mbit/s with 5 ms.

Needs root, iproute2, ethtool, chrt, taskset, two processors, and fairlane-node with the kernel data plane beside its
example `flood` (`make bench-forwarder` builds both). The forwarder has one processor; what stands for the hosts around
it, the source of frames and the stacks that receive them, has the other. The source offers more than the forwarder can
take: frames that the kernel makes, since a sender that makes a packet at a time is slower than the forwarder.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w

from fairlane.lab import hosts, node
from fairlane.lab.namespaces import Namespaces
from fairlane.lab.node import Reporter

SETTLE_S = 1.0
WINDOW_S = 2.0
TURNS = 7
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


def main() -> None:
    """Prints two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--turns", type=int, default=TURNS, help=f"turns, each on both kinds of sockets (default {TURNS})"
    )
    turns_wanted = parser.parse_args().turns
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        sys.exit("error: needs two processors, one for the forwarder alone")
    if not _flood().exists():
        sys.exit(f"error: {_flood()}: not found; `make bench-forwarder` builds it, with clang, libelf and zlib")
    print(f"{turns_wanted} turns of {WINDOW_S:g} s: median packets/s (least to most)\n")
    print("| frames, scheme | AF_PACKET | AF_XDP, copy | AF_XDP over AF_PACKET, turn by turn |")
    print("|---|---|---|---|")
    for name, (size, egress) in CASES.items():
        turns = [[_throughput(processors, io, size, egress) for io in IO] for _ in range(turns_wanted)]
        rates = " | ".join(_shown([turn[which] for turn in turns], lambda rate: f"{rate:.0f}") for which in (0, 1))
        ratios = _shown([xdp / packet for packet, xdp in turns], lambda ratio: f"{ratio:.2f}")
        print(f"| {name} | {rates} | {ratios} |", flush=True)
    print("\n| 95 Mbit/s of 1500 B, link of 100 Mbit/s and 5 ms | lateness mean, p99, max (us) |")
    print("|---|---|")
    for io in IO:
        print(f"| {io} | {_lateness(processors, io)} |", flush=True)


def _shown(values: list[float], show: Callable[[float], str]) -> str:
    return f"{show(statistics.median(values))} ({show(min(values))} to {show(max(values))})"


def _flood() -> Path:
    return Path(node.program()).parent / "examples" / "flood"


class _Row:
    """A client, a forwarder and a server in namespaces, the forwarder on the second processor."""

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
        # Frames of XDP come in where there is NAPI only.
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
        """Sends from the client for as long as the command does; what the forwarder reports of the window within."""
        with (Path(self.folder.name) / "sent.json").open("wb") as out:
            real_time = ["taskset", "-c", self.others, "chrt", "-f", "10"]
            sender = self.namespaces.start(self.client, [*real_time, *command], out)
        time.sleep(SETTLE_S)
        self.forwarder.report()
        time.sleep(WINDOW_S)
        report = self.forwarder.report()
        sender.wait(30)
        return report


def _throughput(processors: list[int], io: str, size: int, egress: dict[str, Any]) -> float:
    with _Row(processors, io, egress) as row:
        report = row.send([str(_flood()), "eth0", str(size), f"{SETTLE_S + WINDOW_S + 0.5:g}"])
    incoming, outgoing = report["ports"][0]["ingress"], report["ports"][1]["egress"]
    if incoming["kernel_drops"] == 0:
        print(f"{io}: nothing was dropped in front of the forwarder: the source was the limit", file=sys.stderr)
    window_s: float = report["window_s"][1] - report["window_s"][0]
    forwarded: int = outgoing["accounting"]["departed"] - outgoing["send_errors"]
    return forwarded / window_s


def _lateness(processors: list[int], io: str) -> str:
    with _Row(processors, io, LATENESS) as row:
        row.namespaces.run(row.client, ["ip", "addr", "add", "10.9.0.1/24", "dev", "eth0"])
        # An address of nobody: the server's host drops the frames at once.
        nobody = ["10.9.0.9", "lladdr", "02:00:00:00:00:99", "dev", "eth0"]
        row.namespaces.run(row.client, ["ip", "neigh", "add", *nobody])
        send = [node.program(), "send", "10.9.0.9:9", "--rate", "95 Mbit/s", "--payload", "1472"]
        report = row.send([*send, "--time", f"{SETTLE_S + WINDOW_S + 0.5:g} s"])
    lateness = report["ports"][1]["egress"]["lateness"]
    return ", ".join(f"{1e6 * lateness[f'{name}_s']:.0f}" for name in ("mean", "p99", "max"))


if __name__ == "__main__":
    main()
