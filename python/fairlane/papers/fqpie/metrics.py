"""The metrics of the claims."""

from __future__ import annotations

from fairlane.papers import texts
from fairlane.papers.metrics import Metric, delay, queue_mean, utilisation

METRICS: dict[str, Metric] = {
    **texts.metrics_of("a", "b", "cbr"),
    "a_over_b": texts.ratio("a", "b"),
    "jain": texts.jain,
    "queue_ms": delay("BE"),
    "queue_pkts": queue_mean,
    "aqm_drops": texts.dropped("aqm"),
    "overflow": texts.dropped("overlimit"),
    "utilisation": utilisation,
}
