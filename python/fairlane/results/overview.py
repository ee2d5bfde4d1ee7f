"""A comparison in brief: a row for each queue, and one for the max-min shares that are the yardstick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlane.results.documents import Overview, OverviewGroup, OverviewLink, OverviewRow
from fairlane.results.intervals import PointEstimate

Json = dict[str, Any]


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
