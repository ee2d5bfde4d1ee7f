"""Overview of a comparison: a row for each queue, and one for the max-min shares as reference.

The rows have the metrics that the catalogue marks for an overview.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlane.results.intervals import PointEstimate
from fairlane.results.metrics import shown
from fairlane.results.summary import key

Json = dict[str, Any]

RUN = sorted((metric for metric in shown("overview", "run") if len(metric.path) == 1), key=key)
GROUP = sorted(
    # A row has no room for round-trip times.
    (metric for metric in shown("overview", "group") if "rtt" not in metric.path),
    key=lambda metric: len(metric.path) == 2,
)
LINK = sorted(shown("overview", "link"), key=lambda metric: metric.path[0] == "state")
PER_USER = "edge_state_bytes_per_user"


def overview(documents: Mapping[str, Json]) -> Json:
    """The overview of result documents of one scenario, by queue. There must be at least one.

    Max-min shares depend on the scenario and the web sources' random draws, not on the queue, so the shares in the
    first document are used.
    """
    rows = [_row(queue, document["summary"]) for queue, document in documents.items()]
    first: Json = next(iter(documents.values()))["summary"]
    return {"confidence": first["confidence"], "max_min": _max_min(first, rows[0]), "queues": rows}


def _row(queue: str, summary: Json) -> Json:
    users = sum(group["users"] for group in summary["groups"])
    return {
        "queue": queue,
        "groups": [_group(group) for group in summary["groups"]],
        **{key(metric): summary[key(metric)] for metric in RUN},
        "links": [_link(link) for link in summary["links"]],
        PER_USER: _scaled(summary["edge_state"]["bytes"], 1 / users),
    }


def _group(group: Json) -> Json:
    row: Json = {"name": group["name"]}
    for metric in GROUP:
        *parts, name = metric.path
        if len(parts) < 2:
            row[name] = metric.of(group) if parts else group[key(metric)]
        elif group["path"][parts[1]] is None:
            row[parts[1]] = None
        else:
            row.setdefault(parts[1], {})[name] = metric.of(group)
    return row


def _link(link: Json) -> Json:
    row: Json = {"name": link["name"]}
    for metric in LINK:
        part = metric.path[0]
        if metric.by:
            row[part] = link[part]
        else:
            row[metric.name] = metric.of(link) if part == "state" else link[key(metric)]
    return row


def _max_min(summary: Json, first: Json) -> Json:
    """The row of max-min shares, with the fields of a queue's row; most are null."""
    groups = summary["groups"]
    shares = [group["max_min_share_bps"] for group in groups]
    total = sum(group["users"] * share["mean"] for group, share in zip(groups, shares, strict=True))
    squares = sum(group["users"] * share["mean"] ** 2 for group, share in zip(groups, shares, strict=True))
    users = sum(group["users"] for group in groups)
    n = summary["replications"]
    ratio = shares[0]["mean"] / shares[1]["mean"] if len(shares) > 1 and shares[1]["mean"] > 0 else None
    nothing: Json = dict.fromkeys(first)
    return {
        **nothing,
        "groups": [
            {**dict.fromkeys(row), "name": row["name"], "throughput_bps": share}
            for row, share in zip(first["groups"], shares, strict=True)
        ],
        "jain_index": _exact(total**2 / (users * squares), n) if squares else None,
        "throughput_ratio": None if ratio is None else _exact(ratio, n),
        "links": [
            {**dict.fromkeys(row), "name": row["name"], "utilisation": link["max_min_utilisation"], "delay": []}
            for row, link in zip(first["links"], summary["links"], strict=True)
        ],
    }


def _exact(value: float, n: int) -> PointEstimate:
    """A value computed from the means, not per replication, so it has no interval."""
    return {"mean": value, "half_width": None, "n": n}


def _scaled(estimate: Json, factor: float) -> PointEstimate:
    half_width = estimate["half_width"]
    return {
        "mean": factor * estimate["mean"],
        "half_width": None if half_width is None else factor * half_width,
        "n": estimate["n"],
    }
