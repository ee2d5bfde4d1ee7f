"""Scenarios of the claims: AIFO's scenarios with RIFO and other workloads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.papers.aifo2021 import scenarios as aifo
from fairlane.simulate.scenario import Scenario, transfers

FOLDER = Path(__file__).parent


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for the values of an experiment's parameters and variables."""
    source = transfers(sizes=values["workload"], load=f"{values['load']} %")
    return aifo.scenario(values).replace("name", "rifo2025").replace("groups[0].sources", [source])
