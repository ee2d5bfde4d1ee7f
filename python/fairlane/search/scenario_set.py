"""The scenarios of the designer, divided into two halves."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlane.base import toml
from fairlane.base.errors import ScenarioError, UserError
from fairlane.base.text import quoted
from fairlane.simulate.scenario import Scenario

LEAST = 2
"""Minimum number of files: one for tuning, one for validation."""


@dataclass(frozen=True)
class Member:
    """A scenario of the set.

    Attributes:
        file: File of the scenario.
        canonical: Canonical scenario.
    """

    file: Path
    canonical: str


def read(given: Iterable[str | Path], settings: dict[str, Any]) -> list[Member]:
    """The scenarios in the given files, and below the given folders. Ignores TOML files without user groups.

    Raises:
        UserError: A file cannot be read or simulated, or there are too few scenarios.
    """
    files = [file for path in map(Path, given) for file in (sorted(path.rglob("*.toml")) if path.is_dir() else [path])]
    members = []
    for file in dict.fromkeys(files):
        if "groups" in (table := toml.read(file)):
            try:
                scenario = Scenario.from_dict(table, file.parent).changed(settings)
                members.append(Member(file, scenario.canonical()))
            except ScenarioError as error:
                raise UserError(f"{file}: {error}") from error
    if len(members) < LEAST:
        where = ", ".join(quoted(str(path)) for path in given) or "nothing"
        raise UserError(f"scenarios: {where} has {len(members)} scenario files, must be at least {LEAST}")
    return members


def halves(members: Sequence[Member], seed: int) -> tuple[list[Member], list[Member]]:
    """Scenarios for tuning and for validation; each folder is divided as evenly as possible."""
    shuffle = random.Random(seed)
    folders: dict[Path, list[Member]] = {}
    for member in members:
        folders.setdefault(member.file.parent, []).append(member)
    dealt: list[Member] = []
    for of_folder in folders.values():
        shuffle.shuffle(of_folder)
        dealt += of_folder
    return dealt[::2], dealt[1::2]
