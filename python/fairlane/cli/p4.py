"""The command `fairlane p4 commands`."""

from __future__ import annotations

from pathlib import Path

import click

from fairlane.base.errors import UserError
from fairlane.cli.options import Group


@click.group("p4", cls=Group)
def p4_commands() -> None:
    """Configure P4 switches."""


@p4_commands.command("commands")
@click.argument("config", metavar="CONFIG.toml", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["cli", "p4runtime"]),
    default="cli",
    show_default=True,
    help="Commands for simple_switch_CLI, or JSON for a client of P4Runtime.",
)
@click.option(
    "--users",
    type=click.IntRange(1, 2**24),
    default=4096,
    show_default=True,
    help="Number of meters, the value of -DUSERS when compiling.",
)
@click.option(
    "--station",
    "stations",
    multiple=True,
    metavar="MAC=INTERFACE",
    help="Interface through which an Ethernet address is reached; may be repeated.",
)
def commands(config: Path, form: str, users: int, stations: tuple[str, ...]) -> None:
    """Write table entries for abc.p4 or csfq.p4.

    CONFIG.toml is the configuration of a Linux node. Needs fairlane-node.
    """
    import subprocess

    from fairlane.lab import node

    options = [word for station in stations for word in ("--station", station)]
    command = [node.program(), "p4-commands", str(config), "--format", form, "--users", str(users), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        # The first line is the error, the rest is help.
        raise UserError(done.stderr.strip().splitlines()[0].removeprefix("error: "))
    click.echo(done.stderr, err=True, nl=False)
    click.echo(done.stdout, nl=False)
