import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane.results.intervals import (
    Interval,
    format_interval,
    format_number,
    format_quantile,
    interval,
    is_quantile,
    with_bin,
)


def test_half_width_is_that_of_students_t() -> None:
    # The mean is 3 and the standard deviation sqrt(2.5). With t(0.975; 4) = 2.776445, the half width is 2.776445 *
    # sqrt(2.5 / 5).
    estimate = interval([1, 2, 3, 4, 5])
    assert estimate.mean == 3
    assert estimate.half_width == pytest.approx(2.776445 * math.sqrt(0.5), rel=1e-6)
    assert estimate.n == 5


def test_one_sample_has_no_interval() -> None:
    assert interval([2.0]).half_width is None
    assert interval([2.0]).slack == 0


def test_an_infinite_sample_makes_the_mean_infinite() -> None:
    estimate = interval([1.0, math.inf])
    assert estimate.mean == math.inf
    assert estimate.half_width is None
    assert str(estimate) == "∞"


@pytest.mark.parametrize(
    ("mean", "half_width", "text"),
    [
        (12.3456, 0.5678, "12.35 ± 0.57"),
        (0.9612, 0.0045, "0.9612 ± 0.0045"),
        (5385.2, 38.7, "5385 ± 39"),
        (100.0, None, "100"),
        (1.0, 0.0, "1"),
        (0.0, None, "0"),
    ],
)
def test_half_widths_are_printed_with_two_digits(mean: float, half_width: float | None, text: str) -> None:
    assert format_interval(mean, half_width) == text


@given(st.floats(min_value=-1e300, max_value=1e300))
def test_numbers_are_printed_within_a_thousandth(value: float) -> None:
    assert float(format_number(value)) == pytest.approx(value, rel=1e-3)


def test_a_quantile_is_shown_with_the_bin_that_it_was_read_off() -> None:
    # The bin adds 3.2 % of the mean to the half width, that is, 1.82. Without an interval, two digits are shown.
    assert format_quantile(56.908, 0.0) == "56.9 ± 1.8"
    assert format_quantile(56.908, 3.0) == "56.9 ± 4.8"
    assert format_quantile(59.06, None) == "59"
    assert with_bin(Interval(100.0, 1.0, 3)) == Interval(100.0, 4.2, 3)
    assert with_bin(Interval(64.0, None, 1)) == Interval(64.0, None, 1)
    assert all(map(is_quantile, ["delay_p99_s.BE.bottleneck", "one_way_delay_p50_s.users", "slowdown_p95"]))
    assert not any(map(is_quantile, ["delay_mean_s", "throughput_bps.p99_s", "share_p5"]))
