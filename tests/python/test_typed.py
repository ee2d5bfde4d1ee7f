"""Generated modules for completion in editors match the declarations, and scenarios accept them."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairlane
from conftest import ROOT, SHORT_SCENARIO, execute
from fairlane import Scenario, group, markers, queues, tcp
from fairlane.results import records
from generators import modules

SCHEMES = fairlane.schemes()


def test_the_modules_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert modules.write(check=True) == 0, capsys.readouterr().err


@pytest.mark.parametrize("table", ["queue", "marker"])
def test_every_parameter_of_a_scheme_is_a_keyword(table: str) -> None:
    module = {"queue": queues, "marker": markers}[table]
    for scheme in SCHEMES:
        names = {param["name"] for param in scheme["params"] if param["table"] == table}
        if not names:
            assert scheme["name"] not in module.__all__
            continue
        keywords = inspect.signature(getattr(module, scheme["name"])).parameters
        assert {name.rstrip("_") for name in keywords} == names
        assert all(keyword.kind is inspect.Parameter.KEYWORD_ONLY for keyword in keywords.values())


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme["name"])
def test_defaults_given_by_keyword_change_nothing(scheme: fairlane.simulate.catalogue.Scheme) -> None:
    def given(table: str) -> dict[str, object]:
        own = [param for param in scheme["params"] if param["table"] == table and param["default"] is not None]
        return {param["name"] + "_" * (param["name"] == "raise"): param["default"] for param in own}

    base = Scenario("same", group("one", tcp()), queue=scheme["name"])
    queue = getattr(queues, scheme["name"])(**given("queue"))
    marker = getattr(markers, scheme["name"])(**given("marker")) if given("marker") else None
    written = Scenario("same", group("one", tcp()), queue=queue, marker=marker)
    assert json.loads(written.canonical()) == json.loads(base.canonical())


def test_a_keyword_that_is_a_word_of_python_has_a_line_behind_it() -> None:
    assert queues.ared(raise_=3.0) == {"scheme": "ared", "raise": 3.0}


def test_a_function_knows_its_parameters_and_explains_them() -> None:
    limit = inspect.signature(queues.abc).parameters["limit"]
    assert (limit.default, limit.annotation) == (None, str | None)
    assert "    limit: Maximum total queue of all classes" in str(queues.abc.__doc__)
    with pytest.raises(
        TypeError, match=re.escape("abc() got an unexpected keyword argument 'gama'; did you mean gamma?")
    ):
        queues.abc(gama="8 packets")  # type: ignore[call-arg]


def test_the_types_of_a_result_have_its_fields() -> None:
    document = fairlane.run(SHORT_SCENARIO, replications=2).document()
    assert set(document) == set(records.ResultRecord.__annotations__)
    assert set(document["summary"]) == set(records.Summary.__annotations__)
    assert set(document["summary"]["groups"][0]) <= set(records.GroupSummary.__annotations__)


def test_the_package_loads_what_is_used_and_keeps_functions_called_like_folders() -> None:
    code = """
import sys, fairlane
assert "fairlane.simulate" not in sys.modules, "loaded without need"
assert callable(fairlane.lab.compare)
from fairlane.evaluate.result import Evaluation
assert callable(fairlane.evaluate) and fairlane.evaluate.__name__ == "evaluate"
from fairlane import *
assert set(fairlane.__all__) <= set(globals()) | {"__all__"}
"""
    assert execute(sys.executable, "-c", code, stderr=subprocess.STDOUT).stdout == ""
    with pytest.raises(AttributeError, match="module 'fairlane' has no attribute 'evaluates'"):
        fairlane.evaluates  # type: ignore[attr-defined]  # noqa: B018


WRONG = """
import fairlane
from fairlane import Scenario, group, queues, tcp, video

queues.abc(gama="8 packets")
queues.red(ecn="yes")
tcp(initial_windw=3)
video(congestion_control=3)
Scenario("s", group("g", tcp(flows=2, ecn=True, congestion_control="mine")), queue=queues.abc(gamma="8 packets"))
fairlane.run("s.toml").summary["throughput_ration"]
"""


def test_mypy_knows_keys_that_there_are_not(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "wrong.py").write_text(WRONG)
    # mypy runs in the folder of its configuration, so that it reuses its cache of the package.
    done = execute(sys.executable, "-m", "mypy", tmp_path / "wrong.py", cwd=ROOT, stderr=subprocess.STDOUT)
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line]
    assert sorted(set(lines)) == [5, 6, 7, 8, 10], done.stdout
