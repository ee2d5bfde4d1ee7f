"""Rules for the replications and durations of a paper's points, in `runs.toml`.

    [[full]]                        # if the paper's number of replications is unsuitable
    experiments = ["abc2018.fig9a"] # all experiments if left out
    replications = 5
    most = 10                       # maximum while a claim is inconclusive; default: four times `replications`
    why = "ten replications need twenty minutes"

    [[quick]]                       # with --quick, in addition to the rules above
    replications = 2
    settings = { "run.measure" = "20 s" }
    grid = { R0_mbps = [1.0, 10.0] }

Later rules override earlier ones. `settings` changes scenario keys. `grid` restricts a variable to the given values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlane.base import toml
from fairlane.judge.experiment import Experiment


@dataclass(frozen=True)
class Rule:
    """Changes to some experiments.

    Attributes:
        experiments: Identifiers; all experiments of the paper if None.
        replications: Runs of each point; unchanged if None.
        most: Maximum runs of a point while a claim is inconclusive; unchanged if None.
        settings: Scenario keys to change.
        grid: Values to keep, by variable.
        why: Reason for the changes.
    """

    experiments: Sequence[str] | None = None
    replications: int | None = None
    most: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    why: str = ""

    def applied(self, experiment: Experiment) -> Experiment:
        """The experiment under this rule."""
        if self.experiments is not None and experiment.id not in self.experiments:
            return experiment
        return replace(
            experiment,
            replications=experiment.replications if self.replications is None else self.replications,
            limit=experiment.limit if self.most is None else self.most,
            settings={**experiment.settings, **self.settings},
            grid={
                variable: [value for value in values if value in self.grid.get(variable, values)]
                for variable, values in experiment.grid.items()
            },
        )


@dataclass(frozen=True)
class Runs:
    """The rules of a paper.

    Attributes:
        full: Rules for full runs.
        quick: Additional rules for quick runs.
    """

    full: Sequence[Rule] = ()
    quick: Sequence[Rule] = ()


def load_runs(file: Path) -> Runs:
    """Reads a runs.toml."""
    return Runs(**{kind: [Rule(**rule) for rule in rules] for kind, rules in toml.read(file).items()})


def apply(rules: Sequence[Rule], experiments: Mapping[str, Experiment]) -> dict[str, Experiment]:
    """Applies rules to experiments."""
    changed = dict(experiments)
    for rule in rules:
        changed = {name: rule.applied(experiment) for name, experiment in changed.items()}
    return changed
