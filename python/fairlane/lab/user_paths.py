"""Paths of users on real links: one-way delay, smoothed RTT, losses and marks, by group, user and flow.

UDP packets carry their sending time, so receivers can report delays. iperf3 reports the kernel's state of each TCP flow
(TCP_INFO) once a second. The forwarder counts packets by user. Values that a plane or transport does not report are
None or absent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = dict[str, Any]

WHOLE_S = 1.0
"""Interval of iperf3's reports."""
TIMES = ("mean_s", "p50_s", "p95_s", "p99_s", "max_s")
COUNTS = ("delivered_packets", "dropped_packets", "marked_packets")


def within(intervals: Sequence[Row], begin_s: float, measure_s: float) -> Iterator[Row]:
    """The intervals of an iperf3 report that best match the window."""
    first_s = begin_s - WHOLE_S / 2
    for interval in intervals:
        if first_s <= interval["sum"]["start"] < first_s + measure_s:
            yield interval


def of_tcp(report: str, begin_s: float, measure_s: float) -> Row:
    """Path of a user's TCP flows within the window, from an iperf3 client's JSON; `flows` has each flow's path.

    A client without a report, since it was starved or killed, has no samples.
    """
    try:
        intervals = json.loads(report).get("intervals", ())
    except json.JSONDecodeError:
        intervals = ()
    rtts: dict[int, list[float]] = {}
    retransmitted: dict[int, int] = {}
    for interval in within(intervals, begin_s, measure_s):
        for stream in interval["streams"]:
            if "rtt" not in stream:  # a receiver has no RTT samples
                continue
            samples = rtts.setdefault(stream["socket"], [])
            if stream["rtt"] > 0:
                samples.append(stream["rtt"] / 1e6)
            retransmitted[stream["socket"]] = retransmitted.get(stream["socket"], 0) + stream["retransmits"]
    flows = [
        {"smoothed_rtt": times(samples), "retransmitted_segments": retransmitted[socket]}
        for socket, samples in sorted(rtts.items())
    ]
    return {
        "smoothed_rtt": times([sample for samples in rtts.values() for sample in samples]),
        "retransmitted_segments": sum(retransmitted.values()) if flows else None,
        "flows": flows,
    }


def of_udp(streams: Sequence[Row]) -> Row:
    """Path of a user's UDP flow within the window, from the sink's counters; missing sequence numbers are losses."""
    (stream,) = streams or ({"packets": 0, "lost_packets": 0, "delay": None},)
    delay = stream["delay"]
    return {
        "delivered_packets": stream["packets"],
        "dropped_packets": stream["lost_packets"],
        "one_way_delay": {"samples": delay["packets"], **{name: delay[name] for name in TIMES}} if delay else None,
    }


def path(own: Row, counted: Mapping[str, int] | None = None) -> Row:
    """Path of a user, from the reports of its hosts. Values that the plane counts replace those of the hosts."""
    return _with_shares({"one_way_delay": None, **own, **(counted or {})})


def group_path(paths: Sequence[Row]) -> Row:
    """Path of a group: sums and means over its users; percentiles only if there is one user."""
    if len(paths) == 1:
        return {name: value for name, value in paths[0].items() if name != "flows"}
    of_group: Row = {"one_way_delay": _merged([one["one_way_delay"] for one in paths])}
    if any("smoothed_rtt" in one for one in paths):
        of_group["smoothed_rtt"] = _merged([one["smoothed_rtt"] for one in paths])
    for name in (*COUNTS, "retransmitted_segments"):
        values = [value for one in paths if (value := one.get(name)) is not None]
        if len(values) == len(paths):
            of_group[name] = sum(values)
    return _with_shares(of_group)


def times(samples: Sequence[float]) -> Row | None:
    """Mean and percentiles (nearest rank) of times in s; None without samples."""
    if not samples:
        return None
    ordered = sorted(samples)
    ranks = {f"p{percent}_s": ordered[math.ceil(percent / 100 * len(ordered)) - 1] for percent in (50, 95, 99)}
    mean_s = math.fsum(ordered) / len(ordered)
    return {"samples": len(ordered), "mean_s": mean_s, **ranks, "max_s": ordered[-1]}


def _merged(several: Sequence[Row | None]) -> Row | None:
    """Mean and maximum of times over several users; percentiles cannot be merged."""
    there = [one for one in several if one]
    if not there:
        return None
    samples = sum(one["samples"] for one in there)
    mean_s = math.fsum(one["samples"] * one["mean_s"] for one in there) / samples
    return {"samples": samples, "mean_s": mean_s, "max_s": max(one["max_s"] for one in there)}


def _with_shares(found: Row) -> Row:
    """Adds the shares computed from counts; None without counts."""
    delivered, dropped, marked = (found.get(name) for name in COUNTS)
    total = None if delivered is None or dropped is None else delivered + dropped
    return {
        **found,
        "lost_share": dropped / total if total else None,
        "marked_share": marked / delivered if marked is not None and delivered else None,
    }
