"""Checks a scenario's expectations by the rule of judge/rule.py, under which a wider interval never helps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fairlane.base.text import counted
from fairlane.judge.rule import Comparison, Outcome, near, within
from fairlane.results.intervals import Interval, interval, is_quantile, with_bin
from fairlane.results.metrics import metrics, series, unit_of
from fairlane.simulate.expectation import Expectation

VerdictName = Literal["held", "inconclusive", "violated"]

_NAMES: Mapping[Outcome, VerdictName] = {
    "reproduced": "held",
    "inconclusive": "inconclusive",
    "differs": "violated",
}
_ROUNDING = 1e-9
"""Tolerance for floating-point noise, as a fraction of a bin; times must be multiples of a bin."""


@dataclass(frozen=True, slots=True)
class ExpectationVerdict:
    """Verdict on an expectation."""

    metric: Annotated[str, "Name of the metric."]
    unit: Annotated[str, "Unit of the metric; empty if it has none."]
    expected: Annotated[str, "Expected value, as written in the file."]
    verdict: Annotated[
        VerdictName, "Violated if the interval is entirely outside the expectation, inconclusive if partly."
    ]
    mean: Annotated[float | None, "Mean of the replications that have the metric; null if none has."]
    half_width: Annotated[float | None, "Half the width of the confidence interval; null for fewer than two."]
    n: Annotated[int, "Replications that have the metric."]
    reason: Annotated[str, "Why the verdict is inconclusive; empty if it is not."]
    why: Annotated[str, "Reason for the expectation, from the file."]


def judge(expectation: Expectation, runs: Sequence[Mapping[str, Any]]) -> ExpectationVerdict:
    """The verdict on an expectation, from the records of all replications."""
    samples = [value for run in runs if (value := _value(expectation, run)) is not None]
    measured = interval(samples) if samples else None
    if measured and is_quantile(expectation.metric):
        measured = with_bin(measured)
    verdict: VerdictName = "inconclusive"
    reason = f"only {len(samples)} of {counted(len(runs), 'replication')} with such a number"
    if measured and len(samples) == len(runs):
        verdict = _NAMES[_compared(expectation, measured).outcome]
        open_ = "one replication has no interval" if len(runs) == 1 else "more replications would narrow the interval"
        reason = open_ if verdict == "inconclusive" else ""
    unit = unit_of(expectation.metric) or ""
    return ExpectationVerdict(
        metric=expectation.metric,
        unit="" if unit == "1" else unit,
        expected=expectation.words,
        verdict=verdict,
        mean=measured.mean if measured else None,
        half_width=measured.half_width if measured else None,
        n=len(samples),
        reason=reason,
        why=expectation.why,
    )


def bins(window_s: tuple[float | None, float | None], interval_s: float, end_s: float) -> range:
    """The bins entirely within a window, of a time series that ends at `end_s`."""
    start, end = window_s[0] or 0.0, end_s if window_s[1] is None else window_s[1]
    return range(math.ceil(start / interval_s - _ROUNDING), math.floor(min(end, end_s) / interval_s + _ROUNDING))


def _compared(expectation: Expectation, measured: Interval) -> Comparison:
    if expectation.equals:
        return near(measured, *expectation.equals)
    low, high = expectation.bounds
    given: list[tuple[Literal["min", "max"], float | None]] = [("min", low), ("max", high)]
    return within(measured, *((kind, bound, 0.0) for kind, bound in given if bound is not None))


def _value(expectation: Expectation, run: Mapping[str, Any]) -> float | None:
    """The metric in a run, or the metric's mean over the window; None if the run lacks the metric."""
    if expectation.window_s is None:
        value: float | None = metrics(dict(run)).get(expectation.metric)
        return value
    values = series(dict(run))[expectation.metric]
    inside = bins(expectation.window_s, run["series"]["interval_s"], run["window_s"][1])
    found = [value for index in inside if (value := values[index]) is not None]
    # The series is the throughput of the whole group, but the metric of this name is per user.
    users = {f"throughput_bps.{group['name']}": group["users"] for group in run["groups"]}
    return math.fsum(found) / len(found) / users.get(expectation.metric, 1) if found else None
