"""Scenarios of the claims: base.toml, overridden by the parameters and variables of the experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Row
from fairlane.papers.parameters import base_of
from fairlane.simulate.scenario import Scenario, Table, cbr, group, tcp, web

FOLDER = Path(__file__).parent

DRR_QUANTA = {"drr_200": 200, "drr_500": 500, "drr_1500": 1500, "drr_9000": 9000}
"""Quanta in bytes, from the README of the qdisc."""
VARIANTS = {"scrr": "neia", "scrr_nmne": "nmne", "scrr_basic": "basic"}
ENGINE_SCHEMES = {**dict.fromkeys(DRR_QUANTA, "drr"), **dict.fromkeys(VARIANTS, "scrr")}

START: Any = {"start_from": "0 s", "start_until": "0.5 s"}


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables."""
    base = base_of(FOLDER)
    limit = base.to_dict()["queue"]["limit"]
    return base.replace("groups", _groups(values)).replace("queue", {"limit": limit, **_queue(values)})


def _groups(values: Mapping[str, Any]) -> list[Table]:
    if "packet_sizes_B" in values:
        rate = f"{values['cbr_mbps']} Mbit/s"
        return [
            group(f"{size} B", cbr(rate, packet_size=f"{size} B"), users=values["users"], **START)
            for size in values["packet_sizes_B"]
        ]
    groups = [group("long", tcp(), users=values["long_flows"], **START)]
    if "answer_kB" in values:
        answers = web(interval=f"{values['gap_ms']} ms", size=f"{values['answer_kB']} kB", distribution="constant")
        groups.append(group("answers", answers, users=values["clients"], **START))
    return groups


def _queue(values: Mapping[str, Any]) -> Table:
    scheme = values["scheme"]
    if scheme in DRR_QUANTA:
        return {"scheme": "drr", "share_per": "flow", "quantum": f"{DRR_QUANTA[scheme]} B"}
    if scheme in VARIANTS:
        return {"scheme": "scrr", "variant": VARIANTS[scheme]}
    return {"scheme": scheme}


def testbed(_: Experiment) -> list[Row]:
    """Returns no rows: the experiment needs CPU times of a kernel, which the simulator does not measure."""
    return []


COMPUTED = {"scrr.cpu": testbed}
