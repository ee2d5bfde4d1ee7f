"""MacDavid, Chen, Rexford: Scalable Real-Time Bandwidth Fairness in Switches."""

from __future__ import annotations

from fairlane.papers.ahab import metrics, scenarios
from fairlane.papers.paper import declared, load_paper

PAPER = load_paper(
    key="ahab",
    title="MacDavid, Chen, Rexford: Scalable Real-Time Bandwidth Fairness in Switches, IEEE INFOCOM 2023 "
    "(abstract, and the authors' program)",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
