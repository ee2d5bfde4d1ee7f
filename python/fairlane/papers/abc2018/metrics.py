"""Computes the paper's numbers from run records; units as in claims.toml (Mb/s, ms, packets, s)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

from fairlane.judge.experiment import Record
from fairlane.papers.abc2018.scenarios import UPLOAD_START_S
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
"""Segment size divided by packet size on the link (IV-A1)."""
PACKET_BITS = 1500 * 8
NEAR_BASE = 1.0
"""Maximum distance below Q_base, in packets, at which a drop threshold has reached Q_base."""
STAYS_NEAR = 2.0
"""Maximum distance below Q_base, in packets, during the 1 s after the threshold has reached Q_base."""


def time_to_full_rate(record: Record, _: Values) -> float | None:
    """Seconds from the flow's start until its metered rate reaches 9 Mb/s and stays above 8.5 Mb/s for 1 s.

    Returns the whole observed time if the rate never does.
    """
    if record["series"] is None:
        return None
    return _reaches(record, rate_trace(record), FULL_RATE_BPS / 1e6, STAYS_ABOVE_BPS / 1e6)


def time_to_base(record: Record, values: Values) -> float | None:
    """Seconds from the flow's start until its threshold is within 1 packet of Q_base and stays within 2 for 1 s."""
    if record["series"] is None or "t_s" not in values:
        return None
    base = values["Qbase_pkts"]
    return _reaches(record, threshold_trace(record), base - NEAR_BASE, base - STAYS_NEAR)


def _reaches(record: Record, trace: Sequence[float], reached: float, stays: float) -> float:
    """Time at which a trace reaches `reached` and then stays above `stays` for 1 s; else the whole observed time."""
    interval_s = record["series"]["interval_s"]
    stay = round(STAYS_S / interval_s)
    for index, value in enumerate(trace):
        following = trace[index : index + stay + 1]
        if value >= reached and len(following) > stay and min(following) >= stays:
            return float((index + 1) * interval_s)
    return float(len(trace) * interval_s)


def drop_threshold(record: Record, values: Values) -> float | None:
    """T_drop in packets at time t_s after the flow's start: mean over the arrivals of the interval."""
    if record["series"] is None or "t_s" not in values:
        return None
    return _after(record, threshold_trace(record), values["t_s"])


def received(record: Record, values: Values) -> float | None:
    """Payload of user 0 that crossed the bottleneck until t_s after the upload's start, in MB."""
    if record["series"] is None or "upload_start_s" not in values:
        return None
    return _after(record, received_trace(record), values["t_s"])


def _after(record: Record, trace: Sequence[float], time_s: float) -> float | None:
    """The value of a trace at `time_s` after its start."""
    index = round(time_s / record["series"]["interval_s"]) - 1
    return trace[index] if index < len(trace) else None


def tail_drop_share(record: Record, _: Values) -> float | None:
    """Drops at a full queue, divided by all drops."""
    drops = {drop["reason"]: drop["packets"] for drop in bottleneck(record)["drops"]}
    total = sum(drops.values())
    return drops["overlimit"] / total if total else None


def drop_share_below(length: int) -> Metric:
    """Fraction of dropped packets that found fewer than `length` packets waiting."""

    def share(record: Record, _: Values) -> float | None:
        found = drops_found(record)
        return sum(found[:length]) / sum(found) if sum(found) else None

    return share


def time_below_base(record: Record, values: Values) -> float:
    """Fraction of time with fewer than Q_base waiting packets."""
    return math.fsum(bottleneck(record)["queue"]["distribution"][: values["Qbase_pkts"]])


def queue_max(record: Record, _: Values) -> float:
    """Largest number of waiting packets."""
    return float(bottleneck(record)["queue"]["max_packets"])


def queue_ef(record: Record, _: Values) -> float | None:
    """Mean number of waiting EF packets, by Little's law."""
    start_s, end_s = record["window_s"]
    waits = [d["packets"] * d["mean_s"] for d in bottleneck(record)["delay"] if d["traffic_class"] == "EF"]
    return waits[0] / (end_s - start_s) if waits else None


def access_packets(record: Record, values: Values) -> float:
    """Mean number of packets waiting on all access links together, by Little's law.

    The waiting time at access links is the total delay minus the delays of the path and of the bottleneck's queue.
    """
    start_s, end_s = record["window_s"]
    path_s = (values["Da_ms"] + values["Db_ms"]) / 1e3
    path_s += math.fsum(PACKET_BITS / (values[link] * 1e6) for link in ("Ca_mbps", "Cb_mbps"))
    delays = [group["path"]["one_way_delay"] for group in record["groups"]]
    beyond_s = math.fsum(delay["samples"] * (delay["mean_s"] - path_s) for delay in delays if delay)
    waited_s = math.fsum(delay["packets"] * delay["mean_s"] for delay in bottleneck(record)["delay"])
    return float((beyond_s - waited_s) / (end_s - start_s))


def activity_gap(record: Record, values: Values) -> float | None:
    """Activity at the sending rate of user 0, minus the average activity at the end of the run."""
    average = (bottleneck(record)["readings"] or {}).get("average_activity")
    if average is None or "R0_mbps" not in values or isinstance(values["Rr_kbps"], list):
        return None
    return float(math.log2(1e3 * values["R0_mbps"] / values["Rr_kbps"]) - average)


def of_path(group: int, *keys: str, unit: float = 1.0) -> Metric:
    """A number in the path record of a group; None if missing."""

    def number(record: Record, _: Values) -> float | None:
        if group >= len(record["groups"]):
            return None
        found = record["groups"][group]["path"]
        for key in keys:
            found = found[key] if found else None
        return None if found is None else float(found) / unit

    return number


def drops_found(record: Record) -> list[float]:
    """Number of dropped packets that found 0, 1, 2 ... packets waiting."""
    return added([drop["queue_histogram"] for drop in bottleneck(record)["drops"]])


def mean_queue_at_drop(record: Record, _: Values) -> float | None:
    """Mean queue length at the arrival of dropped packets; claims use its distribution (statistics.py)."""
    found = drops_found(record)
    return math.fsum(length * count for length, count in enumerate(found)) / sum(found) if sum(found) else None


def added(histograms: Iterable[Sequence[float]]) -> list[float]:
    """The sum of histograms, which may differ in length."""
    return [math.fsum(counts) for counts in itertools.zip_longest(*histograms, fillvalue=0)]


def outcome(record: Record) -> list[float]:
    """Counts of packets and throughput of users, equal for two runs with equal drop decisions."""
    users = (rate for group in record["groups"] for rate in group["user_throughput_bps"])
    return [*drops_found(record), *bottleneck(record)["accounting"].values(), *users]


def received_trace(record: Record) -> list[float]:
    """Payload of group 0 in MB that has crossed the bottleneck by the end of each interval of an upload."""
    if record["series"] is None:
        return []
    interval_s = record["series"]["interval_s"]
    rates = record["series"]["groups"][0]["throughput_bps"][round(UPLOAD_START_S / interval_s) :]
    return [bits * interval_s * PAYLOAD_SHARE / 8e6 for bits in itertools.accumulate(rates)]


def rate_trace(record: Record) -> list[float]:
    """Metered rate of group 0 in Mb/s at the end of each interval from the flow's start; empty without series."""
    if record["series"] is None:
        return []
    return [rate / 1e6 for rate in record["series"]["groups"][0]["rate_bps"][_start(record) :]]


def threshold_trace(record: Record) -> list[float]:
    """Drop threshold in packets in each interval from the flow's start; unchanged in intervals without arrivals."""
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
    "share_of_drops_below_12_packets": drop_share_below(SHORT_QUEUE),
    "share_of_drops_at_0_packets": drop_share_below(1),
    "time_below_base": time_below_base,
    "time_to_base": time_to_base,
    "queue_max": queue_max,
    "activity_gap": activity_gap,
    "queue_EF": queue_ef,
    "access_packets": access_packets,
    **{f"loss{group}": of_path(group, "lost_share") for group in (0, 1)},
    **{f"rtt{group}_ms": of_path(group, "rtt", "mean_s", unit=1e-3) for group in (0, 1)},
}

TRACES: dict[str, Callable[[Record], list[float]]] = {
    "rate_mbps": rate_trace,
    "drop_threshold": threshold_trace,
    "received_MB": received_trace,
    "drops_found": drops_found,
    "outcome": outcome,
}
