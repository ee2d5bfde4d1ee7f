"""Scenarios of the paper's experiments: base.toml, overridden by the parameters and variables of the experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.papers.parameters import ABC_KEYS, base_of, with_parameters
from fairlane.simulate.scenario import Scenario, cbr, poisson, tcp

FOLDER = Path(__file__).parent

UDP_HEADER_B = 30
"""Headers of a datagram in the simulator: PPP (2 bytes), IP (20) and UDP (8); abc2018 IV-A1."""

JITTER = 0.1
"""Gaps of a CBR source vary by up to 5 %; constant gaps would synchronise with each other and with the link."""


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables, under ABC."""
    base = with_parameters(base_of(FOLDER), ABC_KEYS, values)
    groups = base.to_dict()["groups"][: values["clients"]]
    for i, client in enumerate(groups):
        client["users"] = values.get(f"u{i}", 1)  # in the set-up of abc2018 client 1 represents several
        reference = values["Rr_kbps"][i] if isinstance(values["Rr_kbps"], list) else values["Rr_kbps"]
        client |= {"reference_rate": f"{reference} kbit/s", "sources": [_source(i, values)]}
    return base.replace("groups", groups)


def _source(i: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Source of client i."""
    kind = values[f"source{i}"]
    if kind == "tcp_saturated":
        return tcp(flows=values[f"f{i}"])
    rate, size = f"{values[f'R{i}_mbps']} Mbit/s", f"{values['payload_B'] + UDP_HEADER_B} B"
    return poisson(rate, packet_size=size) if kind == "poisson" else cbr(rate, packet_size=size, jitter=JITTER)
