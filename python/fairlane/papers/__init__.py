"""Papers that can be reproduced: one folder each, with experiments and claims as data."""

from __future__ import annotations

from collections.abc import Sequence

from fairlane.base.errors import UserError
from fairlane.base.text import near
from fairlane.papers.experiment import Experiment
from fairlane.papers.paper import Paper

ALL = "all"
"""Stands for every experiment of every paper."""


def papers() -> dict[str, Paper]:
    """Every paper by its key."""
    from fairlane.papers.abc2018 import PAPER as ABC2018
    from fairlane.papers.afc import PAPER as AFC
    from fairlane.papers.afpft import PAPER as AFPFT
    from fairlane.papers.ahab import PAPER as AHAB
    from fairlane.papers.aifo2021 import PAPER as AIFO2021
    from fairlane.papers.codelaf import PAPER as CODELAF
    from fairlane.papers.fqpie import PAPER as FQPIE
    from fairlane.papers.noms2016 import PAPER as NOMS2016
    from fairlane.papers.p4abc import PAPER as P4ABC
    from fairlane.papers.packs import PAPER as PACKS
    from fairlane.papers.qprot import PAPER as QPROT
    from fairlane.papers.rifo2025 import PAPER as RIFO2025
    from fairlane.papers.scrr2025 import PAPER as SCRR2025

    listed = (ABC2018, NOMS2016, AFPFT, AFC, P4ABC, AIFO2021, SCRR2025, QPROT, CODELAF, AHAB, FQPIE, PACKS, RIFO2025)
    return {paper.key: paper for paper in listed}


def find(name: str) -> tuple[Paper, list[Experiment]]:
    """The paper and the experiments that a name stands for: `abc2018` for all, `abc2018.fig4a` for one.

    Raises:
        UserError: There is no such paper or experiment.
    """
    known = papers()
    if name in known:
        return known[name], list(known[name].experiments.values())
    for paper in known.values():
        for experiment in paper.experiments.values():
            if name in {experiment.id, f"{paper.key}.{experiment.name}"}:
                return paper, [experiment]
    key = name.split(".", 1)[0]
    if key not in known:
        raise UserError(f"{name}: no such paper; {near(key, [*known, ALL])}")
    there = [experiment.name for experiment in known[key].experiments.values()]
    raise UserError(f"{name}: no such experiment of {key}; {near(name.split('.', 1)[1], there, most=len(there))}")


def select(names: Sequence[str]) -> list[tuple[Paper, list[Experiment]]]:
    """Papers with the experiments that names stand for, in the papers' order; `all` is a name too.

    Raises:
        UserError: There is no such paper or experiment, or no name.
    """
    if not names:
        raise UserError("no names: give a paper or its experiments")
    found = [find(key) for name in names for key in (papers() if name == ALL else [name])]
    chosen = {experiment.id for _, experiments in found for experiment in experiments}
    selected = (
        (paper, [experiment for experiment in paper.experiments.values() if experiment.id in chosen])
        for paper in papers().values()
    )
    return [(paper, experiments) for paper, experiments in selected if experiments]
