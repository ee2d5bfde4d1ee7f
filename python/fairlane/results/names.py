"""Names of schemes as in the literature, for figures and sentences."""

from __future__ import annotations

import json
from functools import cache

from fairlane import _fairlane


@cache
def _declared() -> dict[str, str]:
    return {scheme["name"]: scheme["display_name"] for scheme in json.loads(_fairlane.schemes())}


def display_name(queue: str) -> str:
    """`FQ-CoDel` for `fq_codel`, followed by a variant's parameters. Other names stay unchanged."""
    scheme, *parameters = queue.split(":", 1)
    return ", ".join([_declared().get(scheme, scheme), *parameters])


def position(queue: str) -> int | None:
    """Index of a queue's scheme in the catalogue; None if it is not a scheme of the catalogue."""
    return {name: index for index, name in enumerate(_declared())}.get(queue.partition(":")[0])
