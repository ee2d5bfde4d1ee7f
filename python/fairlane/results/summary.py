"""The summary of a result document: means with intervals over the replications, and its JSON Schema.

The summary and the schema are derived from the catalogue's summary metrics. A part of a record, such as the path of a
group, is a separate table; the other metrics are listed by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter, methodcaller
from typing import Any

from fairlane import _fairlane
from fairlane.results.intervals import interval
from fairlane.results.metric import Metric
from fairlane.results.metrics import APPLICATIONS, shown

Row = Mapping[str, Any]
Take = Callable[[Row], float | None]

SCHEMA = 2
_GROUP = [metric for metric in shown("summary") if metric.scope in {"group", "user", "flow"}]
_PATH = [metric for metric in _GROUP if metric.path[0] == "path"]
_RUN, _LINK = shown("summary", "run"), shown("summary", "link")
_OF_APPLICATIONS = sorted(
    (metric for metric in shown("columns", "group") if metric.path[0] in APPLICATIONS), key=lambda metric: metric.name
)
_KEYS = {
    "delivered_share": "udp_delivered_share",
    "transfers_mean_s": "transfer_mean_s",
    "transfers_p95_s": "transfer_p95_s",
    "transfers_slowdown_mean": "transfer_slowdown_mean",
    "transfers_slowdown_p99": "transfer_slowdown_p99",
}
"""Names that earlier documents used."""
_CLASSES = ("BE", "EF")


def key(metric: Metric) -> str:
    """Returns the name of a metric in a summary."""
    return _KEYS.get(metric.name, metric.name)


def summary(runs: Sequence[Row], confidence: float) -> dict[str, Any]:
    """The summary of the records of all replications, at least one."""
    return _Summary(confidence).of_runs(runs)


class _Summary:
    """Means with intervals at one confidence level."""

    def __init__(self, confidence: float) -> None:
        self._confidence = confidence

    def of_runs(self, runs: Sequence[Row]) -> dict[str, Any]:
        groups, links = ([[run[of][i] for run in runs] for i in range(len(runs[0][of]))] for of in ("groups", "links"))
        return {
            "replications": len(runs),
            "confidence": self._confidence,
            "groups": [self._group(of_runs) for of_runs in groups],
            **{key(metric): self._mean(runs, metric.of) for metric in _RUN if len(metric.path) == 1},
            "links": [self._link(of_runs) for of_runs in links],
            "edge_state": self._parts(runs, [metric for metric in _RUN if len(metric.path) > 1])["edge_state"],
        }

    def _group(self, groups: Sequence[Row]) -> dict[str, Any]:
        found: dict[str, Any] = {name: groups[0][name] for name in ("name", "users")}
        for metric in _GROUP:
            if metric.scope == "user":
                found[key(metric)] = [
                    self._estimate(values) for values in zip(*(metric.of(group) for group in groups), strict=True)
                ]
            elif metric.scope == "flow":
                found[key(metric)] = self._estimate(_means_of_flows(metric, groups))
            elif metric.path[0] == "path":
                found.setdefault("path", self._path([group["path"] for group in groups]))
                of_users = zip(*(group["user_paths"] for group in groups), strict=True)
                found.setdefault("user_paths", [self._path(paths) for paths in of_users])
            elif metric.path[0] not in APPLICATIONS:
                found[key(metric)] = self._mean(groups, metric.of)
        applications = {key(metric): self._mean(groups, metric.of) for metric in _OF_APPLICATIONS}
        return found | {"applications": {name: mean for name, mean in applications.items() if mean}}

    def _path(self, paths: Sequence[Row]) -> dict[str, Any]:
        found: dict[str, Any] = self._parts([{"path": path} for path in paths], _PATH)["path"]
        return {name: one if _has_mean(one) else None for name, one in found.items()}

    def _link(self, links: Sequence[Row]) -> dict[str, Any]:
        found: dict[str, Any] = {"name": links[0]["name"]}
        for metric in _LINK:
            part = metric.path[0]
            if part in found or metric.name == "dropped_share":
                continue
            if metric.by:
                found[part] = self._by(links, part, metric.by)
            elif part == "state":
                found |= self._parts(links, [one for one in _LINK if one.path[0] == part])
            else:
                found[key(metric)] = self._mean(links, metric.of)
            if part == "drops":
                found["dropped_share"] = self._mean(links, dropped_share)
        names = sorted({name for link in links for name in link["readings"]})
        all_readings = [link["readings"] for link in links]
        readings = {name: self._mean(all_readings, methodcaller("get", name)) for name in names}
        return found | {"readings": readings}

    def _by(self, links: Sequence[Row], part: str, by: str) -> list[dict[str, Any]]:
        """A row for each traffic class or reason that occurs in any run."""
        metrics = [metric for metric in _LINK if metric.path[0] == part]
        names = dict.fromkeys(one[by] for link in links for one in link[part])
        order = sorted(names, key=_CLASSES.index) if by == "traffic_class" else names
        rows = []
        for name in order:
            found = [one for link in links for one in link[part] if one[by] == name]
            means = {metric.path[1]: self._mean(found, itemgetter(metric.path[1])) for metric in metrics}
            rows.append({by: name, **means})
        return rows

    def _parts(self, records: Sequence[Row], metrics: Iterable[Metric]) -> dict[str, Any]:
        """Means of metrics, in tables of the same form as in the records."""
        found: dict[str, Any] = {}
        for metric in metrics:
            table = found
            for name in metric.path[:-1]:
                table = table.setdefault(name, {})
            table[metric.path[-1]] = self._mean(records, metric.of)
        return found

    def _mean(self, records: Iterable[Row], take: Take) -> dict[str, Any] | None:
        return self._estimate([value for record in records if (value := take(record)) is not None])

    def _estimate(self, values: Sequence[float]) -> dict[str, Any] | None:
        return dict(interval(values, self._confidence).document()) if values else None


def dropped_share(link: Row) -> float:
    """Packets dropped for any reason, divided by arrived packets."""
    return float(sum(drops["share_of_arrivals"] for drops in link["drops"]))


def _means_of_flows(metric: Metric, groups: Iterable[Row]) -> list[float]:
    """The mean over the flows of each group that has flows."""
    return [math.fsum(flows) / len(flows) for group in groups if (flows := metric.of(group))]


def _has_mean(of: Any) -> bool:
    return of is not None and ("mean" in of or any(of.values()))


def document(scenario: str, runs: Sequence[str], cpu_seconds: Sequence[float | None], confidence: float) -> str:
    """The result document of a canonical scenario as JSON text, with unmodified records."""
    _fairlane.student_t(confidence, 1)  # raises a ValueError for an invalid confidence
    records = [json.loads(run) for run in runs]
    head = {
        "schema": SCHEMA,
        "version": _fairlane.version(),
        "scenario": json.loads(scenario),
        "notes": [{"key": name, "text": text} for name, text in _fairlane.notes(scenario)],
        "summary": summary(records, confidence),
        "performance": {
            name: sum(record["performance"][name] for record in records) for name in ("delivered_packets", "events")
        },
    }
    cost = {
        "cpu_seconds": sum(seconds for seconds in cpu_seconds if seconds is not None),
        "run_cpu_seconds": list(cpu_seconds),
        "peak_memory_bytes": _fairlane.peak_memory_bytes(),
    }
    return f'{_json(head)[:-1]},"runs":[{",".join(runs)}],"cost":{_json(cost)}}}'


def _json(table: Mapping[str, Any]) -> str:
    return json.dumps(table, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
