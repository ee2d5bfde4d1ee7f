"""Requirements on a scheme, such as `worst_share>=0.8`, for use in CI."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fairlane.base.errors import UserError, check_kind
from fairlane.base.text import near, quoted
from fairlane.results.intervals import Interval, format_number
from fairlane.results.metrics import CRITERIA

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_REQUIREMENT = re.compile(r"\s*([a-z0-9_]+)\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound on the mean of a criterion.

    Attributes:
        criterion: Key of the criterion.
        sign: `>=`, `<=`, `>` or `<`.
        bound: Bound in the unit of the criterion.
    """

    criterion: str
    sign: str
    bound: float

    def met(self, value: Interval | None) -> bool:
        """True if the mean satisfies the bound; false if there is none."""
        return value is not None and _COMPARE[self.sign](value.mean, self.bound)

    def __str__(self) -> str:
        return f"{self.criterion}{self.sign}{format_number(self.bound)}"


def requirements(texts: Iterable[str]) -> list[Requirement]:
    """Parses requirements.

    Raises:
        UserError: A text is not a requirement, or its criterion is unknown.
    """
    check_kind("require", texts, (Iterable,), "a list such as ['worst_share>=0.8']")
    return [_parsed(text) for text in ([texts] if isinstance(texts, str) else texts)]


def _parsed(text: str) -> Requirement:
    check_kind("require", text, (str,), "a text such as worst_share>=0.8")
    found = _REQUIREMENT.fullmatch(text)
    if found is None:
        raise UserError(f"require: {quoted(text)} is not CRITERION>=NUMBER, or with <=, > or <")
    key, sign, number = found.groups()
    if key not in CRITERIA:
        raise UserError(f"require: {quoted(key)} is no criterion; {near(key, CRITERIA)}")
    try:
        return Requirement(key, sign, float(number))
    except ValueError:
        raise UserError(f"require: {quoted(number)} is not a number") from None
