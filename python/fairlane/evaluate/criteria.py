"""What schemes are judged by. Every criterion stands for itself: there is no score of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Better = Literal["high", "low"]


@dataclass(frozen=True, slots=True)
class Criterion:
    """Something that is measured of a scheme.

    Attributes:
        key: Name in documents, in `--require`, in the files of a suite.
        title: For people, with what it is a share of.
        short: Head of a column.
        unit: Unit; empty for a share.
        better: Whether high or low is better.
        measure: Column of the measured runs that it is the mean of.
        doc: What it is, and of whom.
        source: Where it comes from.
    """

    key: str
    title: str
    short: str
    unit: str
    better: Better
    measure: str
    doc: str
    source: str


HARM = "harm"
COST_CORE, COST_EDGE = "cost_core", "cost_edge"
STATE_CORE, STATE_EDGE = "state_core", "state_edge"

_LIST = (
    Criterion(
        "worst_share",
        "share of the worst user",
        "worst share",
        "",
        "high",
        "share_worst",
        "Goodput of the judged user who fares worst, over what payload its weighted max-min share of the link carries; "
        "1 at most. Of users, whatever their flows: who shares among flows by default loses where users have many, and "
        "enters a second time with `share_per=user`.",
        "RFC 5166; max-min: Bertsekas, Gallager, Data Networks, 6.5.2",
    ),
    Criterion(
        "jain",
        "Jain's index of the users",
        "Jain",
        "",
        "high",
        "jain",
        "Jain's index of the same shares of all judged users.",
        "Jain, Chiu, Hawe, 1984; RFC 5166",
    ),
    Criterion(
        "jain_flows",
        "Jain's index of the flows",
        "Jain, flows",
        "",
        "high",
        "jain_flows",
        "Jain's index of the throughput of all long TCP flows, whoever their user is: what schemes that share among "
        "flows aim at, and those that share among users give up.",
        "the same",
    ),
    Criterion(
        HARM,
        "harm to CUBIC",
        "harm",
        "",
        "low",
        HARM,
        "What a flow of CUBIC loses beside another sender, over its goodput alone, above what it loses beside its own "
        "kind; 0 where it loses no more.",
        "Ware et al., Beyond Jain's Fairness Index, HotNets 2019",
    ),
    Criterion(
        "delay_p99",
        "99th percentile of the delay",
        "delay p99",
        "s",
        "low",
        "delay_p99_s",
        "99th percentile of the one-way delay of the judged group that waits longest, propagation left out.",
        "RFC 7928, 2.7",
    ),
    Criterion(
        "completion",
        "speed of the slowest transfers",
        "transfers",
        "",
        "high",
        "completion",
        "Time that a transfer takes on an empty link over the time that it takes, at the 95th percentile of the times; "
        "1 is an empty link, 0 if more than one in twenty does not finish.",
        "RFC 7928; RFC 5166",
    ),
    Criterion(
        "use",
        "use of the link",
        "use",
        "",
        "high",
        "use",
        "Time in which the least used link is busy, over that under max-min shares.",
        "RFC 5166",
    ),
    Criterion(
        "convergence",
        "time until shares settle",
        "settles",
        "s",
        "low",
        "convergence_s",
        "Time from a change until the shares of all groups stay within 10 % of what they are to be, as means of a "
        "second; the whole time up to the next change if they never do.",
        "RFC 5166",
    ),
    Criterion(
        "cheats",
        "share of the worst honest user beside a cheat",
        "cheats",
        "",
        "high",
        "share_worst",
        "As the share of the worst user, of the honest ones beside a user who plays the scheme.",
        "our choice",
    ),
    Criterion(
        "many_users",
        "share of the worst hundredth of many users",
        "many users",
        "",
        "high",
        "share_p1",
        "First percentile of the users' shares, from 10 to 10 000 users.",
        "our choice",
    ),
    Criterion(
        STATE_CORE,
        "state in the core, 10 000 users",
        "core state",
        "B",
        "low",
        "state_core_bytes",
        "Bytes that the port remembers apart from packets while 10 000 users send: variables, parameters, records.",
        "our choice",
    ),
    Criterion(
        STATE_EDGE,
        "state at the edge for each user",
        "edge state",
        "B",
        "low",
        "state_edge_bytes",
        "Bytes that the markers of the edge remember, over the users.",
        "the same",
    ),
    Criterion(
        COST_CORE,
        "instructions in the core",
        "core cost",
        "",
        "low",
        COST_CORE,
        "Instructions for each packet at the port with 1 000 flows, counted by callgrind for default parameters.",
        "docs/costs.md",
    ),
    Criterion(
        COST_EDGE,
        "instructions at the edge",
        "edge cost",
        "",
        "low",
        COST_EDGE,
        "The same of the marker; 0 without one.",
        "docs/costs.md",
    ),
)

CRITERIA: Mapping[str, Criterion] = {criterion.key: criterion for criterion in _LIST}
"""By key."""
