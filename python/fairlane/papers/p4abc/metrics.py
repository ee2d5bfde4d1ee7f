"""The numbers that the paper reports, from run records of any plane; units as in claims.toml (Mb/s, packets)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairlane.papers.experiment import Experiment, Record
from fairlane.papers.grid import Row
from fairlane.papers.metrics import Metric, Values, queue_mean, utilisation


def goodput(group: int) -> Metric:
    """G_i: mean goodput of a client of group i in Mb/s."""
    return lambda record, _: record["groups"][group]["goodput_bps"] / 1e6 if group < len(record["groups"]) else None


def goodput_ratio(record: Record, _: Values) -> float | None:
    """G_0/G_1; infinite if client 1 got nothing."""
    if len(record["groups"]) < 2:
        return None
    above, below = (group["goodput_bps"] for group in record["groups"])
    return above / below if below else math.inf


def rate_of_pipeline(experiment: Experiment) -> Sequence[Row]:
    """The bit rate of the switch's limit in packets/s (5.1)."""
    rate_mbps = experiment.parameters["egress_pps"] * experiment.parameters["packet_B"] * 8 / 1e6
    return [Row({"scheme": "link"}, {"number": (rate_mbps,)}, exact=True)]


METRICS: dict[str, Metric] = {
    "G0": goodput(0),
    "G1": goodput(1),
    "G_R": goodput_ratio,
    "utilisation": utilisation,
    "queue_mean": queue_mean,
}

COMPUTED = {"p4abc.rate": rate_of_pipeline}
