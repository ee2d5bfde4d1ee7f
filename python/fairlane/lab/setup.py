"""Converts a scenario for Linux: users to hosts with addresses, sources to commands, links to forwarder tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlane.base.errors import UserError
from fairlane.base.quantities import UNITS, parsed

UDP_HEADER_BYTES = 28
"""Headers of IPv4 (20 bytes) and UDP (8 bytes)."""
SIMULATED_HEADER_BYTES = 30
"""Headers of a UDP packet in the simulator: those of IPv4 and UDP, and 2 bytes of PPP."""
PACKET_BYTES = (SIMULATED_HEADER_BYTES + 24, SIMULATED_HEADER_BYTES + 1472)
"""Minimum and maximum size of a UDP packet in the simulator, in bytes. The sender writes 24 bytes of payload, and an IP
packet of more than 1500 bytes would be truncated.
"""
AT_ONCE_S = 0.1
"""A group whose sources all start within this time (s) starts at once: TCP first, UDP after a delay (`AHEAD_S`)."""
CONTROL_ROUND_TRIPS = 3
"""Round trips of iperf3 before its first data connection: handshake, cookie, parameters."""
MOST_USERS = 100

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """Traffic of a client.

    Attributes:
        kind: `tcp`, `cbr` or `poisson`.
        flows: TCP flows.
        rate_bps: Rate of UDP, including IP and UDP headers.
        payload_bytes: Payload of a UDP packet.
        jitter: Width of the jitter of constant gaps, as a multiple of the gap.
        congestion_control: Congestion control of TCP.
        ecn: True if TCP requests ECN.
    """

    kind: str
    flows: int = 0
    rate_bps: int = 0
    payload_bytes: int = 0
    jitter: float = 0.0
    congestion_control: str = "cubic"
    ecn: bool = False


@dataclass(frozen=True)
class Client:
    """A user.

    Attributes:
        number: Number of the user, from 0.
        group: Number of the group.
        terms: Settings for the forwarder: `reference_rate` at weight 1, `weight`, `traffic_class`.
        access: Rate and delay of the access link.
        start_s: Earliest and latest start of sending.
        source: Traffic source.
        rtt_s: Round-trip time without queues.
    """

    number: int
    group: int
    terms: Mapping[str, Any]
    access: Mapping[str, str]
    start_s: tuple[float, float]
    source: Source
    rtt_s: float

    @property
    def opening_s(self) -> float:
        """Time from the start of iperf3 to the opening of the last connection.

        This time consists of three round trips for the control connection, then one round trip per flow. Flows send
        once the last connection is open.
        """
        return (CONTROL_ROUND_TRIPS + self.source.flows) * self.rtt_s if self.source.kind == "tcp" else 0.0

    @property
    def reference_bps(self) -> int:
        """Reference rate, multiplied by the weight."""
        return round(bits_per_second(self.terms["reference_rate"]) * float(self.terms["weight"]))

    @property
    def address(self) -> str:
        """IPv4 address."""
        return f"10.77.{self.number // 250}.{self.number % 250 + 1}"

    @property
    def mac(self) -> str:
        """Ethernet address, locally administered."""
        return f"02:fa:00:00:{self.number // 256:02x}:{self.number % 256:02x}"

    @property
    def port(self) -> int:
        """The server's port for this client."""
        return 5201 + self.number


SERVER_ADDRESS = "10.77.255.254"
SERVER_MAC = "02:fa:00:01:00:00"


@dataclass(frozen=True)
class Setup:
    """A scenario for the lab.

    Attributes:
        scenario: The canonical scenario.
        table: The canonical scenario as a table.
        clients: All users, by group.
    """

    scenario: str
    table: Table
    clients: Sequence[Client]

    @property
    def warmup_s(self) -> float:
        """Time before the measurement window."""
        return seconds(self.table["run"]["warmup"])

    @property
    def measure_s(self) -> float:
        """Length of the measurement window."""
        return seconds(self.table["run"]["measure"])

    @property
    def bottleneck_bps(self) -> int:
        """Rate of the bottleneck."""
        return round(bits_per_second(self.table["topology"]["bottleneck_rate"]))


def setup_of(scenario: str) -> Setup:
    """The set-up of a canonical scenario.

    Raises:
        UserError: The lab does not support the scenario.
    """
    table = json.loads(scenario)
    topology = table["topology"]
    if topology["kind"] != "one_sided_dumbbell":
        raise UserError(f'topology.kind: "{topology["kind"]}", the lab can build one_sided_dumbbell')
    if topology.get("bottleneck_schedule"):
        raise UserError("topology.bottleneck_schedule: the lab has links of constant rate")
    clients: list[Client] = []
    for index, group in enumerate(table["groups"]):
        kind: dict[str, Any] = {
            "group": index,
            "terms": {name: group[name] for name in ("reference_rate", "weight", "traffic_class")},
            "access": {name: group.get(f"access_{name}", topology[f"access_{name}"]) for name in ("rate", "delay")},
            "start_s": _start_s(index, group, table["run"]),
            "source": _source(index, group["sources"]),
        }
        kind["rtt_s"] = 2 * (seconds(topology["bottleneck_delay"]) + seconds(kind["access"]["delay"]))
        first = len(clients)
        clients += [Client(first + number, **kind) for number in range(group["users"])]
    if len(clients) > MOST_USERS:
        raise UserError(f"groups: {len(clients)} users, the lab can have {MOST_USERS}")
    return Setup(scenario, table, clients)


def _start_s(index: int, group: Table, run: Table) -> tuple[float, float]:
    earliest, latest = (seconds(group[name]) for name in ("start_from", "start_until"))
    if latest > max(seconds(run["warmup"]), AT_ONCE_S):
        raise UserError(
            f'groups[{index}].start_until: "{group["start_until"]}", in the lab all start before the window, '
            f'after run.warmup = "{run["warmup"]}"'
        )
    return earliest, latest


def _source(index: int, sources: Sequence[Table]) -> Source:
    if len(sources) != 1:
        raise UserError(f"groups[{index}].sources: {len(sources)} sources, the lab can have one for each user")
    source = sources[0]
    match source["kind"]:
        case "tcp":
            where = f"groups[{index}].sources[0]"
            if source.get("transfer") is not None:
                raise UserError(f"{where}.transfer: the lab has endless flows only")
            name = source["congestion_control"]
            if (control := IN_LINUX.get(name)) is None:
                has = ", ".join(IN_LINUX)
                raise UserError(
                    f'{where}.congestion_control: "{name}", the lab takes the kernel\'s TCP, which has {has}'
                )
            return Source("tcp", flows=source["flows"], congestion_control=control, ecn=source["ecn"])
        case "cbr" | "poisson" as kind:
            simulated = round(_number(source["packet_size"], "bytes"))
            if not PACKET_BYTES[0] <= simulated <= PACKET_BYTES[1]:
                size, (least, most) = source["packet_size"], PACKET_BYTES
                raise UserError(
                    f'groups[{index}].sources[0].packet_size: "{size}", the lab has packets of {least} to {most} B'
                )
            payload = simulated - SIMULATED_HEADER_BYTES
            # The same packet rate as in the simulator, whose packets are two bytes longer.
            rate = bits_per_second(source["rate"]) * (payload + UDP_HEADER_BYTES) / simulated
            return Source(kind, rate_bps=round(rate), payload_bytes=payload, jitter=source.get("jitter", 0.0))
        case kind:
            raise UserError(f'groups[{index}].sources[0].kind: "{kind}", the lab has tcp, cbr and poisson')


IN_LINUX = {"reno": "reno", "cubic": "cubic", "bbr1": "bbr", "dctcp": "dctcp", "vegas": "vegas"}
"""Congestion controls of the simulator that Linux has, too, with their names in Linux."""


def seconds(text: str) -> float:
    """Parses a time of a canonical scenario."""
    return _number(text, "s")


def bits_per_second(text: str) -> float:
    """Parses a rate of a canonical scenario."""
    return _number(text, "bit/s")


def size_bytes(text: str) -> int:
    """Parses a size of a canonical scenario."""
    return round(_number(text, "bytes"))


def _number(text: str, unit: str) -> float:
    if (number := parsed(text, unit)) is None:
        raise UserError(f"{text}: must be a number with one of the units {', '.join(UNITS[unit])}")
    return number
