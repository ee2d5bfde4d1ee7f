"""Writes docs/tutorial.ipynb from docs/tutorial.md: `python tools/notebook.py [--check]`.

Python blocks become code cells; everything else stays Markdown. Runs the cells if nbclient and ipykernel are installed
(`requirements/optional.txt`); otherwise, keeps the outputs of unchanged cells. `--check` changes and runs nothing, and
exits with 1 if the notebook is stale.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_SMALL_PICTURES = "from fairlane.results import plots\nplots.STYLE['savefig.dpi'] = 100"
"""Code that runs before the first cell: pictures of 640 pixels keep the file below 400 kB."""


def main(arguments: Sequence[str]) -> int:
    """Runs the command line; returns the exit code."""
    stored = NOTEBOOK.read_text(encoding="utf-8") if NOTEBOOK.exists() else '{"cells": []}'
    document = notebook(PAGE.read_text(encoding="utf-8"), json.loads(stored)["cells"])
    if "--check" not in arguments and find_spec("nbclient") and find_spec("ipykernel"):
        run(document)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if text != stored and "--check" in arguments:
        print(f"{NOTEBOOK}: stale, run: python tools/notebook.py", file=sys.stderr)
        return 1
    if text != stored:
        NOTEBOOK.write_text(text, encoding="utf-8")
    return 0


def code(page: str) -> list[str]:
    """The Python blocks of a page, in order."""
    return _BLOCK.findall(page)


def notebook(page: str, stored: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The notebook of a page, with the outputs of those cells that are also in `stored`."""
    outputs = {"".join(cell["source"]): cell.get("outputs", []) for cell in stored}
    cells: list[dict[str, Any]] = []
    for index, part in enumerate(_BLOCK.split(page)):
        source = part.strip("\n").splitlines(keepends=True)
        if index % 2:
            cell = {"cell_type": "code", "execution_count": index // 2 + 1, "metadata": {}}
            cells.append(cell | {"outputs": outputs.get("".join(source), []), "source": source})
        elif source:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": source})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}


def run(document: dict[str, Any]) -> None:
    """Runs the notebook and stores results and printed text, but neither warnings nor progress."""
    import nbclient
    import nbformat

    ran = nbformat.reads(json.dumps(document), as_version=4)
    ran.cells.insert(0, nbformat.v4.new_code_cell(_SMALL_PICTURES))
    with TemporaryDirectory() as folder:
        options = {"resources": {"metadata": {"path": folder}}, "extra_arguments": ["--log-level=ERROR"]}
        nbclient.NotebookClient(ran, timeout=600, **options).execute()
    for cell, done in zip(document["cells"], ran.cells[1:], strict=True):
        if cell["cell_type"] == "code":
            results = [output for output in done.outputs if output.output_type == "execute_result"]
            for result in results:
                result.execution_count = cell["execution_count"]
            cell["outputs"] = [output for output in done.outputs if output.get("name") == "stdout"] + results


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
