"""Runs the tutorial's notebook and inserts its outputs after the code blocks of the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat

import fairlane

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"
_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def insert_outputs(page: Path, cache: Path) -> None:
    """Writes the outputs into a copy of the page; runs the notebook again if it or the package has changed."""
    outputs = _outputs(cache / f"{_fingerprint()}.json")
    folder = page.parent / "tutorial-outputs"
    folder.mkdir(exist_ok=True)
    numbers = iter(range(len(outputs)))

    def with_outputs(block: re.Match[str]) -> str:
        number = next(numbers)
        return block[0] + "".join(_shown(outputs[number], block[1], folder / f"{number}"))

    text = _BLOCK.sub(with_outputs, page.read_text(encoding="utf-8"))
    assert next(numbers, None) is None, "the notebook is that of the page: tools/notebook.py"
    page.write_text(text, encoding="utf-8")


def _fingerprint() -> str:
    """Fingerprint of the notebook and of the package with its extension."""
    digest = hashlib.sha256(NOTEBOOK.read_bytes())
    for path in sorted(Path(fairlane.__file__).parent.rglob("*")):
        if path.suffix in (".py", ".so"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _outputs(cached: Path) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell."""
    if not cached.exists():
        document = nbformat.read(NOTEBOOK, as_version=4)
        work = cached.parent / "work"
        work.mkdir(parents=True, exist_ok=True)
        # Hides the kernel's warning that other users can read its input, which is only the tutorial.
        options = {"resources": {"metadata": {"path": str(work)}}, "extra_arguments": ["--log-level=ERROR"]}
        nbclient.NotebookClient(document, timeout=600, **options).execute()
        cells = [cell.outputs for cell in document.cells if cell.cell_type == "code"]
        cached.write_text(json.dumps(cells), encoding="utf-8")
    outputs: list[list[dict[str, Any]]] = json.loads(cached.read_text(encoding="utf-8"))
    return outputs


def _shown(outputs: list[dict[str, Any]], code: str, stem: Path) -> Iterator[str]:
    """Figures, tables and text of a cell as Markdown."""
    for output in outputs:
        data = output.get("data", {})
        if picture := data.get("image/png"):
            file = stem.with_suffix(".png")
            file.write_bytes(base64.b64decode(picture))
            yield f"\n![What `{code.splitlines()[-1]}` shows]({file.parent.name}/{file.name})\n"
        elif page := data.get("text/html"):
            yield f'\n```{{raw}} html\n<div class="output">{page}</div>\n```\n'
        elif text := output.get("text") or data.get("text/plain"):
            yield f"\n```text\n{text.rstrip()}\n```\n"
