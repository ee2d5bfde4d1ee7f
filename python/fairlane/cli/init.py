"""The command `fairlane init`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fairlane.base.errors import ScenarioError, UserError
from fairlane.base.files import check_file, written_below
from fairlane.cli.output import say


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("scenario.toml"), metavar="[FILE.toml]")
@click.option("--profile", metavar="NAME", help="TCP profile: linux, ns3, ns3.26, ns2 or quic [default: linux].")
@click.option(
    "--buffer",
    metavar="LIMIT",
    help='Limit of the queue, such as "24 packets", "64 kB", or a time at the rate of the link [default: 24 packets].',
)
@click.option("--scheme", metavar="NAME", help="Scheme of the queue [default: abc].")
@click.option("--rate", metavar="RATE", help="Rate of the bottleneck [default: 10 Mbit/s].")
@click.option("--rtt", metavar="TIME", help="Round-trip time without queues [default: 20 ms].")
def init(file: Path, **given: str | None) -> None:
    """Write a commented scenario to start from.

    On a terminal, prompts for profile and buffer. An existing file is never overwritten.
    """
    from fairlane.skeletons import scenario_file  # slow: loads schemas

    if file.exists():
        raise UserError(f"{file}: exists already and is not overwritten")
    check_file(file, "FILE")
    if sys.stdin.isatty() and sys.stdout.isatty():
        if given["profile"] is None:
            names, default = scenario_file.profiles()
            given["profile"] = click.prompt("TCP profile", type=click.Choice(names), default=default)
        if given["buffer"] is None:
            given["buffer"] = click.prompt("buffer: packets, bytes or a time", default=scenario_file.BUFFER)
    chosen = {key: value for key, value in given.items() if value is not None}
    try:
        text = scenario_file.scenario_file(file.stem, str(file), **chosen)
    except ScenarioError as error:
        raise UserError(f"init: {error}") from error
    with written_below(file, "FILE"), file.open("x", encoding="utf-8") as new:
        new.write(text)
    say(f"written: {file}")
    say(f"next: fairlane compare {file} --queues droptail,{chosen.get('scheme', scenario_file.SCHEME)}")
