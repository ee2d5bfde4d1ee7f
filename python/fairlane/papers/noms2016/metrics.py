"""The numbers that the slides report, from run records; units as in claims.toml (Mb/s, s)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fairlane.papers.claims import Statistic
from fairlane.papers.grid import Point, Row, Table
from fairlane.papers.metrics import Metric, Values, throughput, throughput_ratio
from fairlane.papers.paper import Experiment, Record

BASE_PROBABILITY = 0.1


def upload_time(record: Record, values: Values) -> float | None:
    """Seconds from the start of the upload until its last byte; one that never ends counts with all the time seen."""
    if "probe_MB" not in values:
        return None
    (upload,) = record["groups"][0]["transfers"]
    finish_s = record["window_s"][1] if upload["finish_s"] is None else upload["finish_s"]
    return float(finish_s - upload["start_s"])


def adapted_probability(experiment: Experiment) -> list[Row]:
    """p_A = p^(2^(-gamma*(A - A_avg))) at p = 0.1 as the slides have it; the scheme's own tests are in Rust."""
    gamma = experiment.parameters["gamma"]
    return [
        Row(
            {"scheme": "abc_old", "A_minus_avg": difference},
            {"p_A": (BASE_PROBABILITY ** (2.0 ** (-gamma * difference)),)},
        )
        for difference in (1, 0, -1)
    ]


def best_gamma(tables: Mapping[str, Table]) -> Table | None:
    """The gamma at which |log2 T_R|, averaged over rates and delays, is least."""
    table = tables["noms.udp"]
    distance: dict[float, list[float]] = {}
    for cell in table.cells(["abc_old"], ["T_R"]):
        ratio = cell.interval.mean
        distance.setdefault(cell.at["gamma"], []).append(abs(math.log2(ratio)) if 0 < ratio < math.inf else math.inf)
    if not distance:
        return None
    best = min(distance, key=lambda gamma: math.fsum(distance[gamma]) / len(distance[gamma]))
    return Table(table.experiment, {}, table.parameters, [Row({"scheme": "abc_old"}, {"T_R": (float(best),)})])


def row_label(at: Point) -> str:
    """The row of the gamma table."""
    return f"{at['Db_ms']}, {at['users']}"


def column_label(at: Point) -> str:
    """The column of the upload table."""
    return f"f1={at['f1']},u1={at['u1']}"


METRICS: dict[str, Metric] = {
    "T0": throughput(0),
    "T1": throughput(1),
    "T_R": throughput_ratio,
    "upload_s": upload_time,
}

LABELS = {"row": row_label, "column": column_label}

COMPUTED = {"noms.formula": adapted_probability}

STATISTICS: dict[str, Statistic] = {"noms.udp.gamma3_best": Statistic(best_gamma)}
