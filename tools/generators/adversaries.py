"""The documentation's table of adversaries: the worst scenario of each scheme, from the checkout's scenario files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairlane.base import toml
from fairlane.search.scenario_file import SHARES
from fairlane.search.words import described, shares_by

FOLDER = Path(__file__).parents[2] / "examples" / "adversaries"
HEAD = ("scheme", "shares by", "share of the light user", "under WFQ", "light", "heavy", "crowd")


def files() -> Iterator[tuple[Path, dict[str, Any], tuple[str, str]]]:
    """Yields each file, its content, and the light user's shares under the scheme and under WFQ."""
    for path in sorted(FOLDER.glob("*.toml")):
        found = SHARES.search(path.read_text(encoding="utf-8"))
        if found is None:
            raise ValueError(f"{path}: no shares in its head")
        yield path, toml.read(path), (found[1], found[2])


def rows() -> list[Sequence[str]]:
    """Returns a row for each file, smallest share first."""
    every = sorted(files(), key=lambda one: float(one[2][0].split()[0]))
    return [
        [
            f"[`{path.stem}`](../examples/adversaries/{path.name})",
            shares_by(table["queue"]),
            *shares,
            *(described(table).get(group, "") for group in ("light", "heavy", "crowd")),
        ]
        for path, table, shares in every
    ]
