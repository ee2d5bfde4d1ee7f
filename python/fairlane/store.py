"""Finished replications on disk, so that only what is missing is simulated.

One Parquet file per scenario, named by the hash of the canonical scenario and the version; one row per replication.
The scenario's name and its number of replications do not change a replication, so they are not part of the hash.
Files are written aside and renamed: a kill at any time leaves whole files only.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path

from fairlane import _fairlane
from fairlane.files import check_writable, write_aside

SCHEMA = 1
DEFAULT_FOLDER = Path("results/store")


class Store:
    """A folder with finished replications."""

    def __init__(self, folder: str | Path | None = None) -> None:
        """Opens `folder`; without it $FAIRLANE_STORE, else results/store. Nothing is created before it is needed."""
        self.folder = Path(folder or os.environ.get("FAIRLANE_STORE") or DEFAULT_FOLDER)

    def check(self) -> None:
        """Raises a UserError if the folder cannot be written."""
        check_writable(self.folder, "--store")

    def load(self, scenario: str) -> dict[int, str]:
        """The stored runs (JSON) of a canonical scenario by replication; a file that cannot be read counts as none."""
        path = self._path(scenario)
        if not path.exists():
            return {}
        import polars as pl

        try:
            stored = pl.read_parquet(path, columns=["replication", "run"])
        except (pl.exceptions.PolarsError, OSError):
            return {}
        name = json.loads(scenario)["name"]
        return {replication: _named(run, name) for replication, run in stored.iter_rows()}

    def add(self, scenario: str, runs: Mapping[int, str]) -> None:
        """Adds runs (JSON) of a canonical scenario to those that are stored."""
        import polars as pl

        every = {**self.load(scenario), **runs}
        records = [json.loads(every[replication]) for replication in sorted(every)]
        frame = pl.DataFrame(
            {
                "replication": sorted(every),
                "seed": [record["seed"] for record in records],
                "throughput_ratio": [record["throughput_ratio"] for record in records],
                "jain_index": [record["jain_index"] for record in records],
                "delivered_packets": [record["performance"]["delivered_packets"] for record in records],
                "cpu_seconds": [record["performance"]["cpu_seconds"] for record in records],
                "run": [every[replication] for replication in sorted(every)],
            },
            schema_overrides={"throughput_ratio": pl.Float64, "jain_index": pl.Float64},
        )
        content = io.BytesIO()
        frame.write_parquet(
            content,
            metadata={
                "fairlane.schema": str(SCHEMA),
                "fairlane.version": _fairlane.version(),
                "fairlane.scenario": scenario,
            },
        )
        write_aside(self._path(scenario), content.getvalue())

    def _path(self, scenario: str) -> Path:
        return self.folder / f"{key(scenario)}.parquet"


def key(scenario: str) -> str:
    """Hash of what decides a replication: canonical scenario without name and number of replications, and version."""
    table = json.loads(scenario)
    del table["name"], table["run"]["replications"]
    text = json.dumps([_fairlane.version(), table], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _named(run: str, name: str) -> str:
    """The run under the name that the scenario has now."""
    record = json.loads(run)
    if record["scenario"] == name:
        return run
    return json.dumps({**record, "scenario": name}, separators=(",", ":"))
