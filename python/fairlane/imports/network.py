"""A network of nodes, links and demands, as the readers of topologies return it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import asin, cos, radians, sin, sqrt

EARTH_KM = 6371.0088
"""Mean radius of the Earth (IUGG)."""
LIGHT_KM_PER_S = 299_792.458
IN_FIBRE = 2 / 3
"""Speed of light in fibre, as a fraction of that in vacuum."""


@dataclass(frozen=True)
class Node:
    """A node; `place` is latitude and longitude in degrees, None if unknown."""

    name: str
    place: tuple[float, float] | None


@dataclass(frozen=True)
class Link:
    """A link from `source` to `target`; without a rate, None."""

    source: str
    target: str
    bits_per_s: float | None


@dataclass(frozen=True)
class Demand:
    """Traffic from `source` to `target`."""

    name: str
    source: str
    target: str
    bits_per_s: float


@dataclass
class Network:
    """A network. Keys of `nodes` are their identifiers in the file; names of nodes differ."""

    nodes: dict[str, Node]
    links: list[Link]
    demands: list[Demand] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_directed: bool = False


def delay_s(one: Node, other: Node) -> float | None:
    """Propagation delay of a fibre along the great circle; None if a place is unknown."""
    if one.place is None or other.place is None:
        return None
    (north, east), (other_north, other_east) = (
        tuple(radians(degrees) for degrees in node.place or ()) for node in (one, other)
    )
    haversine = sin((other_north - north) / 2) ** 2
    haversine += cos(north) * cos(other_north) * sin((other_east - east) / 2) ** 2
    return 2 * EARTH_KM * asin(sqrt(min(haversine, 1.0))) / (IN_FIBRE * LIGHT_KM_PER_S)
