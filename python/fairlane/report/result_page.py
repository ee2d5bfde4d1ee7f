"""The pages of `fairlane run` and `fairlane compare`: figures, numbers of the link, a column for each group."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fairlane.report import access_map, comparison, figures, own_tables
from fairlane.report.comparison import ComparisonView
from fairlane.report.own_page import Head, OwnPage, Picture, Row, Table, stem_of
from fairlane.results import figures as drawings
from fairlane.results.answers import means_of, sentences
from fairlane.results.replications import Replications

Json = Mapping[str, Any]
MEANS = "Means ± half width of the 95% interval."
OF_THE_LINK = f"{MEANS} Delays are those of the first traffic class at the bottleneck."
_MAKERS: dict[str, drawings.Maker] = {
    "shares": drawings.shares,
    "delay": drawings.delay_quantiles,
    "throughput": drawings.throughput,
    "queue": drawings.queue,
    "rate-over-time": drawings.rate_over_time,
    "queue-over-time": drawings.queue_over_time,
}
_CAPTIONS = {
    "throughput": "Throughput of a user by group. Bars are 95% intervals.",
    "shares": "Throughput of a user over its weighted max-min share, by group; 1 is fair.",
    "queue": "Distribution of the queue of the bottleneck over the time.",
    "delay": "One-way delay of packets by group: median, 95th and 99th percentile, maximum.",
    "rate-over-time": "Rate of each group over time.",
    "queue-over-time": "Queue of the bottleneck over time.",
}


def of_comparison(document: Json, stem: str = "") -> OwnPage:
    """The page of a document of `fairlane compare`."""
    results: Mapping[str, Json] = document["results"]
    view = comparison.view(results)
    side_by_side = Picture(
        stem="",
        title="Schemes side by side",
        caption=f"Bars are 95% intervals; a throughput ratio of 1 is fair. Rows are sorted by {view.order}; where "
        "there is no dot there is no number.",
        words=comparison.describe(view),
        wide=partial(comparison.draw, view),
        narrow=partial(comparison.draw, view, column=True),
    )
    first, others = _pictures(results)
    link = Table("numbers", "Numbers", OF_THE_LINK, ["scheme"], *_by_scheme(view, _columns(view, grouped=False)))
    return OwnPage(
        stem=stem or stem_of("comparison", view.name),
        tab="schemes" if stem else view.name,
        title="Schemes side by side" if stem else f"{view.name}: schemes side by side",
        lead=f"{len(view.schemes)} schemes on the scenario {view.name}.",
        answers=sentences(means_of(results)),
        notes=view.notes,
        pictures=[*first, side_by_side, *access_map.pictures(_in_order(results, view)), *others],
        tables=[link, *_by_group(view), *_of_applications(view), *own_tables.tables(_in_order(results, view))],
        facts=view.facts,
    )


def of_result(document: Json) -> OwnPage:
    """The page of a document of `fairlane run`."""
    scheme = str(document["scenario"]["queue"]["scheme"])
    view = comparison.view({scheme: document})
    whole = _columns(view, grouped=False)
    first, others = _pictures({scheme: document})
    numbers = [Row([view.columns[index].metric.head], [view.text(scheme, index)]) for index in whole]
    return OwnPage(
        stem=stem_of("run", view.name),
        tab=view.name,
        title=view.name,
        lead=f"The scenario {view.name} under {scheme}.",
        answers=sentences(means_of({scheme: document})),
        notes=view.notes,
        pictures=[*first, *access_map.pictures({scheme: document}), *others],
        tables=[
            Table("numbers", "Numbers", OF_THE_LINK, ["measure"], [Head("value")], numbers),
            _of_groups(view, scheme),
            *own_tables.tables({scheme: document}),
        ],
        facts=view.facts,
    )


def _in_order(results: Mapping[str, Json], view: ComparisonView) -> dict[str, Json]:
    """The results in the order of the page, fairest first."""
    return {scheme: results[scheme] for scheme in view.schemes}


def _columns(view: ComparisonView, *, grouped: bool) -> list[int]:
    return [index for index, column in enumerate(view.columns) if (column.group is not None) == grouped]


def _by_scheme(view: ComparisonView, columns: Sequence[int]) -> tuple[list[Head], list[Row]]:
    heads = [Head(view.columns[index].metric.head, view.columns[index].better) for index in columns]
    return heads, [Row([scheme], [view.text(scheme, index) for index in columns]) for scheme in view.schemes]


def _by_group(view: ComparisonView) -> list[Table]:
    """A table for each group metric, with a column per group, except metrics of applications."""
    tables = []
    grouped = {words: found for words, found in _grouped(view).items() if not view.columns[found[0]].application}
    for number, (words, of_groups) in enumerate(grouped.items()):
        heads = [Head(view.columns[index].group_name) for index in of_groups]
        rows = [Row([scheme], [view.text(scheme, index) for index in of_groups]) for scheme in view.schemes]
        tables.append(Table(f"of-groups-{number}", f"{words} by group", MEANS, ["scheme"], heads, rows))
    return tables


def _of_applications(view: ComparisonView) -> list[Table]:
    """Results of calls, videos and responsiveness tests of each group, with a column per scheme; may be empty."""
    found = [(index, column) for index, column in enumerate(view.columns) if column.application]
    rows = [
        Row([one.group_name, one.application, one.metric.head], [view.text(scheme, index) for scheme in view.schemes])
        for index, one in found
    ]
    keys, heads = ["group", "application", "measure"], [Head(scheme) for scheme in view.schemes]
    return [Table("of-applications", "Applications by group", MEANS, keys, heads, rows)] if rows else []


def _of_groups(view: ComparisonView, scheme: str) -> Table:
    """A row for each group."""
    grouped = _grouped(view)
    names = dict.fromkeys(view.columns[index].group_name for of_groups in grouped.values() for index in of_groups)
    rows = []
    for name in names:
        found = [
            next((i for i in of_groups if view.columns[i].group_name == name), None) for of_groups in grouped.values()
        ]
        rows.append(Row([name], ["–" if index is None else view.text(scheme, index) for index in found]))
    return Table("groups", "Groups", MEANS, ["group"], [Head(words) for words in grouped], rows)


def _grouped(view: ComparisonView) -> dict[str, list[int]]:
    """Numbers of the group columns, by heading."""
    found: dict[str, list[int]] = {}
    for index in _columns(view, grouped=True):
        head = view.columns[index].metric.head
        found.setdefault(head[:1].upper() + head[1:], []).append(index)
    return found


def _pictures(results: Mapping[str, Json]) -> tuple[list[Picture], list[Picture]]:
    """The two main figures (shares and delays), and the others."""
    replications = [_replications(name, document) for name, document in results.items()]
    makers, captions = dict(_MAKERS), dict(_CAPTIONS)
    if drawings.have_distributions(replications):
        makers["delay"] = drawings.delay_cdf
        captions["delay"] = "Distribution of the one-way delay of packets by group."
    elif not drawings.have_quantiles(replications):
        del makers["delay"]
    if not drawings.have_series(replications):
        makers = {name: make for name, make in makers.items() if not name.endswith("over-time")}

    pictures = [
        Picture(
            stem=f"-{name}",
            title=captions[name].partition(".")[0],
            caption=captions[name],
            words=figures.describe(make(replications)),
            wide=partial(make, replications),
            narrow=partial(make, replications, column=True),
        )
        for name, make in makers.items()
    ]
    return pictures[:2], pictures[2:]


def _replications(name: str, document: Json) -> Replications:
    runs = tuple(json.dumps(run, ensure_ascii=False) for run in document["runs"])
    return Replications(json.dumps(document["scenario"], ensure_ascii=False), runs, (None,) * len(runs), name)
