"""The commands `fairlane schemes|congestion-controls|topologies|schema`."""

from __future__ import annotations

import click

import fairlane
from fairlane.cli.options import completing, json_option, scheme_names
from fairlane.cli.output import print_document
from fairlane.schemas import SCHEMAS


def _control_names() -> list[str]:
    return [control["name"] for control in fairlane.congestion_controls()]


@click.command()
@click.argument("name", required=False, shell_complete=completing(scheme_names))
@click.option("--all", "everything", is_flag=True, help="Print a row for each scheme with title, kind and source.")
@json_option
def schemes(name: str | None, everything: bool, as_json: bool) -> None:
    """List schemes, or the parameters of one."""
    chosen = fairlane.schemes(name)
    if as_json:
        print_document(chosen)
        return
    from fairlane.cli import printing

    if name is None:
        printing.print_schemes(chosen, everything=everything)
    else:
        printing.print_scheme(chosen[0])


@click.command("congestion-controls")
@click.argument("name", required=False, shell_complete=completing(_control_names))
@json_option
def congestion_controls(name: str | None, as_json: bool) -> None:
    """List congestion controls, or the keys of one."""
    chosen = fairlane.congestion_controls(name)
    if as_json:
        print_document(chosen)
        return
    from fairlane.cli import printing

    if name is None:
        printing.print_congestion_controls(chosen)
    else:
        printing.print_congestion_control(chosen[0])


@click.command()
@json_option
def topologies(as_json: bool) -> None:
    """List topologies with their parameters."""
    every = fairlane.topologies()
    if as_json:
        print_document(every)
        return
    from fairlane.cli.printing import print_topologies

    print_topologies(every)


@click.command()
@click.argument("of", type=click.Choice(list(SCHEMAS)))
def schema(of: str) -> None:
    """Print the JSON Schema of an input file or a document.

    Documents are what commands print with --json.
    """
    print_document(fairlane.schema(of))
