"""Maps parameters of claims.toml to keys of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fairlane.simulate.scenario import Scenario

Keys = Mapping[str, tuple[str, str | None]]
"""Scenario key of a scalar parameter, and the format string of its value (None: the value is unchanged)."""

ABC_KEYS: Keys = {
    "Ca_mbps": ("topology.access_rate", "{} Mbit/s"),
    "Cb_mbps": ("topology.bottleneck_rate", "{} Mbit/s"),
    "Da_ms": ("topology.access_delay", "{} ms"),
    "Db_ms": ("topology.bottleneck_delay", "{} ms"),
    "Qmax_pkts": ("queue.limit", "{} packets"),
    "Qmin_pkts": ("queue.q_min", "{} packets"),
    "Qbase_pkts": ("queue.q_base", "{} packets"),
    "gamma_pkts": ("queue.gamma", "{} packets"),
    "MAA_s": ("queue.averager_memory", "{} s"),
    "MAM_s": ("marker.memory", "{} s"),
    "warmup_s": ("run.warmup", "{} s"),
    "measure_s": ("run.measure", "{} s"),
}
"""Keys for ABC on a dumbbell."""


@cache
def base_of(folder: Path) -> Scenario:
    """The scenario in base.toml of a paper, which its experiments change."""
    return Scenario.from_toml(folder / "base.toml")


def with_parameters(base: Scenario, keys: Keys, values: Mapping[str, Any]) -> Scenario:
    """Sets the parameters that have values in the scenario."""
    given = ((key, text, values[name]) for name, (key, text) in keys.items() if name in values)
    return base.changed({key: value if text is None else text.format(value) for key, text, value in given})
