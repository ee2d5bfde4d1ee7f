"""Computes the paper's numbers from run records; units as in claims.toml (Mb/s, kb/s, packets, s, %)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fairlane.judge.experiment import Record
from fairlane.papers.afpft.scenarios import ENGINE_SCHEMES, Values, weight_1_over_c
from fairlane.papers.metrics import Metric, utilisation

CLASSES = ("<0.05", "0.05-0.5", "0.5-1", "1-2", "2-5", ">=5")
"""Classes of transfer times in Table III, in the order of the defaults of `probes.transfer_times`."""


def of_group(record: Record, values: Values) -> float | None:
    """Mean throughput in Mb/s of a flow of the point's group. Groups are numbered from 1."""
    if "group" not in values:
        return None
    return float(record["groups"][values["group"] - 1]["throughput_bps"] / 1e6)


def of_named(name: str, unit_bps: float = 1e3) -> Metric:
    """Mean throughput of a flow of the named group, in kb/s or another unit."""

    def throughput(record: Record, _: Values) -> float | None:
        found = _named(record, name)
        return found["throughput_bps"] / unit_bps if found else None

    return throughput


def lost_by(name: str) -> Metric:
    """Fraction of the named group's packets that were lost."""

    def lost(record: Record, _: Values) -> float | None:
        found = _named(record, name)
        share: float | None = found["path"]["lost_share"] if found else None
        return share

    return lost


def timeouts_of(name: str) -> Metric:
    """Retransmission timeouts per flow of the named group; None if the group has no TCP."""

    def timeouts(record: Record, _: Values) -> float | None:
        found = _named(record, name)
        return found["tcp"]["timeouts"] / found["users"] if found and found["tcp"] else None

    return timeouts


def udp_over_rate(record: Record, values: Values) -> float | None:
    """Throughput of the CBR flow divided by its sending rate."""
    found = _named(record, "udp")
    return found["throughput_bps"] / 1e3 / values["R_udp_kbps"] if found and "R_udp_kbps" in values else None


def jain_tcp(record: Record, _: Values) -> float | None:
    """Jain's index over the throughput of the TCP flows."""
    index: float | None = record["jain_index_flows"]
    return index


def tcp_spread(record: Record, _: Values) -> float | None:
    """Largest minus smallest throughput of a TCP flow in kb/s."""
    flows = tcp_rates(record)
    return max(flows) - min(flows) if flows else None


def tcp_rates(record: Record) -> list[float]:
    """Throughput of each TCP flow in kb/s."""
    groups = (group["tcp"]["flow_throughput_bps"] for group in record["groups"] if group["tcp"])
    return [rate / 1e3 for rates in groups for rate in rates]


def listed_flows(record: Record) -> list[float]:
    """Number of flows in AFpFT's list at each link at the end of the run."""
    return [link["readings"]["flows"] for link in record["links"] if "flows" in (link["readings"] or {})]


def held_packets(record: Record) -> list[float]:
    """Number of packets waiting at each link at the end of the run."""
    return [float(link["accounting"]["queued"]) for link in record["links"]]


def over_fair(record: Record, values: Values) -> float | None:
    """Throughput of flow i divided by its max-min share."""
    if "i" not in values:
        return None
    share: float | None = record["groups"][values["i"] - 1]["normalised_throughput"]
    return share


def of_class(record: Record, values: Values) -> float | None:
    """Percentage of completed transfers in the point's class of transfer times."""
    times = _transfers(record)
    if times is None or "class" not in values:
        return None
    return float(100 * times["by_time"][CLASSES.index(values["class"])]["share"])


def of_transfers(name: str) -> Metric:
    """Mean time in s of completed transfers, or their number, as `name` selects.

    The points of this experiment are classes of transfers of the same run. The number is about the whole run, so only
    the point of the first class has it.
    """

    def number(record: Record, values: Values) -> float | None:
        times = _transfers(record) if values.get("class") == CLASSES[0] else None
        return None if times is None or times[name] is None else float(times[name])

    return number


def link_use(record: Record, values: Values) -> float | None:
    """Utilisation of the bottleneck. If the points are groups of one run, only the first point has a value."""
    single = any(link["name"] == "bottleneck" for link in record["links"])
    return utilisation(record, values) if single and values.get("group", 1) == 1 else None


def total_mbps(record: Record, values: Values) -> float | None:
    """Throughput of the bottleneck in Mb/s. If the points are groups of one run, only the first point has a value."""
    if values.get("group", 1) != 1:
        return None
    return next((link["throughput_bps"] / 1e6 for link in record["links"] if link["name"] == "bottleneck"), None)


def delivered(record: Record, _: Values) -> float | None:
    """Fraction of the ON-OFF flow's packets that were delivered."""
    found = _named(record, "on-off")
    share: float | None = found["udp"]["delivered_share"] if found else None
    return share


def mean_average_queue(record: Record, values: Values) -> float | None:
    """Mean of the averaged queue in packets, over the measured time."""
    if record["series"] is None:
        return None
    average = averaged(queue_trace(record), packets_trace(record), values["scheme"], values)
    measured = average[round(record["window_s"][0] / record["series"]["interval_s"]) :]
    return math.fsum(measured) / len(measured)


def averaged(queue: Sequence[float], packets: Sequence[float], scheme: str, values: Values) -> list[float]:
    """RED's averaged queue in packets at the end of each bin, from mean queue and transmitted packets of the bins.

    RED takes a sample at each arrival, FRED at each enqueued packet and each departure. After n samples of a queue q
    with weight w, the average is (1-w)^n * avg + (1-(1-w)^n) * q, where avg is the average before these samples.
    Packets that RED drops at arrival (below 1 %) are not counted.
    """
    samples = 2 if ENGINE_SCHEMES[scheme] == "fred" else 1
    weight = 0.002 if scheme == "fred_default_wq" else -math.expm1(-weight_1_over_c(values))
    average, trace = 0.0, []
    for length, sent in zip(queue, packets, strict=True):
        kept = (1 - weight) ** (samples * sent)
        average = kept * average + (1 - kept) * length
        trace.append(average)
    return trace


def queue_trace(record: Record) -> list[float]:
    """Mean number of packets waiting in each bin; empty without series."""
    return [] if record["series"] is None else record["series"]["queue_packets"]


def packets_trace(record: Record) -> list[float]:
    """Packets of 1000 bytes transmitted in each bin."""
    if record["series"] is None:
        return []
    interval_s = record["series"]["interval_s"]
    groups = (group["throughput_bps"] for group in record["series"]["groups"])
    return [math.fsum(rates) * interval_s / 8000 for rates in zip(*groups, strict=True)]


def _named(record: Record, name: str) -> Any:
    return next((group for group in record["groups"] if group["name"] == name), None)


def _transfers(record: Record) -> Any:
    return next((group["transfer_times"] for group in record["groups"] if group["transfer_times"]), None)


METRICS: dict[str, Metric] = {
    "tput_group_mbps": of_group,
    "tput_g_mbps": of_group,
    "udp_kbps": of_named("udp"),
    "tcp_kbps": of_named("tcp"),
    "tcp_spread_kbps": tcp_spread,
    "jain_tcp": jain_tcp,
    "tcp_timeouts": timeouts_of("tcp"),
    "timeouts0": timeouts_of("flow 0"),
    "loss_udp": lost_by("udp"),
    "loss_tcp": lost_by("tcp"),
    "loss0": lost_by("flow 0"),
    "udp_over_rate": udp_over_rate,
    "tput_over_fair": over_fair,
    "utilisation": link_use,
    "total_mbps": total_mbps,
    "avg_queue": mean_average_queue,
    "tput0_mbps": of_named("flow 0", 1e6),
    "share_percent": of_class,
    "mean_s": of_transfers("mean_s"),
    "completed": of_transfers("completed"),
    "delivered_fraction": delivered,
}

TRACES: dict[str, Callable[[Record], list[float]]] = {
    "queue_packets": queue_trace,
    "sent_packets": packets_trace,
    "tcp_kbps": tcp_rates,
    "listed_flows": listed_flows,
    "held_packets": held_packets,
}
