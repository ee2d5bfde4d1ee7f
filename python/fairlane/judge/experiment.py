"""An experiment of a paper: metrics, sweep, replications, and the paper's claims."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairlane.judge.claim import Claim
from fairlane.judge.grid import Point
from fairlane.judge.readings import Standing

MOST_TIMES = 4
"""Default limit of a point's replications while a claim is inconclusive, as a multiple of the normal number."""

Record = Mapping[str, Any]
"""A run record."""


@dataclass(frozen=True)
class Experiment:
    """An experiment: a figure, a table or a result stated in the text.

    Attributes:
        id: Identifier, such as `abc2018.fig4a`.
        title: Title.
        where: Place in the paper.
        kind: `figure`, `table` or `text`.
        schemes: Compared schemes.
        metrics: Names of the metrics; the figure shows the first of them.
        grid: Values of each variable of the sweep.
        parameters: All other parameters.
        claims: Claims of the paper.
        replications: Runs of each point.
        settings: Scenario keys whose values differ from the paper's, to save time.
        standing: Standing of its claims; claims that do not test the paper are counted separately.
        limit: Maximum replications of a point while a claim is inconclusive; see `most`.
    """

    id: str
    title: str
    where: str
    kind: str
    schemes: Sequence[str]
    metrics: Sequence[str]
    grid: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any]
    claims: Sequence[Claim]
    replications: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    standing: Standing = "independent"
    limit: int | None = None

    @property
    def most(self) -> int:
        """Maximum replications of a point while a claim is inconclusive."""
        return MOST_TIMES * self.replications if self.limit is None else self.limit

    @property
    def name(self) -> str:
        """The identifier without the paper: `fig4a`."""
        return self.id.split(".", 1)[1]

    def points(self) -> Iterator[Point]:
        """Every combination of scheme and variables; the last variable varies fastest."""
        for values in itertools.product(self.schemes, *self.grid.values()):
            yield dict(zip(("scheme", *self.grid), values, strict=True))
