"""Collects stored results about papers, and lists missing ones."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairlane.judge.experiment import Experiment
from fairlane.judge.library import ALL, select
from fairlane.judge.paper import Paper
from fairlane.judge.reproduce import Reproduction, missing, reproduce


@dataclass(frozen=True)
class Wanted:
    """Selection of runs.

    Attributes:
        quick: True for quick runs.
        replications: Runs of each point, instead of the paper's number.
        settings: Scenario keys to change in every run.
        store: Folder of finished replications.
    """

    quick: bool
    replications: int | None
    settings: Mapping[str, Any]
    store: str | Path | None

    def command(self, name: str) -> str:
        """Command that simulates these runs of an experiment or paper."""
        words = ["fairlane", "reproduce", name]
        if self.quick:
            words.append("--quick")
        if self.replications is not None:
            words += ["--replications", str(self.replications)]
        for key, value in self.settings.items():
            words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        return shlex.join(words)


@dataclass(frozen=True)
class Collected:
    """Stored results of one paper.

    Attributes:
        paper: The paper, in its quick form if quick runs are selected.
        experiments: Experiments of the report.
        missing: Runs that the store lacks, by experiment id.
        reproduction: Reproduction of the experiments that lack no runs; None if all experiments lack runs.
        wanted: Selection of runs.
    """

    paper: Paper
    experiments: Sequence[Experiment]
    missing: Mapping[str, int]
    reproduction: Reproduction | None
    wanted: Wanted

    @property
    def was_simulated(self) -> bool:
        """True if any run exists; some experiments need no runs."""
        return self.reproduction is not None and any(self.reproduction.cpu_seconds.values())


def collect(names: Sequence[str], wanted: Wanted, *, run: bool, threads: int | None, progress: bool) -> list[Collected]:
    """Reads stored results about the named papers and experiments, or about all papers.

    Args:
        names: Papers or experiments.
        wanted: Selection of runs.
        run: Simulate missing runs first.
        threads: Simulator threads.
        progress: Report progress on stderr.
    """
    collected = []
    for paper, experiments in select(names or [ALL]):
        ids = [experiment.id for experiment in experiments]
        lacking = dict.fromkeys(ids, 0)
        if not run:
            lacking = missing(*ids, **asdict(wanted))
        there = [name for name in ids if not lacking[name]]
        reproduction = None
        if there:
            reproduction = reproduce(*there, **asdict(wanted), threads=threads, progress=progress, stored=not run)
        shown = paper.quick() if wanted.quick else paper
        collected.append(Collected(shown, [shown.experiments[name] for name in ids], lacking, reproduction, wanted))
    return collected
