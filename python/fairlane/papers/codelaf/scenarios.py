"""Scenarios of the drafts' claims: groups `a` and `b` of TCP flows, one per user, and a sparse flow `cbr`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.papers import texts
from fairlane.simulate.scenario import Scenario, Table, cbr, group, tcp

FOLDER = Path(__file__).parent

START: Any = {"start_from": "0 s", "start_until": "2 s"}


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables."""
    return texts.scenario(FOLDER, TRAFFIC, values)


def _alike(values: Mapping[str, Any]) -> list[Table]:
    """`flows` TCP flows with one path."""
    return [group("a", tcp(), users=values["flows"], access_delay=_access(values["rtt_ms"], values), **START)]


def _two_paths(values: Mapping[str, Any]) -> list[Table]:
    """Equally many flows with a short and with a long path."""
    return [
        group(name, tcp(), users=values["flows"], access_delay=_access(rtt_ms, values), **START)
        for name, rtt_ms in zip("ab", values["rtts_ms"], strict=True)
    ]


def _two_kinds(values: Mapping[str, Any]) -> list[Table]:
    """Equally many flows of two kinds. The value `kinds` has the TCP keys of each kind."""
    delay = _access(values["rtt_ms"], values)
    return [
        group(name, tcp(**kind), users=values["flows"], access_delay=delay, **START)
        for name, kind in zip("ab", values["kinds"], strict=True)
    ]


def _sparse(values: Mapping[str, Any]) -> list[Table]:
    """TCP flows and a sparse, unresponsive flow."""
    return [*_alike(values), group("cbr", cbr(f"{values['cbr_mbps']} Mbit/s"), **START)]


def _newcomer(values: Mapping[str, Any]) -> list[Table]:
    """A flow joins other flows that have used the link alone."""
    delay = _access(values["rtt_ms"], values)
    late: Any = {"start_from": f"{values['joins_s']} s", "start_until": f"{values['joins_s']} s"}
    return [
        group("a", tcp(), access_delay=delay, **late),
        group("b", tcp(), users=values["flows"], access_delay=delay, **START),
    ]


def _access(rtt_ms: float, values: Mapping[str, Any]) -> str:
    """Delay of the access links for a round-trip time."""
    return f"{rtt_ms / 2 - values['delay_ms']:g} ms"


TRAFFIC: texts.Traffic = {
    "alike": _alike,
    "two_paths": _two_paths,
    "two_kinds": _two_kinds,
    "sparse": _sparse,
    "newcomer": _newcomer,
}
