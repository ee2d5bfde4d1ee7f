"""Computes the paper's numbers from run records; rates in kb/s."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean, stdev

from fairlane.judge.experiment import Record
from fairlane.papers.afc.scenarios import PACKET_B, SEGMENT_B, fair_kbps, udp_name, unresponsive
from fairlane.papers.metrics import Metric, Values
from fairlane.results.metrics import jain


def udp_kbps(record: Record, values: Values) -> float | None:
    """Mean throughput of the unresponsive flows; if sizes differ, of the flow with packets of `packet_B`."""
    names = [udp_name(index) for index in range(unresponsive(values))]
    if "sizes_B" in values:
        names = [udp_name(values["sizes_B"].index(values["packet_B"]))]
    rates = [group["throughput_bps"] for group in record["groups"] if group["name"] in names]
    return fmean(rates) / 1e3 if rates else None


def tcp_kbps(record: Record, _: Values) -> float:
    """Mean goodput of the long-lived TCP flows, including headers.

    The rows of Table 1 sum to 5003 kb/s, except for RED (4879), CHOKe (4716) and BLACK (4963), where TCP times out
    most. Segments that arrive a second time use the rest of the rate, so the paper's TCP column does not count them.
    """
    return fmean(_tcp_rates(record)) / 1e3


def jain_tcp(record: Record, _: Values) -> float | None:
    """Jain's index of the long-lived TCP flows; None if no packet arrived."""
    return jain(_tcp_rates(record))


def jain_udp(record: Record, values: Values) -> float | None:
    """Jain's index of the unresponsive flows; None if there is only one flow or no packet arrived."""
    names = [udp_name(index) for index in range(unresponsive(values))]
    rates = [group["throughput_bps"] for group in record["groups"] if group["name"] in names]
    return jain(rates) if len(rates) > 1 else None


def udp_over_fair(record: Record, values: Values) -> float | None:
    """Throughput of an unresponsive flow divided by the fair share."""
    mean = udp_kbps(record, values)
    return None if mean is None else mean / fair_kbps(values)


def udp_over_tcp(record: Record, values: Values) -> float | None:
    """Throughput of an unresponsive flow divided by a TCP flow's; infinite if TCP got nothing."""
    above, below = udp_kbps(record, values), tcp_kbps(record, values)
    if above is None:
        return None
    return above / below if below else math.inf


def udp_total_share(record: Record, values: Values) -> float | None:
    """Throughput of all unresponsive flows divided by the bottleneck's rate."""
    mean = udp_kbps(record, values)
    return None if mean is None else mean * unresponsive(values) / (1e3 * values["Cb_mbps"])


def tcp_over_fair(record: Record, values: Values) -> float:
    """Throughput of a TCP flow divided by the fair share."""
    return tcp_kbps(record, values) / fair_kbps(values)


def udp_variation(record: Record, _: Values) -> float | None:
    """Coefficient of variation over time of an unresponsive flow's throughput, averaged over the flows."""
    curves = _udp_curves(record)
    if not curves or not all(map(any, curves)):
        return None
    return fmean(stdev(curve) / fmean(curve) for curve in curves)


def udp_deviation(record: Record, _: Values) -> float | None:
    """Standard deviation over time of an unresponsive flow's throughput in kb/s, averaged over the flows."""
    curves = _udp_curves(record)
    return fmean(map(stdev, curves)) if curves else None


def first_udp(record: Record) -> list[float]:
    """Throughput of the first unresponsive flow in kb/s, over time."""
    curves = _udp_curves(record)
    return curves[0] if curves else []


def _tcp_rates(record: Record) -> list[float]:
    """Rate of each flow. Counts bytes that arrived for the first time, and the headers of their packets."""
    groups = (group for group in record["groups"] if group["name"].startswith("tcp"))
    return [PACKET_B / SEGMENT_B * rate for group in groups for rate in group["user_goodput_bps"]]


def _udp_curves(record: Record) -> list[list[float]]:
    """Throughput of each unresponsive flow in kb/s per interval; empty for fewer than two intervals."""
    series = record["series"]
    if series is None:
        return []
    start, end = (round(time / series["interval_s"]) for time in record["window_s"])
    if end - start < 2:
        return []
    pairs = zip(record["groups"], series["groups"], strict=True)
    return [
        [rate / 1e3 for rate in over_time["throughput_bps"][start:end]]
        for group, over_time in pairs
        if group["name"].startswith("udp")
    ]


METRICS: dict[str, Metric] = {
    "udp_kbps": udp_kbps,
    "tcp_kbps": tcp_kbps,
    "jain_tcp": jain_tcp,
    "jain_udp": jain_udp,
    "cbr_over_tcp": udp_over_tcp,
    "udp_over_fair": udp_over_fair,
    "udp_total_share": udp_total_share,
    "tcp_over_fair": tcp_over_fair,
    "udp_kbps_interval": udp_kbps,
    "variation": udp_variation,
    "deviation_kbps": udp_deviation,
}

TRACES: dict[str, Callable[[Record], list[float]]] = {"udp_kbps": first_udp}
