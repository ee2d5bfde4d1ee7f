"""Code blocks of README, tutorial and how-tos print what the page shows, and all their commands exist."""

import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from conftest import SHORT, Cli
from fairlane.cli.main import commands
from fairlane.search.bounds import DEFAULT_BOUNDS
from pages import PAGES, Page

SHORTER = {
    "evaluate": [("quick=True", 'only="unresponsive/2-times", replications=1')],
    "pairs": [('["droptail", "abc"])', '["droptail", "abc"], replications=1, settings={"run.measure": "1 s"})')],
    "search": [
        ('adversary(["abc", "csfq"])', 'adversary(["abc"], evaluations=4, bounds="bounds.toml")'),
        ('many-flows")', 'overload", evaluations=4, replications=2)'),
    ],
    "sweep": [("replications=5", "replications=2")],
    "trace-a-run": [("examples/abc-default.toml", "abc-default.toml")],
}
"""Slow code on pages, and replacements that take seconds."""
NOT_RUN = {
    "class Mine:": "an outline of an optimiser, whose methods are left out",
    "fairlane.report(": "a page of a paper's runs takes minutes; test_report has such calls",
}
"""Code blocks that the test skips, with the reason. A key is a text that occurs only in its block."""


@pytest.mark.parametrize("name", [name for name in PAGES if Page(name).code and name != "tutorial"])
def test_code_runs_and_prints_what_the_page_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(name)
    page.write(tmp_path)
    for scenario in ("scenario.toml", "abc-default.toml"):
        (tmp_path / scenario).write_text(SHORT.replace("replications = 3", "replications = 2"))
    short = DEFAULT_BOUNDS.read_text().replace('measure = "8 s"', 'measure = "1 s"')
    (tmp_path / "bounds.toml").write_text(short.replace("packets = 200\n", "packets = 20\n"))
    for words, _ in page.commands:
        if words[0] == "init":
            Cli(tmp_path).output(*words)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    own = {Path(file).stem for file in page.files}
    names: dict[str, Any] = {}
    for block in page.code:
        if any(mark in block for mark in NOT_RUN):
            continue
        code = block
        for long, short in SHORTER.get(name, []):
            code = code.replace(long, short)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, names)
        begins = Page.printed(block)
        lines = [line for line in out.getvalue().splitlines() if line[:1].isdigit()]
        assert [line[: len(begin)] for line, begin in zip(lines, begins, strict=False)] == begins, out.getvalue()
    for module in own & sys.modules.keys():
        del sys.modules[module]


@pytest.mark.parametrize("name", [name for name in PAGES if Page(name).commands])
def test_commands_of_a_page_are_known_with_their_options(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(name)
    page.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    for words, _ in page.commands:
        command: click.Command = commands
        context = click.Context(commands, info_name="fairlane")
        rest = words[: words.index("|")] if "|" in words else list(words)
        while isinstance(command, click.Group):
            found = command.get_command(context, rest[0])
            assert found, words
            command, rest = found, rest[1:]
        command.make_context(command.name, rest, parent=context)
