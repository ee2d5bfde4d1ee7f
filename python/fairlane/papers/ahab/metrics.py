"""The metrics of the claims."""

from __future__ import annotations

from fairlane.judge.experiment import Record
from fairlane.papers import texts
from fairlane.papers.metrics import Metric, Values, bottleneck, utilisation


def state_bytes(record: Record, _: Values) -> float:
    """State of the scheme at the bottleneck in bytes."""
    return float(bottleneck(record)["state"]["bytes"])


METRICS: dict[str, Metric] = {
    **texts.metrics_of("a", "b", "c"),
    "jain": texts.jain,
    "state_bytes": state_bytes,
    "utilisation": utilisation,
}
