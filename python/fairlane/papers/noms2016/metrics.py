"""Computes the slides' numbers from run records; units as in claims.toml (Mb/s, s)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from fairlane.judge.experiment import Experiment, Record
from fairlane.judge.grid import Point, Row, Table
from fairlane.judge.measurements import records_of
from fairlane.judge.verdicts import Statistic
from fairlane.papers.metrics import Metric, Values, throughput, throughput_ratio
from fairlane.papers.noms2016.scenarios import FOLDER
from fairlane.papers.parameters import base_of
from fairlane.simulate.scenario import poisson

FORMULA_RATES_MBPS = {"above": 4.8, "average": 2.4, "below": 1.2}
"""Sending rate of a user of each group, for activities one above, at, and one below the average."""
FORMULA_USERS = {"above": 1, "average": 1, "below": 4}
"""Number of users of each group. The rates of a user are 4, 2 and 1 times 1.2 Mbit/s, and the activities are +1, 0 and
-1 relative to the middle group. A group's share of the packets is proportional to users * rate. So the average activity
over packets is (1*4*1 + 1*2*0 + 4*1*(-1)) / 10 = 0, equal to that of the middle group. The load is 12 Mbit/s on a link
of 10 Mbit/s."""


def upload_time(record: Record, values: Values) -> float | None:
    """Seconds from the start of the upload to its last byte. An unfinished upload counts with the observed time."""
    if "probe_MB" not in values:
        return None
    (upload,) = record["groups"][0]["transfers"]
    finish_s = record["window_s"][1] if upload["finish_s"] is None else upload["finish_s"]
    return float(finish_s - upload["start_s"])


def adapted_probability(experiment: Experiment) -> list[Row]:
    """Fraction of packets that the old AQM drops, for users with activity above, at and below the average.

    The slides compute p_A = p^(2^(-gamma*(A - A_avg))) for one p. The scheme's Rust tests check this value.
    """
    base = base_of(FOLDER).replace("queue.gamma", float(experiment.parameters["gamma"]))
    template = base.to_dict()["groups"][0]
    groups = [
        {**template, "name": name, "users": FORMULA_USERS[name], "sources": [poisson(f"{rate_mbps} Mbit/s")]}
        for name, rate_mbps in FORMULA_RATES_MBPS.items()
    ]
    records = records_of(base.replace("groups", groups))
    return [
        Row(
            {"scheme": "abc_old", "A_minus_avg": difference},
            {"p_A": tuple(1 - record["groups"][index]["udp"]["delivered_share"] for record in records)},
        )
        for index, difference in enumerate((1, 0, -1))
    ]


def best_gamma(tables: Mapping[str, Table]) -> Table | None:
    """The gamma with the smallest |log2 T_R|, averaged over rates and delays."""
    table = tables["noms.udp"]
    distance: dict[float, list[float]] = {}
    for cell in table.cells(["abc_old"], ["T_R"]):
        ratio = cell.interval.mean
        distance.setdefault(cell.at["gamma"], []).append(abs(math.log2(ratio)) if 0 < ratio < math.inf else math.inf)
    if not distance:
        return None
    best = min(distance, key=lambda gamma: math.fsum(distance[gamma]) / len(distance[gamma]))
    return Table(table.experiment, {}, table.parameters, [Row({"scheme": "abc_old"}, {"T_R": (float(best),)})])


METRICS: dict[str, Metric] = {
    "T0": throughput(0),
    "T1": throughput(1),
    "T_R": throughput_ratio(),
    "upload_s": upload_time,
}

LABELS: dict[str, Callable[[Point], str]] = {
    "row": lambda at: f"{at['Db_ms']}, {at['users']}",
    "column": lambda at: f"f1={at['f1']},u1={at['u1']}",
}
"""Labels of a point: its row in the slides' gamma table, and its column in the upload table."""

COMPUTED = {"noms.formula": adapted_probability}

STATISTICS: dict[str, Statistic] = {"noms.udp.gamma3_best": Statistic(best_gamma)}
