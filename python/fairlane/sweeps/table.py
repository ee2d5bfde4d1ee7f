"""The table of a sweep, with a row per point, for terminal, notebook and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairlane.results.metrics import metric_of
from fairlane.results.names import display_name
from fairlane.results.table import Table, cell
from fairlane.sweeps.words import SCHEME, Words

if TYPE_CHECKING:
    from fairlane.documents import SweepDocument

SHOWN = ("throughput_ratio", "utilisation", "queue_mean_packets")
"""Metrics of the table in addition to those of the stopping rule."""


def points_table(document: SweepDocument, targets: Sequence[str], *, paper: bool = False) -> Table:
    """Returns the table. A row has the point, its replications, the metrics of the stopping rule, and `SHOWN`."""
    points = document["points"]
    known = dict.fromkeys(metric for point in points for metric in point["metrics"])
    shown = [*targets, *(name for name in known if name.split(".")[0] in SHOWN and name not in targets)]
    words = Words(list(known))
    keys = [(words.of(key),) if paper else tuple(key.replace(".", ".\n").split("\n")) for key in points[0]["at"]]
    table = Table(["point", *keys, "n", *map(_head, shown)], keys=1 + len(keys))
    for point in points:
        n = str(point["replications"]) + ("" if point["narrow_enough"] is not False else " (too wide)")
        cells = (cell(metric_of(metric), point["metrics"].get(metric)) for metric in shown)
        at = [display_name(value) if paper and key == SCHEME else str(value) for key, value in point["at"].items()]
        table.add_row(str(point["point"]), *at, n, *cells)
    return table


def _head(column: str) -> tuple[str, ...]:
    metric = metric_of(column)
    return (metric.title, *column.split(".")[1:], *([f"({metric.suffix})"] if metric.suffix else []))
