"""Commands and code of the tutorial run as written, with the outputs on the page."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Cli, execute

PAGE = ROOT / "docs" / "tutorial.md"
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_commands_print_what_the_page_shows(cli: Cli) -> None:
    shown = [line.removeprefix("$ fairlane ") for block in COMMANDS for line in block.splitlines() if "$ " in line]
    assert [line.split()[0] for line in shown] == ["init", "compare"]
    for block in COMMANDS:
        command, *output = block.splitlines()
        printed = [line.rstrip() for line in cli.output(*shlex.split(command.removeprefix("$ fairlane "))).splitlines()]
        expected = [line for line in output if line != "..."]
        assert printed[: len(expected)] == expected


def test_the_notebook_is_that_of_the_page() -> None:
    done = execute(sys.executable, ROOT / "tools" / "notebook.py", "--check")
    assert done.returncode == 0, done.stderr


def test_the_notebook_has_its_outputs() -> None:
    text = NOTEBOOK.read_text("utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    shown = [{kind for output in cell["outputs"] for kind in output.get("data", output)} for cell in cells]
    # The scenario, a printed text, three figures of the comparison and one of the sweep; the last cell writes files.
    for kinds, kind in zip(shown[:-1], ["text/html", "text", *["image/png"] * 4], strict=True):
        assert kind in kinds
    assert not shown[-1]
    assert len(text.encode()) < 400_000
    assert not re.search(r"stderr|iopub|/tmp/|/home/", re.sub(r'"image/png": ".*"', "", text))


def test_the_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    ratios = {queue: result.summary["throughput_ratio"]["mean"] for queue, result in names["compared"].results.items()}
    # As the page says: sharing among flows gives the user with ten flows ten times as much as the other. Sharing among
    # users gives both the same.
    assert all(ratios[queue] == pytest.approx(10, abs=1) for queue in ("droptail", "fq_codel"))
    assert all(ratios[queue] == pytest.approx(1, abs=0.15) for queue in ("abc", "fq_codel:share_per=user"))
    assert {"flows.pdf", "flows.csv"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.long
def test_the_notebook_runs_in_a_kernel(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    nbformat = pytest.importorskip("nbformat", reason="needs nbclient and ipykernel")
    pytest.importorskip("ipykernel", reason="needs nbclient and ipykernel")
    document = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(document, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [[output.get("data", {}) for output in cell.outputs] for cell in document.cells if "outputs" in cell]
    pictures = [data for of_cell in outputs for data in of_cell if "image/png" in data]
    # Three figures of the comparison, and one of the sweep; the scenario is a table.
    assert len(pictures) == 4
    assert any("text/html" in data for data in outputs[0])
