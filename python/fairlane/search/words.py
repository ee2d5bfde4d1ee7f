"""Describes the adversary's scenario and the sharing unit of a scheme, for files, tables and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlane.simulate.catalogue import schemes

_SENDERS = {
    "cubic": "CUBIC",
    "reno": "Reno",
    "bbr1": "BBRv1",
    "bbr3": "BBRv3",
    "dctcp": "DCTCP",
    "prague": "Prague",
    "cbr": "CBR",
}


def described(table: Mapping[str, Any]) -> dict[str, str]:
    """A description of each group of a scenario, by name."""
    return {group["name"]: _group(group) for group in table["groups"]}


def shares_by(queue: Mapping[str, Any]) -> str:
    """Unit to which a scheme gives equal shares of the link, such as `flow` or `user`.

    Returns the value of the scheme's parameter for this unit. Without such a parameter, returns `user` if the scheme
    has labels, else `nothing`.
    """
    scheme = next((one for one in schemes() if one["name"] == queue["scheme"]), None)
    if scheme is None:
        return "what its own code says"
    params = {param["name"]: queue.get(param["name"], param["default"]) for param in scheme["params"]}
    for name in ("share_per", "isolation"):
        if name in params:
            return _ISOLATIONS.get(str(params[name]), str(params[name]))
    return "user" if scheme["marker"] != "none" else "nothing"


_ISOLATIONS = {
    "host": "host",
    "dual": "host, then flow",
    "triple": "host, then flow",
}
"""Meaning of CAKE's isolation modes if each user is a host."""


def _group(group: Mapping[str, Any]) -> str:
    (source,) = group["sources"]
    count = group.get("users", 1)
    who = f"{count} users, " if count > 1 else ""
    each = " each" if count > 1 else ""
    name = _SENDERS.get(source.get("congestion_control", source["kind"]), source.get("congestion_control", ""))
    if source["kind"] == "tcp":
        flows = source.get("flows", 1)
        return f"{who}{flows} {name} flow{'s' if flows > 1 else ''}{each}, RTT {group['rtt']}"
    kind = {"cbr": "CBR", "poisson": "Poisson", "on_off": "bursts"}[source["kind"]]
    times = f", {source['on']} on, {source['off']} off" if source["kind"] == "on_off" else ""
    return f"{who}{kind} of {source['rate']}{each}{times}, packets of {source['packet_size']}"
