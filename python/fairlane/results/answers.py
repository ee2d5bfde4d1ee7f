"""Summary of a comparison: three sentences about share, delay and utilisation, and the metrics that differ.

Two queues differ in a metric if their 95 % intervals are disjoint. Terminal, notebook and report show the same summary.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairlane.base.text import name
from fairlane.results.frames import estimates
from fairlane.results.intervals import Interval, format_interval, format_number, with_bin
from fairlane.results.metric import Metric
from fairlane.results.metrics import metric_of
from fairlane.results.names import display_name
from fairlane.results.table import Json, Table, cell

MAIN = (
    "throughput_bps",
    "one_way_delay_p99_s",
    "lost_share",
    "throughput_ratio",
    "jain_index",
    "utilisation",
    "queue_mean_packets",
    "delay_mean_s",
    "voip_mos",
)
"""Metrics to show if they differ, in this order."""
MEASURES = {
    "normalised_throughput": "worst share (1 is fair)",
    "one_way_delay_p99_s": "worst group's delay (one-way, 99th percentile)",
    "utilisation": "use of the link",
}
"""Metrics of the sentences, for the worst group or the first link."""
SIDE_BY_SIDE = 3
"""Maximum number of queues shown as columns; more are shown as rows."""
MOST_ROWS, MOST_QUEUES = 9, 12
MOST_NAMES = 3
"""Maximum number of names in a sentence."""


@dataclass(frozen=True)
class _Found:
    """A queue's value of a measure, at its worst group or at the first link."""

    queue: str
    where: str
    interval: Interval

    def text(self, metric: Metric) -> str:
        """`0.93 ± 0.02, light`."""
        return ", ".join(filter(None, [f"{self.number(metric)}{_space(metric)}{metric.suffix}", self.where]))

    def number(self, metric: Metric) -> str:
        """Mean and half width in the unit of tables."""
        half_width = self.interval.half_width
        return format_interval(metric.factor * self.interval.mean, half_width and metric.factor * half_width)

    def overlaps(self, other: _Found) -> bool:
        """True if the intervals overlap; without intervals, if the means are equal."""
        return not disjoint(self.interval, other.interval)


def disjoint(one: Interval, other: Interval) -> bool:
    """True if two intervals do not overlap."""
    return abs(one.mean - other.mean) > one.slack + other.slack


Measured = Mapping[str, Mapping[str, Interval]]
"""Means by queue (or point of a sweep) and by column of `runs_frame`."""


def means_of(documents: Mapping[str, Json]) -> Measured:
    """Means by queue, from the result documents of one scenario."""
    return {queue: estimates(document["runs"]) for queue, document in documents.items()}


def sentences(found: Measured) -> list[str]:
    """At most one sentence per measure: the best queue, its lead, and the queues whose intervals overlap with it."""
    return [_sentence(words, metric, list(ranked.values())) for words, metric, ranked in _measures(found) if ranked]


def _measures(found: Measured) -> list[tuple[str, Metric, dict[str, _Found]]]:
    """For each measure of the sentences: its name in words, the metric, and each queue's value, best queue first."""
    measures = []
    for words, metric in ((words, metric_of(column)) for column, words in MEASURES.items()):
        worst = (_worst(queue, columns, metric) for queue, columns in found.items())
        ranked = sorted((one for one in worst if one), key=lambda one: metric.sign * one.interval.mean)
        measures.append((words, metric, {one.queue: one for one in ranked}))
    return measures


def _worst(queue: str, columns: Mapping[str, Interval], metric: Metric) -> _Found | None:
    """Value of the worst group or of the first link; None if there is none."""
    known = [(column, one) for column, one in columns.items() if column.partition(".")[0] == metric.name]
    if not known:
        return None
    of_links = metric.scope == "link"
    column, worst = known[0] if of_links else max(known, key=lambda one: metric.sign * one[1].mean)
    where = "" if of_links and len(known) == 1 else name(column.partition(".")[2])
    return _Found(queue, where, with_bin(worst) if metric.is_quantile else worst)


def _sentence(words: str, metric: Metric, ranked: Sequence[_Found]) -> str:
    begin = words[0].upper() + words[1:]
    is_single = any(one.interval.half_width is None for one in ranked)
    doubt = " Single runs have no intervals, so this may be chance." if is_single and len(ranked) > 1 else ""
    if len(ranked) == 1:
        return f"{begin}: {ranked[0].text(metric)}."
    best, last = _apart(metric, ranked) or (ranked[0], ranked[-1])
    if best.overlaps(last):
        return (
            f"{begin}: no difference beyond the intervals, {best.text(metric)} under {display_name(best.queue)} and "
            f"{last.text(metric)} under {display_name(last.queue)}.{doubt}"
        )
    is_best = best is ranked[0]
    gap = format_number(metric.factor * abs(best.interval.mean - last.interval.mean), 2)
    more = "more" if metric.better == "high" else "less"
    points = metric.suffix.replace("%", "point" if gap == "1" else "points")
    close = [one.queue for one in ranked if one is not best and one.overlaps(best)]
    overlap = f"; the intervals of {_listed(close)} overlap it" if close else ""
    by = " ".join(filter(None, [gap, points, more]))
    return (
        f"{begin}: {display_name(best.queue)} is {'best' if is_best else 'better'} ({best.text(metric)}), {by}"
        f" than {display_name(last.queue)} ({last.text(metric)}){overlap}.{doubt}"
    )


def _apart(metric: Metric, ranked: Sequence[_Found]) -> tuple[_Found, _Found] | None:
    """The best queue and the worst queue that differs from it; else two other queues that differ; else None."""
    for one in reversed(ranked):
        if not one.overlaps(ranked[0]):
            return ranked[0], one
    better = min(ranked, key=lambda one: metric.sign * one.interval.mean + one.interval.slack)
    worse = max(ranked, key=lambda one: metric.sign * one.interval.mean - one.interval.slack)
    return None if better.overlaps(worse) else (better, worse)


def _listed(queues: Sequence[str]) -> str:
    shown = [display_name(queue) for queue in queues[:MOST_NAMES]]
    if len(queues) > MOST_NAMES:
        shown.append(f"{len(queues) - MOST_NAMES} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _space(metric: Metric) -> str:
    return " " if metric.suffix else ""


@dataclass(frozen=True)
class Differences:
    """The metrics in which queues differ.

    Attributes:
        table: A row per metric and group, a column per queue; for many queues, a row per queue.
        alike: Main metrics in which no two queues differ.
        left_out: Description of differences that do not fit into the table.
    """

    table: Table
    alike: Sequence[str]
    left_out: str


def differences(found: Measured, *, everything: bool = False) -> Differences:
    """Metrics that differ between queues; for many queues, the measures of the sentences.

    With `everything`, all metrics.
    """
    if len(found) > SIDE_BY_SIDE and not everything:
        return _of_many(found)
    known = shown_columns(found)
    main = [column for wanted in MAIN for column in known if column.partition(".")[0] == wanted]
    differ = [column for column in known if _differs([one[column] for one in found.values() if column in one])]
    columns = known if everything else [column for column in main if column in differ][:MOST_ROWS]
    heads = {column: head(column, known, long=everything) for column in known}
    table = Table(["", *found], keys=1)
    for column in columns:
        show = _cell if everything else _short
        table.add_row(heads[column], *(show(metric_of(column), one.get(column)) for one in found.values()))
    more = len(set(differ) - set(columns))
    return Differences(
        table, [heads[column] for column in main if column not in differ], f"{more} more metrics differ" if more else ""
    )


def shown_columns(found: Measured) -> list[str]:
    """The columns that people see, except readings of the state of a queue."""
    return [
        column
        for column in dict.fromkeys(itertools.chain.from_iterable(found.values()))
        if set(metric_of(column).shown) - {"columns"} and not column.startswith("state_")
    ]


def _of_many(found: Measured) -> Differences:
    """A row for each queue, the fairest first."""
    measures = _measures(found)
    order = dict.fromkeys([*measures[0][2], *found])
    heads = [words.partition(" (")[::2] for words, _, _ in measures]
    table = Table(["queue", *((words, f"({aside}" if aside else "") for words, aside in heads)], keys=1)
    for queue in list(order)[:MOST_QUEUES]:
        table.add_row(queue, *(of[queue].text(metric) if queue in of else "" for _, metric, of in measures))
    more = len(order) - MOST_QUEUES
    return Differences(table, [], f"{more} more queues" if more > 0 else "")


def _differs(intervals: Sequence[Interval]) -> bool:
    """True if any two intervals are disjoint. Comparing the smallest upper with the greatest lower end suffices."""
    if len(intervals) < 2 or any(one.half_width is None for one in intervals):
        return False
    return max(one.mean - one.slack for one in intervals) > min(one.mean + one.slack for one in intervals)


def _cell(metric: Metric, found: Interval | None) -> str:
    return cell(metric, found.document() if found else None)


def _short(metric: Metric, found: Interval | None) -> str:
    """Mean and half width with at most three decimals, so that three queues fit into 80 columns."""
    if found is None:
        return ""
    shown = with_bin(found) if metric.is_quantile else found
    mean, half_width = metric.factor * shown.mean, round(metric.factor * shown.slack, 3)
    return format_interval(mean, half_width, digits=4 if abs(mean) >= 1 else 3)


def head(column: str, known: Sequence[str], *, long: bool) -> str:
    """Heading of a column's metric with its unit, after its group, link or class.

    Leaves out a link or class if it is the only one.
    """
    metric = metric_of(column)
    alike = [other.split(".") for other in known if metric_of(other) is metric]
    subjects = [
        part
        for place, part in enumerate(column.split("."))
        if place and (metric.scope == "group" or len({*(tuple(other[place : place + 1]) for other in alike)}) > 1)
    ]
    return " ".join([*map(name, subjects), metric.label if long else metric.head])
