import pytest

from fairlane.judge.expressions import ExpressionError, evaluate

NAMES = {"R0_mbps": 8.0, "R1_mbps": 2.5, "Cb_mbps": 10, "f0": 1, "Db_ms": 50, "s": 16}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("R0_mbps", 8.0),
        ("Cb_mbps*R0_mbps/(R0_mbps + R1_mbps)", 80 / 10.5),
        ("-s**2", -256),
        ("R0_mbps + R1_mbps >= 0.9*Cb_mbps", True),
        ("not (f0 == 1 and Db_ms == 50)", False),
        ("1 < s < 17 or f0 != 1", True),
    ],
)
def test_arithmetic_and_comparisons_have_their_usual_meaning(text: str, value: object) -> None:
    assert evaluate(text, NAMES) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "s.real",
        "[s][0]",
        "(lambda: 1)()",
        "s if f0 else 1",
        "unknown + 1",
        "s +",
        "s/0",
        "'a'*s > 2",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES)
