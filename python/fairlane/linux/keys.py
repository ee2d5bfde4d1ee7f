"""Every key of a scenario: its counterpart in the plane `linux`, or why it is not supported."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fairlane.base.planes import LINUX
from fairlane.base.quantities import parsed
from fairlane.simulate import honoured
from fairlane.simulate.honoured import IMPAIRMENTS, Honoured, Refused, Required, Rule, each, shown

IN_LINUX = {"reno": "reno", "cubic": "cubic", "bbr1": "bbr", "dctcp": "dctcp", "vegas": "vegas"}
"""Congestion controls of the simulator that Linux has, too, with their names in Linux."""
KINDS_OF_UDP = ("cbr", "poisson", "on_off")
KINDS_OF_SOURCES = ("tcp", *KINDS_OF_UDP)
KINDS = ("one_sided_dumbbell", "two_sided_dumbbell", "parking_lot", "graph")
OFFLOADS = {"65536 B": "tso", "0 B": "no-tso"}
"""Values of the key `tso`, with their keywords in the plan."""
MOST_PAYLOAD = 1448
AFTER_IDLE = {"decay": 1, "keep": 0}
"""Values of the key `after_idle`, with those of net.ipv4.tcp_slow_start_after_idle."""

_KERNEL = Refused("Linux has no option for it that the plane uses: leave it as in the profile linux")
_IMPAIRMENT = Honoured("behind a device, with the draws of the simulator")
_NO_IMPAIRMENT = Refused("the links of the plane linux have loss, jitter and detours only")
_IMPAIRMENTS = {name: _IMPAIRMENT if name in ("loss", "jitter", "detour") else _NO_IMPAIRMENT for name in IMPAIRMENTS}
_ACCESS_NETWORK = Refused("of an access network, which the plane linux has not")
_ONE_WAY = Refused("the plane linux has no reverse link, ACKs have a path of their own")
_NO_SERIES = Refused("the plane linux has no time series: leave it out")
_SUBSCRIBERS = ("share", "direction", "node", "plan", "configured_plan")

_TCP: dict[str, Rule] = {
    **each("tcp", _KERNEL),
    "profile": Required(("linux",), 'the plane linux has the TCP of a kernel: set "linux"'),
    "congestion_control": Honoured("socket option TCP_CONGESTION; `bbr1` is the kernel's bbr"),
    "ecn": Honoured("net.ipv4.tcp_ecn of the sender"),
    "tso_defer": Refused("Linux always defers", same=(True,)),
    "ack_delay_adapts": Refused("Linux always adapts it", same=(True,)),
    "tso": Honoured("gso_max_segs of the host: `65536 B`, or `0 B` for one segment"),
    "segment_payload": Honoured("socket option TCP_MAXSEG, at most 1448 bytes"),
    "socket_buffer": Honoured("net.ipv4.tcp_rmem, which limits the window; tcp_wmem is so large that it never limits"),
    "after_idle": Honoured("net.ipv4.tcp_slow_start_after_idle: `decay` or `keep`"),
    "frto": Honoured("net.ipv4.tcp_frto"),
    "tlp": Honoured("net.ipv4.tcp_early_retrans"),
    "app_rate": Honoured("the sender writes one segment at a time"),
    "app_limited_from": Honoured("start of the period in which `app_rate` applies"),
    "app_limited_until": Honoured("end of the period in which `app_rate` applies"),
    "min_rto": Honoured("net.ipv4.tcp_rto_min_us, available from Linux 6.11 on"),
}
_UDP: dict[str, Rule] = {
    "rate": Honoured("rate of the sender, including headers"),
    "packet_size": Honoured("length of the packets including headers, 29 to 1500 bytes"),
    "ecn": Honoured("ECN field of the packets"),
    "stop": Honoured("end of the sender"),
}
RULES: dict[str, Rule] = {
    "name": Honoured("name in the record"),
    "run.warmup": Honoured("time before the window"),
    "run.measure": Honoured("length of the window"),
    "run.replications": Honoured("number of runs"),
    "run.seed": Honoured("seed of start times and of the kernel"),
    **{f"topology.{name}": rule for name, rule in each("topology", _ACCESS_NETWORK).items()},
    "topology.kind": Honoured("any except `access`"),
    "topology.access_rate": Honoured("rate of the device in front of a sender"),
    "topology.access_delay": Honoured("delay of that device"),
    "topology.access_limit": Honoured("`pfifo` or `bfifo` of that device"),
    "topology.receiver_rate": Honoured("part of the delay of ACKs, and of the delay to the receiver"),
    "topology.receiver_delay": Honoured("part of the delay of ACKs, and of the delay to the receiver"),
    "topology.congested_links": Honoured("number of devices in a row"),
    "topology.links": Honoured("a device for each, with all keys of the bottleneck and `queue`"),
    "topology.bottleneck_rate": Honoured("rate of a device"),
    "topology.bottleneck_delay": Honoured("delay of a device, and of ACKs"),
    "topology.bottleneck_schedule": Honoured("rates of a device; its qdisc is not told"),
    "topology.bottleneck_trace": Honoured("times at which a device sends; its qdisc is not told"),
    "topology.reverse": _ONE_WAY,
    **{f"topology.bottleneck_{name}": rule for name, rule in _IMPAIRMENTS.items()},
    **{f"tcp.{name}": rule for name, rule in _TCP.items()},
    "probes.series_interval": _NO_SERIES,
    "probes.series_link": _NO_SERIES,
    "probes.series_memory": _NO_SERIES,
    "probes.detail": Refused("the plane linux has users and flows whatever this is", same=("user", "flow")),
    "probes.delay_distribution": Refused("the plane linux keeps quantiles of delays", same=(False,)),
    "probes.user_rows": Refused("the plane linux has a row for each user whatever this is", same=(True,)),
    "probes.transfer_times": Honoured("classes of transfers in the record"),
    "probes.transfer_sizes": Honoured("classes of transfers in the record"),
    "groups[].name": Honoured("name in the record"),
    "groups[].users": Honoured("two hosts per user, sender and receiver"),
    "groups[].traffic_class": Honoured("priority of the classes of `htb`; rows of the record"),
    "groups[].reference_rate": Honoured("no effect without a marker"),
    "groups[].weight": Honoured("rate of the classes of `htb`; elsewhere it must be 1"),
    "groups[].start_from": Honoured("start of the flows, drawn as in the simulator"),
    "groups[].start_until": Honoured("start of the flows, drawn as in the simulator"),
    "groups[].access_rate": Honoured("rate of the device in front of a sender"),
    "groups[].access_delay": Honoured("delay of that device"),
    **{f"groups[].access_{name}": rule for name, rule in _IMPAIRMENTS.items()},
    "groups[].rtt": Honoured("delay of the device in front of a sender, and of ACKs"),
    "groups[].rtt_spread": Honoured("the same, drawn as in the simulator"),
    "groups[].user_rtts": Honoured("the same"),
    "groups[].receiver_rate": Honoured("part of the delay of ACKs, and of the delay to the receiver"),
    "groups[].receiver_delay": Honoured("part of the delay of ACKs, and of the delay to the receiver"),
    "groups[].route": Honoured("devices that packets pass, in order"),
    "groups[].ingresses": Refused("the plane linux has no edge"),
    "groups[].ingress_parts": Refused("the plane linux has no edge"),
    "groups[].forged_labels": Refused("the plane linux has no edge"),
    **dict.fromkeys([f"groups[].{name}" for name in _SUBSCRIBERS], _ACCESS_NETWORK),
    **dict.fromkeys([f"groups[].sources[{kind}].application" for kind in KINDS_OF_SOURCES], _ACCESS_NETWORK),
    **dict.fromkeys([f"groups[].sources[{kind}].direction" for kind in KINDS_OF_SOURCES], _ONE_WAY),
    "groups[].sources[].kind": Required(KINDS_OF_SOURCES, "the plane linux has " + ", ".join(KINDS_OF_SOURCES)),
    "groups[].sources[tcp].flows": Honoured("connections"),
    "groups[].sources[tcp].transfer": Honoured("bytes of a connection"),
    "groups[].sources[tcp].repeat": Honoured("connections one after another"),
    "groups[].sources[tcp].pause": Honoured("mean time between two connections"),
    "groups[].sources[tcp].start": Refused("use start_from and start_until of the group"),
    "groups[].sources[tcp].stop": Honoured("end of writing"),
    **{f"groups[].sources[tcp].{name}": rule for name, rule in _TCP.items()},
    **{f"groups[].sources[cbr].{name}": rule for name, rule in _UDP.items()},
    "groups[].sources[cbr].jitter": Honoured("width of the gaps"),
    **{f"groups[].sources[poisson].{name}": rule for name, rule in _UDP.items()},
    **{f"groups[].sources[on_off].{name}": rule for name, rule in _UDP.items()},
    **dict.fromkeys(
        [f"groups[].sources[on_off].{name}" for name in ("on", "off", "distribution", "shape")],
        Honoured("bursts and silences, drawn as in the simulator"),
    ),
}
"""Rules of the plane (see `honoured.Rules`); `disciplines` handles `queue`."""
LENGTHS = (29, 1500)
"""Smallest and largest length of datagrams with headers, in bytes."""
_OF_LINKS = ("name", "rate", "delay", "schedule", "trace", "queue")
"""Supported keys of a link in a graph, besides impairments."""


def problems(scenario: str) -> Iterator[str]:
    """Lists unsupported keys of a canonical scenario, except keys of queues, with value and reason."""
    table = json.loads(scenario)
    if table["topology"]["kind"] not in KINDS:
        yield f"topology.kind: {shown(table['topology']['kind'])}, the plane linux has {', '.join(KINDS)}"
        return  # an access network has other keys
    sources = [
        (f"groups[{index}].sources[{number}]", source, group["sources"])
        for index, group in enumerate(table["groups"])
        for number, source in enumerate(group["sources"])
    ]
    if not any(source["kind"] == "tcp" for _, source, _ in sources):
        table["tcp"] = honoured.defaults("linux")["tcp"]
    for index, link in enumerate(table["topology"].get("links", ())):
        for name, value in link.items():
            rule = _IMPAIRMENTS.get(name, Refused("the plane linux does not know this key"))
            if name not in _OF_LINKS and isinstance(rule, Refused) and value:
                yield f"topology.links[{index}].{name}: {shown(value)}, {rule.why}"
    # Keys of other kinds have no effect here. The profile is that of [tcp], unless a source sets another.
    unknown = [f"{key}." for key, source, _ in sources if source["kind"] not in KINDS_OF_SOURCES]
    inherited = [f"{key}.profile" for key, source, _ in sources if source.get("profile") == table["tcp"]["profile"]]
    for problem in honoured.problems(json.dumps(table), RULES, LINUX, "the plane linux"):
        key = problem.partition(": ")[0]
        if key not in inherited and (key.endswith(".kind") or not key.startswith(tuple(unknown))):
            yield problem
    for index, group in enumerate(table["groups"]):
        if group["weight"] != 1.0 and table["queue"]["scheme"] != "htb":
            yield f"groups[{index}].weight: {group['weight']:g}, of the kernel's schemes only htb has weights"
    for key, source, several in sources:
        if source["kind"] in KINDS_OF_UDP:
            yield from _problems_of_length(key, source["packet_size"])
        elif source["kind"] == "tcp" and source["profile"] == "linux":
            yield from _problems_of_tcp(key, source, next(one for one in several if one["kind"] == "tcp"))


def problems_of_marker(scenario: str) -> Iterator[str]:
    """Yields a problem if a scenario has labels. Check queues first: an unsupported scheme may need labels."""
    if (marker := json.loads(scenario)["marker"]["scheme"]) != "none":
        yield f'marker.scheme: "{marker}", the plane linux has no edge that writes labels'


def _problems_of_length(key: str, packet_size: str) -> Iterator[str]:
    if (length := parsed(packet_size, "bytes")) is None or not LENGTHS[0] <= length <= LENGTHS[1]:
        yield f"{key}.packet_size: {shown(packet_size)}, the plane linux has {LENGTHS[0]} to {LENGTHS[1]} B"


def _problems_of_tcp(key: str, source: honoured.Table, first: honoured.Table) -> Iterator[str]:
    """Lists unsupported keys of a TCP source.

    Keys that are settings of the user's host must have the same value as in `first`, the user's first source.
    """
    choices: dict[str, Mapping[str, Any]] = {"congestion_control": IN_LINUX, "tso": OFFLOADS, "after_idle": AFTER_IDLE}
    for name, allowed in choices.items():
        if source[name] not in allowed:
            yield f"{key}.{name}: {shown(source[name])}, the plane linux has {', '.join(allowed)}"
    if source["congestion_control"] == "dctcp" and not source["ecn"]:
        yield f"{key}.ecn: false, Linux's dctcp always asks for ECN: set true"
    if source["segment_payload"] > MOST_PAYLOAD:
        yield f"{key}.segment_payload: {source['segment_payload']}, packets have 1500 bytes at most"
    for name in ("ecn", "tso", "after_idle", "frto", "tlp", "min_rto", "socket_buffer"):
        if source[name] != first[name]:
            yield f"{key}.{name}: {shown(source[name])}, sources of a user are on one host, with one value"
