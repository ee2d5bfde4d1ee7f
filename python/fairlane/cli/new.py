"""The command `fairlane new`."""

from __future__ import annotations

import click

from fairlane.skeletons.edits import write_all
from fairlane.skeletons.kinds import CHECKOUT, KINDS, skeleton


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("name")
def new(kind: str, name: str) -> None:
    """Write a skeleton with a test, for contributors.

    The skeleton is a scheme, an experiment, a congestion control or a metric; its test fails until the code is filled
    in. Needs a checkout of the source. NAME names a module, such as toy_red; for an experiment it is PAPER.NAME.
    """
    made = skeleton(kind, name, CHECKOUT)
    existing = {path for path in made.files if path.exists()}
    write_all(made.files)
    for path in made.files:
        click.echo(f"{'changed' if path in existing else 'written'}: {path.relative_to(CHECKOUT)}")
    click.echo("next:")
    for command in made.commands:
        click.echo(f"  {command}")
