"""An argument of the wrong kind gives a one-line error that says what the function accepts."""

from typing import Any

import pytest

import fairlane
from conftest import SHORT_SCENARIO


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (fairlane.sweep, [SHORT_SCENARIO], "grid: missing, a sweep of a Scenario needs grid or zip; "),
        (fairlane.sweep, [7], "plan: 7 is not the path of a sweep file or a Plan"),
        (fairlane.run, [{"queue": {}}], "scenario: {'queue': {}} is not a Scenario or the path of its file"),
        (fairlane.compare, [SHORT_SCENARIO, [{"gamma": "1 s"}]], "queues: {'gamma': '1 s'} is no table such as"),
        (fairlane.compare, [SHORT_SCENARIO, [7]], "queues: 7 is neither a scheme, such as"),
        (fairlane.compare, [SHORT_SCENARIO, 5], "queues: 5 is not a list of names of schemes"),
        (fairlane.compare, [None, ["abc"]], "scenario: None is not a Scenario or the path of its file"),
    ],
)
def test_an_argument_of_another_kind_is_named_in_one_line(function: Any, arguments: Any, message: str) -> None:
    with pytest.raises(fairlane.UserError) as caught:
        function(*arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_one_queue_may_be_given_by_its_name() -> None:
    assert list(fairlane.compare(SHORT_SCENARIO, "droptail", replications=1).results) == ["droptail"]


@pytest.mark.parametrize(
    ("option", "value", "needs"),
    [
        ("pcap_drops", True, "pcap"),
        ("pcap_snaplen", 64, "pcap"),
        ("trace_interval", "1 ms", "trace"),
        ("link", "bottleneck", "pcap or trace"),
        ("watched", 1, "pcap or trace or qlog"),
        ("qlog_flows", [0], "qlog"),
    ],
)
def test_an_option_of_a_watched_run_names_what_it_needs(option: str, value: Any, needs: str) -> None:
    with pytest.raises(fairlane.UserError) as caught:
        fairlane.run(SHORT_SCENARIO, **{option: value})
    assert str(caught.value) == f"{option}: has no effect without {needs}"
