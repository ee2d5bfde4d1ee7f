"""Scenarios of the fairness experiment: base.toml, overridden by the parameters and variables of the experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Row
from fairlane.papers.parameters import base_of
from fairlane.simulate.scenario import Scenario, Table, group, transfers

FOLDER = Path(__file__).parent

ENGINE_SCHEMES = {"tcp": "droptail", "dctcp": "red", "pifo": "stfq"}
"""Schemes of the simulator, by the paper's name. `tcp` and `dctcp` use a FIFO; PIFO with start tags is STFQ."""

USERS = 16
"""Number of hosts of a leaf; each has a separate access link."""


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables."""
    base = base_of(FOLDER)
    settings: Any = (
        {"congestion_control": "dctcp", "ecn": True, "sack": True, "loss_detection": "rack"}
        if values["scheme"] == "dctcp"
        else {}
    )
    source = transfers(sizes="web_search", load=f"{values['load']} %", **settings)
    groups = [group("transfers", source, users=USERS, start_from="0 s", start_until="0 s")]
    return base.replace("groups", groups).replace("queue", _queue(values))


def _queue(values: Mapping[str, Any]) -> Table:
    """Queues as in the authors' runs, projects/aifo/runs/aifo_evaluation/fairness."""
    queue = values["queue_packets"]
    match values["scheme"]:
        case "tcp":
            return {"scheme": "droptail", "limit": f"{queue} packets"}
        case "dctcp":
            marks_at = values["dctcp_marks_at"]
            step = {"min_th": f"{marks_at} packets", "max_th": f"{marks_at + 1} packets", "weight": 1.0}
            return {"scheme": "red", "limit": f"{queue} packets", "max_p": 1.0, "gentle": False, **step}
        case "aifo":
            return {
                "scheme": "aifo",
                "limit": f"{queue} packets",
                "window": values["window"],
                "sample_period": values["sample_period"],
                "headroom": values["k"],
            }
        case "rifo":
            return {"scheme": "rifo", "limit": f"{queue} packets", "guaranteed": values["k"]}
        case "sp_pifo":
            packets = values["queues"] * values["packets_per_queue"]
            return {"scheme": "sp_pifo", "limit": f"{packets} packets", "queues": values["queues"]}
        case _:
            return {"scheme": "stfq", "limit": f"{values['queues'] * values['packets_per_queue']} packets"}


def hardware(_: Experiment) -> list[Row]:
    """Returns no rows: the experiment needs a switch with hosts, and ranks that hosts write into packets."""
    return []


COMPUTED = {"aifo.testbed": hardware}
