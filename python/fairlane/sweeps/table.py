"""The table of a sweep, with a row per point, for terminal, notebook and files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from fairlane.results.answers import MEASURES, head
from fairlane.results.metrics import metric_of
from fairlane.results.names import display_name
from fairlane.results.table import Table, cell
from fairlane.sweeps.words import SCHEME, Words

if TYPE_CHECKING:
    from fairlane.documents import SweepDocument, SweepPoint

SHOWN = ("throughput_ratio", "utilisation", "queue_mean_packets")
"""Metrics of the table in addition to those of the stopping rule."""


def points_table(document: SweepDocument, targets: Sequence[str]) -> Table:
    """Returns the table. A row has the point, its replications, the metrics of the stopping rule, and `SHOWN`."""
    points = document["points"]
    known = _known(document)
    shown = [*targets, *(name for name in known if name.split(".")[0] in SHOWN and name not in targets)]
    keys = [tuple(key.replace(".", ".\n").split("\n")) for key in points[0]["at"]]
    table = Table(["point", *keys, "n", *map(_head, shown)], keys=1 + len(keys))
    for point in points:
        cells = (cell(metric_of(metric), point["metrics"].get(metric)) for metric in shown)
        table.add_row(str(point["point"]), *map(str, point["at"].values()), _runs(point), *cells)
    return table


def paper_table(document: SweepDocument, targets: Sequence[str]) -> Table:
    """Returns the table for a paper: a row per point and group, with `MEASURES` and metrics of the stopping rule."""
    points = document["points"]
    known = _known(document)
    words = Words(known)
    measures = [name for name in known if metric_of(name).name in MEASURES]
    by_group = [name.partition(".")[::2] for name in measures if metric_of(name).scope == "group"]
    of_group = dict.fromkeys(name for name, _ in by_group)
    groups = list(dict.fromkeys(group for _, group in by_group)) or [""]
    others = dict.fromkeys([*(name for name in measures if metric_of(name).scope != "group"), *targets])
    several = len(groups) > 1
    labels = [*(metric_of(name).label for name in of_group), *(head(name, known, long=True) for name in others)]
    heads = [*(words.of(key) for key in points[0]["at"]), *(["group"] if several else [])]
    table = Table([*heads, *labels, "runs"], keys=len(heads))
    for point, group in product(points, groups):
        at = [display_name(value) if key == SCHEME else str(value) for key, value in point["at"].items()]
        shown = [*(f"{name}.{group}" for name in of_group), *others]
        cells = (cell(metric_of(metric), point["metrics"].get(metric)) for metric in shown)
        table.add_row(*at, *([group] if several else []), *cells, _runs(point))
    return table


def _known(document: SweepDocument) -> list[str]:
    return list(dict.fromkeys(metric for point in document["points"] for metric in point["metrics"]))


def _runs(point: SweepPoint) -> str:
    return str(point["replications"]) + ("" if point["narrow_enough"] is not False else " (too wide)")


def _head(column: str) -> tuple[str, ...]:
    metric = metric_of(column)
    return (metric.title, *column.split(".")[1:], *([f"({metric.suffix})"] if metric.suffix else []))
