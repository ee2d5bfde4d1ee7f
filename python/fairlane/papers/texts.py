"""Code for drafts and RFCs whose claims we test in small scenarios: selects the traffic, and computes group metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairlane.judge.experiment import Record
from fairlane.papers.metrics import Metric, Values, bottleneck
from fairlane.papers.parameters import Keys, base_of, with_parameters
from fairlane.simulate.scenario import Scenario, Table

Traffic = Mapping[str, Callable[[Values], list[Table]]]
"""Groups for each value of the parameter `traffic`."""

KEYS: Keys = {
    "rate_mbps": ("topology.bottleneck_rate", "{} Mbit/s"),
    "delay_ms": ("topology.bottleneck_delay", "{} ms"),
    "limit_pkts": ("queue.limit", "{} packets"),
    "control": ("tcp.congestion_control", None),
    "ecn": ("tcp.ecn", None),
    "warmup_s": ("run.warmup", "{} s"),
    "measure_s": ("run.measure", "{} s"),
}
"""Scenario key of each scalar parameter of claims.toml, with the format string of its value."""


def scenario(folder: Path, traffic: Traffic, values: Values) -> Scenario:
    """Returns base.toml with the parameters in `values`, the groups that `traffic` defines, and the scheme.

    The scheme's keys are in the table `queue` of `values`.
    """
    base = with_parameters(base_of(folder), KEYS, values)
    queue = base.to_dict()["queue"]
    scheme = values.get("scheme", queue["scheme"])
    base = base.replace("queue", {**queue, "scheme": scheme, **values.get("queue", {}).get(scheme, {})})
    return base.replace("groups", traffic[values["traffic"]](values))


def metrics_of(*groups: str) -> dict[str, Metric]:
    """For each group, per user: throughput in Mb/s, lost and marked packets in % of sent packets, and delay in ms.

    Delays are one-way, from the source to the receiver. The metrics of group `a` are `a_mbps`, `a_lost`, `a_marked`,
    `a_mean_ms` and `a_p99_ms`.
    """
    metrics: dict[str, Metric] = {}
    for name in groups:
        metrics[f"{name}_mbps"] = _of_group(name, "throughput_bps", factor=1e-6)
        metrics[f"{name}_lost"] = _of_group(name, "path", "lost_share", factor=100.0)
        metrics[f"{name}_marked"] = _of_group(name, "path", "marked_share", factor=100.0)
        metrics[f"{name}_mean_ms"] = _of_group(name, "path", "one_way_delay", "mean_s", factor=1e3)
        metrics[f"{name}_p99_ms"] = _of_group(name, "path", "one_way_delay", "p99_s", factor=1e3)
    return metrics


def ratio(above: str, below: str) -> Metric:
    """Throughput of a user of group `above` divided by that of a user of `below`; infinite if the divisor is 0."""

    def metric(record: Record, _: Values) -> float | None:
        first, second = (_group(record, name) for name in (above, below))
        if first is None or second is None:
            return None
        return float(first["throughput_bps"] / second["throughput_bps"]) if second["throughput_bps"] else math.inf

    return metric


def jain(record: Record, _: Values) -> float | None:
    """Jain's index of the throughput of all users."""
    return None if record["jain_index"] is None else float(record["jain_index"])


def reading(name: str) -> Metric:
    """The value `name` of the state of the bottleneck's scheme at the end of the run."""
    return lambda record, _: bottleneck(record)["readings"].get(name)


def dropped(reason: str) -> Metric:
    """Packets dropped at the bottleneck for a reason, in % of arrivals."""

    def metric(record: Record, _: Values) -> float:
        shares = [drop["share_of_arrivals"] for drop in bottleneck(record)["drops"] if drop["reason"] == reason]
        return 100.0 * float(sum(shares))

    return metric


def _group(record: Record, name: str) -> Mapping[str, Any] | None:
    return next((group for group in record["groups"] if group["name"] == name), None)


def _of_group(name: str, *keys: str, factor: float) -> Metric:
    def metric(record: Record, _: Values) -> float | None:
        found: Any = _group(record, name)
        for key in keys:
            found = None if found is None else found[key]
        return None if found is None else factor * float(found)

    return metric
