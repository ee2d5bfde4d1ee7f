"""Quantities of a scenario in base units."""

from __future__ import annotations

from typing import Any

TIME = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
RATE = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
BYTES = {"B": 1.0, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3, "kB": 1e3, "MB": 1e6, "GB": 1e9}
PACKETS = {"packets": 1.0, "packet": 1.0}


class UntranslatableError(Exception):
    """A scenario that `dumbbell` cannot run; the message names the key."""


def quantity(value: Any, units: dict[str, float]) -> float:
    """`"10 Mbit/s"` in base units.

    Raises:
        UntranslatableError: It has another unit.
    """
    number, _, unit = str(value).partition(" ")
    if unit not in units:
        raise UntranslatableError(f"{value}: must be in one of {', '.join(units)}")
    return float(number) * units[unit]
