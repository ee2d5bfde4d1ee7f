"""The metrics of a run record by name, and the metrics of a scenario."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from fairlane import _fairlane
from fairlane.results.catalogue import METRICS
from fairlane.results.metric import Metric

Row = dict[str, Any]

_ENDS = {"_bps": "bit/s", "_s": "s", "_seconds": "s", "_packets": "packets", "_bytes": "bytes", "share": "1"}
"""Units by suffix of the name, for columns that a scheme, a plane or a table adds."""


def shown(place: str, scope: str | None = None) -> list[Metric]:
    """The metrics of a table or command, optionally of one scope."""
    return [metric for metric in METRICS if place in metric.shown and scope in {None, metric.scope}]


def of_applications(kind: str) -> list[Metric]:
    """Returns the metrics that tables and pages show for a kind of application, counts last."""
    return sorted((metric for metric in shown("applications") if metric.path[0] == kind), key=lambda one: not one.unit)


_RUN, _GROUP, _LINK = (shown("columns", scope) for scope in ("run", "group", "link"))
_ORDER = ("udp", "voip", "responsiveness", "video")
"""Parts of a group's record whose columns come first; the others follow in the order of the record."""
_OF_PARTS = sorted(
    (metric for metric in _GROUP if len(metric.path) > 1 and metric.path[0] != "path"),
    key=lambda metric: _ORDER.index(metric.path[0]) if metric.path[0] in _ORDER else len(_ORDER),
)
_SHOWN_OF_APPLICATIONS = {metric.path[0] for metric in shown("applications")}
APPLICATIONS = tuple(dict.fromkeys(one.path[0] for one in _OF_PARTS if one.path[0] in _SHOWN_OF_APPLICATIONS))
"""Parts of a group's record that describe its applications."""
_PATH = sorted((metric for metric in _GROUP if metric.path[0] == "path"), key=lambda metric: len(metric.path) < 3)
_LINK_PARTS = {metric.path[0]: [one for one in _LINK if one.path[0] == metric.path[0]] for metric in _LINK}
_GROUP_SERIES = [metric.name for metric in METRICS if metric.scope == "series of a group"]
"""Time series of each group."""
_LINK_SERIES = [metric.name for metric in METRICS if metric.scope == "series of a link"]
_OF_RUNS = [metric for metric in METRICS if metric.scope not in {"evaluation", "search"}]
_UNITS = {"_".join(one.path[1:]): one.unit for one in _OF_RUNS} | {one.name: one.unit for one in _OF_RUNS}
"""Units by metric name. Metrics in a part of a record are also listed by the names of their fields in that part."""
_BY_NAME = {metric.name: metric for metric in reversed(_OF_RUNS)}
"""Metrics by name. If a group and a link have metrics of the same name, the group's metric is used."""
_BY_NAME["link_throughput_bps"] = next(one for one in _LINK if one.name == "throughput_bps")
CRITERIA = {metric.name: metric for metric in shown("criterion")}
"""Criteria of `evaluate`; there is no combined score."""
OBJECTIVES = {metric.name: metric for metric in sorted(shown("objective"), key=lambda metric: metric.scope != "search")}
"""Objectives of `search designer`."""


def unit_of(column: str) -> str | None:
    """Unit of a column, whose name begins with a metric's name; None if it has no unit."""
    name = column.partition(".")[0]
    if name in _UNITS:
        return _UNITS[name] or None
    return next((unit for end, unit in _ENDS.items() if name.endswith(end)), None)


def metric_of(column: str) -> Metric:
    """The metric of a column. For a column that a scheme or plane added, the metric is made from the column's name."""
    name = column.partition(".")[0]
    if name in _BY_NAME:
        return _BY_NAME[name]
    words = next((name.removesuffix(end) for end in _ENDS if end != "share" and name.endswith(end)), name)
    unit = unit_of(name) or ""
    heading = words.replace("_", " ")
    return Metric(name, "", (name,), heading, "", unit=unit, shown_as={"bit/s": "Mbit/s", "s": "ms"}.get(unit, ""))


def label_of(column: str) -> str:
    """A column in words with its unit: `delay_p99_s.BE.bottleneck` is `p99 delay, BE, bottleneck (ms)`."""
    metric = metric_of(column)
    words = ", ".join([metric.title, *column.split(".")[1:]])
    return f"{words} ({metric.suffix})" if metric.suffix else words


def worst_of(metric: Metric, record: Row) -> float | None:
    """Value of a metric for the worst group or link of a run record; None if missing."""
    if metric.scope == "run":
        value: float | None = metric.of(record)
        return value
    found = [value for owner in record[f"{metric.scope}s"] for value in _values(metric, owner) if value is not None]
    return (min if metric.better == "high" else max)(found, default=None)


def _values(metric: Metric, owner: Row) -> list[float | None]:
    """Values of a metric at a group or link: a single value, or one per traffic class or per reason for drops."""
    if not metric.by:
        return [metric.of(owner)]
    return [one.get(metric.path[1]) for one in owner.get(metric.path[0], ())]


def jain(rates: Sequence[float]) -> float | None:
    """Jain's index of rates in any unit, 1/n to 1; None if all are zero."""
    squares = len(rates) * math.fsum(rate**2 for rate in rates)
    return math.fsum(rates) ** 2 / squares if squares else None


def metrics(run: Row) -> Row:
    """All measurements of a run, by group and link; None for metrics that the run lacks.

    Lab runs lack what only a simulator can measure. Their `lab_*` columns describe the quality of the run.
    """
    row: Row = {}
    for name, value in _metrics(run):
        if name in row:
            raise ValueError(f"{name}: two metrics have this name")
        row[name] = value
    return row


def _metrics(run: Row) -> Iterator[tuple[str, Any]]:
    yield from ((metric.name, metric.of(run)) for metric in _RUN if len(metric.path) == 1)
    for group in run["groups"]:
        yield from ((f"{name}.{group['name']}", value) for name, value in _group_metrics(group).items())
    yield from _there(_RUN, run).items()
    yield from _lab(run).items()
    for link in run["links"]:
        for name, value in link_metrics(link).items():
            # A group may have the name of a link, so the metrics of groups and links need different names.
            of_link = "link_throughput_bps" if name == "throughput_bps" else name
            yield f"{of_link}.{link['name']}", value


def _group_metrics(group: Row) -> Row:
    own = {metric.name: metric.of(group) for metric in _GROUP if len(metric.path) == 1}
    return own | path_metrics(group) | _there(_OF_PARTS, group)


def _there(several: Sequence[Metric], record: Row) -> Row:
    """The metrics of those parts that the record contains."""
    return {metric.name: metric.of(record) for metric in several if len(metric.path) > 1 and record.get(metric.path[0])}


def slowdown_metrics(transfers: Row) -> Row:
    """Mean, quantiles and maximum of the slowdown; None if the record has no slowdown, as for a class of transfers."""
    found = transfers.get("slowdown") or {}
    return {f"slowdown_{quantity}": found.get(quantity) for quantity in ("mean", "p50", "p95", "p99", "max")}


def path_metrics(group: Row, path: Row | None = None) -> Row:
    """Delays, drops and marks of a group's packets, or of the user or flow with the record `path`.

    Empty if not measured. Only groups with TCP have round-trip times.
    """
    path = path or group.get("path")
    if path is None:
        return {}
    has_tcp = (group.get("tcp") or group.get("transfer_times")) and "smoothed_rtt" not in path
    absent = {name for name in ("smoothed_rtt", "retransmitted_segments") if name not in path}
    absent |= set() if has_tcp else {"rtt"}
    return {metric.name: metric.of({"path": path}) for metric in _PATH if metric.path[1] not in absent}


def series(run: Row) -> dict[str, list[float | None]]:
    """The time series of a run by quantity and group or link, a value per bin; empty if not recorded."""
    if (found := run.get("series")) is None:
        return {}
    of_groups = {f"{name}.{group['name']}": group[name] for group in found["groups"] for name in _GROUP_SERIES}
    return of_groups | {f"{name}.{found['link']}": found[name] for name in _LINK_SERIES}


def link_metrics(link: Row) -> Row:
    """Measurements at one link."""
    found: Row = {}
    for part, several in _LINK_PARTS.items():
        if several[0].by:  # all quantities of one class, then of the next
            for one in link.get(part, ()):
                found |= {f"{metric.name}.{one[metric.by]}": one.get(metric.path[1]) for metric in several}
        elif part != "state" or part in link:
            found |= {metric.name: metric.of(link) for metric in several}
    found["marked_packets"] = link.get("marks", 0)  # not in lab runs
    return found | {f"reading_{name}": value for name, value in link["readings"].items()}


def _lab(run: Row) -> Row:
    """Plane, kernel, lateness and switch data of a lab run."""
    entry = dict(run.get("lab", {}))
    switch = entry.pop("switch", {})
    own = {f"lab_{name}": value for name, value in entry.items()}
    return own | {f"lab_switch_{name}": value for name, value in switch.items()}


def metric_names(scenario: str) -> list[str]:
    """The metrics of runs of a canonical scenario."""
    run, classes = _unstarted(scenario)
    delays = [metric.name for metric in _LINK if metric.by == "traffic_class"]
    return list(metrics(run)) + [
        f"{name}.{of_class}.{link['name']}" for name in delays for of_class in classes for link in run["links"]
    ]


def series_names(scenario: str) -> list[str]:
    """The metrics that runs of a canonical scenario record as time series."""
    return list(series(_unstarted(scenario)[0]))


def _unstarted(scenario: str) -> tuple[Row, list[str]]:
    """Returns the traffic classes, and the record of a run that has not started: all fields exist, without values."""
    record: Row = json.loads(_fairlane.unstarted_record(scenario))
    return record, list(dict.fromkeys(group["traffic_class"] for group in json.loads(scenario)["groups"]))
