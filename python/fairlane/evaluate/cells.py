"""Computes cells from runs: a cell is the value of a scheme for a criterion in a scenario."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairlane.evaluate.measures import Row, column
from fairlane.evaluate.suite import HARM, SuiteScenario
from fairlane.results.intervals import Interval, half_width_of_sum, interval
from fairlane.results.metrics import CRITERIA

GOODPUT = "victim_goodput_bps"
"""The column from which harm is computed."""

Cells = Mapping[tuple[str, str], Interval]
"""Values by scenario and criterion."""


@dataclass(frozen=True)
class Measured:
    """The runs of an entry.

    Attributes:
        rows: A row for each run, by scenario.
    """

    rows: Mapping[str, Sequence[Row]]

    def cells(self, scenarios: Iterable[SuiteScenario]) -> dict[tuple[str, str], Interval]:
        """Mean and interval of each criterion that all runs of a scenario have."""
        found = {}
        for one in scenarios:
            for key in one.scores:
                samples = self._harm(one) if key == HARM else [row[column(key)] for row in self.rows[one.name]]
                known = [sample for sample in samples if sample is not None]
                if known and len(known) == len(samples):
                    found[one.name, key] = interval(known)
        return found

    def _harm(self, one: SuiteScenario) -> list[float | None]:
        """Goodput that the victim loses to the other sender, minus that lost to a sender of the victim's own kind.

        The difference is divided by the goodput of the victim alone. Returns a value per replication, from runs with
        the same seed.
        """
        assert one.harm
        names = one.harm.itself, one.name, one.harm.alone
        columns = ([row[GOODPUT] or 0.0 for row in self.rows[name]] for name in names)
        triples = zip(*columns, strict=True)
        return [(itself - beside) / alone if alone else None for itself, beside, alone in triples]


def criterion_value(key: str, of_scenarios: Sequence[Interval]) -> Interval:
    """The mean of a criterion over scenarios with equal weights.

    Negative harm (the victim gains) does not compensate for harm in other scenarios.
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
    """The values of all criteria that have cells."""
    by_key: dict[str, list[Interval]] = {}
    for (_, key), cell in sorted(cells.items()):
        by_key.setdefault(key, []).append(cell)
    return {key: criterion_value(key, by_key[key]) for key in CRITERIA if key in by_key}
