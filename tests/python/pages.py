"""The code blocks of README, tutorial and how-tos. `python tests/python/pages.py` updates the outputs of commands.

console     commands, each with its output below, or with the beginning of its output and `...`
python      code of successive blocks; a number in a comment after `print(...)` begins the printed line
FILE:       at the end of a paragraph: the next block is the content of this file. If the paragraph has the words "Add
            to a copy of the file", the content is the previous file followed by the block.
"""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = {
    path.stem: path
    for path in (ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "howto").glob("*.md")))
}
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"([\w-]+\.(?:py|toml|json|csv))")
_PRINTED = re.compile(r"^print\(.*\)  # (\d[^:\n]*)", re.MULTILINE)


class Command(NamedTuple):
    """A command of a page."""

    words: list[str]
    shown: list[str]
    """Output on the page, without the ellipsis."""


class Page:
    """The blocks of a page: files to write, commands, code."""

    def __init__(self, name: str) -> None:
        self.path = PAGES[name]
        self.text = self.path.read_text(encoding="utf-8")
        self.files: dict[str, str] = {}
        self.code: list[str] = []
        self.addresses: list[str] = []
        consoles = []
        for block in _FENCE.finditer(self.text):
            paragraph = self.text[: block.start()].rstrip("\n").rsplit("\n\n", 1)[-1]
            named = _FILE.search(paragraph) if paragraph.endswith(":") else _FILE.match(block[2].removeprefix("# "))
            match block[1]:
                case "toml" | "python" | "json" | "text" if named:
                    before = [*self.files.values()][-1] + "\n" if "Add to a copy of the file" in paragraph else ""
                    self.files[named[1]] = before + block[2]
                case "python":
                    self.code.append(block[2])
                case "console":
                    consoles.append(block[2])
                case "text" if block[2].startswith("#"):
                    self.addresses.append(block[2].strip())
        self.commands = [command for console in consoles for command in _commands(console)]

    def write(self, folder: Path) -> None:
        """Writes the files, and links the examples and suites."""
        for name, content in self.files.items():
            (folder / name).write_text(content, encoding="utf-8")
        for name in ("examples", "suites"):
            if not (folder / name).exists():
                (folder / name).symlink_to(ROOT / name)

    @staticmethod
    def printed(code: str) -> list[str]:
        """Beginnings of the lines that a code block prints, from its comments."""
        return [text.rstrip() for text in _PRINTED.findall(code)]


def _commands(console: str) -> Iterator[Command]:
    """The `fairlane` commands in a block, each with the lines below it."""
    lines = console.replace("\\\n", " ").splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith(("$ ", "# "))]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        if lines[start][2:].startswith("fairlane "):
            words = shlex.split(lines[start][2:].removeprefix("fairlane "), comments=True)
            yield Command(words, [line for line in lines[start + 1 : end] if line != "..."])


def rewritten(page: Page) -> str:
    """The text of a page with the current output of its commands."""
    text = page.text
    fairlane = Path(sys.executable).parent / "fairlane"
    with tempfile.TemporaryDirectory() as folder:
        page.write(Path(folder))
        for words, shown in page.commands:
            done = subprocess.run([fairlane, *words], cwd=folder, capture_output=True, text=True, check=False)
            lines = [line.rstrip() for line in done.stdout.splitlines()]
            if shown:
                text = text.replace("\n".join(shown), "\n".join(lines[: len(shown)]))
    return text


def main() -> None:
    """Writes the pages."""
    for name in PAGES:
        page = Page(name)
        if any(command.shown for command in page.commands) and (text := rewritten(page)) != page.text:
            page.path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"written: {page.path}\n")


if __name__ == "__main__":
    main()
