"""Keys and meaning of a scenario's expectations (`[[expect]]` tables).

A simulation ignores expectations; `fairlane check` checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from fairlane.base.errors import ScenarioError
from fairlane.base.quantities import UNITS, parsed
from fairlane.base.text import near, quoted
from fairlane.results.metrics import unit_of

_QUANTITY = {"type": ["string", "number"], "examples": ["5 ms"]}
_TIME = {"type": "string", "examples": ["20 s"]}

KEYS: Mapping[str, Mapping[str, Any]] = {
    "metric": {"type": "string", "description": "Metric with group or link, as in the columns of `runs`."},
    "min": {**_QUANTITY, "description": "Minimum of the mean; alone or with `max`."},
    "max": {**_QUANTITY, "description": "Maximum of the mean; alone or with `min`."},
    "equals": {**_QUANTITY, "description": "Value of the mean, within `tolerance`."},
    "tolerance": {
        **_QUANTITY,
        "description": "Allowed deviation of the mean; in `%`, relative to `equals`. Required with `equals`.",
    },
    "from": {
        **_TIME,
        "description": "Start of the window in the time series; default: their start.",
    },
    "to": {**_TIME, "description": "End of that window; default: the end of the run."},
    "why": {"type": "string", "description": "Reason for the expectation, shown with the verdict."},
}
"""Keys of a table, with their schemas."""

SCHEMA: Mapping[str, Any] = {
    "type": "array",
    "description": "Expectations that `fairlane check` judges.",
    "items": {"type": "object", "properties": KEYS, "required": ["metric"], "additionalProperties": False},
}
"""JSON Schema of the array."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected mean of a metric, in the unit of the metric.

    Attributes:
        metric: Name of the metric.
        words: Expected value, as written: `≥ 2 Mbit/s`, `5 ms ± 10 %`.
        bounds: Smallest and largest accepted value.
        equals: Expected value and tolerance on both sides.
        window_s: Start and end of a window in the time series. A missing start or end (None) is the start or end of the
            series. Without a window (None), the metric covers the whole run.
        why: Reason for the expectation.
    """

    metric: str
    words: str
    bounds: tuple[float | None, float | None]
    equals: tuple[float, float] | None
    window_s: tuple[float | None, float | None] | None
    why: str


def expectations(tables: Any) -> list[Expectation]:
    """Reads `[[expect]]`.

    Raises:
        ScenarioError: A key or value is wrong.
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ScenarioError(f"expect: {quoted(tables)} is not an array of tables such as [[expect]]")
    return [_expectation(f"expect[{index}]", table) for index, table in enumerate(tables)]


def _expectation(place: str, table: Mapping[str, Any]) -> Expectation:
    for name in table:
        if name not in KEYS:
            raise ScenarioError(f"{place}.{name}: unknown key; {near(str(name), KEYS)}")
    metric = _text(place, table, "metric")
    if not metric:
        raise ScenarioError(f"{place}.metric: missing, must be a metric such as throughput_ratio")
    unit = unit_of(metric)
    low, high, equals = (_quantity(place, table, name, unit) for name in ("min", "max", "equals"))
    window = _quantity(place, table, "from", "s"), _quantity(place, table, "to", "s")
    if equals is None and "tolerance" in table:
        raise ScenarioError(f"{place}.tolerance: has no effect without equals")
    if (equals is None) == (low is None and high is None):
        raise ScenarioError(f"{place}: must have either equals, with tolerance, or min, max or both")
    for (name, least), (above, most) in ((("min", low), ("max", high)), (("from", window[0]), ("to", window[1]))):
        if least is not None and most is not None and least > most:
            raise ScenarioError(f"{place}.{above}: {quoted(table[above])} is below {name}, {quoted(table[name])}")
    return Expectation(
        metric,
        _words(table),
        (low, high),
        None if equals is None else (equals, _tolerance(place, table, equals, unit)),
        window if window != (None, None) else None,
        _text(place, table, "why"),
    )


def _tolerance(place: str, table: Mapping[str, Any], equals: float, unit: str | None) -> float:
    given = table.get("tolerance")
    if given is None:
        raise ScenarioError(f'{place}.tolerance: missing, must be a share such as "5 %", or {_allowed(unit)}')
    share = parsed(given, "1") if isinstance(given, str) else None
    found = _quantity(place, table, "tolerance", unit) if share is None else share * abs(equals)
    if found is None or found < 0:
        raise ScenarioError(f"{place}.tolerance: {quoted(given)} is negative")
    return found


def _quantity(place: str, table: Mapping[str, Any], name: str, unit: str | None) -> float | None:
    """The value of a key in a unit; None if the key is missing."""
    if (value := table.get(name)) is None:
        return None
    number: float | None = None
    if isinstance(value, str):
        number = parsed(value, unit) if unit is not None and unit in UNITS else None
    elif isinstance(value, int | float) and not isinstance(value, bool) and (unit == "1" or unit not in UNITS):
        number = value if isfinite(value) else None
    if number is None:
        raise ScenarioError(f"{place}.{name}: {quoted(value)} is not {_allowed(unit)}")
    return number


def _allowed(unit: str | None) -> str:
    """Allowed notation for a quantity of a metric."""
    examples = {"bit/s": '"2 Mbit/s"', "s": '"5 ms"', "bytes": '"10 kB"', "packets": '"12 packets"'}
    if unit in examples:
        return f"a quantity such as {examples[unit]}"
    return 'a number such as 0.95, or "95 %"' if unit == "1" else "a number without a unit"


def _text(place: str, table: Mapping[str, Any], name: str) -> str:
    value = table.get(name, "")
    if not isinstance(value, str):
        raise ScenarioError(f"{place}.{name}: {quoted(value)} is not a string")
    return value


def _words(table: Mapping[str, Any]) -> str:
    given = {name: str(value) for name, value in table.items()}
    if "equals" in given:
        what = f"{given['equals']} ± {given['tolerance']}" if "tolerance" in given else given["equals"]
    elif {"min", "max"} <= given.keys():
        what = f"{given['min']} to {given['max']}"
    else:
        what = f"≥ {given['min']}" if "min" in given else f"≤ {given['max']}"
    return " ".join([what, *(f"{name} {given[name]}" for name in ("from", "to") if name in given)])
