"""Numbers that several papers report, computed from run records; units as in their claims.toml (Mb/s, ms, packets)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from fairlane.judge.experiment import Record

Values = Mapping[str, Any]
"""Values of an experiment's parameters and variables."""

Metric = Callable[[Record, Values], float | None]
"""Computes a number of a run; returns None if the run lacks it."""


def throughput(group: int, quantity: str = "throughput_bps") -> Metric:
    """T_i: mean throughput of a user of group i in Mb/s; `quantity` can name another rate, such as `goodput_bps`."""
    return lambda record, _: record["groups"][group][quantity] / 1e6 if group < len(record["groups"]) else None


def throughput_ratio(quantity: str = "throughput_bps") -> Metric:
    """T_R = T_0/T_1; infinite if group 1 got nothing."""

    def ratio(record: Record, _: Values) -> float | None:
        if len(record["groups"]) < 2:
            return None
        above, below = (group[quantity] for group in record["groups"])
        return above / below if below else math.inf

    return ratio


def utilisation(record: Record, _: Values) -> float:
    """Busy time of the bottleneck divided by the measured time."""
    return float(bottleneck(record)["utilisation"])


def queue_mean(record: Record, _: Values) -> float | None:
    """Time average of the number of waiting packets of both classes; None if a data plane does not count them."""
    queue = bottleneck(record).get("queue")
    return float(queue["mean_packets"]) if queue else None


def delay(traffic_class: str) -> Metric:
    """Mean time of a class's packets in the queue, in ms."""

    def mean_ms(record: Record, _: Values) -> float | None:
        means = [d["mean_s"] for d in bottleneck(record)["delay"] if d["traffic_class"] == traffic_class]
        return 1e3 * means[0] if means else None

    return mean_ms


def bottleneck(record: Record) -> Mapping[str, Any]:
    """The record of the bottleneck link."""
    found: Mapping[str, Any] = next(link for link in record["links"] if link["name"] == "bottleneck")
    return found
