"""Common parts of planes: hosts around a node, and the accuracy of the emulated links."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import tomli_w

from fairlane.lab import hosts
from fairlane.lab.keys import AQMS, MARKERS
from fairlane.lab.namespaces import Namespaces
from fairlane.lab.node import Reporter
from fairlane.lab.setup import SERVER_ADDRESS, SERVER_MAC, Client, Setup

ETHERNET_BYTES = 14
"""Size of the Ethernet header in bytes, which packets of a scenario do not have."""
FULL_PACKET_BYTES = 1500
SERVER_PORT = "server"
"""The node's interface towards the server."""
WIDE_QUEUE = {"scheme": "droptail", "limit": "100000 packets"}


class Plane(ABC):
    """A network for a set-up. Every host has the single interface `eth0`.

    Attributes:
        version: Version of everything that can change a measured run: lab, forwarder, programs of the node.
        schemes: Supported schemes; None if all.
        clients: Namespaces of the clients.
        server: Namespace of the server.
    """

    version: ClassVar[int]
    schemes: ClassVar[tuple[str, ...] | None] = None

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

    @staticmethod
    def loaded(_scheme: str) -> list[str]:
        """Fingerprints of the programs that are loaded into the node for a scheme.

        The engine identity of stored runs contains them, so that a changed program has separate runs.
        """
        return []

    def close(self) -> None:
        """Removes the files of the plane; the caller removes the namespaces."""
        self._folder.cleanup()

    @abstractmethod
    def _build(self) -> None:
        """Builds the network between the hosts."""

    @abstractmethod
    def begin(self) -> None:
        """Starts the measurement window."""

    @abstractmethod
    def end(self) -> dict[str, Any]:
        """Ends the window; returns the record of the bottleneck and the accuracy of the emulated links."""

    def _forwarder(self, at: str, config: Mapping[str, Any]) -> Reporter:
        return Reporter(self._namespaces, at, ["forward", self._written("forward.toml", config)])

    def _written(self, name: str, config: Mapping[str, Any]) -> str:
        """Writes a temporary configuration file; returns its path."""
        path = Path(self._folder.name) / name
        path.write_text(tomli_w.dumps(config), encoding="utf-8")
        return str(path)

    def _access(self, client: Client) -> dict[str, Any]:
        return {**client.access, "limit": self._setup.table["topology"]["access_limit"]}

    def _bottleneck(self) -> dict[str, Any]:
        topology = self._setup.table["topology"]
        return {"rate": topology["bottleneck_rate"], "delay": topology["bottleneck_delay"]}

    def _links_around(self, at: str) -> tuple[str, list[dict[str, Any]]]:
        """Creates a namespace `links` around the node `at`, for a forwarder that emulates access links and delays.

        The node gets interfaces `client0` ... and `server`. The node sets the rate of the bottleneck, and the forwarder
        adds the delay.

        Returns:
            The namespace, and the ports of its forwarder.
        """
        namespaces, links = self._namespaces, self._namespaces.add("links")
        bottleneck = self._bottleneck()
        ports: list[dict[str, Any]] = []
        for client, name in zip(self._setup.clients, self.clients, strict=True):
            outer, inner, access = f"outer{client.number}", f"inner{client.number}", self._access(client)
            hosts.cable(namespaces, (name, "eth0"), (links, outer))
            hosts.cable(namespaces, (links, inner), (at, f"client{client.number}"))
            ports.append({"interface": outer, "peer": inner, "ingress": access})
            ports.append({"interface": inner, "peer": outer, "ingress": {**access, "limit": WIDE_QUEUE["limit"]}})
        hosts.cable(namespaces, (at, SERVER_PORT), (links, "near"))
        hosts.cable(namespaces, (links, "far"), (self.server, "eth0"))
        ports.append({"interface": "near", "peer": "far", "ingress": {"delay": bottleneck["delay"]}})
        back = {**bottleneck, "limit": WIDE_QUEUE["limit"]}
        ports.append({"interface": "far", "peer": "near", "ingress": back})
        return links, ports

    def _node_config(self, **server: Any) -> dict[str, Any]:
        """Configuration of `fairlane-node` for the scheme: a metered port for each client, and the server's port."""
        scheme, marker = self._setup.table["queue"]["scheme"], self._setup.table.get("marker") or {}
        names = ("scheme", *MARKERS[scheme]) if scheme in MARKERS else ()
        users = [
            {
                "prefix": client.address,
                "reference_rate": f"{client.reference_bps} bit/s",
                "traffic_class": client.terms["traffic_class"],
            }
            for client in self._setup.clients
        ]
        clients = [{"interface": f"client{client.number}", "arrivals": "meter"} for client in self._setup.clients]
        return {
            "node": {},
            "marker": {name: marker[name] for name in names},
            "users": users,
            "ports": [*clients, {"interface": SERVER_PORT, **server}],
        }

    def _managed(self) -> dict[str, Any]:
        """Table of a port for the node's configuration, with the scenario's scheme and AQM but without queue limit."""
        queue = self._setup.table["queue"]
        scheme = queue["scheme"]
        port: dict[str, Any] = {"queue": {name: queue[name] for name in ("scheme", *AQMS.get(scheme, ()))}}
        if scheme == "csfq":
            # The rate counts frames. Links of a scenario count packets, most of them full ones.
            port["rate"] = f"{round(self._setup.bottleneck_bps * (1 + ETHERNET_BYTES / FULL_PACKET_BYTES))} bit/s"
        return port

    def _link(self, sent_bps: float, *, readings: Mapping[str, float] | None = None, **more: Any) -> dict[str, Any]:
        """Record of the bottleneck, from its sending rate and other values that the plane measured."""
        rate_bps = float(self._setup.bottleneck_bps)
        sent = {"rate_bps": rate_bps, "utilisation": sent_bps / rate_bps, "throughput_bps": sent_bps}
        return {"name": "bottleneck", **sent, **more, "readings": dict(readings or {})}


def queue_of(lengths: Sequence[float]) -> dict[str, float]:
    """The queue of a record, from samples of its length."""
    mean = sum(lengths) / len(lengths) if lengths else 0.0
    return {"mean_packets": mean, "max_packets": max(lengths, default=0), "samples": len(lengths)}


def drops(packets: Mapping[str, int], arrived: int) -> list[dict[str, Any]]:
    """The losses of a record, by reason."""
    return [
        {"reason": reason, "packets": count, "share_of_arrivals": count / arrived if arrived else 0.0}
        for reason, count in packets.items()
    ]


def emulation(report: Mapping[str, Any]) -> dict[str, Any]:
    """Accuracy of the forwarder: lateness of its worst port, lost frames, and send errors."""
    ports = report["ports"]
    lateness = [port["egress"]["lateness"] for port in ports if port["egress"]["lateness"]["packets"]]
    lost = ("oversized", "without_checksum", "no_frame", "kernel_drops")
    times = ("mean_s", "p99_s", "max_s")
    return {
        "realtime": report["realtime"],
        **{f"lateness_{name}": max((entry[name] for entry in lateness), default=0.0) for name in times},
        "lost_frames": sum(port["ingress"][name] for port in ports for name in lost),
        "send_errors": sum(port["egress"]["send_errors"] for port in ports),
    }
