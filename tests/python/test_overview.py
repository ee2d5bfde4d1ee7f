"""Tests the comparison of all schemes in the acceptance scenario, as table and JSON."""

import re

import pytest

import fairlane
from conftest import EXAMPLES, Cli
from fairlane.cli.printing import print_comparison

SCENARIO = EXAMPLES / "compare-all.toml"
SCHEMES = [scheme["name"] for scheme in fairlane.schemes()]


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> fairlane.Comparison:
    brief = fairlane.Scenario.from_toml(SCENARIO).replace("run.warmup", "2 s").replace("run.measure", "4 s")
    return fairlane.compare(brief, ["all"], replications=2, store=tmp_path_factory.mktemp("store"))


def test_all_stands_for_every_scheme(comparison: fairlane.Comparison) -> None:
    assert list(comparison.results) == SCHEMES


def test_the_yardstick_is_the_max_min_share(comparison: fairlane.Comparison) -> None:
    overview = comparison.document()["overview"]
    shares = {group["name"]: group["throughput_bps"]["mean"] for group in overview["max_min"]["groups"]}
    # Ten light users use 2 of 10 Mbit/s; each of the two other users demands more than half of the remaining 8 Mbit/s.
    assert shares == pytest.approx({"poisson": 4e6, "tcp": 4e6, "light": 200e3})
    assert overview["max_min"]["throughput_ratio"]["mean"] == pytest.approx(1)
    assert overview["max_min"]["links"][0]["utilisation"]["mean"] == pytest.approx(1)
    # Jain's index of 12 users, two with 4 Mbit/s and ten with 0.2 Mbit/s: (sum of rates)^2 / (12 * sum of squared
    # rates).
    assert overview["max_min"]["jain_index"]["mean"] == pytest.approx(100 / (12 * 32.4))


def test_light_users_get_what_they_ask_where_users_have_queues(comparison: fairlane.Comparison) -> None:
    rows = {row["queue"]: row for row in comparison.document()["overview"]["queues"]}
    for scheme in ("drr", "wfq"):
        poisson, tcp, light = (group["throughput_bps"]["mean"] for group in rows[scheme]["groups"])
        # Ten users send Poisson traffic of 200 kbit/s in packets of 1500 B. In 2 runs of 4 s these are 1333 packets, so
        # the standard error is 2.7 %.
        assert light == pytest.approx(200e3, rel=5 * 0.027)
        assert poisson == pytest.approx(4e6, rel=0.1)
        assert tcp <= 4.4e6
    # Ten light users with 2 of 10 Mbit/s in separate queues wait less than the two others.
    for scheme in ("drr", "wfq"):
        poisson, tcp, light = (group["one_way_delay"]["p99_s"]["mean"] for group in rows[scheme]["groups"])
        assert light < min(poisson, tcp)
        assert rows[scheme]["groups"][2]["lost_share"]["mean"] < 0.01 < rows[scheme]["groups"][0]["lost_share"]["mean"]
    # The unresponsive user sends 16 of the 18 Mbit/s offered, and drop-tail gives it about this fraction of the 10
    # Mbit/s of the link.
    assert rows["droptail"]["groups"][0]["throughput_bps"]["mean"] > 8e6
    assert rows["abc"]["edge_state_bytes_per_user"]["mean"] > 0
    assert rows["droptail"]["edge_state_bytes_per_user"]["mean"] == 0


def test_the_table_has_a_row_per_scheme_and_names_the_confidence(
    comparison: fairlane.Comparison, capsys: pytest.CaptureFixture[str]
) -> None:
    print_comparison(comparison, everything=True)
    printed = capsys.readouterr().out
    assert "95% interval" in printed.splitlines()[0]
    names = [line.split()[0] for line in printed.splitlines()[1:] if line.strip()]
    shown = dict.fromkeys(name for name in names if name in ("max-min", *SCHEMES))
    assert list(shown) == ["max-min", *SCHEMES]


def test_readings_and_state_are_in_documents_and_frames(comparison: fairlane.Comparison) -> None:
    link = comparison.results["codel"].summary["links"][0]
    assert link["state"]["bytes"]["mean"] > 0
    frame = comparison.results["drr"].links_frame()
    assert {"state_records", "state_bytes"} <= set(frame.columns)
    runs = comparison.results["abc"].runs_frame()
    # Twelve users, each with an activity meter of 32 B.
    assert runs["edge_state_records"].to_list() == [12, 12]
    average = comparison.results["red"].runs[0]["links"][0]["readings"]["average_queue"]
    assert comparison.results["red"].links_frame()["reading_average_queue"][0] == average


def test_the_command_prints_every_table_of_more_than_three_queues(cli: Cli) -> None:
    names = "droptail,red,drr,abc"
    short = ("--set", "run.warmup=1 s", "--set", "run.measure=1 s", "--replications", "2")
    compare = ["compare", SCENARIO, "--queues", names, *short]
    printed = cli.output(*compare, "--all")
    assert "max-min share" in printed
    for head in ("goodput/user", "one-way mean", "share of arrivals", "longest", "mean queue (bytes)"):
        rows = re.split(r"\n *\n", printed[printed.index(head) :])[0]
        assert {name for name in names.split(",") if f"\n {name} " in rows} == {*names.split(",")}, head
    document = cli.document(*compare)
    assert [row["queue"] for row in document["overview"]["queues"]] == names.split(",")
    assert document["overview"]["confidence"] == 0.95
