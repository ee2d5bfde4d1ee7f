"""The command `fairlane plot`."""

from __future__ import annotations

from pathlib import Path

import click

from fairlane.base.errors import UserError
from fairlane.base.files import written_below
from fairlane.base.text import quoted
from fairlane.cli.options import from_origin, parse_settings, path_option, settings_option
from fairlane.cli.output import say
from fairlane.simulate.scenario import Scenario

SUFFIXES = (".svg", ".png", ".pdf")


@click.command()
@click.argument("file", metavar="SCENARIO.toml", type=click.Path(path_type=Path))
@path_option("--out", metavar="FILE", help="Output file: .svg, .png or .pdf [default: NAME.svg].")
@click.option(
    "--column",
    is_flag=True,
    help="Draw it one paper column wide (two for over two links in a row), without a title.",
)
@settings_option
def plot(file: Path, out: Path | None, column: bool, settings: tuple[str, ...]) -> None:
    """Draw the network of a scenario.

    Shows users and their sources, and each link with its rate, delay and scheme. For an access network, shows its
    levels instead.
    """
    from fairlane.results import plots  # slow: loads matplotlib

    with from_origin(file):
        scenario = Scenario.from_toml(file)
        for key, value in parse_settings(settings).items():
            scenario = scenario.replace(key, value)
        drawn = scenario.plot(column=column)
    out = out or Path(f"{file.stem}.svg")
    if out.suffix not in SUFFIXES:
        raise UserError(f"--out: {quoted(str(out))}: the suffix is none of {', '.join(SUFFIXES)}")
    with written_below(out.parent, "--out"):
        plots.save(drawn, out.with_suffix(""), [out.suffix])
    say(f"figure: {out}")
