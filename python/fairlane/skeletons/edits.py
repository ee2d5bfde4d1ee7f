"""Changes several text files atomically, and inserts lines into lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fairlane.base.errors import UserError, WriteError
from fairlane.base.files import reason, write_aside
from fairlane.base.text import quoted


def write_all(files: Mapping[Path, str]) -> None:
    """Writes all files; if a file cannot be written, restores the others.

    Raises:
        WriteError: A file cannot be written; the message names it.
    """
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    done: list[Path] = []
    try:
        for path, text in files.items():
            write_aside(path, text.encode())
            done.append(path)
    except BaseException as error:
        for written in done:
            content = before[written]
            if content is None:
                written.unlink()
            else:
                write_aside(written, content)
        if isinstance(error, OSError):
            raise WriteError(f"cannot write {path}: {reason(error)}; nothing was changed") from error
        raise


def after_last(file: Path, line: str, lines: str, within: str = "") -> str:
    """Text of a file with `lines` inserted after the last line that matches `line`, in the block that `within` starts.

    A block ends with the first line that starts with a closing bracket.

    Raises:
        UserError: No line matches, so the file no longer has the form that skeletons expect.
    """
    text = file.read_text(encoding="utf-8")
    start, end = 0, len(text)
    if within:
        block = re.search(rf"(?ms)^{within}.*?(?=^[\]}})])", text)
        start, end = block.span() if block else (0, 0)
    found = [match.end() for match in re.finditer(rf"(?m)^{line}.*\n", text) if start <= match.start() < end]
    if not found:
        raise UserError(f"{file}: has no list to put {quoted(lines.strip().splitlines()[-1])} into")
    return text[: found[-1]] + lines + text[found[-1] :]


def sorted_module(text: str, declaration: str) -> str:
    """`text` of a mod.rs with a module declaration inserted in alphabetical order."""

    def name(line: str) -> str:
        return line.rpartition(" ")[2]

    earlier = [one for one in re.findall(r"(?m)^(?:pub )?mod \w+;", text) if name(one) < name(declaration)]
    if not earlier:
        return re.sub(r"(?m)^((?:pub )?mod \w+;)", rf"{declaration}\n\1", text, count=1)
    return text.replace(f"{earlier[-1]}\n", f"{earlier[-1]}\n{declaration}\n", 1)
