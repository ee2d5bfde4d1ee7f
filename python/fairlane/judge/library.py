"""Reproducible papers; each folder in `papers/` contains experiments and claims as data.

No module imports these folders. Papers are loaded by name, like data. A paper's folder contains the code that no other
paper needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from fairlane.base import toml
from fairlane.base.errors import UserError
from fairlane.base.text import near
from fairlane.judge.experiment import Experiment
from fairlane.judge.paper import Paper

PACKAGE = "fairlane.papers"
FOLDER = Path(__file__).parents[1] / "papers"
ALL = "all"
"""Stands for every experiment of every paper."""


def papers() -> dict[str, Paper]:
    """Every paper by its key, in the order of papers.toml."""
    keys = toml.read(FOLDER / "papers.toml")["papers"]
    return {key: importlib.import_module(f"{PACKAGE}.{key}").PAPER for key in keys}


def find(name: str) -> tuple[Paper, list[Experiment]]:
    """The paper and the experiments of a name: `abc2018` means all experiments, `abc2018.fig4a` one.

    Raises:
        UserError: The paper or experiment does not exist.
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
    """Papers with the named experiments, in the papers' order; `all` is a valid name.

    Raises:
        UserError: A paper or experiment does not exist, or there is no name.
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
