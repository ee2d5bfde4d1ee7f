"""Tests the experiments of afpft: data, scenarios and metrics, with a run of one experiment."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

import fairlane
from conftest import scenario_of, statistic
from fairlane.judge.grid import Row
from fairlane.judge.library import papers
from fairlane.papers.afpft.metrics import CLASSES, METRICS, averaged
from fairlane.papers.afpft.scenarios import FOLDER, WEB_USERS
from fairlane.papers.afpft.statistics import RTT_SHARE, rtt_share

PAPER = papers()["afpft"]
CLAIMS = tomllib.loads((FOLDER / "claims.toml").read_text())


def table(experiment: str, **at: Any) -> dict[str, Any]:
    return scenario_of(f"afpft.{experiment}", **at)


def test_every_experiment_and_claim_is_there() -> None:
    assert (len(PAPER.experiments), len(CLAIMS["claims"])) == (15, 83)
    assert {claim["experiment"] for claim in CLAIMS["claims"]} == PAPER.experiments.keys()


def test_base_is_table_ii() -> None:
    base = tomllib.loads((FOLDER / "base.toml").read_text())
    defaults = CLAIMS["defaults"]["afpft"]
    assert base["topology"]["bottleneck_rate"] == f"{defaults['Cb_mbps']} Mbit/s"
    assert base["topology"]["bottleneck_delay"] == f"{defaults['prop_ms']} ms"
    assert base["queue"]["limit"] == f"{defaults['buffer_kB']} kB"
    assert base["queue"]["flow_rate"] == f"{defaults['r_kbps']} kbit/s"
    assert base["groups"][0]["start_until"] == f"{defaults['flow_start_s']} s"
    assert PAPER.confidence == defaults["confidence"]
    fig3 = table("fig3", scheme="red")
    assert (fig3["run"]["warmup"], fig3["run"]["measure"]) == ("25 s", "25 s")


def test_thresholds_are_shares_of_the_buffer_in_its_own_unit() -> None:
    red, packets = table("fig3", scheme="red")["queue"], table("fig7", scheme="red")["queue"]
    assert (red["limit"], red["min_th"], red["max_th"]) == ("100 kB", "25000 B", "75000 B")
    assert (packets["limit"], packets["min_th"], packets["max_th"]) == ("500 packets", "125 packets", "375 packets")
    assert table("fig5a", scheme="csfq", R_udp_kbps=10)["queue"]["q_threshold"] == "50000 B"


def test_variants_are_what_they_are_called() -> None:
    assert not table("fig2", scheme="afpft_nocorr")["queue"]["correct_finish"]
    assert table("fig2", scheme="afpft")["queue"]["correct_finish"]
    default, tight = (table("fig7", scheme=f"csfq_{name}") for name in ("default", "tight"))
    assert [made["marker"]["rate_constant"] for made in (default, tight)] == ["100 ms", "20 ms"]
    assert [made["queue"]["window"] for made in (default, tight)] == ["200 ms", "40 ms"]
    weights = [table("fig8", scheme=f"fred_{name}")["queue"]["weight"] for name in ("default_wq", "wq_1_over_C")]
    assert weights == [0.002, 1 / 125_000]
    assert table("fig7", scheme="fred")["queue"]["weight"] == 0.002
    assert table("fig3", scheme="fred")["queue"]["weight"] == 1 / 125


def test_round_trip_times_are_those_of_the_paper() -> None:
    for group, rtt_ms in zip(table("fig7", scheme="red")["groups"], (20, 40, 80, 100), strict=True):
        one_way = 5 + sum(float(group[f"{end}_delay"].removesuffix(" ms")) for end in ("access", "receiver"))
        assert 2 * one_way == rtt_ms
        assert group["users"] == 25


def test_flow_0_crosses_every_link_and_ten_flows_cross_each() -> None:
    made = table("fig9b", scheme="afpft", L=3)
    assert (made["topology"]["kind"], made["topology"]["congested_links"]) == ("parking_lot", 3)
    assert made["topology"]["access_rate"] == "20 Mbit/s"
    assert [group["route"] for group in made["groups"]] == [[], ["link1"], ["link2"], ["link3"]]
    assert made["groups"][0]["sources"][0]["rate"] == "1 Mbit/s"
    assert sum(group["users"] for group in made["groups"][1:]) == 30
    assert table("fig9a", scheme="afpft", L=1)["groups"][0]["sources"][0]["kind"] == "tcp"


def mbps(group: dict[str, Any]) -> float:
    """Rate in Mbit/s of the first source of a group."""
    number, unit = group["sources"][0]["rate"].split()
    return float(number) / {"kbit/s": 1000, "Mbit/s": 1}[unit]


def test_offered_loads_are_those_that_the_paper_prints() -> None:
    # II-C: 25 Mb/s in total; III-B: i times the fair share of 0.3125 Mb/s; III-E: 25 sessions per second.
    groups = table("fig2", scheme="afpft")["groups"]
    assert sum(mbps(group) * group["users"] for group in groups) == 25
    rates = [mbps(group) for group in table("fig6", scheme="afpft")["groups"]]
    assert rates == pytest.approx([0.3125 * i for i in range(1, 33)])
    web = table("table3", scheme="red")
    assert WEB_USERS / float(web["groups"][0]["sources"][0]["interval"].split()[0]) == 25
    assert web["run"] == {"warmup": "0 s", "measure": "50 s", "replications": 30, "seed": 1}


def test_classes_of_transfer_times_are_the_defaults_of_the_probes() -> None:
    begins = table("table3", scheme="red")["probes"]["transfer_times"]
    seconds = [0.0, *(float(text.split()[0]) / (1000 if text.endswith("ms") else 1) for text in begins)]
    assert [float(name.removeprefix("<0.05").removeprefix(">=").split("-")[0] or 0) for name in CLASSES] == seconds


def test_numbers_of_a_whole_run_are_given_once() -> None:
    times = {"by_time": [{"share": 0.5}] * 6, "mean_s": 0.2, "completed": 7}
    record = {"groups": [{"transfer_times": times}], "links": [{"name": "bottleneck", "utilisation": 0.9}]}
    assert [METRICS["mean_s"](record, {"class": name}) for name in CLASSES[:2]] == [0.2, None]
    assert [METRICS["completed"](record, {"class": name}) for name in CLASSES[:2]] == [7.0, None]
    assert [METRICS["share_percent"](record, {"class": name}) for name in CLASSES[:2]] == [50.0, 50.0]
    assert [METRICS["utilisation"](record, {"group": group}) for group in (1, 2)] == [0.9, None]


def test_the_spread_is_over_all_tcp_flows() -> None:
    flows = {"tcp": {"flow_throughput_bps": [29e3, 31e3, 30e3]}}
    assert METRICS["tcp_spread_kbps"]({"groups": [{"tcp": None}, flows]}, {}) == 2.0
    assert METRICS["tcp_spread_kbps"]({"groups": [{"tcp": None}]}, {}) is None


def test_the_averaged_queue_is_that_of_its_recursion() -> None:
    # With RED's weight w = 1 - exp(-1/C), the average after C samples of a queue of 100 packets is 100 * (1 - 1/e)
    # packets. FRED takes two samples per packet.
    values = {"udp_packet_B": 1000, "Cb_mbps": 1000}
    red, fred = (averaged([100.0] * 1000, [125.0] * 1000, name, values) for name in ("red", "fred_wq_1_over_C"))
    assert red[-1] == pytest.approx(100 * (1 - math.exp(-1)), rel=1e-6)
    assert fred[-1] == pytest.approx(100 * (1 - math.exp(-2)), rel=1e-6)


def test_ratios_of_groups_are_taken_run_by_run() -> None:
    rates = {1: (20.0, 12.0), 2: (1.0, 1.0), 3: (1.0, 1.0), 4: (4.0, 6.0)}
    rows = [Row({"scheme": "red", "group": group}, {"tput_g_mbps": of_runs}) for group, of_runs in rates.items()]
    (row,) = statistic("afpft.fig7.afpft_best", {"afpft.fig7": rows})
    assert row.samples["tput_g_mbps"] == (5.0, 2.0)


def test_swings_are_told_apart_from_what_is_short() -> None:
    slow = tuple(100 + 50 * math.sin(index / 2000) for index in range(40_000))
    fast = tuple(100 + 50 * math.sin(index) for index in range(40_000))
    sent = ((125.0,) * 40_000,)
    rows = [
        Row({"scheme": name}, {}, {"queue_packets": (queue,), "sent_packets": sent})
        for name, queue in (("red_static", slow), ("fred_default_wq", fast))
    ]
    swings, variances = (
        [row.samples["avg_queue"] for row in statistic(f"afpft.fig8.{name}", {"afpft.fig8": rows})]
        for name in ("cycles", "default_sensitive")
    )
    assert swings[0] == (1.0,)
    (plain,), (quick,) = variances
    assert quick > 100 * plain


def test_share_by_round_trip_times_is_that_of_the_claim() -> None:
    # 25 x (1 + 1/2 + 1/4 + 1/5) = 48.75 flows of G1's rate share 1000 Mb/s.
    assert rtt_share(*RTT_SHARE) == pytest.approx(1000 / 48.75)


def test_fig2_is_reproduced_in_two_seconds(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workdir)
    settings = {"run.warmup": "6 s", "run.measure": "4 s"}
    made = fairlane.reproduce("afpft.fig2", settings=settings, replications=2)
    assert [verdict.verdict for verdict in made.verdicts] == ["reproduced"] * 3
    made.write(workdir / "out")
    assert (workdir / "out" / "fig2.png").exists()


def test_shares_of_the_text_come_from_the_simulator(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workdir)
    made = fairlane.reproduce("afpft.numbers")
    assert [verdict.verdict for verdict in made.verdicts] == ["reproduced", "reproduced"]


@pytest.mark.parametrize("name", [name for name, one in PAPER.experiments.items() if one.kind == "figure"])
def test_figures_are_drawn_whatever_their_claims_compare(
    name: str, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workdir)
    short = {"run.warmup": "4.9 s", "run.measure": "0.2 s"}
    reproduction = fairlane.reproduce(name, settings=short, replications=1)
    assert reproduction.figure(PAPER.experiments[name]).axes
