"""The grid of cells in which the simulated profile `linux` and the kernel's TCP are compared.

It was fixed before the first comparison. The 24 combinations of controls, flows and rate are crossed with the three
round-trip times; buffer and queue rotate with them, so that each pair of levels of any two factors is in as many cells
as every other pair of these factors.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from ..rank_cells import OneLink, queue

MIXES = (("reno", "reno"), ("cubic", "cubic"), ("bbr1", "bbr1"), ("reno", "cubic"), ("cubic", "bbr1"), ("reno", "bbr1"))
"""Congestion controls of the first and of the second user."""
FLOWS = ((1, 1), (8, 1))
RATES_MBPS = (20, 100)
RTTS_MS = (10, 40, 100)
BUFFERS_BDP = (0.5, 1.0, 4.0)
QUEUES = ("droptail", "codel", "abc")

OF_PACED = {"bbr1": {"tso": "0 B"}}
"""The lab's hosts have no offloads: what is paced leaves segment by segment."""


@dataclass(frozen=True, slots=True)
class Cell(OneLink):
    """Two users on one link.

    Attributes:
        mix: Congestion control of each user.
        flows: Of each user.
        rate_mbps: Of the link.
        rtt_ms: Without queues.
        buffer_bdp: Limit of the queue in bandwidth-delay products.
        queue: Scheme.
    """

    mix: tuple[str, str]
    flows: tuple[int, int]
    rate_mbps: int
    rtt_ms: int
    buffer_bdp: float
    queue: str

    @property
    def packets(self) -> int:
        """Limit of the queue."""
        return self.packets_of(self.buffer_bdp)

    @property
    def name(self) -> str:
        """For people."""
        users = " and ".join(f"{flows} {control}" for control, flows in zip(self.mix, self.flows, strict=True))
        return f"{users}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms, {self.packets} packets, {self.queue}"

    def scenario(self) -> dict[str, Any]:
        """As the simulator and the lab read it."""
        return {
            "name": self.name,
            "run": {"warmup": "5 s", "measure": "15 s"},
            "topology": self.topology(),
            "tcp": {"profile": "linux"},
            "queue": queue(self.queue, self.packets),
            "groups": [
                {
                    "name": name,
                    "start_until": "0.1 s",
                    "sources": [
                        {"kind": "tcp", "flows": flows, "congestion_control": control} | OF_PACED.get(control, {})
                    ],
                }
                for name, control, flows in zip(("first", "second"), self.mix, self.flows, strict=True)
            ],
        }


def cells() -> list[Cell]:
    """All 72."""
    found = []
    for number, (mix, flows, rate) in enumerate(itertools.product(MIXES, FLOWS, RATES_MBPS)):
        for step, rtt in enumerate(RTTS_MS):
            buffer = BUFFERS_BDP[(step + number) % 3]
            queue = QUEUES[(2 * step + number // 3 + number) % 3]
            found.append(Cell(mix, flows, rate, rtt, buffer, queue))
    return found
