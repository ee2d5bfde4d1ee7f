"""The command `fairlane`.

A user error prints one line on stderr and exits with 2. Ctrl-C exits with 130, SIGTERM with 143, SIGHUP with 129;
finished runs are kept. A failed check exits with 1.

Imports here delay every command, so the module of a command is loaded when that command is used. Modules that only few
commands need, such as tables, are imported inside functions.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from contextlib import suppress
from functools import cache
from importlib import import_module

import click

from fairlane import _fairlane
from fairlane.base.errors import (
    FairlaneError,
    Interrupted,
    ScenarioError,
    ScenarioWarning,
    SchemeError,
    ThreadError,
    UserError,
)
from fairlane.base.signals import Received, as_interrupts
from fairlane.base.text import message_line
from fairlane.cli.options import Group
from fairlane.cli.output import READABLE

EXIT_NOBODY_READS = 1
EXIT_USER_ERROR = 2


WHERE = {
    "init": "init:init",
    "import": "imports:import_commands",
    "run": "simulate:run",
    "compare": "simulate:compare",
    "sweep": "sweep:sweep",
    "pairs": "pairs:pairs",
    "evaluate": "evaluate:evaluate",
    "search": "search:search_commands",
    "check": "check:check",
    "reproduce": "papers:reproduce",
    "report": "papers:report",
    "schemes": "catalogue:schemes",
    "congestion-controls": "catalogue:congestion_controls",
    "topologies": "catalogue:topologies",
    "schema": "catalogue:schema",
    "plot": "plot:plot",
    "play": "play:play",
    "new": "new:new",
    "store": "store:store_commands",
    "lab": "lab:lab_commands",
    "kernel": "kernel:kernel_commands",
    "p4": "p4:p4_commands",
    "completions": "shell:completions",
    "man": "shell:man",
}
"""Commands in the order of the help, as MODULE:NAME within this folder."""


class _Commands(Group):
    def list_commands(self, _context: click.Context) -> list[str]:
        return list(WHERE)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        return command(name)


@cache
def command(name: str) -> click.Command | None:
    """Loads a command; returns None if the name is unknown."""
    module, _, member = WHERE.get(name, "").partition(":")
    loaded: click.Command | None = getattr(import_module(f"fairlane.cli.{module}"), member) if module else None
    return loaded


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_fairlane.version(), prog_name="fairlane", message="%(prog)s %(version)s")
def commands() -> None:
    """Simulate fair sharing of links, packet by packet."""


def main() -> None:
    """Runs the command line and exits."""
    _prepare_output()
    warnings.simplefilter("ignore", ScenarioWarning)  # commands print notes with their results
    with as_interrupts() as received:
        code = run_command(sys.argv[1:], received)
        is_interrupted = received.number is not None
    # An interrupt during shutdown should not print a traceback.
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if is_interrupted:
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code)  # do not wait for threads: the user's code in one may never return
    sys.exit(code)


def _prepare_output() -> None:
    """Makes standard output accept every character, and fail on a short write."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        raw: object = out.buffer
        if isinstance(raw, io.RawIOBase):
            # With PYTHONUNBUFFERED, Python ignores a short write, for example on a full disk.
            out = sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=out.encoding, write_through=True)
        out.reconfigure(errors=READABLE)


def run_command(arguments: list[str], received: Received) -> int:
    """Runs a command and returns its exit code, or the signal's code if a `received` signal ended the command."""
    try:
        _check_text(arguments)
        code: int | None = commands.main(arguments, prog_name="fairlane", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except click.ClickException as error:
        return _fail(error.format_message())
    except Interrupted as interrupted:
        _report(str(interrupted))
    except (FairlaneError, ScenarioError, SchemeError, ThreadError) as error:
        return _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        _report("interrupted")
    except OSError as error:
        if received.number is None:
            return _fail(f"{error.filename}: {error.strerror}") if error.filename else _fail_output(error)
    return received.exit_code


def _check_text(arguments: list[str]) -> None:
    """Raises a UserError if an argument is not UTF-8 text. Libraries and documents accept no other file names."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UserError(f"{os.fsencode(argument)!r}: must be UTF-8 text") from None


def _fail(message: str) -> int:
    _report(f"{click.style('error:', fg='red')} {message_line(message)}")
    return EXIT_USER_ERROR


def _report(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        click.echo(line, err=True)


def _fail_output(error: OSError) -> int:
    """Handles an error of standard output, which names no file. Further output goes to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return EXIT_NOBODY_READS
    return _fail(f"standard output: {error.strerror}")
