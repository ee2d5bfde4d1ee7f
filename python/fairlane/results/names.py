"""Names of schemes as the field writes them, for figures and sentences."""

from __future__ import annotations

import json
from functools import cache

from fairlane import _fairlane


@cache
def _declared() -> dict[str, str]:
    return {scheme["name"]: scheme["display_name"] for scheme in json.loads(_fairlane.schemes())}


def display_name(queue: str) -> str:
    """`FQ-CoDel` of `fq_codel`; parameters of a variant follow it, names that are not of a scheme stay."""
    scheme, *parameters = queue.split(":", 1)
    return ", ".join([_declared().get(scheme, scheme), *parameters])


def position(queue: str) -> int | None:
    """Position of the scheme of a queue in the catalogue; None for a name that is not of a scheme."""
    return {name: index for index, name in enumerate(_declared())}.get(queue.partition(":")[0])
