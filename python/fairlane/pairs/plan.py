"""Plans the pairs: two users with one flow each over one bottleneck."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import UserError, check_kind
from fairlane.base.text import near, quoted
from fairlane.runs.run import queue_names
from fairlane.simulate.catalogue import congestion_controls
from fairlane.simulate.external_control import asks_for_every_mark
from fairlane.simulate.replications import replications as count
from fairlane.simulate.scenario import Scenario, group, tcp
from fairlane.store.point import Identity
from fairlane.sweeps.plan import Plan, Point
from fairlane.sweeps.stop import Stop

QUEUES = ("droptail", "codel", "fq_codel", "dualpi2", "abc", "csfq")
"""Default schemes: plain FIFO, AQM without fairness, queue per flow, separate queue for scalable senders, and two
schemes that share the link by labels."""
ROW, COLUMN = "row", "column"
"""The groups of a pair."""


@dataclass(frozen=True)
class PlannedPairs:
    """Pairs as a sweep. Under each queue, each sender is paired with itself and with all after it in `senders`."""

    senders: Sequence[str]
    queues: Sequence[str]
    plan: Plan


def plan(
    senders: Iterable[str] | None, queues: Iterable[str], given: Mapping[str, Any], settings: Mapping[str, Any]
) -> PlannedPairs:
    """Checks names and settings and creates the scenario of every pair.

    Args:
        senders: Congestion controls, also registered controls; all of the catalogue if None.
        queues: Schemes.
        given: Keys of the scenario; None leaves a key unchanged.
        settings: Further keys.
    """
    names, schemes = _sender_names(senders), _scheme_names(queues)
    for key in settings:
        if key == "queue.scheme":
            raise UserError(f"{key}: has no effect, the queues name the schemes")
    keys = {key: value for key, value in given.items() if value is not None} | dict(settings)
    points: list[Point] = []
    for row, column in itertools.combinations_with_replacement(names, 2):
        base = _scenario(row, column).changed(keys).canonical()
        for scheme in schemes:
            scenario = _fairlane.with_queue(base, scheme)
            at = {"queue": scheme, ROW: row, COLUMN: column}
            points.append(Point(len(points), at, scenario, Identity.within_process(scenario)))
    return PlannedPairs(
        names, schemes, Plan("pairs", points, ["queue", ROW, COLUMN], Stop.after(count(points[0].scenario)))
    )


def _scenario(row: str, column: str) -> Scenario:
    """Scenario of a pair on a link of 25 Mbit/s with an RTT of 40 ms. The buffer is the bandwidth-delay product."""
    return Scenario(
        "pairs",
        *(
            group(name, _flow(sender), rtt="40 ms", start_until="1 s")
            for name, sender in ((ROW, row), (COLUMN, column))
        ),
        queue={"scheme": "droptail", "limit": "83 packets"},
        topology={"bottleneck_rate": "25 Mbit/s", "bottleneck_delay": "5 ms"},
        tcp={"profile": "linux"},
        run={"warmup": "5 s", "measure": "20 s", "replications": 5},
    )


def _flow(sender: str) -> dict[str, Any]:
    """Senders that respond to every mark request ECN; the others do not, like a Linux host by default."""
    marks: dict[str, Any] = {"ecn": True} if asks_for_every_mark(sender) else {}
    return tcp(congestion_control=sender, **marks)


def _scheme_names(queues: Iterable[str]) -> list[str]:
    try:
        return queue_names(queues)
    except UserError as error:
        # Name the option, since senders have names as well.
        raise UserError(f"queues: {str(error).removeprefix('queues: ')}") from error


def _sender_names(senders: Iterable[str] | None) -> list[str]:
    catalogue = [control["name"] for control in congestion_controls()]
    if senders is None:
        return catalogue
    known = catalogue + _fairlane.registered_congestion_controls()
    check_kind("senders", senders, (Iterable,), "a list of names of congestion controls")
    names = [senders] if isinstance(senders, str) else list(senders)
    for name in names:
        if name not in known:
            raise UserError(f"senders: {quoted(name)} is no congestion control; {near(name, known)}")
    if not names or len(set(names)) < len(names):
        raise UserError(f"senders: {','.join(names) or 'nothing'} given; name each sender once, as in cubic,bbr1")
    return names
