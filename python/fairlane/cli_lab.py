"""The commands `fairlane lab run|clean`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

PLANES = ("user", "ebpf", "p4", "sim")


@click.group("lab")
def lab_commands() -> None:
    """Run experiments on real packets, in network namespaces of this machine. Needs root."""


@lab_commands.command("run")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--plane",
    "planes",
    type=click.Choice(PLANES),
    multiple=True,
    default=("user",),
    show_default=True,
    help="Who forwards; can be given again: they are drawn side by side.",
)
@click.option("--quick", is_flag=True, help="Fewer points.")
@click.option(
    "--replications", type=click.IntRange(min=1), default=5, show_default=True, metavar="N", help="Runs of every point."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Runs at once, each in a network of its own [default: one for every two processors].",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the scenario; PLANE:KEY=VALUE on one plane only.",
)
@click.option("--store", type=click.Path(path_type=Path), metavar="DIR", help="Finished runs [default: results/store].")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results/lab"),
    show_default=True,
    metavar="DIR",
    help="Points, claims and figures.",
)
@click.option(
    "--p4c",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="p4c-bm2-ss, for the plane p4 [default: in the path].",
)
@click.option(
    "--simple-switch",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="BMv2's simple_switch, for the plane p4 [default: in the path].",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def run(
    names: tuple[str, ...],
    planes: tuple[str, ...],
    quick: bool,
    replications: int,
    jobs: int | None,
    settings: tuple[str, ...],
    store: Path | None,
    out: Path,
    p4c: Path | None,
    simple_switch: Path | None,
    as_json: bool,
) -> None:
    """Run experiments of a paper, such as p4abc.fig5, and test their claims on every plane."""
    from fairlane.cli import parse_settings
    from fairlane.files import check_writable
    from fairlane.lab.verb import lab, terminated_as_interrupted, write
    from fairlane.tables import print_reproduction

    check_writable(out, "--out")
    # Runs may have processes of their own, which know the environment.
    tools = {"FAIRLANE_P4C": p4c, "FAIRLANE_SIMPLE_SWITCH": simple_switch}
    os.environ.update({name: str(path) for name, path in tools.items() if path})
    with terminated_as_interrupted():
        found = lab(
            *names,
            planes=list(dict.fromkeys(planes)),
            quick=quick,
            replications=replications,
            settings=parse_settings(settings),
            store=store,
            jobs=jobs,
            progress=True,
        )
    figures = write(found, out)
    if as_json:
        documents = {plane: reproduction.document() for plane, reproduction in found.items()}
        click.echo(json.dumps(documents, allow_nan=False, ensure_ascii=False))
        return
    for plane, reproduction in found.items():
        click.echo(f"plane {plane}")
        print_reproduction(reproduction)
    for figure in figures:
        click.echo(f"figure: {figure} and {figure.with_suffix('.svg').name}")


@lab_commands.command("clean")
def clean_up() -> None:
    """Remove what killed labs have left: namespaces, processes in them, mounts."""
    from fairlane.lab import clean

    for name in clean():
        click.echo(f"removed {name}")
