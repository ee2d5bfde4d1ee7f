"""Cells: values of a scheme in a scenario for each criterion, computed from the rows of its runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairlane.evaluate.measures import Row, column
from fairlane.evaluate.suite import HARM, SuiteScenario
from fairlane.results.intervals import Interval, half_width_of_sum, interval
from fairlane.results.metrics import CRITERIA

GOODPUT = "victim_goodput_bps"
"""The column that harm is made of."""

Cells = Mapping[tuple[str, str], Interval]
"""By scenario and criterion."""


@dataclass(frozen=True)
class Measured:
    """The runs of an entry.

    Attributes:
        rows: A row for each run, by scenario.
    """

    rows: Mapping[str, Sequence[Row]]

    def cells(self, scenarios: Iterable[SuiteScenario]) -> dict[tuple[str, str], Interval]:
        """Mean and interval of each criterion that the scenario counts for, if every run has it."""
        found = {}
        for one in scenarios:
            for key in one.scores:
                samples = self._harm(one) if key == HARM else [row[column(key)] for row in self.rows[one.name]]
                known = [sample for sample in samples if sample is not None]
                if known and len(known) == len(samples):
                    found[one.name, key] = interval(known)
        return found

    def _harm(self, one: SuiteScenario) -> list[float | None]:
        """Losses of the victim in each run: with the same seed next to its own kind, alone, and next to the other."""
        assert one.harm
        names = one.harm.itself, one.name, one.harm.alone
        columns = ([row[GOODPUT] or 0.0 for row in self.rows[name]] for name in names)
        triples = zip(*columns, strict=True)
        return [(itself - beside) / alone if alone else None for itself, beside, alone in triples]


def criterion_value(key: str, of_scenarios: Sequence[Interval]) -> Interval:
    """The mean of a criterion over scenarios, each weighted alike.

    Harm below zero, where the victim gains, makes up for no harm elsewhere.
    """
    k = len(of_scenarios)
    means = [max(one.mean, 0.0) if key == HARM else one.mean for one in of_scenarios]
    mean = math.fsum(means) / k
    if any(one.half_width is None for one in of_scenarios):
        return Interval(mean, None, min(one.n for one in of_scenarios))
    variances = [(one.standard_error / k) ** 2 for one in of_scenarios]
    counts = [one.n for one in of_scenarios]
    return Interval(mean, half_width_of_sum(variances, counts), min(counts))


def criteria_values(cells: Cells) -> dict[str, Interval]:
    """The value of every criterion that there are cells of."""
    by_key: dict[str, list[Interval]] = {}
    for (_, key), cell in sorted(cells.items()):
        by_key.setdefault(key, []).append(cell)
    return {key: criterion_value(key, by_key[key]) for key in CRITERIA if key in by_key}
