"""A comparison in brief: a row for each queue, and one for the max-min shares that are the yardstick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from fairlane.results.intervals import PointEstimate

Json = dict[str, Any]


class OverviewTimes(TypedDict):
    """Times of packets."""

    mean_s: Annotated[PointEstimate, "Mean."]
    p99_s: Annotated[PointEstimate, "99th percentile."]


class OverviewGroup(TypedDict):
    """A user group under one queue."""

    name: Annotated[str, "Name."]
    throughput_bps: Annotated[PointEstimate, "Mean throughput per user (bit/s)."]
    one_way_delay: Annotated[OverviewTimes | None, "From host to receiver; null for the max-min shares."]
    lost_share: Annotated[PointEstimate | None, "Packets dropped over packets dropped or delivered."]


class OverviewDelay(TypedDict):
    """Queueing delay of one class."""

    traffic_class: Annotated[str, "BE or EF."]
    mean_s: Annotated[PointEstimate, "Mean."]
    p99_s: Annotated[PointEstimate, "99th percentile."]


class OverviewLink(TypedDict):
    """A link under one queue; max-min shares have a utilisation only."""

    name: Annotated[str, "Name."]
    utilisation: Annotated[PointEstimate, "Busy time over measured time."]
    queue_mean_packets: Annotated[PointEstimate | None, "Time-weighted mean queue in packets."]
    delay: Annotated[list[OverviewDelay], "Queueing delay of the classes that had packets."]
    dropped_share: Annotated[PointEstimate | None, "Packets dropped over packets that arrived."]
    state_bytes: Annotated[PointEstimate | None, "What the scheme remembers at the port at the end."]


class OverviewRow(TypedDict):
    """What matters of one queue."""

    queue: Annotated[str | None, "Scheme of the queue, or name of a variant; null for the weighted max-min shares."]
    groups: Annotated[list[OverviewGroup], "The user groups, in the order of the scenario."]
    jain_index: Annotated[PointEstimate | None, "Jain's index over all users; null if nothing got through."]
    throughput_ratio: Annotated[PointEstimate | None, "Throughput per user of the first group over the second's."]
    links: Annotated[list[OverviewLink], "The links."]
    edge_state_bytes_per_user: Annotated[PointEstimate | None, "What the markers of the edge remember at the end."]


class Overview(TypedDict):
    """One scenario under several queues, in brief."""

    confidence: Annotated[float, "Confidence level of the intervals."]
    max_min: Annotated[OverviewRow, "What weighted max-min fairness would give."]
    queues: Annotated[list[OverviewRow], "The queues, in the order asked for."]


def overview(documents: Mapping[str, Json]) -> Overview:
    """The overview of result documents of one scenario, by queue. There must be at least one.

    Max-min shares depend on the scenario and on what web sources drew, not on the queue: they are those of the first.
    """
    summaries = {queue: document["summary"] for queue, document in documents.items()}
    first = next(iter(summaries.values()))
    return {
        "confidence": first["confidence"],
        "max_min": _max_min(first),
        "queues": [_row(queue, summary) for queue, summary in summaries.items()],
    }


def _row(queue: str, summary: Json) -> OverviewRow:
    users = sum(group["users"] for group in summary["groups"])
    return {
        "queue": queue,
        "groups": [_group(group) for group in summary["groups"]],
        "jain_index": summary["jain_index"],
        "throughput_ratio": summary["throughput_ratio"],
        "links": [_link(link) for link in summary["links"]],
        "edge_state_bytes_per_user": _scaled(summary["edge_state"]["bytes"], 1 / users),
    }


def _group(group: Json) -> OverviewGroup:
    delay = group["path"]["one_way_delay"]
    return {
        "name": group["name"],
        "throughput_bps": group["throughput_bps"],
        "one_way_delay": {"mean_s": delay["mean_s"], "p99_s": delay["p99_s"]} if delay else None,
        "lost_share": group["path"]["lost_share"],
    }


def _link(link: Json) -> OverviewLink:
    return {
        "name": link["name"],
        "utilisation": link["utilisation"],
        "queue_mean_packets": link["queue_mean_packets"],
        "delay": link["delay"],
        "dropped_share": link["dropped_share"],
        "state_bytes": link["state"]["bytes"],
    }


def _max_min(summary: Json) -> OverviewRow:
    groups = summary["groups"]
    shares = [group["max_min_share_bps"] for group in groups]
    total = sum(group["users"] * share["mean"] for group, share in zip(groups, shares, strict=True))
    squares = sum(group["users"] * share["mean"] ** 2 for group, share in zip(groups, shares, strict=True))
    users = sum(group["users"] for group in groups)
    n = summary["replications"]
    ratio = shares[0]["mean"] / shares[1]["mean"] if len(shares) > 1 and shares[1]["mean"] > 0 else None
    return {
        "queue": None,
        "groups": [
            {"name": group["name"], "throughput_bps": share, "one_way_delay": None, "lost_share": None}
            for group, share in zip(groups, shares, strict=True)
        ],
        "jain_index": _exact(total**2 / (users * squares), n) if squares else None,
        "throughput_ratio": None if ratio is None else _exact(ratio, n),
        "links": [
            {
                "name": link["name"],
                "utilisation": link["max_min_utilisation"],
                "queue_mean_packets": None,
                "delay": [],
                "dropped_share": None,
                "state_bytes": None,
            }
            for link in summary["links"]
        ],
        "edge_state_bytes_per_user": None,
    }


def _exact(value: float, n: int) -> PointEstimate:
    """Of the means, not of the replications: without an interval."""
    return {"mean": value, "half_width": None, "n": n}


def _scaled(estimate: Json, factor: float) -> PointEstimate:
    half_width = estimate["half_width"]
    return {
        "mean": factor * estimate["mean"],
        "half_width": None if half_width is None else factor * half_width,
        "n": estimate["n"],
    }
