"""Tests recordings of a replication: tshark accepts captures, tables agree with the run, and results do not change."""

import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairlane
from conftest import Cli, ended, execute, files, wait_until
from fairlane import Scenario, UserError, group, poisson, tcp

tshark_needed = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (Debian: tshark)")

TIMES = {"warmup": "0 s", "measure": "3 s", "replications": 2}
Rows = list[list[str]]


def lossy(**settings: str | int | bool) -> Scenario:
    """Two traffic classes, with TCP and UDP, and losses in both classes."""
    scenario = Scenario(
        "lossy",
        group("heavy", tcp(flows=5), start_until="0.5 s"),
        group("light", poisson(rate="3 Mbit/s"), tcp(), users=2, traffic_class="EF", start_until="0.5 s"),
        queue="abc",
        run=TIMES,
    )
    return changed(scenario, settings)


def lossless(**settings: str | int | bool) -> Scenario:
    """Finite transfers with a buffer that never fills; the last segments are short."""
    scenario = Scenario(
        "lossless",
        group("one", tcp(flows=3, transfer="200000 B"), users=2, start_until="1 s"),
        queue={"scheme": "droptail", "limit": "10000 packets"},
        run=TIMES,
    )
    return changed(scenario, settings)


def changed(scenario: Scenario, settings: dict[str, str | int | bool]) -> Scenario:
    """The scenario with changed keys. In the names of keys, `__` stands for a dot."""
    for key, value in settings.items():
        scenario = scenario.replace(key.replace("__", "."), value)
    return scenario


def tshark(file: Path, *arguments: str) -> Rows:
    """Lines of tshark's output, split at tabs; any complaint fails the test."""
    checks = ("ip.check_checksum", "tcp.check_checksum", "udp.check_checksum")
    done = execute("tshark", "-r", file, *(word for check in checks for word in ("-o", f"{check}:TRUE")), *arguments)
    complaints = [line for line in done.stderr.splitlines() if "Running as user" not in line]
    assert (done.returncode, complaints) == (0, [])
    return [line.split("\t") for line in done.stdout.splitlines()]


def packets(file: Path, *names: str, where: str = "ip") -> Rows:
    """The named fields of every packet."""
    return tshark(file, "-Y", where, "-T", "fields", *(word for name in names for word in ("-e", name)))


def captured(folder: Path, scenario: Scenario, **options: Any) -> tuple[Path, dict[str, Any]]:
    """The capture of a scenario's first run, and its record."""
    file = folder / "a.pcapng"
    return file, fairlane.run(scenario, pcap=file, **options).runs[0]


def assert_sound(file: Path, *more: str) -> None:
    """Checks that there are no malformed packets, bad checksums or errors, nor packets of `more` filters."""
    bad = ["_ws.malformed", *(f"{protocol}.checksum.status == 0" for protocol in ("ip", "tcp", "udp"))]
    bad += ["_ws.expert.severity >= error", *more]
    assert packets(file, "frame.number", "_ws.expert.message", where=" || ".join(f"({one})" for one in bad)) == []


def test_watching_changes_no_record(tmp_path: Path) -> None:
    plain = fairlane.run(lossy())
    watched = fairlane.run(
        lossy(), pcap=tmp_path / "a.pcapng", pcap_drops=True, trace=tmp_path / "t", trace_interval="0 s", watched=1
    )
    assert watched.runs == plain.runs


@tshark_needed
@pytest.mark.parametrize(
    ("settings", "snaplen"),
    [
        pytest.param({}, 0, id="headers"),
        pytest.param({}, 65_535, id="whole packets"),
        pytest.param({"tcp__header_bytes": 52, "tcp__syn_bytes": 60}, 65_535, id="sizes of Linux"),
        pytest.param({"tcp__header_bytes": 40, "tcp__syn_bytes": 40}, 65_535, id="no options"),
        pytest.param({"tcp__profile": "linux", "tcp__ecn": True}, 65_535, id="Linux"),
        pytest.param({"tcp__profile": "ns2"}, 65_535, id="ns-2"),
        pytest.param({"tcp__header_bytes": 78, "tcp__syn_bytes": 86}, 65_535, id="sizes of Ethernet"),
        pytest.param({"queue__scheme": "droptail", "queue__scheduler": "strict"}, 0, id="priorities"),
    ],
)
def test_tshark_accepts_a_capture(tmp_path: Path, settings: dict[str, str | int | bool], snaplen: int) -> None:
    file, _ = captured(tmp_path, lossy(run__replications=1, **settings), pcap_snaplen=snaplen)
    # With complete packets, tshark verifies every checksum.
    unverified = [f"{protocol} && !({protocol}.checksum.status == 1)" for protocol in ("tcp", "udp")]
    assert_sound(file, *(unverified if snaplen else []))


@tshark_needed
def test_tshark_counts_what_the_simulator_counts(tmp_path: Path) -> None:
    file, run = captured(tmp_path, lossy(run__replications=1))
    both_ways = packets(file, "ip.src", "ip.dst", "frame.len")
    sent = [(source, length) for source, target, length in both_ways if target == "192.0.2.1"]
    assert len(sent) == run["links"][0]["accounting"]["departed"]
    rates = [rate for users in run["groups"] for rate in users["user_throughput_bps"]]
    conversations = tshark(file, "-q", "-z", "conv,ip")
    for user, rate in enumerate(rates):
        address = f"10.0.0.{user + 1}"
        frames = [int(length) for source, length in sent if source == address]
        # Without warm-up, the measurement is the whole run of 3 s.
        assert sum(frames) * 8 / 3 == pytest.approx(rate, rel=1e-12)
        words = [row[0].split() for row in conversations]
        (line,) = [line for line in words if line[:1] and line[0] in (address, "192.0.2.1") and address in line]
        total = len([ends for *ends, _ in both_ways if address in ends])
        assert str(len(frames)) in line
        assert str(total) in line
    # Retransmissions that passed the bottleneck are a subset of the sent ones.
    retransmitted = packets(file, "frame.number", where="tcp.analysis.retransmission")
    assert 0 < len(retransmitted) <= sum(users["tcp"]["retransmissions"] for users in run["groups"])


@tshark_needed
@pytest.mark.parametrize("header", [54, 40])
def test_tshark_finds_nothing_odd_without_losses(tmp_path: Path, header: int) -> None:
    file, run = captured(tmp_path, lossless(tcp__header_bytes=header, tcp__syn_bytes=header + 8))
    assert run["links"][0]["accounting"]["dropped"] == 0
    assert_sound(file, "tcp.analysis.flags")
    # Six transfers, each with its handshake; all bytes are sent once and acknowledged.
    streams: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for stream, flags, length, ack in packets(file, "tcp.stream", "tcp.flags", "tcp.len", "tcp.ack"):
        streams[stream].append((flags[-2:], int(length), int(ack)))
    assert len(streams) == 6
    for stream in streams.values():
        assert [flags for flags, _, _ in stream[:3]] == ["02", "12", "10"]
        assert sum(length for _, length, _ in stream) == 200_000
        assert max(ack for _, _, ack in stream) == 200_001


@tshark_needed
def test_round_trip_times_are_those_of_the_topology(tmp_path: Path) -> None:
    file, _ = captured(tmp_path, lossless(run__replications=1))
    handshakes = packets(file, "tcp.time_relative", where="tcp.flags == 0x012")
    # SYN and SYN-ACK have 60 bytes each and travel over 10 Mbit/s with 5 ms in each direction.
    assert min(float(time) for (time,) in handshakes) == pytest.approx(2 * (60 * 8 / 10e6 + 5e-3), abs=1e-9)
    # An echoed timestamp was sent before by the other end of the same stream.
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    stamps = ("tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr")
    for stream, source, target, value, echo in packets(file, "tcp.stream", "ip.src", "ip.dst", *stamps, where="tcp"):
        assert echo == "0" or echo in values[stream, target]
        values[stream, source].add(value)


@tshark_needed
def test_classes_and_windows_are_in_the_headers(tmp_path: Path) -> None:
    file, _ = captured(tmp_path, lossy(run__replications=1))
    found = packets(file, "ip.src", "ip.dst", "ip.dsfield.dscp", "tcp.flags.syn", "tcp.window_size")
    assert all((code == "46") != ("10.0.0.1" in ends) for *ends, code, _, _ in found)
    windows = {window for *_, syn, window in found if syn in ("0", "False")}
    # Acknowledgements have the window that the receiver offers, which grows.
    assert len(windows) > 10


@tshark_needed
def test_selective_acknowledgements_are_in_the_headers(tmp_path: Path) -> None:
    file, _ = captured(tmp_path, lossy(run__replications=1, tcp__profile="linux"))
    assert packets(file, "frame.number", where="tcp.flags.syn == 1 && !(tcp.options.sack_perm)") == []
    blocks = packets(file, "tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re", where="tcp.options.sack_le")
    assert len(blocks) > 100
    for ack, lefts, rights in blocks:
        for left, right in zip(lefts.split(","), rights.split(","), strict=True):
            assert int(ack) < int(left) < int(right)
            assert (int(left) - 1) % 1448 == (int(right) - 1) % 1448 == 0
    # Without link layer, packets have the same length as in the simulator.
    assert packets(file, "frame.number", where="tcp && frame.len != ip.len") == []


@tshark_needed
def test_packets_of_ecn_flows_are_marked_as_capable(tmp_path: Path) -> None:
    file, run = captured(tmp_path, lossy(run__replications=1, tcp__ecn=True))
    fresh = packets(file, "ip.dsfield.ecn", where="tcp.len > 0 && !(tcp.analysis.retransmission)")
    assert ["2"] in fresh
    # A marked packet may still wait at the end of the run.
    assert len(packets(file, "frame.number", where="ip.dsfield.ecn == 3")) <= run["links"][0]["marks"]
    assert packets(file, "frame.number", where="(udp || ip.src == 192.0.2.1) && ip.dsfield.ecn != 0") == []


@tshark_needed
def test_dropped_packets_carry_a_comment(tmp_path: Path) -> None:
    file, run = captured(tmp_path, lossy(run__replications=1), pcap_drops=True)
    comments = [comment for (comment,) in packets(file, "frame.comment", where="frame.comment")]
    dropped = {drops["reason"]: drops["packets"] for drops in run["links"][0]["drops"]}
    assert len([comment for comment in comments if comment.startswith("dropped (aqm), ")]) == dropped["aqm"] > 0
    assert len(comments) == sum(dropped.values())


def test_tables_have_columns_units_and_identity(tmp_path: Path) -> None:
    result = fairlane.run(lossy(), trace=tmp_path, watched=1)
    assert files(tmp_path) == ["queue.parquet", "tcp.parquet"]
    senders, queue = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("tcp", "queue"))
    assert senders.columns == [
        "scenario", "queue", "seed", "replication", "time_s", "group", "user", "flow", "state", "cwnd_bytes",
        "ssthresh_bytes", "in_flight_bytes", "srtt_s", "rto_s",
    ]  # fmt: skip
    assert queue.columns[4:] == ["time_s", "link", "queue_packets", "queue_bytes"]
    units = json.loads(pl.read_parquet_metadata(tmp_path / "tcp.parquet")["fairlane.units"])
    assert units["srtt_s"] == "s"
    assert units["cwnd_bytes"] == "bytes"
    assert queue["time_s"].to_list() == pytest.approx([number / 100 for number in range(301)])
    assert set(senders["state"]) <= {"syn_sent", "open", "disorder", "recovery", "loss"}
    owners = senders.select("flow", "group", "user").unique().sort("flow").rows()
    assert owners == [*((flow, "heavy", 0) for flow in range(5)), (5, "light", 0), (6, "light", 1)]
    # These frames can be joined with the others.
    joined = senders.join(result.users_frame(), on=["scenario", "queue", "seed", "replication", "group", "user"])
    assert joined.height == senders.height


def test_every_change_of_the_queue_gives_its_mean(tmp_path: Path) -> None:
    result = fairlane.run(lossy(run__replications=1), trace=tmp_path, trace_interval="0 s")
    queue = pl.read_parquet(tmp_path / "queue.parquet")
    spans = queue["time_s"].shift(-1, fill_value=3.0) - queue["time_s"]
    mean = (spans * queue["queue_packets"]).sum() / 3
    assert mean == pytest.approx(result.runs[0]["links"][0]["queue"]["mean_packets"], abs=1e-9)


def test_a_long_table_is_joined_from_its_chunks(tmp_path: Path) -> None:
    fairlane.run(lossy(run__replications=1), trace=tmp_path, trace_interval="10 us")
    assert files(tmp_path) == ["queue.parquet", "tcp.parquet"]
    queue = pl.read_parquet(tmp_path / "queue.parquet")
    assert queue.height == 300_001
    assert queue["time_s"].is_sorted()
    assert "fairlane.units" in pl.read_parquet_metadata(tmp_path / "queue.parquet")


def test_the_command_writes_both(cli: Cli, workdir: Path) -> None:
    watch = ["--pcap", "new/a.pcapng", "--trace", "new", "--pcap-replication", "2", "--trace-interval", "0.1 s"]
    watched = cli.document("run", "short.toml", *watch)
    assert files(workdir / "new") == ["a.pcapng", "queue.parquet", "tcp.parquet"]
    assert pl.read_parquet(workdir / "new" / "queue.parquet")["replication"].unique().to_list() == [2]
    assert watched["runs"] == cli.document("run", "short.toml")["runs"]


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        pytest.param(["--pcap", "."], ["--pcap", "not a file"], id="capture is a folder"),
        pytest.param(["--pcap", "short.toml/a"], ["--pcap", "short.toml"], id="capture below a file"),
        pytest.param(["--pcap", "/dev/null"], ["--pcap", "/dev/null"], id="capture is a device"),
        pytest.param(["--pcap", "/proc/a.pcapng"], ["--pcap", "/proc"], id="capture not writable"),
        pytest.param(["--pcap", "a", "--pcap-replication", "3"], ["--pcap-replication", "3", "2"], id="replication"),
        pytest.param(["--pcap", "a", "--set", "tcp.syn_bytes=39"], ["syn_bytes", "39", "40"], id="no room"),
        pytest.param(["--trace", "short.toml"], ["--trace", "short.toml"], id="tables into a file"),
        pytest.param(
            ["--trace", "t", "--trace-interval", "10"], ["--trace-interval", "10"], id="interval without unit"
        ),
        pytest.param(["--trace", "t", "--trace-interval", "1 ps"], ["--trace-interval", "1 ps", "rows"], id="too many"),
        pytest.param(
            ["--pcap", "new/a", "--trace", "t", "--trace-interval", "x"], ["--trace-interval"], id="no interval"
        ),
    ],
)
def test_what_cannot_be_watched_is_refused(cli: Cli, workdir: Path, arguments: list[str], mentions: list[str]) -> None:
    cli.refuses(["run", "short.toml", *arguments], mentions)
    assert [path.name for path in workdir.iterdir()] == ["short.toml"]


def test_control_c_leaves_nothing(cli: Cli, workdir: Path) -> None:
    process = cli.start("run", "short.toml", "--set", "run.measure=100000 s", "--pcap", "new/a.pcapng", "--trace", "t")
    wait_until(lambda: list(workdir.glob("new/.a.pcapng.*")))
    assert ended(process) == "interrupted: 0 of 3 runs finished, nothing to keep"
    assert [path.name for path in workdir.iterdir()] == ["short.toml"]


def test_a_capture_takes_the_place_of_an_old_one(workdir: Path) -> None:
    file, link = workdir / "a.pcapng", workdir / "link"
    file.write_text("old")
    link.symlink_to(file)
    fairlane.run(workdir / "short.toml", pcap=link, replications=1)
    assert link.is_symlink()
    assert file.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    with pytest.raises(UserError, match="pcap-replication"):
        fairlane.run(workdir / "short.toml", pcap=file, replications=1, watched=1)
