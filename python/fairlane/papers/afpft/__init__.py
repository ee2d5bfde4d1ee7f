"""Eshete, Jiang: Approximate Fairness Through Limited Flow List."""

from __future__ import annotations

from fairlane.papers.afpft.metrics import METRICS, TRACES
from fairlane.papers.afpft.scenarios import ENGINE_SCHEMES, FOLDER, scenario
from fairlane.papers.afpft.statistics import COMPUTED, STATISTICS
from fairlane.papers.paper import load_paper

PAPER = load_paper(
    key="afpft",
    title="Eshete, Jiang: Approximate Fairness Through Limited Flow List",
    folder=FOLDER,
    scenario=scenario,
    metrics=METRICS,
    traces=TRACES,
    confidence=0.9,
    engine_schemes=ENGINE_SCHEMES,
    computed=COMPUTED,
    statistics=STATISTICS,
)
