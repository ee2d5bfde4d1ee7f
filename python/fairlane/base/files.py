"""Writes files so that a process killed at any time leaves the old or the new content, never a part of it."""

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
    """Creates an empty file next to `path`; removes it at the end of the block if it still exists.

    The file has an unpredictable name, and an existing file or link is never opened. So other users of the folder
    cannot redirect the output.
    """
    aside = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    aside.open("xb").close()
    try:
        yield aside
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def parents_of(path: Path) -> Iterator[None]:
    """Creates the folders above `path`; at the end of the block, removes created folders that are empty."""
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        with suppress(FileExistsError):  # it is a file: the block reports that
            path.parent.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        with suppress(OSError):  # it is not empty, or could not be created
            for folder in made:
                folder.rmdir()


def reason(error: Exception) -> str | None:
    """The system's error text; None for other errors. Errors of Polars contain this text only in their message."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    found = _OS_ERROR.search(str(error))
    return os.strerror(int(found[1])) if found else None


@contextmanager
def written_below(folder: Path, option: str) -> Iterator[None]:
    """Adds the option and the file to errors that occur while files below a folder are written."""
    try:
        yield
    except WriteError as error:
        raise WriteError(f"{option}: {error}") from error
    except OSError as error:
        raise WriteError(f"{option}: cannot write to {error.filename or folder}: {reason(error)}") from error


def read_json(file: Path, option: str) -> Any:
    """Content of a JSON file.

    Raises:
        UserError: The file cannot be read or is not JSON; the message names `option`.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{option}: {file}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{option}: {file}: not JSON: {error}") from error


def check_writable(folder: Path, option: str) -> None:
    """Raises a UserError that names `option` if no file can be written into `folder`; leaves nothing behind."""
    try:
        probe = folder.absolute() / "probe"
        with parents_of(probe), new_beside(probe):
            pass
    except OSError as error:
        raise UserError(f"{option}: cannot write to {folder}: {error.strerror}") from error


def check_file(path: Path, option: str) -> None:
    """Raises a UserError that names `option` if `path` cannot be written; leaves nothing behind."""
    if path.exists() and not path.is_file():
        raise UserError(f"{option}: cannot write to {path}: it is not a file")
    check_writable(path.absolute().parent, option)
