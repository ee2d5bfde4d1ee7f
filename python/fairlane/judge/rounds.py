"""Tests the claims of experiments, and adds replications at points that keep a claim inconclusive.

A claim starts with the replications of its experiments. While the claim is inconclusive, the responsible points get
twice as many replications, with consecutive seeds. This ends once the claim is decided or a point reaches the maximum.
The maximum is `most` of the experiment, or four times its replications if runs.toml has none. The replications of a
claim depend only on its own runs. So the verdict does not depend on other reproduced experiments, on the number of
threads, or on interruptions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fairlane.judge.claim import Claim
from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Point, Row, Table
from fairlane.judge.measurements import Measurements
from fairlane.judge.paper import Paper
from fairlane.judge.verdicts import ClaimVerdict

GROWTH = 2
"""Factor by which replications grow in each round."""

Granted = Callable[[Mapping[int, int]], bool]
"""Returns whether points may get these numbers of replications."""


@dataclass(frozen=True)
class Judged:
    """Verdicts with their data.

    Attributes:
        verdicts: Verdicts on all claims of the experiments, in order.
        tables: Tables by experiment; a point has all replications that any claim of its experiment used.
    """

    verdicts: Sequence[ClaimVerdict]
    tables: Mapping[str, Table]


@dataclass
class _Open:
    """A claim, and the number of replications of each point that needs more than its experiment has."""

    claim: Claim
    more: dict[int, int] = field(default_factory=dict)


@dataclass
class Rounds:
    """Tests claims on measurements, round by round.

    Attributes:
        paper: The paper.
        measured: Points of the paper, with the replications of their experiments.
        computed: Rows of experiments without simulation, by experiment.
        counts: Replications of each experiment.
        most: For each experiment, the maximum number of replications of a point.
    """

    paper: Paper
    measured: Measurements
    computed: Mapping[str, Sequence[Row]]
    counts: Mapping[str, int]
    most: Mapping[str, int]

    def __post_init__(self) -> None:
        self._index: dict[Hashable, int] = {}
        self._of: dict[str, list[int]] = {}
        for index, place in enumerate(self.measured.places):
            self._index[self._key(place.experiment.id, place.at)] = index
            self._of.setdefault(place.experiment.id, []).append(index)

    def judge(self, experiments: Sequence[Experiment], granted: Granted) -> Judged:
        """Tests the claims of experiments."""
        claims = [_Open(claim) for experiment in experiments for claim in experiment.claims]
        verdicts: dict[str, ClaimVerdict] = {}
        pending = claims
        while pending:
            growing: list[tuple[_Open, dict[int, int]]] = []
            for one in pending:
                tables = self._tables(one)
                verdicts[one.claim["id"]] = self.paper.judge(one.claim, tables)
                more = self._more(one, tables)
                if more and granted(more):
                    growing.append((one, more))
            for one, more in growing:
                one.more |= more
            wanted = _most(more for _, more in growing)
            rows = self.measured.rows
            if behind := {index: count for index, count in wanted.items() if count > rows[index].replications}:
                self.measured.extend(behind)
            pending = [one for one, _ in growing]
        shown = _most(
            {i: n for i, n in one.more.items() if self._place(i) == one.claim["experiment"]} for one in claims
        )
        names = {*self._of, *self.computed, *(experiment.id for experiment in experiments)}
        return Judged([verdicts[one.claim["id"]] for one in claims], {name: self._table(name, shown) for name in names})

    def _more(self, one: _Open, tables: Mapping[str, Table]) -> dict[int, int]:
        """New number of replications of each point at which an inconclusive claim needs more, by index of the point."""
        more = {}
        for index in self._undecided(one.claim, tables):
            name = self._place(index)
            count = one.more.get(index, self.counts[name])
            if count < self.most[name]:
                more[index] = min(GROWTH * count, self.most[name])
        return more

    def _undecided(self, claim: Claim, tables: Mapping[str, Table]) -> list[int]:
        cells = self.paper.undecided(claim, tables)
        if cells and claim["id"] in self.paper.statistics:  # computed from all points together
            return [index for name in self._names(claim) for index in self._of.get(name, ())]
        keys = (self._key(cell.experiment, cell.at) for cell in cells)
        return list(dict.fromkeys(self._index[key] for key in keys if key in self._index))

    def _key(self, experiment: str, at: Point) -> Hashable:
        return (experiment, *sorted((name, value) for name, value in at.items() if name != "metric"))

    def _place(self, index: int) -> str:
        return self.measured.places[index].experiment.id

    def _names(self, claim: Claim) -> list[str]:
        """The experiments whose data a claim needs."""
        return list(dict.fromkeys([claim["experiment"], *(name for name, _ in self.paper.needs(claim))]))

    def _tables(self, one: _Open) -> dict[str, Table]:
        """Data for the test of a claim."""
        return {name: self._table(name, one.more) for name in self._names(one.claim)}

    def _table(self, name: str, more: Mapping[int, int]) -> Table:
        """The table of an experiment, with more replications at some points."""
        rows: list[Row] = list(self.computed.get(name, ()))
        for index in self._of.get(name, ()):
            row, count = self.measured.rows[index], more.get(index, self.counts[name])
            rows.append(row if count >= row.replications else row.chosen(range(count)))
        return self.paper.table(self.paper.experiments[name], rows)


def _most(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """The largest count of each point."""
    most: dict[int, int] = {}
    for some in counts:
        most |= {index: max(count, most.get(index, 0)) for index, count in some.items()}
    return most
