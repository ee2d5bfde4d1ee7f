"""Files with recorded traces, which links of a scenario follow: their content goes into the scenario that is simulated.

So a run, its key in the store and a machine of a cluster need the content only, wherever the file was.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioError
from fairlane.base.text import quoted

MOST_BYTES = 100_000_000
"""Of a file: ten million lines of up to ten bytes."""


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
            owner[name] = {**trace, "gaps": _gaps(f"{key}.file", trace["file"], folder)}
    return {**table, "topology": topology}


def _places(topology: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Key, table and name in it of every place where a trace may be."""
    yield "topology.bottleneck_trace", topology, "bottleneck_trace"
    links = topology.get("links")
    for index, link in enumerate(links if isinstance(links, list) else []):
        if isinstance(link, dict):
            yield f"topology.links[{index}].trace", link, "trace"


def _gaps(key: str, name: str, folder: Path) -> str:
    """The content of a file as the simulator takes it."""
    place = f"{key}: {quoted(name)}"
    try:
        with (folder / name).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ScenarioError(f"{place}: {error.strerror}, must be a file in Mahimahi's format") from error
    except ValueError as error:
        raise ScenarioError(f"{place}: not a path: {error}") from error
    if len(content) > MOST_BYTES:
        raise ScenarioError(f"{place}: is out of range, a trace may have {MOST_BYTES} bytes")
    try:
        return _fairlane.gaps_of_trace(content.decode("ascii"))
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{place}: not text at byte {error.start}, must be a file in Mahimahi's format") from error
    except ValueError as error:
        raise ScenarioError(f"{place}: {error}") from error
