"""Values of entries for every criterion, and their ranks in the league."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fairlane.evaluate import league as leagues
from fairlane.evaluate.cells import Measured
from fairlane.evaluate.entries import Entry
from fairlane.evaluate.league import League, Placed
from fairlane.evaluate.league_check import LeagueCheck
from fairlane.evaluate.ranks import Rank, all_ranks, nearest
from fairlane.evaluate.requirements import Requirement
from fairlane.evaluate.suite import Suite, SuiteScenario
from fairlane.results.intervals import Interval


@dataclass(frozen=True, repr=False)
class Standing:
    """Measured entries of a suite, together with its league.

    Attributes:
        suite: Suite of the measurement.
        scenarios: Scenarios that were run.
        quick: True for a preview with fewer scenarios and fewer runs.
        entries: Measured entries, in the requested order.
        measured: Measured runs by label of the entry.
        league: League of the suite, with the results of other entries.
        requirements: Requirements that each measured entry must meet.
        check: Comparison of the league with this engine.
    """

    suite: Suite
    scenarios: Sequence[SuiteScenario]
    quick: bool
    entries: Sequence[Entry]
    measured: Mapping[str, Measured]
    league: League
    requirements: Sequence[Requirement]
    check: LeagueCheck | None = None

    @cached_property
    def placed(self) -> dict[str, Placed]:
        """All entries with their cells: first the measured entries, then other entries of the league."""
        own = {
            entry.label: Placed(
                entry.label,
                self.measured[entry.label].cells(self.scenarios),
                leagues.cost("" if entry.settings or entry.about is None else entry.scheme),
            )
            for entry in self.entries
        }
        return own | {label: one for label, one in self.league.entries.items() if label not in own}

    @cached_property
    def values(self) -> dict[str, dict[str, Interval]]:
        """Values by entry and criterion, over the scenarios that were run."""
        names = [one.name for one in self.scenarios]
        return {label: one.values(names) for label, one in self.placed.items()}

    @cached_property
    def places(self) -> dict[str, dict[str, Rank]]:
        """The ranks of all entries, by criterion and entry."""
        return all_ranks(self.values)

    @property
    def unmet(self) -> list[tuple[str, Requirement]]:
        """Failed requirements, with the labels of the entries."""
        return [
            (entry.label, one)
            for entry in self.entries
            for one in self.requirements
            if not one.met(self.values[entry.label].get(one.criterion))
        ]

    @property
    def notes(self) -> list[str]:
        """Caveats about the ranks."""
        own = {entry.label for entry in self.entries}
        others = [label for label in self.league.entries if label not in own]
        found = []
        if not others:
            found.append("ranks: only among what was evaluated now, the suite has no league of others")
        if self.check and (differing := len(self.check.differing)):
            found.append(
                f"ranks: with this engine {differing} of {len(self.check.cells)} cells that were checked are not those "
                "of the league; fairlane evaluate --check-league names those that differ"
            )
        if self.quick:
            found.append("quick: fewer scenarios and runs; values differ from those of the full suite")
        return found

    def nearest(self, label: str) -> Sequence[str]:
        """The entries with the most similar ranks."""
        return nearest(self.places, label)
