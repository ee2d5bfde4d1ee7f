"""Stopping rule: decides when a point has enough replications.

The rule is evaluated after rounds of replications whose sizes depend only on the records. So the number of runs of a
point depends neither on the number of threads, nor on the order of finished runs, nor on the store.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairlane.results.intervals import interval

Samples = Mapping[str, Sequence[float | None]]
"""Values by metric, one per replication; None if a run lacks the metric."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A fixed number of replications, or a rule on the widths of confidence intervals.

    Attributes:
        targets: For each metric of the rule, the largest accepted ratio of the half width of the 95 % interval to the
            mean; empty without a rule.
        least: Replications of the first round.
        most: Maximum number of replications of a point.
    """

    targets: Mapping[str, float] = field(default_factory=dict)
    least: int = 1
    most: int = 1

    @classmethod
    def after(cls, replications: int) -> Stop:
        """Stop after a fixed number of replications, without a rule."""
        return cls({}, replications, replications)

    def met(self, samples: Samples) -> bool:
        """True if every interval is narrow enough."""
        return all(_excess(samples[metric], target) <= 1 for metric, target in self.targets.items())

    def next_round(self, samples: Samples, replications: int) -> int:
        """Number of replications after the next round of a point; the current number if it has enough.

        The half width falls with the square root of the number of runs. If the interval of n runs is k times too wide,
        n k^2 runs should suffice. A round at most doubles the number, since the estimate from few runs is rough.
        """
        if replications >= self.most or self.met(samples):
            return replications
        return min(self.expected(samples, replications), 2 * replications, self.most)

    def expected(self, samples: Samples, replications: int) -> int:
        """Expected final number of replications of the point."""
        excess = max((_excess(samples[metric], target) for metric, target in self.targets.items()), default=0.0)
        if excess <= 1:
            return replications
        needed = math.ceil(replications * excess**2) if excess < math.inf else self.most
        return min(max(needed, replications + 1), self.most)


def _excess(values: Sequence[float | None], target: float) -> float:
    """Interval width divided by the required width; infinite if a value is missing or there is no interval."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return math.inf
    mean = interval(known)
    if mean.half_width is None:
        return math.inf
    if mean.half_width == 0:
        return 0.0
    return math.inf if mean.mean == 0 else mean.half_width / abs(mean.mean) / target
