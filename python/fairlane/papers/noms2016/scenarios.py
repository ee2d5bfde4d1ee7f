"""Scenarios of the slides' experiments: base.toml, overridden by the parameters and variables of the experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.papers.parameters import base_of
from fairlane.simulate.scenario import Scenario, cbr, tcp

FOLDER = Path(__file__).parent

ENGINE_SCHEMES = {"abc_old": "abc2016"}
KEYS = {
    "Db_ms": ("topology.bottleneck_delay", "{} ms"),
    "gamma": ("queue.gamma", None),
}
"""Scenario key of each scalar parameter of the slides, with the format string of its value."""

BOTTLENECK_BPS = 10_000_000
UPLOAD_START_S = 115
"""Start of the uploads in s: at least 100 s after every background flow has started."""
UPLOAD_S = 300
"""Time in s for which the uploads are observed: more than three times the longest mean upload time in the table."""

NO_ABC = "none"
"""Burst allowance of the table's rows without ABC."""


def exists(at: Mapping[str, Any]) -> bool:
    """True if the slides' table contains the point. Only points of ABC have a burst allowance."""
    return "B_MB" not in at or (at["scheme"] == "abc_old") == (at["B_MB"] != NO_ABC)


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario under the first design of ABC for an experiment's parameters and variables."""
    base = base_of(FOLDER)
    for name, (key, text) in KEYS.items():
        base = base.replace(key, float(values[name]) if text is None else text.format(values[name]))
    if values["B_MB"] != NO_ABC:
        base = base.replace("marker.burst_allowance", f"{values['B_MB']} MB")
    users = _users(values)
    groups = [{**base.to_dict()["groups"][i], "users": users[i], "sources": [_source(i, values)]} for i in (0, 1)]
    if "Rr_over_fair" in values:
        reference_bps = values["Rr_over_fair"] * BOTTLENECK_BPS / sum(users)
        groups = [{**group, "reference_rate": f"{reference_bps:.0f} bit/s"} for group in groups]
    if "probe_MB" not in values:
        return base.replace("groups", groups)
    start = f"{UPLOAD_START_S} s"
    return (
        base.replace("groups", [{**groups[0], "start_from": start, "start_until": start}, groups[1]])
        .replace("run.warmup", "0 s")
        .replace("run.measure", f"{UPLOAD_START_S + UPLOAD_S} s")
    )


def _users(values: Mapping[str, Any]) -> tuple[int, int]:
    """Numbers of users of both groups, which the gamma table writes as `1/10`."""
    if "/" not in str(values.get("users", "")) or "=" in values["users"]:
        return values["u0"], values["u1"]
    heavy, light = values["users"].split("/")
    return int(heavy), int(light)


def _source(i: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Source of a user of group i."""
    if values.get(f"source{i}") == "cbr":
        return cbr(f"{values[f'R{i}_mbps']} Mbit/s")
    if i == 0 and "probe_MB" in values:
        return tcp(flows=values["f0"], transfer=f"{values['probe_MB']} MB")
    return tcp(flows=values[f"f{i}"])
