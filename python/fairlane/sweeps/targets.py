"""The metrics that a stopping rule can use."""

from __future__ import annotations

from collections.abc import Mapping

from fairlane.base.errors import UserError
from fairlane.base.text import near
from fairlane.results.metrics import metric_names


def check_metrics(targets: Mapping[str, float], scenario: str) -> None:
    """Raises a UserError if a rule uses a metric that runs of a canonical scenario do not measure."""
    if not targets:
        return
    known = metric_names(scenario)
    for metric in targets:
        if metric not in known:
            raise UserError(f"stop.relative_half_width.{metric}: unknown metric; {near(metric, known)}")
