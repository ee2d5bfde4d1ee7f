"""Search space: maps each point of the unit cube to a value for every key, from a range or a list of values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fairlane.base.errors import UserError
from fairlane.base.text import quoted
from fairlane.search.optimiser import Point

Value: TypeAlias = str | int | float | bool
"""Value of a scenario key; a quantity is a string such as `"5 ms"`."""

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})\s*([^\s:0-9][^:]*?)?\s*(:log)?")
_COUNTED = {"packets", "packet", "pkts", "pkt", "p", "B", "byte", "bytes", "bit/s"}
"""Units that only allow whole numbers."""


@dataclass(frozen=True)
class Range:
    """Values from `low` to `high`.

    Attributes:
        low: Smallest value.
        high: Largest value.
        unit: Unit after the number; empty for numbers without unit.
        is_log: True for a logarithmic scale.
        is_whole: True if all values are integers: for counts, if both bounds are written without a decimal point.
    """

    low: float
    high: float
    unit: str
    is_log: bool
    is_whole: bool

    def at(self, x: float, digits: int) -> Value:
        """Value at a coordinate from 0 to 1, rounded to the given significant digits."""
        if self.is_whole and not self.is_log:
            number = self.low + math.floor(x * (self.high - self.low + 1))  # all values are equally likely
        elif self.is_log:
            number = self.low * (self.high / self.low) ** x
        else:
            number = self.low + x * (self.high - self.low)
        return self.value(number, digits)

    def value(self, number: float, digits: int) -> Value:
        """Rounds a number to `digits` significant digits, limits it to the range, and adds the unit."""
        rounded = float(f"{number:.{digits}g}")
        inside = min(max(round(rounded) if self.is_whole else rounded, self.low), self.high)
        return self.written(inside)

    def written(self, number: float) -> Value:
        """A number as a scenario file has it: with its unit, or as an integer or float."""
        if self.unit:
            return f"{number:.15g} {self.unit}"
        return int(number) if self.is_whole else float(number)

    def number(self, value: Value) -> float:
        """The number in a value that `written` wrote."""
        return float(str(value).split()[0])

    @property
    def is_fixed(self) -> bool:
        """True if there is only one value."""
        return self.low == self.high


@dataclass(frozen=True)
class Choice:
    """A list of values; the first is the simplest."""

    values: Sequence[Value]

    def at(self, x: float, digits: int) -> Value:
        """The value at a coordinate from 0 to 1."""
        return self.values[min(int(x * len(self.values)), len(self.values) - 1)]

    @property
    def is_fixed(self) -> bool:
        """True if there is only one value."""
        return len(self.values) == 1


Values: TypeAlias = Mapping[str, Value]
"""Values by key."""


@dataclass(frozen=True)
class Space:
    """Ranges by key; a point of the unit cube has a coordinate for each key that is not fixed."""

    choices: Mapping[str, Range | Choice]
    digits: int

    @property
    def dimensions(self) -> int:
        """Number of coordinates of a point."""
        return sum(not choice.is_fixed for choice in self.choices.values())

    def values(self, point: Point) -> dict[str, Value]:
        """The value of every key at a point."""
        rest = iter(point)
        return {
            key: choice.at(0.0 if choice.is_fixed else next(rest), self.digits) for key, choice in self.choices.items()
        }


def read_range(key: str, text: str) -> Range:
    """A range such as `5..200 ms:log`, `1..20` or `0.1..0.9`.

    Raises:
        UserError: The text is not a range; the message names the key.
    """
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise UserError(f"{key}: {quoted(text)} is not a range such as 5..200 ms, 1..20 or 0.1..10:log")
    low, high, unit = float(found[1]), float(found[2]), found[3] or ""
    if not low <= high or not math.isfinite(high):
        raise UserError(f"{key}: {quoted(text)} ends below its start")
    if found[4] and low <= 0:
        raise UserError(f"{key}: {quoted(text)} starts at 0, from which no range is logarithmic")
    is_counted = found[1].isdigit() and found[2].isdigit() and (not unit or unit in _COUNTED)
    return Range(low, high, unit, bool(found[4]), is_counted)


def read_choice(key: str, given: Any) -> Range | Choice:
    """Allowed values of a key in a file: a range, a list of values, or one value.

    Raises:
        UserError: The value is none of these; the message names the key.
    """
    if isinstance(given, str) and ".." in given:
        return read_range(key, given)
    values = given if isinstance(given, list) else [given]
    if not values or not all(isinstance(value, str | int | float) for value in values):
        raise UserError(
            f'{key}: {quoted(given)} is neither a range such as "5..200 ms" nor a list of values nor a value'
        )
    return Choice(values)
