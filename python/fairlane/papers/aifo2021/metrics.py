"""Computes completion times of transfers, by class of size, from run records; units as in claims.toml."""

from __future__ import annotations

from fairlane.judge.experiment import Record
from fairlane.papers.metrics import Metric, Values, utilisation


def completion(size_class: int) -> Metric:
    """Mean time in ms of the transfers of a class of `probes.transfer_sizes`."""

    def mean_ms(record: Record, _: Values) -> float | None:
        mean_s = record["groups"][0]["transfer_times"]["by_size"][size_class]["mean_s"]
        return None if mean_s is None else 1e3 * float(mean_s)

    return mean_ms


METRICS: dict[str, Metric] = {
    "small_fct_ms": completion(0),
    "large_fct_ms": completion(2),
    "utilisation": utilisation,
}
