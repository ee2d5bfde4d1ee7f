"""The JSON Schema of a result document: the run record as declared in the simulator, and the summary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fairlane import _fairlane
from fairlane.results import overview
from fairlane.results.metric import Metric
from fairlane.results.metrics import APPLICATIONS, shown
from fairlane.results.summary import key

Json = dict[str, Any]

_NUMBER, _COUNT, _TEXT = {"type": "number"}, {"type": "integer", "minimum": 0}, {"type": "string"}
_PATHS = "Delays, drops and marks of the group's packets from host to receiver."


def result_schema() -> Json:
    """The schema that `fairlane schema result` prints."""
    record: Json = json.loads(_fairlane.record_schema())
    definitions = record.pop("$defs")
    definitions["RunRecord"] = {name: record[name] for name in ("type", "properties", "required", "description")}
    fields = {
        "schema": _described(_COUNT, "Version of this format."),
        "version": _described(_TEXT, "Version of Fairlane."),
        "scenario": _described({}, "The scenario, every default filled in."),
        "notes": _array("NoteRecord", "Caveats of the scenario."),
        "summary": _reference("Summary", "Means and intervals."),
        "performance": _reference("Performance", "Amount of simulated work in all runs together."),
        "runs": _array("RunRecord", "The single runs, by number."),
        "cost": _reference(
            "Cost", "Cost of the runs. Everything else is byte-identical whenever the scenario is simulated."
        ),
    }
    return {
        **_table(
            "Everything about a scenario: the scenario itself, the summary, the cost and the single runs.", fields
        ),
        "title": "ResultDocument",
        "$schema": record["$schema"],
        "$defs": {**_FIXED, **_summaries(definitions), "RunRecord": definitions.pop("RunRecord"), **definitions},
    }


def overview_schemas() -> dict[str, Json]:
    """Schemas of a comparison's overview; values that the row of max-min shares lacks are null."""
    times = [metric for metric in overview.GROUP if len(metric.path) > 2]
    of_group: Json = {"name": _described(_TEXT, "Name.")}
    for metric in overview.GROUP:
        null = _reference("OverviewTimes", "Delay from host to receiver; null for the max-min shares.")
        of_group |= {metric.path[1]: _nullable(null)} if metric in times else {metric.path[-1]: _maybe(metric)}
    of_link: Json = {"name": _described(_TEXT, "Name.")}
    for metric in overview.LINK:
        waits = _array("DelaySummary", "Queueing delay of the classes that had packets.")
        of_link |= {metric.path[0]: waits} if metric.by else {metric.name: _maybe(metric)}
    per_user = _reference("Estimate", "State of the edge's markers at the end.")
    return {
        "Overview": _table(
            "One scenario under several queues, in brief.",
            {
                "confidence": _described(_NUMBER, "Confidence level of the intervals."),
                "max_min": _reference("OverviewRow", "Weighted max-min fair shares."),
                "queues": _array("OverviewRow", "The queues, in the requested order."),
            },
        ),
        "OverviewRow": _table(
            "Overview of one queue.",
            {
                "queue": _described(
                    {"type": ["string", "null"]},
                    "Scheme of the queue, or name of a variant; null for the weighted max-min shares.",
                ),
                "groups": _array("OverviewGroup", "The user groups, in the order of the scenario."),
                **{key(metric): _maybe(metric) for metric in overview.RUN},
                "links": _array("OverviewLink", "The links."),
                overview.PER_USER: _nullable(per_user),
            },
        ),
        "OverviewGroup": _table("A user group under one queue.", of_group),
        "OverviewTimes": _table("Times of packets.", {one.path[2]: _estimate(one) for one in times}),
        "OverviewLink": _table("A link under one queue; max-min shares have a utilisation only.", of_link),
    }


def _maybe(metric: Metric) -> Json:
    return _nullable(_estimate(metric))


def _summaries(records: Mapping[str, Json]) -> dict[str, Json]:
    """Schemas of a summary; an optional metric is null if no replication has it."""
    run, link = shown("summary", "run"), shown("summary", "link")
    group = [one for one in shown("summary") if one.scope in {"group", "user", "flow"}]
    of_group: Json = {
        "name": records["GroupRecord"]["properties"]["name"],
        "users": _described(_COUNT, "Number of users."),
    }
    for metric in group:
        if metric.path[0] == "path":
            of_group.setdefault("path", _reference("PathSummary", _PATHS))
            same = "The values of `path` for each user; empty unless `probes.detail` is `user` or `flow`."
            of_group.setdefault("user_paths", _array("PathSummary", same))
        elif metric.path[0] not in APPLICATIONS:
            of_group[key(metric)] = _field(metric, records, "GroupRecord")
    of_link: Json = {"name": records["LinkRecord"]["properties"]["name"]}
    for metric in link:
        part = metric.path[0]
        if metric.by or part == "state":
            name = f"{part.capitalize().removesuffix('s')}Summary"
            doc = records["LinkRecord"]["properties"][part]["description"]
            of_link.setdefault(part, (_array if metric.by else _reference)(name, doc))
        elif metric.name != "dropped_share":
            of_link[key(metric)] = _field(metric, records, "LinkRecord")
        if part == "drops":
            (dropped,) = (one for one in link if one.name == "dropped_share")
            of_link["dropped_share"] = _estimate(dropped)
    path = [metric for metric in group if metric.path[0] == "path"]
    times = {metric.path[2]: _estimate(metric) for metric in path if metric.path[1] == "one_way_delay"}
    of_path: Json = {}
    for metric in path:
        name = metric.path[1]
        is_times = len(metric.path) > 2
        doc = records["PathRecord"]["properties"][name]["description"]
        of_path[name] = (
            _nullable(_reference("TimesSummary", doc)) if is_times else _field(metric, records, "GroupRecord")
        )
    return {
        "Summary": _table(
            "Means and confidence intervals over the replications.",
            {
                "replications": _described(_COUNT, "Number of replications."),
                "confidence": _described(_NUMBER, "Confidence level of the intervals."),
                "groups": _array("GroupSummary", "The user groups."),
                **{key(one): _field(one, records, "RunRecord") for one in run if len(one.path) == 1},
                "links": _array("LinkSummary", "The links."),
                "edge_state": _reference(
                    "StateSummary", records["RunRecord"]["properties"]["edge_state"]["description"]
                ),
            },
        ),
        "GroupSummary": _table(
            "A user group over all replications.",
            of_group
            | {
                "applications": {
                    "type": "object",
                    "additionalProperties": {"$ref": "#/$defs/Estimate"},
                    "description": "Every number of the group's applications. Names are prefixed with those of the "
                    "tables in a run that contain the number: `voip_mos` is `mos` in `voip`. Empty without such a "
                    "source.",
                }
            },
        ),
        "PathSummary": _table(f"{_PATHS[:-1]}, over all replications.", of_path),
        "TimesSummary": _table("Individually measured times, over the replications that have any.", times),
        "LinkSummary": _table(
            "An observed link over all replications.",
            of_link
            | {
                "readings": {
                    "type": "object",
                    "additionalProperties": {"$ref": "#/$defs/Estimate"},
                    "description": records["LinkRecord"]["properties"]["readings"]["description"],
                }
            },
        ),
        **{
            name: _table(doc, {by: records[of]["properties"][by] for by in one} | _last_of(link, part))
            for name, of, part, one, doc in (
                ("DelaySummary", "DelayRecord", "delay", ["traffic_class"], "Queueing delay of one class."),
                ("DropSummary", "DropRecord", "drops", ["reason"], "Drops for one reason."),
                ("StateSummary", "StateRecord", "state", [], "State of a scheme at the end of the runs."),
            )
        },
    }


def _last_of(metrics: Iterable[Metric], part: str) -> Json:
    return {metric.path[1]: _estimate(metric) for metric in metrics if metric.path[0] == part}


def _field(metric: Metric, records: Mapping[str, Json], record: str) -> Json:
    """Schema of a metric in a summary. It is a list for user metrics, and may be null if the record's field may be."""
    if metric.scope == "user":
        return {**_array("Estimate", metric.doc), **_annotations(metric)}
    nullable = metric.scope == "flow" or not _is_always_there(metric, records, record)
    return _nullable(_estimate(metric)) if nullable else _estimate(metric)


def _is_always_there(metric: Metric, records: Mapping[str, Json], record: str) -> bool:
    for name in metric.path:
        field = records[record]["properties"][name]
        if "null" in field.get("type", ()) or "anyOf" in field:
            return False
        record = field.get("$ref", "").rpartition("/")[2]
    return True


def _estimate(metric: Metric) -> Json:
    return {**_reference("Estimate", metric.doc), **_annotations(metric)}


def _annotations(metric: Metric) -> Json:
    return {"x-unit": metric.unit} if metric.unit else {}


def _nullable(field: Json) -> Json:
    rest = {name: value for name, value in field.items() if name != "$ref"}
    return {"anyOf": [{"$ref": field["$ref"]}, {"type": "null"}], **rest}


def _described(field: Json, doc: str) -> Json:
    return {**field, "description": doc}


def _reference(name: str, doc: str) -> Json:
    return {"$ref": f"#/$defs/{name}", "description": doc}


def _array(name: str, doc: str) -> Json:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}, "description": doc}


def _table(doc: str, fields: Json) -> Json:
    required = [name for name, field in fields.items() if "anyOf" not in field and "null" not in field.get("type", ())]
    return {"type": "object", "properties": fields, "required": required, "description": doc}


_FIXED = {
    "NoteRecord": _table(
        "A caveat of a valid scenario, in one line.",
        {
            "key": _described(_TEXT, "Key of the scenario that it is about."),
            "text": _described(_TEXT, "The caveat."),
        },
    ),
    "Estimate": _table(
        "A mean over replications.",
        {
            "mean": _described(_NUMBER, "Mean of the replications that have the value."),
            "half_width": _described(
                {"type": ["number", "null"]},
                "Half the width of the confidence interval (Student t); null for fewer than two replications.",
            ),
            "n": _described(_COUNT, "Number of replications with the value."),
        },
    ),
    "Cost": _table(
        "Cost of a scenario's runs; differs between machines and repetitions.",
        {
            "cpu_seconds": _described(_NUMBER, "CPU time of the simulated runs; ignores runs whose cost is unknown."),
            "run_cpu_seconds": _described(
                {"type": "array", "items": {"type": ["number", "null"]}},
                "CPU time of each run; null if unknown.",
            ),
            "peak_memory_bytes": _described(
                {"type": ["integer", "null"]},
                "Peak resident memory in bytes of the process that simulated the runs; null if the system does not "
                "report it.",
            ),
        },
    ),
}
