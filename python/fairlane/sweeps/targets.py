"""The metrics that a rule can be about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.results.metrics import QUANTITIES, metrics


def check_metrics(targets: Mapping[str, float], scenario: str) -> None:
    """Raises a UserError if a rule is about something that no run of a canonical scenario measures."""
    if not targets:
        return
    known = metric_names(scenario)
    for metric in targets:
        if metric not in known:
            raise UserError(f"stop.relative_half_width.{metric}: unknown metric; there are {', '.join(known)}")


def metric_names(scenario: str) -> list[str]:
    """The metrics that runs of a scenario have: those of a run of one millisecond, and the delays of its classes."""
    table: dict[str, Any] = json.loads(scenario)
    table["run"] |= {"warmup": "0 s", "measure": "1 ms"}
    table["probes"].pop("series_interval", None)
    table["probes"].pop("detail", None)
    for group in table["groups"]:
        group["start_from"] = group["start_until"] = "0 s"
    batch = _fairlane.Batch([(json.dumps(table), 0)], 1)
    while (done := batch.next(1.0)) is None:
        pass
    run = json.loads(done[1])
    names = [name for name in metrics(run) if not name.startswith("delay_")]
    classes = dict.fromkeys(group["traffic_class"] for group in table["groups"])
    return names + [
        f"delay_{quantity}.{traffic_class}.{link['name']}"
        for quantity in QUANTITIES
        for traffic_class in classes
        for link in run["links"]
    ]
