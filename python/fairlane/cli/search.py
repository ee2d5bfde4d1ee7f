"""The commands `fairlane search adversary|designer|bounds`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import fairlane
from fairlane.base.errors import UserError
from fairlane.base.text import quoted
from fairlane.cli.options import Group, json_option, options, parse_settings, path_option
from fairlane.cli.output import print_json, say
from fairlane.cli.simulate import own_code_options
from fairlane.results.metrics import OBJECTIVES
from fairlane.search.adversary import DEFAULT_FOLDER, EVALUATIONS
from fairlane.search.bounds import DEFAULT_BOUNDS
from fairlane.search.designer import EVALUATIONS as COMBINATIONS
from fairlane.search.designer import OBJECTIVE, REPLICATIONS
from fairlane.simulate.replications import MOST_THREADS


@click.group("search", cls=Group)
def search_commands() -> None:
    """Search for worst cases and for good parameters."""


_search_options = options(
    click.option("--seed", type=int, default=1, metavar="N", help="Seed of the optimiser [default: 1]."),
    click.option(
        "--threads", type=click.IntRange(1, MOST_THREADS), metavar="N", help="Simulator threads [default: all cores]."
    ),
    own_code_options,
    json_option,
)


@search_commands.command()
@click.argument("schemes", metavar="SCHEME...|all", nargs=-1, required=True)
@options(
    path_option("--bounds", metavar="FILE.toml", help="Ranges to search [default: those of `fairlane search bounds`]."),
    click.option(
        "--evaluations",
        type=int,
        default=EVALUATIONS,
        metavar="N",
        help=f"Scenarios to try for each scheme [default: {EVALUATIONS}].",
    ),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a parameter of the scheme."),
    path_option(
        "--out", default=DEFAULT_FOLDER, help=f"Write scenarios, adversary.json, journal [default: {DEFAULT_FOLDER}]."
    ),
    _search_options,
)
def adversary(schemes: tuple[str, ...], settings: tuple[str, ...], out: Path, as_json: bool, **options: Any) -> None:
    """Find the worst scenario for an honest light user.

    Minimises the light user's throughput divided by its max-min share. Then simplifies the scenario and writes it as a
    file for `fairlane check`. After an interruption, run the same command to continue.
    """
    result = fairlane.search.adversary(schemes, settings=parse_settings(settings), out=out, progress=True, **options)
    if as_json:
        print_json(result.json())
    else:
        from fairlane.cli.printing import print_adversaries

        print_adversaries(result, out)


def parse_ranges(texts: tuple[str, ...]) -> dict[str, str]:
    """KEY=RANGE pairs."""
    ranges: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or key in ranges:
            raise UserError(f"--tune: {quoted(text)} is not KEY=LOW..HIGH, each key once")
        ranges[key] = value
    return ranges


@search_commands.command()
@click.argument("scheme", metavar="SCHEME")
@options(
    click.option(
        "--tune",
        multiple=True,
        required=True,
        metavar="KEY=LOW..HIGH[ UNIT][:log]",
        help="A parameter and its range, such as 'queue.gamma=1..60 packets'; may be repeated.",
    ),
    path_option("--scenarios", multiple=True, required=True, metavar="FILE|DIR", help="Scenarios; may be repeated."),
    click.option(
        "--objective",
        type=click.Choice(list(OBJECTIVES)),
        default=OBJECTIVE,
        help=f"Criterion to optimise [default: {OBJECTIVE}].",
    ),
    click.option(
        "--evaluations",
        type=int,
        default=COMBINATIONS,
        metavar="N",
        help=f"Combinations to try [default: {COMBINATIONS}].",
    ),
    click.option(
        "--replications",
        type=int,
        default=REPLICATIONS,
        metavar="N",
        help=f"Runs of the final comparison [default: {REPLICATIONS}].",
    ),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a key of every scenario."),
    path_option("--out", default=DEFAULT_FOLDER, help=f"Write tuned scheme and journal [default: {DEFAULT_FOLDER}]."),
    _search_options,
)
def designer(
    scheme: str, tune: tuple[str, ...], settings: tuple[str, ...], out: Path, as_json: bool, **options: Any
) -> None:
    """Tune a scheme's parameters on scenarios.

    Tunes on half of the scenarios and validates on the other half. Defaults and tuned parameters are compared on both
    halves; only the validation half shows the real gain. After an interruption, run the same command to continue.
    """
    result = fairlane.search.designer(
        scheme, parse_ranges(tune), settings=parse_settings(settings), out=out, progress=True, **options
    )
    if as_json:
        print_json(result.json())
    else:
        from fairlane.cli.printing import print_tuned

        print_tuned(result, out)


@search_commands.command()
def bounds() -> None:
    """Print the adversary's default ranges, as a file for --bounds."""
    for line in DEFAULT_BOUNDS.read_text(encoding="utf-8").splitlines():
        say(line)
