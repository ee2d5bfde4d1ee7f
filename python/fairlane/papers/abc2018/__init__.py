"""Menth, Zeitler: Fair Resource Sharing for Stateless-Core Packet-Switched Networks With Prioritization."""

from __future__ import annotations

from fairlane.papers.abc2018.metrics import METRICS, TRACES
from fairlane.papers.abc2018.scenarios import FOLDER, scenario
from fairlane.papers.abc2018.statistics import COMPUTED, STATISTICS
from fairlane.papers.paper import load_paper

PAPER = load_paper(
    key="abc2018",
    title="Menth, Zeitler: Fair Resource Sharing for Stateless-Core Packet-Switched Networks With Prioritization, "
    "IEEE Access, 2018",
    folder=FOLDER,
    sweep_defaults=["Db_ms"],
    scenario=scenario,
    metrics=METRICS,
    traces=TRACES,
    engine_schemes={"abc_fair": "abc", "csfq_qmin": "csfq"},
    computed=COMPUTED,
    statistics=STATISTICS,
)
