"""The command `fairlane play`."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from fairlane.base.errors import UserError

PATHS = (
    Path(__file__).parents[1] / "playground.html",
    Path(__file__).parents[3] / "site" / "playground" / "dist" / "playground.html",
)
"""Candidate paths of the page: in the installed package, or built in a checkout."""


def playground() -> Path:
    """Path of the playground's page.

    Raises:
        UserError: It has not been built.
    """
    for path in PATHS:
        if path.is_file():
            return path
    raise UserError("the playground is not built here; in a checkout: make playground")


@click.command()
@click.option("--path", "only_path", is_flag=True, help="Print the path of the page instead of opening it.")
def play(only_path: bool) -> None:
    """Open the playground in a browser.

    The playground simulates any scheme and any users, packet by packet.
    """
    page = playground()
    click.echo(str(page))
    if not only_path and not webbrowser.open(page.as_uri()):
        raise UserError(f"no browser could be opened; open {page} yourself")
