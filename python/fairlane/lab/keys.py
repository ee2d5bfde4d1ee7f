"""Every key of a scenario: its counterpart on real packets, or why the lab does not support it.

A key that the lab does not support must have its default. So must a key that is not listed here.
"""

from __future__ import annotations

import json

from fairlane.base.errors import UserError
from fairlane.base.planes import FORWARDER
from fairlane.simulate import honoured
from fairlane.simulate.honoured import IMPAIRMENTS, Honoured, Refused, Rule, Table, defaults, each, shown

AQMS = {
    "abc": ("q_min", "q_base", "gamma", "averager_memory"),
    "csfq": ("q_min", "q_threshold", "aggregate_constant", "window", "variant", "cut_budget", "overflow_bound"),
    "htb": ("leaf", "rate", "ceil", "quantum", "r2q", "burst", "cburst"),
}
"""Keys of the queue for each scheme of the node and of the kernel."""
MARKERS = {
    "abc": ("memory", "accounting_be", "accounting_ef"),
    "csfq": ("rate_constant", "share_per"),
}
"""Keys of the marker for each scheme of the node."""


KERNEL = Refused("the lab's TCP is that of this machine's kernel")
NO_SERIES = Refused("the lab has no time series")
ENDLESS = Refused("the lab has endless flows only")
NOT_A_DUMBBELL = Refused("the lab can build one_sided_dumbbell")
ONE_WAY = Refused("the lab has no reverse link, ACKs have a path of their own")
NO_IMPAIRMENT = Refused("the lab's links lose nothing and delay evenly")
OF_SUBSCRIBERS = ("share", "direction", "node", "plan", "configured_plan")
"""Keys of groups that only an access network has."""
NO_STOP = Refused("the lab's senders send until the end")


_TCP = {
    **each("tcp", KERNEL),
    "profile": Refused(f"{KERNEL.why}, as of the profile linux", same=("linux",)),
    "congestion_control": Honoured("option -C of iperf3; `bbr1` is the kernel's bbr"),
    "ecn": Honoured("net.ipv4.tcp_ecn of the client", only=FORWARDER),
    "tso_defer": Refused("Linux always defers", same=(True,)),
    "ack_delay_adapts": Refused("Linux always adapts it", same=(True,)),
    "tso": Refused("all offloads of the lab's hosts are off", same=("0 B",)),
}
_UDP: dict[str, Rule] = {
    "rate": Honoured("option --rate of the sender, without the two bytes of PPP"),
    "packet_size": Honoured("option --payload of the sender"),
    "ecn": Refused("the lab's datagrams are not ECN-capable", same=("not_ect",)),
    "stop": NO_STOP,
}
KEYS: dict[str, Rule] = {
    "name": Honoured("name in the record"),
    "run.warmup": Honoured("time before the window"),
    "run.measure": Honoured("length of the window"),
    "run.replications": Honoured("number of runs"),
    "run.seed": Honoured("seed of forwarder, senders and start times"),
    **{f"topology.{name}": rule for name, rule in each("topology", NOT_A_DUMBBELL).items()},
    "topology.kind": Honoured("must be one_sided_dumbbell"),
    "topology.access_rate": Honoured("rate of the ports towards the clients"),
    "topology.access_delay": Honoured("delay of the ports towards the clients"),
    "topology.access_limit": Honoured("limit of the ports towards the clients"),
    "topology.bottleneck_rate": Honoured("rate of the port towards the server, or of the node's queue"),
    "topology.bottleneck_delay": Honoured("delay of the port towards the server"),
    "topology.bottleneck_schedule": Refused("the lab has links of constant rate"),
    "topology.bottleneck_trace": Refused("the lab has links of constant rate"),
    "topology.reverse": ONE_WAY,
    **{f"topology.bottleneck_{name}": NO_IMPAIRMENT for name in IMPAIRMENTS},
    **{f"tcp.{name}": rule for name, rule in _TCP.items()},
    "probes.series_interval": NO_SERIES,
    "probes.series_link": NO_SERIES,
    "probes.series_memory": NO_SERIES,
    "probes.detail": Refused("the lab tells of users and flows whatever this is"),
    "probes.delay_distribution": Refused("the lab keeps quantiles of delays", same=(False,)),
    "probes.user_rows": Refused("the lab has a row for each user whatever this is"),
    "probes.transfer_times": ENDLESS,
    "probes.transfer_sizes": ENDLESS,
    "groups[].name": Honoured("name in the record"),
    "groups[].users": Honoured("a host per user"),
    "groups[].traffic_class": Honoured("class of the users in forwarder and node"),
    "groups[].reference_rate": Honoured("reference rate of the users in forwarder and node"),
    "groups[].weight": Honoured("weight of the users in the forwarder; in the node, a factor of the reference rate"),
    "groups[].start_from": Honoured("start of the senders"),
    "groups[].start_until": Honoured("start of the senders; must not be after the warm-up"),
    "groups[].access_rate": Honoured("rate of the ports towards these clients"),
    "groups[].access_delay": Honoured("delay of the ports towards these clients"),
    **{f"groups[].access_{name}": NO_IMPAIRMENT for name in IMPAIRMENTS},
    "groups[].rtt": Refused("the lab takes access_delay"),
    "groups[].rtt_spread": Refused("the lab takes access_delay"),
    "groups[].user_rtts": Refused("the lab takes access_delay"),
    "groups[].receiver_rate": NOT_A_DUMBBELL,
    "groups[].receiver_delay": NOT_A_DUMBBELL,
    **dict.fromkeys([f"groups[].{name}" for name in OF_SUBSCRIBERS], NOT_A_DUMBBELL),
    **dict.fromkeys([f"groups[].sources[{kind}].application" for kind in ("tcp", "cbr", "poisson")], NOT_A_DUMBBELL),
    **dict.fromkeys([f"groups[].sources[{kind}].direction" for kind in ("tcp", "cbr", "poisson")], ONE_WAY),
    "groups[].route": Refused("the lab has one link that all cross", same=(["bottleneck"],)),
    "groups[].ingresses": Refused("the lab has one ingress"),
    "groups[].ingress_parts": Refused("the lab has one ingress"),
    "groups[].forged_labels": Refused("the lab's edge labels all packets"),
    "groups[].sources[].kind": Honoured("must be tcp, cbr or poisson"),
    "groups[].sources[tcp].flows": Honoured("option -P of iperf3"),
    "groups[].sources[tcp].transfer": ENDLESS,
    "groups[].sources[tcp].repeat": ENDLESS,
    "groups[].sources[tcp].pause": ENDLESS,
    "groups[].sources[tcp].start": Refused("use start_from and start_until of the group"),
    "groups[].sources[tcp].stop": NO_STOP,
    **{f"groups[].sources[tcp].{name}": rule for name, rule in _TCP.items()},
    **{f"groups[].sources[cbr].{name}": rule for name, rule in _UDP.items()},
    "groups[].sources[cbr].jitter": Honoured("option --jitter of the sender"),
    **{f"groups[].sources[poisson].{name}": rule for name, rule in _UDP.items()},
}
"""Rules by key (see `honoured.Rules`). Keys of queue and marker have no rules; `in_node` returns the supported ones."""


def in_node(scheme: str) -> dict[str, tuple[str, ...]]:
    """Keys of the tables `queue` and `marker` that kernel and switch support; the forwarder supports all."""
    return {"queue": ("scheme", "limit", *AQMS.get(scheme, ())), "marker": ("scheme", *MARKERS.get(scheme, ()))}


def check(scenario: str, plane: str) -> None:
    """Raises a UserError naming the first key of a canonical scenario that a plane does not support."""
    honoured.check(scenario, KEYS, plane, "the lab")
    if plane != FORWARDER:
        _check_node(json.loads(scenario), plane)


def decisive(scenario: str) -> str:
    """The canonical scenario without keys that the lab does not support."""
    return honoured.decisive(scenario, KEYS)


def _check_node(table: Table, plane: str) -> None:
    scheme, limit = table["queue"]["scheme"], table["queue"]["limit"]
    standard = defaults(table["tcp"]["profile"], scheme, limit)
    for section, names in in_node(scheme).items():
        for name, value in (table.get(section) or {}).items():
            if name not in names and value != standard.get(section, {}).get(name):
                raise UserError(f"{section}.{name}: {shown(value)}, the plane {plane} does not have this key")
    leaf = table["queue"].get("leaf", "droptail")
    if leaf != "droptail":
        raise UserError(f"queue.leaf: {shown(leaf)}, the plane {plane} has droptail")
    if not limit.endswith(" packets"):
        raise UserError(f"queue.limit: {shown(limit)}, the plane {plane} counts in packets")
