"""Papers that can be reproduced: one folder each, with experiments and claims as data."""

from __future__ import annotations

from fairlane.errors import UserError
from fairlane.papers.paper import Experiment, Paper


def papers() -> dict[str, Paper]:
    """Every paper by its key."""
    from fairlane.papers.abc2018 import PAPER as ABC2018

    return {paper.key: paper for paper in (ABC2018,)}


def find(name: str) -> tuple[Paper, list[Experiment]]:
    """The paper and the experiments that a name stands for: `abc2018` for all, `abc2018.fig4a` for one.

    Raises:
        UserError: There is no such paper or experiment.
    """
    known = papers()
    key = name.split(".", 1)[0]
    if key not in known:
        raise UserError(f"{name}: no such paper; there is {', '.join(known)}")
    paper = known[key]
    if name == key:
        return paper, list(paper.experiments.values())
    if name not in paper.experiments:
        there = ", ".join(experiment.removeprefix(f"{key}.") for experiment in paper.experiments)
        raise UserError(f"{name}: no such experiment of {key}; there are {there}")
    return paper, [paper.experiments[name]]
