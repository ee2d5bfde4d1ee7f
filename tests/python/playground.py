"""Builds the playground once for its tests, if possible on this machine."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

PAGE = ROOT / "site/playground/dist/playground.html"
QUIETLY: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "text": True}


def missing() -> str | None:
    """A requirement of the build that this machine lacks."""
    for program in ("cargo", "node", "npm"):
        if shutil.which(program) is None:
            return f"no {program}"
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True, cwd=ROOT)
    if not (Path(sysroot.stdout.strip()) / "lib/rustlib/wasm32-unknown-unknown").is_dir():
        return "no wasm32-unknown-unknown: rustup target add wasm32-unknown-unknown"
    return None


def as_release() -> dict[str, str]:
    """Settings of the playground's profile: those that are set for releases, which CI compiles in less time."""
    return {
        name.replace("_RELEASE_", "_PLAYGROUND_"): value
        for name, value in os.environ.items()
        if name.startswith("CARGO_PROFILE_RELEASE_")
    }


@cache
def built() -> Path:
    """The page; skips the test if a tool or package for the build is missing."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    with (ROOT / "site/playground/package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if not (ROOT / "site/playground/node_modules/.installed").exists():
            install = subprocess.run(["make", "site/playground/node_modules/.installed"], check=False, **QUIETLY)
            if install.returncode:
                pytest.skip(f"no packages for the page: {install.stderr.strip().splitlines()[-1:]}")
        done = subprocess.run(["make", "playground"], check=False, env=os.environ | as_release(), **QUIETLY)
        assert done.returncode == 0, done.stderr
    return PAGE
