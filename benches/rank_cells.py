"""Cells in which the ranks of schemes are compared. A cell has users on one link, in a simulator or forwarder.

Every user demands more than an equal share of the link, so an equal share is each user's max-min share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Table = dict[str, Any]

ACCESS_DELAY_MS = 0.1
WIRE_BITS = 12_000
ABC_SHARES = {"q_min": 12 / 24, "q_base": 20 / 24, "gamma": 16 / 24}
"""Thresholds of ABC as fractions of the queue limit, abc2018 Table 1."""
POISSON_SHARE = 0.75
"""Demand of an unresponsive user divided by the link rate. With four users this is three times the max-min share."""


@dataclass(frozen=True, slots=True)
class Users:
    """Users with the same behaviour.

    Attributes:
        users: Number of users.
        control: Congestion control, or `poisson`.
        flows: Flows per user.
        far: True if their round-trip time is twice that of the cell.
    """

    users: int
    control: str
    flows: int = 1
    far: bool = False


Mixes = Mapping[str, Sequence[Users]]


def queue(scheme: str, packets: int) -> Table:
    """Returns a queue with a limit in packets. For ABC, the thresholds of the paper are scaled to the limit."""
    shares = ABC_SHARES if scheme == "abc" else {}
    thresholds = {key: f"{share * packets:.6g} packets" for key, share in shares.items()}
    return {"scheme": scheme, "limit": f"{packets} packets", **thresholds}


class OneLink:
    """A cell whose users share one link, with its rate and its round-trip time without queues."""

    rate_mbps: int
    rtt_ms: int

    def packets_of(self, bdp: float) -> int:
        """Number of packets in a number of bandwidth-delay products."""
        return math.ceil(bdp * self.rate_mbps * 1e3 * self.rtt_ms / WIRE_BITS)

    def topology(self) -> Table:
        """Topology for Fairlane."""
        return {
            "bottleneck_rate": f"{self.rate_mbps} Mbit/s",
            "bottleneck_delay": f"{self.rtt_ms / 2 - ACCESS_DELAY_MS:g} ms",
            "access_delay": f"{ACCESS_DELAY_MS} ms",
            "access_rate": "1 Gbit/s",
            "access_limit": "10000 packets",
        }


@dataclass(frozen=True, slots=True)
class Cell(OneLink):
    """Users on one link.

    Attributes:
        mix: Users of the link.
        rate_mbps: Rate of the link.
        rtt_ms: Round-trip time without queues.
        buffer_bdp: Limit of the queue in bandwidth-delay products.
    """

    mix: str
    rate_mbps: int
    rtt_ms: int
    buffer_bdp: float

    @property
    def packets(self) -> int:
        """Limit of the queue."""
        return self.packets_of(self.buffer_bdp)

    @property
    def name(self) -> str:
        """Description."""
        return f"{self.mix}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms, {self.packets} packets"

    def worst_share(self, rates_bps: Sequence[float]) -> float:
        """Smallest rate of a user relative to its max-min share."""
        return min(rates_bps) * len(rates_bps) / (self.rate_mbps * 1e6)

    def groups(self, mix: Sequence[Users], start_until: str, settings: Callable[[str], Table]) -> list[Table]:
        """Groups of a mix.

        Args:
            mix: Users.
            start_until: Latest start of a flow.
            settings: Returns the source's keys for a congestion control.
        """
        return [
            {"name": f"group{number}", "users": users.users, "start_until": start_until}
            | ({"access_delay": f"{ACCESS_DELAY_MS + self.rtt_ms / 2:g} ms"} if users.far else {})
            | {"sources": [self._source(users, settings)]}
            for number, users in enumerate(mix)
        ]

    def _source(self, users: Users, settings: Callable[[str], Table]) -> Table:
        if users.control == "poisson":
            return {"kind": "poisson", "rate": f"{POISSON_SHARE * self.rate_mbps:g} Mbit/s"}
        sender: Table = {"kind": "tcp", "flows": users.flows, "congestion_control": users.control}
        return sender | settings(users.control)


def crossed(
    mixes: Mixes, rates_mbps: Sequence[int], rtts_ms: Sequence[int], buffers_bdp: Sequence[float], pace: int
) -> list[Cell]:
    """Combines mixes with round-trip times. The rate changes with every cell, and the buffer after `pace` mixes."""
    return [
        Cell(mix, rates_mbps[(m + r) % len(rates_mbps)], rtt, buffers_bdp[(m // pace + r) % len(buffers_bdp)])
        for (m, mix), (r, rtt) in itertools.product(enumerate(mixes), enumerate(rtts_ms))
    ]
