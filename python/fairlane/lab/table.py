"""A table of measured runs, one row each, written next to the figures and reusable by another lab.

Thus one figure can combine measurements from several machines or days, and anyone with the table can draw it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane.base.errors import UserError
from fairlane.base.planes import problem_of_plane
from fairlane.judge.grid import Measured
from fairlane.judge.measurements import metrics_of
from fairlane.lab.keys import decisive
from fairlane.linux import runs as linux
from fairlane.simulate.replications import replications
from fairlane.store.point import MEASURED, Identity
from fairlane.store.upkeep import SHORT_KEY

if TYPE_CHECKING:
    from fairlane.judge.measurements import Place
    from fairlane.judge.paper import Paper
    from fairlane.store import Store

NAME = "runs.csv"
"""File name of the table in the folder of figures."""
DIGITS = 7
"""Significant digits of the numbers; more than their precision."""
TEXTS = ("plane", "experiment", "scheme", "engine", "scenario")
"""Text columns of every table; `scenario` is the start of a hash of the keys that the lab uses."""
QUALITY = {
    "late_mean_us": ("lateness_mean_s",),
    "late_p99_us": ("lateness_p99_s",),
    "switch_wait_mean_us": ("switch", "wait_mean_s"),
}
"""Columns with times in µs, and the path of the field in a record's table `lab` that has the value in s."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PlaneRuns:
    """Earlier runs of one plane.

    Attributes:
        file: The table from which the first run was read.
        rows: Rows by scenario key and replication.
    """

    file: Path
    rows: dict[str, dict[int, Row]] = field(default_factory=dict)

    def of(self, scenario: str) -> Mapping[int, Row]:
        """The rows of a canonical scenario by replication."""
        return self.rows.get(scenario_key(scenario), {})

    def measured(self, scenario: str) -> dict[int, Measured]:
        """The runs of a canonical scenario by replication."""
        return {
            number: Measured({name: value for name, value in row.items() if name not in TEXTS})
            for number, row in self.of(scenario).items()
        }

    def has_all(self, scenarios: Iterable[str]) -> bool:
        """True if all runs of these canonical scenarios are known."""
        return all(self.of(one).keys() >= set(range(replications(one))) for one in scenarios)

    def engine(self, scenarios: Iterable[str]) -> str:
        """Engine of the runs of these canonical scenarios (see `schedule.engine_of`); some must be known."""
        return next(str(row["engine"]) for scenario in scenarios for row in self.of(scenario).values())

    def check_engine(self, engine: str, scenarios: Iterable[str]) -> None:
        """Raises a UserError if new runs by `engine` do not match the known runs of these canonical scenarios."""
        for row in (row for scenario in scenarios for row in self.of(scenario).values()):
            if row["engine"] != engine:
                raise UserError(f"{self.file}: has runs of {row['engine']}, new ones would be of {engine}")


def read(files: Sequence[Path]) -> dict[str, PlaneRuns]:
    """Reads the runs of tables by plane.

    Raises:
        UserError: A file cannot be read or is not such a table; runs of a scheme on a plane are of different engines;
            or a run occurs twice with different numbers.
    """
    planes: dict[str, PlaneRuns] = {}
    engines: dict[tuple[str, str], str] = {}
    places: dict[tuple[Any, ...], Row] = {}
    for file in files:
        for line, row in enumerate(_rows(file), start=2):
            if problem := problem_of_plane(row["plane"]):
                raise UserError(f"{file}, line {line}: plane: {problem}")
            runs = planes.setdefault(row["plane"], PlaneRuns(file))
            engine = engines.setdefault((row["plane"], row["scheme"]), row["engine"])
            if row["engine"] != engine:
                raise UserError(f"{file}, line {line}: engine: {row['engine']}, earlier rows have {engine}")
            place = tuple(row[name] for name in (*TEXTS, "replication"))
            earlier = places.setdefault(place, row)
            if any(earlier[name] != row[name] for name in earlier.keys() & row.keys()):
                raise UserError(f"{file}, line {line}: replication {row['replication']} is there already, and differs")
            runs.rows.setdefault(row["scenario"], {})[row["replication"]] = row
    return planes


def _rows(file: Path) -> Iterator[Row]:
    import polars as pl

    types = {**dict.fromkeys(TEXTS, pl.String), "replication": pl.UInt32}
    try:
        frame = pl.read_csv(file, infer_schema_length=None, schema_overrides=types)
        if missing := sorted(types.keys() - set(frame.columns)):
            raise UserError(f"{file}: no table of runs, it has no column {', '.join(missing)}")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UserError(f"{file}: {' '.join(str(error).split())[:200]}") from error
    for line, row in enumerate(frame.iter_rows(named=True), start=2):
        if empty := [name for name in types if row[name] is None]:
            raise UserError(f"{file}, line {line}: {empty[0]}: is empty")
        yield {name: value for name, value in row.items() if value is not None}


def scenario_key(scenario: str) -> str:
    """Name of a canonical scenario in a table."""
    return Identity.of(decisive(scenario)).scenario_key[:SHORT_KEY]


def identity(scenario: str, engine: str) -> Identity:
    """Identity of a canonical scenario's runs in the store.

    For planes in real time, the identity ignores keys that the lab does not use.
    """
    if not engine.startswith(MEASURED):
        return Identity.of(scenario)
    if engine.startswith(linux.ENGINE):
        return linux.identity(scenario, engine)
    return Identity(engine, Identity.of(decisive(scenario)).scenario)


def rows(
    plane: str, paper: Paper, places: Sequence[Place], engines: Mapping[str, str], store: Store, known: PlaneRuns | None
) -> Iterator[Row]:
    """Yields a row for each stored or known run of the points on a plane, in order of point and replication.

    Args:
        plane: Name of the plane.
        paper: The paper.
        places: The points.
        engines: Engine identity of each scenario's runs.
        store: Store of finished runs.
        known: Runs from other machines.
    """
    for place in places:
        engine = engines[place.scenario]
        kept = store.kept(identity(place.scenario, engine))
        by_number = {number: _row(plane, engine, paper, place, one.run) for number, one in kept.items()}
        if known is not None:
            by_number |= known.of(place.scenario)
        yield from (by_number[number] for number in sorted(by_number))


def _row(plane: str, engine: str, paper: Paper, place: Place, run: str) -> Row:
    record = json.loads(run)
    begin_s, end_s = record["window_s"]
    return {
        "plane": plane,
        "experiment": place.experiment.name,
        **place.at,
        "replication": record["replication"],
        "window_s": _rounded(end_s - begin_s),
        **{name: _rounded(value) for name, value in metrics_of(paper, place, record).items() if value is not None},
        **_quality(record.get("lab", {})),
        "engine": engine,
        "scenario": scenario_key(place.scenario),
    }


def _quality(entry: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for name, path in QUALITY.items():
        value: Any = entry
        for key in path:
            value = value.get(key, {})
        if isinstance(value, float):
            found[name] = _rounded(1e6 * value)
    return found


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else value


def write(found: Iterable[Row], file: Path) -> None:
    """Writes a table (CSV) with numbers in the units of the paper's claims; `engine` and `scenario` are last."""
    import polars as pl

    frame = pl.DataFrame(list(found), infer_schema_length=None)
    last = [name for name in ("engine", "scenario") if name in frame.columns]
    frame.select(pl.exclude(last), *last).write_csv(file)
