"""Reads the file with the adversary's ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.base import toml
from fairlane.base.errors import UserError
from fairlane.base.quantities import parsed
from fairlane.base.text import near, quoted
from fairlane.search.space import Choice, Range, Space, Value, read_choice
from fairlane.simulate.catalogue import congestion_controls

DEFAULT_BOUNDS = Path(__file__).with_name("bounds.toml")
DATAGRAMS = ("cbr", "poisson", "on_off")
DIGITS = 2
"""Significant digits of chosen values; gives scenarios round numbers."""

_UNITS = {
    "link.rate": "bit/s",
    "link.buffer": "packets",
    "run.warmup": "s",
    "run.measure": "s",
    "light.sender": "",
    "light.rtt": "s",
    "light.rate": "1",
    "light.packet_size": "bytes",
    "heavy.users": "count",
    "heavy.sender": "",
    "heavy.flows": "count",
    "heavy.rtt": "s",
    "heavy.rate": "1",
    "heavy.packet_size": "bytes",
    "heavy.on": "s",
    "heavy.off": "s",
    "crowd.users": "count",
    "crowd.sender": "",
    "crowd.flows": "count",
    "crowd.rtt": "s",
}
"""Unit of every key. All keys are required, which keeps the file easy to read."""
_LEAST = {"crowd.users": 0.0, "heavy.users": 1.0, "heavy.flows": 1.0, "crowd.flows": 1.0}
_HONEST = ("cubic", "reno")
"""Congestion controls that respond to every loss as their RFC requires."""


@dataclass(frozen=True)
class Bounds:
    """Ranges of the adversary.

    Attributes:
        space: Ranges by key, such as `heavy.flows`.
        plain: Simple values that shrinking prefers.
        ideal_share: Minimum fraction of its max-min share that the light user must get under the ideal scheduler.
        packets: Minimum number of packets that the light user must be able to send, at its max-min share, during the
            measurement.
        text: Content of the file, which identifies a search.
    """

    space: Space
    plain: Mapping[str, Value]
    ideal_share: float
    packets: float
    text: str


def read_bounds(path: str | Path | None) -> Bounds:
    """The bounds of a file, or the default bounds.

    Raises:
        UserError: The file cannot be read, or a key or value is wrong.
    """
    file = DEFAULT_BOUNDS if path is None else Path(path)
    table = toml.read(file)
    try:
        return _bounds(table, file.read_text(encoding="utf-8"))
    except UserError as error:
        raise UserError(f"{file}: {error}") from error


def _bounds(table: Mapping[str, Any], text: str) -> Bounds:
    guard, plain = _table("guard", table.get("guard", {})), _table("plain", table.get("plain", {}))
    given = _flat({name: inner for name, inner in table.items() if name not in {"guard", "plain"}})
    _check_keys("", given, _UNITS)
    for key in _UNITS:
        if key not in given:
            raise UserError(f"{key}: missing")
    choices = {key: read_choice(key, given[key]) for key in _UNITS}
    for key, choice in choices.items():
        _check(key, choice)
    plain_values = _flat(plain)
    _check_keys("plain.", plain_values, _UNITS)
    for key, value in plain_values.items():
        _check(f"plain.{key}", read_choice(f"plain.{key}", value))
    _check_keys("guard.", guard, ("ideal_share", "packets"))
    space = Space(choices, DIGITS)
    if not space.dimensions:
        raise UserError("every key has one value: nothing is left to search")
    return Bounds(
        space,
        plain_values,
        _number("guard.ideal_share", guard, 0.9, 1),
        _number("guard.packets", guard, 200, 1e6),
        text,
    )


def _check(key: str, choice: Range | Choice) -> None:
    """Raises a UserError for a value that is invalid in a scenario."""
    name = key.removeprefix("plain.")
    unit = _UNITS[name]
    if unit == "":
        _check_senders(key, choice)
        return
    ends: list[Value] = (
        [choice.written(choice.low), choice.written(choice.high)] if isinstance(choice, Range) else list(choice.values)
    )
    for value in ends:
        if unit in {"1", "count"}:
            least = _LEAST.get(name, 0.0)
            whole = unit == "1" or isinstance(value, int)
            if isinstance(value, str | bool) or not whole or value < least:
                what = f"a whole number from {least:g} up" if unit == "count" else "a number from 0 up"
                raise UserError(f"{key}: {quoted(value)} is not {what}")
        elif not isinstance(value, str) or (number := parsed(value, unit)) is None or number < 0:
            raise UserError(f"{key}: {quoted(value)} is not a quantity in {unit}")


def _check_senders(key: str, choice: Range | Choice) -> None:
    controls = [control["name"] for control in congestion_controls()]
    known = {
        "light": [*_HONEST, *DATAGRAMS[:1]],
        "crowd": list(_HONEST),
        "heavy": [*controls, *_fairlane.registered_congestion_controls(), *DATAGRAMS],
    }[key.split(".")[-2]]
    for sender in choice.values if isinstance(choice, Choice) else ["a range"]:
        if sender not in known:
            raise UserError(f"{key}: {quoted(sender)} is not one of {', '.join(known)}")


def _check_keys(place: str, given: Mapping[str, Any], known: Any) -> None:
    for key in given:
        if key not in known:
            raise UserError(f"{place}{key}: unknown key; {near(key, known)}")


def _number(key: str, table: Mapping[str, Any], default: float, most: float) -> float:
    value = table.get(key.rpartition(".")[2], default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise UserError(f"{key}: {quoted(value)} is not a number from 0 to {most:g}")
    return float(value)


def _table(key: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise UserError(f"{key}: {quoted(given)} is not a table")
    return given


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{name}.{key}": value for name, inner in table.items() for key, value in _table(name, inner).items()}
