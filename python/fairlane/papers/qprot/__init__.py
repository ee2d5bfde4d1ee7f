"""Briscoe, White: The DOCSIS Queue Protection Algorithm to Preserve Low Latency."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.qprot import metrics, scenarios

PAPER = load_paper(
    key="qprot",
    title="Briscoe, White: The DOCSIS Queue Protection Algorithm to Preserve Low Latency, RFC 9957, 2026 "
    "(read as draft-briscoe-docsis-q-protection-02)",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
