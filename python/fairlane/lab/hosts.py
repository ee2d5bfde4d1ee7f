"""Clients and server with addresses, connected by veth pairs without offloads."""

from __future__ import annotations

import os

from fairlane.lab.namespaces import Namespaces, run
from fairlane.lab.setup import SERVER_ADDRESS, SERVER_MAC, Setup

OFFLOADS = ("tso", "gso", "gro", "sg", "tx", "rx")
"""Offloads to disable: they would give the queue packets of many segments, or frames without checksum."""
SEND_BUFFER_BYTES = 4 * 1024 * 1024
"""Largest send buffer (tcp_wmem) of a host with offloads, in bytes. With offloads, nearly all of this memory is
payload."""
SEGMENT_BYTES, SEGMENT_MEMORY_BYTES = 1448, 2280
"""Bytes of payload in a segment, and bytes of memory (skb->truesize) that a segment in a separate buffer takes. Without
offloads all segments have separate buffers. The difference of 832 bytes is for header and descriptors (tcp.c
tcp_stream_alloc_skb)."""


def cable(namespaces: Namespaces, a: tuple[str, str], b: tuple[str, str]) -> None:
    """Connects two interfaces, each given as (namespace, name), by a veth pair that is up and without offloads."""
    (at_a, name_a), (at_b, name_b) = a, b
    run(["ip", "-n", at_a, "link", "add", name_a, "type", "veth", "peer", "name", name_b, "netns", at_b])
    for at, name in (a, b):
        switches = [word for offload in OFFLOADS for word in (offload, "off")]
        namespaces.run(at, ["ethtool", "-K", name, *switches])
        namespaces.run(at, ["ip", "link", "set", name, "gso_max_segs", "1"])
        namespaces.run(at, ["ip", "link", "set", name, "up"])
        _keep_order(namespaces, at, name)


def _keep_order(namespaces: Namespaces, at: str, name: str) -> None:
    """Lets one processor handle all received frames of an interface, so that frames stay in order."""
    processors = sorted(os.sched_getaffinity(0))
    mask = f"{1 << processors[os.getpid() % len(processors)]:x}"
    each = f"for queue in /sys/class/net/{name}/queues/rx-*; do echo {mask} > $queue/rps_cpus; done"
    namespaces.run(at, ["sh", "-c", each])


def address(namespaces: Namespaces, at: str, name: str, ip: str, mac: str) -> None:
    """Sets the addresses of a host's interface."""
    namespaces.run(at, ["ip", "link", "set", name, "address", mac])
    namespaces.run(at, ["ip", "addr", "add", f"{ip}/16", "dev", name])
    # A connection must not inherit what an earlier one learnt about the path.
    namespaces.set(at, "net.ipv4.tcp_no_metrics_save", 1)
    most = SEND_BUFFER_BYTES * SEGMENT_MEMORY_BYTES // SEGMENT_BYTES
    namespaces.set(at, "net.ipv4.tcp_wmem", f"4096 16384 {most}")
    # iperf3 sets the congestion control of an open connection. If the default is BBR, pacing stays on afterwards
    # (sk_pacing_status). Reno has no such side effect and is allowed in every namespace.
    namespaces.set(at, "net.ipv4.tcp_congestion_control", "reno")


def introduce(namespaces: Namespaces, setup: Setup, clients: list[str], server: str) -> None:
    """Sets static ARP entries, so that no ARP packets enter the queues, and sets which hosts request ECN."""
    for client, name in zip(setup.clients, clients, strict=True):
        # The server accepts ECN if requested (2, the default).
        namespaces.set(name, "net.ipv4.tcp_ecn", int(client.source.ecn))
        _neighbour(namespaces, name, SERVER_ADDRESS, SERVER_MAC)
        _neighbour(namespaces, server, client.address, client.mac)


def _neighbour(namespaces: Namespaces, at: str, ip: str, mac: str) -> None:
    namespaces.run(at, ["ip", "neigh", "replace", ip, "lladdr", mac, "dev", "eth0", "nud", "permanent"])
