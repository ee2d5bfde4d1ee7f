"""Runs commands by forking a process that has loaded all of them. A fork takes milliseconds, loading takes 0.1 s."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import fairlane
from fairlane.cli.main import WHERE

_LOADED = multiprocessing.get_context("forkserver")
_MODULES = {f"cli.{where.partition(':')[0]}" for where in WHERE.values()} | fairlane.MEMBERS.keys()
_LOADED.set_forkserver_preload([*(f"fairlane.{module}" for module in sorted(_MODULES)), __name__])


def run(arguments: Sequence[str | Path], folder: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Runs `fairlane` in a working directory, with this process's environment."""
    words = ["fairlane", *map(str, arguments)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = tuple(f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, err))
        process = _LOADED.Process(target=_command, args=(words, folder, dict(os.environ), streams))
        process.start()
        process.join(timeout_s)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(words, timeout_s)
        written = []
        for file in (out, err):
            file.seek(0)
            written.append(file.read().decode())
        return subprocess.CompletedProcess(words, process.exitcode, *written)


def _command(words: list[str], folder: Path, environment: Mapping[str, str], streams: tuple[str, str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams, start=1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_APPEND), number)
    sys.argv = words
    from fairlane.cli.main import main

    main()
