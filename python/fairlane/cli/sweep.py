"""The command `fairlane sweep`."""

from __future__ import annotations

from pathlib import Path

import click

import fairlane
from fairlane.base.errors import UserError
from fairlane.base.files import written_below
from fairlane.base.folders import check_replaceable
from fairlane.cli.options import (
    from_origin,
    given_options,
    named_as_options,
    parse_settings,
    path_option,
    pdf_option,
    plane_options,
    ray_option,
    run_options,
    table_option,
    write_table,
)
from fairlane.cli.output import print_document, print_json
from fairlane.cli.simulate import own_code_options
from fairlane.runs.run import check_plane
from fairlane.store import Store
from fairlane.sweeps.plan import Plan
from fairlane.sweeps.preview import preview
from fairlane.sweeps.sweep import on_plane


@click.command()
@click.argument("file", metavar="SWEEP.toml", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="List the points with their stored and missing runs.")
@ray_option
@path_option("--out", help="Write runs and points (Parquet, CSV), a figure and sweep.json [default: results/NAME].")
@table_option
@pdf_option
@own_code_options
@run_options
@plane_options
def sweep(
    file: Path,
    dry_run: bool,
    ray: str | None,
    out: Path | None,
    table: Path | None,
    pdf: bool,
    replications: int | None,
    threads: int | None,
    store: Path | None,
    settings: tuple[str, ...],
    plane: str,
    kernel: str | None,
    as_json: bool,
) -> None:
    """Run a scenario at many parameter settings.

    With --plane linux, runs it on a Linux kernel in virtual time.

    Stored runs are not simulated again: after an interruption, run the same command to continue. Runs of schemes and
    congestion controls in Python are not stored.
    """
    if ray is not None and threads is not None:
        raise UserError(f"--threads: {threads} cannot be combined with --ray, which uses the CPUs of the cluster")
    plan = Plan.read(file, replications=replications, settings=parse_settings(settings))
    if dry_run:
        given = given_options()
        for name in given.keys() & {"threads", "ray", "out", "table", "pdf"}:
            raise UserError(f"{given[name]}: has no effect with --dry-run")
        check_plane(plane, kernel)
        with from_origin(file):
            planned = preview(on_plane(plan, plane, kernel), store)
        if as_json:
            print_document(planned)
        else:
            from fairlane.cli.printing import print_plan

            print_plan(planned)
        return
    out = out or Path("results") / plan.name
    check_replaceable(out, "--out", {"--store": Store(store).folder})
    with from_origin(file), named_as_options():
        result = fairlane.sweep(plan, threads=threads, ray=ray, store=store, progress=True, plane=plane, kernel=kernel)
    with written_below(out, "--out"):
        result.write(out, pdf=pdf)
    write_table(result, table)
    if as_json:
        print_json(result.json())
    else:
        from fairlane.cli.printing import print_sweep

        print_sweep(result, out)
