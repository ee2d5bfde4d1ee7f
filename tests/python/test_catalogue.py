"""The catalogue of metrics: all declared metrics are measured, and all measured metrics are declared."""

from __future__ import annotations

import json

import pytest

import fairlane
from conftest import EXAMPLES
from fairlane import Scenario
from fairlane.evaluate.measures import COLUMNS, column
from fairlane.evaluate.suite import HARM
from fairlane.results.catalogue import METRICS
from fairlane.results.metric import Metric
from fairlane.results.metrics import CRITERIA, metric_names, metrics, series, series_names, shown, unit_of
from test_applications import SCENARIO


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> fairlane.Result:
    """Result with calls, videos, transfers, a responsiveness test, and time series."""
    file = tmp_path_factory.mktemp("catalogue") / "applications.toml"
    file.write_text(SCENARIO)
    scenario = Scenario.from_toml(file).replace("probes.series_interval", "1 s")
    return fairlane.run(scenario.replace("run.measure", "4 s"))


def test_every_column_begins_with_a_metric_or_is_a_reading(result: fairlane.Result) -> None:
    names = {metric.name for metric in METRICS}
    columns = {name.partition(".")[0] for name in metrics(result.runs[0])}
    assert {name for name in columns - names if not name.startswith("reading_")} == {"link_throughput_bps"}


def test_the_names_are_known_before_a_run_starts(result: fairlane.Result) -> None:
    measured = metrics(result.runs[0])
    # A run may lack metrics only for delays of a class without packets.
    assert measured.keys() <= set(metric_names(result.scenario_json))
    assert series_names(result.scenario_json) == list(series(result.runs[0]))
    scenario = Scenario.from_toml(EXAMPLES / "ef-priority.toml").canonical()
    assert {"delay_p99_s.EF.bottleneck", "delay_p99_s.BE.bottleneck"} <= set(metric_names(scenario))


@pytest.mark.parametrize("metric", shown("applications"), ids=lambda metric: metric.name)
def test_what_tables_show_of_applications_is_in_a_record(metric: Metric, result: fairlane.Result) -> None:
    records = [group for group in result.runs[0]["groups"] if group.get(metric.path[0])]
    assert [metric.of(group) is not None for group in records] == [True]


def test_a_document_has_the_records_as_they_are_stored(result: fairlane.Result) -> None:
    assert f'"runs":[{",".join(result.runs_json)}],"cost":' in result.json()
    assert json.loads(result.json())["summary"] == result.summary


def test_every_criterion_has_a_column_of_the_measured_runs() -> None:
    measured = {column(name) for name in CRITERIA if name != HARM and not name.startswith("cost")}
    assert measured <= set(COLUMNS)


def test_columns_that_schemes_and_planes_name_have_the_unit_of_their_end() -> None:
    assert unit_of("reading_average_bytes.bottleneck") == "bytes"
    assert unit_of("lab_lateness_mean_s") == "s"
    assert unit_of("reading_average_queue.bottleneck") is None
    assert unit_of("transfers_started.web") is None
    assert unit_of("video_stalls.viewers") == "1"
