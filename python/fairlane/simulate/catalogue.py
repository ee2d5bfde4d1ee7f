"""Catalogue of the simulator: schemes, congestion controls and topologies."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal, TypedDict

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.text import near


class Parameter(TypedDict):
    """A key of a scenario; `unit` shows the notation of its values."""

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
    """A key in the scenario's table `table`; `shared` if every scheme has it."""

    table: Literal["queue", "marker"]
    shared: bool


class Scheme(TypedDict):
    """A queue discipline with its requirements and source.

    `flow_state` describes a port's state of flows or users. `order` describes the order in which the port sends.
    `marks` is true if the scheme marks ECN-capable packets by default. `shapes` is true if it enforces rates.
    """

    name: str
    display_name: str
    family: Literal["aqm", "fairqueue", "label", "library"]
    title: str
    kind: str
    summary: str
    source: str
    state: str
    flow_state: Literal["none", "table", "each", "unknown"]
    order: Literal["fifo", "queues", "sorted", "unknown"]
    marker: str
    marks: bool
    shapes: bool
    idle_bytes: int
    params: list[SchemeParameter]


class CongestionControl(TypedDict):
    """A congestion control with its requirements, and its keys in the scenario's table `tcp`."""

    name: str
    module: str
    summary: str
    decides: str
    marks: str
    every_mark: bool
    loss_detection: str
    params: list[Parameter]


class Topology(TypedDict):
    """A network shape and its parameters."""

    name: str
    summary: str
    source: str
    picture: str
    params: list[Parameter]


class Schemes(list[Scheme]):
    """Schemes, which a notebook displays as a table."""

    def _repr_html_(self) -> str:
        from fairlane.simulate.display import schemes_html  # only notebooks need it

        return schemes_html(self)


def schemes(name: str | None = None) -> Schemes:
    """All schemes, or the scheme called `name`, which may come from a loaded library.

    Raises:
        UserError: The scheme is unknown.
    """
    if name and (known := _built_in().get(name)):
        return Schemes([json.loads(known)])
    every = Schemes(map(json.loads, _built_in().values()))
    if name is None:
        return every
    every += json.loads(_fairlane.library_schemes())
    return Schemes([every[_index([scheme["name"] for scheme in every], name, "scheme")]])


@cache
def _built_in() -> dict[str, str]:
    """The schemes of the simulator by name, as JSON, since a caller may change its copy."""
    return {scheme["name"]: json.dumps(scheme) for scheme in json.loads(_fairlane.schemes())}


def congestion_controls(name: str | None = None) -> list[CongestionControl]:
    """All TCP congestion controls, or the congestion control called `name`.

    Raises:
        UserError: The congestion control is unknown.
    """
    every: list[CongestionControl] = json.loads(_fairlane.congestion_controls())
    names = [control["name"] for control in every]
    return every if name is None else [every[_index(names, name, "congestion control")]]


@cache
def answers_every_mark(name: str) -> bool:
    """True if a congestion control of the catalogue responds to every mark instead of once per round trip."""
    (control,) = congestion_controls(name)
    return control["every_mark"]


def _index(names: list[str], name: str, kind: str) -> int:
    if name not in names:
        raise UserError(f"{name}: no such {kind}; {near(name, names, most=len(names))}")
    return names.index(name)


def topologies() -> list[Topology]:
    """All topologies."""
    every: list[Topology] = json.loads(_fairlane.topologies())
    return every
