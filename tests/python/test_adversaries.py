"""The worst scenarios still beat their schemes, and do not harm the light user under the ideal scheduler."""

import json

import pytest

import fairlane
from fairlane import Scenario
from fairlane.results.intervals import interval
from fairlane.search.attack import HALF, IDEAL
from fairlane.search.bounds import read_bounds
from fairlane.search.world import METRIC
from generators.adversaries import FOLDER, files

FILES = sorted(FOLDER.glob("*.toml"))


@pytest.fixture(scope="module")
def replayed() -> fairlane.Check:
    return fairlane.check(FILES)


def test_every_expectation_is_held_and_the_head_of_the_file_says_what_is_measured(replayed: fairlane.Check) -> None:
    assert replayed.passed, [verdict for verdict in replayed.verdicts if verdict.verdict != "held"]
    told = {path.name: shares[0] for path, _, shares in files()}
    measured = {
        path.name: str(interval([run["groups"][0]["normalised_throughput"] for run in result.runs]))
        for path, result in zip(FILES, replayed.results, strict=True)
    }
    assert measured == told


def test_at_least_25_schemes_leave_an_honest_user_less_than_half_of_its_share(replayed: fairlane.Check) -> None:
    beaten = {
        result.scenario["queue"]["scheme"]
        for result, verdict in zip(replayed.results, replayed.verdicts, strict=True)
        if verdict.mean is not None and verdict.half_width is not None and verdict.mean + verdict.half_width < HALF
    }
    assert len(beaten) >= 25


def test_under_the_ideal_scheduler_the_light_user_has_what_the_guard_asks_for() -> None:
    least = read_bounds(None).ideal_share
    scenarios = []
    for file in FILES:
        table = Scenario.from_toml(file).to_dict()
        table["queue"] = {"scheme": IDEAL, "limit": table["queue"]["limit"]}
        table.pop("marker", None)
        table["expect"] = [{"metric": METRIC, "min": least}]
        scenarios.append(Scenario.from_dict(table, file.parent))
    checked = fairlane.check(scenarios)
    failed = [
        (file.name, verdict.mean, verdict.half_width)
        for file, verdict in zip(FILES, checked.verdicts, strict=True)
        # Other seeds selected the scenario, so the mean of these ten runs may be below the bound by up to their half
        # width.
        if verdict.mean is None or verdict.mean < least - (verdict.half_width or 0)
    ]
    assert not failed, json.dumps(failed)
