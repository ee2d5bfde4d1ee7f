"""Computes, from run records, how well a scheme approximates a sorted queue, and fairness among users."""

from __future__ import annotations

from fairlane.papers import texts
from fairlane.papers.metrics import Metric

METRICS: dict[str, Metric] = {
    **texts.metrics_of("a", "b"),
    "jain": texts.jain,
    "inversions": texts.reading("inversions_per_packet"),
    "dropped": texts.reading("dropped_part"),
    "low_drops": texts.reading("drops_below_rank_50"),
}
