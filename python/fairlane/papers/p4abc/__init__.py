"""Implementation and evaluation of ABC with P4: a software switch between two clients and a server."""

from __future__ import annotations

from fairlane.papers.p4abc.metrics import COMPUTED, METRICS
from fairlane.papers.p4abc.scenarios import FOLDER, scenario
from fairlane.papers.paper import Paper, load_experiments
from fairlane.papers.run_rules import load_runs

RUNS = load_runs(FOLDER / "runs.toml")

PAPER = Paper(
    key="p4abc",
    title="Activity-Based Congestion Management with P4, Future Internet 11, 159, 2019",
    folder=FOLDER,
    experiments=load_experiments(FOLDER / "claims.toml", "p4abc", runs=RUNS),
    scenario=scenario,
    metrics=METRICS,
    runs=RUNS,
    computed=COMPUTED,
)
