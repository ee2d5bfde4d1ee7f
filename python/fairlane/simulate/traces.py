"""Files with recorded traces, which links of a scenario follow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.simulate.named_files import converted


def with_traces(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The table of a scenario with the content of the files that it names, relative to `folder`; the same if none.

    Raises:
        ScenarioError: A file cannot be read, or is not in Mahimahi's format.
    """
    topology = table.get("topology")
    if not isinstance(topology, dict):
        return table
    topology = dict(topology)
    links = topology.get("links")
    if isinstance(links, list):
        topology["links"] = links = [dict(link) if isinstance(link, dict) else link for link in links]
    for key, owner, name in _places(topology):
        trace = owner.get(name)
        if isinstance(trace, dict) and isinstance(trace.get("file"), str) and "gaps" not in trace:
            file = (f"{key}.file", trace["file"], folder)
            owner[name] = {**trace, "gaps": converted(*file, "a file in Mahimahi's format", _fairlane.gaps_of_trace)}
    return {**table, "topology": topology}


def _places(topology: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Key, table and name in it of every place where a trace may be."""
    yield "topology.bottleneck_trace", topology, "bottleneck_trace"
    links = topology.get("links")
    for index, link in enumerate(links if isinstance(links, list) else []):
        if isinstance(link, dict):
            yield f"topology.links[{index}].trace", link, "trace"
