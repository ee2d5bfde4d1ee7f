"""Types of the documents that commands print with `--json`, and JSON Schemas generated from them.

The result document of a scenario is declared in the simulator; verdicts are declared in judge/verdicts.py.
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
    engine: Annotated[str, "Engine version; changes whenever results can change."]
    name: Annotated[str, "Name of the sweep."]
    store: Annotated[str, "Folder of the store."]


class _PointOfSweep(TypedDict):
    point: Annotated[int, "Number, from 0."]
    at: Annotated[Json, "Value of every key that varies."]
    key: Annotated[str, "Key in the store."]


class ResultDocument(TypedDict):
    """Result of a scenario, see `fairlane schema result`."""


class Overview(TypedDict):
    """Overview of the queues, see results/overview.py."""


class ComparisonDocument(_Document):
    """Results of one scenario under several queues, printed by `fairlane compare --json`."""

    overview: Annotated[Overview, "All queues in brief, alongside the max-min shares."]
    results: Annotated[dict[str, ResultDocument], "Result document by queue, in the requested order."]


class MeasuredPoint(TypedDict):
    """A metric at a point of an experiment; every variable of its sweep is a further field."""

    scheme: Annotated[str, "Scheme of the queue."]
    metric: Annotated[str, "Name of the metric."]
    mean: Annotated[float | None, "Mean over the replications; null if it is infinite."]
    half_width: Annotated[float | None, "Half the width of the confidence interval; null for fewer than two."]
    n: Annotated[int, "Replications that have the metric."]


class ReproducedExperiment(TypedDict):
    """An experiment of a paper: a figure, a table or a result stated in the text."""

    id: Annotated[str, "Identifier, such as abc2018.fig4a."]
    title: Annotated[str, "Title."]
    where: Annotated[str, "Place in the paper."]
    replications: Annotated[int, "Runs of every point."]
    most_replications: Annotated[int, "Maximum runs of a point while a claim is inconclusive."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    notes: Annotated[list[str], "Caveats about the scenarios."]
    points: Annotated[list[MeasuredPoint], "Measured points."]
    claims: Annotated[list[ClaimVerdict], "Verdicts on the paper's claims."]


class ClaimCounts(TypedDict):
    """Number of claims per verdict, for one standing."""

    standing: Annotated[Standing, "Standing of these claims."]
    verdicts: Annotated[dict[str, int], "Number of claims by verdict."]


class ReproductionDocument(_Document):
    """Experiments of a paper, printed by `fairlane reproduce NAME --json` and written as claims.json."""

    paper: Annotated[str, "Short name of the paper."]
    quick: Annotated[bool, "Whether runs were fewer and shorter than full ones."]
    settings: Annotated[Json, "Keys of the scenario that differ from the paper's."]
    counts: Annotated[list[ClaimCounts], "Number of claims per verdict."]
    experiments: Annotated[list[ReproducedExperiment], "The requested experiments."]


class ReproductionsDocument(_Document):
    """Experiments of several papers, printed by `fairlane reproduce all --json`."""

    reproductions: Annotated[list[ReproductionDocument], "One for each paper."]


def reproductions(documents: list[Json]) -> Json:
    """The document of several papers."""
    return {"schema": 1, "version": _fairlane.version(), "reproductions": documents}


class SweepPoint(_PointOfSweep):
    """A point of a sweep."""

    replications: Annotated[int, "Runs."]
    narrow_enough: Annotated[bool | None, "Whether intervals are as narrow as [stop] requires; null without it."]
    metrics: Annotated[dict[str, PointEstimate], "Mean by metric; the metric's name ends with its unit."]


class SweepCost(TypedDict):
    """Cost of a sweep's runs, whenever they ran."""

    cpu_seconds: Annotated[float, "CPU time of the simulations alone, as far as it is known."]


class SweepDocument(_OfSweep):
    """Result of a sweep, printed by `fairlane sweep --json` and written as sweep.json."""

    confidence: Annotated[float, "Confidence level of the intervals."]
    runs: Annotated[int, "Runs of all points; those of equal points count once."]
    notes: Annotated[list[str], "Caveats about the scenarios."]
    points: Annotated[list[SweepPoint], "The points, in order."]
    cost: Annotated[SweepCost, "Cost of the runs; everything else is the same each time."]


Ahead = Literal["row", "column"]


class SharedPair(TypedDict):
    """Two senders under one scheme; each pair occurs once."""

    queue: Annotated[str, "Scheme of the queue."]
    row: Annotated[str, "A sender."]
    column: Annotated[str, "The other sender, perhaps the same."]
    share: Annotated[PointEstimate | None, "Throughput of `row` over that of both; null if nothing got through."]
    ahead: Annotated[Ahead | None, "Sender with the larger share; null if the interval is missing or includes 0.5."]
    utilisation: Annotated[PointEstimate, "Busy time of the bottleneck over measured time."]


class FoundScenario(TypedDict):
    """The worst scenario found for a scheme."""

    name: Annotated[str, "Scheme, with the settings that differ from its defaults; the name of its file."]
    scheme: Annotated[str, "Scheme of the queue."]
    shares_by: Annotated[str, "Unit among which the scheme shares the link: user, flow, host, nothing."]
    beaten: Annotated[bool, "Whether the whole interval of the light user's share is below half of its max-min share."]
    share: Annotated[PointEstimate, "Throughput of the light user over its max-min share."]
    ideal_share: Annotated[PointEstimate, "The same under the ideal scheduler."]
    searched_share: Annotated[float, "Lowest share in any run of the search; biased, since the search selects it."]
    evaluations: Annotated[int, "Scenarios that the search simulated."]
    groups: Annotated[dict[str, str], "Description of each group's behaviour."]
    scenario: Annotated[Json, "The scenario, with its expectations."]


class AdversaryDocument(_Document):
    """Worst scenarios of schemes, printed by `fairlane search adversary --json` and written as adversary.json."""

    engine: Annotated[str, "Engine version; changes whenever results can change."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    ideal: Annotated[str, "Scheme of the ideal scheduler."]
    found: Annotated[list[FoundScenario], "Scenarios found, in the requested order."]


class TunedCriterion(TypedDict):
    """A criterion under the defaults and under tuned parameters: means over scenarios, by replication."""

    criterion: Annotated[str, "Name, which ends with the unit."]
    defaults: Annotated[PointEstimate, "With the defaults of the scheme."]
    tuned: Annotated[PointEstimate, "With the tuned parameters."]
    gain: Annotated[PointEstimate, "Tuned minus defaults, replication by replication."]


class TunedHalf(TypedDict):
    """Half of the scenarios."""

    half: Annotated[Literal["tuned_on", "held_out"], "Use of this half: tuning or validation."]
    scenarios: Annotated[list[str], "Files."]
    criteria: Annotated[list[TunedCriterion], "Measured criteria."]


class DesignerDocument(_Document):
    """Tuned parameters compared with the defaults, printed by `fairlane search designer --json`."""

    engine: Annotated[str, "Engine version; changes whenever results can change."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    scheme: Annotated[str, "Name of the scheme."]
    objective: Annotated[str, "Criterion to optimise."]
    ranges: Annotated[dict[str, str], "Searched range of each key."]
    defaults: Annotated[Json, "Defaults of these keys."]
    tuned: Annotated[Json, "Tuned values; empty if none were better than the defaults."]
    entry: Annotated[str, "The tuned scheme as an argument of `fairlane evaluate`."]
    halves: Annotated[list[TunedHalf], "Both halves of the scenarios."]


class PairsDocument(_Document):
    """Shares of every pair of senders under several schemes, printed by `fairlane pairs --json`."""

    engine: Annotated[str, "Engine version; changes whenever results can change."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    scenario: Annotated[Json, "Scenario of the first pair; the others differ in senders and scheme."]
    senders: Annotated[list[str], "Congestion controls, in the requested order."]
    queues: Annotated[list[str], "Schemes of the queue, in the requested order."]
    notes: Annotated[list[str], "Caveats about the scenarios."]
    pairs: Annotated[list[SharedPair], "Each pair under each scheme."]


class EvaluatedValue(TypedDict):
    """Value of an entry for a criterion."""

    entry: Annotated[str, "Name of the entry."]
    value: Annotated[PointEstimate, "Value over the scenarios that count."]


class EvaluatedCell(TypedDict):
    """Value of an entry in a scenario."""

    scenario: Annotated[str, "Family and name of the scenario."]
    criterion: Annotated[str, "Criterion that it counts for."]
    value: Annotated[PointEstimate, "Mean over the replications."]


class EvaluatedCriterion(TypedDict):
    """Value and rank of an entry for one criterion."""

    criterion: Annotated[str, "Key of the criterion."]
    value: Annotated[PointEstimate, "Mean over the scenarios that count for it."]
    rank: Annotated[int, "Rank, 1 is best."]
    rank_first: Annotated[int, "Best rank that the intervals allow."]
    rank_last: Annotated[int, "Worst rank that the intervals allow."]
    of: Annotated[int, "Entries that were compared."]
    best: Annotated[list[EvaluatedValue], "The entries with the best value."]
    nearest: Annotated[list[EvaluatedValue], "The most similar entries."]


class EvaluatedEntry(TypedDict):
    """The report card of an entry."""

    entry: Annotated[str, "Name in the tables."]
    scheme: Annotated[str, "Scheme."]
    settings: Annotated[Json, "Parameters that are not the defaults, by key of the scenario."]
    shares_per: Annotated[str | None, "`user` or `flow` if the scheme has that parameter, else null."]
    asks: Annotated[list[str], "Requirements on edge, core and hosts."]
    nearest: Annotated[list[str], "The most similar entries over all criteria."]
    criteria: Annotated[list[EvaluatedCriterion], "By criterion."]
    scenarios: Annotated[list[EvaluatedCell], "By scenario and criterion."]


class EvaluationDocument(_Document):
    """Evaluation of schemes on a suite of scenarios, printed by `fairlane evaluate --json`."""

    engine: Annotated[str, "Engine version; changes whenever results can change."]
    confidence: Annotated[float, "Confidence level of the intervals."]
    suite: Annotated[str, "Name and version of the suite."]
    digest: Annotated[str, "SHA-256 of its files."]
    quick: Annotated[bool, "Whether fewer scenarios were run, with fewer replications."]
    scenarios: Annotated[list[str], "Scenarios that were run."]
    notes: Annotated[list[str], "Caveats about the ranks."]
    entries: Annotated[list[EvaluatedEntry], "Report cards, in the requested order."]
    unmet: Annotated[list[str], "Requirements that are not met, each after the name of its entry."]


class PlannedPoint(_PointOfSweep):
    """A point of a sweep that has not been run."""

    stored: Annotated[int, "Runs of this point that are stored and would be used."]
    missing: Annotated[int, "Runs that would be simulated now; [stop] may require more."]
    most: Annotated[int, "Maximum runs of the point."]


class PlanDocument(_OfSweep):
    """Plan of a sweep, printed by `fairlane sweep --dry-run --json`."""

    stored: Annotated[int, "Runs that are stored and would be used; those of equal points count once."]
    missing: Annotated[int, "Runs that would be simulated now; [stop] may require more."]
    cpu_seconds: Annotated[float | None, "Expected CPU time of the missing runs; null if unknown."]
    points: Annotated[list[PlannedPoint], "The points, in order."]


class CheckedScenario(TypedDict):
    """A scenario whose expectations were checked."""

    file: Annotated[str | None, "Its file; null if it was built in Python."]
    scenario: Annotated[str, "Its name."]
    replications: Annotated[int, "Runs."]
    notes: Annotated[list[str], "Caveats about the scenario."]
    expectations: Annotated[list[ExpectationVerdict], "Verdict on each expectation, in the order of the file."]


class CheckDocument(_Document):
    """Verdicts on the expectations of scenarios, printed by `fairlane check --json`."""

    confidence: Annotated[float, "Confidence level of the intervals."]
    passed: Annotated[bool, "Whether all expectations are held."]
    scenarios: Annotated[list[CheckedScenario], "The scenarios, in the requested order."]


class StoreDocument(TypedDict):
    """The points of a store, printed by `fairlane store ls --json` and `fairlane store verify --json`."""

    schema: Annotated[int, "Version of this format."]
    engine: Annotated[str, "Version of the engine that lists the store."]
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
