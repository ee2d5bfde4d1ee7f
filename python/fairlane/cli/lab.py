"""The commands `fairlane lab run|compare|clean`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fairlane.base.errors import UserError
from fairlane.base.planes import COMPARED_KERNEL, FORWARDER, LINUX, P4, PLANES, SIMULATOR, problem_of_plane
from fairlane.cli.options import (
    Decorator,
    Group,
    Plane,
    given_options,
    json_option,
    options,
    parse_settings,
    path_option,
    split_names,
    table_option,
    write_table,
    written_out,
)
from fairlane.cli.output import print_json, say

MOST_JOBS = 1024


_HELP = f"""Run experiments on real packets.

The planes forwarder, kernel and p4 run in real time, in network namespaces of this machine, and need root. The plane
linux runs a Linux kernel as a process in virtual time: see `fairlane kernel build`.

docs/agreement-linux.md compares the simulator's TCP profile `linux` with
Linux {COMPARED_KERNEL}.
"""


@click.group("lab", cls=Group, help=_HELP)
def lab_commands() -> None:
    """Command group with the help text `_HELP`."""


def _tool(option: str, variable: str, name: str) -> Decorator:
    """Option that names a program of the plane `p4`, passed to the processes of runs in an environment variable."""

    def keep(_context: click.Context, _option: click.Parameter, path: Path | None) -> None:
        if path:
            os.environ[variable] = str(path)

    text = f"{name}, for the plane p4 [default: found in PATH]."
    kind = click.Path(path_type=Path)
    return click.option(option, type=kind, metavar="FILE", expose_value=False, callback=keep, help=text)


_LISTED = "fairlane.planes"
"""Key in a command's context for the planes of `--planes`."""


def _keep(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> None:
    kind = Plane(PLANES, problem_of_plane)
    names = [kind.convert(name, option, context) for text in texts for name in split_names(text)]
    context.meta[_LISTED] = tuple(names)


def _with_listed(context: click.Context, option: click.Parameter, planes: tuple[str, ...]) -> tuple[str, ...]:
    listed: tuple[str, ...] = context.meta[_LISTED]
    is_given = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    return (*listed, *planes) if is_given or not listed else listed


_plane_options = options(
    click.option("--planes", "_planes", multiple=True, hidden=True, is_eager=True, expose_value=False, callback=_keep),
    click.option(
        "--plane",
        "planes",
        type=Plane(PLANES, problem_of_plane),
        multiple=True,
        callback=_with_listed,
        default=(FORWARDER,),
        show_default=True,
        help="Plane that forwards the packets; may be repeated.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1, MOST_JOBS),
        metavar="N",
        help="Runs at the same time [default: half the processors; on the plane linux, all].",
    ),
    click.option("--kernel", metavar="VERSION", help="Kernel of the plane linux [default: the newest that was built]."),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change a key of the scenario; PLANE:KEY=VALUE for one plane only.",
    ),
    path_option("--store", help="Folder of finished runs [default: results/store]."),
    _tool("--p4c", "FAIRLANE_P4C", "p4c-bm2-ss"),
    _tool("--simple-switch", "FAIRLANE_SIMPLE_SWITCH", "BMv2's simple_switch"),
    json_option,
)


def _check_planes_use_options(planes: tuple[str, ...]) -> None:
    """Raises a UserError for an option that none of the planes uses."""
    given = given_options()
    if "jobs" in given and set(planes) == {SIMULATOR}:
        raise UserError(f"{given['jobs']}: has no effect on the plane {SIMULATOR}")
    for option, plane in (("p4c", P4), ("simple_switch", P4), ("kernel", LINUX)):
        if option in given and plane not in planes:
            raise UserError(f"{given[option]}: has no effect without --plane {plane}")


@lab_commands.command("run")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--quick", is_flag=True, help="Fewer points.")
@click.option(
    "--replications", type=click.IntRange(min=1), default=5, show_default=True, metavar="N", help="Runs of every point."
)
@path_option(
    "--known",
    multiple=True,
    metavar="FILE",
    help="Reuse runs from the runs.csv of an earlier lab; may be repeated.",
)
@path_option("--out", default=Path("results/lab"), show_default=True, help="Write points, claims, runs and figures.")
@_plane_options
def run(
    names: tuple[str, ...],
    planes: tuple[str, ...],
    jobs: int | None,
    settings: tuple[str, ...],
    store: Path | None,
    out: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Run a paper's experiments on planes; test its claims.

    A name is an experiment such as p4abc.fig5, or a paper.
    """
    from fairlane.base.errors import Interrupted
    from fairlane.base.files import written_below
    from fairlane.base.folders import check_replaceable
    from fairlane.cli.printing import print_figures, print_reproduction
    from fairlane.lab import LabError
    from fairlane.lab.experiments import lab, made, write, write_runs
    from fairlane.store import Store

    _check_planes_use_options(planes)
    check_replaceable(out, "--out", {"--store": Store(store).folder})
    what: dict[str, Any] = {"planes": list(dict.fromkeys(planes)), "settings": parse_settings(settings), "store": store}
    what |= options
    try:
        found = lab(*names, **what, jobs=jobs, progress=True)
    except (Interrupted, LabError):
        with written_below(out, "--out"):
            write_runs(made(*names, **what), out)
        raise
    with written_below(out, "--out"):
        figures = write(found, made(*names, **what), out)
    if as_json:
        documents = {plane: reproduction.document() for plane, reproduction in found.items()}
        print_json(json.dumps(documents, allow_nan=False, ensure_ascii=False))
        return
    for plane, reproduction in found.items():
        say(f"plane {plane}")
        print_reproduction(reproduction)
    print_figures(figures)


@lab_commands.command("compare")
@click.argument("file", metavar="SCENARIO.toml", type=click.Path(path_type=Path))
@click.option(
    "--queues",
    required=True,
    multiple=True,
    metavar="A,B",
    help='Schemes to compare, such as droptail,abc or "fq_codel:short_queue=port". May be repeated.',
)
@click.option(
    "--replications", type=click.IntRange(min=1), metavar="N", help="Runs [default: run.replications of the scenario]."
)
@path_option("--out", help="Write all runs as Parquet, and figures.")
@table_option
@_plane_options
def compare_command(
    file: Path,
    queues: tuple[str, ...],
    planes: tuple[str, ...],
    settings: tuple[str, ...],
    store: Path | None,
    out: Path | None,
    table: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Run your scenario under several queues and planes.

    A run in real time takes as long as the scenario's simulated time.
    """
    from fairlane.base.folders import check_replaceable
    from fairlane.cli.printing import print_planes
    from fairlane.lab.comparison import compare, document, write
    from fairlane.simulate.variants import split_variants
    from fairlane.store import Store

    _check_planes_use_options(planes)
    if out is not None:
        check_replaceable(out, "--out", {"--store": Store(store).folder})
    found = compare(
        file,
        split_variants(queues),
        planes=list(dict.fromkeys(planes)),
        settings=parse_settings(settings),
        store=store,
        progress=True,
        **options,
    )
    write_table(found, table)
    if out is not None:
        with written_out(out):
            write(found, out)
    if as_json:
        print_json(json.dumps(document(found), allow_nan=False, ensure_ascii=False))
        return
    print_planes(found)


@lab_commands.command("diff")
@click.argument("file", metavar="SCENARIO.toml", type=click.Path(path_type=Path))
@click.option("--queue", metavar="NAME", help="Scheme to use instead of the scenario's.")
@click.option("--replication", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="The run.")
@click.option("--link", metavar="NAME", help="The link [default: the first].")
@click.option(
    "--count",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    metavar="N",
    help="Number of packets to compare.",
)
@click.option("--tolerance", default="1 ms", show_default=True, metavar="TIME", help="Largest accepted difference.")
@click.option("--kernel", metavar="VERSION", help="Kernel [default: the newest that was built].")
@json_option
def diff_command(file: Path, tolerance: str, as_json: bool, **options: Any) -> None:
    """Find where the simulator and a Linux kernel diverge.

    Prints the first packet of a link that differs. Compares flow, segment and time of the packets in the order in
    which the link starts to send them or drops them.
    """
    from fairlane.base.quantities import parsed
    from fairlane.cli.printing import print_difference
    from fairlane.lab.difference import difference

    if (tolerance_s := parsed(tolerance, "s")) is None:
        raise UserError(f"--tolerance: {tolerance} is not a time such as 1 ms")
    found = difference(file, tolerance_s=tolerance_s, **options)
    if as_json:
        print_json(json.dumps(found.document(), allow_nan=False, ensure_ascii=False))
        return
    print_difference(found)


@lab_commands.command("clean")
def clean_up() -> None:
    """Remove leftovers of killed labs.

    Removes namespaces, the processes in them, and mounts.
    """
    from fairlane.lab import clean

    for name in clean():
        say(f"removed {name}")
