"""Logs of senders satisfy the drafts and qvis, and agree with the run's counters."""

import itertools
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import fairlane
from conftest import SHORT_SCENARIO, Cli, files
from fairlane import Scenario, UserError, group, poisson, tcp, web

Json = dict[str, Any]
TIMES = {"warmup": "0 s", "measure": "3 s", "seed": 4}  # No SYN is lost, which would cost a flow a second.


def lossy(profile: str, /, **settings: Any) -> Scenario:
    """Two senders with a buffer that is too small."""
    return Scenario(
        "lossy",
        group("one", tcp(**settings), start_until="0.1 s"),
        group("two", tcp(), users=2, start_until="0.1 s"),
        queue={"scheme": "droptail", "limit": "20 packets"},
        topology={"bottleneck_rate": "6 Mbit/s"},
        tcp={"profile": profile},
        run=TIMES,
    )


def contained(file: Path) -> list[tuple[str, list[Json]]]:
    """Traces of a `.qlog` file: name, and events with the names of the current drafts."""
    log = json.loads(file.read_text(encoding="utf-8"))
    names = {"transport": "quic:", "recovery": "quic:recovery_"}
    same = {"quic:recovery_packet_lost", "quic:recovery_congestion_state_updated"}
    traces = []
    for trace in log["traces"]:
        for event in trace["events"]:
            space, _, name = event["name"].partition(":")
            new = names[space] + name
            event["name"] = new.replace("recovery_", "") if new in same else new
        traces.append((trace["common_fields"]["group_id"], trace["events"]))
    return traces


def sequence(file: Path) -> tuple[Json, list[Json]]:
    """Header and events of a sequence."""
    records = file.read_bytes().split(b"\x1e")
    assert records[0] == b""
    assert all(record.endswith(b"\n") for record in records[1:])
    header, *events = map(json.loads, records[1:])
    return header, events


def logged(folder: Path, scenario: Scenario, **options: Any) -> list[tuple[str, list[Json]]]:
    fairlane.run(scenario, qlog=folder / "run.qlog", **options)
    return contained(folder / "run.qlog")


def structure(**members: Any) -> Json:
    """A closed map of CDDL; members whose names end in an underscore are optional."""
    required = [name for name in members if not name.endswith("_")]
    properties = {name.rstrip("_"): of for name, of in members.items()}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def choice(*values: str) -> Json:
    return {"enum": list(values)}


UINT, NUMBER, TEXT = {"type": "integer", "minimum": 0}, {"type": "number", "minimum": 0}, {"type": "string"}
RAW = structure(length_=UINT, payload_length_=UINT)
# Definitions of PacketHeader, AckFrame, StreamFrame and the events from sections 4 to 8 of
# draft-ietf-quic-qlog-quic-events-13. In version -01 of the draft, a StreamFrame must have `length` (A.7.8).
HEADER = structure(packet_type=choice("initial", "1RTT"), packet_number_=UINT)
ACK = structure(
    frame_type={"const": "ack"},
    acked_ranges_={
        "type": "array",
        "minItems": 1,
        "items": {"type": "array", "minItems": 1, "maxItems": 2, "items": UINT},
    },
    ce_=UINT,
)
STREAM_01 = structure(frame_type={"const": "stream"}, stream_id=UINT, offset=UINT, length=UINT)
STREAM_13 = structure(frame_type={"const": "stream"}, stream_id=UINT, offset_=UINT, raw_=RAW)
METRICS = (
    *("min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance", "pto_count", "congestion_window", "bytes_in_flight"),
    *("ssthresh", "packets_in_flight", "pacing_rate"),
)
RTTS = {"min_rtt", "smoothed_rtt", "latest_rtt"}


def data(stream: Json) -> dict[str, Json]:
    """Data of each event."""
    frames = {"type": "array", "items": {"anyOf": [ACK, stream]}}
    resent = choice("retransmit_reordered", "retransmit_timeout", "pto_probe")
    metrics = {f"{name}_": NUMBER if name in RTTS else UINT for name in METRICS}
    return {
        "quic:packet_sent": structure(header=HEADER, frames_=frames, raw_=RAW, trigger_=resent),
        "quic:packet_received": structure(header=HEADER, frames_=frames, raw_=RAW),
        "quic:packet_lost": structure(
            header_=HEADER, trigger_=choice("reordering_threshold", "time_threshold", "pto_expired")
        ),
        "quic:recovery_metrics_updated": {**structure(**metrics), "minProperties": 1},
        "quic:congestion_state_updated": structure(old_=TEXT, new=TEXT),
        # It may have unspecified fields: the name of the congestion control.
        "quic:recovery_parameters_set": structure(
            reordering_threshold_=UINT,
            timer_granularity=UINT,
            max_datagram_size_=UINT,
            initial_congestion_window_=UINT,
            congestion_control_=TEXT,
        ),
    }


def assert_events_are_valid(events: list[Json], stream: Json) -> None:
    known = {name: jsonschema.Draft202012Validator(schema) for name, schema in data(stream).items()}
    for event in events:
        assert set(event) - {"group_id"} == {"time", "name", "data"}
        known[event["name"]].validate(event["data"])
    assert {event["name"] for event in events} == set(known)
    assert all(before["time"] <= after["time"] for before, after in itertools.pairwise(events))


def test_a_log_changes_no_record(tmp_path: Path) -> None:
    plain = fairlane.run(SHORT_SCENARIO, replications=1)
    for name in ("a.qlog", "a.sqlog"):
        assert fairlane.run(SHORT_SCENARIO, replications=1, qlog=tmp_path / name).runs == plain.runs


def test_a_contained_log_is_as_qvis_loads_it(tmp_path: Path) -> None:
    traces = logged(tmp_path, lossy("linux"))
    text = (tmp_path / "run.qlog").read_text(encoding="utf-8")
    # FileLoader.ts searches both in the first 1024 characters, and QlogLoaderV2.ts requires this version.
    assert all(words in text[:1024] for words in ('"qlog_version":"0.3"', '"qlog_format":"JSON"'))
    log = json.loads(text)
    assert log["title"] == "lossy"
    for trace, (whose, _) in zip(log["traces"], traces, strict=True):
        assert trace["title"] == whose
        assert trace["vantage_point"]["type"] == "client"
        assert trace["common_fields"] == {"group_id": whose, "time_format": "relative", "reference_time": 0}
        # The congestion graph and the sequence diagram use these.
        names = {event["name"] for event in trace["events"]}
        assert {
            "transport:packet_sent",
            "transport:packet_received",
            "recovery:packet_lost",
            "recovery:metrics_updated",
        } <= names
    for _, events in traces:
        assert_events_are_valid(events, STREAM_01)
        sent = {number(event) for event in events if event["name"] == "quic:packet_sent"}
        assert all(event["data"]["raw"]["length"] > 0 for event in events if "raw" in event["data"])
        acked = [(kind, packet) for kind, packet, _ in acknowledged(events)]
        lost = [number(event) for event in events if event["name"] == "quic:packet_lost"]
        assert set(acked) | set(lost) <= sent
        assert len(set(acked)) == len(acked)


def test_a_sequence_is_as_the_drafts_have_it(tmp_path: Path) -> None:
    fairlane.run(lossy("linux"), qlog=tmp_path / "run.sqlog")
    header, events = sequence(tmp_path / "run.sqlog")
    first = (tmp_path / "run.sqlog").read_text(encoding="utf-8")[:256]
    assert "urn:ietf:params:qlog:file:sequential" in first
    assert "application/qlog+json-seq" in first
    trace = header["trace"]
    assert trace["event_schemas"] == ["urn:ietf:params:qlog:events:quic-13"]
    assert trace["common_fields"]["reference_time"] == {"clock_type": "monotonic", "epoch": "unknown"}
    assert_events_are_valid(events, STREAM_13)
    by_group = defaultdict(list)
    for event in events:
        by_group[event.pop("group_id")].append(event)
    # The same as in the other format, except for the length of a frame.
    traces = dict(logged(tmp_path, lossy("linux")))
    assert by_group.keys() == traces.keys()
    for whose, of_group in by_group.items():
        assert [(event["time"], event["name"]) for event in of_group] == [
            (event["time"], event["name"]) for event in traces[whose]
        ]


def number(event: Json) -> tuple[str, int]:
    header = event["data"]["header"]
    return header["packet_type"], header["packet_number"]


def acknowledged(events: list[Json]) -> Iterator[tuple[str, int, float]]:
    """Acknowledged packets in the order of the ACKs: type, number, time."""
    for event in events:
        if event["name"] == "quic:packet_received":
            for frame in event["data"]["frames"]:
                for run in frame.get("acked_ranges", []):
                    for packet in range(run[0], run[-1] + 1):
                        yield event["data"]["header"]["packet_type"], packet, event["time"]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"congestion_control": "bbr1"},
        {"congestion_control": "prague", "ecn": True},
        {"profile": "quic"},
        {"tlp": False},
    ],
    ids=str,
)
def test_payload_sent_is_acknowledged_lost_or_in_flight(tmp_path: Path, settings: Json) -> None:
    sent = [events for _, events in logged(tmp_path, lossy("linux", **settings)) if any(map(is_data, events))]
    assert len(sent) >= 2  # one of three flows may send nothing, since a lost SYN costs a second
    for events in sent:
        mss = min(event["data"]["raw"]["payload_length"] for event in events if is_data(event))
        offset_of: dict[int, int] = {}
        in_flight: dict[int, set[int]] = defaultdict(set)  # packets by segment
        fates: dict[int, str] = {}
        losses, checks = 0, 0
        for event in events:
            if is_data(event):
                _, packet = number(event)
                offset_of[packet] = event["data"]["frames"][0]["offset"]
                in_flight[offset_of[packet]].add(packet)
                assert event["data"]["raw"]["payload_length"] == mss  # flows are endless, so all segments are full
            elif event["name"] == "quic:packet_lost":
                _, packet = number(event)
                assert fates.setdefault(packet, "lost") == "lost"
                in_flight[offset_of[packet]].remove(packet)
                losses += 1
            elif event["name"] == "quic:packet_received":
                for kind, packet, _ in acknowledged([event]):
                    if kind == "1RTT":
                        fates[packet] = "acked"  # possibly after it was considered lost
                        in_flight[offset_of[packet]].discard(packet)
            elif (told := event["data"].get("bytes_in_flight")) is not None:
                assert told == mss * sum(bool(packets) for packets in in_flight.values())
                checks += 1
        left = {packet for packets in in_flight.values() for packet in packets}
        assert left | fates.keys() == offset_of.keys()
        assert not left & fates.keys()
        assert losses > 0 or settings.get("congestion_control") == "prague"
        assert checks > 0


def is_data(event: Json) -> bool:
    return event["name"] == "quic:packet_sent" and number(event)[0] == "1RTT"


@pytest.mark.parametrize("profile", ["linux", "ns3.26", "ns3"])
def test_metrics_are_those_of_the_trace(tmp_path: Path, profile: str) -> None:
    result = fairlane.run(lossy(profile), qlog=tmp_path / "run.qlog", trace=tmp_path / "t", trace_interval="0 s")
    rows = pl.read_parquet(tmp_path / "t" / "tcp.parquet")
    for flow, (whose, events) in enumerate(contained(tmp_path / "run.qlog")):
        assert whose.endswith(f"flow {flow}")
        times, states, state = [], [], {}
        for event in events:
            if event["name"] == "quic:recovery_metrics_updated":
                state = state | event["data"]
                times.append(event["time"])
                states.append(state)
        of_flow = rows.filter(pl.col("flow") == flow)
        assert of_flow.height > 10
        last = {row["time_s"]: row for row in of_flow.iter_rows(named=True)}  # the last row of each time
        for time_s, row in last.items():
            known = states[bisect_right(times, 1e3 * time_s + 1e-6) - 1]
            assert known["congestion_window"] == row["cwnd_bytes"]
            assert known["ssthresh"] == row["ssthresh_bytes"]
            assert known["bytes_in_flight"] == row["in_flight_bytes"]
            if row["srtt_s"] is not None:
                assert known["smoothed_rtt"] == pytest.approx(1e3 * row["srtt_s"], abs=1e-5)
        sent = sum(is_data(event) for event in events)
        again = sum("trigger" in event["data"] for event in events if is_data(event))
        distinct = len({event["data"]["frames"][0]["offset"] for event in events if is_data(event)})
        assert sent - distinct == again > 0
    assert result.runs[0]["groups"][0]["tcp"]["retransmissions"] > 0


def test_an_acknowledged_packet_took_a_round_trip(tmp_path: Path) -> None:
    ((_, events),) = logged(tmp_path, lossy("linux"), qlog_flows=[0])
    sent = {number(event): event["time"] for event in events if event["name"] == "quic:packet_sent"}
    rtts = [time - sent[kind, packet] for kind, packet, time in acknowledged(events)]
    least = [event["data"]["min_rtt"] for event in events if "min_rtt" in event["data"]]
    assert min(rtts) == pytest.approx(min(least), abs=1e-5)
    assert min(least) == least[-1]
    assert len(least) == len(set(least))  # unchanged values are not logged


def test_accurate_ecn_counts_marks(tmp_path: Path) -> None:
    scenario = lossy("linux", congestion_control="prague", ecn=True)
    scenario = scenario.replace("queue", {"scheme": "dualpi2", "limit": "60 packets"})
    ((_, events),) = logged(tmp_path, scenario, qlog_flows=[0])
    frames = [frame for event in events for frame in event["data"].get("frames", []) if "ce" in frame]
    marks = [frame["ce"] for frame in frames]
    assert marks == sorted(marks)
    assert marks[-1] > 0


def test_flows_are_chosen_by_number(tmp_path: Path) -> None:
    assert [whose for whose, _ in logged(tmp_path, lossy("linux"))] == [
        "one 0, flow 0",
        "two 0, flow 1",
        "two 1, flow 2",
    ]
    assert [whose for whose, _ in logged(tmp_path, lossy("linux"), qlog_flows=[2, 0])] == [
        "one 0, flow 0",
        "two 1, flow 2",
    ]


def test_each_connection_of_a_place_has_a_trace(tmp_path: Path) -> None:
    scenario = Scenario(
        "again", group("one", tcp(transfer="20 kB", repeat=3, pause="10 ms"), start_until="0 s"), queue="abc", run=TIMES
    )
    traces = logged(tmp_path, scenario)
    assert [whose for whose, _ in traces] == [
        "one 0, flow 0",
        "one 0, flow 0, connection 2",
        "one 0, flow 0, connection 3",
    ]
    for _, events in traces:
        payload = {event["data"]["frames"][0]["offset"]: event["data"]["raw"] for event in events if is_data(event)}
        assert sum(raw["payload_length"] for raw in payload.values()) == 20_000
        assert number(events[1]) == ("initial", 0)


def test_a_place_that_is_free_is_no_connection(tmp_path: Path) -> None:
    source = web(interval="0.4 s", objects=1, size="15 kB")
    traces = logged(tmp_path, Scenario("web", group("one", source, start_until="0 s"), queue="abc", run=TIMES))
    assert len(traces) > 1
    for _, events in traces:
        assert any(map(is_data, events))
    # Connections of a flow are numbered without gaps.
    names = [whose.partition(", connection ")[2] for whose, _ in traces if whose.startswith("one 0, flow 0")]
    assert names == ["", *map(str, range(2, len(names) + 1))]


def test_the_same_run_gives_the_same_log(tmp_path: Path) -> None:
    for name in ("a.qlog", "b.qlog"):
        fairlane.run(lossy("linux"), qlog=tmp_path / name, threads=2)
    assert (tmp_path / "a.qlog").read_bytes() == (tmp_path / "b.qlog").read_bytes()
    assert files(tmp_path) == ["a.qlog", "b.qlog"]


def test_mistakes_are_one_line(cli: Cli, workdir: Path) -> None:
    run = ["run", "short.toml"]
    (workdir / "udp.toml").write_text(
        Scenario("udp", group("one", poisson("1 Mbit/s"), start_until="0 s"), queue="abc", run=TIMES).to_toml()
    )
    for arguments, mention in [
        ([*run, "--qlog", "run.json"], "--qlog: run.json must end in .qlog"),
        ([*run, "--qlog", "short.toml/run.qlog"], "/short.toml: Not a directory"),
        ([*run, "--qlog", "run.qlog", "--qlog-flows", "99"], "--qlog-flows: 99 is out of range, it must be from 0 to "),
        ([*run, "--qlog", "run.qlog", "--qlog-flows", "one"], "--qlog-flows: 'one' is not a flow number"),
        ([*run, "--qlog", "run.qlog", "--qlog-flows", "0,0"], "--qlog-flows: 0,0 given; name each flow once"),
        ([*run, "--qlog-flows", "0"], "--qlog-flows: has no effect without --qlog"),
        (["run", "udp.toml", "--qlog", "run.qlog"], "qlog: has no effect, the scenario has no TCP source"),
    ]:
        cli.refuses(arguments, [mention])
    assert not list(workdir.glob("*qlog*"))


def test_a_number_of_a_flow_is_a_number(tmp_path: Path) -> None:
    for flows, mention in ((["0"], "qlog_flows: "), ([-1], "qlog_flows: "), ([], "qlog_flows: nothing given")):
        with pytest.raises(UserError, match=mention):
            fairlane.run(SHORT_SCENARIO, qlog=tmp_path / "run.qlog", qlog_flows=flows)  # type: ignore[arg-type]


def test_a_folder_that_is_not_there_is_made_as_that_of_a_capture_or_a_result_is(cli: Cli, workdir: Path) -> None:
    written = ["--qlog", "a/b/run.qlog", "--pcap", "c/d/run.pcapng", "--out", "e/f"]
    cli.output("run", "short.toml", "--replications", "1", *written)
    assert all((workdir / name).exists() for name in ("a/b/run.qlog", "c/d/run.pcapng", "e/f/result.json"))
