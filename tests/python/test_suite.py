"""The files of the suite define it completely, a change needs a new version, and every scenario runs on its own."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

import fairlane
from conftest import ROOT, Cli, daily
from fairlane import UserError
from fairlane.evaluate import suite as suites
from fairlane.evaluate.entries import entries
from fairlane.evaluate.league import COST_CORE, COST_EDGE
from fairlane.evaluate.suite import Suite
from fairlane.results.metrics import CRITERIA, metric_names

SUITE = suites.read()
FOLDER = suites.SUITES / "fairlane-1.0"

FAMILIES_OF_RFC_7928 = {"4.4", "5.1", "5.2", "5.3", "5.4", "6", "7", "8.2", "9", "10"}
DIGESTS = {"fairlane-1.0": "0da2c8bbae0e51066dd3ea77196fac10733339fbd9ded8745e4ca09000f436cf"}
"""Digests of published versions, which never change."""


def test_a_change_of_content_is_a_new_version() -> None:
    assert {name: suites.digest(suites.SUITES / name) for name in suites.suites()} == DIGESTS


def copied(folder: Path) -> Path:
    return Path(shutil.copytree(FOLDER, folder / "mine"))


@pytest.mark.parametrize("name", ["cheats/flood.toml", "cheats/family.toml", "fast-change/radio.up"])
def test_a_suite_with_a_changed_file_is_refused(name: str, tmp_path: Path) -> None:
    folder = copied(tmp_path)
    assert suites.read(folder).digest == SUITE.digest
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n")
    with pytest.raises(UserError, match=r"suite\.toml: digest: .* a change of content is a new version"):
        suites.read(folder)


def test_it_covers_rfc_7928_and_ten_families_of_fairness() -> None:
    assert len(SUITE.scenarios) >= 80
    sources = [family.source for family in SUITE.families]
    assert {source.removeprefix("RFC 7928, ") for source in sources if "RFC" in source} == FAMILIES_OF_RFC_7928
    assert [source for source in sources if "RFC" not in source] == [f"Fairlane, fairness {n}" for n in range(1, 11)]
    assert any("4.5" in one.source for one in SUITE.scenarios.values())


def test_every_file_is_a_scenario_of_its_family() -> None:
    for family in SUITE.families:
        listed = {one.path.name for one in family.scenarios} | {"family.toml"}
        assert {path.name for path in (FOLDER / family.key).glob("*.toml")} == listed
    assert {path.name for path in FOLDER.iterdir()} == {family.key for family in SUITE.families} | {"suite.toml"}


def test_the_head_of_a_file_says_what_it_measures_and_how_to_run_it() -> None:
    for one in SUITE.scenarios.values():
        lines = one.path.read_text().splitlines()
        assert lines[0] == f"# {one.measures}"
        assert lines[1].startswith(f"# Source: {one.source}. Buffer: ")
        assert f"fairlane run suites/{SUITE.key}/{one.name}.toml" in lines[2]
        assert tomllib.loads("\n".join(lines))["name"] == one.name
        assert (ROOT / "suites" / SUITE.key / f"{one.name}.toml").samefile(one.path)


def test_every_scenario_can_be_run_and_has_what_it_is_scored_by() -> None:
    for one in SUITE.scenarios.values():
        canonical = one.scenario.canonical()
        table = json.loads(canonical)
        names = {group["name"] for group in table["groups"]}
        assert set(one.judged) <= names, one.name
        assert {name for phase in one.phases for name in phase.shares} <= names, one.name
        assert bool(one.phases) == ("convergence" in one.scores), one.name
        assert table["run"]["replications"] == 10
        end_s = sum(float(table["run"][key].split()[0]) for key in ("warmup", "measure"))
        assert all(0 <= phase.from_s < phase.to_s <= end_s for phase in one.phases), one.name
        metrics = metric_names(canonical)
        judged = one.judged or names
        if "completion" in one.scores:
            assert any(f"transfers_slowdown_p95.{name}" in metrics for name in judged), one.name
        assert all(f"one_way_delay_p99_s.{name}" in metrics for name in judged), one.name


def test_every_criterion_is_scored_somewhere() -> None:
    scored = {key for one in SUITE.scenarios.values() for key in one.scores}
    assert scored == CRITERIA.keys() - {COST_CORE, COST_EDGE}
    # A quick evaluation only leaves out the criterion that needs 10 000 users.
    quick = {key for one in SUITE.selected(quick=True) for key in one.scores}
    assert scored - quick == {"state_core", "state_edge"}


@pytest.mark.parametrize(
    "name", daily(["many-flows/16-flows", "cheats/priority", "in-series/codel-behind"], "in-series/codel-behind")
)
def test_all_schemes_of_a_scenario_have_one_buffer_and_their_own_defaults(name: str) -> None:
    one = SUITE.scenarios[name]
    own = json.loads(one.scenario.canonical())
    for entry in entries(["all"]):
        table = json.loads(entry.canonical(one))
        assert table["queue"]["limit"] == own["queue"]["limit"]
        assert table["groups"] == own["groups"]
        assert table["queue"]["scheme"] == entry.scheme
        defaults = fairlane.schemes(entry.scheme)[0]["params"]
        for param in defaults:
            if not param["shared"] and param["name"] != "share_per" and isinstance(param["default"], bool | int):
                assert table[param["table"]][param["name"]] == param["default"]


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.long)])
def test_every_scheme_can_be_run_in_every_scenario(every: int) -> None:
    everyone = entries(["all"])
    for one in SUITE.selected(quick=every > 1)[::every]:
        assert len({entry.canonical(one) for entry in everyone}) == len(everyone)


def test_a_cheat_who_marks_priority_meets_a_scheduler_where_there_is_one() -> None:
    one = SUITE.scenarios["cheats/priority"]
    schedulers = {
        entry.scheme: json.loads(entry.canonical(one))["queue"]["scheduler"] for entry in entries(["droptail", "wfq"])
    }
    assert schedulers == {"droptail": "strict", "wfq": "fifo"}


def test_labels_are_forged_where_the_scheme_has_some() -> None:
    one = SUITE.scenarios["cheats/forged-labels"]
    forged = {
        entry.scheme: json.loads(entry.canonical(one))["groups"][1]["forged_labels"]
        for entry in entries(["abc", "csfq", "fq_codel"])
    }
    assert forged == {"abc": True, "csfq": True, "fq_codel": False}


def test_the_list_says_what_is_measured_and_how(cli: Cli) -> None:
    text = cli.output("evaluate", "--list")
    assert "many-flows/16-flows" in text
    assert SUITE.digest in text
    document = cli.document("evaluate", "--list")
    assert [one["scenario"] for family in document["families"] for one in family["scenarios"]] == list(SUITE.scenarios)
    assert cli.error("evaluate", "abc", "--list") == "--list: abc has no effect with it"


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ('name = "x"\n', "a suite needs families"),
        ("name = \n", "suite.toml: Invalid value"),
    ],
)
def test_a_suite_that_is_none_is_refused(head: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(head)
    with pytest.raises(UserError, match=message):
        suites.read(tmp_path)


def test_an_unknown_suite_is_refused() -> None:
    with pytest.raises(UserError, match=r"suite: 'fairlane-0.1' is no suite .* did you mean fairlane-1.0"):
        suites.read("fairlane-0.1")


def families(suite: Suite) -> list[str]:
    return [family.key for family in suite.families]


def test_patterns_choose_families_and_scenarios_with_what_harm_is_measured_from() -> None:
    assert {one.family for one in SUITE.selected(only=["cheats"])} == {"cheats"}
    assert [one.name for one in SUITE.selected(only=["pairs/cubic-vegas"])] == [
        "pairs/alone",
        "pairs/cubic-cubic",
        "pairs/cubic-vegas",
    ]
    with pytest.raises(UserError, match=r"only: 'cheat' fits no scenario"):
        SUITE.selected(only=["cheat"])
    with pytest.raises(UserError, match="none of bottlenecks/5-links is part of a quick evaluation"):
        SUITE.selected(only=["bottlenecks/5-links"], quick=True)
