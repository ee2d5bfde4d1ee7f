"""Reads the tree of an access network from files of LibreQoS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.simulate.named_files import converted


def with_access_files(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Returns a scenario's table, with the tree from LibreQoS's files if the table names such files.

    File names are relative to `folder`.

    Raises:
        ScenarioError: A file cannot be read, or is not in the format of LibreQoS.
    """
    topology = table.get("topology")
    files = topology.get("files") if isinstance(topology, dict) else None
    if not isinstance(topology, dict) or not isinstance(files, dict) or "tree" in files:
        return table
    network, devices = files.get("network"), files.get("devices")
    if not isinstance(network, str) or not isinstance(devices, str):
        return table
    key = "topology.files"
    nodes = converted(f"{key}.network", network, folder, "LibreQoS's network.json", _fairlane.nodes_of_network)
    tree = converted(
        f"{key}.devices",
        devices,
        folder,
        "LibreQoS's ShapedDevices.csv",
        lambda lines: _fairlane.tree_of_files(nodes, lines),
    )
    return {**table, "topology": {**topology, "files": {**files, "tree": tree}}}
