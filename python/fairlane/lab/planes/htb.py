"""The kernel's hierarchical token bucket, with the classes of the scheme `htb` on a single link.

The root class has the link's rate. Each client has a leaf with a rate (multiplied by the client's weight), a ceiling,
and a FIFO of the scenario's limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlane.lab.setup import Client, Setup, bits_per_second, size_bytes

HANDLE = 0x1
"""Handle of the root queue, whose length includes all leaves."""
ROOT_BURST_BYTES = 3200
"""Burst of the root: two full frames, as in the token bucket for other schemes."""
LEAST_BPS = 1000
"""Minimum rate of a class."""
FIRST_MINOR = 0x10
"""First minor number of the leaves."""


def commands(setup: Setup, interface: str, header_bytes: int) -> Iterator[list[str]]:
    """Arguments of `tc`, in order.

    Args:
        setup: The scenario.
        interface: The port.
        header_bytes: Header of a frame, which links of a scenario do not have.
    """
    queue, link = setup.table["queue"], f"{setup.bottleneck_bps}bit"
    number, _packets = queue["limit"].split()

    def add(what: str, words: str) -> list[str]:
        return [what, "add", "dev", interface, *words.split()]

    size_table = f"stab overhead -{header_bytes} linklayer ethernet"
    yield add("qdisc", f"root handle 1: {size_table} htb r2q {queue['r2q']}")
    bursts = f"burst {ROOT_BURST_BYTES} cburst {ROOT_BURST_BYTES}"
    yield add("class", f"parent 1: classid 1:1 htb rate {link} ceil {link} {bursts}")
    for client in setup.clients:
        leaf = f"1:{client.number + FIRST_MINOR:x}"
        yield add("class", f"parent 1:1 classid {leaf} htb {_leaf(setup, client)}")
        yield add("qdisc", f"parent {leaf} pfifo limit {number}")
        match = f"u32 match ip src {client.address}/32 flowid {leaf}"
        yield add("filter", f"parent 1: protocol ip prio 1 {match}")


def _leaf(setup: Setup, client: Client) -> str:
    queue = setup.table["queue"]
    most = round(bits_per_second(queue["ceil"])) if queue.get("ceil") else setup.bottleneck_bps
    rate = min(most, max(LEAST_BPS, round(bits_per_second(queue["rate"]) * float(client.terms["weight"]))))
    priority = 0 if client.terms["traffic_class"] == "EF" else 1
    bursts = f"burst {size_bytes(queue['burst'])} cburst {size_bytes(queue['cburst'])}"
    quantum = f" quantum {size_bytes(queue['quantum'])}" if queue.get("quantum") else ""
    return f"rate {rate}bit ceil {most}bit {bursts} prio {priority}{quantum}"
