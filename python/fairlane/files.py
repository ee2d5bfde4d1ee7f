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
def staged(folder: Path, option: str) -> Iterator[Path]:
    """An empty folder to write into, whose files move to `folder` when the block ends without an error.

    Opening it proves that `folder` can be written, before anything is simulated. On an error nothing is left.

    Args:
        folder: Where the files shall be; created with its parents if missing, other files in it stay.
        option: What named the folder, for the message.

    Raises:
        UserError: The folder cannot be written.
    """
    stage = _stage(folder, option)
    try:
        yield stage
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(stage.iterdir()):
            file.replace(folder / file.name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def check_writable(folder: Path, option: str) -> None:
    """Raises a UserError unless files can be written into `folder`; leaves nothing behind."""
    shutil.rmtree(_stage(folder, option))


def _stage(folder: Path, option: str) -> Path:
    """A new hidden folder in `folder`, or in its nearest ancestor that exists."""
    try:
        anchor = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not anchor.is_dir():
            raise UserError(f"{option}: cannot write to {folder}: {anchor} is not a folder")
        return Path(tempfile.mkdtemp(dir=anchor, prefix=".fairlane-"))
    except OSError as error:
        raise UserError(f"{option}: cannot write to {folder}: {error.strerror}") from error
