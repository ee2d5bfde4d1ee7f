"""Writes a result of the adversary as a scenario file, with explanations and expectations for `fairlane check`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fairlane.search.attack import HALF, IDEAL, Found
from fairlane.search.words import described, shares_by
from fairlane.search.world import METRIC

_STEP = 0.05
"""Bounds of expectations are multiples of this."""
SHARES = re.compile(
    r"# An honest light user gets (.+) of its max-min share\.\n# In the same scenario an ideal .+ gives it (.+)\."
)
"""Comment about the shares under the scheme and under the ideal scheduler."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def text(found: Found, command: str) -> str:
    """Content of the file.

    Args:
        found: The result.
        command: The command that repeats the search.
    """
    return "\n".join([*_head(found, command), "", *_body({**found.scenario, "expect": [expectation(found)]})]) + "\n"


def expectation(found: Found) -> dict[str, Any]:
    """Expectation for `fairlane check`: the light user's share is at most the upper end of its interval, rounded up."""
    most = math.ceil((found.share.mean + found.share.uncertainty + _STEP / 10) / _STEP) * _STEP
    most = min(most, HALF) if found.is_beaten else most
    why = "Found by a search against this scheme: an honest light user gets less than half of its share."
    if not found.is_beaten:
        why = "The worst scenario found by the search. The light user may still get half of its share."
    return {"metric": METRIC, "max": round(most, 2), "why": why}


def _head(found: Found, command: str) -> Iterator[str]:
    yield f"# {found.scheme} shares by {shares_by(found.scenario['queue'])}."
    yield f"# An honest light user gets {found.share} of its max-min share."
    yield f"# In the same scenario an ideal scheduler (per-user {IDEAL}) gives it {found.ideal}."
    yield "#"
    for name, words in described(found.scenario).items():
        yield f"# {name}: {words}"
    yield "#"
    yield f"# Found by `{command}`."


def _body(table: Mapping[str, Any]) -> Iterator[str]:
    """Lines of TOML: keys, then tables, then arrays of tables, each with a heading."""
    yield from _table("", table)


def _table(place: str, table: Mapping[str, Any]) -> Iterator[str]:
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    arrays = {key: value for key, value in table.items() if isinstance(value, list)}
    for key, value in table.items():
        if key not in inner and key not in arrays:
            yield f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}"
    for key, value in inner.items():
        yield from ("", f"[{place}{_key(key)}]", *_table(f"{place}{_key(key)}.", value))
    for key, values in arrays.items():
        for value in values:
            yield from ("", f"[[{place}{_key(key)}]]", *_table(f"{place}{_key(key)}.", value))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)
