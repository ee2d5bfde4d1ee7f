"""Scenarios of the claims: TCP flows `a` and `b`, one per user, and an unresponsive flow `cbr`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.papers import texts
from fairlane.simulate.scenario import Scenario, Table, cbr, group, poisson, tcp

FOLDER = Path(__file__).parent

START: Any = {"start_from": "0 s", "start_until": "2 s"}


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables."""
    return texts.scenario(FOLDER, TRAFFIC, values)


def _alike(values: Mapping[str, Any]) -> list[Table]:
    """TCP flows with one path."""
    return [group("a", tcp(), users=values["flows"], access_delay="10 ms", **START)]


def _two_paths(values: Mapping[str, Any]) -> list[Table]:
    """Flows with round trips of 20 and 100 ms."""
    return [
        group(name, tcp(), users=values["flows"], access_delay=delay, **START)
        for name, delay in (("a", "5 ms"), ("b", "45 ms"))
    ]


def _sparse(values: Mapping[str, Any]) -> list[Table]:
    """TCP flows and a sparse flow."""
    return [*_alike(values), group("cbr", cbr(f"{values['cbr_mbps']} Mbit/s"), **START)]


def _overload(values: Mapping[str, Any]) -> list[Table]:
    """Only an unresponsive flow."""
    return [group("cbr", poisson(f"{values['cbr_mbps']} Mbit/s"), **START)]


TRAFFIC: texts.Traffic = {"alike": _alike, "two_paths": _two_paths, "sparse": _sparse, "overload": _overload}
