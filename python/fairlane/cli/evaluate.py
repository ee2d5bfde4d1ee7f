"""The command `fairlane evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import fairlane
from fairlane.base.errors import UserError
from fairlane.base.files import written_below
from fairlane.base.folders import check_replaceable
from fairlane.cli.options import NeedsAWord, given_options, json_option, options, path_option, ray_option
from fairlane.cli.output import print_json
from fairlane.cli.simulate import own_code_options
from fairlane.evaluate import league_check
from fairlane.evaluate import suite as suites
from fairlane.simulate.replications import MOST_THREADS
from fairlane.store import Store

DEFAULT_FOLDER = Path("results/evaluation")
EXIT_NOT_MET = 1


@click.command(cls=NeedsAWord)
@options(
    click.argument("schemes", nargs=-1, metavar="[SCHEME]..."),
    click.option("--list", "as_list", is_flag=True, help="List the scenarios of the suite and how they are scored."),
    click.option(
        "--suite", default=suites.DEFAULT, metavar="NAME", help=f"Suite, or its folder [default: {suites.DEFAULT}]."
    ),
    click.option("--quick", is_flag=True, help="Preview: fewer scenarios, three runs of each."),
    click.option(
        "--only",
        multiple=True,
        metavar="PATTERN",
        help="Restrict to families or scenarios, such as cheats or pairs/*.",
    ),
    click.option("--require", multiple=True, metavar="CRITERION>=X", help="Exit with 1 if a scheme misses this value."),
    own_code_options,
    click.option("--replications", type=click.IntRange(min=1), metavar="N", help="Runs of every scenario."),
    click.option(
        "--threads", type=click.IntRange(1, MOST_THREADS), metavar="N", help="Simulator threads [default: all cores]."
    ),
    ray_option,
    path_option("--store", help="Folder of finished runs [default: results/store]."),
    path_option(
        "--out", default=DEFAULT_FOLDER, help="Write Parquet, evaluation.json and pages [default: results/evaluation]."
    ),
    click.option("--write-league", is_flag=True, help="Overwrite the committed league results of these schemes."),
    click.option(
        "--check-league",
        is_flag=True,
        help="Repeat a sample of the committed results, or all of the given schemes; exit with 1 if one differs.",
    ),
    json_option,
)
def evaluate(
    schemes: tuple[str, ...],
    as_list: bool,
    suite: str,
    out: Path,
    store: Path | None,
    write_league: bool,
    check_league: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Rank schemes on a suite of scenarios.

    Prints a report card for each scheme, with its ranks among all schemes. A SCHEME is a name, a name with parameters
    (fq_codel:share_per=user), either of them with a label (mine=abc:memory=1 s), or all.

    Stored runs are not simulated again: after an interruption, run the same command to continue. Exits with 1 if a
    requirement is not met.
    """
    if as_list:
        _check_alone("--list", {"as_list", "suite", "as_json"}, schemes)
        _list(suite, as_json=as_json)
        return
    if check_league:
        _check_alone("--check-league", {"check_league", "suite", "threads", "ray", "store", "as_json"})
        _check_league(
            schemes, suite=suite, store=store, as_json=as_json, threads=settings["threads"], ray=settings["ray"]
        )
        return
    check_replaceable(out, "--out", {"--store": Store(store).folder})
    if write_league and (settings["quick"] or settings["only"]):
        raise UserError("--write-league: the league needs the whole suite, without --quick and --only")
    evaluation = fairlane.evaluate(schemes, suite=suite, store=store, progress=True, **settings)
    with written_below(out, "--out"):
        evaluation.write(out)
    if write_league:
        evaluation.write_league()
    if as_json:
        print_json(evaluation.json())
    else:
        from fairlane.cli.printing_evaluation import print_evaluation

        print_evaluation(evaluation, out)
    if evaluation.unmet:
        click.get_current_context().exit(EXIT_NOT_MET)


def _check_alone(option: str, beside: set[str], schemes: tuple[str, ...] = ()) -> None:
    """Raises a UserError for arguments that have no effect together with `option`."""
    others = set(given_options()) - beside
    if schemes or others:
        given = schemes[0] if schemes else given_options()[min(others)]
        raise UserError(f"{option}: {given} has no effect with it")


def _check_league(schemes: tuple[str, ...], *, as_json: bool, **settings: Any) -> None:
    check = league_check.check_league(schemes, progress=True, **settings)
    if as_json:
        print_json(json.dumps(check.document(), ensure_ascii=False))
    else:
        from fairlane.cli.printing_evaluation import print_league_check

        print_league_check(check)
    if check.differing:
        click.get_current_context().exit(EXIT_NOT_MET)


def _list(name: str, *, as_json: bool) -> None:
    suite = suites.read(name)
    if as_json:
        print_json(json.dumps(suite.document(), ensure_ascii=False))
    else:
        from fairlane.cli.printing_evaluation import print_suite

        print_suite(suite)
