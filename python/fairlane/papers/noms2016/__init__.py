"""Menth, Zeitler: Activity-Based Congestion Management, slides of 2016."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.noms2016 import metrics, scenarios

PAPER = load_paper(
    key="noms2016",
    title="Menth, Zeitler: Activity-Based Congestion Management for Fair Bandwidth Sharing in Trusted Packet Networks, "
    "IEEE/IFIP NOMS, 2016 (slides)",
    folder=scenarios.FOLDER,
    sweep_defaults=["Db_ms"],
    scenario=scenarios.scenario,
    exists=scenarios.exists,
    **declared(metrics, scenarios),
)
