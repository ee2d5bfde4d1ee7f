"""Names stay plain text in tables, figures, pages, errors and progress, whatever they contain."""

import json
import os
import re
from html import unescape
from pathlib import Path

import pytest

import fairlane
from conftest import SHORT, Cli
from fairlane import Scenario, group, poisson
from fairlane.base.progress import progress
from fairlane.cli.output import print_json
from fairlane.cli.printing import print_comparison, print_plan, print_planes, print_result, print_store, print_sweep
from fairlane.lab.comparison import PlaneResult
from fairlane.report import report
from fairlane.results.figures import result_figures
from fairlane.results.plots import save
from fairlane.store.upkeep import entries
from fairlane.sweeps.plan import Plan
from fairlane.sweeps.preview import preview

NAMES = {
    "closing tag": ("[/x]", "[/x]"),
    "tag": ("[bold]", "[bold]"),
    "emoji": (":smile:", ":smile:"),
    "formula": (r"$\frac$", r"$\frac$"),
    "dollars": (r"\$1 or $2", r"\$1 or $2"),
    "colour": ("\x1b[31mred", r"\x1b[31mred"),
    "title of the terminal": ("\x1b]0;x\x07", r"\x1b]0;x\x07"),
    "lines": ("two\nlines\r", r"two\nlines\r"),
    "direction": ("\u202eabc\u202c", r"\u202eabc\u202c"),
    "html": ("<b>&amp;</b>", "<b>&amp;</b>"),
    "hidden": ("_x", "_x"),
    "Chinese": ("\u65e5\u672c", "\u65e5\u672c"),
}
"""Given names, and the displayed forms."""


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    """A scenario with a group and a link for each given name in `NAMES`; its own name combines three of them."""
    given = [name for name, _ in NAMES.values()]
    links = [{"name": name, "rate": "100 Mbit/s", "delay": "1 ms"} for name in given]
    return Scenario(
        "[/x] \x1b[31m $\\frac$",
        *(group(name, poisson("1 Mbit/s"), route=given, start_until="10 ms") for name in given),
        topology={"kind": "graph", "links": links},
        queue="droptail",
        run={"warmup": "0 s", "measure": "20 ms", "replications": 2},
        probes={"series_interval": "10 ms"},
    )


SCENARIO_SHOWN = r"[/x] \x1b[31m $\frac$"


@pytest.fixture(scope="module")
def comparison(scenario: Scenario, tmp_path_factory: pytest.TempPathFactory) -> fairlane.Comparison:
    queues = ["droptail", "abc", "red", "codel"]
    return fairlane.compare(scenario, queues, store=tmp_path_factory.mktemp("store"))


def assert_all_shown(printed: str) -> None:
    for _, shown in NAMES.values():
        assert shown in printed
    assert printed.replace("\n", "").isprintable()


def test_tables_show_names_as_they_are(comparison: fairlane.Comparison, capsys: pytest.CaptureFixture[str]) -> None:
    result = comparison.results["droptail"]
    for show in (
        lambda: print_comparison(comparison, everything=True),
        lambda: print_result(result),
        lambda: print_planes([PlaneResult("droptail", "simulator", result)]),
    ):
        show()
        printed = capsys.readouterr().out
        assert_all_shown(printed)
        assert printed.startswith(f"{SCENARIO_SHOWN}: ")


def test_tables_of_sweeps_and_stores_show_names_as_they_are(
    scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scenario.toml").write_text(scenario.to_toml())
    axis = json.dumps([name for name, _ in NAMES.values()])
    (tmp_path / "sweep.toml").write_text(f'scenario = "scenario.toml"\n[grid]\nname = {axis}\n')
    plan = Plan.read(tmp_path / "sweep.toml")
    store = fairlane.Store(tmp_path / "store")
    print_plan(preview(plan, store.folder))
    assert_all_shown(capsys.readouterr().out)
    print_sweep(fairlane.sweep(plan, store=store.folder), Path("\x1b[31m"))
    assert_all_shown(capsys.readouterr().out)
    print_store(entries(store))
    printed = capsys.readouterr().out  # the names of all groups together are cut
    assert NAMES["closing tag"][1] in printed
    assert printed.replace("\n", "").isprintable()


def test_figures_show_names_as_they_are(comparison: fairlane.Comparison, tmp_path: Path) -> None:
    figures = result_figures([comparison.results["droptail"]])
    for stem, figure in figures.items():
        save(figure, tmp_path / stem, [".svg" if stem == "shares" else ".png"])
    # Texts that matplotlib passes to its renderers, and whether they are formulas.
    drawn = figures["throughput"]
    texts = [text._preprocess_math(text.get_text()) for text in (drawn._suptitle, *drawn.axes[0].get_xticklabels())]
    assert texts == [
        (f"{SCENARIO_SHOWN}: throughput of a user", False),
        *((shown.replace("_", " "), False) for _, shown in NAMES.values()),
    ]


@pytest.mark.usefixtures("undrawn")
def test_pages_show_names_as_they_are(comparison: fairlane.Comparison, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(comparison.json())
    start = report("noms2016.formula", compare=tmp_path / "result.json", out=tmp_path / "out", store=tmp_path / "store")
    page = (start.parent / "compare.html").read_text()
    assert f"on the scenario {SCENARIO_SHOWN}." in page
    assert page.replace("\n", "").isprintable()
    # A line break is a space in HTML.
    shown_in_html = unescape(page).replace("two\nlines", r"two\nlines")
    for _, shown in NAMES.values():
        assert re.search(rf"<th[^>]*>(<[^>]*>)*{re.escape(shown)}\s*<", shown_in_html), shown


def test_a_very_long_name_is_cut_in_tables_and_figures_but_not_in_json(
    scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = fairlane.run(scenario.replace("groups[0].name", 1000 * "x"), store=tmp_path)
    print_result(result)
    assert max(map(len, capsys.readouterr().out.splitlines())) < 300
    assert result.document()["scenario"]["groups"][0]["name"] == 1000 * "x"
    label = result_figures([result])["throughput"].axes[0].get_xticklabels()[0]
    assert len(label.get_text()) < 100


def test_errors_show_what_was_given_as_text(cli: Cli) -> None:
    for arguments in (
        ["run", "\x1b[31m.toml"],
        ["run", "short.toml", "--set", "\x1b[31m=1"],
        ["run", "short.toml", "--set", "queue.scheme=\x1b[31m"],
        ["schemes", "\x1b[31m"],
        ["store", "ls", "--store", "\x1b[31m"],
        ["\x1b[31m"],
    ):
        told = cli.error(*arguments)
        assert told.isprintable()
        assert "[31m" in told


def test_a_name_that_is_no_unicode_is_refused_by_its_key(scenario: Scenario) -> None:
    with pytest.raises(fairlane.ScenarioError) as error:
        scenario.replace("groups[0].name", "\udcff").canonical()
    assert str(error.value) == "groups[0].name: '\\udcff' is not Unicode text"


def test_progress_shows_its_title_as_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("fairlane.base.progress.LINE_EVERY_S", 0.0)
    with progress("\x1b[31m[/x]", 1, show=True) as advance:
        advance("\x1b[31m")
    printed = capsys.readouterr().err
    assert printed.startswith(r"\x1b[31m[/x]: 1 of 1 runs")
    assert printed.rstrip("\n").isprintable()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_encoding_of_the_output_will_do(encoding: str, cli: Cli, workdir: Path) -> None:
    (workdir / "chinese.toml").write_text(SHORT.replace("heavy", "\u65e5\u672c \U0001f600"), encoding="utf-8")

    def output(*options: str) -> str:
        environment = os.environ | {"PYTHONIOENCODING": encoding}
        done = cli("run", "chinese.toml", *options, env=environment, encoding=encoding)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    table = output()
    if encoding == "utf-8":
        assert "\u65e5\u672c \U0001f600" in table
    else:
        assert r"\u65e5\u672c \ud83d\ude00" in table
    assert ("+-" if encoding == "ascii" else "±") in table
    assert json.loads(output("--json"))["scenario"]["groups"][0]["name"] == "\u65e5\u672c \U0001f600"


def test_json_holds_no_character_that_a_terminal_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    # A one-character control sequence and a change of direction; e with an accent and Chinese are plain text.
    document = {"name": "\x9b31m \u202e \U000e0001 \u00e9 \u65e5"}
    print_json(json.dumps(document, indent=2, ensure_ascii=False))
    shown = capsys.readouterr().out
    assert shown == '{\n  "name": "\\u009b31m \\u202e \\udb40\\udc01 \u00e9 \u65e5"\n}\n'
    assert json.loads(shown) == document


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_narrow_terminal_cuts_no_number(
    width: int, comparison: fairlane.Comparison, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed() -> str:
        print_comparison(comparison, everything=True)
        return capsys.readouterr().out

    wide = printed()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = re.sub(r"\x1b\[[0-9;]*m", "", printed())
    assert "…" not in narrow
    # Every mean has its half width, and appears as often as before. Columns that do not fit follow below.
    number = re.compile(r"[\d.]+ ± [\d.]+")
    assert sorted(number.findall(narrow)) == sorted(number.findall(wide))
    assert narrow.count("max-min share") > 1
