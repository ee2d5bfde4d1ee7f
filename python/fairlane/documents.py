"""The documents that commands print with `--json`, declared once: their types, and JSON Schemas made from them.

The result document of a scenario is declared in the simulator, verdicts in judge/verdicts.py.
"""

import types
import typing
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from fairlane import _fairlane
from fairlane.judge.expectations import ExpectationVerdict
from fairlane.judge.readings import Standing
from fairlane.judge.verdicts import ClaimVerdict
from fairlane.results.intervals import PointEstimate
from fairlane.results.result_schema import overview_schemas, result_schema
from fairlane.store.upkeep import StoreEntry

Json = dict[str, Any]


class _Document(TypedDict):
    schema: Annotated[int, "Version of this format."]
    version: Annotated[str, "Version of Fairlane."]


class _OfSweep(_Document):
    engine: Annotated[str, "Version of what can change a result."]
    name: Annotated[str, "Name of the sweep."]
    store: Annotated[str, "Folder of the store."]


class _PointOfSweep(TypedDict):
    point: Annotated[int, "Number, from 0."]
    at: Annotated[Json, "Value of every key that varies."]
    key: Annotated[str, "Key in the store."]


class ResultDocument(TypedDict):
    """As `fairlane schema result`."""


class Overview(TypedDict):
    """Overview of the queues, see results/overview.py."""


class ComparisonDocument(_Document):
    """Results of one scenario under several queues, printed by `fairlane compare --json`."""

    overview: Annotated[Overview, "All queues in brief, alongside the max-min shares."]
    results: Annotated[dict[str, ResultDocument], "Result document by queue, in the order asked for."]


class MeasuredPoint(TypedDict):
    """A metric at a point of an experiment; every variable of its sweep is a further field."""

    scheme: Annotated[str, "Scheme of the queue."]
    metric: Annotated[str, "Name of the metric."]
    mean: Annotated[float | None, "Mean over the replications; null if it is infinite."]
    half_width: Annotated[float | None, "Half the width of the confidence interval; null for fewer than two."]
    n: Annotated[int, "Replications that have the metric."]


class ReproducedExperiment(TypedDict):
    """A figure, table or result in words."""

    id: Annotated[str, "Such as abc2018.fig4a."]
    title: Annotated[str, "In words."]
    where: Annotated[str, "Place in the paper."]
    replications: Annotated[int, "Runs of every point."]
    most_replications: Annotated[int, "Runs that a point gets at most, where a claim is inconclusive."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    notes: Annotated[list[str], "What to know about the scenarios before the numbers are trusted."]
    points: Annotated[list[MeasuredPoint], "What was measured."]
    claims: Annotated[list[ClaimVerdict], "What became of the paper's claims."]


class ClaimCounts(TypedDict):
    """Counts of verdicts for the claims of a standing."""

    standing: Annotated[Standing, "As of a claim."]
    verdicts: Annotated[dict[str, int], "Number of claims by verdict."]


class ReproductionDocument(_Document):
    """Experiments of a paper, printed by `fairlane reproduce NAME --json` and written as claims.json."""

    paper: Annotated[str, "Short name of the paper."]
    quick: Annotated[bool, "Whether runs were fewer and shorter than those whose verdicts count."]
    settings: Annotated[Json, "Keys of the scenario that differ from the paper's."]
    counts: Annotated[list[ClaimCounts], "How many claims had which verdict."]
    experiments: Annotated[list[ReproducedExperiment], "The experiments that were asked for."]


class ReproductionsDocument(_Document):
    """Experiments of several papers, printed by `fairlane reproduce all --json`."""

    reproductions: Annotated[list[ReproductionDocument], "One for each paper."]


def reproductions(documents: list[Json]) -> Json:
    """The document of several papers."""
    return {"schema": 1, "version": _fairlane.version(), "reproductions": documents}


class SweepPoint(_PointOfSweep):
    """A point of a sweep."""

    replications: Annotated[int, "Runs."]
    narrow_enough: Annotated[bool | None, "Whether the rule of [stop] is met; null without one."]
    metrics: Annotated[dict[str, PointEstimate], "Mean by metric; the unit is the end of its name."]


class SweepCost(TypedDict):
    """Cost of a sweep's runs, whenever they ran."""

    cpu_seconds: Annotated[float, "CPU time of the simulations alone, where it is known."]


class SweepDocument(_OfSweep):
    """Result of a sweep, printed by `fairlane sweep --json` and written as sweep.json."""

    confidence: Annotated[float, "Confidence level of the intervals."]
    runs: Annotated[int, "Runs of all points; those of equal points count once."]
    notes: Annotated[list[str], "What to know about the scenarios before the numbers are trusted."]
    points: Annotated[list[SweepPoint], "The points, in order."]
    cost: Annotated[SweepCost, "What the runs cost; all else is the same each time."]


Ahead = Literal["row", "column"]


class SharedPair(TypedDict):
    """Two senders under one scheme; each pair occurs once."""

    queue: Annotated[str, "Scheme of the queue."]
    row: Annotated[str, "A sender."]
    column: Annotated[str, "The other sender, perhaps the same."]
    share: Annotated[PointEstimate | None, "Throughput of `row` over that of both; null if nothing got through."]
    ahead: Annotated[Ahead | None, "Who gets more; null if the interval has room for equal shares, or there is none."]
    utilisation: Annotated[PointEstimate, "Busy time of the bottleneck over measured time."]


class FoundScenario(TypedDict):
    """The scenario that was found against a scheme."""

    name: Annotated[str, "Scheme, with the settings that differ from its defaults; the name of its file."]
    scheme: Annotated[str, "Scheme of the queue."]
    shares_by: Annotated[str, "What the scheme shares the link by: user, flow, host, nothing."]
    beaten: Annotated[bool, "Whether the light user surely has less than half of its max-min share."]
    share: Annotated[PointEstimate, "Throughput of the light user over its max-min share."]
    ideal_share: Annotated[PointEstimate, "The same under the ideal scheduler."]
    searched_share: Annotated[float, "The least in any run of the search; it was selected for."]
    evaluations: Annotated[int, "Scenarios that the search judged."]
    groups: Annotated[dict[str, str], "What each group does, in words."]
    scenario: Annotated[Json, "The scenario, with what it is expected to give."]


class AdversaryDocument(_Document):
    """Scenarios that beat schemes, printed by `fairlane search adversary --json` and written as adversary.json."""

    engine: Annotated[str, "Version of what can change a result."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    ideal: Annotated[str, "Scheme of the ideal scheduler."]
    found: Annotated[list[FoundScenario], "What was found, in the order asked for."]


class TunedCriterion(TypedDict):
    """A criterion under the defaults and under tuned parameters: means over scenarios, by replication."""

    criterion: Annotated[str, "Its name; its unit is the end of it."]
    defaults: Annotated[PointEstimate, "With the defaults of the scheme."]
    tuned: Annotated[PointEstimate, "With the tuned parameters."]
    gain: Annotated[PointEstimate, "By how much the latter is more, replication by replication."]


class TunedHalf(TypedDict):
    """Half of the scenarios."""

    half: Annotated[Literal["tuned_on", "held_out"], "What it was for: to tune on, or to judge by."]
    scenarios: Annotated[list[str], "Files."]
    criteria: Annotated[list[TunedCriterion], "What was measured."]


class DesignerDocument(_Document):
    """Tuned parameters compared with the defaults, printed by `fairlane search designer --json`."""

    engine: Annotated[str, "Version of what can change a result."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    scheme: Annotated[str, "Name of the scheme."]
    objective: Annotated[str, "Criterion that was to be best."]
    ranges: Annotated[dict[str, str], "What might be chosen, by key."]
    defaults: Annotated[Json, "Defaults of these keys."]
    tuned: Annotated[Json, "Values that were found; none if the defaults were as good."]
    entry: Annotated[str, "The tuned scheme as `fairlane evaluate` takes it."]
    halves: Annotated[list[TunedHalf], "Both halves of the scenarios."]


class PairsDocument(_Document):
    """Every sender against every other under several schemes, printed by `fairlane pairs --json`."""

    engine: Annotated[str, "Version of what can change a result."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    scenario: Annotated[Json, "Scenario of the first pair; the others differ in senders and scheme."]
    senders: Annotated[list[str], "Congestion controls, in the order asked for."]
    queues: Annotated[list[str], "Schemes of the queue, in the order asked for."]
    notes: Annotated[list[str], "What to know about the scenarios before the numbers are trusted."]
    pairs: Annotated[list[SharedPair], "Each pair under each scheme."]


class EvaluatedValue(TypedDict):
    """Value of an entry for a criterion."""

    entry: Annotated[str, "Entry."]
    value: Annotated[PointEstimate, "Value over the scenarios that count."]


class EvaluatedCell(TypedDict):
    """Value of an entry in a scenario."""

    scenario: Annotated[str, "Family and name of the scenario."]
    criterion: Annotated[str, "Criterion that it counts for."]
    value: Annotated[PointEstimate, "Mean over the replications."]


class EvaluatedCriterion(TypedDict):
    """An entry by one criterion, among all."""

    criterion: Annotated[str, "Key of the criterion."]
    value: Annotated[PointEstimate, "Mean over the scenarios that count for it."]
    rank: Annotated[int, "Place, 1 is best."]
    rank_first: Annotated[int, "Best place that the intervals leave room for."]
    rank_last: Annotated[int, "Worst place that they leave room for."]
    of: Annotated[int, "Entries that were compared."]
    best: Annotated[list[EvaluatedValue], "Who is first."]
    nearest: Annotated[list[EvaluatedValue], "The entries that are most alike."]


class EvaluatedEntry(TypedDict):
    """The report card of an entry."""

    entry: Annotated[str, "Name in the tables."]
    scheme: Annotated[str, "Scheme."]
    settings: Annotated[Json, "Parameters that are not the defaults, by key of the scenario."]
    shares_per: Annotated[str | None, "`user` or `flow`, where the scheme has that parameter."]
    asks: Annotated[list[str], "What it asks of edge, core and hosts."]
    nearest: Annotated[list[str], "The entries that are most alike, over all criteria."]
    criteria: Annotated[list[EvaluatedCriterion], "By criterion."]
    scenarios: Annotated[list[EvaluatedCell], "By scenario and criterion."]


class EvaluationDocument(_Document):
    """Schemes on a suite of scenarios, printed by `fairlane evaluate --json`."""

    engine: Annotated[str, "Version of what can change a result."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    suite: Annotated[str, "Name and version of the suite."]
    digest: Annotated[str, "SHA-256 of its files."]
    quick: Annotated[bool, "Whether fewer scenarios were run, less often."]
    scenarios: Annotated[list[str], "Scenarios that were run."]
    notes: Annotated[list[str], "What to know before the ranks are trusted."]
    entries: Annotated[list[EvaluatedEntry], "Report cards, in the order asked for."]
    unmet: Annotated[list[str], "Requirements that are not met, behind the entry."]


class PlannedPoint(_PointOfSweep):
    """A point of a sweep that has not been run."""

    stored: Annotated[int, "Runs of this point that are stored and would be used."]
    missing: Annotated[int, "Runs that would be simulated now; rules may want more."]
    most: Annotated[int, "Runs that the point has at most."]


class PlanDocument(_OfSweep):
    """Plan of a sweep, printed by `fairlane sweep --dry-run --json`."""

    stored: Annotated[int, "Runs that are stored and would be used; those of equal points count once."]
    missing: Annotated[int, "Runs that would be simulated now; rules may want more."]
    cpu_seconds: Annotated[float | None, "What the missing runs are expected to cost; null if nothing is known."]
    points: Annotated[list[PlannedPoint], "The points, in order."]


class CheckedScenario(TypedDict):
    """A scenario whose expectations were judged."""

    file: Annotated[str | None, "Its file; null if it was built in Python."]
    scenario: Annotated[str, "Its name."]
    replications: Annotated[int, "Runs."]
    notes: Annotated[list[str], "What to know about the scenario before the numbers are trusted."]
    expectations: Annotated[list[ExpectationVerdict], "What became of each, in the order of the file."]


class CheckDocument(_Document):
    """Verdicts on the expectations of scenarios, printed by `fairlane check --json`."""

    confidence: Annotated[float, "Confidence level of the intervals."]
    passed: Annotated[bool, "Whether all expectations are held."]
    scenarios: Annotated[list[CheckedScenario], "The scenarios, in the order asked for."]


class StoreDocument(TypedDict):
    """The points of a store, printed by `fairlane store ls --json` and `fairlane store verify --json`."""

    schema: Annotated[int, "Version of this format."]
    engine: Annotated[str, "The engine that asks."]
    store: Annotated[str, "Folder of the store."]
    points: Annotated[list[StoreEntry], "By key."]


_OPEN = {MeasuredPoint, ResultDocument}
"""Tables that may have further fields."""

_SIMPLE: dict[Any, Json] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
    Any: {},
}


def schema_of(document: type) -> Json:
    """The JSON Schema of a document."""
    definitions: dict[str, Json] = {}
    _of(document, definitions)
    top = definitions.pop(document.__name__)
    if ResultDocument.__name__ in definitions:
        result = result_schema()
        definitions |= result.pop("$defs")
        del result["$schema"]
        definitions |= overview_schemas()
        definitions[ResultDocument.__name__] = result
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": document.__name__,
        **top,
        "$defs": dict(sorted(definitions.items())),
    }


def _of(kind: Any, definitions: dict[str, Json]) -> Json:
    """The schema of a type; tables go to `definitions`."""
    if kind in _SIMPLE:
        return dict(_SIMPLE[kind])
    if typing.is_typeddict(kind) or is_dataclass(kind):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}
            definitions[kind.__name__] = _table(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return {**_of(arguments[0], definitions), "description": arguments[1]}
    if origin is NotRequired:
        return _of(arguments[0], definitions)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in {list, Sequence}:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    if origin in {types.UnionType, typing.Union}:
        kinds = [_of(one, definitions) for one in arguments]
        is_plain = all(schema.keys() == {"type"} for schema in kinds)
        return {"type": [schema["type"] for schema in kinds]} if is_plain else {"anyOf": kinds}
    raise TypeError(f"{kind}: no schema for this type")


def _table(kind: Any, definitions: dict[str, Json]) -> Json:
    fields = typing.get_type_hints(kind, include_extras=True)
    return {
        "description": " ".join(kind.__doc__.split()),
        "type": "object",
        "properties": {name: _of(field, definitions) for name, field in fields.items()},
        "required": sorted(getattr(kind, "__required_keys__", fields)),
        "additionalProperties": kind in _OPEN,
    }
