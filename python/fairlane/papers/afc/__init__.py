"""Chatranon, Labrador, Banerjee: A Credit-based Active Queue Management (AQM) Mechanism to Achieve Fairness."""

from __future__ import annotations

from fairlane.papers.afc.metrics import METRICS, TRACES
from fairlane.papers.afc.scenarios import FOLDER, PENALTY_FACTORS, scenario
from fairlane.papers.afc.statistics import STATISTICS
from fairlane.papers.paper import load_paper

PAPER = load_paper(
    key="afc",
    title="Chatranon, Labrador, Banerjee: A Credit-based Active Queue Management (AQM) Mechanism to Achieve Fairness "
    "in the Internet",
    folder=FOLDER,
    scenario=scenario,
    metrics=METRICS,
    traces=TRACES,
    engine_schemes=dict.fromkeys(PENALTY_FACTORS, "sfb"),
    statistics=STATISTICS,
)
