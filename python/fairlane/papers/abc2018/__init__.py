"""Menth, Zeitler: Fair Resource Sharing for Stateless-Core Packet-Switched Networks With Prioritization."""

from __future__ import annotations

from fairlane.papers.abc2018.metrics import METRICS, TRACES
from fairlane.papers.abc2018.scenarios import FOLDER, TRACE_INTERVAL_S, scenario
from fairlane.papers.abc2018.statistics import COMPUTED, STATISTICS
from fairlane.papers.paper import Paper, load_experiments
from fairlane.papers.run_rules import load_runs

RUNS = load_runs(FOLDER / "runs.toml")

PAPER = Paper(
    key="abc2018",
    title="Menth, Zeitler: Fair Resource Sharing for Stateless-Core Packet-Switched Networks With Prioritization, "
    "IEEE Access, 2018",
    folder=FOLDER,
    experiments=load_experiments(FOLDER / "claims.toml", "abc2018", sweep_defaults=["Db_ms"], runs=RUNS),
    scenario=scenario,
    metrics=METRICS,
    traces=TRACES,
    trace_interval_s=TRACE_INTERVAL_S,
    runs=RUNS,
    engine_schemes={"abc_fair": "abc", "csfq_qmin": "csfq"},
    computed=COMPUTED,
    statistics=STATISTICS,
)
