"""Eshete, Jiang: Approximate Fairness Through Limited Flow List."""

from __future__ import annotations

from fairlane.papers.afpft import metrics, scenarios, statistics
from fairlane.papers.paper import declared, load_paper

PAPER = load_paper(
    key="afpft",
    title="Eshete, Jiang: Approximate Fairness Through Limited Flow List",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    confidence=0.9,
    **declared(metrics, scenarios, statistics),
)
