"""What the simulator offers: schemes and topologies."""

from __future__ import annotations

import json
from typing import Any, Literal, TypedDict

from fairlane import _fairlane
from fairlane.base.errors import UserError


class Parameter(TypedDict):
    """A key of a scenario; `unit` shows how its values are written."""

    name: str
    symbol: str
    type: str
    default: Any
    min: Any
    max: Any
    unit: str
    choices: list[str] | None
    doc: str
    source: str


class SchemeParameter(Parameter):
    """A key of the scenario's table `table`; `shared` if every scheme has it."""

    table: Literal["queue", "marker"]
    shared: bool


class Scheme(TypedDict):
    """A queue discipline with what it needs and where it is from."""

    name: str
    title: str
    kind: str
    summary: str
    source: str
    state: str
    marker: str
    idle_bytes: int
    params: list[SchemeParameter]


class Topology(TypedDict):
    """A network shape and its parameters."""

    name: str
    summary: str
    source: str
    picture: str
    params: list[Parameter]


def schemes(name: str | None = None) -> list[Scheme]:
    """All schemes, or the one called `name`.

    Raises:
        UserError: There is no such scheme.
    """
    every: list[Scheme] = json.loads(_fairlane.schemes())
    if name is None:
        return every
    named = [scheme for scheme in every if scheme["name"] == name]
    if not named:
        raise UserError(f"{name}: no such scheme; there are {', '.join(scheme['name'] for scheme in every)}")
    return named


def topologies() -> list[Topology]:
    """All topologies."""
    every: list[Topology] = json.loads(_fairlane.topologies())
    return every
