"""Notes about a valid scenario appear in the table, the document and the report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fairlane
from conftest import SHORT_SCENARIO, Cli
from fairlane.cli.printing import print_planes
from fairlane.lab.comparison import PlaneResult, document
from fairlane.results.notes import joined

LATE = ("--set", "groups[0].start_until=1.5 s")
NOTE = 'groups[0].start_until: "1.5 s" is after the warm-up of 1 s'


def test_a_start_in_the_measured_time_is_told_by_table_and_document(cli: Cli) -> None:
    table = cli("run", "short.toml", *LATE)
    assert f"note: {NOTE}" in " ".join(table.stdout.split())
    document = cli.document("run", "short.toml", *LATE)
    jsonschema.validate(document, fairlane.schema("result"))
    assert [f"{note['key']}: {note['text']}"[: len(NOTE)] for note in document["notes"]] == [NOTE]


def test_nothing_is_told_of_a_scenario_that_starts_before_it_is_measured(cli: Cli) -> None:
    assert "note:" not in cli("run", "short.toml").stdout


@pytest.mark.usefixtures("undrawn")
def test_a_comparison_and_its_page_tell_what_all_queues_share_once(cli: Cli, workdir: Path) -> None:
    done = cli("compare", "short.toml", *LATE, "--queues", "droptail,abc", "--out", "compared")
    assert done.stdout.count(f"note: {NOTE[:30]}") == 1
    cli.output("report", "abc2018.fig4a", "--compare", "compared/result.json", "--out", "pages")
    html = (workdir / "pages" / "compare.html").read_text(encoding="utf-8")
    assert html.count("<b>Note.</b> groups[0].start_until: ") == 1


def test_a_note_that_does_not_hold_for_all_names_those_it_holds_for() -> None:
    of_queue = {"a": ["x", "y"], "b": ["x"], "c": ["x", "z"], "d": ["x", "z"], "e": ["x", "z"], "f": ["x", "z"]}
    assert joined(of_queue) == ["x", "a: y", "c, d, e and 1 more: z"]


def test_a_sweep_tells_which_points_a_note_is_about(cli: Cli, workdir: Path) -> None:
    (workdir / "sweep.toml").write_text(
        'scenario = "short.toml"\nreplications = 1\n[grid]\n"groups[0].start_until" = ["0.5 s", "1.5 s"]\n'
    )
    done = cli("sweep", "sweep.toml", "--out", "swept")
    assert f"note: point 1: {NOTE}" in " ".join(done.stdout.split()), done.stderr
    document = json.loads((workdir / "swept" / "sweep.json").read_text())
    jsonschema.validate(document, fairlane.schema("sweep-result"))
    assert [note[: len("point 1: groups[0]")] for note in document["notes"]] == ["point 1: groups[0]"]


@pytest.fixture
def result() -> fairlane.Result:
    return fairlane.run(SHORT_SCENARIO.replace("groups[0].start_until", "1.5 s"), replications=1)


LATE_SCENARIO = SHORT_SCENARIO.replace("groups[0].start_until", "1.5 s").replace("run.replications", 1)


@pytest.mark.parametrize(
    ("verb", "prefix"),
    [
        (lambda store: fairlane.run(LATE_SCENARIO, store=store), ""),
        (lambda store: fairlane.compare(LATE_SCENARIO, ["droptail", "abc"], store=store), ""),
        (
            lambda store: fairlane.sweep(
                LATE_SCENARIO, grid={"groups[0].start_until": ["0.5 s", "1.5 s"]}, store=store
            ),
            "point 1: ",
        ),
    ],
    ids=["run", "compare", "sweep"],
)
def test_python_warns_once_of_what_is_to_be_noted_at_the_line_that_called(
    tmp_path: Path, verb: Callable[[Path], Any], prefix: str
) -> None:
    with pytest.warns(fairlane.ScenarioWarning) as told:
        result = verb(tmp_path)
    (warning,) = told
    assert str(warning.message).startswith(prefix + NOTE)
    assert warning.filename == __file__
    notes = result.notes if prefix or isinstance(result, fairlane.Result) else result.results["abc"].notes
    assert [str(warning.message)] == notes


def test_notebooks_show_the_notes() -> None:
    compared = fairlane.compare(LATE_SCENARIO, ["droptail", "abc"])
    for shown in (compared, compared.results["abc"]):
        assert shown._repr_html_().count("groups[0].start_until: ") == 1


def test_results_in_python_have_their_notes(result: fairlane.Result) -> None:
    assert [note[: len(NOTE)] for note in result.notes] == [NOTE]
    assert repr(result) == "<Result of short: 1 run, 1 to note>"


def test_a_comparison_of_planes_tells_what_all_share_once(
    result: fairlane.Result, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [PlaneResult(queue, "simulator", result) for queue in ("droptail", "abc")]
    print_planes(found)
    assert capsys.readouterr().out.count(f"note: {NOTE}") == 1
    assert document(found)["notes"] == result.notes
