"""The metrics of a run record by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from fairlane.results.applications import FIGURES

Row = dict[str, Any]

QUANTITIES = ("mean_s", "p50_s", "p95_s", "p99_s", "max_s")
"""What is told of times that were measured one by one."""

GROUP_SERIES = ("throughput_bps", "rate_bps", "one_way_delay_s", "rtt_s", "lost_share", "marked_share")
"""Time series of each group."""


def jain(rates: Sequence[float]) -> float | None:
    """Jain's index of rates in any unit, 1/n to 1; None if all are zero."""
    squares = len(rates) * math.fsum(rate**2 for rate in rates)
    return math.fsum(rates) ** 2 / squares if squares else None


def metrics(run: Row) -> Row:
    """Everything that was measured in a run, by group and link; None where the run has no such number.

    Runs of the lab lack what only a simulator sees, and have `lab_*`: how well it went.
    """
    row: Row = {}
    for name, value in _metrics(run):
        if name in row:
            raise ValueError(f"{name}: two metrics have this name")
        row[name] = value
    return row


def _metrics(run: Row) -> Iterator[tuple[str, Any]]:
    for name in ("throughput_ratio", "jain_index", "jain_index_flows", "jain_index_normalised"):
        yield name, run.get(name)
    for group in run["groups"]:
        for metric in ("throughput_bps", "goodput_bps", "max_min_share_bps", "normalised_throughput"):
            yield f"{metric}.{group['name']}", group.get(metric)
        for metric, value in path_metrics(group).items():
            yield f"{metric}.{group['name']}", value
        if udp := group.get("udp"):
            yield f"delivered_share.{group['name']}", udp["delivered_share"]
        for metric, value in application_metrics(group).items():
            yield f"{metric}.{group['name']}", value
        if times := group.get("transfer_times"):
            for metric in ("started", "completed", "offered_bps", "mean_s", "p50_s", "p95_s", "p99_s", "max_s"):
                yield f"transfers_{metric}.{group['name']}", times[metric]
            for metric, value in slowdown_metrics(times).items():
                yield f"transfers_{metric}.{group['name']}", value
    yield from _state("edge_state", run).items()
    yield from _lab(run).items()
    for link in run["links"]:
        for metric, value in link_metrics(link).items():
            # A group may have the name of a link: no metric of one is called as one of the other.
            of_link = "link_throughput_bps" if metric == "throughput_bps" else metric
            yield f"{of_link}.{link['name']}", value


def application_metrics(group: Row) -> Row:
    """Every number of the applications of a group: `mos` of the record `voip` is `voip_mos`."""
    return {name: value for kind in FIGURES for name, value in _numbers(kind, group.get(kind) or {})}


def _numbers(name: str, record: Row) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _numbers(f"{name}_{key}", value)
        elif not isinstance(value, list):
            yield f"{name}_{key}", value


def slowdown_metrics(transfers: Row) -> Row:
    """How much longer transfers took than alone; None without any, and for classes of times."""
    found = transfers.get("slowdown") or {}
    return {f"slowdown_{quantity}": found.get(quantity) for quantity in ("mean", "p50", "p95", "p99", "max")}


def path_metrics(group: Row, path: Row | None = None) -> Row:
    """What the packets of a group met from host to receiver, or those of one of its users or flows, given its `path`.

    Empty if it was not measured; round-trip times only of a group with TCP.
    """
    path = path or group.get("path")
    if path is None:
        return {}
    has_tcp = group.get("tcp") or group.get("transfer_times")
    of_tcp = ["smoothed_rtt"] if "smoothed_rtt" in path else ["rtt"] if has_tcp else []
    times = ("one_way_delay", *of_tcp)
    names = ("lost_share", "marked_share", *(["retransmitted_segments"] if "retransmitted_segments" in path else []))
    return {
        **{f"{name}_{quantity}": (path.get(name) or {}).get(quantity) for name in times for quantity in QUANTITIES},
        **{name: path.get(name) for name in names},
    }


def series(run: Row) -> dict[str, list[float | None]]:
    """The time series of a run by quantity and group or link, a value for each bin; none if it has none."""
    if (found := run.get("series")) is None:
        return {}
    of_groups = {f"{name}.{group['name']}": group[name] for group in found["groups"] for name in GROUP_SERIES}
    return of_groups | {f"{name}.{found['link']}": found[name] for name in ("queue_packets", "drop_threshold")}


def link_metrics(link: Row) -> Row:
    """What was measured at one link."""
    queue = link.get("queue", {})
    metrics = {
        "utilisation": link["utilisation"],
        "throughput_bps": link["throughput_bps"],
        "queue_mean_packets": queue.get("mean_packets"),
        "queue_mean_bytes": queue.get("mean_bytes"),
        "queue_max_packets": queue.get("max_packets"),
    }
    for delay in link.get("delay", ()):
        for quantity in QUANTITIES:
            metrics[f"delay_{quantity}.{delay['traffic_class']}"] = delay.get(quantity)
    for drops in link["drops"]:
        metrics[f"dropped_packets.{drops['reason']}"] = drops["packets"]
    metrics["marked_packets"] = link.get("marks", 0)
    metrics |= _state("state", link)
    metrics |= {f"reading_{name}": value for name, value in link["readings"].items()}
    return metrics


def _state(name: str, of: Row) -> Row:
    """What a scheme remembers at the end of a run."""
    return {f"{name}_{quantity}": of[name][quantity] for quantity in ("records", "bytes")} if name in of else {}


def _lab(run: Row) -> Row:
    """What a run of the lab says of plane, kernel and lateness, and of a switch."""
    entry = dict(run.get("lab", {}))
    switch = entry.pop("switch", {})
    own = {f"lab_{name}": value for name, value in entry.items()}
    return own | {f"lab_switch_{name}": value for name, value in switch.items()}
