"""Tests `fairlane evaluate`: measures with known values, ranks, requirements, stored runs, and reproducible bytes."""

import copy
import json
import math
import random
import re
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import fairlane
from conftest import ROOT, Cli, contents, wait_for_a_kept_run
from fairlane import Evaluation, UserError
from fairlane.evaluate import suite as suites
from fairlane.evaluate.cells import GOODPUT, Measured, criterion_value
from fairlane.evaluate.entries import entries, parsed
from fairlane.evaluate.measures import measures, percentile, settling_s
from fairlane.evaluate.ranks import all_ranks, nearest, ranks
from fairlane.evaluate.requirements import requirements
from fairlane.evaluate.suite import Harm, Phase, SuiteScenario
from fairlane.results.intervals import Interval
from fairlane.results.metrics import CRITERIA

SUITE = suites.read()
SMALL = ["unresponsive/all-of-them", "many-users/datagrams-100"]
"""Scenarios that take milliseconds."""


def cell(evaluation: Evaluation, label: str, scenario: str, criterion: str) -> Interval:
    return evaluation.placed[label].cells[scenario, criterion]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evaluated")


# Cases with known answers.


def test_wfq_gives_every_user_what_is_due(store: Path) -> None:
    only = ["unresponsive/all-of-them", "entitlement/datagrams", "bottlenecks/datagrams"]
    found = fairlane.evaluate(["wfq"], only=only, replications=2, store=store)
    for name in only:
        # A user that always sends gets its share, except for packets at the ends of the window.
        assert cell(found, "wfq", name, "worst_share").mean == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("schemes", "least"),
    [
        pytest.param(["all"], 42, marks=pytest.mark.long, id="all"),
        pytest.param(["droptail", "abc", "csfq", "wfq", "drr", "fq_codel", "cake"], 7, id="some"),
    ],
)
def test_drop_tail_is_among_the_last_at_unresponsive_senders(schemes: list[str], least: int, store: Path) -> None:
    name = "overload/full"
    found = fairlane.evaluate(schemes, only=[name], replications=2, store=store)
    everyone = {entry.label: {"worst_share": cell(found, entry.label, name, "worst_share")} for entry in found.entries}
    place = ranks(everyone, "worst_share")["droptail"]
    # Two newer entries leave the user even less than drop-tail does.
    assert place.of >= least
    assert place.last >= place.of - 2
    # The datagrams alone fill the link and the queue.
    assert everyone["droptail"]["worst_share"].mean < 0.1


@pytest.mark.parametrize("scheme", ["droptail", "red", "pie", "codel"])
def test_a_scheme_without_state_cannot_tell_users_apart(scheme: str, store: Path) -> None:
    table = fairlane.Scenario.from_toml(SUITE.scenarios["many-flows/16-flows"].path).changed({"run.replications": 6})
    (result,) = fairlane.compare(table, [scheme], store=store).results.values()
    ratios = []
    for run in result.runs:
        heavy, light = run["groups"]
        ratios.append(heavy["throughput_bps"] / 16 / light["throughput_bps"])
    # All flows of a run differ only in their user, so both groups have the same mean except for chance.
    assert math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) == pytest.approx(1, abs=0.25)


def test_who_tells_users_apart_gives_sixteen_flows_the_share_of_one() -> None:
    table = fairlane.Scenario.from_toml(SUITE.scenarios["many-flows/16-flows"].path).changed({"run.replications": 2})
    (result,) = fairlane.compare(table, ["wfq"]).results.values()
    for run in result.runs:
        heavy, light = run["groups"]
        assert heavy["throughput_bps"] / light["throughput_bps"] == pytest.approx(1, abs=0.02)


def test_a_scheme_that_is_entered_twice_has_two_equal_rows(store: Path) -> None:
    found = fairlane.evaluate(["abc", "again=abc", "droptail"], only=SMALL, replications=2, store=store)
    assert found.values["abc"] == found.values["again"] | {
        key: value for key, value in found.values["abc"].items() if key.startswith("cost")
    }
    assert found.placed["abc"].cells == found.placed["again"].cells
    for of_key in found.places.values():
        if "again" in of_key:
            assert of_key["abc"] == of_key["again"]
    assert found.nearest("abc")[0] == "again"


def scored(name: str, **settings: Any) -> tuple[SuiteScenario, dict[str, Any], dict[str, Any]]:
    one = SUITE.scenarios[name]
    result = fairlane.run(one.scenario.changed(settings), replications=1)
    return one, result.scenario, result.runs[0]


def test_other_names_and_another_order_of_users_change_no_score() -> None:
    one, canonical, run = scored("packet-sizes/tcp")
    expected = measures(one, canonical, run)
    assert expected["share_worst"]
    other_canonical, other = copy.deepcopy(canonical), copy.deepcopy(run)
    for table in (other_canonical, other):
        table["groups"].reverse()
        for group in table["groups"]:
            group["name"] = f"other-{group['name']}"
    for group in other["groups"]:
        random.Random(1).shuffle(group["user_goodput_bps"])
    assert measures(one, other_canonical, other) == pytest.approx(expected, nan_ok=True)
    # The simulator ignores names, too.
    one, _, renamed = scored("packet-sizes/tcp", **{"groups[0].name": "a", "groups[1].name": "b"})
    assert measures(one, canonical, renamed) == expected


# Measures.


def test_shares_count_payload_of_what_users_ask_for() -> None:
    group = {
        "name": "a",
        "users": 4,
        "max_min_share_bps": 1.5e6,
        "user_goodput_bps": [1.448e6, 0.724e6, 2.896e6, 1.448e6],
        "path": {"delivered_packets": 90, "dropped_packets": 10, "marked_packets": 9, "one_way_delay": None},
    }
    run = {
        "groups": [group],
        "links": [{"utilisation": 0.6, "max_min_utilisation": 0.8, "state": {"bytes": 24}}],
        "edge_state": {"bytes": 128},
        "series": None,
    }
    canonical = {"groups": [{"name": "a", "rtt": "80 ms", "sources": [{"segment_payload": 1448, "header_bytes": 52}]}]}
    found = measures(SUITE.scenarios["packet-sizes/tcp"].__class__("f/s", Path(), "", "", []), canonical, run)
    # 1448 of 1500 bytes are payload, so the shares are 1, 0.5, 2 and 1.
    assert found["share_worst"] == pytest.approx(0.5)
    assert found["share_mean"] == pytest.approx(4.5 / 4)
    assert found["jain"] == pytest.approx(4.5**2 / (4 * (1 + 0.25 + 4 + 1)))
    assert found["use"] == pytest.approx(0.75)
    assert (found["lost_share"], found["marked_share"]) == (0.1, 0.1)
    assert (found["state_core_bytes"], found["state_edge_bytes"]) == (24, 32)
    assert found["completion"] is None


@pytest.mark.parametrize(("count", "place"), [(1, 1), (99, 1), (100, 1), (101, 2), (1000, 10), (10_000, 100)])
def test_the_worst_hundredth_ends_where_one_in_a_hundred_is_no_better(count: int, place: int) -> None:
    assert percentile([float(number) for number in range(count, 0, -1)], 0.01) == place


def test_shares_have_settled_when_they_stay_near_what_they_are_to_be() -> None:
    phase = Phase(10, 20, {"a": 1, "b": 1})
    bins = 200  # of 0.1 s
    even = [1.0] * bins
    # From 10 s to 13 s, group b receives nothing. A window of 1 s is within 10 % of equal shares if b's share is at
    # least 0.45. Then b has at least 0.9/1.1 of a's throughput. Such a window has at most one bin from before 13 s.
    late = [0.0 if 100 <= number < 130 else 1.0 for number in range(bins)]
    assert settling_s(phase, {"a": even, "b": even}, 0.1) == 0
    assert settling_s(phase, {"a": even, "b": late}, 0.1) == pytest.approx(2.9)
    assert settling_s(phase, {"a": even, "b": [0.0] * bins}, 0.1) == 10
    assert settling_s(phase, {"a": [0.0] * bins, "b": [0.0] * bins}, 0.1) == 10
    # Earlier bins do not count.
    assert settling_s(phase, {"a": even, "b": [0.0] * 100 + [1.0] * 100}, 0.1) == 0


def test_harm_is_what_is_lost_beyond_what_the_own_kind_takes() -> None:
    one = SuiteScenario("f/beside", Path(), "", "", ["harm"], harm=Harm("a", "f/alone", "f/itself"))
    of = {"f/alone": [10.0, 20.0], "f/itself": [5.0, 10.0], "f/beside": [2.0, 10.0]}
    rows: dict[str, list[dict[str, float | None]]] = {
        name: [{GOODPUT: value} for value in values] for name, values in of.items()
    }
    found = Measured(rows).cells([one])["f/beside", "harm"]
    assert found.mean == pytest.approx((0.3 + 0.0) / 2)
    # A gain does not compensate for another user's loss.
    assert criterion_value("harm", [Interval(0.4, 0.0, 2), Interval(-0.4, 0.0, 2)]).mean == pytest.approx(0.2)


def test_the_interval_of_a_criterion_is_that_of_a_mean_of_means() -> None:
    # Student's t for 2 degrees of freedom is 4.303, so both standard errors are 0.1. The standard error of the mean is
    # 0.1 / sqrt(2). Welch and Satterthwaite give 4 degrees of freedom, for which t is 2.776.
    cells = [Interval(1.0, 0.43027, 3), Interval(2.0, 0.43027, 3)]
    found = criterion_value("worst_share", cells)
    assert found.mean == 1.5
    assert found.half_width == pytest.approx(2.776 * 0.1 / math.sqrt(2), rel=1e-3)
    assert criterion_value("worst_share", [Interval(1.0, None, 1), cells[0]]).half_width is None


def test_places_leave_room_for_what_intervals_leave_open() -> None:
    values = {
        "a": {"worst_share": Interval(0.9, 0.01, 3), "delay_p99": Interval(0.1, None, 1)},
        "b": {"worst_share": Interval(0.8, 0.05, 3), "delay_p99": Interval(0.1, None, 1)},
        "c": {"worst_share": Interval(0.78, 0.05, 3), "delay_p99": Interval(0.05, None, 1)},
        "d": {"worst_share": Interval(0.1, 0.01, 3)},
    }
    found = ranks(values, "worst_share")
    assert {name: (one.rank, one.first, one.last, one.of) for name, one in found.items()} == {
        "a": (1, 1, 1, 4),
        "b": (2, 2, 3, 4),
        "c": (3, 2, 3, 4),
        "d": (4, 4, 4, 4),
    }
    assert {name: one.rank for name, one in ranks(values, "delay_p99").items()} == {"a": 2, "b": 2, "c": 1}
    assert list(nearest(all_ranks(values), "a", 2)) == ["b", "c"]


# Entries and requirements.


def test_what_shares_among_flows_or_users_is_entered_twice() -> None:
    labels = [entry.label for entry in entries(["all"])]
    names = [scheme["name"] for scheme in fairlane.schemes() if not scheme["shapes"]]
    assert "htb" not in names
    twice = [scheme["name"] for scheme in fairlane.schemes() if any(p["name"] == "share_per" for p in scheme["params"])]
    assert len(labels) == len(names) + len(twice)
    assert {"fq_codel", "fq_codel:share_per=user", "wfq", "wfq:share_per=flow", "csfq:share_per=flow"} <= set(labels)
    assert [parsed(label).shares_per for label in ("fq_codel", "fq_codel:share_per=user", "droptail")] == [
        "flow",
        "user",
        None,
    ]


@pytest.mark.parametrize(
    ("schemes", "message"),
    [
        (["abd"], "abd: no such scheme"),
        (["abc", "abc"], "abc is given twice; name one of them otherwise, as in again=abc"),
        (["abc:gama=3"], "'gama' is no parameter of its own; did you mean gamma?"),
        (["abc:gamma"], "'gamma' is not KEY=VALUE"),
        (["abc:limit=3 packets"], "'limit' is no parameter of its own"),  # all schemes have the same buffer
        (["abc:gamma=3 apples"], 'abc:gamma=3 apples: queue.gamma: "3 apples"'),
        (["my abc=abc"], "'my abc' is no name of an entry"),
        ([], "schemes: none given"),
    ],
)
def test_an_entry_that_is_none_is_refused(schemes: list[str], message: str) -> None:
    with pytest.raises(UserError) as error:
        fairlane.evaluate(schemes, only=SMALL, replications=1)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worst_share", "is not CRITERION>=NUMBER"),
        ("share>=0.8", "'share' is no criterion; there are worst_share, jain"),
        ("worst_share>=0.8.1", "'0.8.1' is not a number"),
    ],
)
def test_a_requirement_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        requirements([text])


def test_the_exit_code_says_whether_requirements_are_met(cli: Cli) -> None:
    command = ["evaluate", "wfq", "--only", SMALL[0], "--replications", "2"]
    assert cli(*command, "--require", "worst_share>=0.9").returncode == 0
    failed = cli(*command, "--require", "worst_share>=0.9", "--require", "jain < 0.9")
    assert failed.returncode == 1
    assert "not met: wfq: jain<0.9, it is " in failed.stdout
    # A requirement on a criterion that is not measured fails.
    assert cli(*command, "--require", "harm<=1").returncode == 1
    assert cli.error(*command, "--require", "worst_share=1").startswith("require: ")


# The user's scheme.

PAGE = (ROOT / "docs" / "howto" / "evaluate.md").read_text()


def report_card_of_the_page(cli: Cli, *more: str) -> Any:
    """Report card that the command in docs/howto/evaluate.md prints for the scheme in that page."""
    file, code = re.search(r"into a file, (\S+\.py):\n\n```python\n(.*?)```", PAGE, re.DOTALL).groups()  # type: ignore[union-attr]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    (cli.folder / file).write_text(code)
    (command,) = re.findall(r"One command gives its report card:\n\n```sh\n(.*)\n```", PAGE)
    program, *words = shlex.split(command)
    assert program == "fairlane"
    return cli.document(*words, *more)


def test_a_scheme_in_python_has_its_report_card_by_one_command_of_the_page(cli: Cli) -> None:
    document = report_card_of_the_page(cli, "--only", "cheats/flood", "--replications", "1")
    (entry,) = document["entries"]
    (cheats,) = (one for one in entry["criteria"] if one["criterion"] == "cheats")
    # The scheme pushes out only packets of the flood. Thus each of the ten users has a tenth of the queue, and the
    # flood has at most a tenth.
    assert cheats["value"]["mean"] > 0.5
    assert not (cli.folder / "results" / "store").exists()


def test_a_scheme_of_this_process_cannot_be_run_elsewhere() -> None:
    fairlane.register_scheme("stays-here")(lambda _port: object())  # type: ignore[arg-type, return-value]
    with pytest.raises(UserError, match="ray: stays-here is written in Python, which stays in this process"):
        fairlane.evaluate(["stays-here"], only=SMALL, ray="local")


@pytest.mark.long
def test_its_report_card_has_every_criterion_but_state_and_cost(cli: Cli) -> None:
    (entry,) = report_card_of_the_page(cli)["entries"]
    found = {one["criterion"] for one in entry["criteria"]}
    assert found == {key for key in CRITERIA if not key.startswith(("state", "cost"))}


# Documents, stores, bytes.


def test_the_document_has_the_places_of_all_entries(store: Path) -> None:
    found = fairlane.evaluate(["abc", "droptail"], only=SMALL, replications=2, store=store)
    document = json.loads(found.json())
    jsonschema.validate(document, fairlane.schema("evaluation"))
    assert [entry["entry"] for entry in document["entries"]] == ["abc", "droptail"]
    (worst,) = (one for one in document["entries"][0]["criteria"] if one["criterion"] == "worst_share")
    assert worst["value"]["mean"] == found.values["abc"]["worst_share"].mean
    assert worst["of"] == len(found.placed)


def test_the_raw_results_are_those_of_the_runs(store: Path, tmp_path: Path) -> None:
    found = fairlane.evaluate(["abc", "droptail"], only=SMALL, replications=2, store=store)
    found.write(tmp_path / "out")
    runs = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    assert runs.height == 2 * 2 * 2
    one = runs.filter((pl.col("entry") == "abc") & (pl.col("scenario") == SMALL[0]))["share_worst"].to_list()
    assert cell(found, "abc", SMALL[0], "worst_share").mean == pytest.approx(sum(one) / 2, rel=1e-12)
    cells = pl.read_parquet(tmp_path / "out" / "cells.parquet")
    assert cells.height == sum(len(found.placed[label].cells) for label in ("abc", "droptail"))
    criteria = pl.read_parquet(tmp_path / "out" / "criteria.parquet")
    assert set(criteria["entry"]) == set(found.placed)


def test_any_number_of_threads_gives_the_same_bytes(cli: Cli) -> None:
    for threads in ("1", "2"):
        options = ["--only", SMALL[0], "--replications", "3", "--threads", threads, "--store", f"store-{threads}"]
        cli.output("evaluate", "abc", "fq_codel:share_per=user", *options, "--out", f"out-{threads}")
    written = [sorted((cli.folder / f"out-{threads}").iterdir()) for threads in ("1", "2")]
    assert [path.name for path in written[0]] == [path.name for path in written[1]]
    for first, second in zip(*written, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name
    assert contents(cli.folder / "store-1") == contents(cli.folder / "store-2")


def test_a_kill_in_the_middle_loses_nothing(cli: Cli) -> None:
    command = ["evaluate", "droptail", "wfq", "--only", "many-flows/1*-flows", "--replications", "2"]
    whole = cli.document(*command, "--store", "whole")
    process = cli.start(*command, "--store", "killed", "--threads", "1")
    wait_for_a_kept_run(cli.folder / "killed")
    process.kill()
    process.communicate()
    kept = sum(journal.read_text().count("\n") for journal in (cli.folder / "killed").glob("journal/*.jsonl"))
    assert kept
    resumed = cli(*command, "--store", "killed", "--json")
    assert json.loads(resumed.stdout) == whole
    assert contents(cli.folder / "killed") == contents(cli.folder / "whole")
    # All runs are stored.
    assert cli(*command, "--store", "killed", "--json").stderr == ""


def test_a_quick_evaluation_leaves_its_runs_to_a_full_one(store: Path) -> None:
    name = "many-users/datagrams-100"
    quick = fairlane.evaluate(["abc"], only=[name], quick=True, store=store / "quick")
    full = fairlane.evaluate(["abc"], only=[name], store=store / "quick")
    assert quick.measured["abc"].rows[name] == full.measured["abc"].rows[name][:3]
    assert "quick: fewer scenarios and runs; values differ from those of the full suite" in quick.notes
