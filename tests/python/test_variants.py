"""Tests schemes with different parameters in one comparison."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fairlane
from conftest import SHORT_SCENARIO, Cli
from fairlane import Comparison
from fairlane.base.text import for_figure
from fairlane.report.comparison import view
from fairlane.results.figures import result_figures
from fairlane.results.names import display_name
from fairlane.simulate.variants import split_variants

VARIANTS = ["abc", "abc:gamma=8 packets,memory=1 s"]


@pytest.fixture(scope="module")
def compared() -> Comparison:
    scenario = SHORT_SCENARIO.replace("probes.series_interval", "0.25 s")
    return fairlane.compare(scenario, [*VARIANTS, "droptail:limit=48 packets"])


def test_a_variant_is_a_run_of_the_scenario_with_these_keys(compared: Comparison) -> None:
    settings = {"queue.gamma": "8 packets", "marker.memory": "1 s", "probes.series_interval": "0.25 s"}
    alone = fairlane.run(SHORT_SCENARIO.changed(settings))
    assert compared.results[VARIANTS[1]].runs_json == alone.runs_json
    assert compared.results[VARIANTS[1]].runs_json != compared.results["abc"].runs_json
    longer = compared.results["droptail:limit=48 packets"]
    assert longer.scenario["queue"]["limit"] == "48 packets"
    # Poisson traffic of 8 Mbit/s and 5 TCP flows fill the buffer of a link of 10 Mbit/s at times.
    assert max(run["links"][0]["queue"]["max_packets"] for run in longer.runs) == 48


@pytest.mark.parametrize(
    "queues",
    [
        [{"scheme": "abc"}, {"scheme": "abc", "gamma": "8 packets", "memory": "1 s"}],
        {"abc": "abc", VARIANTS[1]: "abc:gamma=8 packets,memory=1 s"},
        {"abc": {"scheme": "abc"}, VARIANTS[1]: {"scheme": "abc", "queue.gamma": "8 packets", "marker.memory": "1 s"}},
    ],
)
def test_a_table_and_a_name_say_the_same_as_the_text(compared: Comparison, queues: Any) -> None:
    scenario = SHORT_SCENARIO.replace("probes.series_interval", "0.25 s")
    again = fairlane.compare(scenario, queues)
    assert list(again.results) == VARIANTS
    assert [again.results[name].runs_json for name in VARIANTS] == [
        compared.results[name].runs_json for name in VARIANTS
    ]


def test_a_variant_may_have_any_name(compared: Comparison) -> None:
    named = fairlane.compare(SHORT_SCENARIO, {"<b>": "abc:gamma=8 packets"}, replications=1)
    assert list(named.results) == ["<b>"]
    assert named.runs_frame()["queue"].to_list() == ["<b>"]


def test_every_frame_of_a_comparison_tells_variants_apart(compared: Comparison) -> None:
    for name in ("runs", "costs", "users", "flows", "links", "series"):
        frame = getattr(compared, f"{name}_frame")()
        assert list(dict.fromkeys(frame["queue"])) == list(compared.results), name
        parts = [getattr(result, f"{name}_frame")().height for result in compared.results.values()]
        assert frame.height == sum(parts), name
    assert compared.transfers_frame().height == 0
    assert set(compared.runs_frame()["scenario.queue.scheme"]) == {"abc", "droptail"}


def test_documents_and_figures_call_variants_by_their_names(compared: Comparison) -> None:
    document = compared.document()
    jsonschema.validate(document, fairlane.schema("comparison"))
    assert [row["queue"] for row in document["overview"]["queues"]] == list(compared.results)
    throughput = result_figures(list(compared.results.values()))["throughput"]
    (legend,) = throughput.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        for_figure(display_name(queue)) for queue in compared.results
    ]


@pytest.mark.parametrize(
    ("texts", "queues"),
    [
        (["droptail,abc"], ["droptail", "abc"]),
        (["abc,abc:gamma=8 packets"], ["abc", "abc:gamma=8 packets"]),
        (["abc:gamma=8 packets, memory=1 s ,red"], ["abc:gamma=8 packets,memory=1 s", "red"]),
        (["a=abc:gamma=8 packets,b=abc:memory=1 s"], ["a=abc:gamma=8 packets", "b=abc:memory=1 s"]),
        (["a=abc,b=red"], ["a=abc", "b=red"]),
        (["abc:gamma=8 packets", "b=red"], ["abc:gamma=8 packets", "b=red"]),
    ],
)
def test_commas_are_between_queues_and_between_their_parameters(texts: list[str], queues: list[str]) -> None:
    assert split_variants(texts) == queues


def test_the_command_compares_variants(cli: Cli, compared: Comparison) -> None:
    written = ",".join(compared.results)
    document = cli.document("compare", "short.toml", "--queues", written, "--set", "probes.series_interval=0.25 s")
    expected = compared.document()
    assert list(document["results"]) == list(compared.results)
    assert [result["runs"] for result in document["results"].values()] == [
        result["runs"] for result in expected["results"].values()
    ]
    table = cli.output("compare", "short.toml", "--queues", "abc", "--queues", "wide=abc:gamma=4 packets", "--all")
    assert {"abc", "wide"} <= {line.split()[0] for line in table.splitlines() if line.split()}


@pytest.mark.parametrize(
    ("queues", "mentions"),
    [
        ("abc:gama=8 packets", ["abc:gama=8 packets", "'gama' is no parameter", "gamma"]),
        ("abc:gamma=8 bananas", ["short.toml", "queue.gamma", "8 bananas"]),
        ("abc:gamma", ["'gamma' is not KEY=VALUE"]),
        ("abd:gamma=8 packets", ["abd: no such scheme"]),
        ("abc:gamma=8 packets,abc:gamma=8 packets", ["name each scheme once"]),
        ("a b=abc", ["'a b' is no name"]),
        ("abc,", ["name each scheme once"]),
    ],
)
def test_a_wrong_variant_is_one_line(cli: Cli, queues: str, mentions: list[str]) -> None:
    cli.refuses(["compare", "short.toml", "--queues", queues], mentions)


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_the_report_shows_a_comparison_of_variants(compared: Comparison, tmp_path: Path) -> None:
    compared.write(tmp_path / "out")
    shown = view(json.loads((tmp_path / "out" / "result.json").read_text())["results"])
    assert set(shown.schemes) == set(compared.results)


def test_frames_become_those_of_pandas(compared: Comparison) -> None:
    pytest.importorskip("pandas", reason="needs fairlane[pandas]")
    pytest.importorskip("pyarrow", reason="needs fairlane[pandas]")
    users = compared.users_frame()
    assert users.to_pandas()["throughput_bps"].tolist() == users["throughput_bps"].to_list()
