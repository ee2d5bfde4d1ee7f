"""The designer tunes parameters on one half of the scenarios and validates them on the other half."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

import fairlane
from conftest import EXAMPLES, SHORT, Cli
from fairlane.evaluate.entries import parsed
from fairlane.results.metrics import OBJECTIVES
from fairlane.search.designer import designer
from fairlane.search.optimiser import Point
from fairlane.search.scenario_set import halves, read
from fairlane.search.tuning import criteria

pytest.importorskip("cma", reason="needs pip install 'fairlane[search]'")

TUNE = ["--tune", "queue.gamma=1..60 packets:log", "--tune", "marker.memory=0.3..10 s:log"]


@pytest.fixture
def scenarios(workdir: Path) -> Path:
    folder = workdir / "set"
    for name, rate in (("many/a", 2), ("many/b", 3), ("few/c", 5), ("few/d", 6)):
        file = folder / f"{name}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SHORT.replace('rate = "4 Mbit/s"', f'rate = "{rate} Mbit/s"'))
    (folder / "many" / "family.toml").write_text('measures = "no scenario"\n')
    return folder


def test_each_folder_gives_to_both_halves_and_every_scenario_to_one(scenarios: Path) -> None:
    members = read([scenarios], {})
    one, other = halves(members, 1)
    assert sorted(member.file for member in [*one, *other]) == sorted(member.file for member in members)
    for half in (one, other):
        assert sorted(member.file.parent.name for member in half) == ["few", "many"]
    assert halves(members, 1) == (one, other)


def test_the_criteria_of_a_record() -> None:
    record = json.loads(fairlane.run(fairlane.Scenario.from_dict(tomllib.loads(SHORT)), replications=1).runs_json[0])
    worst, jain, utilisation, delay_s = criteria(record)
    shares = [group["throughput_bps"] / group["max_min_share_bps"] for group in record["groups"]]
    assert worst is not None
    assert worst <= min(1, *shares)
    (link,) = record["links"]
    assert (jain, utilisation) == (record["jain_index_normalised"], link["utilisation"])
    assert delay_s == link["delay"][0]["p99_s"]


class Given:
    """An optimiser that requests two points, one of them near the defaults."""

    def __init__(self, dimensions: int, seed: int) -> None:
        self.dimensions = dimensions

    def ask(self) -> list[list[float]]:
        return [[0.1] * self.dimensions, [0.7] * self.dimensions]

    def tell(self, points: Sequence[Point], values: Sequence[float]) -> None:
        assert len(values) == 2


def test_what_is_found_is_no_worse_where_it_was_tuned_and_is_an_entry_of_an_evaluation(
    scenarios: Path, workdir: Path
) -> None:
    tuned = designer(
        "abc",
        {"queue.gamma": "1..60 packets:log"},
        scenarios,
        evaluations=2,
        replications=5,
        out=workdir / "out",
        optimiser=Given,
    )
    # The same five runs decided, so this must hold.
    before, after = tuned.judged["tuned_on"]
    assert after.interval("worst_share").mean >= before.interval("worst_share").mean
    gain = after.gain(before, "worst_share")
    assert gain.mean == pytest.approx(after.interval("worst_share").mean - before.interval("worst_share").mean)
    assert parsed(tuned.entry).settings == tuned.settings
    jsonschema.validate(tuned.document(), fairlane.schema("search-designer"))
    assert tomllib.loads((workdir / "out" / "abc-tuned.toml").read_text())["queue"] == {
        "scheme": "abc",
        **{key.removeprefix("queue."): value for key, value in tuned.settings.items()},
    }


def test_any_number_of_threads_and_a_second_run_give_the_same_bytes(cli: Cli, scenarios: Path) -> None:
    command = ["search", "designer", "abc", *TUNE, "--scenarios", "set", "--evaluations", "20", "--replications", "2"]
    first = cli.output(*command, "--threads", "1", "--out", "one", "--json")
    assert cli.output(*command, "--threads", "3", "--out", "other", "--json") == first
    journal = (cli.folder / "one" / "designer.jsonl").read_bytes()
    assert cli.output(*command, "--out", "one", "--json") == first
    assert (cli.folder / "one" / "designer.jsonl").read_bytes().strip() == journal.strip()
    assert "held out (2)" in cli.output(*command, "--out", "one")
    assert all(criterion in first for criterion in OBJECTIVES)


def test_scenarios_may_have_a_congestion_control_of_ones_own_whose_runs_are_not_kept(cli: Cli, scenarios: Path) -> None:
    (scenarios / "few" / "c.toml").unlink()
    own = (scenarios / "few" / "d.toml").read_text()
    (scenarios / "few" / "d.toml").write_text(own + '\n[tcp]\nprofile = "linux"\ncongestion_control = "my-reno"\n')
    command = ["search", "designer", "abc", *TUNE, "--scenarios", "set", "--evaluations", "4", "--replications", "2"]
    own_code = ["--congestion-control-module", EXAMPLES / "my_congestion_control.py"]
    first = cli.output(*command, *own_code, "--out", "out", "--json")
    journal = (cli.folder / "out" / "designer.jsonl").read_bytes().strip()
    assert cli.output(*command, *own_code, "--out", "out", "--json") == first
    assert (cli.folder / "out" / "designer.jsonl").read_bytes().strip() == journal
    again = cli(*command, *own_code, "--out", "out").stdout
    assert " runs in " in again
    assert "\n0 runs in " not in again
    assert 'tcp.congestion_control: "my-reno"' in cli.error(*command, "--out", "out")


@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (["abd", *TUNE, "--scenarios", "set"], "abd"),
        (["abc", "--tune", "queue.gama=1..2 packets", "--scenarios", "set"], "queue.gama: abc has no such parameter"),
        (["abc", "--tune", "queue.gamma=2..1 packets", "--scenarios", "set"], "queue.gamma"),
        (["abc", "--tune", "queue.gamma=2..2 packets", "--scenarios", "set"], "one value only"),
        (["abc", "--tune", "queue.limit=1..9 packets", "--scenarios", "set"], "queue.limit"),
        (["abc", "--tune", "gamma", "--scenarios", "set"], "--tune"),
        (["abc", *TUNE, "--scenarios", "set/many/family.toml"], "must be at least 2"),
        (["abc", *TUNE, "--scenarios", "missing"], "missing"),
        (["abc", *TUNE, "--scenarios", "set", "--objective", "speed"], "speed"),
        (["abc", *TUNE, "--scenarios", "set", "--replications", "1"], "replications"),
        (["abc", *TUNE, "--scenarios", "set", "--set", "run.mesure=1 s"], "run.mesure"),
    ],
)
def test_wrong_arguments_are_one_line_and_leave_nothing(
    arguments: Sequence[str], mention: str, cli: Cli, scenarios: Path
) -> None:
    cli.refuses(["search", "designer", *arguments], [mention])
