"""The commands `fairlane reproduce|report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import fairlane
from fairlane.base.errors import UserError
from fairlane.base.files import written_below
from fairlane.base.folders import check_replaceable
from fairlane.cli.options import (
    check_needs,
    from_origin,
    given_options,
    parse_settings,
    path_option,
    pdf_option,
    run_options,
    store_options,
)
from fairlane.cli.output import print_document, print_json, say
from fairlane.documents import reproductions
from fairlane.judge.library import papers, select
from fairlane.report import DEFAULT_FOLDER
from fairlane.simulate.replications import cores
from fairlane.store import Store

if TYPE_CHECKING:
    pass

EXIT_CHECK_FAILED = 1


@click.command()
@click.argument("names", nargs=-1, metavar="[PAPER[.FIGURE]]...")
@click.option("--quick", is_flag=True, help="Preview: fewer and shorter runs.")
@click.option("--check", is_flag=True, help="Exit with 1 if a claim is no longer reproduced.")
@click.option("--write-verdicts", is_flag=True, help="Record the verdicts as the expected ones.")
@path_option("--out", help="Write figures, points and claims [default: results/PAPER]. Several papers go to DIR/PAPER.")
@run_options
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    check: bool,
    write_verdicts: bool,
    out: Path | None,
    store: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Run a paper's experiments and test its claims.

    A name is an experiment such as abc2018.fig4a, a paper such as abc2018, or `all`. Without a name, lists all
    experiments.
    """
    if not names:
        if useless := [option for option in given_options().values() if option != "--json"]:
            raise UserError(f"{useless[0]}: has no effect without a name, such as abc2018.fig4a")
        _list_papers(as_json)
        return
    if quick and (check or write_verdicts):
        option = "--check" if check else "--write-verdicts"
        raise UserError(f"--quick: cannot be combined with {option}: only full runs give verdicts")
    selected = {paper.key: [experiment.id for experiment in experiments] for paper, experiments in select(names)}
    folders = {key: out / key if out and len(selected) > 1 else out or Path("results") / key for key in selected}
    for folder in folders.values():
        check_replaceable(folder, "--out", {"--store": Store(store).folder})
    regressions: list[str] = []
    documents = []
    for key, experiments in selected.items():
        with from_origin("--set"):
            reproduction = fairlane.reproduce(
                *experiments, quick=quick, settings=parse_settings(settings), store=store, progress=True, **options
            )
        with written_below(folders[key], "--out"):
            figures = reproduction.write(folders[key])
        documents.append(reproduction.document())
        if not as_json:
            from fairlane.cli.printing import print_figures, print_reproduction

            print_reproduction(reproduction)
            print_figures(figures)
        regressions += reproduction.regressions() if check else []  # compared with the old verdicts
        if write_verdicts:
            reproduction.write_expected()
    if as_json:
        document = documents[0] if len(documents) == 1 else reproductions(documents)
        print_json(json.dumps(document, allow_nan=False, ensure_ascii=False))
    for line in regressions:
        say(f"check: {line}", error=True)
    if regressions:
        click.get_current_context().exit(EXIT_CHECK_FAILED)


@click.command()
@click.argument("names", nargs=-1, metavar="[FILE|PAPER[.FIGURE]]...")
@click.option("--quick", is_flag=True, help="Show the quick runs of `reproduce --quick`.")
@click.option("--run", is_flag=True, help="Simulate runs missing from the store.")
@pdf_option
@path_option("--compare", metavar="FILE", help="Add a result.json of `fairlane compare`.")
@path_option("--pairs", metavar="FILE", help="Add a pairs.json of `fairlane pairs`, as heat maps.")
@path_option("--out", default=DEFAULT_FOLDER, help="Write pages and figures [default: results/report].")
@store_options
def report(names: tuple[str, ...], settings: tuple[str, ...], **options: Any) -> None:
    """Write HTML pages and figures of results.

    A FILE is a result of `fairlane run`, `compare` or `sweep`, such as results/my-scenario/result.json, or its folder,
    such as results/my-sweep. Without a name, reports on all papers; with --compare or --pairs, only on papers with
    stored results. The pages need no network. For missing results they show the command that produces them.
    """
    check_needs({"threads": ["run"]})
    with from_origin("--set"):
        start = fairlane.report(*names, settings=parse_settings(settings), progress=True, **options)
    say(f"report: {start}")


def _list_papers(as_json: bool) -> None:
    if as_json:
        experiments = {
            paper.key: {experiment.id: experiment.title for experiment in paper.experiments.values()}
            for paper in papers().values()
        }
        print_document(experiments)
        return
    from fairlane.cli.printing import print_papers

    print_papers(papers().values(), cores())
