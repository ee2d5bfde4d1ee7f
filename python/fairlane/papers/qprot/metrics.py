"""The metrics of the claims."""

from __future__ import annotations

from fairlane.judge.experiment import Record
from fairlane.papers import texts
from fairlane.papers.metrics import Metric, Values

_OF_GROUPS = texts.metrics_of("scalable", "offender", "innocent")


def congestion_mbps(record: Record, values: Values) -> float | None:
    """Congestion-rate of a scalable flow: its marked bits per second, in Mb/s."""
    rate, marked = (_OF_GROUPS[f"scalable_{what}"](record, values) for what in ("mbps", "marked"))
    return None if rate is None or marked is None else rate * marked / 100.0


METRICS: dict[str, Metric] = {
    **_OF_GROUPS,
    "ejected": texts.reading("ejected_packets"),
    "congestion_mbps": congestion_mbps,
}
