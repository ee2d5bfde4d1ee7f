"""Implementation and evaluation of ABC with P4: a software switch between two clients and a server."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.p4abc import metrics, scenarios

PAPER = load_paper(
    key="p4abc",
    title="Activity-Based Congestion Management with P4, Future Internet 11, 159, 2019",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
