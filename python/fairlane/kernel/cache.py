"""Built kernels, each in a folder of the cache with the guest's program and a manifest."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlane.base.errors import UserError
from fairlane.base.progress import tell
from fairlane.base.text import quoted
from fairlane.kernel import ours, source

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Built:
    """A kernel that can run.

    Attributes:
        folder: Folder of the kernel.
        version: Version such as `6.12`.
        release: Release such as `6.12.117`.
        identity: Release, and a hash of its source and of our files; equal for equal kernels.
        manifest: Description of the build.
    """

    folder: Path
    version: str
    release: str
    identity: str
    manifest: dict[str, Any]

    @property
    def linux(self) -> Path:
        """The kernel, a program of the host."""
        return self.folder / "linux"

    @property
    def init(self) -> Path:
        """The guest's only program."""
        return self.folder / "init"

    @property
    def is_current(self) -> bool:
        """True if the kernel was built from the current version of our files."""
        return bool(self.manifest["ours"] == ours.digest())

    @property
    def bytes(self) -> int:
        """Size on disk."""
        return sum(file.stat().st_size for file in self.folder.iterdir())


def cache_folder(folder: Path | None = None) -> Path:
    """Default folder of kernels."""
    if folder is not None:
        return folder.absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "fairlane" / "kernel"


def find(version: str | None = None, cache: Path | None = None) -> Built:
    """The newest up-to-date kernel, optionally of a version or release.

    Raises:
        UserError: There is no such kernel; the message contains the command to build one.
    """
    found = [kernel for kernel in kernels(cache) if version in (None, kernel.version, kernel.release)]
    current = [kernel for kernel in found if kernel.is_current]
    if current:
        return current[-1]
    wanted = f" {version}" if version else ""
    command = f"run `fairlane kernel build{wanted}`"
    if found:
        raise UserError(f"kernel {found[-1].release} was built from other files than this Fairlane's: {command}")
    raise UserError(f"no kernel{wanted} built: {command}")


def kernels(cache: Path | None = None) -> list[Built]:
    """Kernels in the cache, by version and time."""
    found = []
    for file in cache_folder(cache).glob(f"*/{MANIFEST}"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            manifest = json.loads(file.read_text(encoding="utf-8"))
            kernel = Built(file.parent, manifest["version"], manifest["release"], manifest["identity"], manifest)
            if kernel.linux.is_file() and kernel.init.is_file():
                found.append(kernel)
    return sorted(found, key=lambda kernel: (source.number(kernel.version), kernel.manifest["built"]))


def remove(version: str, cache: Path | None = None) -> list[Path]:
    """Removes all kernels of a version with source and download, or one kernel by release or identity.

    Raises:
        UserError: The kernel does not exist or is being built.
    """
    folder = cache_folder(cache)
    kept = kernels(cache)
    gone = [kernel.folder for kernel in kept if version in (kernel.version, kernel.release, kernel.identity)]
    if source.VERSION.fullmatch(version):
        gone += [work] if (work := work_folder(folder, version)).exists() else []
        gone += sorted((folder / "downloads").glob(f"linux-source-{version}_*.deb"))
    if not gone:
        known = ", ".join(sorted({kernel.version for kernel in kept}, key=source.number)) or "none"
        raise UserError(f"{quoted(version)} is not a kernel in {folder}; there are: {known}")
    with locked(folder, next((one.version for one in kept if one.folder in gone), version), wait=False, show=False):
        for path in gone:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    return gone


def work_folder(cache: Path, version: str) -> Path:
    """Build folder of a version, which is kept after an interrupt."""
    return cache / "work" / version


@contextmanager
def locked(cache: Path, version: str, *, wait: bool, show: bool) -> Iterator[int]:
    """Locks a version against other builds and removals; yields the lock, which child processes keep after a kill.

    Raises:
        UserError: Another process holds the lock, and `wait` is false.
    """
    import fcntl

    cache.mkdir(parents=True, exist_ok=True)
    lock = os.open(cache / f".{version}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise UserError(f"kernel {version} is being built by another process") from None
            tell(f"kernel {version} is being built by another process: waiting for it", show=show)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)
