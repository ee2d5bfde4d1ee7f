"""The rule that decides whether a number agrees with a claim. Noise never helps, with one exception named below.

A comparison has a mean over runs, the half width of its confidence interval, and the allowed range: the paper's number
or bound, widened by the tolerance that was set before the first run. It is

- *reproduced* if the mean is allowed and the interval narrow: its half width is no larger than the tolerance, or all of
  the interval is allowed;
- *inconclusive* if it is not reproduced and some of the interval is allowed;
- *differs* if none of it is.

A wider interval never makes an outcome better. What that means for each kind of claim:

- A number, with its tolerance on both sides (value, near, the ends of a trend, every point of a flat one, a ratio): the
  mean within the tolerance, and the half width no larger than it.
- A bound or a range (at_most, at_least, range, a ratio with min or max): the mean within the bound widened by the
  tolerance, if any. Without a tolerance all of the interval must be within the bound.
- An order of two means (ordering, the steps of a trend): their difference is compared, with the half width of its
  interval, the means taken as independent. The tolerance is what it may fall short by. A margin, the least difference,
  has no tolerance: all of the interval must be beyond it. Nor have the ends of a rise or a fall, on both sides of a
  turn: steps back that are allowed one by one must not add up to the other direction. The turn is the point of the
  measured means that fits best, which favours a turn a little, as an extreme does.
- The place of the largest value (argmax): the interval reaches every place whose mean is not below the largest by more
  than the half width of their difference.
- One number of all runs together, such as an index over means (statistics, quantiles): its interval is the jackknife's,
  from the numbers without one run each. An extreme over all runs is no estimate; more runs make it harder to hold.
- The extreme of several points (`reduce = "max"` or `"min"`): the point is chosen by its measured mean, the interval is
  that of this point alone. The largest of noisy means is too large on average, the smallest too small. That makes an
  upper bound on a maximum, or a lower one on a minimum, harder to hold. A lower bound on a maximum, or an upper one on
  a minimum, it favours a little: of ten points with equal means the largest is on average 1.5 standard errors too
  large.

A computed value, not a sampled one, has no interval and needs none. A mean of one run has an unknown interval: it is
neither narrow nor beyond anything. A mean is infinite if any of its runs is, for certain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from fairlane.results.intervals import Interval

Outcome = Literal["reproduced", "inconclusive", "differs"]

_RANK: dict[Outcome, int] = {"reproduced": 0, "inconclusive": 1, "differs": 2}
_ROUNDING = 1e-12
"""Relative tolerance of comparisons: floating-point noise must not decide, 0.1 + 0.2 is within 0.3."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A mean with the range that a claim allows.

    Attributes:
        miss: Distance of the mean from the allowed range, tolerance included; not above 0 if it is allowed.
        half_width: Of its interval; 0 if it is computed, infinite if it is not known.
        tolerance: Of the claim; 0 if there is none.
        scale: The larger of the numbers compared.
    """

    miss: float
    half_width: float
    tolerance: float
    scale: float

    @property
    def outcome(self) -> Outcome:
        """Decision of the rule."""
        rounding = _ROUNDING * self.scale if math.isfinite(self.scale) else 0.0
        narrow = math.isfinite(self.half_width) and self.half_width <= max(self.tolerance, -self.miss) + rounding
        if self.miss <= rounding and narrow:
            return "reproduced"
        return "inconclusive" if self.miss <= self.half_width + rounding else "differs"

    @property
    def badness(self) -> tuple[int, float]:
        """Sort key: comparisons that hold best come first, those that miss by most come last."""
        return _RANK[self.outcome], self.miss / self.scale if self.scale and math.isfinite(self.miss) else self.miss


def compared(miss: float, half_width: float, tolerance: float, *numbers: float) -> Comparison:
    """A comparison of some numbers."""
    return Comparison(miss, half_width, tolerance, max(abs(number) for number in numbers))


def near(measured: Interval, expected: float, allowed: float) -> Comparison:
    """Compares a mean with its expected number, with a tolerance."""
    return compared(abs(measured.mean - expected) - allowed, measured.uncertainty, allowed, expected, measured.mean)


def within(measured: Interval, *bounds: tuple[Literal["min", "max"], float, float]) -> Comparison:
    """Compares a mean with its bounds, each with a tolerance."""
    return worst(
        *(
            compared(
                (bound - measured.mean if kind == "min" else measured.mean - bound) - allowed,
                measured.uncertainty,
                allowed,
                bound,
                measured.mean,
            )
            for kind, bound, allowed in bounds
        )
    )


def worst(*comparisons: Comparison) -> Comparison:
    """Worst comparison: it represents all if all must hold."""
    return max(comparisons, key=lambda one: one.badness)


def best(*comparisons: Comparison) -> Comparison:
    """Best comparison: it represents all if one must hold."""
    return min(comparisons, key=lambda one: one.badness)


def together(outcomes: list[Outcome], share: float = 1.0) -> Outcome:
    """Outcome of several outcomes, of which at least `share` must be reproduced."""
    needed = share * len(outcomes)
    if outcomes.count("reproduced") >= needed:
        return "reproduced"
    return "inconclusive" if len(outcomes) - outcomes.count("differs") >= needed else "differs"
