"""The command `fairlane check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import fairlane
from fairlane.base.errors import UserError
from fairlane.base.files import check_file, written_below
from fairlane.cli.options import parse_settings, path_option
from fairlane.cli.output import print_json
from fairlane.cli.simulate import simulation_options

EXIT_NOT_HELD = 1


@click.command()
@click.argument("files", metavar="SCENARIO.toml...", nargs=-1, required=True, type=click.Path(path_type=Path))
@path_option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML, which CI systems read.")
@simulation_options
def check(
    files: tuple[Path, ...], junit: Path | None, settings: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """Check the expectations of scenarios.

    Expectations are the [[expect]] tables of a scenario. Exits with 1 unless all of them hold.
    """
    if junit:
        if any(junit.absolute() == file.absolute() for file in files):
            raise UserError(f"--junit: {junit} is a scenario to be checked")
        check_file(junit, "--junit")
    checked = fairlane.check(files, settings=parse_settings(settings), progress=True, **options)
    if junit:
        with written_below(junit, "--junit"):
            checked.write_junit(junit)
    if as_json:
        print_json(checked.json())
    else:
        from fairlane.cli.printing import print_check

        print_check(checked)
    if not checked.passed:
        click.get_current_context().exit(EXIT_NOT_HELD)
