"""The command `lab diff` finds the first packet of a link that differs between simulator and kernel."""

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
from fairlane.linux import capture, guest, plan
from fairlane.linux.plan import Extra
from fairlane.linux.runs import find
from fairlane.simulate.scenario import Scenario

ROWS_BEFORE, ROWS = 6, 16
"""Number of events shown before the first difference, and in total."""
STARTED, DROPPED = "sent", "dropped"
"""Events at a link: start of a packet's transmission, and drop of a packet."""
_KINDS = {capture.STARTED: STARTED, capture.DROPPED: DROPPED}
"""Codes of these events in the guest's trace. The guest also writes arrivals, which the simulator's captures lack."""
_EVENTS_A_PACKET = 2
"""Number of events per packet in the guest's trace: arrival, then sent or dropped."""
_HEADERS_BYTES = 60
"""Largest size of a packet without payload."""
_LEAST_BYTES, _PACKET_BYTES = 1 << 16, 600
"""Upper bounds on sizes in a capture file, in bytes: of its header, and of one packet together with its ACKs."""
MOST_WAITING = 4096
"""Largest expected number of packets that still wait at the end of the guest's trace. For these packets, the trace has
an arrival but no departure."""
WAIT_S = 0.1
_SERVER = bytes((192, 0, 2, 1))
_TCP = 6


@dataclass(frozen=True)
class Packet:
    """An event at the link.

    Attributes:
        time_s: Time of the event.
        kind: `sent` or `dropped`.
        flow: Number of the flow.
        byte: Offset of the first payload byte in the connection; -1 for a SYN, None for a datagram.
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
        release: Release of the kernel.
        flows: User, group, and payload of a full segment, for each flow.
        simulator: Events in the simulator.
        kernel: Events in the kernel.
        first: Number of the first event that differs; None if all are equal.
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
        """The events around the first difference, ready for JSON."""
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
        """Numbers of the events to show: around the first difference, or the last events if there is none."""
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
        queue: Scheme to use instead of the scenario's.
        link: Name of the link; the first if None.
        replication: Number of the run.
        count: Number of packets to compare, including dropped ones.
        tolerance_s: Largest accepted difference of times.
        kernel: Version of the kernel.

    Raises:
        UserError: The plane `linux` does not support the scenario, or the link or kernel does not exist.
        GuestError: The kernel returned no result.
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
    of_simulator = simulated(canonical, replication, index, count)
    # The kernel's trace has a limited number of events. If many packets wait, arrivals take up too many of them.
    compared = min(count, len(on_kernel)) if len(on_kernel) < len(of_simulator) else count
    table = json.loads(canonical)
    groups = [table["groups"][user["group"]]["name"] for user in made.layout["users"]]
    return Difference(
        table["name"],
        made.layout["links"][index]["queue"]["scheme"],
        names[index],
        output.result["release"],
        [(flow.user, groups[flow.user], flow.payload) for flow in made.flows],
        of_simulator[:compared],
        on_kernel[:compared],
        first_difference(of_simulator[:compared], on_kernel[:compared], tolerance_s),
    )


def in_order(events: Iterable[Packet]) -> list[Packet]:
    """Sorts simultaneous events of one kind by flow and number, since Linux lists the drops of a batch backwards."""
    moments = groupby(events, key=lambda event: (event.kind, event.time_s))
    return [
        event
        for _, moment in moments
        for event in sorted(moment, key=lambda event: (event.flow, -2 if event.byte is None else event.byte))
    ]


def first_difference(one: Sequence[Packet], other: Sequence[Packet], tolerance_s: float) -> int | None:
    """Number of the first event that differs, also in time; None if all are equal."""
    for number, (left, right) in enumerate(zip_longest(one, other)):
        if left is None or right is None:
            return number
        if (left.kind, left.flow, left.byte) != (right.kind, right.flow, right.byte):
            return number
        if abs(left.time_s - right.time_s) > tolerance_s:
            return number
    return None


def has_payload(byte: int | None, length: int) -> bool:
    """True for packets to compare. Excludes a sender's ACKs, which the simulator has only in the handshake."""
    return byte is None or byte < 0 or length > _HEADERS_BYTES


def traced(content: bytes, kinds: Sequence[str]) -> Iterator[Packet]:
    """Parses the events of the guest's `trace.bin`, given the kind of each flow."""
    for time_ns, sequence, flow, _host, length, _queue, event, *_ in capture.TRACED.iter_unpack(content):
        if event not in _KINDS:
            continue
        byte = None if kinds[flow] != "tcp" else -1 if sequence == capture.BEFORE_FIRST else sequence
        if has_payload(byte, length):
            yield Packet(time_ns / 1e9, _KINDS[event], flow, byte)


def simulated(scenario: str, replication: int, link: int, count: int) -> list[Packet]:
    """The first events at a link in the simulator; ends the run when the capture has enough."""
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
    """Parses the events of packets to the server in a simulator's capture, whose last block may be truncated."""
    place = 0
    while place + 12 <= len(content):
        kind, length = struct.unpack_from(">II", content, place)
        if length < 12 or place + length > len(content):
            return
        if kind == capture.PACKET:
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
    flow = 10_000 * (at_server - 40_000) + at_user - 50_000 & (1 << capture.INDEX_BITS) - 1
    byte = None
    if frame[9] == _TCP:
        byte = struct.unpack_from(">I", frame, header + 4)[0] - 1
    return Packet(time_s, DROPPED if b"dropped (" in options else STARTED, flow, byte)
