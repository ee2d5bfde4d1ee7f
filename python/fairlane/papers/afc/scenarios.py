"""Scenarios of the paper's experiments: base.toml, overridden by the parameters and variables of the experiment.

The long-lived flows are in group `tcp`, or in one group per pair of access delays, such as `tcp 1 ms, 5 ms`. Groups
`udp 1`, `udp 2` ... contain one unresponsive flow each. Group `web` contains the web sessions. Each flow is a user
with a separate access link. In the paper flows share ten access links (Fig. 2), but these are never full, so sharing
makes no difference.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.papers.parameters import Keys, base_of, with_parameters
from fairlane.simulate.scenario import Scenario, Table, cbr, group, on_off, tcp, web

FOLDER = Path(__file__).parent

KEYS: Keys = {
    "Cb_mbps": ("topology.bottleneck_rate", "{} Mbit/s"),
    "access_mbps": ("topology.access_rate", "{} Mbit/s"),
}
"""Scenario key of each scalar parameter of claims.toml, with the format string of its value."""

START: Any = {"start_from": "0 s", "start_until": "10 s"}

PENALTY_FACTORS = {"sfb": 1.0, "sfb_2x": 2.0, "sfb_1x": 1.0, "sfb_half": 0.5}
"""SFB's limit in units of the fair rate; 1 (well tuned) where the paper only says SFB."""
ENGINE_SCHEMES = {**dict.fromkeys(PENALTY_FACTORS, "sfb"), "afc_no_credit": "afc"}

BURST_MEAN = "0.5 s"
"""Mean of ON and OFF times. The paper does not give this mean; it is ns-2's default
(Application/Traffic/Exponential)."""

WEB_NODES = 5
"""Number of nodes with sessions, N0 to N4."""
WEB_S = 250
"""Time in s within which sessions start uniformly: the whole experiment, which lasts 50 s longer than the others."""
WEB_PACKETS = 15
WEB_SHAPE = 1.2
PACKET_B = 1000
SEGMENT_B = 960
"""Payload of a TCP packet."""


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables."""
    base = with_parameters(base_of(FOLDER), KEYS, values)
    base = base.replace("topology.receiver_rate", base.to_dict()["topology"]["access_rate"])
    groups = [*_long_lived(values), *_unresponsive(values)]
    if values.get("w"):
        groups.append(_web(values["w"]))
    if "w" in values:
        base = base.replace("run.measure", f"{WEB_S - values['measured_s'][0]} s")
    limit = base.to_dict()["queue"]["limit"]
    return base.replace("groups", groups).replace("queue", {"limit": limit, **_queue(values)})


def unresponsive(values: Mapping[str, Any]) -> int:
    """Number of unresponsive flows."""
    return int(values.get("n_udp", 0))


def fair_kbps(values: Mapping[str, Any]) -> float:
    """Rate of the bottleneck divided by the number of long-lived flows."""
    return float(1e3 * values["Cb_mbps"] / (values["n_tcp"] + unresponsive(values)))


def udp_name(index: int) -> str:
    """Name of the group of the unresponsive flow with this index."""
    return f"udp {index + 1}"


def _long_lived(values: Mapping[str, Any]) -> list[Table]:
    """Groups of TCP flows. With several access delays, each pair of source and sink has the same number of flows."""
    flows = values["n_tcp"]
    if "access_ms" not in values:
        return [group("tcp", tcp(), users=flows, **START)]
    pairs = [(f"{source} ms", f"{sink} ms") for source, sink in itertools.product(values["access_ms"], repeat=2)]
    users = flows // len(pairs)
    return [group(f"tcp {a}, {b}", tcp(), users=users, access_delay=a, receiver_delay=b, **START) for a, b in pairs]


def _unresponsive(values: Mapping[str, Any]) -> list[Table]:
    """One group per unresponsive flow: CBR, or bursts if there is a peak rate."""
    count = unresponsive(values)
    if "peak_mbps" in values:
        peak, size = f"{values['peak_mbps']} Mbit/s", f"{values['packet_B']} B"
        sources = [on_off(peak, packet_size=size, on=BURST_MEAN, off=BURST_MEAN)] * count
    else:
        sizes = values.get("sizes_B", [values["packet_B"]] * count)
        sources = [cbr(f"{values['R_udp_mbps']} Mbit/s", packet_size=f"{size} B") for size in sizes]
    return [group(udp_name(index), dict(source), **START) for index, source in enumerate(sources)]


def _web(sessions: int) -> Table:
    """Group of web sessions of one transfer each."""
    source = web(sessions=sessions // WEB_NODES, size=f"{WEB_PACKETS * SEGMENT_B} B", shape=WEB_SHAPE)
    return group("web", source, users=WEB_NODES, start_from="0 s", start_until=f"{WEB_S} s")


def _queue(values: Mapping[str, Any]) -> Table:
    """The scheme with the parameters that the paper states."""
    scheme = values.get("scheme", "afc")
    red = {
        "min_th": f"{values['min_th_pkts']} packets",
        "max_th": f"{values['max_th_pkts']} packets",
        "max_p": 0.1,
        "gentle": values["gentle"],
        "mean_packet": "1000 B",
    }
    match scheme:
        case "red":
            return {"scheme": "red", **red}
        case "choke":
            # The scheme adapts itself if there are several unresponsive flows (4.1).
            several = unresponsive(values) > 1
            return {"scheme": "choke", **red, "self_adjusting": several}
        case "black" | "afc":
            return {"scheme": scheme, **red, "cache": values["cache"]}
        case "afc_no_credit":
            return {"scheme": "afc", **red, "cache": values["cache"], "max_credit": "0 s"}
        case "care":
            care = values["care"]
            return {
                "scheme": "care",
                "occasions": care["t"],
                "counted_occasions": care["t_for_flow_count"],
                "capture_probability": care["p_cap"],
            }
        case _:
            # The budget in Table 1 is per flow. In rule (3) the flows share one budget.
            budget_kbps = PENALTY_FACTORS[scheme] * fair_kbps(values) * max(unresponsive(values), 1)
            return {
                "scheme": "sfb",
                "levels": values["sfb"]["levels"],
                "bins": values["sfb"]["bins"],
                "penalty_rate": f"{budget_kbps * 1e3:.0f} bit/s",
            }
