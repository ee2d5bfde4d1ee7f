"""The command `fairlane play`."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from fairlane.base.errors import UserError

PLACES = (
    Path(__file__).parents[1] / "playground.html",
    Path(__file__).parents[3] / "site" / "playground" / "dist" / "playground.html",
)
"""Where the page may be: beside the package, or where a checkout builds it."""


def playground() -> Path:
    """The page of the playground.

    Raises:
        UserError: It has not been built.
    """
    for place in PLACES:
        if place.is_file():
            return place
    raise UserError("the playground is not built here; in a checkout: make playground")


@click.command()
@click.option("--path", "only_path", is_flag=True, help="Print where the page is, and open nothing.")
def play(only_path: bool) -> None:
    """Open the playground in a browser: any scheme, any users, packet by packet."""
    page = playground()
    click.echo(str(page))
    if not only_path and not webbrowser.open(page.as_uri()):
        raise UserError(f"no browser could be opened; open {page} yourself")
