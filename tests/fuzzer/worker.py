"""Runs cases in this process, one after another, as the command would: `python -m fuzzer.worker`.

Standard input has one case per line. For each case, the worker writes a line of JSON to standard output. All output of
the command goes to files, whether from Python, a thread of the simulator, or a panic.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TextIO

from fairlane.base.signals import as_interrupts
from fairlane.cli.main import run_command
from fuzzer.case import Arguments, Case

MEMORY_BYTES = 6 * 2**30
"""Address space of a worker; a command that needs more for a small scenario is faulty."""
MOST_OUTPUT = 100_000
"""Number of bytes of a command's output that are checked at its start, and at its end."""


@dataclass(frozen=True)
class Ending:
    """End of a command.

    Attributes:
        code: Exit code, negative for a signal.
        stdout: Standard output.
        stderr: Standard error.
    """

    code: int
    stdout: str
    stderr: str


def main() -> None:
    """Runs cases until standard input ends."""
    signal.signal(signal.SIGINT, _pass)
    limit_memory()
    cases, answers = _own_channels()
    before, variables = Path.cwd(), dict(os.environ)
    for line in cases:
        case = Case.from_json(line)
        folder = Path(tempfile.mkdtemp(prefix="fairlane-fuzz-"))
        try:
            case.write(folder)
            os.chdir(folder)
            os.environ.update(case.environment)
            if case.own_process:
                endings = [_in_process_of_its_own(step, case) for step in case.steps]
            else:
                endings = [_called(step) for step in case.steps]
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(variables)
            shutil.rmtree(folder, ignore_errors=True)
        answers.write(json.dumps([asdict(ending) for ending in endings]) + "\n")
        answers.flush()


def limit_memory() -> None:
    """Limits the memory of this process and of its children."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _pass(_number: int, _frame: object) -> None:
    """Handler that ignores an interrupt between commands. Child processes do not inherit it, unlike SIG_IGN."""


def _own_channels() -> tuple[TextIO, TextIO]:
    """Moves the worker's input and output to new descriptors, since the commands of cases use descriptors 0 and 1."""
    cases: TextIO = os.fdopen(os.dup(0), encoding="utf-8")
    answers: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    return cases, answers


def _called(step: Arguments) -> Ending:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        os.dup2(out.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", line_buffering=True)
        sys.stderr = io.TextIOWrapper(
            io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", line_buffering=True
        )
        sys.argv = ["fairlane", *step]
        try:
            with as_interrupts() as received:
                code = run_command(list(step), received)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            signal.signal(signal.SIGINT, _pass)
            traceback.print_exc()
            code = 1
        finally:
            signal.signal(signal.SIGINT, _pass)
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, UnicodeError):
                    stream.flush()
        return Ending(code, _read(out), _read(errors))


def _in_process_of_its_own(step: Sequence[str], case: Case) -> Ending:
    program = Path(sys.executable).with_name("fairlane")
    command = " ".join(['exec "$0" "$@"', *case.redirections()])
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        done = subprocess.run(["/bin/sh", "-c", command, program, *step], stdout=out, stderr=errors, check=False)
        return Ending(done.returncode, _read(out), _read(errors))


def _read(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= 2 * MOST_OUTPUT:
        return file.read().decode("utf-8", "surrogateescape")
    start = file.read(MOST_OUTPUT)
    file.seek(size - MOST_OUTPUT)
    return (start + b"\n...\n" + file.read()).decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    main()
