"""Replaces folders of results as a whole: a process killed at any time leaves old or new results, never a mixture.

The new folder is created next to the old one, and the two are exchanged atomically. The list `.fairlane` in the folder
names the written files. All other files are the user's. These are hard-linked into the new folder before the exchange,
and unlinked from the old folder afterwards.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from fairlane.base.errors import UserError, WriteError
from fairlane.base.files import parents_of, reason

LIST = ".fairlane"
"""File in a folder of results that lists the names of its files, one per line."""
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NOT_SUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}
"""Errors of file systems that cannot exchange two folders."""
_OLD = "-old"
"""Suffix of an old folder while the new folder replaces it in several steps."""


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Creates an empty folder to write into, which replaces `folder` if the block ends without an error.

    Creates `folder` and its parents if missing; the user's files in it stay. After an error, the old content stays and
    nothing new is left.

    Raises:
        UserError: The folder cannot be replaced. If this fails at the end, the message says where the results are.
    """
    with _stage(folder) as stage:
        with _named_files(stage, folder):
            yield stage
        names = sorted(name for name, _ in _entries(stage))
        (stage / LIST).write_text("".join(f"{name}\n" for name in (*names, LIST)), encoding="utf-8")
        whole = _real(folder)
        try:
            with _named(folder):
                if whole.exists():
                    _keep_others(whole, stage)
                    stage.chmod(stat.S_IMODE(whole.stat().st_mode))
                    _exchange(stage, whole)
                else:
                    stage.rename(whole)
        except UserError as error:
            kept = whole.with_name(f"{whole.name}.{os.urandom(4).hex()}")
            stage.rename(kept)
            raise UserError(f"{error}; the results are in {kept}") from error
        with suppress(OSError, UserError):
            _keep_others(stage, whole)  # files that appeared during the exchange


def check_replaceable(folder: Path, option: str, others: Mapping[str, Path | None] | None = None) -> None:
    """Raises a UserError that names `option` if `folder` cannot be replaced; leaves nothing behind.

    Args:
        folder: A folder of results, or a folder that does not exist.
        option: Option that names the folder.
        others: Folders that other options write; none may be inside `folder`.
    """
    try:
        with _stage(folder) as probe, _named(folder):
            if folder.exists():
                _keep_others(_real(folder), probe)
    except UserError as error:
        raise UserError(f"{option}: {error}") from error
    for other, path in (others or {}).items():
        if path is not None and _real(path).is_relative_to(_real(folder)):
            raise UserError(f"{other}: {path} is inside {folder}, which {option} replaces; name a folder outside it")


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Turns an OSError within the block into a UserError about the folder."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot write to {folder}: {error.strerror}") from error


@contextmanager
def _named_files(stage: Path, folder: Path) -> Iterator[None]:
    """Makes write errors within the block name the file at its final path instead of its path in the stage."""
    try:
        yield
    except Exception as error:
        why = None if isinstance(error, UserError) else reason(error)
        if why is None:
            raise
        # Most write errors name no file; the last written file is the one that failed.
        files = [stage / name for name, _ in _entries(stage)]
        newest = max(files, key=lambda file: file.stat().st_mtime_ns, default=stage)
        named = Path(getattr(error, "filename", None) or newest)
        if not named.is_relative_to(stage):
            raise
        raise WriteError(f"cannot write to {folder / named.relative_to(stage)}: {why}") from error


def _real(path: Path) -> Path:
    """Follows links: the target folder is replaced, not the link."""
    return Path(os.path.realpath(path))


def _check_kind(folder: Path) -> None:
    """Raises a UserError if `folder` exists and cannot be replaced."""
    whole = _real(folder)
    if whole.exists() and not whole.is_dir():
        raise UserError(f"cannot write to {folder}: it is not a folder")
    if Path.cwd().is_relative_to(whole):
        raise UserError(f"cannot write to {folder}: it is the current folder or contains it; name one below")
    if whole.is_mount():
        raise UserError(f"cannot write to {folder}: it is a mount point, which cannot be replaced; name a folder below")


def _keep_others(old: Path, new: Path) -> None:
    """Hard-links the files that are not in the folder's list into the new folder, unless the name exists there.

    Raises:
        UserError: The folder contains a subfolder. A process working there would be left in a removed folder.
    """
    try:
        ours = set((old / LIST).read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        ours = set()
    folders = {parent.as_posix() for name in ours for parent in Path(name).parents}
    for name, is_folder in _entries(old, folders):
        if is_folder:
            raise UserError(
                f"cannot write to {old}: it contains your own folder {name}; name another place, or move that folder"
            )
        if name not in ours:
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.link(old / name, new / name, follow_symlinks=False)


def _entries(folder: Path, into: set[str] | None = None, at: str = "") -> Iterator[tuple[str, bool]]:
    """Yields (name, False) for each file below a folder, and (name, True) for each subfolder that is not in `into`.

    Descends into the subfolders in `into`; if it is None, into all subfolders.
    """
    with os.scandir(folder / at) as entries:
        for entry in entries:
            name = f"{at}/{entry.name}" if at else entry.name
            if not entry.is_dir(follow_symlinks=False):
                yield name, False
            elif into is None or name in into:
                yield from _entries(folder, into, name)
            else:
                yield name, True


@contextmanager
def _stage(folder: Path) -> Iterator[Path]:
    """Creates a folder next to the one to replace; removes it at the end of the block if it still exists.

    The folder is locked. Unlocked folders were left by killed processes and are removed.

    Raises:
        UserError: The folder cannot be replaced.
    """
    _check_kind(folder)
    whole = _real(folder)
    with parents_of(whole):
        with _named(folder):
            _remove_abandoned(whole)
            stage, lock = _locked_stage(whole)
        try:
            yield stage
        finally:
            _remove(stage)
            os.close(lock)


def _prefix(whole: Path) -> str:
    return f".{whole.name}.fairlane-"


def _locked_stage(whole: Path) -> tuple[Path, int]:
    while True:
        stage = whole.with_name(f"{_prefix(whole)}{os.urandom(8).hex()}")
        stage.mkdir()
        with suppress(FileNotFoundError):
            lock = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # without locks in the file system, nobody removes it as abandoned
                fcntl.flock(lock, fcntl.LOCK_EX)
            if stage.exists():
                return stage, lock
            # Another process removed it as abandoned before it was locked.
            os.close(lock)


def _remove_abandoned(whole: Path) -> None:
    for path in whole.parent.iterdir():
        if not path.name.startswith(_prefix(whole)):
            continue
        with suppress(OSError):  # locked, gone, or not a folder
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.name.endswith(_OLD) and not whole.exists():
                    path.rename(whole)
                else:
                    _remove(path)
            finally:
                os.close(lock)


def _exchange(one: Path, other: Path) -> None:
    """Exchanges two folders in one step if the file system supports this, else in three steps.

    A process killed between the three steps may leave no folder named `other`. The next command that writes to `other`
    restores the folder.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is not None:
        if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
            return
        code = ctypes.get_errno()
        if code not in _NOT_SUPPORTED:
            raise OSError(code, os.strerror(code), str(other))
    aside = one.with_name(f"{one.name}{_OLD}")
    other.rename(aside)
    one.rename(other)
    aside.rename(one)


def _remove(folder: Path) -> None:
    import shutil  # slow: loads all archive formats

    shutil.rmtree(folder, ignore_errors=True)
