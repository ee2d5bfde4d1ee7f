"""Measures rows of afc's tables under each interpretation of details that the paper leaves open.

Prints mean rates of a UDP flow and of a TCP flow in kbit/s, which are copied to
python/fairlane/papers/afc/readings.toml.
"""

from __future__ import annotations

import json
from statistics import fmean
from typing import Any

from fairlane.judge import library as papers
from fairlane.judge.measurements import point_scenario, records_of
from fairlane.simulate.scenario import Scenario

from .harness import Report, bench, replications

METRICS = ("udp_kbps", "tcp_kbps")

Point = tuple[str, dict[str, Any]]
ONE: Point = ("afc.table1", {"n_udp": 1})
FIVE: Point = ("afc.table1", {"n_udp": 5})
BURSTS_5: Point = ("afc.table3", {"peak_mbps": 10, "n_udp": 5})
BURSTS_15: Point = ("afc.table3", {"peak_mbps": 10, "n_udp": 15})

HOLD_TIMES = [("10 ms", "50 ms"), ("30 ms", "30 ms"), ("10 ms", "10 ms"), ("50 ms", "50 ms")]

READINGS: list[tuple[str, list[Point], list[dict[str, Any]]]] = [
    ("choke", [FIVE], [{"draws_beyond": draws} for draws in (1, 16, 0)]),
    (
        "care",
        [ONE, BURSTS_5],
        [{"estimator": name} for name in ("jackknife_1", "m0", *(f"jackknife_{k}" for k in (2, 3, 4, 5, "tested")))],
    ),
    (
        "black",
        [ONE, FIVE, BURSTS_5, BURSTS_15],
        [
            *({"window": window} for window in ("sliding", "jumping", "period_end")),
            {"flow_count": "matches"},
        ],
    ),
    ("afc", [ONE], [{"window": window} for window in ("sliding", "period_end")]),
    ("sfb_1x", [ONE], [{"freeze": least, "freeze_most": most} for least, most in HOLD_TIMES]),
    ("sfb_1x", [FIVE], [{}, {"penalty_rate": "47619 bit/s"}]),
]


@bench("afc-readings")
@replications(5)
def main(report: Report, replications: int) -> None:
    """Simulates and prints a table."""
    ((paper, _),) = papers.select(["afc"])
    rows: list[list[str]] = []
    for scheme, points, settings in READINGS:
        for setting in settings:
            numbers = []
            for name, at in points:
                experiment = paper.experiments[name]
                values = {**experiment.parameters, "scheme": scheme, **at}
                changes = {f"queue.{key}": value for key, value in setting.items()}
                canonical = point_scenario(paper, experiment, {"scheme": scheme, **at}, replications, changes)
                records = records_of(Scenario.from_dict(json.loads(canonical)))
                measured = [fmean(paper.metrics[key](record, values) or 0.0 for record in records) for key in METRICS]
                numbers.append("/".join(f"{number:.4g}" for number in measured))
            rows.append([scheme, str(setting), ", ".join(numbers)])
            report.progress(len(rows), sum(len(settings) for _, _, settings in READINGS), ": ".join(rows[-1]))
    report.table({"scheme": "", "reading": "", "kb/s, UDP/TCP": ""}, rows)
