import json
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import fairlane
from conftest import SHORT_SCENARIO, files
from fairlane import Comparison, Result, Scenario


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return SHORT_SCENARIO.replace("probes.series_interval", "0.25 s")


@pytest.fixture(scope="module")
def result(scenario: Scenario) -> Result:
    return fairlane.run(scenario)


@pytest.fixture(scope="module")
def comparison(scenario: Scenario) -> Comparison:
    return fairlane.compare(scenario, ["droptail", "abc"])


def test_the_document_follows_its_schema(result: Result) -> None:
    validator = jsonschema.Draft202012Validator(fairlane.schema("result"))
    validator.check_schema(fairlane.schema("result"))
    validator.validate(result.document())


def test_runs_frame_has_a_row_per_run_with_parameters_and_metrics(result: Result) -> None:
    frame = result.runs_frame()
    assert frame["replication"].to_list() == [0, 1, 2]
    assert set(frame["version"]) == {fairlane.__version__}
    assert set(frame["scenario.queue.q_min"]) == {"12 packets"}
    assert frame["throughput_bps.heavy"].to_list() == [run["groups"][0]["throughput_bps"] for run in result.runs]
    assert frame["queue_mean_packets.bottleneck"].null_count() == 0
    assert result.costs_frame()["replication"].to_list() == [0, 1, 2]
    assert result.costs_frame()["cpu_seconds"].to_list() == result.document()["cost"]["run_cpu_seconds"]
    assert min(result.document()["cost"]["run_cpu_seconds"]) > 0


def test_a_group_and_a_link_of_one_name_have_columns_of_their_own(scenario: Scenario) -> None:
    table = scenario.replace("groups[0].name", "bottleneck").replace("run.replications", 1)
    result = fairlane.run(table)
    (run,) = result.runs
    row = result.runs_frame().row(0, named=True)
    assert row["throughput_bps.bottleneck"] == run["groups"][0]["throughput_bps"]
    assert row["link_throughput_bps.bottleneck"] == run["links"][0]["throughput_bps"]
    assert row["throughput_bps.bottleneck"] != row["link_throughput_bps.bottleneck"]


def test_users_frame_has_a_row_per_user(result: Result) -> None:
    frame = result.users_frame()
    assert frame.height == 3 * 3
    assert frame.filter(pl.col("group") == "light")["user"].to_list() == [0, 1] * 3


def test_links_frame_has_a_row_per_link(result: Result) -> None:
    frame = result.links_frame()
    assert frame.filter(pl.col("link") == "bottleneck").height == 3
    assert {"utilisation", "delay_mean_s.BE", "dropped_packets.aqm", "dropped_packets.overlimit"} <= set(frame.columns)


def test_series_frame_is_long(result: Result) -> None:
    frame = result.series_frame()
    assert frame["time_s"].unique().sort().to_list() == [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
    of_groups = {"throughput_bps", "rate_bps", "one_way_delay_s", "rtt_s", "lost_share", "marked_share"}
    assert set(frame["quantity"]) == {*of_groups, "queue_packets", "drop_threshold"}
    assert set(frame["subject"]) == {"heavy", "light", "bottleneck"}


@pytest.mark.usefixtures("undrawn")
def test_delay_and_losses_of_groups_are_metrics_with_units(result: Result, tmp_path: Path) -> None:
    row = result.runs_frame().row(0, named=True)
    for group in result.runs[0]["groups"]:
        path, name = group["path"], group["name"]
        for quantity in ("mean_s", "p50_s", "p95_s", "p99_s", "max_s"):
            assert row[f"one_way_delay_{quantity}.{name}"] == path["one_way_delay"][quantity]
        assert (row[f"lost_share.{name}"], row[f"marked_share.{name}"]) == (path["lost_share"], path["marked_share"])
    # The light group is only UDP, so there are no RTT samples.
    assert row["rtt_p99_s.heavy"] == result.runs[0]["groups"][0]["path"]["rtt"]["p99_s"]
    assert not any(column.startswith("rtt_") and column.endswith(".light") for column in row)
    result.write(tmp_path)
    units = json.loads(pl.read_parquet_metadata(tmp_path / "runs.parquet")["fairlane.units"])
    named = ("one_way_delay_mean_s.heavy", "rtt_max_s.heavy", "lost_share.light", "marked_share.light")
    assert [units[name] for name in named] == ["s", "s", "1", "1"]


def test_users_and_flows_have_columns_of_delay_if_asked_for(scenario: Scenario, result: Result) -> None:
    assert "one_way_delay_mean_s" not in {*result.users_frame().columns, *result.flows_frame().columns}
    detailed = fairlane.run(scenario.replace("probes.detail", "flow"), replications=1)
    (run,) = detailed.runs
    users = detailed.users_frame()
    paths = [path for group in run["groups"] for path in group["user_paths"]]
    assert users["one_way_delay_p99_s"].to_list() == [path["one_way_delay"]["p99_s"] for path in paths]
    assert users["lost_share"].to_list() == [path["lost_share"] for path in paths]
    flows = detailed.flows_frame()
    heavy, light = run["groups"]
    assert flows["transport"].to_list() == ["tcp"] * len(heavy["tcp"]["flow_paths"]) + ["udp"] * light["users"]
    udp = flows.filter(pl.col("transport") == "udp")
    assert [udp[column].null_count() for column in ("throughput_bps", "rtt_mean_s")] == [light["users"]] * 2
    rtts = [path["rtt"] and path["rtt"]["mean_s"] for path in heavy["tcp"]["flow_paths"]]
    assert any(rtts)
    assert flows["rtt_mean_s"].to_list()[: len(rtts)] == rtts
    # More detail does not change the groups.
    assert [group["path"] for group in run["groups"]] == [group["path"] for group in result.runs[0]["groups"]]


def test_a_result_without_series_has_an_empty_frame() -> None:
    assert fairlane.run(SHORT_SCENARIO, replications=1).series_frame().height == 0


@pytest.mark.usefixtures("undrawn")
def test_written_files_have_schema_version_and_units(result: Result, tmp_path: Path) -> None:
    result.write(tmp_path)
    assert json.loads((tmp_path / "result.json").read_text())["summary"]["replications"] == 3
    metadata = pl.read_parquet_metadata(tmp_path / "users.parquet")
    assert metadata["fairlane.schema"] == "2"
    assert metadata["fairlane.version"] == fairlane.__version__
    of_users = {"throughput_bps": "bit/s", "goodput_bps": "bit/s", "normalised_throughput": "1"}
    assert json.loads(metadata["fairlane.units"]) == of_users
    units = json.loads(pl.read_parquet_metadata(tmp_path / "runs.parquet")["fairlane.units"])
    assert units["delay_mean_s.BE.bottleneck"] == "s"
    assert units["queue_mean_packets.bottleneck"] == "packets"
    for name in ("throughput", "queue", "rate-over-time", "queue-over-time"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()


def test_simulating_again_gives_the_same_bytes_but_for_the_cost(
    result: Result, scenario: Scenario, tmp_path: Path
) -> None:
    again = fairlane.run(scenario, threads=1)
    assert again.runs_json == result.runs_json
    assert again.cpu_seconds != result.cpu_seconds
    before, after = (one.json().split(',"cost":{') for one in (result, again))
    assert before[0] == after[0]
    costs = json.loads("{" + before[1].removesuffix("}"))
    assert costs.keys() == {"cpu_seconds", "run_cpu_seconds", "peak_memory_bytes"}
    result.write(tmp_path / "a")
    again.write(tmp_path / "b")
    for file in files(tmp_path / "a"):
        same = (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
        assert same == (file not in {"costs.parquet", "result.json"}), file


@pytest.mark.usefixtures("undrawn")
def test_a_comparison_has_one_result_per_queue(comparison: Comparison, result: Result, tmp_path: Path) -> None:
    document = json.loads(comparison.json())
    assert list(document["results"]) == ["droptail", "abc"]
    abc = comparison.results["abc"]
    assert [run["groups"] for run in abc.runs] == [run["groups"] for run in result.runs]
    droptail = comparison.results["droptail"].scenario
    assert droptail["marker"]["scheme"] == "none"
    assert droptail["queue"]["limit"] == abc.scenario["queue"]["limit"]
    comparison.write(tmp_path)
    frame = pl.read_parquet(tmp_path / "runs.parquet")
    assert frame.group_by("queue", maintain_order=True).len().rows() == [("droptail", 3), ("abc", 3)]


def test_no_threads_are_refused(scenario: Scenario) -> None:
    with pytest.raises(fairlane.UserError, match="threads: 0"):
        fairlane.run(scenario, threads=0)
