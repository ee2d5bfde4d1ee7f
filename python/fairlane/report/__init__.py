"""The command `report` writes results and verdicts as HTML pages with figures; the pages need no network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.base.errors import UserError
from fairlane.base.files import written_below
from fairlane.base.folders import check_replaceable
from fairlane.store import Store

DEFAULT_FOLDER = Path("results/report")
START_PAGE = "index.html"


def report(
    *names: str | Path,
    out: str | Path = DEFAULT_FOLDER,
    compare: str | Path | None = None,
    pairs: str | Path | None = None,
    quick: bool = False,
    run: bool = False,
    pdf: bool = False,
    replications: int | None = None,
    settings: Mapping[str, Any] | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Path:
    """Writes pages and figures of your results, or of stored results about papers.

    The same inputs give the same bytes.

    Args:
        names: Documents of `fairlane run`, `compare` or `sweep`, or their folders, such as `results/my-sweep`;
            `abc2018` for a whole paper, `abc2018.fig4a` for one experiment. Without a name, all papers; with `compare`
            or `pairs`, papers with stored results.
        out: Folder to write into; earlier reports in it are removed, other files stay.
        compare: A document of `fairlane compare`, shown in addition to papers.
        pairs: A document of `fairlane pairs`, shown as heat maps.
        quick: Show the quick runs of `fairlane reproduce --quick`.
        run: Simulate missing runs; otherwise the pages show the commands that simulate them.
        pdf: Also write figures as PDF, one paper column wide.
        replications: Runs of each point, instead of the paper's number.
        settings: Scenario keys to change in every run.
        threads: Simulator threads; all cores if None.
        store: Folder of finished replications.
        progress: Report progress on stderr.

    Returns:
        The page to start with.

    Raises:
        UserError: A name is unknown, the folder cannot be written, a document is invalid, or an option for papers was
            given without a paper.
        ScenarioError: A setting is invalid.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    from fairlane.report.collect import Wanted, collect
    from fairlane.report.own import comparison_page, is_file, pages
    from fairlane.report.pairs import read as read_pairs
    from fairlane.report.site import write

    folder = Path(out)
    check_replaceable(folder, "--out", {"--store": Store(store).folder})
    of_papers = [str(name) for name in names if not is_file(name)]
    files = [Path(name) for name in names if is_file(name)]
    wanted = Wanted(quick, replications, dict(settings or {}), store)
    if files and not of_papers:
        _check_unused(quick=quick, run=run, replications=replications, settings=settings)
    own = pages(files)
    own += [] if compare is None else [comparison_page(Path(compare))]
    of_pairs = None if pairs is None else read_pairs(Path(pairs))
    collected = []
    if of_papers or not files:
        collected = collect(of_papers, wanted, run=run, threads=threads, progress=progress)
    if not of_papers and (own or of_pairs):
        # No papers were requested, so omit those without results.
        collected = [one for one in collected if one.was_simulated]
    with written_below(folder, "--out"):
        write(folder, collected, own, of_pairs, wanted, pdf=pdf, show_progress=progress)
    return folder / START_PAGE


def _check_unused(**settings: Any) -> None:
    for name, value in settings.items():
        if value:
            raise UserError(f"{name}: has no effect on documents, whose runs are made; it is for papers")
