"""Checks whether this engine reproduces the league: repeats some of its runs and compares the cells.

The engine version changes with every line of the simulator or of a scheme, even if no result changes. So the
version does not show whether the league is current. Measuring a whole league takes too long. Therefore the check uses a
sample, the same on every machine, that contains every entry and every scenario at least once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.text import quoted
from fairlane.evaluate import league as leagues
from fairlane.evaluate import suite as suites
from fairlane.evaluate.cells import Cells, Measured
from fairlane.evaluate.entries import parsed
from fairlane.evaluate.league import League
from fairlane.evaluate.suite import Suite, SuiteScenario
from fairlane.evaluate.work import Wanted, measure, stored


@dataclass(frozen=True)
class CheckedCell:
    """A cell of the league and its new measurement.

    Attributes:
        entry: Label of the entry.
        scenario: Family and name of the scenario.
        criterion: Key of the criterion.
        committed: Mean and half width in the entry's file; None if the file lacks the cell.
        found: Mean and half width with this engine; None if the new measurement lacks the cell.
    """

    entry: str
    scenario: str
    criterion: str
    committed: tuple[str, str] | None
    found: tuple[str, str] | None

    @property
    def holds(self) -> bool:
        """True if both texts are equal."""
        return self.committed == self.found

    def document(self) -> dict[str, Any]:
        """Both values, ready for JSON."""
        return {
            "entry": self.entry,
            "scenario": self.scenario,
            "criterion": self.criterion,
            "committed": self.committed and " ± ".join(filter(None, self.committed)),
            "found": self.found and " ± ".join(filter(None, self.found)),
        }


@dataclass(frozen=True)
class LeagueCheck:
    """Cells of a league, measured again with this engine.

    Attributes:
        suite: Name and version of the suite.
        cells: All checked cells.
    """

    suite: str
    cells: Sequence[CheckedCell]

    @property
    def differing(self) -> list[CheckedCell]:
        """Cells that have changed."""
        return [cell for cell in self.cells if not cell.holds]

    def document(self) -> dict[str, Any]:
        """Counts and changed cells, ready for JSON."""
        return {
            "suite": self.suite,
            "engine": _fairlane.engine_version(),
            "checked": len(self.cells),
            "differing": [cell.document() for cell in self.differing],
        }

    def __str__(self) -> str:
        same = len(self.cells) - len(self.differing)
        return f"{same} of {len(self.cells)} cells checked give the same bytes"


def check_league(
    schemes: Iterable[str] = (),
    *,
    suite: str | Path = suites.DEFAULT,
    threads: int | None = None,
    ray: str | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> LeagueCheck:
    """Measures cells of the league again with this engine.

    Args:
        schemes: Entries of the league to check completely; by default, a sample with every entry and every scenario at
            least once.
        suite: Name of a suite, or its folder.
        threads: Simulator threads; all cores if None.
        ray: Address of a Ray cluster to run on instead of threads.
        store: Folder of finished runs.
        progress: Report progress on stderr.

    Raises:
        UserError: The suite has no league, or the league lacks an entry; the store cannot be written.
        Interrupted: Ctrl-C; finished runs are in the store.
    """
    read = suites.read(suite)
    league = leagues.read(read)
    if not league.entries:
        raise UserError(f"check_league: {read.key} has no league; fairlane evaluate all --write-league makes one")
    chosen = _all_of(list(schemes), read, league) or _sample(read, league)
    wanted = _with_compared(chosen, read)
    measured = measure(wanted, threads=threads, ray=ray, store=store, progress=progress)
    return _compared(chosen, measured, read, league)


def known_check(
    suite: Suite, league: League, wanted: Sequence[Wanted], measured: Mapping[str, Measured], store: str | Path | None
) -> LeagueCheck:
    """Checks the league with existing runs of this engine; simulates nothing.

    Compares the runs of the evaluation that are also runs of the league. If the store has all runs of the sample, the
    sample is compared, too.

    Args:
        suite: Suite of the evaluation.
        league: The league of the suite.
        wanted: Entries and scenarios of the evaluation.
        measured: Runs of the evaluation.
        store: Folder of finished runs.
    """
    own = [each for each in wanted if _is_of_league(each, league)]
    cells = list(_compared(own, measured, suite, league).cells)
    chosen = _sample(suite, league)
    if (sampled := stored(_with_compared(chosen, suite), store)) is not None:
        cells += _compared(chosen, sampled, suite, league).cells
    return LeagueCheck(suite.key, list(dict.fromkeys(cells)))


def _is_of_league(each: Wanted, league: League) -> bool:
    """True if the league has the same runs. A quick evaluation, or another scheme of that name, has other runs."""
    label = each.entry.label
    return label in league.entries and each.canonical == _wanted(label, each.one, league).canonical


def _sample(suite: Suite, league: League) -> list[Wanted]:
    """Random pairs of entry and scenario with each at least once. The pairs are the same on every machine."""
    labels = sorted(league.entries, key=lambda label: hashlib.sha256(f"{suite.digest} {label}".encode()).digest())
    scenarios = list(suite.scenarios.values())
    count = max(len(labels), len(scenarios)) if labels else 0
    return [_wanted(labels[index % len(labels)], scenarios[index % len(scenarios)], league) for index in range(count)]


def _all_of(labels: Sequence[str], suite: Suite, league: League) -> list[Wanted]:
    for label in labels:
        if label not in league.entries:
            raise UserError(f"check_league: the league of {suite.key} has no entry {quoted(label)}")
    return [_wanted(label, one, league) for label in labels for one in suite.scenarios.values()]


def _wanted(label: str, one: SuiteScenario, league: League) -> Wanted:
    """The scenario and entry to run again, with the league's number of runs."""
    return Wanted(parsed(label), one, league.entries[label].runs)


def _with_compared(chosen: Sequence[Wanted], suite: Suite) -> list[Wanted]:
    """The chosen runs, and further runs needed to compute harm."""
    found: dict[tuple[str, str], Wanted] = {}
    for each in chosen:
        harm = each.one.harm
        for name in (each.one.name, *((harm.alone, harm.itself) if harm else ())):
            found[each.entry.label, name] = replace(each, one=suite.scenarios[name])
    return list(found.values())


def _compared(chosen: Sequence[Wanted], measured: Mapping[str, Measured], suite: Suite, league: League) -> LeagueCheck:
    found = []
    for each in chosen:
        label, name = each.entry.label, each.one.name
        committed = _of(name, league.entries[label].cells)
        again = _of(name, measured[label].cells([each.one]))
        found += [
            CheckedCell(label, name, key, committed.get(key), again.get(key))
            for key in dict.fromkeys([*committed, *again])
        ]
    return LeagueCheck(suite.key, found)


def _of(scenario: str, cells: Cells) -> dict[str, tuple[str, str]]:
    return {key: leagues.written(cell) for (name, key), cell in cells.items() if name == scenario}
