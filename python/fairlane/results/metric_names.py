"""The metrics that runs of a scenario have."""

from __future__ import annotations

import json
from typing import Any

from fairlane import _fairlane
from fairlane.results.metrics import QUANTITIES, metrics, series


def metric_names(scenario: str) -> list[str]:
    """Those of a run of one millisecond of a canonical scenario, and the delays of its classes."""
    run, table = _shortest_run(scenario)
    names = [name for name in metrics(run) if not name.startswith("delay_")]
    classes = dict.fromkeys(group["traffic_class"] for group in table["groups"])
    return names + [
        f"delay_{quantity}.{traffic_class}.{link['name']}"
        for quantity in QUANTITIES
        for traffic_class in classes
        for link in run["links"]
    ]


def series_names(scenario: str) -> list[str]:
    """The metrics of which runs of a canonical scenario have time series."""
    return list(series(_shortest_run(scenario)[0]))


def _shortest_run(scenario: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record of a run of one millisecond, and its scenario."""
    table: dict[str, Any] = json.loads(scenario)
    table["run"] |= {"warmup": "0 s", "measure": "1 ms"}
    if table["probes"].get("series_interval"):
        table["probes"]["series_interval"] = "1 ms"
    table["probes"].pop("detail", None)
    for group in table["groups"]:
        group["start_from"] = group["start_until"] = "0 s"
        for source in group["sources"]:
            source.pop("stop", None)  # it would be after the end
    batch = _fairlane.Batch([(json.dumps(table), 0)], 1)
    while (done := batch.next(1.0)) is None:
        pass
    return json.loads(done[1]), table
