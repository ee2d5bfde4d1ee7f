"""Reads files with distributions of sizes that sources of a scenario name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.simulate.named_files import converted, of_text

Table = dict[str, Any]


def with_sizes(table: Table, folder: Path) -> Table:
    """Returns a scenario's table, with the distribution of sizes from a file for each source that names one.

    File names are relative to `folder`.

    Raises:
        ScenarioError: A file cannot be read, or does not contain a distribution.
    """
    groups = table.get("groups")
    if not isinstance(groups, list):
        return table
    return {**table, "groups": [_of_group(f"groups[{index}]", group, folder) for index, group in enumerate(groups)]}


def _of_group(key: str, group: Any, folder: Path) -> Any:
    sources = group.get("sources") if isinstance(group, dict) else None
    if not isinstance(sources, list):
        return group
    filled = [_of_source(f"{key}.sources[{index}]", source, folder) for index, source in enumerate(sources)]
    return {**group, "sources": filled}


def _of_source(key: str, source: Any, folder: Path) -> Any:
    cdf = source.get("cdf") if isinstance(source, dict) else None
    if not isinstance(cdf, dict) or not isinstance(cdf.get("file"), str) or "points" in cdf:
        return source
    points = converted(
        f"{key}.cdf.file", cdf["file"], folder, "a file with sizes and shares", of_text(_fairlane.points_of_cdf)
    )
    return {**source, "cdf": {**cdf, "points": points}}
