"""Agreement between Fairlane and another simulator or system on a measure.

The criterion has two parts, one of which must hold. The means differ by at most the half width of the 95 % interval of
their difference (Welch), or by at most a given fraction of the other side's mean.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from fairlane.judge.ns3 import joint_half_width
from fairlane.results.intervals import Interval, interval

LEGEND = "mean ± half width of the 95 % interval; ✗ marks what differs beyond the criterion."


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure on both sides.

    Attributes:
        name: Name of the measure.
        ours: Values of Fairlane's runs.
        theirs: Values of the other side's runs.
        tolerance: Fraction of the other side's mean by which the means may differ.
        counts: True if the verdict depends on this measure.
    """

    name: str
    ours: Sequence[float]
    theirs: Sequence[float]
    tolerance: float
    counts: bool = True

    @property
    def agrees(self) -> bool:
        """True if the means agree by the criterion."""
        ours, theirs = statistics.fmean(self.ours), statistics.fmean(self.theirs)
        return abs(ours - theirs) <= max(self.tolerance * abs(theirs), joint_half_width(self.ours, self.theirs))

    def __str__(self) -> str:
        return self._shown([str(interval(side)) for side in (self.ours, self.theirs)])

    def text(self, factor: float = 1.0) -> str:
        """Returns the values of both sides. A half width below the last digit of its mean is omitted."""
        return self._shown([_scaled(interval(side), factor) for side in (self.ours, self.theirs)])

    def _shown(self, sides: Sequence[str]) -> str:
        return " / ".join(sides) + ("" if self.agrees else " ✗")


def _scaled(side: Interval, factor: float) -> str:
    half_width = None if side.half_width is None else side.half_width * factor
    if half_width is not None and half_width < 5e-5 * abs(side.mean * factor):
        half_width = None
    return str(Interval(side.mean * factor, half_width, side.n))


def agree(measures: Sequence[Measure]) -> bool:
    """Returns true if all measures on which the verdict depends agree."""
    return all(measure.agrees for measure in measures if measure.counts)


def verdict(measures: Sequence[Measure]) -> str:
    """Returns `agrees`, or the names of the differing measures."""
    differing = "; ".join(f"{m.name} {m}" for m in measures if m.counts and not m.agrees)
    return f"DIFFERS in {differing}" if differing else "agrees"


def yes_or_no(measures: Sequence[Measure]) -> str:
    """Returns the verdict as written in a table."""
    return "yes" if agree(measures) else "**no**"
