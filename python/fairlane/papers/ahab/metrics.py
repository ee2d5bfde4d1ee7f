"""The numbers that the claims are about."""

from __future__ import annotations

from fairlane.judge.experiment import Record
from fairlane.papers import texts
from fairlane.papers.metrics import Metric, Values, bottleneck, utilisation


def state_bytes(record: Record, _: Values) -> float:
    """Bytes that the scheme remembers at the bottleneck."""
    return float(bottleneck(record)["state"]["bytes"])


METRICS: dict[str, Metric] = {
    **texts.metrics_of("a", "b", "c"),
    "jain": texts.jain,
    "state_bytes": state_bytes,
    "utilisation": utilisation,
}
