"""The metrics of the claims."""

from __future__ import annotations

from fairlane.papers import texts
from fairlane.papers.metrics import Metric, queue_mean

METRICS: dict[str, Metric] = {
    **texts.metrics_of("a", "b", "cbr"),
    "a_over_b": texts.ratio("a", "b"),
    "jain": texts.jain,
    "queue_pkts": queue_mean,
}
