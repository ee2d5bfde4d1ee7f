"""The rule that decides whether a number agrees with a claim.

Noise never makes a claim easier to satisfy, except slightly where noisy means select a point: the turn of a trend, or
the extreme of several points (see below).

A comparison has a mean over runs, the half width of its confidence interval, and an allowed range. This range is the
paper's number or bound, widened by the tolerance that was set before the first run. The comparison is

- *reproduced* if the mean is in the allowed range and the interval is narrow: its half width does not exceed the
  tolerance, or the whole interval is allowed;
- *inconclusive* if it is not reproduced and a part of the interval is allowed;
- *differs* if no part of the interval is allowed.

A wider interval never makes an outcome better. For each kind of claim this means:

- A number with a tolerance on both sides (value, near, the ends of a trend, every point of a flat trend, a ratio): the
  mean must be within the tolerance, and the half width must not exceed the tolerance.
- A bound or a range (at_most, at_least, range, a ratio with min or max): the mean must be within the bound, widened by
  the tolerance, if any. Without a tolerance, the whole interval must be within the bound.
- An order of two means (ordering, the steps of a trend): the rule compares their difference, with the half width of its
  interval for independent means. The difference may fall short by the tolerance. A margin (a minimum difference) has no
  tolerance, so the whole interval must exceed the margin. In a trend, the first and the last mean of each rise and fall
  are also compared, without a tolerance. Otherwise several allowed steps back could add up to the other direction. The
  turn is at the best-fitting point of the measured means, which favours a turn slightly, as for an extreme.
- The position of the largest value (argmax): the interval includes every position whose mean is below the largest mean
  by at most the half width of the difference.
- One number over all runs, such as an index over means (statistics, quantiles): the jackknife gives the interval,
  computed by leaving out one run at a time. An extreme over all runs is not an estimate; more runs make its claim
  harder to satisfy.
- The extreme of several points (`reduce = "max"` or `"min"`): the measured means select the point, and the interval of
  this point is used. On average the largest of noisy means is too large, and the smallest is too small. So an upper
  bound on a maximum, or a lower bound on a minimum, is harder to satisfy. A lower bound on a maximum, or an upper bound
  on a minimum, is slightly favoured: the largest of ten points with equal means is on average 1.5 standard errors too
  large.

A computed value has no interval, since it is not sampled. The mean of one run has an unknown interval, which is never
narrow and never outside the allowed range. A mean is infinite and certain if the value of any run is infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from fairlane.results.intervals import Interval

Outcome = Literal["reproduced", "inconclusive", "differs"]

_RANK: dict[Outcome, int] = {"reproduced": 0, "inconclusive": 1, "differs": 2}
_ROUNDING = 1e-12
"""Relative tolerance of comparisons for floating-point noise: 0.1 + 0.2 is within 0.3."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A mean with the range that a claim allows.

    Attributes:
        miss: Distance of the mean from the allowed range, which includes the tolerance; 0 or negative if the mean is
            inside.
        half_width: Half width of the interval; 0 if the mean is exact, infinite if the interval is unknown.
        tolerance: Tolerance of the claim; 0 if there is none.
        scale: The largest of the compared numbers.
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
        """Sort key, from the comparison that holds best to the comparison that misses most."""
        return _RANK[self.outcome], self.miss / self.scale if self.scale and math.isfinite(self.miss) else self.miss


def compared(miss: float, half_width: float, tolerance: float, *numbers: float) -> Comparison:
    """Creates a comparison; `numbers` are the compared numbers, for the tolerance of rounding."""
    return Comparison(miss, half_width, tolerance, max(abs(number) for number in numbers))


def near(measured: Interval, expected: float, allowed: float) -> Comparison:
    """Compares a mean with its expected number within a tolerance."""
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
    """The worst comparison, which decides if all comparisons must hold."""
    return max(comparisons, key=lambda one: one.badness)


def best(*comparisons: Comparison) -> Comparison:
    """The best comparison, which decides if only one comparison must hold."""
    return min(comparisons, key=lambda one: one.badness)


def together(outcomes: list[Outcome], share: float = 1.0) -> Outcome:
    """Combines outcomes, of which at least the fraction `share` must be reproduced."""
    needed = share * len(outcomes)
    if outcomes.count("reproduced") >= needed:
        return "reproduced"
    return "inconclusive" if len(outcomes) - outcomes.count("differs") >= needed else "differs"
