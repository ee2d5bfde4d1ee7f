"""The command `fairlane new`."""

from __future__ import annotations

import click

from fairlane.skeletons.edits import write_all
from fairlane.skeletons.kinds import CHECKOUT, KINDS, skeleton


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("name")
def new(kind: str, name: str) -> None:
    """Write the skeleton of a scheme, experiment, control or metric, with a test that fails until it is filled in.

    Needs a checkout of the source. NAME is that of a module, such as toy_red; for an experiment PAPER.NAME.
    """
    made = skeleton(kind, name, CHECKOUT)
    there = {path for path in made.files if path.exists()}
    write_all(made.files)
    for path in made.files:
        click.echo(f"{'changed' if path in there else 'written'}: {path.relative_to(CHECKOUT)}")
    click.echo("next:")
    for command in made.commands:
        click.echo(f"  {command}")
