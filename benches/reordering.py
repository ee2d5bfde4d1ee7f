"""Counts packets that later packets of the same TCP flow overtake at the bottleneck.

A packet was overtaken if its TCP timestamp is earlier than that of a packet of its flow that left before.
Retransmissions have later timestamps, so they don't count. `fairlane run --pcap` captures the first run, which lasts 20
s after a warm-up of 10 s.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from .harness import Report, bench

ENHANCED_PACKET = 6
TIMESTAMPS = 8
LENGTH = ("run.warmup=10 s", "run.measure=20 s")


def packets(file: Path) -> Iterator[bytes]:
    """The packets of a pcapng file."""
    data, at = file.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from(">II", data, at)
        if kind == ENHANCED_PACKET:
            (captured,) = struct.unpack_from(">I", data, at + 20)
            yield data[at + 28 : at + 28 + captured]
        at += length


def sent(packet: bytes) -> tuple[bytes, tuple[int, int]] | None:
    """Returns the flow, timestamp and sequence number of a TCP packet."""
    header = packet[20:]
    options, at = header[20 : (header[12] >> 4) * 4], 0
    while at < len(options) and options[at]:
        if options[at] == TIMESTAMPS:
            (sequence,), (stamp,) = struct.unpack_from(">I", header, 4), struct.unpack_from(">I", options, at + 2)
            return packet[12:20] + header[:4], (stamp, sequence)
        at += options[at + 1] if options[at] > 1 else 1
    return None


@bench("reordering")
@click.argument("scenario")
@click.argument("queues", nargs=-1, required=True, metavar="QUEUE...")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a key of the scenario.")
def main(report: Report, scenario: str, queues: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Runs the scenario with each queue and counts."""
    rows = []
    for queue in queues:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.pcapng"
            changes = [word for change in (*LENGTH, f"queue.scheme={queue}", *settings) for word in ("--set", change)]
            command = ["run", scenario, *changes, "--replications", "1", "--store", folder, "--pcap", str(file)]
            subprocess.run([Path(sys.executable).parent / "fairlane", *command], stdout=subprocess.PIPE, check=True)
            latest: dict[bytes, tuple[int, int]] = {}
            seen = late = 0
            for flow, when in filter(None, map(sent, packets(file))):
                seen += 1
                late += when < latest.get(flow, when)
                latest[flow] = max(when, latest.get(flow, when))
        rows.append([queue, late, seen, late / seen])
    report.table({"queue": "", "overtaken": "{}", "packets": "{}", "share": "{:.2%}"}, rows)
