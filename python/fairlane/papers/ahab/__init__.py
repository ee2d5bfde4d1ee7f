"""MacDavid, Chen, Rexford: Scalable Real-Time Bandwidth Fairness in Switches."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.ahab import metrics, scenarios

PAPER = load_paper(
    key="ahab",
    title="MacDavid, Chen, Rexford: Scalable Real-Time Bandwidth Fairness in Switches, IEEE INFOCOM 2023 "
    "(abstract, and the authors' program)",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
