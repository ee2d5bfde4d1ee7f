"""Simulates the runs that a search requests, in batches, and parses only the needed part of their records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fairlane.search.journal import Journal, digest
from fairlane.simulate.external import external_part
from fairlane.simulate.replications import finished
from fairlane.simulate.scenario import Table

Numbers: TypeAlias = list[float | None]
Reader: TypeAlias = Callable[[Mapping[str, Any]], Numbers]
"""Reads the values of interest from a record; their number is the same for all records."""


@dataclass
class Evaluator:
    """Runs of one search.

    Attributes:
        journal: Known and new results, except for runs of the user's code, which may change.
        read: Reads the values of interest from a record.
        threads: Simulator threads; all cores if None.
        simulated: Number of runs that were simulated instead of read from the journal.
    """

    journal: Journal
    read: Reader
    threads: int | None
    simulated: int = 0
    _own: Journal = field(default_factory=lambda: Journal(None, {}))

    def numbers(self, jobs: Sequence[tuple[str, int]]) -> list[Numbers]:
        """Values of interest of each run, given as scenario (JSON) and replication number."""
        names = [digest(*job) for job in jobs]
        wanted = dict(zip(names, jobs, strict=True))
        journals = {name: self._journal(text) for name, (text, _) in wanted.items()}
        missing = {name: job for name, job in wanted.items() if journals[name].find(name) is None}
        found: dict[str, Numbers] = {}
        order = list(missing)
        try:
            with closing(finished(list(missing.values()), self.threads, "searching", show_progress=False)) as runs:
                for index, record, _ in runs:
                    found[order[index]] = self.read(json.loads(record))
        finally:
            # In the requested order, so that the journal does not depend on the number of threads.
            for journal in (self.journal, self._own):
                journal.add({name: found[name] for name in order if name in found and journals[name] is journal})
            self.simulated += len(found)
        return [journals[name].find(name) or [] for name in names]

    def _journal(self, scenario: str) -> Journal:
        """The journal that keeps a scenario's runs."""
        return self.journal if external_part(scenario) is None else self._own

    def firsts(self, tables: Sequence[Table], replications: int) -> list[list[float]]:
        """For each scenario and replication, the first of the values that `read` returns; a missing value is zero."""
        texts = [json.dumps(table) for table in tables]
        numbers = iter(self.numbers([(text, number) for text in texts for number in range(replications)]))
        return [[next(numbers)[0] or 0.0 for _ in range(replications)] for _ in texts]
