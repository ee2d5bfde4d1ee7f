"""Quantities of a scenario in base units."""

from __future__ import annotations

from typing import Any

from fairlane.base.quantities import parsed

TIME, RATE, BYTES, PACKETS = "s", "bit/s", "bytes", "packets"


class UntranslatableError(Exception):
    """A scenario that `dumbbell` cannot run; the message names the key."""


def quantity(value: Any, unit: str) -> float:
    """Converts `"10 Mbit/s"` to a base unit. Raises `UntranslatableError` if it is not a quantity of that kind."""
    found = parsed(str(value), unit)
    if found is None:
        raise UntranslatableError(f"{value}: must be a quantity in {unit}")
    return found
