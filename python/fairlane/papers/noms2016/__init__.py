"""Menth, Zeitler: Activity-Based Congestion Management, slides of 2016."""

from __future__ import annotations

from fairlane.papers.noms2016.metrics import COMPUTED, LABELS, METRICS, STATISTICS
from fairlane.papers.noms2016.scenarios import FOLDER, exists, scenario
from fairlane.papers.paper import Paper, load_experiments
from fairlane.papers.run_rules import load_runs

RUNS = load_runs(FOLDER / "runs.toml")

PAPER = Paper(
    key="noms2016",
    title="Menth, Zeitler: Activity-Based Congestion Management for Fair Bandwidth Sharing in Trusted Packet Networks, "
    "IEEE/IFIP NOMS, 2016 (slides)",
    folder=FOLDER,
    experiments=load_experiments(FOLDER / "claims.toml", "noms2016", sweep_defaults=["Db_ms"], runs=RUNS),
    scenario=scenario,
    metrics=METRICS,
    runs=RUNS,
    engine_schemes={"abc_old": "abc2016"},
    exists=exists,
    labels=LABELS,
    computed=COMPUTED,
    statistics=STATISTICS,
)
