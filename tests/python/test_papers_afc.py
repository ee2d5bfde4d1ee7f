"""Tests the experiments of afc: data, scenarios, metrics, and statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, files, scenario_of, statistic
from fairlane.judge.grid import Row
from fairlane.judge.library import papers
from fairlane.papers.afc.metrics import METRICS, TRACES
from fairlane.papers.afc.scenarios import FOLDER
from fairlane.simulate.scenario import Scenario

PAPER = papers()["afc"]
EXPERIMENTS = PAPER.experiments


def table(experiment: str, **at: Any) -> dict[str, Any]:
    return scenario_of(f"afc.{experiment}", **at)


def test_base_has_the_defaults_of_the_claims() -> None:
    base = json.loads(Scenario.from_toml(FOLDER / "base.toml").canonical())
    defaults = EXPERIMENTS["afc.table1"].parameters
    assert base["topology"]["bottleneck_rate"] == f"{defaults['Cb_mbps']} Mbit/s"
    assert base["groups"][0]["users"] == defaults["n_tcp"]
    assert base["queue"]["limit"] == "300 packets"
    start, end = defaults["measured_s"]
    assert (base["run"]["warmup"], base["run"]["measure"]) == (f"{start} s", f"{end - start} s")
    assert base["run"]["replications"] == defaults["runs"] == EXPERIMENTS["afc.table1"].replications
    assert base["tcp"]["segment_payload"] + base["tcp"]["header_bytes"] == defaults["packet_B"]


def test_the_curves_of_fig3_come_from_the_runs_of_table1() -> None:
    at = {"n_udp": 1, "scheme": "choke"}
    assert table("fig3", **at) == table("table1", **at)
    assert table("fig3", n_udp=1, scheme="sfb") == table("table1", n_udp=1, scheme="sfb_1x")


def test_the_limit_of_sfb_is_that_of_all_unresponsive_flows_together() -> None:
    def limit(scheme: str, flows: int) -> str:
        return str(table("table1", scheme=scheme, n_udp=flows)["queue"]["penalty_rate"])

    # The limit is the fair rate per unresponsive flow: 5 Mbit/s / 101 = 49.505 kbit/s, and 5 * (5 Mbit/s / 105) =
    # 238.095 kbit/s.
    assert [limit("sfb_1x", flows) for flows in (1, 5)] == ["49.505 kbit/s", "238.095 kbit/s"]
    assert [limit(scheme, 1) for scheme in ("sfb_2x", "sfb_half")] == ["99.01 kbit/s", "24.752 kbit/s"]


def test_choke_adjusts_itself_for_several_unresponsive_flows() -> None:
    adjusting = [table("table1", scheme="choke", n_udp=flows)["queue"]["self_adjusting"] for flows in (1, 5)]
    assert adjusting == [False, True]


def test_the_three_flows_of_fig4_run_together() -> None:
    runs = [table("fig4", scheme="afc", packet_B=size) for size in (100, 500, 1000)]
    assert runs[0] == runs[1] == runs[2]
    sources = [group["sources"][0] for group in runs[0]["groups"][1:]]
    assert [(source["rate"], source["packet_size"]) for source in sources] == [
        ("1 Mbit/s", size) for size in ("100 B", "500 B", "1000 B")
    ]


def test_every_pair_of_delays_of_table2_has_as_many_flows() -> None:
    groups = table("table2", scheme="red")["groups"]
    assert [group["users"] for group in groups] == [8] * 25
    assert {(group["access_delay"], group["receiver_delay"]) for group in groups} == {
        (f"{source} ms", f"{sink} ms") for source in (1, 5, 10, 15, 20) for sink in (1, 5, 10, 15, 20)
    }


def test_web_sessions_and_bursts_are_as_told() -> None:
    web = table("fig5", scheme="afc", w=2500)
    assert (web["run"]["warmup"], web["run"]["measure"]) == ("50 s", "200 s")
    group = web["groups"][-1]
    assert (group["name"], group["start_until"]) == ("web", "250 s")
    assert group["users"] * group["sources"][0]["sessions"] == 2500
    assert (group["sources"][0]["size"], group["sources"][0]["shape"]) == ("14400 B", 1.2)
    assert [group["name"] for group in table("fig5", scheme="afc", w=0)["groups"]][-1] == "udp 5"
    bursts = table("table3", scheme="black", n_udp=15, peak_mbps=10)
    assert (len(bursts["groups"]), bursts["queue"]["cache"]) == (16, 20)
    assert bursts["topology"]["bottleneck_rate"] == "10 Mbit/s"
    source = bursts["groups"][-1]["sources"][0]
    assert (source["kind"], source["rate"], source["on"], source["off"]) == ("on_off", "10 Mbit/s", "500 ms", "500 ms")


def record(tcp_kbps: list[float], udp_kbps: Mapping[str, list[float]]) -> dict[str, Any]:
    """A record with these goodputs of TCP flows (including headers), and throughputs of UDP flows in seconds 1 to 3."""
    # 960 of 1000 bytes are payload.
    groups: list[dict[str, Any]] = [{"name": "tcp", "user_goodput_bps": [0.96 * rate * 1e3 for rate in tcp_kbps]}]
    series: list[dict[str, Any]] = [{"throughput_bps": [0.0] * 3}]
    for name, rates in udp_kbps.items():
        mean = 1e3 * sum(rates[1:]) / len(rates[1:])
        groups.append({"name": name, "throughput_bps": mean, "user_throughput_bps": [mean]})
        series.append({"throughput_bps": [rate * 1e3 for rate in rates]})
    return {"groups": groups, "window_s": [1.0, 3.0], "series": {"interval_s": 1.0, "groups": series}}


RUN = record([30.0, 10.0], {"udp 1": [999.0, 10.0, 30.0], "udp 2": [999.0, 60.0, 60.0]})
VALUES = {"n_udp": 2, "n_tcp": 2, "Cb_mbps": 0.2, "packet_B": 1000}


def test_metrics_of_a_run_by_hand() -> None:
    expected = {
        "udp_kbps": (20 + 60) / 2,
        "tcp_kbps": 20,
        "jain_tcp": 40**2 / (2 * (30**2 + 10**2)),
        "cbr_over_tcp": 2,
        "udp_total_share": 80 / 200,
        "tcp_over_fair": 20 / (200 / 4),
        # The standard deviation of 10 and 30 is sqrt(200) = 14.142, that of 60 and 60 is 0.
        "variation": (200**0.5 / 20 + 0) / 2,
        "deviation_kbps": (200**0.5 + 0) / 2,
    }
    for name, value in expected.items():
        assert METRICS[name](RUN, VALUES) == pytest.approx(value), name
    assert TRACES["udp_kbps"](RUN) == [10.0, 30.0]


def test_a_packet_size_picks_its_flow() -> None:
    values = {**VALUES, "sizes_B": [100, 1000]}
    assert METRICS["udp_kbps"](RUN, {**values, "packet_B": 100}) == 20
    assert METRICS["udp_kbps"](RUN, {**values, "packet_B": 1000}) == 60


def test_starved_flows_have_no_index_and_an_infinite_ratio() -> None:
    starved = record([0.0, 0.0], {"udp 1": [1.0, 0.0, 0.0]})
    assert METRICS["jain_tcp"](starved, VALUES) is None
    assert METRICS["cbr_over_tcp"](starved, {**VALUES, "n_udp": 1}) == float("inf")
    assert METRICS["variation"](starved, VALUES) is None
    assert METRICS["udp_kbps"](starved, {**VALUES, "n_udp": 0}) is None


def test_one_interval_has_no_swings() -> None:
    short = {**RUN, "window_s": [1.0, 2.0]}
    assert METRICS["variation"](short, VALUES) is None
    assert METRICS["deviation_kbps"](short, VALUES) is None
    assert TRACES["udp_kbps"](short) == []


def test_swings_are_told_for_the_number_of_flows_of_the_claim() -> None:
    rows = [
        Row({"scheme": "afc", "n_udp": flows}, {"variation": (0.1 * flows,), "deviation_kbps": (flows,)})
        for flows in (1, 5)
    ]
    for claim, value in (("afc_smooth", 0.1), ("choke_largest", 1), ("five_smooth", 0.5)):
        (row,) = statistic(f"afc.fig3.{claim}", {"afc.fig3": rows})
        assert row.samples["udp_kbps_interval"] == (value,)


def test_the_farthest_packet_size_counts() -> None:
    fair = 5000 / 103
    rows = [
        Row({"scheme": "afc", "packet_B": size}, {"udp_kbps": (part * fair, part * fair)})
        for size, part in ((100, 1.1), (500, 0.7), (1000, 1.2))
    ]
    (row,) = statistic("afc.fig4.afc_closest", {"afc.fig4": rows})
    assert row.samples["udp_kbps"] == pytest.approx((0.3,))


@pytest.mark.parametrize(
    ("experiment", "warmup"), [("fig3", 10), ("fig4", 10), pytest.param("fig5", 249, marks=pytest.mark.long)]
)
def test_a_tiny_run_is_judged_and_drawn(cli: Cli, workdir: Path, experiment: str, warmup: int) -> None:
    tiny = ["--set", f"run.warmup={warmup} s", "--set", "run.measure=3 s", "--replications", "1"]
    cli.output("reproduce", f"afc.{experiment}", "--quick", *tiny)
    figure = [f"{experiment}.{suffix}" for suffix in ("parquet", "png", "svg")]
    assert files(workdir / "results" / "afc") == ["claims.json", *figure]
