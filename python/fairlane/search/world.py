"""Builds a scenario from the adversary's choices: a light user, heavy users and a crowd on one link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlane.base.quantities import parsed
from fairlane.search.bounds import DATAGRAMS
from fairlane.search.space import Values
from fairlane.simulate.external_control import asks_for_every_mark
from fairlane.simulate.scenario import Table

LIGHT, HEAVY, CROWD = "light", "heavy", "crowd"
METRIC = f"normalised_throughput.{LIGHT}"
"""The light user's fraction of its max-min share."""


def scenario(name: str, values: Values, scheme: Mapping[str, Table], seed: int, replications: int) -> Table:
    """The table of a scenario file.

    Args:
        name: Name of the scenario.
        values: Chosen values, by key of the bounds.
        scheme: The tables `queue` (without the buffer, which is among the values) and `marker`.
        seed: Seed of the scenario.
        replications: Number of replications.
    """
    groups = [
        _group(LIGHT, 1, values["light.rtt"], _light(values)),
        _group(HEAVY, int(values["heavy.users"]), values["heavy.rtt"], _heavy(values)),
    ]
    if values["crowd.users"]:
        crowd = _tcp(str(values["crowd.sender"]), int(values["crowd.flows"]))
        groups.append(_group(CROWD, int(values["crowd.users"]), values["crowd.rtt"], crowd))
    is_tcp = any(source["kind"] == "tcp" for group in groups for source in group["sources"])
    return {
        "name": name,
        "run": {
            "warmup": values["run.warmup"],
            "measure": values["run.measure"],
            "replications": replications,
            "seed": seed,
        },
        "topology": {"bottleneck_rate": values["link.rate"], "bottleneck_delay": "1 ms"},
        **scheme,
        "queue": {**scheme["queue"], "limit": values["link.buffer"]},
        **({"tcp": {"profile": "linux"}} if is_tcp else {}),
        "groups": groups,
    }


def unused(values: Values) -> set[str]:
    """Keys without effect, given the other values."""
    idle = {"crowd.sender", "crowd.flows", "crowd.rtt"} if not values["crowd.users"] else set()
    if values["light.sender"] != "cbr":
        idle |= {"light.rate", "light.packet_size"}
    else:
        idle |= {"light.rtt"}
    if values["heavy.sender"] in DATAGRAMS:
        idle |= {"heavy.flows", "heavy.rtt"}
    else:
        idle |= {"heavy.rate", "heavy.packet_size"}
    if values["heavy.sender"] != "on_off":
        idle |= {"heavy.on", "heavy.off"}
    return idle


def users(values: Values) -> int:
    """Number of all users."""
    return 1 + int(values["heavy.users"]) + int(values["crowd.users"])


def light_share_packets(values: Values) -> float:
    """Lower bound of the number of packets that the light user can send at its max-min share during the measurement.

    The share is at least an equal share of the link. With CBR, it is at least the part of an equal share that the
    source sends.
    """
    bits = (parsed(str(values["link.rate"]), "bit/s") or 0.0) * (parsed(str(values["run.measure"]), "s") or 0.0)
    size, part = "1500 B", 1.0
    if values["light.sender"] == "cbr":
        size, part = str(values["light.packet_size"]), float(values["light.rate"])
    return bits * part / users(values) / (8 * (parsed(size, "bytes") or 1.0))


def _group(name: str, count: int, rtt: Any, source: Table) -> Table:
    """A group whose sources start within the first second. Only TCP gets a round-trip time; UDP has no responses."""
    own = {"rtt": rtt} if source["kind"] == "tcp" else {}
    many = {"users": count} if count > 1 else {}
    return {"name": name, **many, **own, "start_until": "1 s", "sources": [source]}


def _light(values: Values) -> Table:
    if values["light.sender"] != "cbr":
        return _tcp(str(values["light.sender"]), 1)
    rate_bps = (parsed(str(values["link.rate"]), "bit/s") or 0.0) * float(values["light.rate"]) / users(values)
    return {"kind": "cbr", "rate": rate(rate_bps), "packet_size": values["light.packet_size"]}


def _heavy(values: Values) -> Table:
    kind = str(values["heavy.sender"])
    if kind not in DATAGRAMS:
        return _tcp(kind, int(values["heavy.flows"]))
    link_bps = parsed(str(values["link.rate"]), "bit/s") or 0.0
    rate_bps = link_bps * float(values["heavy.rate"]) / int(values["heavy.users"])
    times = {"on": values["heavy.on"], "off": values["heavy.off"]} if kind == "on_off" else {}
    return {"kind": kind, "rate": rate(rate_bps), **times, "packet_size": values["heavy.packet_size"]}


def rate(bps: float) -> str:
    """Formats a rate with two digits."""
    return f"{float(f'{bps:.2g}') / 1e6:.10g} Mbit/s"


def _tcp(control: str, flows: int) -> Table:
    """Senders that respond to every mark request ECN; the others do not, like a Linux host by default."""
    return {
        "kind": "tcp",
        **({"flows": flows} if flows > 1 else {}),
        "congestion_control": control,
        **({"ecn": True} if asks_for_every_mark(control) else {}),
    }
