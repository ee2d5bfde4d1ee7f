"""Tests captures and samples of the plane `linux` with a script instead of a kernel."""

import shutil
from pathlib import Path

import polars as pl
import pytest

import fairlane
from conftest import execute
from fairlane import Scenario, group, poisson, tcp
from fairlane.base.errors import UserError
from fairlane.lab import difference
from fairlane.linux import capture, plan
from fairlane.linux.plan import Extra
from linux_fake import RECORDED, Fake, scenario


def test_a_trace_and_samples_are_asked_for() -> None:
    lines = plan.made(scenario().canonical(), 0, Extra(trace=(0, 500), info_ns=1000)).text.splitlines()
    assert lines[-2:] == ["trace 0 500", "info 1000"]


EVENTS = [
    # time, sequence, flow, host, length, waiting, kind, ECN, reason
    (1_000_000, capture.BEFORE_FIRST, 0, 0, 60, 0, 0, 0, 0),
    (1_000_000, capture.BEFORE_FIRST, 0, 0, 60, 0, capture.STARTED, 0, 0),
    (2_000_000, 0, 0, 0, 1500, 0, capture.STARTED, 2, 0),
    (3_000_001, 7, 1, 1, 1500, 5, capture.STARTED, 0, 0),
    (4_000_000, 1448, 0, 0, 1500, 9, capture.DROPPED, 2, 1),
    (5_000_000, 2896, 0, 0, 200, 9, capture.STARTED, 3, 0),
    (6_000_000, capture.BEFORE_FIRST, 0, 0, 60, 0, capture.STARTED, 0, 0),
    (6_500_000, 0, 0, 0, 52, 0, capture.STARTED, 0, 0),
    (7_000_000, 0, 0, 0, 1500, 0, capture.STARTED, 2, 0),
]


def traces(fake: Fake, events: list[tuple[int, ...]]) -> bytes:
    """The trace of these events, which the script writes from now on."""
    content = b"".join(capture.TRACED.pack(*event) for event in events)
    fake.linux.with_name("events").write_bytes(content)
    writes = 'Path("trace.bin").write_bytes(Path(__file__).with_name("events").read_bytes())'
    fake.linux.write_text(fake.linux.read_text().replace("MODE =", f"{writes}\nMODE =", 1))
    return content


@pytest.mark.parametrize(("drops", "snaplen"), [(True, 0), (False, 65_535)])
def test_a_capture_has_the_traced_packets(fake: Fake, tmp_path: Path, drops: bool, snaplen: int) -> None:
    content = traces(fake, EVENTS)
    both = scenario(group("a", tcp(transfer="3 kB", repeat=2)), group("b", poisson("1 Mbit/s"), traffic_class="EF"))
    file = tmp_path / "a.pcapng"
    fairlane.run(both, plane="linux", pcap=file, pcap_drops=drops, pcap_snaplen=snaplen, link="bottleneck")
    expected = [one for one in difference.traced(content, ["tcp", "cbr"]) if drops or one.kind == difference.STARTED]
    assert list(difference.captured(file.read_bytes())) == expected
    assert (b"dropped (overlimit), 9 packets waiting" in file.read_bytes()) == drops
    assert (file.stat().st_size > 3 * 1500) == (snaplen > 0)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (Debian: tshark)")
def test_tshark_accepts_the_capture_of_a_kernel(fake: Fake, tmp_path: Path) -> None:
    traces(fake, EVENTS)
    both = scenario(group("a", tcp(transfer="3 kB", repeat=2)), group("b", poisson("1 Mbit/s"), traffic_class="EF"))
    # Whole packets: tshark sees every checksum, and each is good.
    fairlane.run(both, plane="linux", pcap=tmp_path / "a.pcapng", pcap_drops=True, pcap_snaplen=65_535)
    checks = [word for one in ("ip", "tcp", "udp") for word in ("-o", f"{one}.check_checksum:TRUE")]
    names = ["frame.time_epoch", "ip.src", "ip.dsfield", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.len"]
    names += ["udp.length", "frame.comment", "tcp.checksum.status", "udp.checksum.status"]
    fields = [word for name in names for word in ("-e", name)]
    done = execute("tshark", "-r", tmp_path / "a.pcapng", *checks, "-T", "fields", *fields, "-E", "separator=|")
    assert done.stdout.splitlines() == [
        # Sequence numbers begin at 0 with the SYN. Headers take 52 of the 1500 bytes of a segment, and all bytes of a
        # SYN.
        "0.001000000|10.0.0.1|0x00|50000|40000|0|0|||1|",
        "0.002000000|10.0.0.1|0x02|50000|40000|1|1448|||1|",
        "0.003000001|10.0.0.2|0xb8|||||1480|||1",
        "0.004000000|10.0.0.1|0x02|50000|40000|1449|1448||dropped (overlimit), 9 packets waiting|1|",
        "0.005000000|10.0.0.1|0x03|50000|40000|2897|148|||1|",
        # The second connection of the flow has the number 2^20 = 104 * 10000 + 8576.
        "0.006000000|10.0.0.1|0x00|58576|40104|0|0|||1|",
        "0.006500000|10.0.0.1|0x00|58576|40104|1|0|||1|",
        "0.007000000|10.0.0.1|0x02|58576|40104|1|1448|||1|",
    ]


def test_a_capture_with_more_events_than_the_guest_keeps_is_refused(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces(fake, EVENTS)
    monkeypatch.setattr(capture, "MOST_EVENTS", len(EVENTS))
    with pytest.raises(UserError, match=r"^pcap: the link has more than the 9 events"):
        fairlane.run(scenario(group("a", tcp(flows=2))), plane="linux", pcap=tmp_path / "a.pcapng")
    assert not (tmp_path / "a.pcapng").exists()


def test_the_table_of_senders_has_the_recorded_samples(fake: Fake, tmp_path: Path) -> None:
    writes = f'Path("info.csv").write_bytes(Path({str(RECORDED / "info.csv")!r}).read_bytes())'
    script = fake.linux.read_text().replace("MODE =", f"{writes}\nMODE =", 1)
    fake.linux.write_text(script)
    of_recorded = Scenario.from_toml(RECORDED / "scenario.toml")
    fairlane.run(of_recorded, plane="linux", trace=tmp_path / "t", store=tmp_path / "store")
    found = pl.read_parquet(tmp_path / "t" / "tcp.parquet")
    samples = pl.read_csv(RECORDED / "info.csv", schema_overrides={"pacing_Bps": pl.UInt64})
    assert found.height == samples.height
    assert found["cwnd_bytes"].to_list() == [1448 * cwnd for cwnd in samples["cwnd"]]
    assert set(found["group"]) == {"a", "b"}
    assert set(found["state"]) <= {"syn_sent", "open", "disorder", "cwr", "recovery", "loss"}
    assert {"state", "srtt_s", "in_flight_bytes", "pacing_rate_bps"} <= set(found.columns)
    assert found.row(-1, named=True)["srtt_s"] == pytest.approx(samples.row(-1, named=True)["srtt_us"] / 1e6)
