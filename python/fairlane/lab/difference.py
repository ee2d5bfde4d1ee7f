"""The command `lab diff`: the first packet of a link at which simulator and kernel part."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.signals import received
from fairlane.base.text import near
from fairlane.linux import guest, plan
from fairlane.linux.plan import Extra
from fairlane.linux.runs import find
from fairlane.simulate.scenario import Scenario

ROWS_BEFORE, ROWS = 6, 16
"""Events that are shown before the first difference, and in all."""
STARTED, DROPPED = "sent", "dropped"
"""Events at a link: the transmission of a packet starts, or it is dropped."""
_KINDS = {1: STARTED, 2: DROPPED}
"""Those of the guest; it writes arrivals as well, which captures of the simulator lack."""
_TRACED = struct.Struct("<QIHHHHBB10x")
_EVENTS_A_PACKET = 2
"""Of the guest: it arrives, and is sent or dropped."""
_BEFORE_FIRST, _HEADERS_BYTES = 0xFFFFFFFF, 60
"""Sequence of a SYN in the guest's trace; most bytes of a packet without payload."""
_PACKET = 6
"""Block of pcapng with a packet."""
_LEAST_BYTES, _PACKET_BYTES = 1 << 16, 600
"""Of a capture: more than its head, and than a packet with its ACKs takes."""
MOST_WAITING = 4096
"""Arrivals in the guest's trace beyond those of packets that are sent or dropped in it: those that wait."""
WAIT_S = 0.1
_SERVER = bytes((192, 0, 2, 1))
_TCP = 6
_INDEX_BITS = 20
"""Of a flow's number in the simulator; above are connections, one after another."""


@dataclass(frozen=True)
class Packet:
    """An event at the link.

    Attributes:
        time_s: When.
        kind: `sent` or `dropped`.
        flow: Number of the flow.
        byte: First byte of payload in the connection; -1 for a SYN, None for a datagram.
    """

    time_s: float
    kind: str
    flow: int
    byte: int | None


@dataclass(frozen=True)
class Difference:
    """Both traces of a link.

    Attributes:
        scenario: Name of the scenario.
        queue: Scheme of the link.
        link: Name of the link.
        release: That of the kernel.
        flows: User, group, and payload of a full segment of each flow.
        simulator: Events in the simulator.
        kernel: Events in the kernel.
        first: Number of the first that differs; None if none does.
    """

    scenario: str
    queue: str
    link: str
    release: str
    flows: Sequence[tuple[int, str, int]]
    simulator: Sequence[Packet]
    kernel: Sequence[Packet]
    first: int | None

    def document(self) -> dict[str, Any]:
        """The events around the first difference as a table, ready for JSON."""
        return {
            "schema": 1,
            "version": _fairlane.version(),
            "scenario": self.scenario,
            "queue": self.queue,
            "link": self.link,
            "kernel": self.release,
            "first": self.first,
            "compared": min(len(self.simulator), len(self.kernel)),
            "events": [
                {
                    "number": number,
                    "simulator": self._row(self.simulator, number),
                    "linux": self._row(self.kernel, number),
                }
                for number in self.around()
            ],
        }

    def _row(self, events: Sequence[Packet], number: int) -> dict[str, Any] | None:
        if number >= len(events):
            return None
        event = events[number]
        user, group, payload = self.flows[event.flow]
        segment = event.byte if event.byte is None or event.byte < 0 else event.byte / payload
        about = {"group": group, "user": user, "flow": event.flow, "segment": segment}
        return {"time_s": event.time_s, "event": event.kind, **about}

    def around(self) -> range:
        """The places to show: some before the first difference, and those that follow; the last if there is none."""
        total = max(len(self.simulator), len(self.kernel))
        begin = max(0, total - ROWS if self.first is None else self.first - ROWS_BEFORE)
        return range(begin, min(total, begin + ROWS))


def difference(
    scenario: Scenario | str | Path,
    *,
    queue: str | None = None,
    link: str | None = None,
    replication: int = 0,
    count: int = 1000,
    tolerance_s: float = 1e-3,
    kernel: str | None = None,
) -> Difference:
    """Runs a replication in the simulator and on a kernel, and compares the first packets of a link.

    Args:
        scenario: A scenario, or the path of its TOML file.
        queue: Name of the scheme to use instead of the scenario's.
        link: Name of the link; the first if None.
        replication: Number of the run.
        count: Packets that are compared, those that are dropped included.
        tolerance_s: By how much the times may differ.
        kernel: Version of the kernel.

    Raises:
        UserError: The plane `linux` cannot have the scenario, or there is no such link or kernel.
        GuestError: The kernel gave no result.
    """
    given = scenario if isinstance(scenario, Scenario) else Scenario.from_toml(scenario)
    canonical = given.canonical()
    if queue is not None:
        canonical = _fairlane.with_queue(canonical, queue)
    plan.check(canonical)
    names = _fairlane.links(canonical)
    if link is not None and link not in names:
        raise UserError(f"--link: {link} is not a link; {near(link, names)}")
    index = 0 if link is None else names.index(link)
    made = plan.made(canonical, replication, Extra(trace=(index, _EVENTS_A_PACKET * count + MOST_WAITING)))
    output = guest.run(find(kernel), made, Flag(), ("trace.bin",))
    kinds = [flow.kind for flow in made.flows]
    on_kernel = in_order(islice(traced(output.files.get("trace.bin", b""), kinds), count))
    simulated = _simulated(canonical, replication, index, count)
    # The kernel's trace has a number of events, of which arrivals leave too few where many packets wait.
    compared = min(count, len(on_kernel)) if len(on_kernel) < len(simulated) else count
    table = json.loads(canonical)
    groups = [table["groups"][user["group"]]["name"] for user in made.layout["users"]]
    return Difference(
        table["name"],
        made.layout["links"][index]["queue"]["scheme"],
        names[index],
        output.result["release"],
        [(flow.user, groups[flow.user], flow.payload) for flow in made.flows],
        simulated[:compared],
        on_kernel[:compared],
        first_difference(simulated[:compared], on_kernel[:compared], tolerance_s),
    )


def in_order(events: Iterable[Packet]) -> list[Packet]:
    """Events of one kind and moment by flow and number: Linux lists the drops of a batch backwards."""
    moments = groupby(events, key=lambda event: (event.kind, event.time_s))
    return [
        event
        for _, moment in moments
        for event in sorted(moment, key=lambda event: (event.flow, -2 if event.byte is None else event.byte))
    ]


def first_difference(one: Sequence[Packet], other: Sequence[Packet], tolerance_s: float) -> int | None:
    """The number of the first event that is another, or at another time; None if all are alike."""
    for number, (left, right) in enumerate(zip_longest(one, other)):
        if left is None or right is None:
            return number
        if (left.kind, left.flow, left.byte) != (right.kind, right.flow, right.byte):
            return number
        if abs(left.time_s - right.time_s) > tolerance_s:
            return number
    return None


def has_payload(byte: int | None, length: int) -> bool:
    """True for packets that are compared: not the ACKs of a sender, which the simulator has only in the handshake."""
    return byte is None or byte < 0 or length > _HEADERS_BYTES


def traced(content: bytes, kinds: Sequence[str]) -> Iterator[Packet]:
    """The events of the guest's `trace.bin`, given the kind of each flow."""
    for time_ns, sequence, flow, _host, length, _queue, event, _ecn in _TRACED.iter_unpack(content):
        if event not in _KINDS:
            continue
        byte = None if kinds[flow] != "tcp" else -1 if sequence == _BEFORE_FIRST else sequence
        if has_payload(byte, length):
            yield Packet(time_ns / 1e9, _KINDS[event], flow, byte)


def _simulated(scenario: str, replication: int, link: int, count: int) -> list[Packet]:
    """The first events at a link in the simulator: the run ends when the capture has enough of them."""
    with TemporaryDirectory(prefix="fairlane-diff-") as folder:
        file = Path(folder) / "link.pcapng"
        run = _fairlane.WatchedRun(scenario, replication, pcap=file, drops=True, link=link)
        try:
            done = None
            while done is None and (not file.exists() or file.stat().st_size < _LEAST_BYTES + count * _PACKET_BYTES):
                received.check()
                _, done = run.next(WAIT_S)
        finally:
            run.cancel()
        return in_order(islice(captured(file.read_bytes()), count))


def captured(content: bytes) -> Iterator[Packet]:
    """The events of packets to the server in a capture of the simulator's, whose last block may be cut."""
    place = 0
    while place + 12 <= len(content):
        kind, length = struct.unpack_from(">II", content, place)
        if length < 12 or place + length > len(content):
            return
        if kind == _PACKET:
            _, high, low, size, length_on_link = struct.unpack_from(">5I", content, place + 8)
            frame, options = (
                content[place + 28 : place + 28 + size],
                content[place + 28 + (size + 3 & ~3) : place + length - 4],
            )
            packet = _packet(((high << 32) | low) / 1e9, frame, options)
            if frame[16:20] == _SERVER and has_payload(packet.byte, length_on_link):
                yield packet
        place += length


def _packet(time_s: float, frame: bytes, options: bytes) -> Packet:
    header = 4 * (frame[0] & 0xF)
    at_user, at_server = struct.unpack_from(">HH", frame, header)
    flow = 10_000 * (at_server - 40_000) + at_user - 50_000 & (1 << _INDEX_BITS) - 1
    byte = None
    if frame[9] == _TCP:
        byte = struct.unpack_from(">I", frame, header + 4)[0] - 1
    return Packet(time_s, DROPPED if b"dropped (" in options else STARTED, flow, byte)
