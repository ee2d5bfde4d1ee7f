"""Runs the system's programs for a build, and finds missing programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fairlane.base.errors import UserError

PACKAGES = {
    "apt-cache": "apt",
    "apt-get": "apt",
    "bc": "bc",
    "bison": "bison",
    "cc": "gcc",
    "dpkg-deb": "dpkg",
    "flex": "flex",
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "tar": "tar",
    "xz": "xz-utils",
}
"""Debian package of each program."""
COMPILING = ("bc", "bison", "cc", "flex", "gcc", "ld", "make")
UNPACKING = ("tar", "xz")
DOWNLOADING = ("apt-cache", "apt-get", "dpkg-deb", *UNPACKING)
_KEPT = ("HOME", "PATH", "TMPDIR")


def environment() -> dict[str, str]:
    """Environment for programs, without the user's settings for compilers and make's settings for its children."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | {"LC_ALL": "C"}


def check(names: Sequence[str]) -> None:
    """Raises a UserError that names all missing programs and their packages."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        packages = " ".join(sorted({PACKAGES[name] for name in missing}))
        verb = "is" if len(missing) == 1 else "are"
        raise UserError(f"{', '.join(missing)} {verb} missing; on Debian: apt-get install {packages}")


def run(command: Sequence[str], *, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a program and waits for its end."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def must(command: Sequence[str], what: str, *, folder: Path | None = None) -> str:
    """Runs a program and returns its output.

    Raises:
        UserError: The program failed; the message contains `what` and the first error line.
    """
    result = run(command, folder=folder)
    if result.returncode != 0:
        raise UserError(f"{what}: {first_error(result.stderr)}")
    return result.stdout


def first_error(text: str) -> str:
    """The most informative line of a failed program's output."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for word in ("No space left on device", "error:", "E: ", "Error", "error"):
        for line in lines:
            if word in line:
                return line.removeprefix("E: ")
    return lines[-1] if lines else "no reason given"
