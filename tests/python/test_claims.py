"""Tests claims of every kind on small handwritten tables."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fairlane.judge.grid import Row, Table
from fairlane.judge.verdicts import ClaimVerdict, Statistic, judge

Numbers = Mapping[tuple[Any, ...], float | Sequence[float]]


def table(experiment: str, grid: dict[str, list[Any]], **metrics: Numbers) -> Table:
    """A table with metrics by (scheme, value of each variable). A metric is a computed number or a list of samples."""
    points = dict.fromkeys(point for numbers in metrics.values() for point in numbers)

    def samples(numbers: Numbers, point: tuple[Any, ...]) -> tuple[float | None, ...]:
        value = numbers.get(point)
        return tuple(value) if isinstance(value, Sequence) else (value,)

    rows = [
        Row(
            dict(zip(("scheme", *grid), point, strict=True)),
            {metric: samples(numbers, point) for metric, numbers in metrics.items()},
            exact=not any(isinstance(numbers.get(point), Sequence) for numbers in metrics.values()),
        )
        for point in points
    ]
    return Table(experiment, grid, {"C": 10}, rows)


LINE = table("e", {"x": [1, 2, 3, 4, 5]}, T={("abc", x): float(x) for x in range(1, 6)})


def judged(of: Table | list[Table], statistic: Statistic | None = None, /, **claim: Any) -> ClaimVerdict:
    tables = {table.experiment: table for table in ([of] if isinstance(of, Table) else of)}
    defaults = {"id": "e.c", "experiment": "e", "scheme": "abc", "metric": "T", "statement": "", "where": ""}
    return judge(defaults | claim, tables, statistic)


def verdict(of: Table | list[Table], **claim: Any) -> str:
    return judged(of, **claim).verdict


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        # value, near: |m - value| <= tol
        ({"kind": "value", "formula": "x"}, "reproduced"),
        ({"kind": "value", "value": 3, "condition": {"x": 3}}, "reproduced"),
        ({"kind": "value", "value": 3, "condition": {"x": 4}}, "differs"),
        ({"kind": "near", "value": 3, "tol_abs": 2.0}, "reproduced"),
        ({"kind": "near", "value": 3, "tol_abs": 1.9}, "differs"),
        ({"kind": "near", "value": 3, "tol_abs": 1.9, "tol_rel": 0.7}, "reproduced"),
        ({"kind": "value", "formula": "C - x", "condition": {"x": 5}}, "reproduced"),
        ({"kind": "value", "over": "x", "points": [2, 4], "values": [2, 4]}, "reproduced"),
        ({"kind": "value", "over": "x", "points": [2, 4], "values": [2, 5]}, "differs"),
        # range: min - tol <= m <= max + tol
        ({"kind": "range", "min": 1, "max": 5}, "reproduced"),
        ({"kind": "range", "min": 2, "max": 5}, "differs"),
        ({"kind": "range", "min": 2, "max": 4, "tol_abs": 1}, "reproduced"),
        ({"kind": "range", "min": 2, "max": 4, "tol_rel": 0.3}, "differs"),
        # at_most, at_least
        ({"kind": "at_most", "value": 5}, "reproduced"),
        ({"kind": "at_most", "value": 4}, "differs"),
        ({"kind": "at_most", "value": 4, "tol_rel": 0.25}, "reproduced"),
        ({"kind": "at_least", "value": 1}, "reproduced"),
        ({"kind": "at_least", "value": 2}, "differs"),
        ({"kind": "at_least", "value": 2, "tol_abs": 1}, "reproduced"),
        # conditions and predicates
        ({"kind": "at_least", "value": 4, "condition": {"x": ">= 4"}}, "reproduced"),
        ({"kind": "at_least", "value": 4, "condition": {"x": "> 2"}}, "differs"),
        ({"kind": "at_most", "value": 2, "condition": {"x": "<3"}}, "reproduced"),
        ({"kind": "value", "value": 5, "condition": {"x": "last"}}, "reproduced"),
        ({"kind": "value", "value": 1, "condition": {"x": "first"}}, "reproduced"),
        ({"kind": "at_most", "value": 3, "condition": {"x": [1, 3]}}, "reproduced"),
        ({"kind": "at_most", "value": 3, "predicate": "x <= 0.3*C"}, "reproduced"),
        ({"kind": "at_most", "value": 3, "condition": {"x": ">= 2"}, "predicate": "x < 4"}, "reproduced"),
        ({"kind": "value", "value": 1, "condition": {"y": 1}}, "not applicable"),
        # reduce
        ({"kind": "value", "value": 5, "reduce": "max"}, "reproduced"),
        ({"kind": "value", "value": 1, "reduce": "min"}, "reproduced"),
        ({"kind": "value", "value": 3, "reduce": "mean"}, "reproduced"),
        ({"kind": "value", "value": 5, "reduce": "argmax", "argument": "x"}, "reproduced"),
        ({"kind": "value", "value": 4, "reduce": "argmax", "argument": "x"}, "differs"),
        ({"kind": "at_most", "value": 5, "reduce": "quantile_0.999"}, "reproduced"),
        ({"kind": "value", "value": 3, "reduce": "quantile_0.5"}, "reproduced"),
        ({"kind": "at_least", "value": 2, "reduce": "most"}, "reproduced"),
        ({"kind": "at_least", "value": 3, "reduce": "most"}, "differs"),
        ({"kind": "value", "value": 3, "statistic": "variance over time"}, "not applicable"),
        # trend
        ({"kind": "trend", "over": "x", "direction": "up"}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "down"}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "down", "step_abs": 1}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "down", "step_rel": 0.9}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "up", "from": 1, "to": 5}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "up", "from": 1, "to": 6}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "up", "from": 1, "to": 6, "tol_rel": 0.2}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "up", "margin": 4.0}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "up", "margin": 4.1}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "flat", "tol_abs": 2}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "flat", "tol_rel": 0.5}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "up_then_down"}, "differs"),
        # a metric that was not measured
        ({"kind": "at_most", "value": 4, "metric": "U"}, "not applicable"),
    ],
)
def test_kinds_on_a_line(claim: dict[str, Any], expected: str) -> None:
    assert verdict(LINE, **claim) == expected


@pytest.mark.parametrize(
    ("means", "direction", "expected"),
    [
        ([3, 1, 2], "down_then_up", "reproduced"),
        ([3, 1, 2], "up_then_down", "differs"),
        ([1, 3, 2], "up_then_down", "reproduced"),
        ([1, 2, 3], "up_then_down", "differs"),
        ([3, 2, 1.95, 2], "down_then_up", "reproduced"),
        # All steps fall; it never rises.
        ([3, 2, 1.95], "down_then_up", "differs"),
        ([1, 1, 1], "up", "differs"),
    ],
)
def test_trends_that_turn(means: list[float], direction: str, expected: str) -> None:
    turning = table("e", {"x": list(range(len(means)))}, T={("abc", x): mean for x, mean in enumerate(means)})
    assert verdict(turning, kind="trend", over="x", direction=direction) == expected


def test_steps_back_that_are_allowed_do_not_add_up_to_the_other_direction() -> None:
    # Four downward steps, each within the allowed 1 %: 0.9091 falls to 0.8973.
    drifting = table("e", {"x": list(range(5))}, T={("abc", x): 0.9091 - 0.00295 * x for x in range(5)})
    assert verdict(drifting, kind="trend", over="x", direction="up", step_rel=0.01) == "differs"
    assert verdict(drifting, kind="trend", over="x", direction="down", step_rel=0.01) == "reproduced"


def test_a_turn_needs_a_rise_beyond_the_noise() -> None:
    # The last step rises by 0.05. Each mean has a half width of 0.25, so their difference has one of 0.25 * sqrt(2).
    noisy = table("e", {"x": [0, 1, 2]}, T={("abc", x): [m - 0.1, m, m + 0.1] for x, m in enumerate([3.0, 1.0, 1.05])})
    assert verdict(noisy, kind="trend", over="x", direction="down_then_up", step_rel=0.5) == "inconclusive"


def test_a_trend_follows_the_order_of_the_grid_and_holds_for_each_other_point() -> None:
    grid = table(
        "e",
        {"delay": [5, 50], "x": [1, 2]},
        T={("abc", 5, 1): 1, ("abc", 5, 2): 2, ("abc", 50, 1): 2, ("abc", 50, 2): 1},
    )
    assert verdict(grid, kind="trend", over="x", direction="up", condition={"delay": 5}) == "reproduced"
    assert verdict(grid, kind="trend", over="x", direction="up") == "differs"


SCHEMES = table(
    "e",
    {"x": [1, 2]},
    T={("abc", 1): 1.0, ("abc", 2): 2.0, ("droptail", 1): 1.5, ("droptail", 2): 2.2},
    U={("abc", 1): 1.0, ("abc", 2): 1.0, ("droptail", 1): 0.5, ("droptail", 2): 0.5},
)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"over": "scheme", "order": ["droptail", "abc"]}, "reproduced"),
        ({"over": "scheme", "order": ["abc", "droptail"]}, "differs"),
        ({"over": "scheme", "order": ["abc", "droptail"], "tol_rel": 0.4}, "reproduced"),
        ({"over": "scheme", "order": ["abc", "droptail"], "tol_abs": 0.5}, "reproduced"),
        ({"over": "scheme", "order": ["abc", "droptail"], "tol_abs": 0.49}, "differs"),
        ({"over": "scheme", "order": ["droptail", "abc"], "margin": 0.1}, "reproduced"),
        ({"over": "scheme", "order": ["droptail", "abc"], "margin": 0.2}, "differs"),
        ({"over": "x", "order": [2, 1]}, "reproduced"),
        ({"over": "x", "order": [2, 1], "margin": 0.9}, "differs"),
        ({"over": "x", "order": [2, 1], "margin": 0.9, "scheme": "abc"}, "reproduced"),
        ({"over": "metric", "metric": ["T", "U"], "order": ["T", "U"]}, "reproduced"),
        ({"over": "metric", "metric": ["T", "U"], "order": ["U", "T"]}, "differs"),
        # The mean of droptail is 1.85 and that of abc 1.5, so a margin of 0.2 holds for the means, but not at x = 2.
        ({"over": "scheme", "order": ["droptail", "abc"], "margin": 0.2, "reduce": "mean"}, "reproduced"),
        ({"over": "scheme", "order": ["droptail", "csfq"]}, "not applicable"),
        # A step may have several values. T at x = 1 and 2 is 1 and 2 under abc, 1.5 and 2.2 under droptail.
        ({"over": "scheme", "order": [["droptail", "abc"], "abc"]}, "reproduced"),
        ({"over": "scheme", "order": ["droptail", ["droptail", "abc"]]}, "reproduced"),
        ({"over": "scheme", "order": [["droptail", "abc"], "droptail"]}, "differs"),
        # A scheme that was not measured is not ignored.
        ({"over": "scheme", "order": [["droptail", "csfq"], "abc"]}, "not applicable"),
    ],
)
def test_orderings(claim: dict[str, Any], expected: str) -> None:
    assert verdict(SCHEMES, **{"scheme": ["droptail", "abc"], "kind": "ordering"} | claim) == expected


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        # The ratios of T under abc to T under droptail are 2/3 and 10/11.
        ({"value": 1.0, "tol_abs": 0.34}, "reproduced"),
        ({"value": 1.0, "tol_abs": 0.33}, "differs"),
        ({"value": 1.0, "tol_abs": 0.1, "condition": {"x": 2}}, "reproduced"),
        ({"value": 1.0, "tol_abs": 0.1, "predicate": "not x == 1"}, "reproduced"),
        ({"min": 0.6}, "reproduced"),
        ({"min": 0.7}, "differs"),
        ({"min": 0.7, "tol_abs": 0.1, "max": 1}, "reproduced"),
        ({"value": 10 / 11, "tol_abs": 1e-9, "reduce": "max"}, "reproduced"),
    ],
)
def test_ratios_within_one_experiment(claim: dict[str, Any], expected: str) -> None:
    sides = {"numerator": {"scheme": "abc"}, "denominator": {"scheme": "droptail"}}
    assert verdict(SCHEMES, **{"kind": "ratio"} | sides | claim) == expected


def test_a_ratio_over_another_experiment_is_taken_at_equal_other_variables() -> None:
    plain = table("plain", {"r": [5, 7], "x": [1, 2]}, T={("abc", r, x): r * x for r in (5, 7) for x in (1, 2)})
    other = table("e", {"a": [1, 3], "x": [1, 2]}, T={("abc", a, x): 7 * a * x for a in (1, 3) for x in (1, 2)})
    denominator = {"experiment": "plain", "scheme": "abc", "r": 7}
    claim = {"kind": "ratio", "value": 1.0, "numerator": {"experiment": "e", "a": 1}, "denominator": denominator}
    assert verdict([other, plain], **claim) == "reproduced"
    assert verdict([other, plain], **claim | {"numerator": {"experiment": "e", "a": 3}}) == "differs"
    ambiguous = {"experiment": "plain", "scheme": "abc"}
    assert verdict([other, plain], **claim | {"denominator": ambiguous}) == "not applicable"


RATIO_OF_METRICS = {"kind": "ratio", "numerator": {"metric": "T"}, "denominator": {"metric": "U"}}
EACH = {"kind": "value", "metric": ["T", "U"], "condition": {"x": 1}, "expect": {"T": 1.2, "U": 1.0}}
BOTH_SCHEMES = {"kind": "at_most", "scheme": ["abc", "droptail"]}


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (RATIO_OF_METRICS | {"value": 2, "condition": {"x": 2}}, "reproduced"),
        # the sum of two metrics
        ({"kind": "value", "metric": "T + U", "value": 3, "condition": {"x": 2}}, "reproduced"),
        # one number and tolerance per metric
        (EACH | {"tolerance": {"T": {"rel": 0.2}, "U": {"abs": 0.1}}}, "reproduced"),
        (EACH | {"tolerance": {"T": {"rel": 0.1}, "U": {"abs": 0.1}}}, "differs"),
        # a list of schemes, for each of which it must hold
        (BOTH_SCHEMES | {"value": 2.0}, "differs"),
        (BOTH_SCHEMES | {"value": 2.2}, "reproduced"),
    ],
)
def test_claims_on_several_metrics_or_schemes(claim: dict[str, Any], expected: str) -> None:
    assert verdict(SCHEMES, **claim) == expected


# The samples 9.9 and 10.1 have the mean 10 and the half width t(0.975; 1) * sqrt(0.02) / sqrt(2) = 1.2706.
QUIET = table("e", {"x": [1, 2]}, T={("abc", 1): [9.9, 10.1], ("abc", 2): [9.9, 10.1]})


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        # The mean is inside the tolerance, and the half width, 1.2706, is smaller than the tolerance.
        ({"kind": "near", "value": 10, "tol_abs": 1.3}, "reproduced"),
        ({"kind": "near", "value": 10, "tol_abs": 1.2}, "inconclusive"),
        ({"kind": "near", "value": 11.25, "tol_abs": 1.3}, "reproduced"),
        # The mean is outside, but the interval reaches inside. Noise must not help.
        ({"kind": "near", "value": 11.4, "tol_abs": 1.3}, "inconclusive"),
        ({"kind": "near", "value": 12.5, "tol_abs": 1.3}, "inconclusive"),
        # 10 + 1.2706 < 12.6 - 1.3: no part of the interval is inside.
        ({"kind": "near", "value": 12.6, "tol_abs": 1.3}, "differs"),
        # A bound without a tolerance: all of the interval must be within it.
        ({"kind": "at_most", "value": 11.3}, "reproduced"),
        ({"kind": "at_most", "value": 11.2}, "inconclusive"),
        ({"kind": "at_most", "value": 8.8}, "inconclusive"),
        ({"kind": "at_most", "value": 8.7}, "differs"),
        ({"kind": "at_least", "value": 8.7}, "reproduced"),
        ({"kind": "at_least", "value": 10.1}, "inconclusive"),
        # A bound with a tolerance: the half width must not exceed the tolerance.
        ({"kind": "at_most", "value": 9, "tol_abs": 1.3}, "reproduced"),
        ({"kind": "range", "min": 8, "max": 12}, "reproduced"),
        ({"kind": "range", "min": 9, "max": 30}, "inconclusive"),
        ({"kind": "range", "min": 12, "max": 30}, "differs"),
        # The difference of 10 and 10 has a half width of 1.2706 * sqrt(2) = 1.797.
        ({"kind": "ordering", "over": "x", "order": [1, 2]}, "inconclusive"),
        ({"kind": "ordering", "over": "x", "order": [1, 2], "tol_abs": 1.8}, "reproduced"),
        ({"kind": "ordering", "over": "x", "order": [1, 2], "tol_abs": 1.7}, "inconclusive"),
        # With means of 10 and 1.1 * 10, the half width is 1.2706 * sqrt(1 + 1.1**2) = 1.889 and the shortfall 1. With
        # 1.3 * 10 they are 2.08 and 3.
        ({"kind": "ordering", "over": "x", "order": [1, 2], "margin": 0.1}, "inconclusive"),
        ({"kind": "ordering", "over": "x", "order": [1, 2], "margin": 0.3}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "up", "step_rel": 0.18}, "inconclusive"),
        ({"kind": "trend", "over": "x", "direction": "up", "step_rel": 0.18, "margin": 0.1}, "inconclusive"),
        ({"kind": "trend", "over": "x", "direction": "up", "step_rel": 0.18, "margin": 0.3}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "flat", "tol_abs": 1.3}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "flat", "tol_abs": 1.2}, "inconclusive"),
        # Both points are fully correlated, so their mean varies as much as each.
        ({"kind": "near", "reduce": "mean", "value": 10, "tol_abs": 1.3}, "reproduced"),
        ({"kind": "near", "reduce": "mean", "value": 10, "tol_abs": 1.2}, "inconclusive"),
        # Either position may be the largest; positions 1 and 2 are 1 apart.
        ({"kind": "range", "min": 0, "max": 2, "reduce": "argmax", "argument": "x"}, "reproduced"),
        ({"kind": "range", "min": 0, "max": 1, "reduce": "argmax", "argument": "x"}, "inconclusive"),
        # The median of 9.9, 9.9, 10.1 and 10.1 is 9.9; without the first run it is 10.1. The half width is t(0.975; 1)
        # times the jackknife standard error of this jump of 0.2: 12.706 * sqrt(1/2 * 2 * 0.1**2) = 1.27.
        ({"kind": "near", "reduce": "quantile_0.5", "value": 9.9, "tol_abs": 1.3}, "reproduced"),
        ({"kind": "near", "reduce": "quantile_0.5", "value": 9.9, "tol_abs": 1.2}, "inconclusive"),
    ],
)
def test_the_mean_must_be_inside_and_the_interval_narrow(claim: dict[str, Any], expected: str) -> None:
    assert verdict(QUIET, **claim) == expected


CLAIMS = [
    {"kind": "near", "value": 10, "tol_abs": 1.3},
    {"kind": "near", "value": 12.6, "tol_abs": 1.3},
    {"kind": "at_most", "value": 11.3},
    {"kind": "at_most", "value": 8.7, "tol_abs": 1.3},
    {"kind": "ordering", "over": "x", "order": [1, 2], "tol_rel": 0.2},
    {"kind": "trend", "over": "x", "direction": "up", "step_rel": 0.18},
]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("spread", [0.0, 0.01, 0.1, 1.0, 10.0])
def test_more_noise_around_the_same_mean_never_helps(claim: dict[str, Any], spread: float) -> None:
    def with_spread(spread: float) -> str:
        samples = [10 - spread, 10 + spread]
        return verdict(table("e", {"x": [1, 2]}, T={("abc", 1): samples, ("abc", 2): samples}), **claim)

    more, less = with_spread(10 * spread + 0.01), with_spread(spread)
    # More noise may make "differs" inconclusive, but never makes a claim reproduced.
    assert less == "reproduced" or more != "reproduced"


def test_one_run_is_not_narrow_and_what_is_computed_needs_no_interval() -> None:
    one = table("e", {"x": [1]}, T={("abc", 1): [10.0]})
    computed = table("e", {"x": [1]}, T={("abc", 1): 10.0})
    for claim in ({"kind": "near", "value": 10, "tol_rel": 1.0}, {"kind": "at_most", "value": 100}):
        assert verdict(one, **claim) == "inconclusive"
        assert verdict(computed, **claim) == "reproduced"
    assert verdict(one, kind="near", value=50) == "inconclusive"
    assert verdict(computed, kind="near", value=50) == "differs"


def test_a_ratio_of_zero_has_the_interval_of_its_numerator() -> None:
    sides = {"numerator": {"x": 1}, "denominator": {"x": 2}}
    # The samples -1 and 1, divided by 10, have the half width t(0.975; 1) / 10 = 1.2706.
    wide = table("e", {"x": [1, 2]}, T={("abc", 1): [-1.0, 1.0], ("abc", 2): [10.0, 10.0]})
    assert verdict(wide, kind="ratio", value=0, tol_abs=1.3, **sides) == "reproduced"
    assert verdict(wide, kind="ratio", value=0, tol_abs=1.2, **sides) == "inconclusive"


def test_most_points_may_be_undecided_without_the_claim_being_so() -> None:
    # Four of five hold, one is inconclusive; 80 % are enough.
    line = {("abc", x): [10.0, 10.0] for x in range(1, 5)}
    odd = table("e", {"x": [1, 2, 3, 4, 5]}, T={**line, ("abc", 5): [9.0, 11.0]})
    assert verdict(odd, kind="near", value=10, tol_abs=1, reduce="most") == "reproduced"
    assert verdict(odd, kind="near", value=10, tol_abs=1) == "inconclusive"
    far = table("e", {"x": [1, 2, 3, 4, 5]}, T={**line, ("abc", 4): [9.0, 11.0], ("abc", 5): [50.0, 50.0]})
    assert verdict(far, kind="near", value=10, tol_abs=1, reduce="most") == "inconclusive"
    assert verdict(far, kind="near", value=10, tol_abs=1) == "differs"


def test_a_number_of_all_runs_together_has_the_jackknifes_interval() -> None:
    # The means of two flows are 10 and 13, so their difference is 3. Leaving out each run in turn gives 2, 3 and 4.
    flows = table("e", {"x": [1, 2]}, T={("abc", 1): [10.0, 10.0, 10.0], ("abc", 2): [11.0, 13.0, 15.0]})

    def spread(tables: Mapping[str, Table]) -> Table:
        means = [cell.interval.mean for cell in tables["e"].cells(["abc"], ["T"])]
        return Table("e", {}, {}, [Row({"scheme": "abc"}, {"T": (max(means) - min(means),)})])

    claim = {"kind": "near", "value": 3.0, "statistic": "spread"}
    # The half width is t(0.975; 2) * sqrt(2/3 * (1 + 0 + 1)) = 4.303 * 1.155 = 4.968.
    assert judged(flows, Statistic(spread), **claim, tol_abs=5.0).verdict == "reproduced"
    found = judged(flows, Statistic(spread), **claim, tol_abs=4.9)
    assert (found.verdict, found.findings[0].measured, found.findings[0].runs) == ("inconclusive", "3.0 ± 5.0", 3)
    extreme = Statistic(spread, extreme=True)
    assert judged(flows, extreme, **claim, tol_abs=0.1).findings[0].measured == "3"


def test_a_claim_over_several_metrics_has_a_finding_for_each_with_its_unit() -> None:
    claim = EACH | {"expect": {"T": 1.2, "U": 2.0}, "unit": {"T": "kb/s", "U": "1"}}
    of_both = judged(SCHEMES, **claim, tolerance={"T": {"rel": 0.2}, "U": {"abs": 0.1}})
    assert of_both.verdict == "differs"
    found = [(one.metric, one.unit, one.verdict, one.paper, one.measured) for one in of_both.findings]
    assert found == [("T", "kb/s", "reproduced", "1.2 kb/s (± 20%)", "1"), ("U", "", "differs", "2.0 (± 0.1)", "1")]


def test_the_worst_point_is_told_with_its_number() -> None:
    told = judged(LINE, kind="near", value=3.0, tol_abs=1.0, unit="ms")
    (found,) = told.findings
    assert (told.verdict, found.passed, found.checks) == ("differs", 3, 5)
    assert found.paper == "3.0 ms (± 1)"
    assert found.measured == "1 to 5, holds at 3 of 5 points"
    assert found.worst in {"x = 1: 1", "x = 5: 5"}


def test_infinite_means_pass_lower_bounds_only() -> None:
    starved = table("e", {"x": [1]}, T={("abc", 1): [math.inf, 5.0]})
    assert verdict(starved, kind="at_least", value=200) == "reproduced"
    assert verdict(starved, kind="at_most", value=200) == "differs"
