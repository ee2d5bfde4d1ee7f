"""Chatranon, Labrador, Banerjee: A Credit-based Active Queue Management (AQM) Mechanism to Achieve Fairness."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.afc import metrics, scenarios, statistics

PAPER = load_paper(
    key="afc",
    title="Chatranon, Labrador, Banerjee: A Credit-based Active Queue Management (AQM) Mechanism to Achieve Fairness "
    "in the Internet",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios, statistics),
)
