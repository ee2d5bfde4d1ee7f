"""`fairlane import` writes scenarios that run, from files of other tools."""

import gzip
import json
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli, files
from fairlane import Scenario, group, tcp
from fairlane.base.errors import UserError
from fairlane.cli.imports import import_commands
from fairlane.imports import rate_trace
from fairlane.imports.network import Node, delay_s
from fuzzer.imported import (
    CDF,
    FILES,
    FLOW_MONITOR,
    FLOWS,
    GML,
    GRAPHML,
    HPCC,
    IPERF3,
    IPERF3_UDP,
    MAHIMAHI,
    NATIVE,
    PACKETS,
    RATES,
    XML,
)
from test_full_disk import limited

SHORT = ["--set", "run.measure=40 ms", "--set", "run.warmup=0 s", "--replications", "1"]
FIBRE_KM_PER_S = 299_792.458 * 2 / 3
THREE_DEGREES_S = math.radians(3) * 6371.0088 / FIBRE_KM_PER_S
"""Delay of a link along 3 degrees of the equator or a meridian, 333.6 km: 1.669 ms."""


def imported(cli: Cli, workdir: Path, kind: str, content: str, *options: str) -> tuple[dict[str, Any], list[str]]:
    """The scenario of a file and the notes; the command also prints the scenario, if no file is named."""
    (workdir / "data").write_text(content)
    done = cli("import", kind, "data", "--out", "made.toml", *options)
    assert done.returncode == 0, done.stderr
    notes = [line.removeprefix("note: ") for line in done.stderr.splitlines()]
    then = "check" if kind in {"iperf3", "flent", "flow-monitor"} else "run"
    assert done.stdout.splitlines() == ["written: made.toml", f"next: fairlane {then} made.toml"]
    text = (workdir / "made.toml").read_text()
    assert [line.removeprefix("# ") for line in text.splitlines() if line.startswith("#")] == ["From data.", *notes]
    assert cli("import", kind, "data", *options).stdout == text
    return tomllib.loads(text), notes


def document(cli: Cli, *options: str) -> Any:
    return cli.document("run", "made.toml", *SHORT, *options)


def test_every_kind_of_file_is_tested() -> None:
    assert {f"import {name}" for name in import_commands.commands} == {*FILES, "import flent"}


@pytest.mark.parametrize(("kind", "content"), [(kind, one) for kind, some in FILES.items() for one in some])
def test_a_small_file_becomes_a_scenario_that_runs(cli: Cli, workdir: Path, kind: str, content: str) -> None:
    imported(cli, workdir, kind.split()[1], content)
    options = ["--replications", "1"] if content == FLOW_MONITOR else SHORT  # its second flow starts after 0.5 s
    result = cli.document("run", "made.toml", *options)
    assert sum(group["throughput_bps"]["mean"] for group in result["summary"]["groups"]) > 0


def test_a_table_of_rates_is_the_schedule_of_the_link(cli: Cli, workdir: Path) -> None:
    table, notes = imported(cli, workdir, "rate-trace", RATES)
    assert table["topology"]["bottleneck_rate"] == "5 Mbit/s"
    assert table["topology"]["bottleneck_schedule"] == [
        {"at": "200 ms", "rate": "8 Mbit/s"},
        {"at": "400 ms", "rate": "1 kbit/s"},
        {"at": "500 ms", "rate": "12 Mbit/s"},
    ]
    # The last rate lasts as long as the one before it, 0.1 s.
    assert table["run"]["measure"] == "600 ms"
    assert notes[1:] == [
        "Times count from the first line, 100 s.",
        "1 rate below 1 kbit/s, the lowest rate of a link, became 1 kbit/s.",
    ]


def test_a_trace_of_mahimahi_is_named(cli: Cli, workdir: Path) -> None:
    (workdir / "deep").mkdir()
    (workdir / "trace.up").write_text(MAHIMAHI)
    cli.output("import", "rate-trace", "trace.up", "--out", "deep/made.toml")
    made = tomllib.loads((workdir / "deep" / "made.toml").read_text())
    assert made["topology"] == {"bottleneck_trace": {"file": "../trace.up"}}
    canonical = cli.document("run", "deep/made.toml", "--replications", "1")["scenario"]
    assert canonical["topology"]["bottleneck_trace"]["gaps"] == "0 2 3 4"
    assert canonical["run"]["measure"] == "9 ms"


@given(
    st.lists(
        st.tuples(st.integers(1, 10**7), st.integers(1000, 10**10)),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from([("s,Mbit/s", 1e-6, 1e-6), ("us,kbit/s", 1.0, 1e-3), ("ms,bit/s", 1e-3, 1.0)]),
)
def test_reading_a_written_trace_gives_the_same_rates(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]], units: tuple[str, float, float]
) -> None:
    """Steps are gaps in microseconds and rates in bit/s; the file has its own units."""
    names, per_us, per_bps = units
    time_unit, rate_unit = names.split(",")
    file = tmp_path_factory.mktemp("trace") / "t.csv"
    at, lines, expected = 0, [f"time {time_unit},rate {rate_unit}"], []
    for gap_us, bps in steps:
        lines.append(f"{at * per_us!r},{bps * per_bps!r}")
        expected.append((at, bps))
        at += gap_us
    file.write_text("\n".join(lines))
    made = rate_trace.imported(file, named="t.csv", scheme="droptail", rtt_s=None, time_unit=None, rate_unit=None)
    topology = json.loads(made.scenario.canonical())["topology"]
    changes = [(0, topology["bottleneck_rate"])]
    changes += [(_us(step["at"]), step["rate"]) for step in topology["bottleneck_schedule"]]
    rates = {time_us: _bps(rate) for time_us, rate in changes}
    for time_us, bps in expected:
        assert rates[max(change for change in rates if change <= time_us)] == bps


def _us(text: str) -> int:
    number, unit = text.split()
    return round(float(number) * {"s": 1e6, "ms": 1e3, "us": 1.0}[unit])


def _bps(text: str) -> int:
    number, unit = text.split()
    return round(float(number) * {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1.0}[unit])


def test_flows_of_a_list_start_when_it_says_and_users_stay_users(cli: Cli, workdir: Path) -> None:
    table, notes = imported(cli, workdir, "flows", FLOWS, "--rate", "20 Mbit/s")
    assert notes == ["Numbers without a unit are time in s and size in B."]
    assert [one["name"] for one in table["groups"]] == ["alice", "bob"]
    transfers = [
        [(one["start_s"], one["bytes"]) for one in of_group["transfers"]]
        for of_group in document(cli)["runs"][0]["groups"]
    ]
    assert transfers == [[(0.01, 30_000), (0.03, 2000)], [(0.02, 9000), (0.02, 9000)]]


def test_a_flow_file_of_hpcc_ends_where_its_first_line_says(cli: Cli, workdir: Path) -> None:
    table, notes = imported(cli, workdir, "flows", HPCC, "--rate", "1 Gbit/s", "--rtt", "1 ms")
    assert [(one["name"], len(one["sources"])) for one in table["groups"]] == [("0", 2), ("1", 1)]
    assert table["groups"][0]["sources"][1] == {"kind": "tcp", "transfer": "5 kB", "start": "20 ms"}
    assert "The first line announces 3 flows; 1 more are not read, as in HPCC." in notes
    # 1 ms is twice the delay of the bottleneck, and access links are ten times as fast.
    assert table["topology"]["bottleneck_delay"] == "500 us"
    assert table["topology"]["access_rate"] == "10 Gbit/s"


@pytest.mark.parametrize(
    ("content", "options", "points"),
    [
        (CDF, [], None),
        (PACKETS, [], "1460:0 2920:0.5 14600:1"),
        (PACKETS, ["--unit", "1000 B"], "1000:0 2000:0.5 10000:1"),
        ("194.5\n100 0.25\n1000 1\n", [], "0:0 100:0.25 1000:1"),
    ],
    ids=["HPCC", "pFabric", "unit", "Homa"],
)
def test_a_distribution_is_read_or_converted(
    cli: Cli, workdir: Path, content: str, options: Sequence[str], points: str | None
) -> None:
    table, _ = imported(cli, workdir, "cdf", content, "--load", "40 %", *options)
    (source,) = table["groups"][0]["sources"]
    assert source["load"] == "40 %"
    assert source["cdf"] == {"file": "data", **({"points": points} if points else {})}
    canonical = document(cli)["scenario"]["groups"][0]["sources"][0]
    assert canonical["cdf"]["points"] == (points or "0:0 1000:0.5 3000:1")


@pytest.mark.parametrize("content", [GRAPHML, GML], ids=["GraphML", "GML"])
def test_a_topology_of_the_zoo_has_its_names_rates_and_distances(cli: Cli, workdir: Path, content: str) -> None:
    table, notes = imported(cli, workdir, "topology", content, "--rate", "40 Mbit/s")
    delay = f"{round(THREE_DEGREES_S * 1e9)} ns"
    assert [tuple(link.values()) for link in table["topology"]["links"]] == [
        ("Alpha-Beta", "5 Mbit/s", delay),
        ("Beta-Alpha", "5 Mbit/s", delay),
        ("Alpha-Beta#2", "10 Mbit/s", delay),
        ("Beta-Alpha#2", "10 Mbit/s", delay),
        ("Beta-Alpha#2#2", "40 Mbit/s", "5 ms"),
        ("Alpha#2-Beta", "40 Mbit/s", "5 ms"),
    ]
    # Of parallel links, routes take the faster one.
    assert {one["name"]: one["route"] for one in table["groups"]} == {
        "Alpha": ["Alpha-Beta#2", "Beta-Alpha#2#2"],
        "Beta": ["Beta-Alpha#2#2"],
        "Alpha#2": ["Alpha#2-Beta", "Beta-Alpha#2"],
    }
    assert "1 link without a rate: 40 Mbit/s; --rate sets another." in notes
    assert "1 link without coordinates of both ends: a delay of 5 ms." in notes


def test_native_text_and_xml_of_sndlib_are_the_same_network(cli: Cli, workdir: Path) -> None:
    table, notes = imported(cli, workdir, "topology", NATIVE)
    (workdir / "made.toml").unlink()
    assert imported(cli, workdir, "topology", XML) == (table, notes)
    delay = f"{round(THREE_DEGREES_S * 1e9)} ns"
    assert [tuple(link.values()) for link in table["topology"]["links"]] == [
        ("A-B", "20 Mbit/s", delay),
        ("B-A", "20 Mbit/s", delay),
        # The smallest module is installed.
        ("B-C", "155 Mbit/s", delay),
        ("C-B", "155 Mbit/s", delay),
    ]
    demands = [(one["name"], one["route"], one["sources"][0]["rate"]) for one in table["groups"]]
    # D2 is 2 routing units times 0.5.
    assert demands == [("D1", ["A-B", "B-C"], "2500 kbit/s"), ("D2", ["C-B", "B-A"], "1 Mbit/s")]
    assert "1 demand of zero, or of a node to itself, left out." in notes


def test_units_of_sndlib_come_from_an_option(cli: Cli, workdir: Path) -> None:
    table, _ = imported(cli, workdir, "topology", NATIVE, "--rate-unit", "Gbit/s")
    assert table["topology"]["links"][0]["rate"] == "20 Gbit/s"


def test_coordinates_in_pixels_give_no_delay_and_capacities_without_a_unit_are_mbit(cli: Cli, workdir: Path) -> None:
    pixels = XML.replace("geographical", "pixel").replace("<unit>MBITPERSEC</unit>", "")
    table, notes = imported(cli, workdir, "topology", pixels)
    assert {(link["delay"], link["rate"]) for link in table["topology"]["links"]} == {
        ("5 ms", "20 Mbit/s"),
        ("5 ms", "155 Mbit/s"),
    }
    assert "Capacities and demands have no unit: they are in Mbit/s; --rate-unit sets another." in notes
    (workdir / "made.toml").unlink()
    # Native text does not state the type of coordinates, but degrees end at 180.
    table, _ = imported(cli, workdir, "topology", NATIVE.replace("C ( 13.0 3.0 )", "C ( 450.0 3.0 )"))
    assert {link["delay"] for link in table["topology"]["links"]} == {"5 ms"}


def test_a_directed_graph_has_links_in_one_direction(cli: Cli, workdir: Path) -> None:
    table, _ = imported(cli, workdir, "topology", GRAPHML.replace('"undirected"', '"directed"'))
    assert [link["name"] for link in table["topology"]["links"]] == ["Alpha-Beta", "Alpha-Beta#2", "Beta-Alpha#2"]
    assert [one["name"] for one in table["groups"]] == ["Alpha", "Beta"]


def test_distances_are_great_circles() -> None:
    def between(*places: tuple[float, float]) -> float | None:
        return delay_s(*(Node("", place) for place in places))

    # A quarter of a circle over the pole, and half of one between antipodes.
    quarter = math.pi / 2 * 6371.0088 / FIBRE_KM_PER_S
    assert between((45, 0), (45, 180)) == pytest.approx(quarter)
    assert between((10, 20), (-10, -160)) == pytest.approx(2 * quarter)
    assert between((10, 20), (10, 20)) == 0
    assert delay_s(Node("", None), Node("", (0, 0))) is None


def test_a_result_of_iperf3_is_what_check_expects(cli: Cli, workdir: Path) -> None:
    table, _ = imported(cli, workdir, "iperf3", IPERF3, "--rate", "10 Mbit/s", "--tolerance", "15 %")
    assert table["groups"][0]["sources"] == [{"kind": "tcp", "flows": 2, "congestion_control": "bbr1"}]
    assert table["run"] == {"warmup": "1 s", "measure": "2 s", "replications": 5}
    # The lowest round-trip time is 20 ms.
    assert table["topology"]["bottleneck_delay"] == "10 ms"
    expected = {one["metric"]: (one["equals"], one["tolerance"]) for one in table["expect"]}
    # Jain's index of 4.9 and 4.7 is 9.6^2 / (2 (4.9^2 + 4.7^2)).
    assert expected == {
        "goodput_bps.iperf3": ("9.6 Mbit/s", "15 %"),
        "rtt_mean_s.iperf3": ("44 ms", "15 %"),
        "jain_index_flows": (round(9.6**2 / (2 * (4.9**2 + 4.7**2)), 6), 0.01),
    }
    verdicts = json.loads(cli("check", "made.toml", "--json").stdout)["scenarios"][0]["expectations"]
    assert [one["metric"] for one in verdicts] == list(expected)
    assert verdicts[0]["verdict"] == "held"


def test_datagrams_of_iperf3_have_their_headers(cli: Cli, workdir: Path) -> None:
    table, notes = imported(cli, workdir, "iperf3", IPERF3_UDP)
    # 1470 bytes of payload are 1500 on the wire: 12 Mbit/s * 1500/1470.
    assert table["groups"][0]["sources"] == [{"kind": "cbr", "rate": "12244898 bit/s", "packet_size": "1500 B"}]
    # 400 of 2000 are lost.
    assert [(one["metric"], one["equals"]) for one in table["expect"]] == [
        ("goodput_bps.iperf3", "9.6 Mbit/s"),
        ("lost_share.iperf3", 0.2),
    ]
    assert notes[1].startswith("Its rate is not known: 9795918 bit/s")  # 9.6 Mbit/s * 1500/1470


def test_streams_of_the_other_direction_are_left_out(cli: Cli, workdir: Path) -> None:
    back = IPERF3.replace('"mean_rtt": 45000, "sender": true', '"mean_rtt": 45000, "sender": false')
    table, notes = imported(cli, workdir, "iperf3", back)
    assert table["expect"][0]["equals"] == "4.9 Mbit/s"
    assert "The streams from server to client are not taken over: a scenario has one direction." in notes


def test_a_result_of_flow_monitor_is_what_check_expects(cli: Cli, workdir: Path) -> None:
    table, notes = imported(cli, workdir, "flow-monitor", FLOW_MONITOR, "--rtt", "20 ms")
    assert "1 TCP flow of ACKs left out." in notes
    first, second = table["groups"]
    assert (first["name"], first["sources"]) == ("flow1", [{"kind": "tcp"}])
    # 101 packets of 1000 + 2 bytes from 1.5 s to 2 s have gaps of 5 ms; the first packet of all is at 1 s.
    assert second["sources"] == [{"kind": "cbr", "rate": "1603200 bit/s", "packet_size": "1002 B", "stop": "1 s"}]
    assert (second["name"], second["start_from"], second["start_until"]) == ("flow3", "500 ms", "500 ms")
    # The window has 2 s.
    assert {one["metric"]: one["equals"] for one in table["expect"]} == {
        "throughput_bps.flow1": f"{1_497_000 * 8 / 2 / 1e6:.6g} Mbit/s",
        "one_way_delay_mean_s.flow1": f"{25_000 / 998:.6g} ms",
        "lost_share.flow1": 0.002,
        "throughput_bps.flow3": f"{101_000 * 8 / 2 / 1e6:.6g} Mbit/s",
        "one_way_delay_mean_s.flow3": f"{1000 / 101:.6g} ms",
        "lost_share.flow3": 0.0,
    }
    verdicts = json.loads(cli("check", "made.toml", "--json").stdout)["scenarios"][0]["expectations"]
    assert len(verdicts) == 6


def flent(**results: list[float | None]) -> bytes:
    metadata = {"LENGTH": 2, "STEP_SIZE": 0.2, "SERIES_META": {"TCP upload::1": {"CONGESTION_CONTROL": "reno"}}}
    return gzip.compress(json.dumps({"version": 4, "metadata": metadata, "x_values": [], "results": results}).encode())


def test_a_result_of_flent_is_what_check_expects(cli: Cli, workdir: Path) -> None:
    results: dict[str, list[float | None]] = {
        "TCP upload::1": [None, 4.0, 6.0],
        "TCP upload::2": [4.0, 4.0, 4.0],
        "TCP upload sum": [4.0, 8.0, 10.0],
        "TCP download::1": [1.0],
        "Ping (ms) ICMP": [20.0, 30.0, 40.0],
        "cpu": [1.0],
    }
    (workdir / "x.flent.gz").write_bytes(flent(**results))
    done = cli("import", "flent", "x.flent.gz", "--out", "made.toml")
    table = tomllib.loads((workdir / "made.toml").read_text())
    assert [(one["name"], one["sources"]) for one in table["groups"]] == [
        ("upload 1", [{"kind": "tcp", "congestion_control": "reno"}]),
        ("upload 2", [{"kind": "tcp"}]),
        # 84 bytes every 0.2 s
        ("ping", [{"kind": "cbr", "rate": "3360 bit/s", "packet_size": "84 B"}]),
    ]
    # The shortest ping is the round-trip time without queues; the mean of 30 ms has 10 ms for the reverse path.
    assert table["topology"]["bottleneck_delay"] == "10 ms"
    assert [(one["metric"], one["equals"]) for one in table["expect"]] == [
        ("goodput_bps.upload 1", "5 Mbit/s"),
        ("goodput_bps.upload 2", "4 Mbit/s"),
        ("one_way_delay_mean_s.ping", "20 ms"),
    ]
    notes = done.stderr.splitlines()
    assert "note: 1 downloads are not taken over: a scenario has one direction." in notes
    assert "note: Series that are not taken over: cpu." in notes
    checked = json.loads(cli("check", "made.toml", "--json").stdout)
    assert len(checked["scenarios"][0]["expectations"]) == 3


def test_what_the_store_exports_for_flent_is_read_back(cli: Cli, workdir: Path) -> None:
    long = Scenario(
        "long",
        group("a", tcp(), start_until="0 s"),
        queue="droptail",
        run={"warmup": "0 s", "measure": "3 s", "replications": 2},
        probes={"series_interval": "100 ms"},
    )
    (workdir / "long.toml").write_text(long.to_toml())
    (workdir / "sweep.toml").write_text('scenario = "long.toml"\nreplications = 1\n')
    cli.output("sweep", "sweep.toml", "--store", "store")
    cli.output("store", "export", "--store", "store", "--out", "flent", "--format", "flent")
    (file,) = (workdir / "flent").glob("*.flent.gz")
    cli.output("import", "flent", file, "--out", "made.toml", "--rate", "10 Mbit/s", "--rtt", "10200 us")
    checked = json.loads(cli("check", "made.toml", "--json").stdout)["scenarios"][0]["expectations"]
    # The file has rates on the wire, which are 1500/1448 of the goodput.
    assert checked[0]["metric"] == "goodput_bps.upload a"
    assert checked[0]["verdict"] == "held"


@pytest.mark.parametrize(
    ("kind", "content", "problem"),
    [
        ("rate-trace", "0,1 Mbit/s\n1,x\n", "line 2: 'x' is not a rate such as 10 Mbit/s, the rate of column 2"),
        ("rate-trace", "0,5\n0,6\n", "line 2: time 0 s is out of range, it must be after the line before, 0 s"),
        (
            "rate-trace",
            "time,rate_mbps\n0,5\n",
            "line 1: 'rate_mbps': 'mbps' is not a unit such as bit/s; --rate-unit states the unit",
        ),
        ("rate-trace", "time,colour\n0,5\n", "line 1: the header has no column rate"),
        ("rate-trace", "", "is empty, a line has time, rate"),
        ("rate-trace", "5\n3\n", 'line 2: "3" is out of range, it must be from the line before, 5, up'),
        ("flows", "0.1,5 kB,a\n0.2,0,b\n", "line 2: size 0 is out of range, it must be at least 1 byte"),
        ("flows", "0.1\n", "line 1: '0.1' is not the number of flows, a whole number from 1 up"),
        ("flows", "2\n0 1 3 100 5 0\n", "line 1: 2 flows are announced, but 1 follow"),
        ("flows", "1\n0 1 3 5 0\n", "line 2: '0 1 3 5 0' is not src dst pg dport size start, six numbers"),
        (
            "cdf",
            "0 0\n\n5 60\n6 50\n",
            "line 4: share 50 is out of range, it must be at least the one before, 60: a CDF never falls",
        ),
        ("cdf", "1 1 0\nx 1 1\n", "line 2: 'x' is not a size, a number of packets"),
        ("cdf", "1 1 0\n1 1\n", "line 2: '1 1' does not have the columns of the lines before: two or three numbers"),
        ("topology", "<a>\n<b>\n</a>", "line 3: not XML: mismatched tag"),
        ("topology", "<a/>", "line 1: <a> is neither <graphml> nor <network> of SNDlib"),
        ("topology", "graph [\n  node [\n    id x\n", "line 4: neither GML nor GraphML: "),
        ("topology", NATIVE.replace("L2 ( B C )", "L2 ( B D )"), "line 14: 'D' is not a node"),
        ("topology", NATIVE.replace("L2 ( B C ) 0.00", "L2 ( B C ) x"), "line 14: 'x' is not a number, in "),
        ("topology", NATIVE.replace("D1 ( A C ) 1 2.50", "D1 ( A C )"), "line 17: 'UNLIMITED' is not a number, in "),
        ("topology", XML.replace("<source>A</source><target>B", "<target>B"), "line 11: <link> has no source"),
        (
            "topology",
            XML.replace(">20.0<", ">much<"),
            "line 12: capacity 'much' of <preInstalledModule> is not a number",
        ),
        ("iperf3", '{"error": "unable to connect"}', "iperf3 failed: unable to connect"),
        ("iperf3", '{"start":\n}', "line 2: not JSON: Expecting value"),
        ("iperf3", "{}", "start: missing, so the file is not a result of iperf3 --json"),
        (
            "iperf3",
            IPERF3.replace("4900000", '"fast"'),
            "end.streams[0].receiver.bits_per_second: 'fast' is not a number from 0 up",
        ),
        ("flent", "no gzip", "not a .flent.gz file: "),
        ("flow-monitor", "<FlowStats/>", "line 1: <FlowStats> is not <FlowMonitor>"),
        ("flow-monitor", FLOW_MONITOR.replace('txBytes="1500000" ', ""), "line 4: <Flow> has no txBytes"),
        (
            "flow-monitor",
            FLOW_MONITOR.replace('protocol="17"', 'protocol="1"'),
            "line 19: protocol 1 is neither 6 (TCP) nor",
        ),
    ],
)
def test_bad_data_are_one_line_with_file_line_and_reason(
    cli: Cli, workdir: Path, kind: str, content: str, problem: str
) -> None:
    (workdir / "data").write_text(content)
    before = files(workdir)
    assert cli.error("import", kind, "data", "--out", "made.toml").startswith(f"data: {problem}")
    assert files(workdir) == before


def test_a_full_disk_leaves_no_file(cli: Cli, workdir: Path) -> None:
    (workdir / "data").write_text(FLOWS)
    before = files(workdir)
    done = cli("import", "flows", "data", "--out", "new/made.toml", before=limited(0))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --out: cannot write to new/made.toml: File too large\n"
    assert files(workdir) == before


def test_bytes_that_are_no_text_are_named_by_their_line(cli: Cli, workdir: Path) -> None:
    (workdir / "data").write_bytes(b"0,5\n\xff,6\n")
    assert cli.error("import", "rate-trace", "data") == "data: line 2: not UTF-8 text"


@pytest.mark.parametrize("kind", import_commands.commands)
def test_a_missing_file_and_an_existing_output_are_refused(cli: Cli, workdir: Path, kind: str) -> None:
    assert cli.error("import", kind, "none") == "none: No such file or directory"
    (workdir / "mine.toml").write_text("mine")
    assert cli.error("import", kind, "none", "--out", "mine.toml") == "mine.toml: exists already and is not overwritten"
    assert (workdir / "mine.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (["flows", "--rate", "10"], ["--rate", "10 Mbit/s"]),
        (["flows", "--rtt", "0 s"], ["--rtt", "0 s"]),
        (["cdf", "--load", "much"], ["--load", "much", "10 %"]),
        (["flows", "--scheme", "abd"], ["abd"]),
        (["rate-trace", "--time-unit", "day"], ["--time-unit", "day"]),
        (["iperf3", "--out", "/proc/x/y.toml"], ["--out", "/proc"]),
    ],
)
def test_options_are_checked(cli: Cli, workdir: Path, arguments: list[str], mentions: list[str]) -> None:
    (workdir / "data").write_text(FLOWS)
    kind, *options = arguments
    cli.refuses(["import", kind, "data", *options], mentions)


def test_without_networkx_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from fairlane.imports import topology

    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(UserError, match=r"pip install 'fairlane\[import\]'"):
        topology.imported(tmp_path / "x", scheme="droptail", rate_bps=None, rate_unit=None)
