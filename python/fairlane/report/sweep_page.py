"""The page of `fairlane sweep`: the main metrics over the varying keys, and all numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fairlane.report import figures
from fairlane.report.own_page import Head, OwnPage, Picture, Row, Table, stem_of
from fairlane.results.answers import sentences
from fairlane.results.intervals import Interval
from fairlane.results.metrics import label_of, metric_of
from fairlane.results.names import display_name
from fairlane.results.table import cell
from fairlane.sweeps.figure import draw, sizes
from fairlane.sweeps.words import SCHEME, Words

if TYPE_CHECKING:
    from fairlane.documents import SweepDocument, SweepPoint

MAIN = ("throughput_ratio", "jain_index", "utilisation", "queue_mean_packets", "delay_p99_s", "throughput_bps")
"""Metrics of the first table; the other tables are collapsed."""
DRAWN = MAIN[:-1]
FIRST = ("normalised_throughput", "one_way_delay_p99_s")
"""Metrics of the two main figures: shares and delays of all groups."""
MEANS = "Means ± half width of the 95% interval over the runs of a point."


def of_sweep(document: SweepDocument) -> OwnPage:
    """The page of a document of `fairlane sweep`."""
    points = document["points"]
    known = list(dict.fromkeys(metric for point in points for metric in point["metrics"]))
    main = [metric for quantity in MAIN for metric in known if metric.partition(".")[0] == quantity]
    drawn = [metric for metric in main if metric.partition(".")[0] in DRAWN]
    first = [metric for metric in FIRST if any(one.startswith(f"{metric}.") for one in known)]
    words = Words(known)
    runs = sorted({point["replications"] for point in points})
    return OwnPage(
        stem=stem_of("sweep", document["name"]),
        tab=document["name"],
        title=document["name"],
        lead=f"A sweep of {len(points)} points over {', '.join(points[0]['at'])}.",
        answers=sentences({_name(point["at"], words): _intervals(point) for point in points}),
        notes=document["notes"],
        pictures=[_picture(document, metric) for metric in (*first, *drawn)],
        tables=[
            _table(document, "numbers", "Numbers", main),
            _table(document, "all", "All metrics", known, folded=True),
        ],
        facts=[
            ("points", str(len(points))),
            ("replications of each", " to ".join(map(str, dict.fromkeys((runs[0], runs[-1]))))),
            ("runs", str(document["runs"])),
            ("confidence of intervals", f"{document['confidence']:.0%}"),
            ("version", f"fairlane {document['version']}"),
        ],
    )


def _picture(document: SweepDocument, metric: str) -> Picture:
    title = label_of(metric)[:1].upper() + label_of(metric)[1:]
    return Picture(
        stem=f"-{metric.replace('.', '-').replace('/', '-')}",
        title=title,
        caption=f"{title}. Bars are 95% intervals over the runs of a point.",
        words=figures.describe(draw(document, metric)),
        wide=partial(draw, document, metric),
        narrow=partial(draw, document, metric, column=True),
    )


def _table(document: SweepDocument, stem: str, title: str, metrics: Sequence[str], *, folded: bool = False) -> Table:
    """A row for each point."""
    points = document["points"]
    keys = list(points[0]["at"])
    by_key = {key: sizes([point["at"][key] for point in points]) for key in keys}
    rows = [
        Row(
            [_text(point["at"][key]) for key in keys],
            [cell(metric_of(metric), point["metrics"].get(metric)) or "–" for metric in metrics],
            [by_key[key][index] if by_key[key] else None for key in keys],
        )
        for index, point in enumerate(points)
    ]
    return Table(stem, title, MEANS, keys, [Head(label_of(metric)) for metric in metrics], rows, folded)


def _name(at: Mapping[str, Any], words: Words) -> str:
    """Description of a point for sentences."""
    keys = [key for key in at if key != SCHEME]
    others = " and ".join(f"{words.short(key, keys)} {_text(at[key])}" for key in keys)
    scheme = display_name(at[SCHEME]) if SCHEME in at else ""
    return " with ".join(filter(None, [scheme, others]))


def _intervals(point: SweepPoint) -> dict[str, Interval]:
    return {metric: Interval(one["mean"], one["half_width"], one["n"]) for metric, one in point["metrics"].items()}


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
