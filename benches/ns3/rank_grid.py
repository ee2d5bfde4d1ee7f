"""The cells in which schemes are ranked in Fairlane and in ns-3.

The cells, the schemes and the rule of ranking.py were fixed before the first comparison. Each mix of users is combined
with each round-trip time. Rate and buffer alternate, so that each mix has all three buffers and both rates. Each of the
six combinations of rate and buffer is in at least three cells.

Mixes are chosen to distinguish schemes. Equal users of New Reno, of CUBIC, and of both show the effect of queues alone.
Many users show the effect of short windows. In the other mixes a scheme has to protect users from eight flows of one
user, a shorter round-trip time, Poisson datagrams, or BBR.

The schemes are all schemes that ns-3 3.37 and Fairlane have, with the same parameters (discs.py), and ABC as in abc.cc.
ns-3 has no SFQ, and Fairlane has no FqCobalt.

ns-3 runs with the repairs and the exact round-trip times of `MENDED` in sender_grid.py.
"""

from __future__ import annotations

from ..rank_cells import Cell, Mixes, Users, crossed, queue
from .controls import CONTROLS, RECORDS, WITHOUT_TIMESTAMPS, Table
from .scenarios import NS3_BEHAVIOUR
from .sender_grid import RUN, SHARED

SCHEMES = ("droptail", "abc", "red", "ared", "pie", "codel", "cobalt", "fq_codel", "fq_pie")
RTTS_MS = (20, 50, 100)
RATES_MBPS = (10, 20)
BUFFERS_BDP = (1.0, 2.0, 4.0)

# CUBIC comes first: dumbbell.cc sets HyStart by the first control.
MIXES: Mixes = {
    "four New Reno": (Users(4, "reno"),),
    "four CUBIC": (Users(4, "cubic"),),
    "two CUBIC, two New Reno": (Users(2, "cubic"), Users(2, "reno")),
    "twenty New Reno": (Users(20, "reno"),),
    "one with 8 flows, four with 1": (Users(1, "reno", flows=8), Users(4, "reno")),
    "two RTTs": (Users(2, "reno"), Users(2, "reno", far=True)),
    "Poisson, three New Reno": (Users(1, "poisson"), Users(3, "reno")),
    "two BBR, two New Reno": (Users(2, "bbr1"), Users(2, "reno")),
}


def scenario(cell: Cell, scheme: str) -> Table:
    """Returns the Fairlane scenario of a cell with a scheme."""
    return {
        "name": f"{cell.name}, {scheme}",
        "run": RUN,
        "topology": cell.topology(),
        "tcp": SHARED | WITHOUT_TIMESTAMPS,
        "queue": queue(scheme, cell.packets) | NS3_BEHAVIOUR.get(scheme, {}),
        "groups": cell.groups(MIXES[cell.mix], "1 s", lambda control: CONTROLS[control].settings | RECORDS),
    }


def cells() -> list[Cell]:
    """All 24 cells."""
    return crossed(MIXES, RATES_MBPS, RTTS_MS, BUFFERS_BDP, pace=1)
