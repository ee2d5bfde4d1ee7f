"""Writing files so that a kill at any time leaves old content or new content, never a half."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlane.errors import UserError


def write_aside(path: Path, content: bytes) -> None:
    """Writes beside `path` and renames; creates the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_bytes(content)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """An empty folder to write into, whose files move to `folder` when the block ends without an error.

    `folder` is created with its parents if missing; other files in it stay. On an error nothing is left.

    Raises:
        UserError: The folder cannot be written.
    """
    stage = _stage(folder)
    try:
        yield stage
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(stage.iterdir()):
            file.replace(folder / file.name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def check_writable(folder: Path, option: str) -> None:
    """Raises a UserError that names `option` unless files can be written into `folder`; leaves nothing behind."""
    try:
        shutil.rmtree(_stage(folder))
    except UserError as error:
        raise UserError(f"{option}: {error}") from error


def _stage(folder: Path) -> Path:
    """A new hidden folder in `folder`, or in its nearest ancestor that exists."""
    try:
        anchor = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not anchor.is_dir():
            raise UserError(f"cannot write to {folder}: {anchor} is not a folder")
        return Path(tempfile.mkdtemp(dir=anchor, prefix=".fairlane-"))
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}") from error
