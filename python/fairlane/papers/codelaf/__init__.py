"""Morton, Heist: Controlled Delay Approximate Fairness AQM, and Cheap Nasty Queueing."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.codelaf import metrics, scenarios

PAPER = load_paper(
    key="codelaf",
    title="Morton, Heist: Controlled Delay Approximate Fairness AQM, draft-morton-tsvwg-codel-approx-fair-01, 2020, "
    "with Cheap Nasty Queueing, draft-morton-tsvwg-cheap-nasty-queueing-01, 2019",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
