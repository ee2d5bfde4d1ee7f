"""The output of commands with --json follows the schemas of `fairlane schema`."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fairlane
from conftest import SHORT_SCENARIO, SHORTEST, TINY, Cli
from fairlane.schemas import SCHEMAS


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_one(cli: Cli, name: str) -> None:
    schema = json.loads(cli.output("schema", name))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == fairlane.schema(name)
    assert schema["title"]


def test_an_unknown_schema_is_named() -> None:
    with pytest.raises(fairlane.UserError, match="foo: no such schema; there are scenario, result, comparison"):
        fairlane.schema("foo")


@pytest.fixture(scope="module")
def comparison() -> dict[str, Any]:
    return dict(fairlane.compare(SHORT_SCENARIO, ["droptail", "abc"], replications=1).document())


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    store = tmp_path_factory.mktemp("reproduction")
    return fairlane.reproduce("abc2018.default", settings=SHORTEST, replications=1, store=store).document()


def test_compare_prints_a_comparison(cli: Cli) -> None:
    document = cli.document("compare", "short.toml", "--queues", "droptail,abc", "--replications", "1")
    jsonschema.validate(document, fairlane.schema("comparison"))


def test_reproduce_prints_a_reproduction(cli: Cli, workdir: Path) -> None:
    printed = cli.document("reproduce", "abc2018.default", "abc2018.fig5a", *TINY)
    written = json.loads((workdir / "results" / "abc2018" / "claims.json").read_text())
    for document in (printed, written):
        jsonschema.validate(document, fairlane.schema("reproduction"))


def assert_schema_takes_only(name: str, right: dict[str, Any], *wrong: dict[str, Any]) -> None:
    jsonschema.validate(right, fairlane.schema(name))
    for document in wrong:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, fairlane.schema(name))


def test_the_comparison_schema_refuses_what_is_none(comparison: dict[str, Any]) -> None:
    assert_schema_takes_only(
        "comparison",
        comparison,
        {**comparison, "more": 1},
        {key: value for key, value in comparison.items() if key != "version"},
        {**comparison, "results": {"abc": {}}},
        {**comparison, "results": {"abc": {**comparison["results"]["abc"], "runs": [{}]}}},
    )


def test_the_reproduction_schema_refuses_what_is_none(reproduction: dict[str, Any]) -> None:
    (experiment,) = reproduction["experiments"]
    (first, *_) = experiment["claims"]
    assert_schema_takes_only(
        "reproduction",
        reproduction,
        {**reproduction, "more": 1},
        {**reproduction, "experiments": [{**experiment, "claims": [{**first, "verdict": "maybe"}]}]},
        {**reproduction, "experiments": [{**experiment, "points": [{"mean": "1"}]}]},
        {**reproduction, "experiments": [{**experiment, "replications": 0.5}]},
    )
