"""The cells in which schemes are ranked in the simulator and on real packets.

The cells, the schemes and the rule of ranking.py were fixed before the first comparison. Each mix of users is combined
with both round-trip times. Rate and buffer alternate, so that each mix has both rates and both buffers.

In one mix all users have the same CUBIC flows. Each of the other mixes has a user that schemes treat differently: eight
flows, BBR, twice the round-trip time, or Poisson datagrams.

The schemes cover each kind that the forwarder implements: drop-tail, labels from the edge, an AQM on the averaged
queue, two AQMs on the delay, and a queue per flow.
"""

from __future__ import annotations

from typing import Any

from ..rank_cells import Cell, Mixes, Users, crossed, queue

OF_PACED = {"bbr1": {"tso": "0 B"}}
"""Additional TCP keys of a congestion control. The lab's hosts have no offloads, so BBR sends segments one by one."""

SCHEMES = ("droptail", "abc", "red", "pie", "codel", "fq_codel")
RTTS_MS = (20, 60)
RATES_MBPS = (10, 20)
BUFFERS_BDP = (1.0, 3.0)
RUN = {"warmup": "3 s", "measure": "8 s"}

MIXES: Mixes = {
    "four CUBIC": (Users(4, "cubic"),),
    "one with 8 flows of Reno, two with 1": (Users(1, "reno", flows=8), Users(2, "reno")),
    "BBR and CUBIC": (Users(1, "bbr1"), Users(1, "cubic")),
    "two RTTs, Reno": (Users(2, "reno"), Users(2, "reno", far=True)),
    "Poisson, three Reno": (Users(1, "poisson"), Users(3, "reno")),
}


def scenario(cell: Cell, scheme: str) -> dict[str, Any]:
    """Returns a cell under a scheme, as a scenario for the simulator and the lab."""
    return {
        "name": f"{cell.name}, {scheme}",
        "run": RUN,
        "topology": cell.topology(),
        "tcp": {"profile": "linux"},
        "queue": queue(scheme, cell.packets),
        "groups": cell.groups(MIXES[cell.mix], "0.1 s", lambda control: dict(OF_PACED.get(control, {}))),
    }


def cells() -> list[Cell]:
    """All ten cells."""
    return crossed(MIXES, RATES_MBPS, RTTS_MS, BUFFERS_BDP, pace=2)
