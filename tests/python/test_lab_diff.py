"""Tests `lab diff`: it reads both traces and finds the first packet that differs."""

import json
import struct
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

import fairlane
from fairlane import Scenario, cbr, group, tcp
from fairlane.base.errors import UserError
from fairlane.cli.lab import lab_commands
from fairlane.lab import difference as diff
from fairlane.lab.difference import DROPPED, STARTED, Packet, captured, difference, first_difference, in_order, traced
from fairlane.linux import guest

SCENARIO = Scenario(
    "small",
    group("a", tcp(), start_until="0.1 s"),
    group("b", cbr("1 Mbit/s"), start_until="0.1 s"),
    queue={"scheme": "droptail", "limit": "5 packets"},
    tcp={"profile": "linux"},
    run={"warmup": "1 s", "measure": "1 s", "replications": 1},
)
RECORD = struct.Struct("<QIHHHHBB10x")


def events(count: int) -> list[Packet]:
    return [Packet(number / 1000, STARTED, number % 2, 1448 * number) for number in range(count)]


def test_the_first_difference_is_in_event_flow_segment_or_time() -> None:
    one = events(10)
    assert first_difference(one, events(10), 1e-3) is None
    for change in ({"kind": DROPPED}, {"flow": 7}, {"byte": 5}, {"time_s": 0.0041 + 0.001}):
        other = events(10)
        other[4] = Packet(**{**vars(other[4]), **change})
        assert first_difference(one, other, 1e-3) == 4
    assert first_difference(one, [Packet(p.time_s + 9e-4, p.kind, p.flow, p.byte) for p in one], 1e-3) is None
    assert first_difference(one, events(6), 1e-3) == 6


def test_drops_of_one_moment_are_compared_in_the_order_of_their_numbers() -> None:
    batch = [Packet(0.5, DROPPED, 0, 1448 * number) for number in (4, 3, 2)]
    others = [Packet(0.4, STARTED, 1, 7), *batch, Packet(0.6, DROPPED, 0, 0)]
    assert [packet.byte for packet in in_order(others)] == [7, 2896, 4344, 5792, 0]


def test_a_trace_of_the_guest_has_its_events_without_arrivals_and_acks() -> None:
    records = [
        (1000, 0xFFFFFFFF, 0, 0, 60, 0, 1, 0),
        (2000, 0, 0, 0, 52, 0, 1, 0),
        (3000, 0, 0, 0, 1500, 1, 0, 0),
        (4000, 1448, 0, 0, 1500, 0, 1, 2),
        (5000, 17, 1, 1, 40, 3, 2, 0),
    ]
    content = b"".join(RECORD.pack(*record) for record in records)
    assert list(traced(content, ["tcp", "cbr"])) == [
        Packet(1e-6, STARTED, 0, -1),
        Packet(4e-6, STARTED, 0, 1448),
        Packet(5e-6, DROPPED, 1, None),
    ]


def test_a_capture_of_the_simulator_has_all_packets_of_a_link(tmp_path: Path) -> None:
    file = tmp_path / "link.pcapng"
    result = fairlane.run(SCENARIO.replace("run.warmup", "0 s"), pcap=file, pcap_drops=True)
    found = list(captured(file.read_bytes()))
    link = result.runs[0]["links"][0]
    dropped = sum(packet.kind == DROPPED for packet in found)
    assert dropped == sum(drops["packets"] for drops in link["drops"]) > 0
    # The last packet is still on the link, and the handshake's ACK has no payload.
    assert abs(len(found) - dropped + 1 - link["accounting"]["departed"]) <= 1
    assert {packet.flow for packet in found} == {0, 1}
    assert next(packet.byte for packet in found if packet.flow == 0) == -1
    assert {packet.byte for packet in found if packet.flow == 1} == {None}
    assert list(captured(file.read_bytes()[:-7])) == found[: len(list(captured(file.read_bytes()[:-7])))]


class Kernel:
    """A kernel whose trace equals the simulator's, except for one packet."""

    release = "6.12.0-fake"

    def __init__(self, packets: list[Packet]) -> None:
        # A segment, since datagrams have no sequence number.
        self.other = next(place for place, packet in enumerate(packets) if place >= 70 and packet.byte is not None)
        self.packets = [
            Packet(packet.time_s, packet.kind, packet.flow, 999_936 if place == self.other else packet.byte)
            for place, packet in enumerate(packets)
        ]

    def run(self, _kernel: Any, plan: Any, _stop: Event, files: tuple[str, ...]) -> guest.Output:
        assert files == ("trace.bin",)
        assert "trace 0 4296" in plan.text
        kinds = {STARTED: 1, DROPPED: 2}
        content = b"".join(
            RECORD.pack(
                round(1e9 * packet.time_s), (packet.byte or 0) % 2**32, packet.flow, 0, 1500, 0, kinds[packet.kind], 0
            )
            for packet in self.packets
        )
        return guest.Output({"release": self.release}, {"trace.bin": content}, 0.0)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    file = tmp_path / "all.pcapng"
    fairlane.run(SCENARIO, pcap=file, pcap_drops=True)
    made = Kernel(list(captured(file.read_bytes())))
    monkeypatch.setattr(diff, "find", lambda _: made)
    monkeypatch.setattr(guest, "run", made.run)
    return made


def test_both_traces_are_compared(kernel: Kernel) -> None:
    found = difference(SCENARIO, count=100)
    assert found.first == kernel.other
    shown = found.document()
    assert [row["number"] for row in shown["events"]] == list(range(kernel.other - 6, kernel.other + 10))
    assert (shown["compared"], shown["queue"], shown["link"]) == (100, "droptail", "bottleneck")
    row = shown["events"][6]
    assert row["simulator"]["time_s"] == pytest.approx(row["linux"]["time_s"], abs=1e-9)
    assert row["simulator"]["segment"] != row["linux"]["segment"]


def test_the_command_shows_them_side_by_side(kernel: Kernel, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO.to_toml())
    arguments = ["diff", str(file), "--count", "100"]
    done = CliRunner().invoke(lab_commands, arguments)
    assert f"of 100 packets: they part at packet {kernel.other}" in done.output
    assert f"> {kernel.other}" in done.output
    assert len(done.output.splitlines()) < 24
    assert json.loads(CliRunner().invoke(lab_commands, [*arguments, "--json"]).output)["first"] == kernel.other
    assert kernel.release in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"link": "nowhere"}, "--link: nowhere is not a link"),
        ({"queue": "drr"}, 'queue.scheme: "drr", sch_drr has a buffer'),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        difference(SCENARIO, **arguments)
