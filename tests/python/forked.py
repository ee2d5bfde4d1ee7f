"""Runs commands by forking a process that has loaded all of them.

A fork takes milliseconds. Loading takes 0.1 s, or a second with matplotlib.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import fairlane
from fairlane.results import plots

_THREADED = {"fairlane.linux.trace", "fairlane.runs.watch"}
"""Modules that load polars. It starts threads, which a forked process would lack."""
_PACKAGE = Path(fairlane.__file__).parent
_FILES = (file.relative_to(_PACKAGE.parent).with_suffix("") for file in sorted(_PACKAGE.rglob("[!_]*.py")))
_MODULES = {".".join(file.parts) for file in _FILES if "skeletons" not in file.parts} - _THREADED
_BACKENDS = [f"matplotlib.backends.backend_{name}" for name in ("agg", "svg", "pdf")]
_LOADED = multiprocessing.get_context("forkserver")
_LOADED.set_forkserver_preload([*sorted(_MODULES), *_BACKENDS, "networkx", __name__])


def run(arguments: Sequence[str | Path], folder: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Runs `fairlane` in a working directory, with this process's environment and its way to draw figures."""
    words = ["fairlane", *map(str, arguments)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = tuple(f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, err))
        process = _LOADED.Process(target=_command, args=(words, folder, dict(os.environ), streams, plots._save))
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


def _command(
    words: list[str],
    folder: Path,
    environment: Mapping[str, str],
    streams: tuple[str, str],
    draw: Callable[..., None],
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams, start=1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_APPEND), number)
    sys.argv = words
    plots._save = draw
    from fairlane.cli.main import main

    main()
