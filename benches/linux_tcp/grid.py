"""The grid of cells in which the simulator and a Linux kernel in virtual time are compared.

The grid was fixed before the first comparison. Every queue is combined with every mix of controls, with 1 flow against
1 flow and with 8 flows against 1. Rate, round-trip time, buffer and ECN alternate over these combinations, so that each
pair of their values occurs in about the same number of cells. The grid includes the 48 cells with drop-tail and CoDel
of an older comparison in real time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from ..rank_cells import OneLink

Table = dict[str, Any]

MIXES = (
    ("reno", "reno"),
    ("cubic", "cubic"),
    ("bbr1", "bbr1"),
    ("vegas", "vegas"),
    ("dctcp", "dctcp"),
    ("reno", "cubic"),
    ("cubic", "bbr1"),
    ("reno", "bbr1"),
    ("vegas", "cubic"),
)
"""Congestion controls of the first and of the second user."""
FLOWS = ((1, 1), (8, 1))
RATES_MBPS = (10, 100, 1000)
RTTS_MS = (5, 40, 160)
BUFFERS_BDP = (0.5, 1.0, 4.0)
AS_IN_LINUX: dict[str, Table] = {
    "droptail": {},
    "red": {"profile": "linux", "mean_packet": "1500 B", "max_p": 0.1},
    "choke": {"profile": "linux"},
    "sfb": {
        "profile": "linux",
        "increment": 0.0005,
        "decrement": 0.00005,
        "rehash": "600 s",
        "rehash_most": "600 s",
        "warm_up": "60 s",
        "penalty_rate": "120 kbit/s",
        "penalty_burst": "30000 B",
    },
    "codel": {"root": "newton"},
    "fq_codel": {"root": "newton", "short_queue": "port"},
    "pie": {"profile": "linux"},
    "fq_pie": {"profile": "linux"},
    "cake": {"isolation": "flow", "quantum": "1514 B", "starts_at_once": True},
    "sfq": {},
    "htb": {"leaf": "droptail"},
}
"""Parameters that make each scheme behave as in Linux, for the schemes that Linux implements."""
ALWAYS_ECN, OPTIONAL_ECN = ("sfb", "cake"), ("red", "codel", "fq_codel", "pie", "fq_pie")
LEAST_PACKETS, MOST_PACKETS = {"choke": 24}, {"sfq": 127 * 128}
"""Minimum and maximum limit of a queue."""
WINDOWS = {10: (5, 15), 20: (5, 15), 100: (5, 15), 1000: (2, 6)}
"""Warm-up and measured time by rate, in s."""


@dataclass(frozen=True, slots=True)
class Cell(OneLink):
    """Two users on one link.

    Attributes:
        mix: Congestion control of each user.
        flows: Flows of each user.
        rate_mbps: Rate of the link.
        rtt_ms: Round-trip time without queues.
        buffer_bdp: Limit of the queue in bandwidth-delay products.
        scheme: Scheme of the queue.
        ecn: True if senders request ECN and the queue marks.
    """

    mix: tuple[str, str]
    flows: tuple[int, int]
    rate_mbps: int
    rtt_ms: int
    buffer_bdp: float
    scheme: str
    ecn: bool = False

    @property
    def packets(self) -> int:
        """Limit of the queue."""
        packets = max(LEAST_PACKETS.get(self.scheme, 8), self.packets_of(self.buffer_bdp))
        return min(packets, MOST_PACKETS.get(self.scheme, packets))

    @property
    def name(self) -> str:
        """Description."""
        users = " and ".join(f"{flows} {control}" for control, flows in zip(self.mix, self.flows, strict=True))
        queue = f"{self.packets} packets, {self.scheme}{' with ECN' if self.ecn else ''}"
        return f"{users}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms, {queue}"

    def queue(self) -> Table:
        """Returns the queue with the settings of Linux."""
        table: Table = {"scheme": self.scheme, "limit": f"{self.packets} packets", **AS_IN_LINUX[self.scheme]}
        if self.scheme in OPTIONAL_ECN:
            table["ecn"] = self.ecn
        if self.scheme == "red":
            least = min(max(4, self.packets // 12), 900)  # red_check_params: 22 bits of bytes
            table |= {"min_th": f"{least} packets", "max_th": f"{3 * least} packets"}
        return table

    def scenario(self) -> Table:
        """Scenario for Fairlane."""
        warmup_s, measure_s = WINDOWS[self.rate_mbps]
        return {
            "name": self.name,
            "run": {"warmup": f"{warmup_s} s", "measure": f"{measure_s} s"},
            "topology": {**self.topology(), "access_rate": "10 Gbit/s"},
            "tcp": {"profile": "linux"},
            "queue": self.queue(),
            "groups": [
                {
                    "name": name,
                    "start_until": "0.1 s",
                    "sources": [
                        {"kind": "tcp", "flows": flows, "congestion_control": control, "ecn": self.asks(control)}
                    ],
                }
                for name, control, flows in zip(("first", "second"), self.mix, self.flows, strict=True)
            ],
        }

    def asks(self, control: str) -> bool:
        """Returns true if a sender requests ECN; DCTCP always requests it."""
        return self.ecn or control == "dctcp"


def older() -> list[Cell]:
    """Returns 48 of the 72 cells of the older comparison in real time: those whose scheme Linux implements."""
    mixes = (("reno",) * 2, ("cubic",) * 2, ("bbr1",) * 2, ("reno", "cubic"), ("cubic", "bbr1"), ("reno", "bbr1"))
    found = []
    for number, (mix, flows, rate) in enumerate(itertools.product(mixes, FLOWS, (20, 100))):
        for step, rtt in enumerate((10, 40, 100)):
            scheme = ("droptail", "codel", "abc")[(2 * step + number // 3 + number) % 3]
            if scheme != "abc":
                found.append(Cell(mix, flows, rate, rtt, BUFFERS_BDP[(step + number) % 3], scheme))
    return found


def rotated() -> list[Cell]:
    """Every queue with every mix: 198 cells."""
    found = []
    for (row, scheme), (column, (mix, flows)) in itertools.product(
        enumerate(AS_IN_LINUX), enumerate(itertools.product(MIXES, FLOWS))
    ):
        rate = RATES_MBPS[(row + column) % 3]
        rtt = RTTS_MS[(row + column // 3) % 3]
        buffer = BUFFERS_BDP[(row // 3 + column // 2 + column) % 3]
        marks = scheme in ALWAYS_ECN
        ecn = marks or (scheme in OPTIONAL_ECN and (row + column + column // 2) % 2 == 0)
        found.append(Cell(mix, flows, rate, rtt, buffer, scheme, ecn))
    return found


def cells() -> list[Cell]:
    """All 246 cells."""
    return older() + rotated()
