"""Scenarios of the abstracts' claims: packets with random ranks, or users `a` and `b` with start tags."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.papers import texts
from fairlane.simulate.scenario import Scenario, Table, cbr, group, poisson, tcp

FOLDER = Path(__file__).parent

OWN = {
    "sp_pifo": ("rank", "queues"),
    "packs": ("rank", "queues", "window"),
    "aifo": ("rank", "window"),
}
"""Parameters of the experiment that each scheme has."""
START: Any = {"start_from": "0 s", "start_until": "0.5 s"}


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables."""
    scheme = values["scheme"]
    own = {key: values[key] for key in OWN.get(scheme, ()) if key in values}
    return texts.scenario(FOLDER, TRAFFIC, {**values, "queue": {scheme: own}})


def _ranked(values: Mapping[str, Any]) -> list[Table]:
    """Packets at a given load, with arbitrary senders."""
    return [group("a", poisson(f"{values['load'] * values['rate_mbps']:g} Mbit/s"), **START)]


def _many(values: Mapping[str, Any]) -> list[Table]:
    """Many users with equal rates, together 1.2 times the link rate."""
    rate = 1.2 * values["rate_mbps"] / values["users"]
    return [group("a", poisson(f"{rate:g} Mbit/s"), users=values["users"], **START)]


def _newcomer(values: Mapping[str, Any]) -> list[Table]:
    """User `a` joins user `b`; each of them sends more than its share."""
    late: Any = dict.fromkeys(("start_from", "start_until"), f"{values['joins_s']} s")
    source = cbr(f"{values['each_mbps']} Mbit/s", jitter=1.0)
    return [group("a", dict(source), **late), group("b", dict(source), **START)]


def _two_paths(values: Mapping[str, Any]) -> list[Table]:
    """Equally many TCP flows with a short and with a long path."""
    return [
        group(name, tcp(), users=values["users"], rtt=f"{rtt_ms} ms", **START)
        for name, rtt_ms in zip("ab", values["rtts_ms"], strict=True)
    ]


TRAFFIC: texts.Traffic = {"ranked": _ranked, "many": _many, "newcomer": _newcomer, "two_paths": _two_paths}
