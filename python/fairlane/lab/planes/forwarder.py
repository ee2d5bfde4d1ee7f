"""The plane `forwarder`: the forwarder emulates access links, the bottleneck with its scheme, and delays.

client namespaces ---- [ node: forwarder, one port each ] ---- server
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlane.lab import hosts
from fairlane.lab.planes.plane import WIDE_QUEUE, Plane, emulation


class ForwarderPlane(Plane):
    """The whole network in the forwarder."""

    version = 6

    def _build(self) -> None:
        at, setup = self._namespaces.add("node"), self._setup
        for client, name in zip(setup.clients, self.clients, strict=True):
            hosts.cable(self._namespaces, (name, "eth0"), (at, f"client{client.number}"))
        hosts.cable(self._namespaces, (self.server, "eth0"), (at, "server"))
        bottleneck = self._bottleneck()
        queue, marker = setup.table["queue"], setup.table.get("marker")
        egress = {**bottleneck, "queue": queue, **({"marker": marker} if marker else {})}
        self._reporter = self._forwarder(
            at,
            {
                "forward": {"seed": setup.table["run"]["seed"]},
                "users": [
                    {"name": str(client.number), "prefix": client.address, **client.terms} for client in setup.clients
                ],
                "ports": [
                    *(
                        {
                            "interface": f"client{client.number}",
                            "ingress": self._access(client),
                            "egress": {**client.access, "queue": WIDE_QUEUE},
                        }
                        for client in setup.clients
                    ),
                    {"interface": "server", "ingress": {**bottleneck, "limit": WIDE_QUEUE["limit"]}, "egress": egress},
                ],
            },
        )

    def begin(self) -> None:
        """See `Plane`."""
        self._reporter.report()

    def end(self) -> dict[str, Any]:
        """See `Plane`."""
        report = self._reporter.report()
        port = report["ports"][-1]
        link = {"name": "bottleneck", **port["egress"], "readings": port["readings"]}
        link["user_dropped_packets"] = [user["dropped_packets"] for user in link["users"][:-1]]
        classes = {client.terms["traffic_class"] for client in self._setup.clients}
        delay = link.pop("delay")
        link["delay"] = [{"traffic_class": name, **delay} for name in classes] if len(classes) == 1 else []
        ports = zip(report["ports"], link["users"], self._setup.clients, strict=False)
        clients = [_counted(access["ingress"], user) for access, user, _ in ports]
        return {"link": link, "emulation": emulation(report), "clients": clients}


def _counted(access: Mapping[str, Any], user: Mapping[str, Any]) -> dict[str, int]:
    """Packets of a user: sent by the bottleneck with and without mark, and dropped at or before the bottleneck."""
    return {
        "delivered_packets": user["departed"]["packets"],
        "dropped_packets": user["dropped_packets"] + access["line_drops"],
        "marked_packets": user["marked_packets"],
    }
