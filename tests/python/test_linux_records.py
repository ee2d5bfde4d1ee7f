"""Tests the records that the plane `linux` makes of recorded results."""

import json

import pytest

from fairlane import Scenario
from fairlane.linux.record import lacks
from fairlane.results.metrics import metric_names, metrics
from linux_fake import RECORDED, recorded


def test_metrics_that_the_plane_lacks_are_null_in_its_records() -> None:
    found, scenario = metrics(recorded()), (RECORDED / "scenario.toml")
    names = metric_names(Scenario.from_toml(scenario).canonical())
    lacking = [name for name in names if lacks(name)]
    assert {name.partition(".")[0] for name in lacking} >= {"one_way_delay_p99_s", "rtt_mean_s", "state_bytes"}
    assert not any(found.get(name) for name in lacking)
    present = {name for name, value in found.items() if value is not None}
    assert {"one_way_delay_mean_s.a", "throughput_bps.a", "utilisation.bottleneck"} <= present - set(lacking)


def test_the_record_of_a_recorded_result() -> None:
    found = recorded()
    (first, second, third) = found["groups"]
    assert found["lab"] == {"plane": "linux", "kernel": "6.12", "identity": "recorded"}
    link = found["links"][0]
    result = json.loads((RECORDED / "result.json").read_text())
    window_s = 4.0
    assert link["utilisation"] == pytest.approx(result["links"][0]["busy_ns"] / 4e9)
    assert link["queue"]["mean_packets"] == pytest.approx(
        sum(index * share for index, share in enumerate(link["queue"]["distribution"])), rel=1e-6
    )
    assert sum(link["queue"]["distribution"]) == pytest.approx(1)
    sent = [user["sent_packets"] for user in result["links"][0]["users"]]
    assert [one["path"]["delivered_packets"] for one in found["groups"]] == sent
    assert first["goodput_bps"] == pytest.approx(
        8 / window_s * sum(flow["received_bytes"] for flow in result["flows"][:2])
    )
    # A packet of 1500 bytes has 1448 of payload.
    assert first["goodput_bps"] / first["throughput_bps"] == pytest.approx(1448 / 1500, rel=0.01)
    assert sum(first["tcp"]["flow_throughput_bps"]) == pytest.approx(first["throughput_bps"])
    assert first["path"]["smoothed_rtt"]["mean_s"] == pytest.approx(0.024, abs=0.003)
    assert second["transfer_times"]["completed"] == sum(one["completed"] for one in second["transfer_times"]["by_time"])
    assert second["transfer_times"]["completed"] == sum(one["completed"] for one in second["transfer_times"]["by_size"])
    assert second["transfer_times"]["completed"] > 0
    assert second["transfer_times"]["slowdown"]["mean"] > 1
    assert third["udp"]["sent_bps"] == pytest.approx(1e6, rel=0.01)
    # A packet may be behind the link when the measurement begins or ends.
    assert third["path"]["delivered_packets"] == pytest.approx(third["udp"]["received_packets"], abs=1)
    # The delay consists of the queue of the other users, the serialisation of a full packet on both links, and 5.1 ms.
    way_s = third["path"]["one_way_delay"]["mean_s"]
    assert way_s == pytest.approx(link["delay"][0]["mean_s"] + 12e-4 + 12e-5 + 5.1e-3, rel=0.1)
    p50, p95 = link["delay"][0]["p50_s"], link["delay"][0]["p95_s"]
    assert p50 < link["delay"][0]["mean_s"] < p95 < link["delay"][0]["max_s"]


def test_a_record_has_the_tables_of_the_simulators() -> None:
    from fairlane.results.frames import all_frames
    from fairlane.results.kept import Kept
    from fairlane.results.result import Result

    canonical = Scenario.from_toml(RECORDED / "scenario.toml").replace("run.replications", 1).canonical()
    result = Result.of(canonical, [Kept(json.dumps(recorded(), separators=(",", ":")), None)])
    assert set(all_frames([result])) >= {"runs", "users", "flows", "links", "transfers"}
    assert result.summary["links"][0]["utilisation"]["mean"] == pytest.approx(1, abs=0.01)


def test_a_transfer_that_is_open_has_started_and_not_completed() -> None:
    result = json.loads((RECORDED / "result.json").read_text())
    before = recorded()["groups"][1]["transfer_times"]
    result["flows"][2]["transfers"].append([5_900_000_000, 0])
    after = recorded(result)["groups"][1]["transfer_times"]
    assert (after["started"], after["completed"]) == (before["started"] + 1, before["completed"])
    assert after["offered_bps"] > before["offered_bps"]
    assert after["by_size"] == before["by_size"]
