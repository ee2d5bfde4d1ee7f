"""Tests quality for users (calls, videos, responsiveness, slowdown of transfers) from scenarios to tables."""

from pathlib import Path

import pytest

import fairlane
from conftest import Cli
from fairlane import Scenario, group, rpm, video, voip
from fairlane.results.metrics import unit_of

SCENARIO = """
[run]
warmup = "2 s"
measure = "10 s"
replications = 2
[queue]
scheme = "fq_codel"
[tcp]
profile = "linux"
[[groups]]
name = "calls"
users = 2
start_until = "1 s"
sources = [{ kind = "voip", codec = "g729a", buffer = "40 ms" }]
[[groups]]
name = "viewers"
start_until = "1 s"
[[groups.sources]]
kind = "video"
ladder = ["500 kbit/s", "1 Mbit/s"]
buffer = "10 s"
chunk = "1 s"
reservoir = "2 s"
cushion = "5 s"
[[groups]]
name = "files"
start_until = "0 s"
sources = [{ kind = "transfers", sizes = "web_search", load = "10 %" }]
[[groups]]
name = "test"
start_until = "1 s"
sources = [{ kind = "rpm", flows = 2 }]
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> fairlane.Result:
    folder = tmp_path_factory.mktemp("applications")
    (folder / "applications.toml").write_text(SCENARIO)
    return fairlane.run(folder / "applications.toml", store=folder / "store")


def test_functions_write_what_a_file_says() -> None:
    users = group("calls", voip("g729a", buffer="40 ms"), users=2, start_until="1 s")
    ladder = ["500 kbit/s", "1 Mbit/s"]
    player = video(ladder=ladder, buffer="10 s", chunk="1 s", reservoir="2 s", cushion="5 s")
    viewers = group("viewers", player, rpm(flows=3), start_until="1 s")
    made = Scenario("made", users, viewers, queue="fq_codel", tcp={"profile": "linux"}).to_dict()["groups"]
    (call,), (watched, test) = (of_group["sources"] for of_group in made)
    assert test == {"kind": "rpm", "flows": 3}
    assert call == {"kind": "voip", "codec": "g729a", "buffer": "40 ms"}
    assert (watched["kind"], watched["ladder"], watched["cushion"]) == ("video", ladder, "5 s")


def test_every_number_of_an_application_is_a_metric_with_a_unit_and_has_an_interval(result: fairlane.Result) -> None:
    runs = result.runs_frame()
    calls, viewers, _, test = result.summary["groups"]
    for of_group, kind, numbers in (
        (calls, "voip", ("mos", "worst_mos", "r_factor", "mouth_to_ear_s", "jitter_s", "lost_share", "late_share")),
        (viewers, "video", ("bitrate_bps", "stalls", "stalled_s", "stalled_share", "switches", "startup_s")),
        (test, "responsiveness", ("rpm", "foreign_rpm", "loaded_rpm", "tcp_f_s", "http_f_s", "http_l_s")),
    ):
        for number in numbers:
            name = f"{kind}_{number}"
            values = runs[f"{name}.{of_group['name']}"].to_list()
            assert of_group["applications"][name]["n"] == len(values) == 2
            assert of_group["applications"][name]["mean"] == pytest.approx(sum(values) / 2)
            assert unit_of(name) is not None
    # The delay is the sum of 20 ms of speech in a packet, 5 ms of look-ahead, at least 5.1 ms in the network, and 40 ms
    # in the buffer.
    assert calls["applications"]["voip_mouth_to_ear_s"]["mean"] > 0.0701
    # G.729A reduces R (93.2) by 11, and its delay of 70 ms reduces it slightly.
    assert 77 < calls["applications"]["voip_r_factor"]["mean"] < 82.2


def test_transfers_have_slowdowns_by_size(result: fairlane.Result) -> None:
    frame = result.transfers_frame()
    by_size = frame.filter((frame["by"] == "size") & (frame["completed"] > 0))
    assert by_size["slowdown_mean"].min() >= 1.0
    assert (
        frame.filter(frame["by"] == "time")["slowdown_mean"].null_count() == frame.filter(frame["by"] == "time").height
    )
    assert "transfers_slowdown_p99.files" in result.runs_frame().columns


def test_tables_show_applications_and_slowdowns(cli: Cli, workdir: Path) -> None:
    (workdir / "applications.toml").write_text(SCENARIO)
    shown = " ".join(cli.output("run", "applications.toml").split())
    for words in (
        "worst MOS",
        "mouth to ear (ms)",
        "stalls",
        "start-up (s)",
        "round trips per minute",
        "mean slowdown",
    ):
        assert words in shown, words
