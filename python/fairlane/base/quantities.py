"""Quantities: texts with a number and a unit, as in scenario files."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

_QUANTITY = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?) *(\S+)")
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

_RATES = ("bit/s", "b/s", "bps", "bit")

UNITS: Mapping[str, Mapping[str, float]] = {
    "bit/s": {f"{prefix}{unit}": size for unit in _RATES for prefix, size in _PREFIXES.items()}
    | {"mbit": 1e6, "gbit": 1e9},
    "s": {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "bytes": {"B": 1.0, "byte": 1.0, "bytes": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
    | {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "packets": dict.fromkeys(("packets", "packet", "pkts", "pkt", "p"), 1.0),
    "1": {"%": 0.01},
}
"""Units of each kind of quantity (from docs/scenario.md, and per cent), by the unit in which it is stored."""


def parsed(text: str, unit: str) -> float | None:
    """The quantity in `unit`; None if the text is not such a quantity."""
    found = _QUANTITY.fullmatch(text.strip().replace("_", ""))
    size = UNITS[unit].get(found[2]) if found else None
    if found is None or size is None:
        return None
    value = float(found[1]) * size
    return value if math.isfinite(value) else None
