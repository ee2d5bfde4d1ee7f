"""Quantities of a scenario in base units."""

from __future__ import annotations

from typing import Any

from fairlane.base.quantities import parsed

TIME, RATE, BYTES, PACKETS = "s", "bit/s", "bytes", "packets"


class UntranslatableError(Exception):
    """`dumbbell` cannot run the scenario; the message names the key."""


def quantity(value: Any, unit: str) -> float:
    """Converts a text such as `"10 Mbit/s"` to a number in `unit`.

    Raises `UntranslatableError` if the text is not a quantity of that kind.
    """
    found = parsed(str(value), unit)
    if found is None:
        raise UntranslatableError(f"{value}: must be a quantity in {unit}")
    return found
