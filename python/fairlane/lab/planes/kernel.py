"""The plane `kernel`: packets pass the programs of `fairlane-node attach`, then the kernel's token bucket filter.

For the scheme `htb` the kernel uses sch_htb instead. The forwarder emulates access links and delays on both sides.

    clients ---- [ links: forwarder, wires ] ---- [ node: kernel bridge, TBF, programs ] ---- [ links ] ---- server
"""

from __future__ import annotations

import json
import time
from typing import Any

from fairlane.base.errors import UserError
from fairlane.lab import node
from fairlane.lab.planes import htb
from fairlane.lab.planes.plane import ETHERNET_BYTES, SERVER_PORT, Plane, drops, emulation, queue_of
from fairlane.lab.qdisc import Sampler

BURST_BYTES = 3200
"""Burst of the token bucket: two full frames, the minimum that reaches the rate."""
QUEUE_HANDLE = 0x10


class KernelPlane(Plane):
    """The queue in the kernel."""

    version = 7
    schemes = ("droptail", "abc", "csfq", "htb")

    def _build(self) -> None:
        if not node.has_kernel_plane():
            raise UserError("--plane kernel: this fairlane-node was built without the feature ebpf")
        self._node = self._namespaces.add("node")
        links, ports = self._links_around(self._node)
        self._bridge()
        self._has_classes = self._setup.table["queue"]["scheme"] == "htb"
        if self._has_classes:
            self._class_tree()
        else:
            self._shape()
        self._attach()
        self._reporter = self._forwarder(links, {"ports": ports})

    def _bridge(self) -> None:
        names = [f"client{client.number}" for client in self._setup.clients] + [SERVER_PORT]
        commands = [["link", "add", "br0", "type", "bridge", "stp_state", "0"], ["link", "set", "br0", "up"]]
        commands += [["link", "set", name, "master", "br0"] for name in names]
        for command in commands:
            self._namespaces.run(self._node, ["ip", *command])

    def _shape(self) -> None:
        """Sets up a token bucket that counts packets without Ethernet header, with a FIFO of the scenario's limit."""
        number, _packets = self._setup.table["queue"]["limit"].split()
        root = ["qdisc", "add", "dev", SERVER_PORT, "root", "handle", "1:", "stab", "overhead", f"-{ETHERNET_BYTES}"]
        rate = f"{self._setup.bottleneck_bps}bit"
        bucket = ["linklayer", "ethernet", "tbf", "rate", rate, "burst", str(BURST_BYTES), "limit", "1000000"]
        queue = ["qdisc", "add", "dev", SERVER_PORT, "parent", "1:1", "handle", "10:", "pfifo", "limit", number]
        self._namespaces.run(self._node, ["tc", *root, *bucket])
        self._namespaces.run(self._node, ["tc", *queue])

    def _class_tree(self) -> None:
        for command in htb.commands(self._setup, SERVER_PORT, ETHERNET_BYTES):
            self._namespaces.run(self._node, ["tc", *command])

    def _attach(self) -> None:
        if self._setup.table["queue"]["scheme"] in ("droptail", "htb"):
            return
        pin_path = str(self._namespaces.mount_bpf() / "node")
        config = self._node_config(**self._managed())
        config["node"]["pin_path"] = pin_path
        self._config = self._written("node.toml", config)
        self._namespaces.run(self._node, [node.program(), "attach", self._config])

    def begin(self) -> None:
        """See `Plane`."""
        self._reporter.report()
        self._before = self._counters()
        handle = htb.HANDLE if self._has_classes else QUEUE_HANDLE
        self._sampler = Sampler(self._node, SERVER_PORT, handle << 16)
        self._sampler.start()

    def end(self) -> dict[str, Any]:
        """See `Plane`."""
        after = self._counters()
        report = self._reporter.report()
        lengths = self._sampler.stop()
        near = next(port for port in report["ports"] if port["interface"] == "near")
        counted = {name: after[name] - self._before[name] for name in after}
        sent_bps = 8e9 * counted["bytes"] / counted["ns"]
        arrived = counted["packets"] + counted["overlimit"] + counted["aqm"]
        link = self._link(
            sent_bps,
            queue=queue_of(lengths),
            drops=drops({reason: counted[reason] for reason in ("aqm", "overlimit")}, arrived),
            departure_gaps=near["ingress"]["gaps"],
        )
        if counted["aqm"]:  # drops of the full queue are not counted by user
            link["user_dropped_packets"] = [counted[client.address] for client in self._setup.clients]
        return {"link": link, "emulation": emulation(report)}

    def _counters(self) -> dict[str, int]:
        before_ns = time.monotonic_ns()
        shown = self._namespaces.run(self._node, ["tc", "-s", "-j", "qdisc", "show", "dev", SERVER_PORT])
        qdiscs = {qdisc["handle"]: qdisc for qdisc in json.loads(shown)}
        root = qdiscs["1:"]
        queue = root if self._has_classes else qdiscs["10:"]
        now_ns = (before_ns + time.monotonic_ns()) // 2
        # The size table also applies to the qdisc's counters, so bytes count from the IP header on.
        counters = {"packets": root["packets"], "bytes": root["bytes"], "overlimit": queue["drops"], "aqm": 0}
        counters["ns"] = now_ns
        if hasattr(self, "_config"):
            status = json.loads(self._namespaces.run(self._node, [node.program(), "status", self._config, "--json"]))
            server = next(port for port in status["ports"] if port["interface"] == SERVER_PORT)
            counters["aqm"] = server["dropped"]
            dropped = {user["user"].partition("/")[0]: user["dropped"] for user in status["users"]}
            counters |= {client.address: dropped.get(client.address, 0) for client in self._setup.clients}
        return counters
