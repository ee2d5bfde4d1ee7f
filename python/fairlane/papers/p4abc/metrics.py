"""Computes the paper's numbers from run records of any plane; units as in claims.toml (Mb/s, packets)."""

from __future__ import annotations

from collections.abc import Sequence

from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Row
from fairlane.papers.metrics import Metric, queue_mean, throughput, throughput_ratio, utilisation


def rate_of_pipeline(experiment: Experiment) -> Sequence[Row]:
    """Bit rate that corresponds to the switch's limit in packets/s (5.1)."""
    rate_mbps = experiment.parameters["egress_pps"] * experiment.parameters["packet_B"] * 8 / 1e6
    return [Row({"scheme": "link"}, {"number": (rate_mbps,)}, exact=True)]


METRICS: dict[str, Metric] = {
    "G0": throughput(0, "goodput_bps"),
    "G1": throughput(1, "goodput_bps"),
    "G_R": throughput_ratio("goodput_bps"),
    "utilisation": utilisation,
    "queue_mean": queue_mean,
}

COMPUTED = {"p4abc.rate": rate_of_pipeline}
