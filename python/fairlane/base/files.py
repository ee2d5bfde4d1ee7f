"""Writing files so that a kill at any time leaves old content or new content, never a half."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fairlane.base.errors import UserError, WriteError

_OS_ERROR = re.compile(r"\(os error (\d+)\)")


def write_aside(path: Path, content: bytes) -> None:
    """Writes to a temporary file next to `path` and renames it; creates the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_beside(path) as aside:
        aside.write_bytes(content)
        aside.replace(path)


@contextmanager
def new_beside(path: Path) -> Iterator[Path]:
    """A new empty file next to `path`; removed at the end of the block if it still exists.

    Its name is unpredictable, and an existing file or link is never opened. So other writers in the folder cannot
    redirect us.
    """
    aside = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    aside.open("xb").close()
    try:
        yield aside
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def parents_of(path: Path) -> Iterator[None]:
    """The folders above `path`; those that were made and are empty when the block ends are removed."""
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        with suppress(FileExistsError):  # it is a file: what follows will say so
            path.parent.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        with suppress(OSError):  # there is something in it now, or it could not be made
            for folder in made:
                folder.rmdir()


def reason(error: Exception) -> str | None:
    """The system's error text; None for errors of another kind. Polars has it only in its message."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    found = _OS_ERROR.search(str(error))
    return os.strerror(int(found[1])) if found else None


@contextmanager
def written_below(folder: Path, option: str) -> Iterator[None]:
    """An error while files below a folder are written names the option and the file."""
    try:
        yield
    except WriteError as error:
        raise WriteError(f"{option}: {error}") from error
    except OSError as error:
        raise WriteError(f"{option}: cannot write to {error.filename or folder}: {reason(error)}") from error


def read_json(file: Path, option: str) -> Any:
    """Content of a JSON file.

    Raises:
        UserError: It cannot be read or is not JSON; the message names `option`.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{option}: {file}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{option}: {file}: not JSON: {error}") from error


def check_writable(folder: Path, option: str) -> None:
    """Raises a UserError that names `option` unless files can be written into `folder`; leaves nothing behind."""
    try:
        probe = folder.absolute() / "probe"
        with parents_of(probe), new_beside(probe):
            pass
    except OSError as error:
        raise UserError(f"{option}: cannot write to {folder}: {error.strerror}") from error


def check_file(path: Path, option: str) -> None:
    """Raises a UserError that names `option` unless a file can be written at `path`; leaves nothing behind."""
    if path.exists() and not path.is_file():
        raise UserError(f"{option}: cannot write to {path}: it is not a file")
    check_writable(path.absolute().parent, option)
