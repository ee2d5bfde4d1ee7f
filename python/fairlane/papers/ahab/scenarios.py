"""Scenarios of the abstract's claims: users `a`, `b` and `c` that send at given rates, or with TCP."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.papers import texts
from fairlane.simulate.scenario import Scenario, Table, cbr, group, poisson, tcp

FOLDER = Path(__file__).parent

START: Any = {"start_from": "0 s", "start_until": "0.5 s"}


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables."""
    return texts.scenario(FOLDER, TRAFFIC, values)


def _rates(values: Mapping[str, Any]) -> list[Table]:
    """Three users with Poisson traffic."""
    return [
        group(name, poisson(f"{rate} Mbit/s", packet_size=_size(values)), **START)
        for name, rate in zip("abc", values["rates_mbps"], strict=True)
    ]


def _newcomer(values: Mapping[str, Any]) -> list[Table]:
    """User `a` joins user `b`; each of them sends more than its share."""
    late: Any = dict.fromkeys(("start_from", "start_until"), f"{values['joins_s']} s")
    source = cbr(f"{values['each_mbps']} Mbit/s", packet_size=_size(values), jitter=1.0)
    return [group("a", dict(source), **late), group("b", dict(source), **START)]


def _tcp_and_flood(values: Mapping[str, Any]) -> list[Table]:
    """A user with a TCP flow, and an unresponsive user."""
    flood = poisson(f"{values['flood_mbps']} Mbit/s", packet_size=_size(values))
    return [group("a", tcp(), **START), group("b", flood, **START)]


def _many(values: Mapping[str, Any]) -> list[Table]:
    """Many users with equal rates, together 1.2 times the link rate."""
    rate = 1.2 * values["rate_mbps"] / values["users"]
    return [group("a", poisson(f"{rate:g} Mbit/s", packet_size=_size(values)), users=values["users"], **START)]


def _size(values: Mapping[str, Any]) -> str:
    return f"{values['packet_B']} B"


TRAFFIC: texts.Traffic = {"rates": _rates, "newcomer": _newcomer, "tcp_and_flood": _tcp_and_flood, "many": _many}
