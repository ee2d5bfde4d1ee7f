"""One point of the store: all replications of one scenario under one engine, in one Parquet file.

Values that differ between machines (CPU time, host, date) are in a second file of the same name.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.files import write_aside
from fairlane.results.kept import Cost, Kept, without_cost
from fairlane.simulate.external import external_part

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 3
"""Version of the layout of the store."""
WITHOUT_DIGEST_OF_COSTS = 2
"""The previous version, which can still be read."""

RUN_COLUMNS = {
    "replication": "UInt32",
    "seed": "UInt64",
    "throughput_ratio": "Float64",
    "jain_index": "Float64",
    "delivered_packets": "UInt64",
    "events": "UInt64",
    "run": "String",
}
"""Columns with the names of their Polars types, since Polars is loaded only where needed."""
COST_COLUMNS = {"replication": "UInt32", "cpu_seconds": "Float64", "host": "String", "finished_at": "String"}
UNITS = {"throughput_ratio": "1", "jain_index": "1", "delivered_packets": "packets"}
COST_UNITS = {"cpu_seconds": "s"}

MEASURED = "lab/"
"""Engine prefix of measured runs."""
OWN = "own/"
"""Engine prefix of runs that use the user's code, which are never stored."""


class DamagedError(Exception):
    """A damaged file of the store; the message describes the damage."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything that determines a run's bytes, except the replication number.

    Attributes:
        engine: Engine version; changes whenever records can change.
        scenario: Canonical scenario without name and number of replications; for measured runs, also without keys that
            the lab does not use.
    """

    engine: str
    scenario: str

    @classmethod
    def of(cls, scenario: str) -> Identity:
        """Identity of a canonical scenario under this engine.

        Raises:
            UserError: A scheme or congestion control is written in Python, so its name does not determine the run.
        """
        if (external := external_part(scenario)) is not None:
            place, scheme = external
            raise UserError(f'{place}: "{scheme}" is written in Python, its runs cannot be stored')
        return cls(_fairlane.engine_version(), _decisive(scenario))

    @classmethod
    def within_process(cls, scenario: str) -> Identity:
        """Identity of any canonical scenario; with the user's code, it is valid only in this process."""
        if external_part(scenario) is None:
            return cls.of(scenario)
        return cls(f"{OWN}{_fairlane.engine_version()}", _decisive(scenario))

    @property
    def is_own(self) -> bool:
        """True if its runs use the user's code, which may change without a change of its name."""
        return self.engine.startswith(OWN)

    @property
    def is_measured(self) -> bool:
        """True if the runs were measured on real packets, so that no engine can repeat them."""
        return self.engine.startswith(MEASURED)

    @property
    def key(self) -> str:
        """Hash of the point, used as file name."""
        return hashlib.sha256(json.dumps([self.engine, self.scenario]).encode()).hexdigest()

    @property
    def scenario_key(self) -> str:
        """Hash of the scenario alone, independent of the engine."""
        return hashlib.sha256(self.scenario.encode()).hexdigest()

    @property
    def table(self) -> dict[str, Any]:
        """The scenario as a table."""
        table: dict[str, Any] = json.loads(self.scenario)
        return table

    def canonical(self, name: str, replications: int) -> str:
        """The canonical scenario with a name and a number of replications."""
        table = self.table
        table["run"]["replications"] = replications
        text = json.dumps({"name": name, **table}, ensure_ascii=False)
        # For a measured run, only the keys that the lab used are stored; the others had defaults.
        return _fairlane.canonical(text) if self.is_measured else text


def _decisive(scenario: str) -> str:
    """A canonical scenario without name and number of replications."""
    table = json.loads(scenario)
    del table["name"], table["run"]["replications"]
    return json.dumps(table, sort_keys=True, ensure_ascii=False)


def key(scenario: str) -> str:
    """Hash of the engine and of the canonical scenario without name and number of replications."""
    return Identity.of(scenario).key


def runs_file(folder: Path, key: str) -> Path:
    """Path of a point's runs."""
    return folder / "runs" / f"{key}.parquet"


def costs_file(folder: Path, key: str) -> Path:
    """Path of the costs of a point's runs."""
    return folder / "costs" / f"{key}.parquet"


def read(folder: Path, key: str) -> tuple[Identity, dict[int, Kept]]:
    """The runs of a point by replication; verifies every byte.

    Raises:
        DamagedError: The file is damaged.
    """
    return examine(folder, key, columns=False)[:2]


def examine(folder: Path, key: str, *, columns: bool) -> tuple[Identity, dict[int, Kept], str]:
    """Like `read`. Also returns the error in the costs (empty if none): runs are usable without costs.

    Args:
        folder: The store.
        key: The point.
        columns: True to also check the columns with values from the records, which Fairlane itself does not read.

    Raises:
        DamagedError: The file of the runs is damaged.
    """
    identity, runs = _read_runs(runs_file(folder, key), key, columns=columns)
    costs: dict[int, Cost] = {}
    damage = ""
    try:
        costs = _read_costs(costs_file(folder, key))
    except DamagedError as error:
        damage = f"costs: {error}"
    return identity, {replication: Kept(run, costs.get(replication)) for replication, run in runs.items()}, damage


def write(folder: Path, identity: Identity, kept: Mapping[int, Kept]) -> None:
    """Writes all runs of a point. Costs are written first, so that stored runs always have costs."""
    costs = {replication: one.cost for replication, one in kept.items() if one.cost is not None}
    write_aside(costs_file(folder, identity.key), _costs_content(costs))
    runs = {replication: one.run for replication, one in kept.items()}
    write_aside(runs_file(folder, identity.key), _runs_content(identity, runs))


def _runs_content(identity: Identity, runs: Mapping[int, str]) -> bytes:
    metadata = {
        "fairlane.engine": identity.engine,
        "fairlane.version": _fairlane.version(),
        "fairlane.scenario": identity.scenario,
    }
    return _parquet(_runs_frame(runs), UNITS, runs, metadata)


def _runs_frame(runs: Mapping[int, str]) -> pl.DataFrame:
    rows = []
    for number in sorted(runs):
        record = json.loads(runs[number])
        ratios = record["throughput_ratio"], record["jain_index"]
        counts = record["performance"]["delivered_packets"], record["performance"]["events"]
        rows.append((number, record["seed"], *ratios, *counts, runs[number]))
    return _frame(rows, RUN_COLUMNS)


def _costs_content(costs: Mapping[int, Cost]) -> bytes:
    frame = _frame([(number, *astuple(costs[number])) for number in sorted(costs)], COST_COLUMNS)
    return _parquet(frame, COST_UNITS, _as_text(costs), {})


def _frame(rows: Sequence[tuple[Any, ...]], columns: Mapping[str, str]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(rows, {name: getattr(pl, kind) for name, kind in columns.items()}, orient="row")


def _as_text(costs: Mapping[int, Cost]) -> dict[int, str]:
    return {replication: json.dumps(astuple(cost)) for replication, cost in costs.items()}


def _parquet(
    frame: pl.DataFrame, units: Mapping[str, str], rows: Mapping[int, str], metadata: Mapping[str, str]
) -> bytes:
    content = io.BytesIO()
    common = {
        "fairlane.schema": str(SCHEMA),
        "fairlane.units": json.dumps(units),
        "fairlane.digest": _digest(rows),
    }
    frame.write_parquet(content, metadata={**metadata, **common})
    return content.getvalue()


def _read_runs(path: Path, key: str, *, columns: bool) -> tuple[Identity, dict[int, str]]:
    metadata, stored = _read_parquet(path, RUN_COLUMNS if columns else ["replication", "run"])
    try:
        identity = Identity(metadata["fairlane.engine"], metadata["fairlane.scenario"])
        digest = metadata["fairlane.digest"]
    except KeyError as error:
        raise DamagedError(f"has no {error.args[0]}") from error
    if identity.key != key:
        raise DamagedError("its scenario and engine do not give its name")
    runs: dict[int, str] = dict(zip(stored["replication"], stored["run"], strict=True))
    if None in runs or None in runs.values() or digest != _digest(runs):
        raise DamagedError("its content does not match its digest")
    # The digest covers the records.
    if columns and not _runs_frame(runs).equals(stored):
        raise DamagedError("a column does not match the records")
    return identity, {number: without_cost(run) for number, run in runs.items()}


def _read_costs(path: Path) -> dict[int, Cost]:
    if not path.exists():
        return {}
    metadata, frame = _read_parquet(path, COST_COLUMNS)
    costs: dict[int, Cost] = {}
    for number, cpu_seconds, host, finished_at in frame.iter_rows():
        kinds = (number, int), (cpu_seconds, float), (host, str), (finished_at, str)
        if not all(isinstance(value, kind) for value, kind in kinds) or not 0 <= cpu_seconds < math.inf:
            raise DamagedError(f"replication {number} has {cpu_seconds} s of CPU time, host {host}, date {finished_at}")
        costs[number] = Cost(cpu_seconds, host, finished_at)
    has_digest = metadata["fairlane.schema"] != str(WITHOUT_DIGEST_OF_COSTS)
    if len(costs) < frame.height or (has_digest and metadata.get("fairlane.digest") != _digest(_as_text(costs))):
        raise DamagedError("their content does not match their digest")
    return costs


def _read_parquet(path: Path, columns: Iterable[str]) -> tuple[dict[str, str], pl.DataFrame]:
    import polars as pl

    try:
        content = path.read_bytes()
        metadata = pl.read_parquet_metadata(io.BytesIO(content))
        frame = pl.read_parquet(io.BytesIO(content), columns=list(columns))
    except _errors() as error:
        raise DamagedError(f"cannot be read: {' '.join(str(error).split())}") from error
    if metadata.get("fairlane.schema") not in {str(SCHEMA), str(WITHOUT_DIGEST_OF_COSTS)}:
        raise DamagedError(f"has layout {metadata.get('fairlane.schema')}, not {SCHEMA}")
    return metadata, frame


def _errors() -> tuple[type[BaseException], ...]:
    """Exceptions of Polars for damaged files, including bugs of its reader."""
    import polars as pl

    return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, OverflowError, UnicodeDecodeError


def _digest(runs: Mapping[int, str]) -> str:
    digest = hashlib.sha256()
    for number in sorted(runs):
        digest.update(f"{number} {len(runs[number])} {runs[number]}".encode())
    return digest.hexdigest()
