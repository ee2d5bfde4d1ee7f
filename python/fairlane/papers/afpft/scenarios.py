"""Scenarios of the paper's experiments: base.toml, overridden by the parameters and variables of the experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairlane.judge.expressions import evaluate
from fairlane.papers.parameters import base_of, with_parameters
from fairlane.simulate.scenario import Scenario, cbr, group, on_off, tcp, web

FOLDER = Path(__file__).parent

Values = Mapping[str, Any]
"""Values of an experiment's parameters and variables."""
Table = dict[str, Any]

WEB_USERS = 500
"""Number of users that share the web sessions. Each user has separate host links, like each session of the paper."""

AVERAGE_INTERVAL_S = 0.001
"""Length in s of the bins of the queue in Fig. 8: a quarter of the average's time constant. The time constant is the
time to send 500 packets (1 / w_q with w_q = 0.002) at 125 000 packets/s."""

KEYS: dict[str, tuple[str, str | None]] = {
    "Cb_mbps": ("topology.bottleneck_rate", "{} Mbit/s"),
    "prop_ms": ("topology.bottleneck_delay", "{} ms"),
}
"""Scenario key of each scalar parameter of claims.toml, with the format string of its value."""

ENGINE_SCHEMES = {
    "red": "ared",
    "red_static": "red",
    "fred_default_wq": "fred",
    "fred_wq_1_over_C": "fred",
    "csfq_default": "csfq",
    "csfq_tight": "csfq",
    "afpft_nocorr": "afpft",
}
"""Scheme in the simulator of each variant."""


def scenario(values: Values) -> Scenario:
    """The scenario for an experiment's parameters and variables, under `scheme` (default: AFpFT)."""
    base = base_of(FOLDER)
    parking = "cross_flows" in values
    base = base.replace("topology.kind", "parking_lot" if parking else "two_sided_dumbbell")
    base = with_parameters(base, KEYS | ({"L": ("topology.congested_links", None)} if parking else {}), values)
    host_mbps = values.get("host_mbps", values["host_rate_over_Cb"] * values["Cb_mbps"])
    for end in ("access", "receiver"):
        base = base.replace(f"topology.{end}_rate", f"{host_mbps:g} Mbit/s")
        base = base.replace(f"topology.{end}_delay", f"{values['host_prop_ms']} ms")
    base = base.replace("groups", [_started(table, values) for table in _groups(values)])
    warmup = 0.0 if values["measured"] == "from the start" else values["duration_s"] / 2
    base = base.replace("run.warmup", f"{warmup:g} s").replace("run.measure", f"{values['duration_s'] - warmup:g} s")
    if "edge_mbps" in values:
        base = _behind_edge(base, values)
    if "C_pkts_per_s" in values:
        base = base.replace("probes.series_interval", f"{AVERAGE_INTERVAL_S} s")
    return _under(base, values.get("scheme", "afpft"), values)


def _behind_edge(base: Scenario, values: Values) -> Scenario:
    """Adds a faster link before the bottleneck. The bottleneck's router is then a core router for all flows."""
    links = [
        {"name": name, "rate": f"{values[rate]} Mbit/s", "delay": f"{values['prop_ms']} ms"}
        for name, rate in (("edge", "edge_mbps"), ("bottleneck", "Cb_mbps"))
    ]
    route = [link["name"] for link in links]
    groups = [{**group, "route": route} for group in base.to_dict()["groups"]]
    return base.replace("topology", {"kind": "graph", "links": links}).replace("groups", groups)


# Traffic.


def _groups(values: Values) -> list[Table]:
    """Groups of the experiment's kind of traffic: the first kind in `_TRAFFIC` whose parameter the experiment sets."""
    return next(build(values) for parameter, build in _TRAFFIC.items() if parameter in values)


def _started(table: Table, values: Values) -> Table:
    """Lets the flows of a group start within the paper's start window, unless the group sets other times."""
    return {"start_from": "0 s", "start_until": f"{values['flow_start_s']} s", **table}


def _cbr(rate_mbps: float, values: Values) -> Table:
    return cbr(f"{rate_mbps:g} Mbit/s", packet_size=f"{values['udp_packet_B']} B")


def _rate_groups(values: Values) -> list[Table]:
    """Fig. 2: groups of identical CBR flows."""
    users = values["flows_per_group"]
    rates = enumerate(values["group_rates_mbps"], start=1)
    return [group(f"G{number}", _cbr(rate, values), users=users) for number, rate in rates]


def _rising_rates(values: Values) -> list[Table]:
    """Fig. 6: CBR flow i sends i times the fair share."""
    flows = range(1, values["flows"] + 1)
    return [group(f"flow {i}", _cbr(evaluate(values["rate_mbps"], {"i": i}), values)) for i in flows]


def _rtt_groups(values: Values) -> list[Table]:
    """Fig. 7: groups of TCP flows that differ only in the round-trip time, through the delay of host links."""
    groups = []
    for number, rtt_ms in enumerate(values["group_rtt_ms"], start=1):
        delay = f"{(rtt_ms / 2 - values['prop_ms']) / 2:g} ms"
        users = values["flows_per_group"]
        groups.append(group(f"G{number}", tcp(), users=users, access_delay=delay, receiver_delay=delay))
    return groups


def _across(values: Values) -> list[Table]:
    """Fig. 9: flow 0 crosses all links; each CBR flow crosses one link."""
    rate = values["flow0"].removeprefix("cbr ").removesuffix(" Mb/s")
    own = tcp() if values["flow0"] == "tcp_saturated" else _cbr(float(rate), values)
    cross = _cbr(values["cross_mbps"], values)
    links = range(1, values["L"] + 1)
    return [
        group("flow 0", own),
        *(group(f"cross {link}", cross, users=values["cross_flows"], route=[f"link{link}"]) for link in links),
    ]


def _web(values: Values) -> list[Table]:
    """Table III: short transfers alongside one CBR flow."""
    interval = f"{WEB_USERS / values['web_per_s']:g} s"
    sessions = web(interval=interval, size=f"{values['web_mean_kB']} kB", shape=values["web_shape"])
    return [
        group("web", sessions, users=WEB_USERS, start_until="0 s"),
        group("cbr", _cbr(values["cbr_mbps"], values)),
    ]


def _bursts(values: Values) -> list[Table]:
    """ON-OFF: one flow that bursts at the rate of the link alongside CBR flows at the fair rate."""
    burst = on_off(
        f"{values['peak_mbps']} Mbit/s",
        on=f"{values['on_mean_s']} s",
        off=f"{values['off_mean_s']} s",
        packet_size=f"{values['udp_packet_B']} B",
        distribution=values["distribution"],
    )
    return [group("on-off", burst), group("cbr", _cbr(values["cbr_mbps"], values), users=values["N"] - 1)]


def _tcp_and_cbr(values: Values) -> list[Table]:
    """Fig. 3, Fig. 5: TCP flows and CBR flows on one link."""
    rate = values["R_udp_kbps"] / 1000 if "R_udp_kbps" in values else values["R_udp_mbps"]
    return [
        group("udp", _cbr(rate, values), users=values["n_udp"]),
        group("tcp", tcp(), users=values["n_tcp"]),
    ]


_TRAFFIC: Mapping[str, Callable[[Values], list[Table]]] = {
    "group_rates_mbps": _rate_groups,
    "rate_mbps": _rising_rates,
    "group_rtt_ms": _rtt_groups,
    "cross_flows": _across,
    "web_per_s": _web,
    "peak_mbps": _bursts,
    "n_udp": _tcp_and_cbr,
}


# Schemes.


def weight_1_over_c(values: Values) -> float:
    """Weight w_q = 1/C, where C is the rate of the link in packets/s (III-C)."""
    return float(8 * values["udp_packet_B"] / (values["Cb_mbps"] * 1e6))


def _under(base: Scenario, scheme: str, values: Values) -> Scenario:
    """The scenario with the queue of a scheme, and its marker."""
    queue = {"scheme": ENGINE_SCHEMES.get(scheme, scheme), "limit": _buffer(values, 1), **_queue(scheme, values)}
    base = base.replace("queue", queue)
    if queue["scheme"] == "csfq":
        constant = values.get(scheme, values["csfq"])["K_ms"]
        return base.replace("marker", {"rate_constant": f"{constant} ms", "share_per": "flow"})
    return base


def _queue(scheme: str, values: Values) -> Table:
    """Keys of the scheme (Table II)."""
    match ENGINE_SCHEMES.get(scheme, scheme):
        case "afpft":
            correct = scheme != "afpft_nocorr"
            return {"flow_rate": f"{values['r_kbps']} kbit/s", "share_per": "flow", "correct_finish": correct}
        case "csfq":
            constant = f"{values.get(scheme, values['csfq'])['Kalpha_ms']} ms"
            threshold = _buffer(values, values["csfq"]["threshold_share"])
            return {"aggregate_constant": constant, "window": constant, "q_threshold": threshold}
        case "fred":
            # The weight is 1/C, but 0.002 in Fig. 7 and for the scheme `fred_default_wq`.
            defaults = scheme == "fred_default_wq" or values.get("fred_wq") == "default"
            return {**_thresholds("fred", values), "weight": 0.002 if defaults else weight_1_over_c(values)}
        case "ared" | "red" as red:
            # w_q = 1 - exp(-1/C), and initial max_p as in ns-2; the paper's plain RED lacks two features (III-C).
            own = {"weight_rule": "second", "max_p": 0.1, "size_scaling": "after", "gentle": red == "ared"}
            return {**_thresholds("red", values), **own}
        case _:
            return {}


def _thresholds(scheme: str, values: Values) -> Table:
    shares = values[scheme]
    packet = f"{values['udp_packet_B']} B"
    return {key: _buffer(values, shares[f"{key}_share"]) for key in ("min_th", "max_th")} | {"mean_packet": packet}


def _buffer(values: Values, share: float) -> str:
    """The fraction `share` of the experiment's buffer, in packets or bytes, whichever the experiment uses."""
    if "buffer_pkts" in values:
        return f"{share * values['buffer_pkts']:g} packets"
    return f"{share * values['buffer_kB'] * 1000:g} B"
