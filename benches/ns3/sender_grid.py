"""The grid of cells in which Fairlane's BBR, DCTCP, Vegas and LEDBAT are compared with those of ns-3.

The grid was fixed before the first comparison. Each control is combined with each mix of users at each round-trip time.
Rate and buffer alternate, so that each control has all six combinations of rate and buffer, and each round-trip time
has both rates.

A mix with a single flow shows how a control uses a path. Four users show how flows of a control share. A competing New
Reno flow shows how much the control leaves to others. Two round-trip times show how much a control favours short ones.

Buffers have 0.5 (too small), 1 (the rule of thumb) or 4 (deep) bandwidth-delay products of the shorter round-trip time.
DCTCP runs with ECN over three other queues: a step mark (RFC 8257 3.1; here RED that marks all or nothing) with a low
threshold, a step mark with a high threshold, and CoDel.

All cells are compared twice. `AS_IS` is ns-3 3.37 as installed. `MENDED` has exact round-trip times, and no faults that
are visible in the source of ns-3 and can be repaired from outside (mended.h).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ..rank_cells import ACCESS_DELAY_MS, OneLink
from .controls import CONTROLS, RECORDS, WITHOUT_TIMESTAMPS, Table

GRID_CONTROLS = ("bbr1", "dctcp", "vegas", "ledbat")
MIXES = ("alone", "four users", "with New Reno", "two RTTs")
RTTS_MS = (10, 40, 100)
RATES_MBPS = (10, 50)
BUFFERS_BDP = (0.5, 1.0, 4.0)
MARKS_BDP = (0.25, 1.0, None)
"""Thresholds of the step mark in bandwidth-delay products; None means CoDel."""
MARKED_LIMIT_BDP = 8
"""Limit of a queue that marks; it is so long that drops are rare."""

AS_IS: Table = {}
MENDED: Table = {"mended": 1, "rttGain": 1}
"""Options of `dumbbell`. With a gain of 1, ns-3's smoothed RTT is the last sample. This is necessary, since ns-3 passes
the smoothed RTT to controls that need samples (tcp-socket-base.cc EstimateRtt; up to 3.40, no longer in 3.44)."""

RUN: Table = {"warmup": "5 s", "measure": "15 s"}
"""The runs include one or two ProbeRTTs of BBR and at least 75 round trips. Longer runs would take too long in ns-3."""
SHARED: Table = {"profile": "ns3", "socket_buffer": "8 MiB"}
"""Defaults of ns-3: an initial window of 10 segments, SACK, PRR, an ACK per two segments, and a minimum RTO of 1 s. The
receive window never limits a sender."""


@dataclass(frozen=True, slots=True)
class Cell(OneLink):
    """Users on one link.

    Attributes:
        control: Congestion control.
        mix: Users of the link.
        rate_mbps: Rate of the link.
        rtt_ms: Round-trip time without queues; twice as long for the second user of "two RTTs".
        buffer_bdp: Limit of a queue that drops, or threshold of a queue that marks, in bandwidth-delay products; None
            for CoDel.
    """

    control: str
    mix: str
    rate_mbps: int
    rtt_ms: int
    buffer_bdp: float | None

    @property
    def name(self) -> str:
        """Description."""
        return f"{self.control}, {self.mix}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms, {self._queue_name()}"

    def scenario(self, *, mended: bool) -> Table:
        """Returns the scenario. For a repaired ns-3, which has exact round-trip times, packets have no timestamps."""
        exact = mended and not CONTROLS[self.control].needs_timestamps
        tcp = SHARED | ({"ecn": True} if self._marks else {}) | (WITHOUT_TIMESTAMPS if exact else {})
        return {
            "name": self.name,
            "run": RUN,
            "topology": self.topology(),
            "tcp": tcp,
            "queue": self._queue(),
            "groups": list(self._groups()),
        }

    @property
    def _marks(self) -> bool:
        return self.control == "dctcp"

    def _queue_name(self) -> str:
        if self.buffer_bdp is None:
            return "codel"
        return f"{self.packets_of(self.buffer_bdp)} packets" + (", step mark" if self._marks else "")

    def _queue(self) -> Table:
        if not self._marks:
            return {"scheme": "droptail", "limit": f"{self.packets_of(self.buffer_bdp or 1)} packets"}
        limit = {"limit": f"{self.packets_of(MARKED_LIMIT_BDP)} packets", "ecn": True}
        if self.buffer_bdp is None:
            return {"scheme": "codel"} | limit
        threshold = self.packets_of(self.buffer_bdp)
        step = {"min_th": f"{threshold} packets", "max_th": f"{threshold + 1} packets", "max_p": 1.0, "weight": 1.0}
        off = {"gentle": False, "wait": False, "hard_drop": False, "forced_restarts": False}
        return {"scheme": "red"} | limit | step | off

    def _groups(self) -> list[Table]:
        match self.mix:
            case "alone":
                return [self._group("users", self.control)]
            case "four users":
                return [self._group("users", self.control) | {"users": 4}]
            case "with New Reno":
                return [self._group("users", self.control), self._group("reno", "reno")]
            case _:
                far = {"access_delay": f"{ACCESS_DELAY_MS + self.rtt_ms / 2:g} ms"}
                return [self._group("near", self.control), self._group("far", self.control) | far]

    def _group(self, name: str, control: str) -> Table:
        settings = CONTROLS[control].settings
        if control == "reno":
            # All flows have the sender of ns-3, which uses PRR also after marks (EnterCwr).
            settings = settings | RECORDS
        source = {"kind": "tcp", "congestion_control": control} | settings
        return {"name": name, "start_until": "1 s", "sources": [source]}


def cells() -> list[Cell]:
    """All 48 cells."""
    found = []
    for (c, control), (m, mix), (r, rtt) in itertools.product(
        enumerate(GRID_CONTROLS), enumerate(MIXES), enumerate(RTTS_MS)
    ):
        turn = c + m + r
        buffers = MARKS_BDP if control == "dctcp" else BUFFERS_BDP
        found.append(Cell(control, mix, RATES_MBPS[turn % 2], rtt, buffers[turn % 3]))
    return found
