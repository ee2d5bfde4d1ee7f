"""The command `report`: stored results and verdicts as a set of HTML pages that need no network, with their figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.base.files import written_below
from fairlane.base.folders import check_replaceable
from fairlane.store import Store

DEFAULT_FOLDER = Path("results/report")
START_PAGE = "index.html"


def report(
    *names: str,
    out: str | Path = DEFAULT_FOLDER,
    compare: str | Path | None = None,
    pairs: str | Path | None = None,
    quick: bool = False,
    run: bool = False,
    replications: int | None = None,
    settings: Mapping[str, Any] | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Path:
    """Writes pages and figures of what is stored about experiments of papers; the same inputs give the same bytes.

    Args:
        names: `abc2018` for a whole paper, `abc2018.fig4a` for one experiment; all papers without a name.
        out: Folder to write into; earlier reports in it go, other files stay.
        compare: A document of `fairlane compare`, to be shown side by side.
        pairs: A document of `fairlane pairs`, to be shown as heat maps.
        quick: Whether to show the quick runs, `fairlane reproduce --quick`.
        run: Whether to simulate what is missing; otherwise its page says how.
        replications: Runs of each point, in place of the paper's number.
        settings: Scenario keys that differ in every run.
        threads: Simulator threads; all cores if None.
        store: Folder of finished replications.
        progress: Whether to report on stderr.

    Returns:
        The page to start with.

    Raises:
        UserError: An unknown name, a folder that cannot be written, or a file that is no comparison or no pairs.
        ScenarioError: A setting that no scenario takes.
        Interrupted: Ctrl-C; what is finished is in the store.
    """
    from fairlane.report.collect import Wanted, collect
    from fairlane.report.comparison import read
    from fairlane.report.pairs import read as read_pairs
    from fairlane.report.site import write

    folder = Path(out)
    check_replaceable(folder, "--out", {"--store": Store(store).folder})
    comparison = None if compare is None else read(Path(compare))
    of_pairs = None if pairs is None else read_pairs(Path(pairs))
    wanted = Wanted(quick, replications, dict(settings or {}), store)
    papers = collect(names, wanted, run=run, threads=threads, progress=progress)
    with written_below(folder, "--out"):
        write(folder, papers, comparison, of_pairs, show_progress=progress)
    return folder / START_PAGE
