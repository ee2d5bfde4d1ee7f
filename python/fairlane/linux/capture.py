"""Packet capture (pcapng) of a link on the kernel, in the form of simulated captures (`crates/sim/src/watch/pcap`).

The guest's trace has no headers, so the capture creates them. Addresses, ports and sequence numbers are as in the
simulator; lengths and checksums are correct. TCP options are padding, and only the flags SYN and ACK are known.
Acknowledgements from receivers don't pass the link.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.quantities import parsed
from fairlane.linux.plan import Plan, fastest_bps
from fairlane.linux.record import REASONS

TRACED = struct.Struct("<QIHHHHBBB9x")
"""An event of the guest's trace: time, sequence, flow, host, length, waiting packets, kind, ECN field, reason."""
STARTED, DROPPED = 1, 2
"""Kinds of events: start of a packet's transmission, and drop of a packet. Arrivals are 0."""
BEFORE_FIRST = 0xFFFFFFFF
"""Sequence number of a SYN."""
MOST_EVENTS = 4_000_000
"""Maximum number of events, which use 128 of the guest's 512 MB of memory."""
INDEX_BITS = 20
"""Number of low bits that hold a flow's number in the simulator. The bits above them count its connections."""
PACKET = 6
"""Type of a pcapng block with a packet."""
_LOST = "lost on the wire"
_SECTION, _INTERFACE, _RAW = 0x0A0D0D0A, 1, 101
_SERVER, _FIRST_USER = IPv4Address("192.0.2.1").packed, 0x0A000001
_FIRST_USER_PORT, _FIRST_SERVER_PORT, _FLOWS_PER_SERVER_PORT = 50_000, 40_000, 10_000
_TCP, _UDP, _OPTIONS, _MOST_OPTIONS, _NOP = 6, 17, 12, 40, b"\1"
_SYN, _ACK, _WINDOW, _EXPEDITED, _OUTBOUND = 0x02, 0x10, 0xFFFF, 46 << 2, 2
_FEWEST_EVENTS, _SHORTEST_BYTES, _EVENTS_A_PACKET = 1 << 16, 64, 8


def event_count(scenario: str, made: Plan, link: int) -> int:
    """Number of events to reserve memory for: a multiple of the events on a link that is never idle."""
    run = json.loads(scenario)["run"]
    duration_s = sum(parsed(run[name], "s") or 0.0 for name in ("warmup", "measure"))
    shortest = max(_SHORTEST_BYTES, min(flow.payload for flow in made.flows))
    packets = fastest_bps(made.layout["links"][link]) * duration_s / 8 / shortest
    return min(MOST_EVENTS, _FEWEST_EVENTS + round(_EVENTS_A_PACKET * packets))


def capture(
    scenario: str, replication: int, made: Plan, link: int, trace: bytes, *, room: int, drops: bool, snaplen: int
) -> Iterator[bytes]:
    """The blocks of a capture of a link.

    Args:
        scenario: The canonical scenario.
        replication: Number of the run.
        made: Input of the guest.
        link: Number of the link.
        trace: The guest's `trace.bin`.
        room: Maximum number of events in `trace`.
        drops: Include dropped packets.
        snaplen: Bytes to keep of each packet; headers are always kept.

    Raises:
        UserError: The guest had no room for all events.
    """
    if len(trace) >= room * TRACED.size:
        raise UserError(f"pcap: the link has more than the {room} events that a guest has room for; shorten the run")
    table, about = json.loads(scenario), made.layout["links"][link]
    comment = f"scenario {table['name']}, seed {table['run']['seed']}, replication {replication}"
    section = _option(1, comment.encode()[-0xFFFF:]) + _option(4, f"fairlane {_fairlane.version()}".encode())
    yield _block(_SECTION, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1), section)
    interface = _option(2, _fairlane.links(scenario)[link].encode()[:0xFFFF])
    interface += _option(8, struct.pack(">Q", about["rate_bps"])) + _option(9, b"\x09")
    yield _block(_INTERFACE, struct.pack(">HHI", _RAW, 0, 0), interface)

    group_of = [table["groups"][user["group"]] for user in made.layout["users"]]
    connections: dict[int, int] = {}
    """The number of each flow's last connection."""
    begun: set[int] = set()
    """Flows whose last connection sent more than its SYN."""
    for time_ns, sequence, flow, _host, length, waiting, event, ecn, reason in TRACED.iter_unpack(trace):
        about_flow = made.flows[flow]
        is_tcp, is_syn = about_flow.kind == "tcp", sequence == BEFORE_FIRST
        if is_tcp and is_syn and flow in begun:
            begun.discard(flow)
            connections[flow] = connections.get(flow, 0) + 1
        elif is_tcp and not is_syn:
            begun.add(flow)
        if event != STARTED and not (event == DROPPED and drops):
            continue
        number = flow + (connections.get(flow, 0) << INDEX_BITS)
        class_bits = _EXPEDITED if group_of[about_flow.user]["traffic_class"] == "EF" else 0
        frame = _ip(_TCP if is_tcp else _UDP, about_flow.user, class_bits | ecn, length)
        frame += _tcp(frame, number, sequence, length - 20) if is_tcp else _udp(frame, number, length - 20)
        kept = frame + bytes(max(0, min(snaplen, length) - len(frame)))
        options = _option(2, struct.pack(">I", _OUTBOUND))
        if event == DROPPED:
            comment = f"dropped ({REASONS[reason]}), {waiting} packets waiting"
            options += _option(1, (_LOST if REASONS[reason] == "lost" else comment).encode())
        head = struct.pack(">5I", 0, time_ns >> 32, time_ns & 0xFFFFFFFF, len(kept), length)
        yield _block(PACKET, head + _padded(kept), options)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack(">HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes, options: bytes) -> bytes:
    length = 12 + len(body) + len(options) + 4
    return struct.pack(">II", kind, length) + body + options + bytes(4) + struct.pack(">I", length)


def _checksum(content: bytes) -> int:
    """Internet checksum (RFC 1071) of an even number of bytes that are not all zero."""
    return -int.from_bytes(content, "big") % 0xFFFF


def _ip(protocol: int, user: int, traffic_class: int, length: int) -> bytes:
    source = (_FIRST_USER + user).to_bytes(4, "big")
    fields = (0x45, traffic_class, length, 0, 0x4000, 64, protocol)
    checksum = _checksum(struct.pack(">BBHHHBBH", *fields, 0) + source + _SERVER)
    return struct.pack(">BBHHHBBH", *fields, checksum) + source + _SERVER


def _pseudo_header(ip: bytes, length: int) -> bytes:
    return ip[12:20] + struct.pack(">HH", ip[9], length)


def _ports(number: int) -> tuple[int, int]:
    server = _FIRST_SERVER_PORT + number // _FLOWS_PER_SERVER_PORT & 0xFFFF
    return _FIRST_USER_PORT + number % _FLOWS_PER_SERVER_PORT, server


def _tcp(ip: bytes, number: int, sequence: int, length: int) -> bytes:
    is_syn = sequence == BEFORE_FIRST
    options = _NOP * (min(length - 20, _MOST_OPTIONS if is_syn else _OPTIONS) // 4 * 4)
    flags = (20 + len(options)) // 4 << 12 | (_SYN if is_syn else _ACK)
    fields = (*_ports(number), sequence + 1 & 0xFFFFFFFF, 0 if is_syn else 1, flags, _WINDOW)
    head = struct.pack(">HHIIHH", *fields)
    checksum = _checksum(_pseudo_header(ip, length) + head + options)
    return head + struct.pack(">HH", checksum, 0) + options


def _udp(ip: bytes, number: int, length: int) -> bytes:
    head = struct.pack(">HHH", *_ports(number), length)
    checksum = _checksum(_pseudo_header(ip, length) + head)
    return head + struct.pack(">H", checksum or 0xFFFF)
