"""The page of `fairlane sweep`: how the main metrics change with what varies, and all numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fairlane.report import figures
from fairlane.report.own_page import Head, OwnPage, Picture, Row, Table, stem_of
from fairlane.results import plots
from fairlane.results.intervals import format_interval, format_quantile, is_quantile
from fairlane.results.metrics import unit_of
from fairlane.sweeps.figure import draw, sizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairlane.documents import SweepDocument

MAIN = ("throughput_ratio", "jain_index", "utilisation", "queue_mean_packets", "delay_p99_s", "throughput_bps")
"""Metrics of the first table; the others are folded."""
DRAWN = MAIN[:-1]
_SCALED = {"bit/s": ("Mbit/s", 1e-6), "s": ("ms", 1e3)}
_ENDS = ("_bps", "_packets", "_s")
MEANS = "Means ± half width of the 95% interval over the runs of a point."


def of_sweep(document: SweepDocument) -> OwnPage:
    """The page of a document of `fairlane sweep`."""
    points = document["points"]
    known = list(dict.fromkeys(metric for point in points for metric in point["metrics"]))
    main = [metric for quantity in MAIN for metric in known if metric.partition(".")[0] == quantity]
    drawn = [metric for metric in main if metric.partition(".")[0] in DRAWN]
    runs = sorted({point["replications"] for point in points})
    return OwnPage(
        stem=stem_of("sweep", document["name"]),
        tab=document["name"],
        title=document["name"],
        lead=f"A sweep of {len(points)} points over {', '.join(points[0]['at'])}.",
        notes=document["notes"],
        pictures=[_picture(document, metric) for metric in drawn],
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
    title = head(metric)[:1].upper() + head(metric)[1:]

    def narrow() -> Figure:
        drawn = draw(document, metric)
        plots.for_column(drawn)
        return drawn

    return Picture(
        stem=f"-{metric.replace('.', '-').replace('/', '-')}",
        title=title,
        caption=f"{title}. Bars are 95% intervals over the runs of a point.",
        words=figures.describe(draw(document, metric)),
        wide=partial(draw, document, metric),
        narrow=narrow,
    )


def _table(document: SweepDocument, stem: str, title: str, metrics: Sequence[str], *, folded: bool = False) -> Table:
    """A row for each point."""
    points = document["points"]
    keys = list(points[0]["at"])
    by_key = {key: sizes([point["at"][key] for point in points]) for key in keys}
    rows = [
        Row(
            [_text(point["at"][key]) for key in keys],
            [_cell(point["metrics"].get(metric), metric) for metric in metrics],
            [by_key[key][index] if by_key[key] else None for key in keys],
        )
        for index, point in enumerate(points)
    ]
    return Table(stem, title, MEANS, keys, [Head(head(metric)) for metric in metrics], rows, folded)


def head(metric: str) -> str:
    """A metric in words with its unit: `delay_p99_s.best_effort` is `delay p99, best_effort (ms)`."""
    quantity, _, of = metric.partition(".")
    unit = unit_of(metric)
    words = next((quantity.removesuffix(end) for end in _ENDS if quantity.endswith(end)), quantity).replace("_", " ")
    shown = _SCALED.get(unit or "", (unit, 1.0))[0]
    return f"{words}{f', {of}' if of else ''}{f' ({shown})' if shown and shown != '1' else ''}"


def _cell(estimate: Mapping[str, Any] | None, metric: str) -> str:
    if estimate is None:
        return "–"
    factor = _SCALED.get(unit_of(metric) or "", ("", 1.0))[1]
    half_width = estimate["half_width"]
    shown = format_quantile if is_quantile(metric) else format_interval
    return shown(factor * estimate["mean"], None if half_width is None else factor * half_width)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
