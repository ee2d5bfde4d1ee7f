"""Eshete, Jiang: Approximate Fairness Through Limited Flow List."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.afpft import metrics, scenarios, statistics

PAPER = load_paper(
    key="afpft",
    title="Eshete, Jiang: Approximate Fairness Through Limited Flow List",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    confidence=0.9,
    **declared(metrics, scenarios, statistics),
)
