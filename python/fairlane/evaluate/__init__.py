"""The command `evaluate` runs schemes on a suite of scenarios, and writes a report card with ranks for each scheme."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fairlane.base.errors import UserError
from fairlane.evaluate import league as leagues
from fairlane.evaluate import suite as suites
from fairlane.evaluate.entries import entries
from fairlane.evaluate.league_check import known_check
from fairlane.evaluate.requirements import requirements
from fairlane.evaluate.result import Evaluation
from fairlane.evaluate.work import QUICK_REPLICATIONS, Wanted, measure
from fairlane.simulate.external import SchemeLib, load_scheme_lib


def evaluate(
    schemes: str | Iterable[str],
    *,
    suite: str | Path = suites.DEFAULT,
    quick: bool = False,
    only: Iterable[str] = (),
    require: Iterable[str] = (),
    replications: int | None = None,
    threads: int | None = None,
    ray: str | None = None,
    store: str | Path | None = None,
    scheme_lib: SchemeLib = None,
    progress: bool = False,
) -> Evaluation:
    """Runs schemes in the scenarios of a suite, reusing stored runs, and ranks them among all schemes of the league.

    Args:
        schemes: Entries such as `abc`, `fq_codel:share_per=user`, `mine=abc:gamma=8 packets`. `all` means every scheme,
            twice if it can share among flows or users. Runs of schemes registered with `register_scheme` are not
            stored.
        suite: Name of a suite, or its folder.
        quick: Run only the scenarios of a preview, three times each.
        only: Families or scenarios to run, such as `cheats` or `pairs/cubic-*`.
        require: Requirements for each entry, such as `worst_share>=0.8`; `Evaluation.unmet` lists the failed
            requirements.
        replications: Runs of each scenario, instead of the suite's number.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        ray: Address of a Ray cluster to run on instead of threads: `auto`, `local`, HOST:PORT or ray://HOST:PORT.
        store: Folder of finished runs.
        scheme_lib: Scheme library or libraries to load first.
        progress: Report progress on stderr.

    Raises:
        UserError: A scheme, suite, pattern or requirement is unknown; the store cannot be written.
        SchemeError: A scheme in Python or of a library failed.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    if ray is not None and scheme_lib is not None:
        raise UserError("scheme_lib: cannot be combined with ray, whose nodes have no such library")
    load_scheme_lib(scheme_lib)
    required = requirements(require)
    read = suites.read(suite)
    chosen = read.selected(quick=quick, only=[only] if isinstance(only, str) else list(only))
    wanted = entries(schemes)
    if replications is not None and replications < 1:
        raise UserError(f"replications: {replications} is out of range, it must be at least 1")
    runs = replications or (QUICK_REPLICATIONS if quick else None)
    asked = [Wanted(entry, one, runs) for entry in wanted for one in chosen]
    measured = measure(
        asked,
        threads=threads,
        ray=ray,
        store=store,
        progress=progress,
    )
    league = leagues.read(read)
    check = known_check(read, league, asked, measured, store)
    return Evaluation(read, chosen, quick, wanted, measured, league, required, check)
