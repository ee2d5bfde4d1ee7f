"""The league: committed results of entries in every scenario of a suite, among which a new entry is ranked.

`fairlane evaluate --write-league` writes a file for each entry, with six significant digits:

    # abc, fairlane-1.0, 3f2a..., engine 7f3c..., 10 runs
    scenario,criterion,mean,half_width
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.files import write_aside
from fairlane.evaluate.cells import Cells, criteria_values
from fairlane.evaluate.suite import Suite
from fairlane.results.intervals import Interval
from fairlane.results.metrics import CRITERIA

LEAGUES = Path(__file__).parent / "leagues"
COSTS = Path(__file__).parent / "costs.csv"
_HEAD = re.compile(r"# (.+), (\S+), ([0-9a-f]+), engine \S+, (\d+) runs")
COLUMNS = ["scenario", "criterion", "mean", "half_width"]
COST_CORE, COST_EDGE = "cost_core", "cost_edge"


@dataclass(frozen=True)
class Placed:
    """An entry with its cells.

    Attributes:
        label: Name of the entry.
        cells: Cells by scenario and criterion.
        cost: Instructions per packet in the core and at the edge; empty if they were not counted.
    """

    label: str
    cells: Cells
    cost: Mapping[str, Interval]

    @property
    def runs(self) -> int:
        """Number of runs of each cell; `write` requires the same number for all cells."""
        return next(iter(self.cells.values())).n

    def values(self, scenarios: Iterable[str]) -> dict[str, Interval]:
        """The value of every criterion over some scenarios."""
        names = set(scenarios)
        found = criteria_values({key: cell for key, cell in self.cells.items() if key[0] in names})
        return {key: value for key in CRITERIA if (value := found.get(key) or self.cost.get(key))}


@dataclass(frozen=True)
class League:
    """All entries of a suite.

    Attributes:
        entries: Entries by label, in alphabetical order.
    """

    entries: Mapping[str, Placed]


def file_of(suite: Suite, label: str) -> Path:
    """The file of an entry."""
    return LEAGUES / suite.key / f"{re.sub(r'[^A-Za-z0-9_.-]', '-', label)}.csv"


def read(suite: Suite) -> League:
    """The league of a suite; empty if none was written.

    Raises:
        UserError: A file belongs to another suite, or is not a league file.
    """
    entries: dict[str, Placed] = {}
    for path in sorted((LEAGUES / suite.key).glob("*.csv")):
        head, _, rest = path.read_text(encoding="utf-8").partition("\n")
        if (found := _HEAD.fullmatch(head)) is None:
            raise UserError(f"{path}: no file of a league: {head[:80]}")
        label, key, digest, runs = found.groups()
        if (key, digest) != (suite.key, suite.digest):
            raise UserError(f"{path}: is of {key} with other files; measure it again with --write-league")
        cells = {
            (row["scenario"], row["criterion"]): Interval(
                float(row["mean"]), float(row["half_width"]) if row["half_width"] else None, int(runs)
            )
            for row in csv.DictReader(io.StringIO(rest))
        }
        entries[label] = Placed(label, cells, cost(label))
    return League(dict(sorted(entries.items())))


def write(suite: Suite, label: str, cells: Cells) -> Path:
    """Writes the file of an entry; equal cells give equal bytes."""
    runs = {cell.n for cell in cells.values()}
    if len(runs) != 1:
        raise UserError(f"{label}: scenarios have different numbers of runs, a league has one")
    text = io.StringIO()
    text.write(f"# {label}, {suite.key}, {suite.digest}, engine {_fairlane.engine_version()}, {runs.pop()} runs\n")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    lines.writerows([scenario, key, *written(cell)] for (scenario, key), cell in cells.items())
    path = file_of(suite, label)
    write_aside(path, text.getvalue().encode())
    return path


def written(cell: Interval) -> tuple[str, str]:
    """Mean and half width in the notation of the file."""
    return _number(cell.mean), "" if cell.half_width is None else _number(cell.half_width)


def cost(label: str) -> dict[str, Interval]:
    """Instructions per packet of a scheme with its defaults, from docs/costs.md; empty with other parameters."""
    with COSTS.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["scheme"] == label:
                return {key: Interval(float(row[key]), None, 1, exact=True) for key in (COST_CORE, COST_EDGE)}
    return {}


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else str(value)
