"""Mostafaei, Pacut and Schmid: RIFO, 2025, from its abstract."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.aifo2021 import metrics
from fairlane.papers.rifo2025 import scenarios

PAPER = load_paper(
    key="rifo2025",
    title="Mostafaei, Pacut, Schmid: RIFO: Pushing the Efficiency of Programmable Packet Schedulers, IEEE "
    "Transactions on Networking, 2025 (abstract)",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
