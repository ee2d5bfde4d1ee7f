"""The numbers that the paper reports, from run records; units as in claims.toml (Mb/s, ms, packets, s)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

from fairlane.papers.abc2018.scenarios import UPLOAD_START_S
from fairlane.papers.experiment import Record
from fairlane.papers.metrics import (
    Metric,
    Values,
    bottleneck,
    delay,
    queue_mean,
    throughput,
    throughput_ratio,
    utilisation,
)

FULL_RATE_BPS = 9.0e6
STAYS_ABOVE_BPS = 8.5e6
STAYS_S = 1.0
SHORT_QUEUE = 12
PAYLOAD_SHARE = 1446 / 1500
"""Segment over packet on the link (IV-A1)."""


def time_to_full_rate(record: Record, _: Values) -> float | None:
    """Seconds from the flow's start until its metered rate reaches 9 Mb/s and stays above 8.5 Mb/s for 1 s.

    A flow that never does counts with all the time in which it was seen.
    """
    if record["series"] is None:
        return None
    rate = rate_trace(record)
    interval_s = record["series"]["interval_s"]
    stay = round(STAYS_S / interval_s)
    for index, value in enumerate(rate):
        following = rate[index : index + stay + 1]
        if value >= FULL_RATE_BPS / 1e6 and len(following) > stay and min(following) >= STAYS_ABOVE_BPS / 1e6:
            return float((index + 1) * interval_s)
    return float(len(rate) * interval_s)


def drop_threshold(record: Record, values: Values) -> float | None:
    """T_drop at time t_s after the flow's start, in packets: mean over the arrivals of the interval."""
    if record["series"] is None or "t_s" not in values:
        return None
    return _after(record, threshold_trace(record), values["t_s"])


def received(record: Record, values: Values) -> float | None:
    """Payload of user 0 that crossed the bottleneck until t_s after the upload's start, in MB."""
    if record["series"] is None or "upload_start_s" not in values:
        return None
    return _after(record, received_trace(record), values["t_s"])


def _after(record: Record, trace: Sequence[float], time_s: float) -> float | None:
    """The value of a trace that long after its start."""
    index = round(time_s / record["series"]["interval_s"]) - 1
    return trace[index] if index < len(trace) else None


def tail_drop_share(record: Record, _: Values) -> float | None:
    """Drops for lack of room over all drops."""
    drops = {drop["reason"]: drop["packets"] for drop in bottleneck(record)["drops"]}
    total = sum(drops.values())
    return drops["overlimit"] / total if total else None


def short_queue_drop_share(record: Record, _: Values) -> float | None:
    """Drops of packets that found fewer than 12 waiting, over all drops."""
    found = drops_found(record)
    return sum(found[:SHORT_QUEUE]) / sum(found) if sum(found) else None


def drops_found(record: Record) -> list[float]:
    """Number of dropped packets that found 0, 1, 2 ... packets waiting."""
    return added([drop["queue_histogram"] for drop in bottleneck(record)["drops"]])


def mean_queue_at_drop(record: Record, _: Values) -> float | None:
    """Mean number of packets waiting that dropped packets found; claims look at the distribution (statistics.py)."""
    found = drops_found(record)
    return math.fsum(length * count for length, count in enumerate(found)) / sum(found) if sum(found) else None


def added(histograms: Iterable[Sequence[float]]) -> list[float]:
    """The sum of histograms, which may differ in length."""
    return [math.fsum(counts) for counts in itertools.zip_longest(*histograms, fillvalue=0)]


def outcome(record: Record) -> list[float]:
    """What became of all packets and users: equal for two runs whose drop decisions are equal."""
    users = (rate for group in record["groups"] for rate in group["user_throughput_bps"])
    return [*drops_found(record), *bottleneck(record)["accounting"].values(), *users]


def received_trace(record: Record) -> list[float]:
    """Payload of group 0 that crossed the bottleneck until the end of each interval of an upload, in MB."""
    if record["series"] is None:
        return []
    interval_s = record["series"]["interval_s"]
    rates = record["series"]["groups"][0]["throughput_bps"][round(UPLOAD_START_S / interval_s) :]
    return [bits * interval_s * PAYLOAD_SHARE / 8e6 for bits in itertools.accumulate(rates)]


def rate_trace(record: Record) -> list[float]:
    """Metered rate of group 0 in Mb/s at the end of each interval, from the flow's start; empty without series."""
    if record["series"] is None:
        return []
    return [rate / 1e6 for rate in record["series"]["groups"][0]["rate_bps"][_start(record) :]]


def threshold_trace(record: Record) -> list[float]:
    """Drop threshold of each interval from the flow's start; an interval without arrivals repeats the last one."""
    if record["series"] is None:
        return []
    trace: Sequence[float | None] = record["series"]["drop_threshold"][_start(record) :]
    filled: list[float] = []
    for value in trace:
        if value is not None:
            filled.append(value)
        elif filled:
            filled.append(filled[-1])
    return filled


def _start(record: Record) -> int:
    """The interval in which group 0 delivers its first packet."""
    delivered = record["series"]["groups"][0]["throughput_bps"]
    return next(index for index, rate in enumerate(delivered) if rate > 0)


METRICS: dict[str, Metric] = {
    "T0": throughput(0),
    "T1": throughput(1),
    "T_R": throughput_ratio(),
    "utilisation": utilisation,
    "queue_mean": queue_mean,
    "delay_EF": delay("EF"),
    "delay_BE": delay("BE"),
    "time_to_full_rate": time_to_full_rate,
    "drop_threshold": drop_threshold,
    "received_MB": received,
    "drop_queue_hist": mean_queue_at_drop,
    "tail_drop_share": tail_drop_share,
    "share_of_drops_below_12_packets": short_queue_drop_share,
}

TRACES: dict[str, Callable[[Record], list[float]]] = {
    "rate_mbps": rate_trace,
    "drop_threshold": threshold_trace,
    "received_MB": received_trace,
    "drops_found": drops_found,
    "outcome": outcome,
}
