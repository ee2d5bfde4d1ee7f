"""Computes measures of a run from its record: the numbers that criteria average, and some others.

Measures do not depend on the order or the names of users and groups.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairlane.base.quantities import parsed
from fairlane.evaluate.suite import Phase, SuiteScenario
from fairlane.results.metrics import CRITERIA, jain, worst_of

Record = Mapping[str, Any]
Row = dict[str, float | None]

UDP_HEADERS_BYTES = 30
"""Headers of a datagram: PPP (2 bytes), IP (20) and UDP (8)."""
WITHIN = 0.1
"""Shares have settled if their distance from the target is at most this fraction of the target."""
SMOOTHED_S = 1.0
"""Window over which shares are averaged while they settle."""
UNFINISHED = 0.05
"""Maximum fraction of unfinished transfers for which a 95th percentile exists."""

_OF_RECORDS = [metric for metric in CRITERIA.values() if metric.scope != "evaluation"]
"""Criteria that are fields of run records."""

COLUMNS = (
    "share_worst",
    "share_mean",
    "share_p1",
    "jain",
    "jain_flows",
    "delay_mean_s",
    "delay_p99_s",
    "completion",
    "completed_share",
    "slowdown_mean",
    "slowdown_p95",
    "slowdown_p99",
    "use",
    "lost_share",
    "marked_share",
    "convergence_s",
    "worst_mos",
    "state_core_bytes",
    "state_edge_bytes",
    *(metric.name for metric in _OF_RECORDS),
)
"""Columns of measured runs, without those for harm."""


def measures(one: SuiteScenario, canonical: Record, run: Record) -> Row:
    """Columns of a run; None for missing values.

    Args:
        one: Scenario with its judged users and the phases in which shares should settle.
        canonical: Canonical scenario of the run.
        run: Record of the run.
    """
    pairs = list(zip(canonical["groups"], run["groups"], strict=True))
    judged = [(group, record) for group, record in pairs if not one.judged or record["name"] in one.judged]
    shares = [share for group, record in judged for share in _shares(group, record)]
    delays = [found for group, record in judged if (found := _delay(group, record))]
    times = [record["transfer_times"] for _, record in judged if record.get("transfer_times")]
    users = sum(record["users"] for _, record in pairs)
    of_judged = {**run, "groups": [record for _, record in judged]}
    return dict.fromkeys(COLUMNS) | {
        # A user with more than its share counts as 1.
        "share_worst": min((min(share, 1.0) for share in shares), default=None),
        "share_mean": math.fsum(shares) / len(shares) if shares else None,
        "share_p1": min(percentile(shares, 0.01), 1.0) if shares else None,
        "jain": jain(shares) if shares else None,
        "jain_flows": run.get("jain_index_flows"),
        "delay_mean_s": max((mean for mean, _ in delays), default=None),
        "delay_p99_s": max((p99 for _, p99 in delays), default=None),
        **_transfers(times),
        "use": _use(run),
        **_losses([record["path"] for _, record in judged]),
        "convergence_s": _convergence(one.phases, run),
        "worst_mos": min(
            (record["voip"]["worst_mos"] or 1.0 for _, record in judged if record.get("voip")), default=None
        ),
        "state_core_bytes": max((link["state"]["bytes"] for link in run["links"] if "state" in link), default=None),
        "state_edge_bytes": run["edge_state"]["bytes"] / users,
        **{metric.name: worst_of(metric, of_judged) for metric in _OF_RECORDS},
    }


def column(key: str) -> str:
    """The column that a criterion averages."""
    metric = CRITERIA[key]
    return metric.path[0] if metric.scope == "evaluation" else metric.name


def goodput(run: Record, group: str) -> float:
    """Mean goodput of a user of a group (bit/s)."""
    return float(next(record["goodput_bps"] for record in run["groups"] if record["name"] == group))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value such that at least the fraction `share` of the values does not exceed it."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


def _shares(group: Record, record: Record) -> list[float]:
    """Goodput of each user divided by the payload of its max-min share."""
    due = record["max_min_share_bps"] * max(map(_payload_share, group["sources"]))
    return [goodput / due for goodput in record["user_goodput_bps"]] if due > 0 else []


def _payload_share(source: Record) -> float:
    """Payload divided by bytes on the wire, for full packets."""
    if "segment_payload" in source:
        return float(source["segment_payload"] / (source["segment_payload"] + source["header_bytes"]))
    size = parsed(source["packet_size"], "bytes") if "packet_size" in source else None
    return 1 - UDP_HEADERS_BYTES / size if size else 1.0


def _delay(group: Record, record: Record) -> tuple[float, float] | None:
    """Mean and 99th percentile in s of a group's one-way delay, minus half of the group's round-trip time."""
    if (found := record["path"].get("one_way_delay")) is None:
        return None
    propagation_s = (parsed(group["rtt"], "s") or 0.0) / 2
    return max(found["mean_s"] - propagation_s, 0.0), max(found["p99_s"] - propagation_s, 0.0)


def _transfers(times: Sequence[Record]) -> Row:
    """Measures of the judged group with the slowest transfers."""
    if not times or not sum(one["started"] for one in times):
        return {}
    completed_share = min(one["completed"] / one["started"] for one in times if one["started"])
    worst: Row = {"completed_share": completed_share}
    slowdowns = [one["slowdown"] for one in times if one.get("slowdown")]
    for quantity in ("mean", "p95", "p99") if slowdowns else ():
        worst[f"slowdown_{quantity}"] = max(found[quantity] for found in slowdowns)
    p95 = worst.get("slowdown_p95")
    worst["completion"] = 1 / p95 if p95 and completed_share >= 1 - UNFINISHED else 0.0
    return worst


def _use(run: Record) -> float:
    """Smallest quotient over all links of a link's utilisation and its utilisation under max-min shares; at most 1."""
    return min(
        min(link["utilisation"] / link["max_min_utilisation"], 1.0) if link["max_min_utilisation"] else 1.0
        for link in run["links"]
    )


def _losses(paths: Sequence[Record]) -> Row:
    delivered = sum(path["delivered_packets"] for path in paths)
    dropped = sum(path["dropped_packets"] for path in paths)
    marked = sum(path["marked_packets"] for path in paths)
    return {
        "lost_share": dropped / (delivered + dropped) if delivered + dropped else None,
        "marked_share": marked / delivered if delivered else None,
    }


def _convergence(phases: Sequence[Phase], run: Record) -> float | None:
    """Time until shares have settled, averaged over the phases."""
    if not phases:
        return None
    series = run["series"]
    rates = {group["name"]: group["throughput_bps"] for group in series["groups"]}
    return math.fsum(settling_s(phase, rates, series["interval_s"]) for phase in phases) / len(phases)


def settling_s(phase: Phase, rates: Mapping[str, Sequence[float]], bin_s: float) -> float:
    """Time from the start of a phase until the groups' shares reach their targets and stay there.

    Args:
        phase: Times and target shares.
        rates: Throughput of each group in bins from time 0 on.
        bin_s: Length of a bin.
    """
    first, last = round(phase.from_s / bin_s), round(phase.to_s / bin_s)
    width = round(SMOOTHED_S / bin_s)
    sums = {name: list(itertools.accumulate(rates[name][first:last], initial=0.0)) for name in phase.shares}
    wanted = {name: share / math.fsum(phase.shares.values()) for name, share in phase.shares.items()}
    # Search backwards: the last window that misses a target marks the end of settling.
    windows = range(last - first - width, -1, -1)
    for start in windows:
        window = {name: of[start + width] - of[start] for name, of in sums.items()}
        total = math.fsum(window.values())
        if not total or any(abs(window[name] / total - share) > WITHIN * share for name, share in wanted.items()):
            return phase.to_s - phase.from_s if start == windows[0] else (start + 1) * bin_s
    return 0.0
