"""Reads files with recorded traces that links of a scenario follow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioError
from fairlane.base.text import quoted
from fairlane.simulate.named_files import converted, of_text

MOST_DIGITS = 9
"""Maximum number of digits of a count in `gaps`; the simulator rejects more."""


def with_traces(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Returns a scenario's table, with the content of trace files if the table names such files.

    File names are relative to `folder`.

    Raises:
        ScenarioError: A file cannot be read, or is not in Mahimahi's format.
    """
    topology = table.get("topology")
    if not isinstance(topology, dict):
        return table
    topology = dict(topology)
    if isinstance(reverse := topology.get("reverse"), dict):
        topology["reverse"] = dict(reverse)
    links = topology.get("links")
    if isinstance(links, list):
        topology["links"] = links = [dict(link) if isinstance(link, dict) else link for link in links]
    for key, owner, name in _places(topology):
        trace = owner.get(name)
        if isinstance(trace, dict) and isinstance(trace.get("file"), str) and "gaps" not in trace:
            file = (f"{key}.file", trace["file"], folder)
            owner[name] = {
                **trace,
                "gaps": converted(*file, "a file in Mahimahi's format", of_text(_fairlane.gaps_of_trace)),
            }
    return {**table, "topology": topology}


def check_given_gaps(table: dict[str, Any], folder: Path) -> None:
    """Raises a ScenarioError if the `gaps` of a trace differ from its file, which would go unnoticed otherwise.

    A canonical scenario has gaps and file name, but needs no file; the file is read only if it exists.
    """
    topology = table.get("topology")
    for key, owner, name in _places(topology) if isinstance(topology, dict) else ():
        trace = owner.get(name)
        file, gaps = (trace.get("file"), trace.get("gaps")) if isinstance(trace, dict) else (None, None)
        if not isinstance(file, str) or not isinstance(gaps, str) or not (folder / file).is_file():
            continue
        content = converted(
            f"{key}.file", file, folder, "a file in Mahimahi's format", of_text(_fairlane.gaps_of_trace)
        )
        if _runs(content) != _runs(gaps):
            raise ScenarioError(
                f"{key}.gaps: {quoted(gaps)} is not what {quoted(file)} has: leave gaps out to read the file"
            )


def _runs(gaps: str) -> list[tuple[str, int]]:
    """Gaps and their run lengths, in whichever notation they are given."""
    runs: list[tuple[str, int]] = []
    for word in gaps.split():
        gap, _, count = word.partition("*")
        times = int(count) if count.isdecimal() and len(count) <= MOST_DIGITS else 1
        if runs and runs[-1][0] == gap:
            runs[-1] = (gap, runs[-1][1] + times)
        else:
            runs.append((gap, times))
    return runs


def _places(topology: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every key that may hold a trace: its full name, the table that contains it, and its name in this table."""
    yield "topology.bottleneck_trace", topology, "bottleneck_trace"
    if isinstance(reverse := topology.get("reverse"), dict):
        yield "topology.reverse.trace", reverse, "trace"
    links = topology.get("links")
    for index, link in enumerate(links if isinstance(links, list) else []):
        if isinstance(link, dict):
            yield f"topology.links[{index}].trace", link, "trace"
