"""Menth, Zeitler: Activity-Based Congestion Management, slides of 2016."""

from __future__ import annotations

from fairlane.papers.noms2016.metrics import COMPUTED, LABELS, METRICS, STATISTICS
from fairlane.papers.noms2016.scenarios import FOLDER, exists, scenario
from fairlane.papers.paper import load_paper

PAPER = load_paper(
    key="noms2016",
    title="Menth, Zeitler: Activity-Based Congestion Management for Fair Bandwidth Sharing in Trusted Packet Networks, "
    "IEEE/IFIP NOMS, 2016 (slides)",
    folder=FOLDER,
    sweep_defaults=["Db_ms"],
    scenario=scenario,
    metrics=METRICS,
    engine_schemes={"abc_old": "abc2016"},
    exists=exists,
    labels=LABELS,
    computed=COMPUTED,
    statistics=STATISTICS,
)
