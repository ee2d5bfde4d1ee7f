"""Menth, Zeitler: Fair Resource Sharing for Stateless-Core Packet-Switched Networks With Prioritization."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.abc2018 import metrics, scenarios, statistics

PAPER = load_paper(
    key="abc2018",
    title="Menth, Zeitler: Fair Resource Sharing for Stateless-Core Packet-Switched Networks With Prioritization, "
    "IEEE Access, 2018",
    folder=scenarios.FOLDER,
    sweep_defaults=["Db_ms"],
    scenario=scenarios.scenario,
    **declared(metrics, scenarios, statistics),
)
