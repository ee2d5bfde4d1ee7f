"""Claims of the abstracts of SP-PIFO (2020) and PACKS (2025), which approximate a sorted queue."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.packs import metrics, scenarios

PAPER = load_paper(
    key="packs",
    title="Gran Alcoz, Vass, Namyar, Arzani, Rétvári, Vanbever: Everything Matters in Programmable Packet Scheduling, "
    "NSDI, 2025; Gran Alcoz, Dietmüller, Vanbever: SP-PIFO, NSDI, 2020 (abstracts)",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
