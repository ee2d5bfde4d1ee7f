"""Means over replications with Student t intervals."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict

from fairlane._fairlane import student_t

CONFIDENCE = 0.95
BIN = 0.032
"""Relative error of a quantile: half the width of a histogram bin. An octave has 16 bins (port/delay_histogram.rs)."""
_QUANTILE = re.compile(r"\w*(delay|rtt|transfer|slowdown|late)\w*_p\d\d")


class PointEstimate(TypedDict):
    """A mean over replications."""

    mean: Annotated[float, "Mean of the replications that have the metric."]
    half_width: Annotated[float | None, "Half the width of the confidence interval; null for fewer than two."]
    n: Annotated[int, "Replications that have the metric."]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over `n` replications and the half width of its confidence interval (None for fewer than two).

    A computed value is `exact` and has no interval, since it is not sampled.
    """

    mean: float
    half_width: float | None
    n: int
    exact: bool = False

    @property
    def slack(self) -> float:
        """Half width for drawing, zero if there is none."""
        return self.half_width or 0.0

    @property
    def uncertainty(self) -> float:
        """Half width for checking claims: infinite if unknown, zero if exact."""
        if self.exact or (self.n > 1 and math.isinf(self.mean)):
            return 0.0
        return math.inf if self.half_width is None else self.half_width

    @property
    def standard_error(self) -> float:
        """Standard error of the mean, from its 95% interval; zero without an interval."""
        return (self.half_width or 0.0) / student_t(CONFIDENCE, self.n - 1)

    def document(self) -> PointEstimate:
        """Mean and half width, ready for JSON."""
        return {"mean": self.mean, "half_width": self.half_width, "n": self.n}

    def __str__(self) -> str:
        return format_interval(self.mean, self.half_width)


def interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Mean and half width of independent samples; an infinite sample makes the mean infinite."""
    n = len(samples)
    mean = math.fsum(samples) / n
    if n < 2 or not math.isfinite(mean):
        return Interval(mean, None, n)
    half_width = student_t(confidence, n - 1) * statistics.stdev(samples) / math.sqrt(n)
    return Interval(mean, half_width, n)


def scaled(one: Interval, factor: float) -> Interval:
    """An interval in another unit."""
    return replace(one, mean=factor * one.mean, half_width=one.half_width and factor * one.half_width)


def half_width_of_sum(variances: Sequence[float], counts: Sequence[int]) -> float:
    """Half width of the 95% interval of a sum of independent means, from their variances and sample counts.

    Variances add; degrees of freedom follow Welch and Satterthwaite.
    """
    total = math.fsum(variances)
    if total == 0:
        return 0.0
    freedom = total**2 / math.fsum(one**2 / (count - 1) for one, count in zip(variances, counts, strict=True))
    return student_t(CONFIDENCE, max(math.floor(freedom), 1)) * math.sqrt(total)


def is_quantile(metric: str) -> bool:
    """True if a metric is a quantile of a histogram, such as `delay_p99_s.BE.bottleneck`."""
    return _QUANTILE.match(metric.partition(".")[0]) is not None


def with_bin(quantile: Interval) -> Interval:
    """Widens the interval of a quantile by the error of its histogram (`BIN`)."""
    if quantile.half_width is None:
        return quantile
    return replace(quantile, half_width=quantile.half_width + BIN * quantile.mean)


def jackknife(number: float, without: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """A number computed from all replications, with its jackknife interval.

    Args:
        number: The number over all replications.
        without: For each replication, the number over all other replications.
        confidence: Confidence level of the interval.
    """
    n = len(without)
    if n < 2 or not all(map(math.isfinite, (number, *without))):
        return Interval(number, None, n)
    spread = math.sqrt((n - 1) / n * math.fsum((one - math.fsum(without) / n) ** 2 for one in without))
    return Interval(number, student_t(confidence, n - 1) * spread, n)


def format_interval(mean: float, half_width: float | None, digits: int = 5) -> str:
    """Returns `12.34 ± 0.56`: the half width has two digits, and the mean as many decimals.

    The mean has at most `digits` digits, or four without a half width.
    """
    if not math.isfinite(mean):
        return "∞" if mean > 0 else str(mean)
    if not half_width:
        return format_number(mean)
    decimals = max(0, 1 - math.floor(math.log10(half_width)))
    # A half width far below the mean's last digit carries no information.
    decimals = min(decimals, _decimals(mean, digits))
    return f"{mean:.{decimals}f} ± {half_width:.{decimals}f}"


def format_quantile(mean: float, half_width: float | None) -> str:
    """Formats a quantile and its interval, widened by `with_bin`. Without an interval, shows two digits."""
    shown = with_bin(Interval(mean, half_width, 1))
    return format_number(mean, digits=2) if half_width is None else format_interval(shown.mean, shown.half_width)


def format_number(value: float, digits: int = 4) -> str:
    """A number with the given significant digits, without trailing zeros."""
    if not math.isfinite(value):
        return "∞" if value > 0 else str(value)
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        text = f"{value:.{_decimals(value, digits)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.{digits}g}"


def _decimals(value: float, digits: int) -> int:
    if value == 0:
        return digits - 1
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))
