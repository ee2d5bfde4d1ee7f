"""Figures: style, files, and the pictures that `run` and `compare` write. Never opens a window."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlane.intervals import interval
from fairlane.results import Result
from fairlane.text import for_figure

# Okabe and Ito's palette without yellow, which is faint on white: tells apart for all common kinds of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":", "-.")
PAPER_GREY = "0.8"

STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "legend.fontsize": 9,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "savefig.dpi": 150,
    "svg.hashsalt": "fairlane",
}


@contextmanager
def figure(title: str, subtitle: str, size_in: tuple[float, float] = (6.4, 4.4)) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one pair of axes in the common style."""
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=size_in, layout="constrained")
        axes = drawn.subplots()
        drawn.suptitle(title, fontsize=11, x=0.01, ha="left", wrap=True)
        set_subtitle(axes, subtitle)
        yield drawn, axes


def set_subtitle(axes: Axes, text: str) -> None:
    """Writes above the axes, below the title."""
    axes.set_title(text, loc="left", color="0.35", fontsize=9)


def legend(drawn: Figure, axes: Axes, most_columns: int = 3) -> int:
    """Puts the legend below the axes, where it hides nothing, and gives its number of rows."""
    entries = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if not entries:
        return 0
    columns = min(most_columns if max(map(len, entries)) < 30 else most_columns - 1, len(entries))
    drawn.legend(entries.values(), entries, loc="outside lower center", ncols=columns, frameon=False)
    return math.ceil(len(entries) / columns)


def save(drawn: Figure, stem: Path, suffixes: Sequence[str] = (".png", ".svg")) -> None:
    """Writes `stem`.png and `stem`.svg; the same figure gives the same bytes."""
    without = {".png": {"Software": None}, ".svg": {"Date": None}}
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # A name may have characters that the font lacks; boxes stand for them.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
        for suffix in suffixes:
            file = stem.with_name(stem.name + suffix)
            try:
                drawn.savefig(file, metadata=without[suffix])
            except OSError as error:
                error.filename = error.filename or str(file)  # what was written of it is gone
                raise


def result_figures(results: Sequence[Result]) -> dict[str, Figure]:
    """Throughput of users, queue length, and, where there are series, rate and queue over time; by file name."""
    figures = {"throughput": _throughput(results), "queue": _queue(results)}
    if any(run["series"] for result in results for run in result.runs):
        figures |= {"rate-over-time": _rates(results), "queue-over-time": _queue_over_time(results)}
    return figures


def _throughput(results: Sequence[Result]) -> Figure:
    with figure(_title(results, "throughput of a user"), _subtitle(results, "bars: 95% intervals")) as (
        drawn,
        axes,
    ):
        groups = [for_figure(group["name"]) for group in results[0].scenario["groups"]]
        width = 0.8 / len(results)
        for number, result in enumerate(results):
            summaries = result.summary["groups"]
            places = [index + (number - (len(results) - 1) / 2) * width for index in range(len(groups))]
            axes.bar(
                places,
                [summary["throughput_bps"]["mean"] / 1e6 for summary in summaries],
                0.9 * width,
                yerr=[(summary["throughput_bps"]["half_width"] or 0) / 1e6 for summary in summaries],
                capsize=3,
                color=COLOURS[number % len(COLOURS)],
                label=_queue_name(result),
            )
        axes.set_xticks(range(len(groups)), groups)
        axes.set(ylabel="mean throughput of a user (Mbit/s)", ylim=(0, None))
        axes.grid(visible=False, axis="x")
        legend(drawn, axes)
    return drawn


def _queue(results: Sequence[Result]) -> Figure:
    subtitle = _subtitle(results, "mean over the runs")
    with figure(_title(results, "waiting packets at the bottleneck"), subtitle) as (drawn, axes):
        for number, result in enumerate(results):
            parts = [_bottleneck(run)["queue"]["distribution"] for run in result.runs]
            mean = [sum(parts) / len(parts) for parts in itertools.zip_longest(*parts, fillvalue=0.0)]
            axes.plot(
                mean,
                MARKERS[number % len(MARKERS)] + "-",
                color=COLOURS[number % len(COLOURS)],
                label=_queue_name(result),
            )
        axes.set(xlabel="queue length (packets)", ylabel="fraction of time", ylim=(0, None))
        legend(drawn, axes)
    return drawn


def _rates(results: Sequence[Result]) -> Figure:
    with figure(_title(results, "rate of each group"), _subtitle(results, "mean over the runs")) as (
        drawn,
        axes,
    ):
        for number, result in enumerate(results):
            runs = result.runs
            for index, group in enumerate(runs[0]["series"]["groups"]):
                rates = [run["series"]["groups"][index]["rate_bps"] for run in runs]
                axes.plot(
                    _times(runs[0]),
                    [interval(values).mean / 1e6 for values in zip(*rates, strict=True)],
                    LINES[number % len(LINES)],
                    color=COLOURS[index % len(COLOURS)],
                    label=f"{_queue_name(result)}, {for_figure(group['name'])}",
                )
        axes.set(xlabel="time (s)", ylabel="metered rate of the group (Mbit/s)", ylim=(0, None))
        legend(drawn, axes)
    return drawn


def _queue_over_time(results: Sequence[Result]) -> Figure:
    subtitle = _subtitle(results, "mean over the runs")
    with figure(_title(results, "waiting packets at the bottleneck"), subtitle) as (drawn, axes):
        for number, result in enumerate(results):
            lengths = [run["series"]["queue_packets"] for run in result.runs]
            means = [interval(values).mean for values in zip(*lengths, strict=True)]
            colour = COLOURS[number % len(COLOURS)]
            axes.plot(_times(result.runs[0]), means, color=colour, label=_queue_name(result))
        axes.set(xlabel="time (s)", ylabel="mean queue length (packets)", ylim=(0, None))
        legend(drawn, axes)
    return drawn


def _times(run: dict[str, Any]) -> list[float]:
    series = run["series"]
    count = len(series["queue_packets"])
    return [series["start_s"] + (index + 1) * series["interval_s"] for index in range(count)]


def _bottleneck(run: dict[str, Any]) -> dict[str, Any]:
    bottleneck: dict[str, Any] = run["links"][0]
    return bottleneck


def _queue_name(result: Result) -> str:
    return for_figure(result.scenario["queue"]["scheme"])


def _title(results: Sequence[Result], what: str) -> str:
    return f"{for_figure(results[0].scenario['name'])}: {what}"


def _subtitle(results: Sequence[Result], what: str) -> str:
    count = len(results[0].runs_json)
    return f"{count} replication{'s' if count != 1 else ''}, {what}"
