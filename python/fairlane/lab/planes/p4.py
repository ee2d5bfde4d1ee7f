"""The plane `p4`: the queue in a switch, BMv2's simple_switch with `planes/p4/abc.p4` or `planes/p4/csfq.p4`.

    clients ---- [ links: forwarder, wires ] ---- [ node: simple_switch ] ---- [ links ] ---- server

BMv2 limits packets per second, not bytes, so the lab sets the packet rate that the link has with full packets. As in
section 5.1 of the paper p4abc, this is 4170 packets/s for 50 Mbit/s, 0.1 % more than with packets of 1500 bytes.
"""

from __future__ import annotations

import json
import time
from typing import Any

from fairlane.lab import node, switch
from fairlane.lab.namespaces import RejectedError, run
from fairlane.lab.planes.plane import ETHERNET_BYTES, SERVER_PORT, Plane, drops, emulation, queue_of
from fairlane.lab.setup import SERVER_MAC

PACKETS_PER_S_AT_50_MBPS = 4170
"""Packet rate of the switch for a link of 50 Mbit/s, from p4abc 5.1."""
MOST_WAIT_MEAN_S = 40e-6
"""Maximum mean time that a switch may wait for a processor. Longer waits would change the queue."""
MOST_LOST_SHARE = 1e-4
"""Maximum share of arriving packets that a switch may lose before reading them, because it lacks processor time."""
MOST_SKEW = 200
"""Maximum number of packets that may pass between two readings of counters."""


class P4Plane(Plane):
    """The queue in simple_switch."""

    version = 7
    schemes = ("droptail", "abc", "csfq")

    @staticmethod
    def loaded(scheme: str) -> list[str]:
        """See `Plane`."""
        return [switch.fingerprint(switch.compiled(scheme))]

    def _build(self) -> None:
        setup = self._setup
        scheme = setup.table["queue"]["scheme"]
        self._is_managed = scheme != "droptail"
        program = switch.compiled(scheme)
        self._node = self._namespaces.add("node")
        links, ports = self._links_around(self._node)
        self._interfaces = [*(f"client{client.number}" for client in setup.clients), SERVER_PORT]
        self._server_port = len(self._interfaces) - 1
        self._switch = switch.Switch(self._namespaces, self._node, program, self._interfaces)
        self._configure()
        self._reporter = self._forwarder(links, {"ports": ports})

    def _configure(self) -> None:
        """Writes the table entries that `fairlane p4 commands` prints.

        Then sets the packet rate of the queue, from the link's rate and `PACKETS_PER_S_AT_50_MBPS`.
        """
        setup = self._setup
        port = {"rate": setup.table["topology"]["bottleneck_rate"], **self._managed()}
        port["queue"]["limit"] = setup.table["queue"]["limit"]
        path = self._written("switch.toml", self._node_config(**port))
        stations = [f"{client.mac}=client{client.number}" for client in setup.clients]
        stations.append(f"{SERVER_MAC}={SERVER_PORT}")
        options = [word for station in stations for word in ("--station", station)]
        commands = run([node.program(), "p4-commands", path, *options])
        for line in commands.splitlines():
            self._switch.ask(line)
        self._packets_per_s = round(setup.bottleneck_bps / 50e6 * PACKETS_PER_S_AT_50_MBPS)
        self._switch.ask(f"set_queue_rate {self._packets_per_s} {self._server_port}")

    def begin(self) -> None:
        """See `Plane`."""
        self._reporter.report()
        self._before, self._waited = self._counters(), self._switch.waited()
        self._since = time.monotonic()
        self._sampler = switch.Sampler(self._switch, self._server_port)
        self._sampler.start()

    def end(self) -> dict[str, Any]:
        """See `Plane`."""
        samples = self._sampler.stop()
        after = self._counters()
        lasted_s = time.monotonic() - self._since
        report = self._reporter.report()
        counted = {name: after[name] - self._before[name] for name in after}
        unread = counted["arrived"] - counted["read"]
        if unread > MOST_LOST_SHARE * counted["arrived"] + MOST_SKEW:
            raise RejectedError(f"simple_switch did not read {unread} of {counted['arrived']} packets")
        wait_ns, times = (now - before for now, before in zip(self._switch.waited(), self._waited, strict=True))
        wait_s = wait_ns / 1e9 / max(1, times)  # mean per wait
        if wait_s > MOST_WAIT_MEAN_S:
            most = f"at most {1e3 * MOST_WAIT_MEAN_S:g} ms is allowed"
            raise RejectedError(f"simple_switch waited {1e3 * wait_s:.3f} ms for a processor each time, {most}")
        sent_bps = 8 * (counted["sent_bytes"] - ETHERNET_BYTES * counted["sent"]) / lasted_s
        counts: dict[str, Any] = {}
        overlimit = counted["overlimit"]
        if self._is_managed:
            counts["queue"] = queue_of(samples)
            counts["user_dropped_packets"] = [counted[f"dropped{i}"] for i in range(len(self._setup.clients))]
        else:
            # The program counts losses only with an AQM, and BMv2 never counts them. So losses are packets that were
            # read but not sent.
            overlimit = max(0, counted["read"] - counted["sent"])
        link = self._link(
            sent_bps,
            drops=drops({"aqm": counted["aqm"], "overlimit": overlimit}, counted["read"]),
            readings={"packets_per_s": counted["sent"] / lasted_s},
            **counts,
        )
        how = {
            "packets_per_s": self._packets_per_s,
            "bmv2": switch.version(switch.simple_switch()),
            "p4c": switch.version(switch.p4c()),
            "program": switch.compiled().stem,
            "unread_packets": unread,
            "wait_mean_s": wait_s,
            "wait_share": wait_ns / 1e9 / lasted_s,
        }
        return {"link": link, "emulation": {**emulation(report), "switch": how}}

    def _counters(self) -> dict[str, int]:
        users = range(1, len(self._setup.clients) + 1)
        read = sum(self._switch.counter("metered_of_user", user) for user in [0, *users])
        links = json.loads(self._namespaces.run(self._node, ["ip", "-s", "-j", "link", "show"]))
        stats = {link["ifname"]: link["stats64"] for link in links}
        counters = {
            "arrived": sum(stats[name]["rx"]["packets"] for name in self._interfaces[:-1]),
            "read": read,
            "sent": stats[SERVER_PORT]["tx"]["packets"],
            "sent_bytes": stats[SERVER_PORT]["tx"]["bytes"],
            "aqm": self._switch.counter("dropped_by_aqm", self._server_port),
            "overlimit": self._switch.counter("dropped_by_limit", self._server_port),
        }
        return counters | {f"dropped{user - 1}": self._switch.counter("dropped_of_user", user) for user in users}
