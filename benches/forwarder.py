"""Measures the user-space forwarder on veth pairs: packets per second, and lateness at 100 Mbit/s with 5 ms.

Needs root, iproute2, ethtool, chrt and fairlane-node (see docs/howto/lab.md). The sender runs in SCHED_FIFO, as the
forwarder does, so that it is not the limit on a busy machine; with fewer than two processors nothing can be said.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import tomli_w

from fairlane.lab import hosts, node
from fairlane.lab.namespaces import Namespaces
from fairlane.lab.node import Reporter

SETTLE_S = 1.0
WINDOW_S = 3.0
ABC = {
    "scheme": "abc",
    "limit": "1000 packets",
    "q_min": "100 packets",
    "q_base": "800 packets",
    "gamma": "200 packets",
}
CASES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "1500 B, no scheme": (1472, "6 Gbit/s", {}),
    "1500 B, ABC at 10 Gbit/s": (1472, "6 Gbit/s", {"rate": "10 Gbit/s", "queue": ABC}),
    "60 B, no scheme": (32, "1 Gbit/s", {}),
    "1500 B at 95 Mbit/s, link of 100 Mbit/s and 5 ms": (
        1472,
        "95 Mbit/s",
        {"rate": "100 Mbit/s", "delay": "5 ms", "queue": {"scheme": "droptail"}},
    ),
}


def main() -> None:
    """Prints a table."""
    print("| case | offered packets/s | forwarded packets/s | Gbit/s | lateness mean, p99, max (us) |")
    print("|---|---|---|---|---|")
    for name, (payload, rate, egress) in CASES.items():
        print(f"| {name} | {_measure(payload, rate, egress)} |")


def _measure(payload: int, rate: str, egress: dict[str, Any]) -> str:
    with Namespaces() as namespaces, tempfile.TemporaryDirectory() as folder:
        client, at, server = (namespaces.add(role) for role in ("client", "node", "server"))
        hosts.cable(namespaces, (client, "eth0"), (at, "in"))
        hosts.cable(namespaces, (server, "eth0"), (at, "out"))
        namespaces.run(client, ["ip", "addr", "add", "10.9.0.1/24", "dev", "eth0"])
        # An address of nobody: the server's host drops the frames at once.
        nobody = ["10.9.0.9", "lladdr", "02:00:00:00:00:99", "dev", "eth0"]
        namespaces.run(client, ["ip", "neigh", "add", *nobody])
        config = Path(folder) / "forward.toml"
        ports = [{"interface": "in"}, {"interface": "out", "egress": egress}]
        config.write_text(tomli_w.dumps({"ports": ports}), encoding="utf-8")
        forwarder = Reporter(namespaces, at, ["forward", str(config)])
        total_s = f"{SETTLE_S + WINDOW_S + 1:g} s"
        send = ["send", "10.9.0.9:9", "--rate", rate, "--payload", str(payload), "--time", total_s]
        with (Path(folder) / "sent.json").open("wb") as out:
            sender = namespaces.start(client, ["chrt", "-f", "10", node.program(), *send], out)
        time.sleep(SETTLE_S)
        forwarder.report()
        time.sleep(WINDOW_S)
        report = forwarder.report()
        sender.wait(20)
        sent = json.loads((Path(folder) / "sent.json").read_text(encoding="utf-8"))
    window_s = report["window_s"][1] - report["window_s"][0]
    link = report["ports"][1]["egress"]
    forwarded = link["accounting"]["departed"] / window_s
    late = [1e6 * link["lateness"][f"{name}_s"] for name in ("mean", "p99", "max")]
    times = ", ".join(f"{value:.0f}" for value in late)
    return f"{sent['packets'] / sent['time_s']:.0f} | {forwarded:.0f} | {link['throughput_bps'] / 1e9:.2f} | {times}"


if __name__ == "__main__":
    main()
