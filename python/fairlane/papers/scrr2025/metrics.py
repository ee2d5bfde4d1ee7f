"""Computes completion times and shares from run records; units as in claims.toml.

An answer is a short transfer in the group `answers`, which competes with long flows.
"""

from __future__ import annotations

from fairlane.judge.experiment import Record
from fairlane.papers.metrics import Metric, Values, utilisation
from fairlane.results.metrics import jain


def answer_ms(record: Record, _: Values) -> float | None:
    """Mean time of an answer in ms, from the opening of its connection."""
    group = next((group for group in record["groups"] if group["name"] == "answers"), None)
    mean_s = group["transfer_times"]["mean_s"] if group else None
    return None if mean_s is None else 1e3 * float(mean_s)


def fairness(record: Record, _: Values) -> float | None:
    """Jain's index of the throughputs of all users except those in the group `answers`."""
    groups = (group for group in record["groups"] if group["name"] != "answers")
    return jain([rate for group in groups for rate in group["user_throughput_bps"]])


def long_mbps(record: Record, _: Values) -> float | None:
    """Throughput of a long flow."""
    group = record["groups"][0]
    return float(group["throughput_bps"]) / 1e6 if group["name"] == "long" else None


METRICS: dict[str, Metric] = {
    "answer_ms": answer_ms,
    "jain": fairness,
    "long_mbps": long_mbps,
    "utilisation": utilisation,
}
