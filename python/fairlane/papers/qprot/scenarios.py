"""Scenarios of the draft's claims: `scalable` flows, and two unresponsive flows, `offender` and `innocent`.

All of them set ECT(1), so they use the L queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.papers import texts
from fairlane.simulate.scenario import Scenario, Table, cbr, group, on_off, tcp

FOLDER = Path(__file__).parent

START: Any = {"start_from": "0 s", "start_until": "1 s"}


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables."""
    return texts.scenario(FOLDER, TRAFFIC, values)


def _scalable(values: Mapping[str, Any]) -> list[Table]:
    return [group("scalable", tcp(), users=values["flows"], **START)]


def _constant(values: Mapping[str, Any]) -> list[Table]:
    """One flow at a constant rate, optionally with scalable flows."""
    beside = _scalable(values) if values["flows"] else []
    return [group("offender", _cbr(values["offender_mbps"]), **START), *beside]


def _flood(values: Mapping[str, Any]) -> list[Table]:
    """A flow that exceeds the link rate, and a slow flow."""
    return [*_constant(values), group("innocent", _cbr(values["innocent_mbps"]), **START)]


def _bursts(values: Mapping[str, Any]) -> list[Table]:
    """Draft, Figure 1: a constant flow (none if its rate is 0) and regular bursts."""
    rate_mbps = values["burst_mbps"]
    if isinstance(rate_mbps, Mapping):  # depends on the length of the pauses
        rate_mbps = rate_mbps[str(values["off_ms"])]
    bursts = on_off(f"{rate_mbps} Mbit/s", on=f"{values['on_ms']} ms", off=f"{values['off_ms']} ms", ecn="ect1")
    constant = [group("innocent", _cbr(values["constant_mbps"]), **START)] if values["constant_mbps"] else []
    return [group("offender", bursts, **START), *constant]


def _cbr(rate_mbps: float) -> Table:
    return cbr(f"{rate_mbps} Mbit/s", ecn="ect1")


TRAFFIC: texts.Traffic = {"scalable": _scalable, "constant": _constant, "flood": _flood, "bursts": _bursts}
