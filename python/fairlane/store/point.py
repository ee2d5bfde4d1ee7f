"""One point of the store: all replications of one scenario under one engine, in one Parquet file.

What differs between machines, CPU time, host and date, is in a second file of the same name beside it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.files import write_aside
from fairlane.simulate.external import external_queue
from fairlane.store.record import with_name, without_cost

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 3
"""Version of the layout of the store."""
WITHOUT_DIGEST_OF_COSTS = 2
"""The version before, which is still read."""

UNITS = {
    "throughput_ratio": "1",
    "jain_index": "1",
    "delivered_packets": "packets",
}
COST_UNITS = {"cpu_seconds": "s"}


MEASURED = "lab/"
"""How the engine of runs begins that were measured, not simulated."""


class DamagedError(Exception):
    """A file of the store that is not what was written; the message says how."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What decides the bytes of a run, its number aside.

    Attributes:
        engine: Version of what can change a record.
        scenario: Canonical scenario without name and number of replications.
    """

    engine: str
    scenario: str

    @classmethod
    def of(cls, scenario: str) -> Identity:
        """That of a canonical scenario under this engine.

        Raises:
            UserError: One of its schemes is written in Python, which the scenario only names.
        """
        if (external := external_queue(scenario)) is not None:
            place, scheme = external
            raise UserError(f'{place}: "{scheme}" is written in Python, its runs cannot be stored; use run or compare')
        table = json.loads(scenario)
        del table["name"], table["run"]["replications"]
        return cls(_fairlane.engine_version(), json.dumps(table, sort_keys=True, ensure_ascii=False))

    @property
    def is_measured(self) -> bool:
        """Whether its runs were measured on real packets: no engine can repeat them."""
        return self.engine.startswith(MEASURED)

    @property
    def key(self) -> str:
        """Its hash, which names the files."""
        return hashlib.sha256(json.dumps([self.engine, self.scenario]).encode()).hexdigest()

    @property
    def scenario_key(self) -> str:
        """The hash of the scenario alone, whatever the engine."""
        return hashlib.sha256(self.scenario.encode()).hexdigest()

    @property
    def table(self) -> dict[str, Any]:
        """The scenario as a table."""
        table: dict[str, Any] = json.loads(self.scenario)
        return table

    def canonical(self, name: str, replications: int) -> str:
        """The canonical scenario again."""
        table = self.table
        table["run"]["replications"] = replications
        return json.dumps({"name": name, **table}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost, where and when."""

    cpu_seconds: float
    host: str
    finished_at: str

    @classmethod
    def now(cls, cpu_seconds: float) -> Cost:
        """That of a run that has just finished here."""
        return cls(cpu_seconds, socket.gethostname(), datetime.now(UTC).isoformat(timespec="seconds"))


@dataclass(frozen=True, slots=True)
class Kept:
    """A run record (JSON), and what the run cost, None if that was lost. The store keeps records without a name."""

    run: str
    cost: Cost | None

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time, if it is known."""
        return self.cost.cpu_seconds if self.cost else None

    def named(self, scenario_name: str) -> Kept:
        """The same for a scenario of that name."""
        return Kept(with_name(self.run, scenario_name), self.cost)


def key(scenario: str) -> str:
    """Hash of what decides a replication: canonical scenario without name and number of replications, and engine."""
    return Identity.of(scenario).key


def runs_file(folder: Path, key: str) -> Path:
    """Where the runs of a point are."""
    return folder / "runs" / f"{key}.parquet"


def costs_file(folder: Path, key: str) -> Path:
    """Where their costs are."""
    return folder / "costs" / f"{key}.parquet"


def read(folder: Path, key: str) -> tuple[Identity, dict[int, Kept]]:
    """The runs of a point by replication, every byte checked.

    Raises:
        DamagedError: The file is not what was written.
    """
    identity, runs = _read_runs(runs_file(folder, key), key)
    costs: dict[int, Cost] = {}
    with suppress(DamagedError):  # runs are of use without them
        costs = read_costs(folder, key)
    return identity, {replication: Kept(run, costs.get(replication)) for replication, run in runs.items()}


def read_costs(folder: Path, key: str) -> dict[int, Cost]:
    """What the runs of a point cost, every value checked; empty if there is no such file.

    Raises:
        DamagedError: The file is not what was written.
    """
    path = costs_file(folder, key)
    if not path.exists():
        return {}
    metadata, frame = _read_parquet(path, ["replication", "cpu_seconds", "host", "finished_at"])
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


def check_columns(folder: Path, key: str, runs: Mapping[int, Kept]) -> None:
    """Checks the columns that are taken from the records, which nothing but a reader of the file uses.

    Raises:
        DamagedError: A value is not that of its record.
    """
    import polars as pl

    expected = _runs_frame({number: kept.run for number, kept in runs.items()})
    try:
        stored = pl.read_parquet(io.BytesIO(runs_file(folder, key).read_bytes()))
    except _errors() as error:
        raise DamagedError(f"cannot be read: {' '.join(str(error).split())}") from error
    # The digest is that of the records.
    if not expected.drop("run").equals(stored.drop("run", strict=False), null_equal=True):
        raise DamagedError("a column does not match the records")


def write(folder: Path, identity: Identity, kept: Mapping[int, Kept]) -> None:
    """Writes all runs of a point, the costs first: where runs are, their costs are."""
    costs = {replication: one.cost for replication, one in kept.items() if one.cost is not None}
    write_aside(costs_file(folder, identity.key), _costs_content(costs))
    runs = {replication: one.run for replication, one in kept.items()}
    write_aside(runs_file(folder, identity.key), _runs_content(identity, runs))


def _runs_content(identity: Identity, runs: Mapping[int, str]) -> bytes:
    metadata = {
        "fairlane.schema": str(SCHEMA),
        "fairlane.engine": identity.engine,
        "fairlane.version": _fairlane.version(),
        "fairlane.scenario": identity.scenario,
        "fairlane.units": json.dumps(UNITS),
        "fairlane.digest": _digest(runs),
    }
    return _parquet(_runs_frame(runs), metadata)


def _runs_frame(runs: Mapping[int, str]) -> pl.DataFrame:
    import polars as pl

    numbers = sorted(runs)
    records = [json.loads(runs[number]) for number in numbers]
    return pl.DataFrame(
        {
            "replication": numbers,
            "seed": [record["seed"] for record in records],
            "throughput_ratio": [record["throughput_ratio"] for record in records],
            "jain_index": [record["jain_index"] for record in records],
            "delivered_packets": [record["performance"]["delivered_packets"] for record in records],
            "events": [record["performance"]["events"] for record in records],
            "run": [runs[number] for number in numbers],
        },
        schema={
            "replication": pl.UInt32,
            "seed": pl.UInt64,
            "throughput_ratio": pl.Float64,
            "jain_index": pl.Float64,
            "delivered_packets": pl.UInt64,
            "events": pl.UInt64,
            "run": pl.String,
        },
    )


def _costs_content(costs: Mapping[int, Cost]) -> bytes:
    import polars as pl

    numbers = sorted(costs)
    frame = pl.DataFrame(
        {
            "replication": numbers,
            "cpu_seconds": [costs[number].cpu_seconds for number in numbers],
            "host": [costs[number].host for number in numbers],
            "finished_at": [costs[number].finished_at for number in numbers],
        },
        schema={
            "replication": pl.UInt32,
            "cpu_seconds": pl.Float64,
            "host": pl.String,
            "finished_at": pl.String,
        },
    )
    metadata = {
        "fairlane.schema": str(SCHEMA),
        "fairlane.units": json.dumps(COST_UNITS),
        "fairlane.digest": _digest(_as_text(costs)),
    }
    return _parquet(frame, metadata)


def _as_text(costs: Mapping[int, Cost]) -> dict[int, str]:
    return {replication: json.dumps(astuple(cost)) for replication, cost in costs.items()}


def _parquet(frame: pl.DataFrame, metadata: dict[str, str]) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content, metadata=metadata)
    return content.getvalue()


def _read_runs(path: Path, key: str) -> tuple[Identity, dict[int, str]]:
    metadata, stored = _read_parquet(path, ["replication", "run"])
    try:
        identity = Identity(metadata["fairlane.engine"], metadata["fairlane.scenario"])
        digest = metadata["fairlane.digest"]
    except KeyError as error:
        raise DamagedError(f"has no {error.args[0]}") from error
    if identity.key != key:
        raise DamagedError("its scenario and engine do not give its name")
    runs: dict[int, str] = dict(stored.iter_rows())
    if None in runs or None in runs.values() or digest != _digest(runs):
        raise DamagedError("its content does not match its digest")
    return identity, {number: without_cost(run) for number, run in runs.items()}


def _read_parquet(path: Path, columns: Sequence[str]) -> tuple[dict[str, str], pl.DataFrame]:
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
    """What polars raises when it reads a file that is not what was written; a defect of its reader is one too."""
    import polars as pl

    return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, OverflowError, UnicodeDecodeError


def _digest(runs: Mapping[int, str]) -> str:
    digest = hashlib.sha256()
    for number in sorted(runs):
        digest.update(f"{number} {len(runs[number])} {runs[number]}".encode())
    return digest.hexdigest()
