"""Claims of every kind on small hand-made tables."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fairlane.papers.claims import judge
from fairlane.papers.grid import Row, Table

Numbers = Mapping[tuple[Any, ...], float | Sequence[float]]


def table(experiment: str, grid: dict[str, list[Any]], **metrics: Numbers) -> Table:
    """A table whose metrics are given by (scheme, value of each variable): one sample, or a list of them."""
    points = dict.fromkeys(point for numbers in metrics.values() for point in numbers)

    def samples(numbers: Numbers, point: tuple[Any, ...]) -> tuple[float | None, ...]:
        value = numbers.get(point)
        return tuple(value) if isinstance(value, Sequence) else (value,)

    rows = [
        Row(
            dict(zip(("scheme", *grid), point, strict=True)),
            {metric: samples(numbers, point) for metric, numbers in metrics.items()},
        )
        for point in points
    ]
    return Table(experiment, grid, {"C": 10}, rows)


LINE = table("e", {"x": [1, 2, 3, 4, 5]}, T={("abc", x): float(x) for x in range(1, 6)})


def verdict(of: Table | list[Table], **claim: Any) -> str:
    tables = {table.experiment: table for table in ([of] if isinstance(of, Table) else of)}
    defaults = {"id": "e.c", "experiment": "e", "scheme": "abc", "metric": "T", "statement": "", "where": ""}
    return judge(defaults | claim, tables).verdict


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
        ({"kind": "trend", "over": "x", "direction": "down", "step_abs": 1}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "down", "step_rel": 0.9}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "up", "from": 1, "to": 5}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "up", "from": 1, "to": 6}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "up", "from": 1, "to": 6, "tol_rel": 0.2}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "up", "margin": 4.0}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "up", "margin": 4.1}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "flat", "tol_abs": 2}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "flat", "tol_rel": 0.5}, "differs"),
        ({"kind": "trend", "over": "x", "direction": "up_then_down"}, "differs"),
        # a metric that nobody measured
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
    ],
)
def test_trends_that_turn(means: list[float], direction: str, expected: str) -> None:
    turning = table("e", {"x": list(range(len(means)))}, T={("abc", x): mean for x, mean in enumerate(means)})
    assert verdict(turning, kind="trend", over="x", direction=direction) == expected


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
        # Mean of droptail 1.85, of abc 1.5: a margin of 0.2 holds for the means, not at x = 2.
        ({"over": "scheme", "order": ["droptail", "abc"], "margin": 0.2, "reduce": "mean"}, "reproduced"),
        ({"over": "scheme", "order": ["droptail", "csfq"]}, "not applicable"),
    ],
)
def test_orderings(claim: dict[str, Any], expected: str) -> None:
    assert verdict(SCHEMES, **{"scheme": ["droptail", "abc"], "kind": "ordering"} | claim) == expected


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        # T of abc over droptail: 2/3 and 10/11.
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


def test_a_ratio_of_metrics() -> None:
    sides = {"numerator": {"metric": "T"}, "denominator": {"metric": "U"}}
    assert verdict(SCHEMES, kind="ratio", value=2, condition={"x": 2}, **sides) == "reproduced"


def test_a_ratio_over_another_experiment_is_taken_at_equal_other_variables() -> None:
    plain = table("plain", {"r": [5, 7], "x": [1, 2]}, T={("abc", r, x): r * x for r in (5, 7) for x in (1, 2)})
    other = table("e", {"a": [1, 3], "x": [1, 2]}, T={("abc", a, x): 7 * a * x for a in (1, 3) for x in (1, 2)})
    denominator = {"experiment": "plain", "scheme": "abc", "r": 7}
    claim = {"kind": "ratio", "value": 1.0, "numerator": {"experiment": "e", "a": 1}, "denominator": denominator}
    assert verdict([other, plain], **claim) == "reproduced"
    assert verdict([other, plain], **claim | {"numerator": {"experiment": "e", "a": 3}}) == "differs"
    ambiguous = {"experiment": "plain", "scheme": "abc"}
    assert verdict([other, plain], **claim | {"denominator": ambiguous}) == "not applicable"


def test_sums_of_metrics() -> None:
    assert verdict(SCHEMES, kind="value", metric="T + U", value=3, condition={"x": 2}) == "reproduced"


def test_one_number_and_tolerance_per_metric() -> None:
    claim = {"kind": "value", "metric": ["T", "U"], "condition": {"x": 1}, "expect": {"T": 1.2, "U": 1.0}}
    assert verdict(SCHEMES, **claim, tolerance={"T": {"rel": 0.2}, "U": {"abs": 0.1}}) == "reproduced"
    assert verdict(SCHEMES, **claim, tolerance={"T": {"rel": 0.1}, "U": {"abs": 0.1}}) == "differs"


def test_a_list_of_schemes_must_hold_for_each() -> None:
    assert verdict(SCHEMES, kind="at_most", scheme=["abc", "droptail"], value=2.0) == "differs"
    assert verdict(SCHEMES, kind="at_most", scheme=["abc", "droptail"], value=2.2) == "reproduced"


# Samples 9 and 11: mean 10, half width t(0.975; 1) * sqrt(2) / sqrt(2) = 12.706.
NOISY = table("e", {"x": [1, 2]}, T={("abc", 1): [9.0, 11.0], ("abc", 2): [9.0, 11.0]})


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"kind": "near", "value": 22.7}, "reproduced"),
        ({"kind": "near", "value": 22.8}, "differs"),
        ({"kind": "at_most", "value": -2.7}, "reproduced"),
        ({"kind": "range", "min": 22.8, "max": 30}, "differs"),
        # Half width of the difference of 10 and 2 * 10: 12.706 * sqrt(1 + 4) = 28.4.
        ({"kind": "ordering", "over": "x", "order": [1, 2], "margin": 1.0}, "reproduced"),
        # Half width of the difference of the ends: 12.706 * sqrt(2) = 17.97.
        ({"kind": "trend", "over": "x", "direction": "up", "margin": 1.7}, "reproduced"),
        ({"kind": "trend", "over": "x", "direction": "up", "margin": 1.8}, "differs"),
        # Both points in one replication are 9, in the other 11: their mean varies as much as each.
        ({"kind": "near", "reduce": "mean", "value": 22.7}, "reproduced"),
        ({"kind": "near", "reduce": "mean", "value": 22.8}, "differs"),
    ],
)
def test_half_widths_are_added_to_tolerances(claim: dict[str, Any], expected: str) -> None:
    assert verdict(NOISY, **claim) == expected


def test_the_worst_point_is_told_with_its_number() -> None:
    claim = {"id": "e.c", "experiment": "e", "scheme": "abc", "metric": "T", "statement": "", "where": ""}
    judged = judge(claim | {"kind": "near", "value": 3.0, "tol_abs": 1.0, "unit": "ms"}, {"e": LINE})
    assert judged.verdict == "differs"
    assert (judged.passed, judged.checks) == (3, 5)
    assert judged.paper == "3.0 ms (± 1)"
    assert judged.measured == "1 to 5, holds at 3 of 5 points"
    assert judged.worst in {"x = 1: 1", "x = 5: 5"}


def test_infinite_means_pass_lower_bounds_only() -> None:
    starved = table("e", {"x": [1]}, T={("abc", 1): [math.inf, 5.0]})
    assert verdict(starved, kind="at_least", value=200) == "reproduced"
    assert verdict(starved, kind="at_most", value=200) == "differs"
