"""Data frames (Polars) of results, and Parquet files with schema version and units in their metadata."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.text import near, quoted
from fairlane.results.intervals import Interval, interval, with_bin
from fairlane.results.metrics import link_metrics, metric_of, metrics, path_metrics, series, slowdown_metrics, unit_of
from fairlane.results.replications import Replications

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 2

Row = dict[str, Any]
SUMMARY_TYPES: dict[str, Any] = {"point": int, "group": str, "low": float, "high": float}
"""Types of columns of `summary_frame` that may be entirely null."""


def all_frames(results: Sequence[Replications]) -> dict[str, pl.DataFrame]:
    """Every frame that has rows, by name."""
    frames = {
        "runs": runs_frame(results),
        "costs": costs_frame(results),
        "users": users_frame(results),
        "flows": flows_frame(results),
        "transfers": transfers_frame(results),
        "links": links_frame(results),
        "series": series_frame(results),
    }
    return {name: frame for name, frame in frames.items() if frame.height}


def runs_frame(results: Sequence[Replications]) -> pl.DataFrame:
    """One row per run: identity, metrics by group and link, parameters as `scenario.<key>`."""
    return frame(run_row(result.scenario, run, result.queue) for result in results for run in result.runs)


def costs_frame(results: Sequence[Replications]) -> pl.DataFrame:
    """One row per run with its CPU time, null if unknown: the only values that differ between identical runs."""
    return frame(
        {**_identity(result.queue, run), "cpu_seconds": cpu_seconds}
        for result in results
        for run, cpu_seconds in zip(result.runs, result.cpu_seconds, strict=True)
    )


def users_frame(results: Sequence[Replications]) -> pl.DataFrame:
    """One row per run and user: throughput (link level), goodput (in-order payload) and, if recorded, the path."""
    return _frame(results, _users)


def _users(run: Row) -> Iterator[Row]:
    """The users of all groups; lab runs lack the throughput of users."""
    for group in run["groups"]:
        goodputs = group["user_goodput_bps"]
        throughputs = group.get("user_throughput_bps") or [None] * len(goodputs)
        paths = group.get("user_paths") or [None] * len(goodputs)
        share = group.get("max_min_share_bps")
        for user, (throughput, goodput, path) in enumerate(zip(throughputs, goodputs, paths, strict=True)):
            yield {
                "group": group["name"],
                "user": user,
                "throughput_bps": throughput,
                "goodput_bps": goodput,
                "normalised_throughput": throughput / share if throughput is not None and share else None,
                **(path_metrics(group, path) if path else {}),
            }


def flows_frame(results: Sequence[Replications]) -> pl.DataFrame:
    """One row per run and flow that lasts as long as the run. A group's flows are numbered by user, TCP before UDP.

    UDP flows appear only if their paths were recorded.
    """
    return _frame(results, _flows)


def _flows(run: Row) -> Iterator[Row]:
    for group in run["groups"]:
        for number, flow in enumerate(_flows_of(group)):
            yield {"group": group["name"], "flow": number, **flow}


def _flows_of(group: Row) -> Iterator[Row]:
    if tcp := group.get("tcp"):
        paths = tcp["flow_paths"] or [None] * len(tcp["flow_goodput_bps"])
        for throughput, goodput, path in zip(tcp["flow_throughput_bps"], tcp["flow_goodput_bps"], paths, strict=True):
            met = path_metrics(group, path) if path else {}
            yield {"transport": "tcp", "throughput_bps": throughput, "goodput_bps": goodput, **met}
    if udp := group.get("udp"):
        for path in udp["flow_paths"]:
            yield {"transport": "udp", "throughput_bps": None, "goodput_bps": None, **path_metrics(group, path)}
    for path in group.get("flow_paths", ()):  # lab runs only
        yield {"transport": "tcp", "throughput_bps": None, "goodput_bps": None, **path_metrics(group, path)}


def transfers_frame(results: Sequence[Replications]) -> pl.DataFrame:
    """One row per run, group and class of finite transfers. A class is a range of durations (s) or of sizes (bytes)."""
    return _frame(results, _transfers)


def _transfers(run: Row) -> Iterator[Row]:
    for group, by in product(run["groups"], ("time", "size")):
        for entry in (group.get("transfer_times") or {}).get(f"by_{by}", ()):
            yield {
                "group": group["name"],
                "by": by,
                "class_from": float(entry["from"]),
                "class_to": entry["to"],
                "completed": entry["completed"],
                "share": float(entry["share"]),
                "mean_s": entry["mean_s"],
                **slowdown_metrics(entry),
            }


def links_frame(results: Sequence[Replications]) -> pl.DataFrame:
    """One row per run and link: utilisation, queue, delay by class, drops by reason, marks."""
    return _frame(results, _links)


def _links(run: Row) -> Iterator[Row]:
    for link in run["links"]:
        yield {"link": link["name"], "rate_bps": link["rate_bps"], **link_metrics(link)}


def series_frame(results: Sequence[Replications]) -> pl.DataFrame:
    """One row per run, bin (`time_s` is its end) and quantity, in long form."""
    return _frame(results, _series)


def _frame(results: Sequence[Replications], rows: Callable[[Row], Iterable[Row]]) -> pl.DataFrame:
    """The rows of all runs, each after columns that identify its run."""
    return frame(
        {**_identity(result.queue, run), **row} for result in results for run in result.runs for row in rows(run)
    )


def estimates(runs: Iterable[Row]) -> dict[str, Interval]:
    """Mean and half width of each metric over the runs that have it."""
    samples: dict[str, list[float]] = {}
    for run in runs:
        for metric, value in metrics(run).items():
            if value is not None and not isinstance(value, str):
                samples.setdefault(metric, []).append(value)
    return {metric: interval(values) for metric, values in samples.items()}


def columns_like(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """The metrics with these names; `throughput_bps` without a group stands for all groups.

    Raises:
        UserError: A metric is unknown.
    """
    found = []
    for name in names:
        like = [one for one in known if one == name or one.startswith(f"{name}.")]
        if not like:
            raise UserError(f"metric: {quoted(name)} was not measured; {near(name, known)}")
        found += like
    return list(dict.fromkeys(found))


def summary_rows(found: Mapping[str, Interval], queue: str, point: int | None = None) -> Iterator[Row]:
    """Rows of `summary_frame` for one queue: one per metric and group, or link and class."""
    for column, of in found.items():
        metric, _, group = column.partition(".")
        shown = with_bin(of) if metric_of(column).is_quantile else of
        yield {
            "queue": queue,
            "point": point,
            "group": group or None,
            "metric": metric,
            "mean": of.mean,
            "low": None if shown.half_width is None else of.mean - shown.half_width,
            "high": None if shown.half_width is None else of.mean + shown.half_width,
            "n": of.n,
        }


def summary_frame(results: Sequence[Replications]) -> pl.DataFrame:
    """One row per queue, group and metric: mean over the runs with 95 % interval."""
    rows = (row for result in results for row in summary_rows(estimates(result.runs), result.queue))
    return frame(rows, schema_overrides=SUMMARY_TYPES)


def to_pandas(found: pl.DataFrame) -> Any:
    """Converts the frame to pandas.

    Raises:
        UserError: pandas or pyarrow is not installed.
    """
    try:
        return found.to_pandas()
    except ImportError as error:
        raise UserError("to_pandas: needs pandas and pyarrow: pip install 'fairlane[pandas]'") from error


def frame(rows: Iterable[Row], **options: Any) -> pl.DataFrame:
    """Rows as a frame; rows of different schemes may have different columns."""
    import polars as pl  # slow: loading takes longer than most commands

    return pl.DataFrame(list(rows), infer_schema_length=None, **options)


def write(frame: pl.DataFrame, path: Path) -> None:
    """Writes Parquet with schema version, Fairlane version and units in the metadata."""
    content = io.BytesIO()  # polars does not always report why a file cannot be written
    frame.write_parquet(content, metadata=metadata(frame.columns))
    path.write_bytes(content.getvalue())


def metadata(columns: Iterable[str]) -> dict[str, str]:
    """Metadata of a Parquet file with these columns."""
    units = {column: unit for column in columns if (unit := unit_of(column))}
    return {
        "fairlane.schema": str(SCHEMA),
        "fairlane.version": _fairlane.version(),
        "fairlane.units": json.dumps(units),
    }


def run_row(scenario: Row, run: Row, queue: str) -> Row:
    """The row of a run: identity with queue name, metrics, parameters."""
    row = {
        **_identity(queue, run),
        "version": run["version"],
        "window_start_s": run["window_s"][0],
        "window_end_s": run["window_s"][1],
        **metrics(run),
    }
    row |= {metric: run["performance"][metric] for metric in ("delivered_packets", "events")}
    return row | {f"scenario.{key}": value for key, value in _flat(scenario) if key != "name"}


def _identity(queue: str, run: Row) -> Row:
    return {
        "scenario": run["scenario"],
        "queue": queue,
        "seed": run["seed"],
        "replication": run["replication"],
    }


def _series(run: Row) -> Iterator[Row]:
    for name, values in series(run).items():
        quantity, subject = name.split(".", 1)
        for index, value in enumerate(values):
            time_s = run["series"]["start_s"] + (index + 1) * run["series"]["interval_s"]
            yield {"time_s": time_s, "subject": subject, "quantity": quantity, "value": value}


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Parameters by dotted key; tables in arrays by index."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{key}.{index}")
    else:
        yield key, value
