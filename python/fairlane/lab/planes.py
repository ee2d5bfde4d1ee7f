"""The planes of the lab: who emulates the links, and who queues at the bottleneck.

`user`  the forwarder does everything: access links, the bottleneck with its scheme, delays.

    client namespaces ---- [ node: forwarder, one port each ] ---- server

`ebpf`  the kernel queues: a bridge with a token bucket filter in front of the server, and the programs of
        `fairlane-node attach`; the forwarder emulates access links and delays on the way to and from it.

    clients ---- [ links: forwarder, wires ] ---- [ node: kernel bridge, TBF, programs ] ---- [ links ] ---- server
"""

from __future__ import annotations

import json
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from fairlane.errors import UserError
from fairlane.lab import hosts, node
from fairlane.lab.namespaces import Namespaces
from fairlane.lab.node import Reporter
from fairlane.lab.qdisc import Sampler
from fairlane.lab.setup import SERVER_ADDRESS, SERVER_MAC, Setup

ETHERNET_BYTES = 14
BURST_BYTES = 3200
"""Of the token bucket: two full frames, the least that keeps the rate."""
QUEUE_HANDLE = 0x10
WIDE_QUEUE = {"scheme": "droptail", "limit": "100000 packets"}


class Plane(ABC):
    """A network for a set-up; interface `eth0` of every host is its only one.

    Attributes:
        clients: Namespaces of the clients.
        server: Namespace of the server.
    """

    def __init__(self, namespaces: Namespaces, setup: Setup) -> None:
        self._namespaces = namespaces
        self._setup = setup
        self._folder = tempfile.TemporaryDirectory(prefix="fairlane-lab-")
        self.clients = [namespaces.add(f"client{client.number}") for client in setup.clients]
        self.server = namespaces.add("server")
        self._build()
        for client, name in zip(setup.clients, self.clients, strict=True):
            hosts.address(namespaces, name, "eth0", client.address, client.mac)
        hosts.address(namespaces, self.server, "eth0", SERVER_ADDRESS, SERVER_MAC)
        hosts.introduce(namespaces, setup, self.clients, self.server)

    def close(self) -> None:
        """Removes the files of the plane; its namespaces are the caller's."""
        self._folder.cleanup()

    @abstractmethod
    def _build(self) -> None:
        """Makes everything between the hosts."""

    @abstractmethod
    def begin(self) -> None:
        """The window that is measured begins."""

    @abstractmethod
    def end(self) -> dict[str, Any]:
        """The window ends: what the record says of the bottleneck, and of how well the links were emulated."""

    def _forwarder(self, at: str, config: Mapping[str, Any]) -> Reporter:
        path = Path(self._folder.name) / "forward.toml"
        path.write_text(tomli_w.dumps(config), encoding="utf-8")
        return Reporter(self._namespaces, at, ["forward", str(path)])

    def _access(self) -> dict[str, Any]:
        topology = self._setup.table["topology"]
        link = {"rate": topology["access_rate"], "delay": topology["access_delay"]}
        return {**link, "limit": topology["access_limit"]}

    def _bottleneck(self) -> dict[str, Any]:
        topology = self._setup.table["topology"]
        return {"rate": topology["bottleneck_rate"], "delay": topology["bottleneck_delay"]}


class UserPlane(Plane):
    """Everything in the forwarder."""

    def _build(self) -> None:
        at, setup = self._namespaces.add("node"), self._setup
        for client, name in zip(setup.clients, self.clients, strict=True):
            hosts.cable(self._namespaces, (name, "eth0"), (at, f"client{client.number}"))
        hosts.cable(self._namespaces, (self.server, "eth0"), (at, "server"))
        access = self._access()
        back = {"rate": access["rate"], "delay": access["delay"], "queue": WIDE_QUEUE}
        bottleneck = self._bottleneck()
        queue, marker = setup.table["queue"], setup.table.get("marker")
        egress = {**bottleneck, "queue": queue, **({"marker": marker} if marker else {})}
        self._report = self._forwarder(
            at,
            {
                "forward": {"seed": setup.table["run"]["seed"]},
                "users": [
                    {
                        "name": str(client.number),
                        "prefix": client.address,
                        "reference_rate": f"{client.reference_bps} bit/s",
                    }
                    for client in setup.clients
                ],
                "ports": [
                    *(
                        {"interface": f"client{client.number}", "ingress": access, "egress": back}
                        for client in setup.clients
                    ),
                    {"interface": "server", "ingress": {**bottleneck, "limit": "100000 packets"}, "egress": egress},
                ],
            },
        )

    def begin(self) -> None:
        """See `Plane`."""
        self._report.ask()
        self._report.answer()

    def end(self) -> dict[str, Any]:
        """See `Plane`."""
        self._report.ask()
        report = self._report.answer()
        port = report["ports"][-1]
        link = {"name": "bottleneck", **port["egress"], "readings": port["readings"]}
        link["user_dropped_packets"] = [user["dropped_packets"] for user in link["users"][:-1]]
        link["delay"] = [{"traffic_class": "BE", **link["delay"]}]
        return {"link": link, "emulation": emulation(report)}


class EbpfPlane(Plane):
    """The queue in the kernel."""

    def _build(self) -> None:
        if not node.has_kernel_plane():
            raise UserError("--plane ebpf: this fairlane-node was built without the feature ebpf")
        setup, namespaces = self._setup, self._namespaces
        self._node, links = namespaces.add("node"), namespaces.add("links")
        ports = []
        access, bottleneck = self._access(), self._bottleneck()
        back = {**access, "limit": "100000 packets"}
        for client, name in zip(setup.clients, self.clients, strict=True):
            outer, inner = f"outer{client.number}", f"inner{client.number}"
            hosts.cable(namespaces, (name, "eth0"), (links, outer))
            hosts.cable(namespaces, (links, inner), (self._node, f"client{client.number}"))
            ports.append({"interface": outer, "peer": inner, "ingress": access})
            ports.append({"interface": inner, "peer": outer, "ingress": back})
        hosts.cable(namespaces, (self._node, "server"), (links, "near"))
        hosts.cable(namespaces, (links, "far"), (self.server, "eth0"))
        # The rate of the bottleneck is the kernel's, its delay is ours.
        ports.append({"interface": "near", "peer": "far", "ingress": {"delay": bottleneck["delay"]}})
        ports.append({"interface": "far", "peer": "near", "ingress": {**bottleneck, "limit": "100000 packets"}})
        self._bridge()
        self._shape()
        self._attach()
        self._report = self._forwarder(links, {"ports": ports})

    def _bridge(self) -> None:
        names = [f"client{client.number}" for client in self._setup.clients] + ["server"]
        commands = [["link", "add", "br0", "type", "bridge", "stp_state", "0"], ["link", "set", "br0", "up"]]
        commands += [["link", "set", name, "master", "br0"] for name in names]
        for command in commands:
            self._namespaces.run(self._node, ["ip", *command])

    def _shape(self) -> None:
        """A token bucket that counts packets without their Ethernet header, over a FIFO of the scenario's limit."""
        limit = self._setup.table["queue"]["limit"]
        number, unit = limit.split()
        if unit != "packets":
            raise UserError(f'queue.limit: "{limit}", the plane ebpf counts in packets')
        root = ["qdisc", "add", "dev", "server", "root", "handle", "1:", "stab", "overhead", f"-{ETHERNET_BYTES}"]
        rate = f"{self._setup.bottleneck_bps}bit"
        bucket = ["linklayer", "ethernet", "tbf", "rate", rate, "burst", str(BURST_BYTES), "limit", "1000000"]
        queue = ["qdisc", "add", "dev", "server", "parent", "1:1", "handle", "10:", "pfifo", "limit", number]
        self._namespaces.run(self._node, ["tc", *root, *bucket])
        self._namespaces.run(self._node, ["tc", *queue])

    def _attach(self) -> None:
        queue, setup = self._setup.table["queue"], self._setup
        if queue["scheme"] == "droptail":
            return
        if queue["scheme"] != "abc":
            raise UserError(f'queue.scheme: "{queue["scheme"]}", the plane ebpf has droptail and abc')
        marker = setup.table["marker"]
        names = ("q_min", "q_base", "gamma", "averager_memory")
        clients = [{"interface": f"client{client.number}", "ingress": "meter"} for client in setup.clients]
        server = {"interface": "server", "egress": "abc", **{name: queue[name] for name in names}}
        config = {
            "node": {"pin_path": str(self._namespaces.mount_bpf() / "node")},
            "meter": {"memory": marker["memory"]},
            "users": [
                {"prefix": client.address, "reference_rate": f"{client.reference_bps} bit/s"}
                for client in setup.clients
            ],
            "ports": [*clients, server],
        }
        self._config = Path(self._folder.name) / "node.toml"
        self._config.write_text(tomli_w.dumps(config), encoding="utf-8")
        self._namespaces.run(self._node, [node.program(), "attach", str(self._config)])

    def begin(self) -> None:
        """See `Plane`."""
        self._report.ask()
        self._report.answer()
        self._before = self._counters()
        self._sampler = Sampler(self._node, "server", QUEUE_HANDLE << 16)
        self._sampler.start()

    def end(self) -> dict[str, Any]:
        """See `Plane`."""
        after = self._counters()
        self._report.ask()
        report = self._report.answer()
        readings = self._sampler.stop()
        near = next(port for port in report["ports"] if port["interface"] == "near")
        counted = {name: after[name] - self._before[name] for name in after}
        sent_bps = 8e9 * counted["bytes"] / counted["ns"]
        arrived = counted["packets"] + counted["overlimit"] + counted["aqm"]
        drops = [
            {
                "reason": reason,
                "packets": counted[reason],
                "share_of_arrivals": counted[reason] / arrived if arrived else 0.0,
            }
            for reason in ("aqm", "overlimit")
        ]
        link = {
            "name": "bottleneck",
            "rate_bps": float(self._setup.bottleneck_bps),
            "utilisation": sent_bps / self._setup.bottleneck_bps,
            "throughput_bps": sent_bps,
            "queue": {
                "mean_packets": readings.mean_packets,
                "max_packets": readings.max_packets,
                "samples": readings.count,
            },
            "drops": drops,
            "departure_gaps": near["ingress"]["gaps"],
            "readings": {},
        }
        if counted["aqm"]:  # those of the full queue are nobody's
            link["user_dropped_packets"] = [counted[client.address] for client in self._setup.clients]
        return {"link": link, "emulation": emulation(report)}

    def _qdiscs(self) -> list[dict[str, Any]]:
        """What `tc` says of the queues in front of the server."""
        text = self._namespaces.run(self._node, ["tc", "-s", "-j", "qdisc", "show", "dev", "server"])
        found: list[dict[str, Any]] = json.loads(text)
        return found

    def _counters(self) -> dict[str, int]:
        before_ns = time.monotonic_ns()
        qdiscs = {qdisc["handle"]: qdisc for qdisc in self._qdiscs()}
        root, queue = qdiscs["1:"], qdiscs["10:"]
        now_ns = (before_ns + time.monotonic_ns()) // 2
        # The size table holds for what the qdisc counts, too: bytes from the IP header on.
        counters = {"packets": root["packets"], "bytes": root["bytes"], "overlimit": queue["drops"], "aqm": 0}
        counters["ns"] = now_ns
        if hasattr(self, "_config"):
            status = json.loads(
                self._namespaces.run(self._node, [node.program(), "status", str(self._config), "--json"])
            )
            server = next(port for port in status["ports"] if port["interface"] == "server")
            counters["aqm"] = server["dropped"]
            drops = {user["user"].partition("/")[0]: user["drops"] for user in status["users"]}
            counters |= {client.address: drops.get(client.address, 0) for client in self._setup.clients}
        return counters


def emulation(report: Mapping[str, Any]) -> dict[str, Any]:
    """How well the forwarder kept the times: the worst port, and frames that it lost for want of room or time."""
    ports = report["ports"]
    lateness = [port["egress"]["lateness"] for port in ports if port["egress"]["lateness"]["packets"]]
    lost = ("oversized", "without_checksum", "no_frame", "kernel_drops")
    return {
        "realtime": report["realtime"],
        "lateness_mean_s": max((entry["mean_s"] for entry in lateness), default=0.0),
        "lateness_p99_s": max((entry["p99_s"] for entry in lateness), default=0.0),
        "lateness_max_s": max((entry["max_s"] for entry in lateness), default=0.0),
        "lost_frames": sum(port["ingress"][name] for port in ports for name in lost),
        "send_errors": sum(port["egress"]["send_errors"] for port in ports),
    }


PLANES: dict[str, type[Plane]] = {"user": UserPlane, "ebpf": EbpfPlane}
"""The planes with real packets, by name."""
