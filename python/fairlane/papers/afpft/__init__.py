"""Eshete, Jiang: Approximate Fairness Through Limited Flow List."""

from __future__ import annotations

from fairlane.papers.afpft.metrics import METRICS, TRACES
from fairlane.papers.afpft.scenarios import AVERAGE_INTERVAL_S, ENGINE_SCHEMES, FOLDER, scenario
from fairlane.papers.afpft.statistics import COMPUTED, STATISTICS
from fairlane.papers.paper import Paper, load_experiments
from fairlane.papers.run_rules import load_runs

RUNS = load_runs(FOLDER / "runs.toml")

PAPER = Paper(
    key="afpft",
    title="Eshete, Jiang: Approximate Fairness Through Limited Flow List",
    folder=FOLDER,
    experiments=load_experiments(FOLDER / "claims.toml", "afpft", runs=RUNS),
    scenario=scenario,
    metrics=METRICS,
    traces=TRACES,
    trace_interval_s=AVERAGE_INTERVAL_S,
    runs=RUNS,
    confidence=0.9,
    engine_schemes=ENGINE_SCHEMES,
    computed=COMPUTED,
    statistics=STATISTICS,
)
