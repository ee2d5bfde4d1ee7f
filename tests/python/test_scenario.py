import inspect
import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

import fairlane
from conftest import EXAMPLES, SHORT_SCENARIO, Cli
from fairlane import Scenario, ScenarioError, group, poisson, tcp
from fairlane.schemas import schema

EVERY_EXAMPLE = sorted(EXAMPLES.glob("*.toml"))


def built() -> Scenario:
    """The scenario of short.toml, which other tests use, built in Python."""
    return Scenario(
        "short",
        group("heavy", tcp(flows=5), start_until="0.5 s"),
        group("light", poisson("4 Mbit/s"), users=2, start_until="0.5 s"),
        queue="abc",
        run={"warmup": "1 s", "measure": "1 s", "replications": 3},
    )


def test_group_takes_every_key_of_a_group() -> None:
    keys = schema("scenario")["properties"]["groups"]["items"]["properties"]
    assert set(inspect.signature(group).parameters) == set(keys)
    weighted = Scenario("w", group("users", tcp(), weight=2.5)).to_dict()
    assert weighted["groups"][0]["weight"] == 2.5


def test_a_built_scenario_is_that_of_the_file(workdir: Path) -> None:
    assert built() == Scenario.from_toml(workdir / "short.toml")
    assert built().canonical() == Scenario.from_toml(workdir / "short.toml").canonical()


@pytest.mark.parametrize("file", EVERY_EXAMPLE, ids=lambda file: file.stem)
def test_toml_goes_there_and_back(file: Path, tmp_path: Path) -> None:
    scenario = Scenario.from_toml(file)
    (tmp_path / "copy.toml").write_text(scenario.to_toml())
    assert Scenario.from_toml(tmp_path / "copy.toml") == scenario


@pytest.mark.parametrize("file", EVERY_EXAMPLE, ids=lambda file: file.stem)
def test_examples_and_their_canonical_form_follow_the_schema(file: Path) -> None:
    scenario = Scenario.from_toml(file)
    validator = jsonschema.Draft202012Validator(fairlane.schema("scenario"))
    validator.validate(scenario.to_dict())
    validator.validate(json.loads(scenario.canonical()))


@pytest.mark.parametrize("file", EVERY_EXAMPLE, ids=lambda file: file.stem)
def test_examples_run(file: Path, tmp_path: Path) -> None:
    scenario = Scenario.from_toml(file).replace("run.warmup", "14 s").replace("run.measure", "1 s")
    assert len(fairlane.run(scenario, replications=1, store=tmp_path).runs) == 1


def test_every_key_shows_every_default() -> None:
    scenario = Scenario.from_toml(EXAMPLES / "every-key.toml")
    (users,) = scenario.to_dict()["groups"]
    made = [
        getattr(fairlane, source["kind"])(
            **{key: source[key] for key in ("rate", "interval", "load", "sizes") if key in source}
        )
        for source in users["sources"]
    ]
    bare = Scenario("every-key", group("users", *made), queue="abc")
    assert json.loads(scenario.canonical()) == json.loads(bare.canonical())


def test_scenarios_of_users_have_one_default_profile(cli: Cli, workdir: Path) -> None:
    """TOML, Python and `init` have the same default profile, which supports every congestion control."""
    cli.output("init", "mine.toml")
    (workdir / "bare.toml").write_text('queue = { scheme = "abc" }\ngroups = [{ sources = [{ kind = "tcp" }] }]\n')
    found = [
        Scenario.from_toml(workdir / "mine.toml"),
        Scenario.from_toml(workdir / "bare.toml"),
        *(
            Scenario("control", group("all", tcp(congestion_control=control["name"])), queue="abc")
            for control in fairlane.congestion_controls()
        ),
    ]
    default = fairlane.schema("scenario")["properties"]["tcp"]["properties"]["profile"]["default"]
    assert {json.loads(one.canonical())["tcp"]["profile"] for one in found} == {default} == {"linux"}


def test_every_key_shows_every_key() -> None:
    text = (EXAMPLES / "every-key.toml").read_text()
    table = tomllib.loads(re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE))
    properties = fairlane.schema("scenario")["properties"]
    assert table.keys() == properties.keys()
    for name in ("run", "topology", "tcp", "probes"):
        assert table[name].keys() == properties[name]["properties"].keys()
    queues = {queue["properties"]["scheme"]["const"]: queue["properties"] for queue in properties["queue"]["oneOf"]}
    assert table["queue"].keys() == queues["abc"].keys()
    markers = {one["properties"]["scheme"]["const"]: one["properties"] for one in properties["marker"]["anyOf"]}
    assert table["marker"].keys() == markers["abc"].keys()
    (users,) = table["groups"]
    schema = properties["groups"]["items"]["properties"]
    assert users.keys() == schema.keys()
    for source in schema["sources"]["items"]["oneOf"]:
        shown = next(s for s in users["sources"] if s["kind"] == source["properties"]["kind"]["const"])
        of_tcp = table["tcp"].keys() if shown["kind"] in {"rpm", "tcp", "transfers", "video", "web"} else set()
        assert shown.keys() | of_tcp == source["properties"].keys()


def test_replace_changes_one_key_of_a_copy() -> None:
    changed = built().replace("groups[1].sources[0].rate", "5 Mbit/s").replace("tcp.delayed_ack", 1)
    assert changed.to_dict()["groups"][1]["sources"][0]["rate"] == "5 Mbit/s"
    assert changed.to_dict()["tcp"] == {"delayed_ack": 1}
    assert built() == SHORT_SCENARIO


def test_what_is_handed_in_or_out_is_a_copy() -> None:
    groups = [group("a", tcp())]
    scenario = Scenario("copy", *groups, queue="droptail")
    groups[0]["name"] = "b"
    scenario.to_dict()["groups"].clear()
    assert scenario.to_dict()["groups"][0]["name"] == "a"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_values_without_json_are_named(value: float) -> None:
    with pytest.raises(ScenarioError, match=r"groups\[0\].sources\[0\].flows: -?(nan|inf)"):
        built().replace("groups[0].sources[0].flows", value).canonical()
