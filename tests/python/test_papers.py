import json
import tomllib
from pathlib import Path

import pytest

import fairlane
from conftest import QUICK, SETTINGS, SHORTEST, Cli, files, scenario_of, statistic
from fairlane.judge.grid import Row
from fairlane.papers.abc2018.metrics import METRICS
from fairlane.papers.abc2018.scenarios import FOLDER, KEYS
from fairlane.simulate.scenario import Scenario


def test_base_has_the_defaults_of_the_claims() -> None:
    defaults = tomllib.loads((FOLDER / "claims.toml").read_text())["defaults"]["abc2018"]
    base = Scenario.from_toml(FOLDER / "base.toml")
    changed = base
    for name, (key, text) in KEYS.items():
        if name in defaults and not isinstance(defaults[name], list):
            changed = changed.replace(key, defaults[name] if text is None else text.format(defaults[name]))
    assert json.loads(changed.canonical()) == json.loads(base.canonical())
    groups = base.to_dict()["groups"]
    assert [group["users"] for group in groups] == [defaults["u0"], defaults["u1"]]
    assert [group["sources"][0]["flows"] for group in groups] == [defaults["f0"], defaults["f1"]]


def test_scenarios_have_what_the_experiment_says() -> None:
    table = scenario_of("abc2018.fig5a", Db_ms=50, a_EF=3, f0=5)
    assert table["topology"]["bottleneck_delay"] == "50 ms"
    assert table["queue"]["scheduler"] == "medf"
    assert table["marker"]["accounting_ef"] == 3.0
    assert [group["traffic_class"] for group in table["groups"]] == ["EF", "BE"]
    assert [group["sources"][0]["flows"] for group in table["groups"]] == [5, 1]
    table = scenario_of("abc2018.fig8", Db_ms=5, flows_per_user=2, s=16)
    assert [group["reference_rate"] for group in table["groups"]] == ["160 kbit/s", "10 kbit/s"]
    assert [group["sources"][0]["flows"] for group in table["groups"]] == [2, 2]
    source = scenario_of("abc2018.fig6a", Db_ms=5, R0_mbps=12.5)["groups"][0]["sources"][0]
    assert (source["kind"], source["rate"]) == ("poisson", "12.5 Mbit/s")
    table = scenario_of("abc2018.fig13a", Db_ms=5)
    assert len(table["groups"]) == 1
    assert table["probes"]["series_interval"] == "100 ms"


def test_variants_and_uploads_are_what_they_are_called() -> None:
    at = {"R0_mbps": 5.0, "R1_mbps": 5.0}
    fair = scenario_of("abc2018.fig15a", **at, scheme="abc_fair")
    assert (fair["queue"]["scheme"], fair["marker"]["meter"]) == ("abc", "fair")
    csfq = scenario_of("abc2018.fig15a", **at, scheme="csfq")
    assert csfq["queue"]["scheme"] == "csfq"
    assert (csfq["marker"]["rate_constant"], csfq["queue"]["q_threshold"]) == ("100 ms", "12 packets")
    assert scenario_of("abc2018.fig16b", scheme="csfq_qmin")["queue"]["q_min"] == "12 packets"
    upload = scenario_of("abc2018.fig11a", f1=2, MAM_s=10, t_s=1)
    assert [group["start_until"] for group in upload["groups"]] == ["115 s", "15 s"]
    assert upload["marker"]["memory"] == "10 s"
    scaled = scenario_of("abc2018.ive1", s=16, Db_ms=5)
    assert [group["reference_rate"] for group in scaled["groups"]] == ["160 kbit/s", "160 kbit/s"]


def drops(**histograms: list[int]) -> dict[str, object]:
    """A record with these drops by reason and queue length."""
    by_reason = [
        {"reason": reason, "packets": sum(counts), "queue_histogram": counts} for reason, counts in histograms.items()
    ]
    return {"links": [{"name": "bottleneck", "drops": by_reason}]}


def test_drops_are_told_apart_by_reason_and_queue_length() -> None:
    run = drops(aqm=[1] + [0] * 10 + [1, 2], overlimit=[0] * 24 + [4])
    assert METRICS["tail_drop_share"](run, {}) == 4 / 8
    assert METRICS["share_of_drops_below_12_packets"](run, {}) == 2 / 8
    assert METRICS["drop_queue_hist"](run, {}) == (11 + 2 * 12 + 4 * 24) / 8
    none = drops(aqm=[], overlimit=[])
    assert METRICS["tail_drop_share"](none, {}) is None


def test_received_is_the_payload_since_the_start_of_the_upload() -> None:
    rates = [8e6] * 1150 + [6e6] * 20  # 0.1 s each; the upload starts at 115 s
    run = {"series": {"interval_s": 0.1, "groups": [{"throughput_bps": rates}]}}
    received = METRICS["received_MB"](run, {"t_s": 1, "upload_start_s": "later"})
    assert received == pytest.approx(6e6 / 8e6 * 1446 / 1500)
    assert METRICS["received_MB"](run, {"t_s": 5, "upload_start_s": "later"}) is None


def test_the_queue_at_drop_is_that_of_all_runs_together() -> None:
    runs = ((0.0,) * 13 + (999.0,), (0.0,) * 24 + (1.0,))
    rows = [Row({"scheme": "abc"}, {}, {"drops_found": runs})]
    for end in ("min", "max"):
        (row,) = statistic(f"abc2018.fig16a.{end}", {"abc2018.fig16a": rows})
        assert row.samples["drop_queue_hist"] == (13.0,)


def test_differing_decisions_are_counted_run_by_run() -> None:
    rows = [
        Row({"scheme": "abc", "s": s, "Db_ms": 5}, {}, {"outcome": outcome})
        for s, outcome in ((1, ((1.0, 2.0), (3.0, 4.0))), (2, ((1.0, 2.0), (3.0, 5.0))))
    ]
    counted = statistic("abc2018.ive1.drops_identical", {"abc2018.ive1": rows})
    assert [row.samples["drop_sequence"] for row in counted] == [(0.0, 0.0), (0.0, 1.0)]


def record(rates_mbps: list[float], thresholds: list[float | None]) -> dict[str, object]:
    """A record whose flow starts in the third interval of 0.1 s."""
    rates = [rate * 1e6 for rate in rates_mbps]
    groups = [{"throughput_bps": [0.0, 0.0] + [1e6] * (len(rates) - 2), "rate_bps": rates}]
    return {"series": {"interval_s": 0.1, "start_s": 0.0, "groups": groups, "drop_threshold": thresholds}}


def test_time_to_full_rate_needs_nine_that_stay_above_eight_and_a_half() -> None:
    dips = [0, 0, 5, 9.1, 8.4] + [9.5] * 12
    assert METRICS["time_to_full_rate"](record(dips, []), {}) == pytest.approx(0.4)
    never = [0, 0] + [8.9] * 30
    assert METRICS["time_to_full_rate"](record(never, []), {}) == pytest.approx(3.0)


def test_drop_threshold_is_that_of_the_last_arrival() -> None:
    run = record([0, 0, 1, 1, 1], [None, None, 12.0, None, 20.0])
    values = [METRICS["drop_threshold"](run, {"t_s": t}) for t in (0.1, 0.2, 0.3)]
    assert values == [12.0, 12.0, 20.0]


def test_time_to_base_needs_nineteen_packets_that_stay_above_eighteen() -> None:
    run = record([0] * 22, [None, None, 12.0, 19.0, 17.9, 18.5, 19.2] + [18.1] * 15)
    values = {"t_s": 1, "Qbase_pkts": 20}
    # Intervals last 0.1 s. In the second interval of the flow the threshold reaches 19 packets, but then falls to 17.9
    # packets. In the fifth it reaches 19 packets again and stays above 18.
    assert METRICS["time_to_base"](run, values) == pytest.approx(0.5)


def test_what_packets_need_beyond_path_and_bottleneck_they_wait_on_access_links() -> None:
    # The mean delay of 18.42 ms consists of serialisation delays of 1.2 ms and 0.12 ms, a propagation delay of 5.1 ms,
    # and 10 ms in the bottleneck's queue. The other 2 ms are waiting time at access links.
    path = {"one_way_delay": {"samples": 500, "mean_s": 0.01842}}
    silent = {"one_way_delay": None}
    bottleneck = {"name": "bottleneck", "delay": [{"packets": 500, "mean_s": 0.01}]}
    run = {"window_s": [0, 10], "groups": [{"path": path}, {"path": silent}], "links": [bottleneck]}
    values = {"Da_ms": 0.1, "Db_ms": 5, "Ca_mbps": 100, "Cb_mbps": 10}
    # By Little's law, 50 packets/s that wait 2 ms each are on average 0.1 waiting packets.
    assert METRICS["access_packets"](run, values) == pytest.approx(0.1)


def test_two_points_are_compared_run_by_run() -> None:
    rows = [
        Row({"scheme": scheme, "Db_ms": 5, "f0": 5}, {"T_R": samples})
        for scheme, samples in (("csfq", (3.0, 2.0)), ("abc", (1.5, 1.0)))
    ]
    (row,) = statistic("abc2018.fig15b.gap_order", {"abc2018.fig15b": rows})
    assert (row.at["scheme"], row.samples["T_R"]) == ("csfq", (2.0, 2.0))
    starved = [Row({"scheme": scheme, "Db_ms": 5, "f0": 5}, {"T_R": (0.0,)}) for scheme in ("csfq", "abc")]
    (row,) = statistic("abc2018.fig15b.gap_order", {"abc2018.fig15b": starved})
    assert row.samples["T_R"] == (float("inf"),)


def test_a_starved_group_makes_the_ratio_infinite() -> None:
    groups = [{"throughput_bps": 1e6}, {"throughput_bps": 0.0}]
    assert METRICS["T_R"]({"groups": groups}, {}) == float("inf")


def test_reproduce_lists_what_there_is(cli: Cli) -> None:
    assert "abc2018.fig4a" in cli.output("reproduce")
    assert "abc2018.fig13b" in cli.document("reproduce")["abc2018"]


def test_reproduce_draws_figures_and_judges_claims(cli: Cli, workdir: Path) -> None:
    printed = cli.output("reproduce", "abc2018.fig4a", "abc2018.fig5a", *QUICK)
    assert "droptail_ratio" in printed
    assert "14 claims of the paper: " in printed
    expected = {f"{name}.{suffix}" for name in ("fig4a", "fig5a") for suffix in ("png", "svg", "parquet")}
    assert {*files(workdir / "results" / "abc2018")} == expected | {"claims.json"}


def test_a_second_reproduce_simulates_nothing_and_says_the_same(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workdir)
    first = fairlane.reproduce("abc2018.default", settings=SETTINGS, replications=2)
    monkeypatch.setattr("fairlane._fairlane.Batch", None)
    assert fairlane.reproduce("abc2018.default", settings=SETTINGS, replications=2).json() == first.json()


def test_claims_about_other_experiments_run_just_their_points(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workdir)
    reproduction = fairlane.reproduce("abc2018.fig3b", settings=SHORTEST, replications=1)
    rows = reproduction.tables["abc2018.fig3a"].rows
    assert {(row.at["scheme"], row.at["R1_mbps"]) for row in rows} == {("abc", 7.5)}
    assert len(rows) == 17


def test_check_fails_when_a_claim_is_no_longer_reproduced(cli: Cli) -> None:
    # Under ABC with thresholds of 24 packets, dropped packets find 24 packets waiting, instead of at most 23.
    broken = ["--set", "queue.q_min=24 packets", "--set", "queue.q_base=24 packets"]
    done = cli("reproduce", "abc2018.fig16a", "--check", "--replications", "3", *broken)
    assert done.returncode == 1
    assert "check: abc2018.fig16a.max: differs, was reproduced" in done.stderr


def test_no_replications_are_refused_not_replaced_by_the_papers(workdir: Path) -> None:
    with pytest.raises(fairlane.ScenarioError, match=r"run\.replications: 0"):
        fairlane.reproduce("abc2018.default", replications=0, store=workdir / "store")


def test_experiments_of_nothing_are_refused() -> None:
    with pytest.raises(fairlane.UserError, match="no names"):
        fairlane.reproduce()
