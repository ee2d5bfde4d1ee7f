"""Tests `fairlane check`: expectations that hold, are violated or stay inconclusive, and reports for CI systems."""

import inspect
import json
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import polars as pl
import pytest

import fairlane
from conftest import EXAMPLES, SHORT, SHORT_SCENARIO, Cli
from fairlane import Scenario, UserError, expect
from fairlane.judge.expectations import judge
from fairlane.simulate.expectation import KEYS, expectations

CHECKS = sorted((EXAMPLES / "checks").glob("*.toml"))


def with_expectations(folder: Path, text: str, name: str = "checked.toml") -> str:
    """Writes short.toml with additional lines at the end."""
    (folder / name).write_text(f"{SHORT}\n{text}")
    return name


HELD = '[[expect]]\nmetric = "jain_index"\nmin = "1 %"\n'
VIOLATED = '[[expect]]\nmetric = "utilisation.bottleneck"\nmin = 1.5\nwhy = "Nothing is busier than always."\n'


def test_the_cases_of_the_draft_of_bbr3_hold_as_far_as_their_files_judge() -> None:
    checked = fairlane.check(sorted((EXAMPLES / "bbr3").glob("*.toml")))
    assert len(checked.scenarios) == 19
    assert checked.passed, [one for one in checked.verdicts if one.verdict != "held"]


@pytest.mark.parametrize(
    ("case", "setting"),
    [
        ("02-startup-loss", {"tcp.bbr3_loss_threshold": 0.5}),
        ("11-probe-rtt-skipped", {"tcp.bbr3_probe_rtt_interval": "2 s"}),
        ("16-bandwidth-down", {"tcp.bbr3_probe_wait": "30 s"}),
    ],
)
def test_a_sender_that_departs_from_the_draft_of_bbr3_violates_its_case(case: str, setting: dict[str, Any]) -> None:
    checked = fairlane.check(EXAMPLES / "bbr3" / f"{case}.toml", settings=setting)
    assert "violated" in {one.verdict for one in checked.verdicts}


def test_the_examples_hold(cli: Cli) -> None:
    document = cli.document("check", *CHECKS)
    jsonschema.validate(document, fairlane.schema("check"))
    assert [one["file"] for one in document["scenarios"]] == list(map(str, CHECKS))
    verdicts = [(one["metric"], one["verdict"]) for of in document["scenarios"] for one in of["expectations"]]
    assert document["passed"]
    assert {verdict for _, verdict in verdicts} == {"held"}
    assert len(verdicts) == sum(len(Scenario.from_toml(file).expectations) for file in CHECKS)


def test_a_violated_expectation_ends_with_1_and_is_named_with_its_reason(cli: Cli, workdir: Path) -> None:
    good = with_expectations(workdir, HELD, "good.toml")
    bad = with_expectations(workdir, HELD + VIOLATED, "bad.toml")
    done = cli("check", good, bad)
    assert (done.returncode, done.stderr) == (1, "")
    (line,) = (line for line in done.stdout.splitlines() if "violated" in line and "utilisation.bottleneck" in line)
    assert "≥ 1.5" in line
    assert "Nothing is busier than always." in done.stdout
    assert done.stdout.splitlines()[-1].startswith("3 expectations: 2 held, 1 violated")
    assert cli("check", good).returncode == 0


def test_one_replication_leaves_everything_open(cli: Cli, workdir: Path) -> None:
    done = cli("check", with_expectations(workdir, HELD), "--replications", "1", "--json")
    (verdict,) = json.loads(done.stdout)["scenarios"][0]["expectations"]
    assert (done.returncode, verdict["verdict"], verdict["half_width"]) == (1, "inconclusive", None)
    assert verdict["reason"] == "one replication has no interval"


def run_with(value: float | None) -> dict[str, Any]:
    """A record with a value of a metric without unit."""
    return {"throughput_ratio": value, "groups": [], "links": []}


# The mean of 1, 2 and 3 is 2, and the half width of the interval is t(0.975; 2) / sqrt(3) = 4.3027 / 1.7321 = 2.484.
@pytest.mark.parametrize(
    ("table", "verdict"),
    [
        ({"max": 4.49}, "held"),
        ({"max": 4.48}, "inconclusive"),
        ({"max": -0.48}, "inconclusive"),
        ({"max": -0.49}, "violated"),
        ({"min": -0.49}, "held"),
        ({"min": -0.48}, "inconclusive"),
        ({"min": 4.49}, "violated"),
        ({"min": -0.49, "max": 4.48}, "inconclusive"),
        ({"equals": 2, "tolerance": 2.49}, "held"),
        ({"equals": 2, "tolerance": "124.5 %"}, "held"),
        ({"equals": 2, "tolerance": 2.48}, "inconclusive"),
        ({"equals": 7, "tolerance": "35 %"}, "violated"),
    ],
)
def test_the_whole_interval_must_be_as_expected(table: dict[str, Any], verdict: str) -> None:
    (expectation,) = expectations([{"metric": "throughput_ratio", **table}])
    assert judge(expectation, [run_with(value) for value in (1.0, 2.0, 3.0)]).verdict == verdict


def test_a_number_that_some_replications_lack_leaves_it_open() -> None:
    (expectation,) = expectations([expect("throughput_ratio", max=9)])
    verdict = judge(expectation, [run_with(2.0), run_with(2.0), run_with(None)])
    assert (verdict.verdict, verdict.n) == ("inconclusive", 2)
    assert verdict.reason == "only 2 of 3 replications with such a number"
    nothing = judge(expectation, [run_with(None)])
    assert (nothing.verdict, nothing.mean, nothing.n) == ("inconclusive", None, 0)


@pytest.mark.parametrize(
    ("metric", "written", "value"),
    [
        ("goodput_bps.light", "2 Mbit/s", 2e6),
        ("goodput_bps.light", "2000kbps", 2e6),
        ("delay_mean_s.BE.bottleneck", "5 ms", 5e-3),
        ("delay_mean_s.BE.bottleneck", "1e-3 min", 0.06),
        ("queue_mean_packets.bottleneck", "2.5 packets", 2.5),
        ("queue_mean_bytes.bottleneck", "2 KiB", 2048.0),
        ("utilisation.bottleneck", "95 %", 0.95),
        ("utilisation.bottleneck", 0.95, 0.95),
        ("transfers_completed.light", 7, 7),
    ],
)
def test_quantities_have_the_units_of_scenarios(metric: str, written: str | float, value: float) -> None:
    (expectation,) = expectations([expect(metric, max=written)])
    assert expectation.bounds == (None, pytest.approx(value, rel=1e-12))


def test_a_window_looks_at_that_part_of_the_series(workdir: Path) -> None:
    window = 'from = "0.5 s"\nto = "1.5 s"\n'
    text = f"""
[probes]
series_interval = "0.1 s"
[[expect]]
metric = "throughput_bps.light"
max = "10 Mbit/s"
{window}
[[expect]]
metric = "queue_packets.bottleneck"
max = "24 packets"
{window}"""
    file = workdir / with_expectations(workdir, text)
    light, queue = fairlane.check(file).verdicts
    rows = fairlane.run(file).series_frame().filter(pl.col("time_s").is_between(0.55, 1.55))  # ends of bins
    means = {row["quantity"]: row["value"] for row in rows.group_by("quantity").agg(pl.col("value").mean()).to_dicts()}
    assert queue.mean == pytest.approx(means["queue_packets"])
    # The series is the rate of the group, which has two users; the metric is per user.
    of_light = rows.filter(pl.col("subject") == "light", pl.col("quantity") == "throughput_bps")["value"].mean()
    assert light.mean == pytest.approx(of_light / 2)
    assert (light.verdict, queue.verdict) == ("held", "held")


def test_junit_has_a_case_for_each_expectation(cli: Cli, workdir: Path) -> None:
    good = with_expectations(workdir, HELD, "good <&>.toml")
    bad = with_expectations(workdir, HELD + VIOLATED, "bad.toml")
    assert cli("check", good, bad, "--junit", "out/junit.xml").returncode == 1
    written = (workdir / "out" / "junit.xml").read_bytes()
    root = ElementTree.fromstring(written)
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "3", "1")
    assert [(suite.get("name"), len(suite)) for suite in root] == [(good, 1), (bad, 2)]
    (failure,) = root.iter("failure")
    assert (failure.get("type"), failure.text) == ("violated", "Nothing is busier than always.")
    assert cli("check", good, bad, "--junit", "out/junit.xml").returncode == 1
    assert (workdir / "out" / "junit.xml").read_bytes() == written


@pytest.mark.parametrize(
    "command",
    [
        ["run"],
        ["compare", "--queues", "abc,droptail"],
        ["lab", "compare", "--queues", "abc", "--plane", "simulator"],
    ],
    ids=lambda command: command[0],
)
def test_other_commands_say_that_they_judge_nothing(cli: Cli, workdir: Path, command: list[str]) -> None:
    done = cli(*command, with_expectations(workdir, HELD))
    told = "note: expect: 1 expectation is not judged by this command, but by `fairlane check`\n"
    assert (done.returncode, done.stderr) == (0, told)


def test_a_sweep_says_that_it_judges_nothing_and_varies_no_expectation(cli: Cli, workdir: Path) -> None:
    with_expectations(workdir, HELD)
    (workdir / "sweep.toml").write_text('scenario = "checked.toml"\n')
    assert "note: expect: 1 expectation is not judged" in cli("sweep", "sweep.toml").stderr
    (workdir / "other.toml").write_text('scenario = "checked.toml"\ngrid."expect[0].min" = [0.1, 0.2]\n')
    cli.refuses(["sweep", "other.toml"], ["expect[0].min", "no effect"])


def test_expectations_change_no_run(workdir: Path) -> None:
    checked = Scenario.from_toml(workdir / with_expectations(workdir, HELD + VIOLATED))
    assert checked.canonical() == SHORT_SCENARIO.canonical()


def test_a_scenario_that_is_built_is_checked_like_its_file(workdir: Path) -> None:
    table = SHORT_SCENARIO.to_dict() | {"expect": [expect("jain_index", min="1 %")]}
    assert table == tomllib.loads((workdir / with_expectations(workdir, HELD)).read_text())
    checked = fairlane.check(Scenario.from_dict(table), seed=2, settings={"run.measure": "0.5 s"})
    assert checked.passed
    assert repr(checked) == "<Check of 1 scenarios: 1 held>"
    assert [scenario["file"] for scenario in checked.scenarios] == [None]


def test_expect_takes_every_key() -> None:
    parameters = inspect.signature(expect).parameters
    assert {*parameters, "from", "to"} - {"window"} == set(KEYS)
    assert expect("jain_index", max=1, window=("1 s", None)) == {"metric": "jain_index", "max": 1, "from": "1 s"}


MISTAKES: dict[str, tuple[str, list[str]]] = {
    "nothing to check": ("", ["checked.toml", "expect", "[[expect]]"]),
    "unknown metric": (
        'metric = "throughputratio"\nmin = 1',
        ["expect[0].metric", "throughputratio", "throughput_ratio"],
    ),
    "metric like no other": (
        'metric = "zzz"\nmin = 1',
        ["expect[0].metric: 'zzz' is not measured by this scenario; the nearest of "],
    ),
    "metric of no group": (
        'metric = "goodput_bps.heav"\nmin = "1 bit/s"',
        ["expect[0].metric", "goodput_bps.heav", "goodput_bps.heavy"],
    ),
    "metric that is not measured": (
        'metric = "delivered_share.heavy"\nmin = 0.5',
        ["delivered_share.heavy", "not measured by this scenario", "delivered_share.light"],
    ),
    "unknown key": ('metric = "jain_index"\nmni = 1', ["expect[0].mni", "min"]),
    "no metric": ("min = 1", ["expect[0].metric", "throughput_ratio"]),
    "nothing expected": ('metric = "jain_index"', ["expect[0]", "equals", "min", "max"]),
    "too much expected": ('metric = "jain_index"\nmin = 1\nequals = 1\ntolerance = 0', ["expect[0]", "either"]),
    "no tolerance": ('metric = "jain_index"\nequals = 1', ["expect[0].tolerance", "5 %"]),
    "useless tolerance": ('metric = "jain_index"\nmin = 1\ntolerance = 1', ["expect[0].tolerance", "no effect"]),
    "negative tolerance": ('metric = "jain_index"\nequals = 1\ntolerance = -0.1', ["expect[0].tolerance", "-0.1"]),
    "bounds exchanged": ('metric = "jain_index"\nmin = 0.9\nmax = "80 %"', ["expect[0].max", "80 %", "0.9"]),
    "no unit": ('metric = "goodput_bps.light"\nmin = 5', ["expect[0].min", "5", "2 Mbit/s"]),
    "wrong unit": ('metric = "goodput_bps.light"\nmin = "5 ms"', ["expect[0].min", "5 ms", "2 Mbit/s"]),
    "a unit too many": ('metric = "jain_index"\nmin = "5 ms"', ["expect[0].min", "5 ms", "95 %"]),
    "not a number": ('metric = "jain_index"\nmin = nan', ["expect[0].min", "nan"]),
    "no series": (
        'metric = "throughput_bps.light"\nmin = "1 bit/s"\nfrom = "1 s"',
        ["expect[0]", "probes.series_interval"],
    ),
    "no time": ('metric = "jain_index"\nmin = 1\nfrom = "1 m"', ["expect[0].from", "1 m", "5 ms"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(cli: Cli, workdir: Path, mistake: str) -> None:
    text, mentions = MISTAKES[mistake]
    file = with_expectations(workdir, f"[[expect]]\n{text}\n" if text else "")
    cli.refuses(["check", file], ["checked.toml", *mentions])


WINDOWS = {
    "not in a series": (
        "jain_index",
        'from = "1 s"',
        ["expect[0].metric", "no time series", "queue_packets.bottleneck"],
    ),
    "after the end": ("rate_bps.light", 'to = "3 s"', ["expect[0].to", "3", "2 s"]),
    "between bins": ("rate_bps.light", 'from = "1.01 s"\nto = "1.05 s"', ["expect[0]", "0.1 s"]),
}


@pytest.mark.parametrize("mistake", WINDOWS)
def test_a_window_that_holds_nothing_is_one_line(workdir: Path, mistake: str) -> None:
    metric, window, mentions = WINDOWS[mistake]
    least = "0.5" if metric == "jain_index" else '"1 bit/s"'
    probes = '[probes]\nseries_interval = "0.1 s"\n'
    text = f'{probes}[[expect]]\nmetric = "{metric}"\nmin = {least}\n{window}\n'
    with pytest.raises(UserError) as raised:
        fairlane.check(workdir / with_expectations(workdir, text))
    assert all(mention in str(raised.value) for mention in mentions), raised.value


def test_a_wrong_expectation_stops_a_run_too(cli: Cli, workdir: Path) -> None:
    cli.refuses(["run", with_expectations(workdir, '[[expect]]\nmetric = "jain_index"\n')], ["expect[0]", "min"])


def test_no_scenario_is_overwritten(cli: Cli, workdir: Path) -> None:
    file = with_expectations(workdir, HELD)
    cli.refuses(["check", file, "--junit", f"./{file}"], ["--junit", file])
    cli.refuses(["check", file, "--junit", "."], ["--junit", "not a file"])
    cli.refuses(["check"], ["SCENARIO.toml"])
