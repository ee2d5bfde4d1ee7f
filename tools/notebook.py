"""Writes docs/tutorial.ipynb from docs/tutorial.md: `python tools/notebook.py [--check]`.

Python blocks become code cells; everything else stays Markdown. `--check` changes nothing and exits with 1 if the
notebook is stale.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def main(arguments: Sequence[str]) -> int:
    """Runs the command line; returns the exit code."""
    text = notebook(PAGE.read_text(encoding="utf-8"))
    stale = not NOTEBOOK.exists() or NOTEBOOK.read_text(encoding="utf-8") != text
    if stale and "--check" in arguments:
        print(f"{NOTEBOOK}: stale, run: python tools/notebook.py", file=sys.stderr)
        return 1
    if stale:
        NOTEBOOK.write_text(text, encoding="utf-8")
    return 0


def code(page: str) -> list[str]:
    """The Python blocks of a page, in order."""
    return _BLOCK.findall(page)


def notebook(page: str) -> str:
    """The notebook of a page, without outputs."""
    cells: list[dict[str, Any]] = []
    for index, part in enumerate(_BLOCK.split(page)):
        source = part.strip("\n").splitlines(keepends=True)
        if index % 2:
            cells.append(
                {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
            )
        elif source:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": source})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
