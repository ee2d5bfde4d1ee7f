"""Exports stored runs as tables (Parquet, CSV) or as data files of Flent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from fairlane.base.errors import UserError
from fairlane.base.folders import staged
from fairlane.results import frames
from fairlane.results.result import Result
from fairlane.store import flent
from fairlane.store.upkeep import SHORT_KEY, Entry

Format = Literal["parquet", "csv", "flent"]


def export(entries: Sequence[Entry], folder: Path, form: Format) -> list[str]:
    """Writes the runs of some points.

    Args:
        entries: The points; damaged points are left out.
        folder: Folder to write into.
        form: `parquet` and `csv` write one table each of runs, users, links and series; `flent` writes a file per run.

    Returns:
        The names of the files.

    Raises:
        UserError: There is nothing to export; the folder cannot be written.
    """
    whole = [entry for entry in entries if entry.identity is not None]
    if not whole:
        raise UserError("export: there are no runs")
    with staged(folder) as stage:
        if form == "flent":
            _write_flent(whole, stage)
        else:
            _write_tables(whole, stage, form)
        names = sorted(file.name for file in stage.iterdir())
        if not names:
            raise UserError("export: no run has time series; simulate with probes.series_interval")
    return names


def result(entry: Entry) -> Result:
    """The runs of a point, named after the start of its key, since the store does not keep names."""
    if entry.identity is None:
        raise UserError(f"{entry.key}: {entry.damage}")
    name = entry.key[:SHORT_KEY]
    runs = [kept.named(name) for _, kept in sorted(entry.runs.items())]
    return Result.of(entry.identity.canonical(name, len(runs)), runs)


def _write_tables(entries: Sequence[Entry], stage: Path, form: Format) -> None:
    for name, frame in frames.all_frames([result(entry) for entry in entries]).items():
        if form == "csv":
            frame.write_csv(stage / f"{name}.csv")
        else:
            frames.write(frame, stage / f"{name}.parquet")


def _write_flent(entries: Sequence[Entry], stage: Path) -> None:
    for entry in entries:
        if entry.identity is None:
            continue
        for number, kept in entry.runs.items():
            title = f"{entry.key[:SHORT_KEY]}-{number}"
            content = flent.content(entry.identity.table, json.loads(kept.run), title)
            if content is not None:
                (stage / f"{flent.TEST}-{title}.flent.gz").write_bytes(content)
