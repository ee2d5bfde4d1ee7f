"""polars frames of results, and Parquet files with schema version and units in their metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from fairlane import _fairlane
from fairlane.results import Result

SCHEMA = 1

UNITS = {
    "_bps": "bit/s",
    "_s": "s",
    "_seconds": "s",
    "_packets": "packets",
    "_bytes": "bytes",
    "utilisation": "1",
    "throughput_ratio": "1",
    "jain_index": "1",
}

Row = dict[str, Any]


def all_frames(results: list[Result]) -> dict[str, pl.DataFrame]:
    """Every frame that has rows, by name."""
    frames = {
        "runs": runs_frame(results),
        "users": users_frame(results),
        "links": links_frame(results),
        "series": series_frame(results),
    }
    return {name: frame for name, frame in frames.items() if frame.height}


def runs_frame(results: list[Result]) -> pl.DataFrame:
    """One row per run: identity, metrics by group and link, parameters as `scenario.<key>`."""
    return _frame(_run_row(result, run) for result in results for run in result.runs)


def users_frame(results: list[Result]) -> pl.DataFrame:
    """One row per run and user with throughput (link level) and goodput (payload in order)."""
    return _frame(
        {
            **_identity(result, run),
            "group": group["name"],
            "user": user,
            "throughput_bps": throughput,
            "goodput_bps": goodput,
        }
        for result in results
        for run in result.runs
        for group in run["groups"]
        for user, (throughput, goodput) in enumerate(
            zip(group["user_throughput_bps"], group["user_goodput_bps"], strict=True)
        )
    )


def links_frame(results: list[Result]) -> pl.DataFrame:
    """One row per run and link with use, queue, delay by class, drops by reason and marks."""
    return _frame(
        {**_identity(result, run), "link": link["name"], "rate_bps": link["rate_bps"], **_link_metrics(link)}
        for result in results
        for run in result.runs
        for link in run["links"]
    )


def series_frame(results: list[Result]) -> pl.DataFrame:
    """One row per run, bin (`time_s` is its end) and quantity, in long form."""
    return _frame(row for result in results for run in result.runs for row in _series_rows(result, run))


def write(frame: pl.DataFrame, path: Path) -> None:
    """Writes Parquet with schema version, version of fairlane and units in the metadata."""
    frame.write_parquet(path, metadata=metadata(frame.columns))


def metadata(columns: Iterable[str]) -> dict[str, str]:
    """Metadata of a Parquet file with these columns."""
    units = {column: unit for column in columns if (unit := unit_of(column))}
    return {
        "fairlane.schema": str(SCHEMA),
        "fairlane.version": _fairlane.version(),
        "fairlane.units": json.dumps(units),
    }


def unit_of(column: str) -> str | None:
    """The unit of a column, which is the end of the first part of its name."""
    quantity = column.split(".", 1)[0]
    return next((unit for end, unit in UNITS.items() if quantity.endswith(end)), None)


def _frame(rows: Iterable[Row]) -> pl.DataFrame:
    # Rows of different schemes have different columns.
    return pl.DataFrame(list(rows), infer_schema_length=None)


def _identity(result: Result, run: Row) -> Row:
    return {
        "scenario": run["scenario"],
        "queue": result.scenario["queue"]["scheme"],
        "seed": run["seed"],
        "replication": run["replication"],
    }


def _run_row(result: Result, run: Row) -> Row:
    row = {
        **_identity(result, run),
        "version": run["version"],
        "window_start_s": run["window_s"][0],
        "window_end_s": run["window_s"][1],
        "throughput_ratio": run["throughput_ratio"],
        "jain_index": run["jain_index"],
    }
    for group in run["groups"]:
        for metric in ("throughput_bps", "goodput_bps"):
            row[f"{metric}.{group['name']}"] = group[metric]
    for link in run["links"]:
        row |= {f"{metric}.{link['name']}": value for metric, value in _link_metrics(link).items()}
    row |= {metric: run["performance"][metric] for metric in ("delivered_packets", "events", "cpu_seconds")}
    return row | {f"scenario.{key}": value for key, value in _flat(result.scenario) if key != "name"}


def _link_metrics(link: Row) -> Row:
    queue = link["queue"]
    metrics = {
        "utilisation": link["utilisation"],
        "throughput_bps": link["throughput_bps"],
        "queue_mean_packets": queue["mean_packets"],
        "queue_mean_bytes": queue["mean_bytes"],
        "queue_max_packets": queue["max_packets"],
    }
    for delay in link["delay"]:
        for quantity in ("mean_s", "p50_s", "p95_s", "p99_s", "max_s"):
            metrics[f"delay_{quantity}.{delay['traffic_class']}"] = delay[quantity]
    for drops in link["drops"]:
        metrics[f"dropped_packets.{drops['reason']}"] = drops["packets"]
    metrics["marked_packets"] = link.get("marks", 0)
    return metrics


def _series_rows(result: Result, run: Row) -> Iterator[Row]:
    series = run["series"]
    if series is None:
        return
    traces = [
        (group["name"], name, group[name]) for group in series["groups"] for name in ("throughput_bps", "rate_bps")
    ]
    traces += [("bottleneck", name, series[name]) for name in ("queue_packets", "drop_threshold")]
    identity = _identity(result, run)
    for subject, quantity, values in traces:
        for index, value in enumerate(values):
            time_s = series["start_s"] + (index + 1) * series["interval_s"]
            yield {**identity, "time_s": time_s, "subject": subject, "quantity": quantity, "value": value}


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Parameters by dotted key; tables in arrays by their position."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{key}.{index}")
    else:
        yield key, value
