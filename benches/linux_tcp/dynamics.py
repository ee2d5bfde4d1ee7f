"""Compares finite TCP transfers with those of a Linux kernel in virtual time: 61 cells (`make kernel` first).

In a cell the transfers are alone or next to other traffic, or the link or the application changes under way. A cell
agrees if all measures agree by the criterion of the bench `linux-tcp`. Finished runs are kept in the store of `--out`
and not repeated.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..harness import Report, bench, only, out
from ..rank_cells import WIRE_BITS
from . import grid
from .compare import PACKET_BYTES, Grid, Run, from_recording, run_all, which_kernel

ALONE, BULK, INCAST, WRITES, STEP = (
    "alone",
    "next to a bulk flow",
    "at once",
    "written in 5 s, next to a bulk flow",
    "through a burst of UDP",
)
OUTAGES = {f"through an outage of {length} s": length for length in (0.3, 2)}
PAUSES = {f"with a pause of {length} s": length for length in (0.5, 5)}
"""Lengths in s; they begin 2 s after the start of the transfer. In an outage the link sends 1 kbit/s."""
DOWN, UP = "across a step to a quarter of the rate", "across a step from a quarter of the rate"
"""These are 2 s after the start of the transfer."""
CONTROLS, RATES_MBPS, RTTS_MS = ("reno", "cubic", "bbr1"), (10, 100), (5, 40, 160)
SIZES = (1, 3, 10, 30, 100, 300, 1000)
"""Segments of a transfer."""
PAYLOAD = 1448
WARM_UP_S = 5
WRITE_RATE = "231.68 kbit/s"
"""Rate of an application that writes a segment every 50 ms."""
UDP_SHARE = 0.8
"""Rate of the burst as a fraction of the link's rate. The burst lasts from 2 s to 3 s after the start of the
transfer."""
TRANSFERS = "transfers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(grid.Cell):
    """Transfers of `flows[0]` users on one link, with congestion control `mix[0]`. A user has one transfer at a time.

    Attributes:
        kind: Other traffic.
        segments: Segments of each transfer.
        repeat: Transfers of each user, one after another.
    """

    kind: str
    segments: int
    repeat: int

    @property
    def name(self) -> str:
        """Description."""
        times = f"{self.repeat * self.flows[0]} x " if self.repeat * self.flows[0] > 1 else ""
        queue = f"{self.packets} packets, {self.scheme}{' with ECN' if self.ecn else ''}"
        return f"{times}{self.segments} {self.mix[0]} {self.kind}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms, {queue}"

    def queue(self) -> grid.Table:
        """The queue as in Linux. Linux's RED counts bytes, so the short ACKs of handshakes weigh less than segments."""
        table = super(Cell, self).queue()
        if self.scheme == "red":
            lengths = ("limit", "min_th", "max_th")
            table |= {name: f"{PACKET_BYTES * int(table[name].split()[0])} B" for name in lengths}
        return table

    def scenario(self) -> grid.Table:
        """Scenario for Fairlane."""
        source = {"kind": "tcp", "congestion_control": self.mix[0], "ecn": self.asks(self.mix[0])}
        sized = source | {"transfer": f"{PAYLOAD * self.segments} B", "repeat": self.repeat, "pause": "0.2 s"}
        event_s = WARM_UP_S + 2
        if self.kind == WRITES:
            sized["app_rate"] = WRITE_RATE
        if length_s := PAUSES.get(self.kind):
            period = {"app_limited_from": f"{event_s} s", "app_limited_until": f"{event_s + length_s:g} s"}
            sized |= {"app_rate": "0 bit/s", **period}
        spread_ms = 1 if self.kind == INCAST else 100
        first = {
            "name": TRANSFERS,
            "users": self.flows[0],
            "start_from": f"{WARM_UP_S} s",
            "start_until": f"{1000 * WARM_UP_S + spread_ms} ms",
            "sources": [sized],
        }
        others = [{"name": "bulk", "start_until": "0.1 s", "sources": [source]}] if self.flows[1] else []
        if self.kind == STEP:
            burst = {"kind": "cbr", "rate": f"{UDP_SHARE * self.rate_mbps:g} Mbit/s", "stop": f"{WARM_UP_S + 3} s"}
            start = {"start_from": f"{event_s} s", "start_until": f"{1000 * event_s + 1} ms"}
            others = [{"name": "burst", **start, "sources": [burst]}]
        run = {"warmup": f"{WARM_UP_S} s", "measure": f"{120 if self.flows[1] else 60} s"}
        table = {**super(Cell, self).scenario(), "run": run, "groups": [first, *others]}
        return {**table, "topology": {**table["topology"], **self._course(event_s)}}

    def _course(self, event_s: int) -> grid.Table:
        """Keys of the bottleneck whose rate changes."""
        rate, quarter = f"{self.rate_mbps} Mbit/s", f"{self.rate_mbps / 4:g} Mbit/s"
        if length_s := OUTAGES.get(self.kind):
            steps = [(event_s, "1 kbit/s"), (event_s + length_s, rate)]
        elif self.kind in (DOWN, UP):
            rate, after = (rate, quarter) if self.kind == DOWN else (quarter, rate)
            steps = [(event_s, after)]
        else:
            return {}
        schedule = [{"at": f"{time_s:g} s", "rate": after} for time_s, after in steps]
        return {"bottleneck_rate": rate, "bottleneck_schedule": schedule}


def measures(record: Run) -> dict[str, float]:
    """Compared measures of the transfers of a run."""
    group = next(group for group in record["groups"] if group["name"] == TRANSFERS)
    times, users = group["transfer_times"], len(group["user_goodput_bps"])
    return {
        "mean completion time, s": times["mean_s"],
        "95th percentile of it, s": times["p95_s"],
        "retransmissions": group["tcp"]["retransmissions"],
        "drops": sum(record["links"][0]["user_dropped_packets"][:users]),
        "completed transfers": times["completed"],
    }


def _cell(kind: str, segments: int, control: str, rate: int, rtt: int, **others: Any) -> Cell:
    bulk = int(kind in (BULK, WRITES))
    keys: dict[str, Any] = {"flows": (1, bulk), "scheme": "droptail", "repeat": 20 if segments <= 100 else 10, **others}
    pair = (control, control)
    return Cell(mix=pair, rate_mbps=rate, rtt_ms=rtt, buffer_bdp=1.0, kind=kind, segments=segments, **keys)


def cells() -> list[Cell]:
    """All 61 cells."""
    found = []
    for (row, segments), (column, kind), copy in itertools.product(
        enumerate(SIZES), enumerate((ALONE, BULK)), range(2)
    ):
        control = CONTROLS[(row + column + copy) % 3]
        rate, rtt = RATES_MBPS[(row + copy) % 2], RTTS_MS[(row // 2 + column + 2 * copy) % 3]
        found.append(_cell(kind, segments, control, rate, rtt))
    paths = tuple(zip(CONTROLS, (10, 100, 10), (5, 40, 160), strict=True))
    found += [_cell(WRITES, 100, control, rate, rtt, repeat=10) for control, rate, rtt in paths]
    for kind, (control, rate, rtt) in itertools.product((STEP, *OUTAGES, *PAUSES, DOWN, UP), paths):
        seconds = 4  # at the full rate
        found.append(_cell(kind, seconds * rate * 10**6 // WIRE_BITS, control, rate, rtt, repeat=1))
    for senders, (control, rate, rtt) in zip((8, 32, 64), paths, strict=True):
        many: dict[str, Any] = {"flows": (senders, 0), "repeat": 1}
        found.append(_cell(INCAST, 20, control, rate, rtt, **many))
        found.append(_cell(INCAST, 20, "dctcp", 110 - rate, min(rtt, 40), scheme="red", ecn=True, **many))
        found.append(_cell(INCAST, 20, control, rate, rtt, scheme="fq_codel", **many))
    return found


GRID = Grid(
    cells(),
    measures,
    {
        "transfers": lambda cell: cell.kind,
        "segments": lambda cell: str(cell.segments),
        "control": lambda cell: cell.mix[0],
        "rate": lambda cell: f"{cell.rate_mbps} Mbit/s",
        "round-trip time": lambda cell: f"{cell.rtt_ms} ms",
    },
    Path(__file__).with_name("recorded-dynamics.json"),
    "dynamics-",
)


@bench("linux-dynamics", page="")
@out("results/linux-dynamics")
@only
@which_kernel
@from_recording
def main(report: Report, out: Path, only: str, version: str | None, recorded: bool) -> None:
    """Runs the cells, and writes which cells agree."""
    run_all(report, GRID, out, only, version, recorded)
