"""Figures: style, files, and rows of schemes. Never opens a window."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, StrMethodFormatter

from fairlane.base.text import for_figure
from fairlane.results.intervals import Interval

# Okabe and Ito's palette without yellow, which is faint on white: distinguishable with all common kinds of colour
# vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":", "-.")
PAPER_GREY = "0.8"
SIZE_IN = (6.4, 4.4)
COLUMN_IN = 3.5
"""Width of a column of IEEE's and ACM's papers, within 0.2 in."""
MOST_COLUMN_HEIGHT_IN = 9.0
MOST_TALL_PANELS = 16
"""In a column; more have room for few numbers only."""
COLUMN_FONT = 7.5
"""Size in points of all that is written in a figure of that width."""
_HANDLE_IN, _LETTER_IN, _ENTRY_IN = 0.45, 0.06, 0.18
"""Size of a legend entry: its line with the space around it, each letter, and its height."""
ROW_IN = 0.24
"""Size of a figure with a row for each scheme."""

_WITHOUT: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Metadata of files that would differ from one time to the next, or from one version of a library to another."""

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


class Drawn(Figure):
    """A figure that a notebook shows.

    Attributes:
        descriptions: Tooltips of parts of an SVG, by id.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.descriptions: dict[str, str] = {}

    def describe(self, part: Artist, words: str) -> None:
        """Adds a tooltip to a part."""
        part.set_gid(f"described-{len(self.descriptions)}")
        self.descriptions[str(part.get_gid())] = words

    def _repr_png_(self) -> bytes:
        return as_bytes(self, ".png")


@contextmanager
def figure(title: str, subtitle: str, size_in: tuple[float, float] = SIZE_IN) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one pair of axes in the common style."""
    with mpl.rc_context(STYLE):
        drawn = Drawn(figsize=size_in, layout="constrained")
        axes = drawn.subplots()
        drawn.suptitle(title, fontsize=11, x=0.01, ha="left", wrap=True)
        set_subtitle(axes, subtitle)
        yield drawn, axes


def set_subtitle(axes: Axes, text: str) -> None:
    """Writes above the axes, below the title."""
    axes.set_title(text, loc="left", color="0.35", fontsize=9)


def error_bars(axes: Axes, places: Sequence[float], means: Sequence[Interval], **style: Any) -> None:
    """Draws means with their intervals."""
    heights, slacks = [mean.mean for mean in means], [mean.slack for mean in means]
    axes.errorbar(places, heights, yerr=slacks, capsize=2, **style)


def logarithmic(axes: Axes, name: Literal["x", "y"], ticks: Sequence[float]) -> None:
    """Makes an axis logarithmic, with plain numbers at the given ticks."""
    axes.set(**{f"{name}scale": "log"})
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def legend(drawn: Figure, axes: Axes, most_columns: int = 3) -> int:
    """Puts the legend below the axes, where it hides nothing, and gives its number of rows."""
    entries = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if not entries:
        return 0
    columns = min(most_columns if max(map(len, entries)) < 30 else most_columns - 1, len(entries))
    drawn.legend(entries.values(), entries, loc="outside lower center", ncols=columns, frameon=False)
    return math.ceil(len(entries) / columns)


def for_column(drawn: Figure) -> None:
    """Makes a figure as wide as a paper column, which has a caption instead of titles."""
    width_in, height_in = drawn.get_size_inches()
    height_in *= max(COLUMN_IN / width_in, 0.7)
    drawn.suptitle("")
    for axes in drawn.axes:
        if len(drawn.axes) == 1:
            set_subtitle(axes, "")
        axes.tick_params(labelsize=COLUMN_FONT)
        if len(drawn.axes) > MOST_TALL_PANELS:
            axes.yaxis.set_major_locator(MaxNLocator(2))
        for line in axes.lines:
            line.set(linewidth=1.0, markersize=3)
    for wide in drawn.legends:
        wide.remove()
        entries = dict(zip(*reversed(drawn.axes[0].get_legend_handles_labels()), strict=True))
        columns = max(1, int(COLUMN_IN / (_HANDLE_IN + _LETTER_IN * max(map(len, entries)))))
        height_in += _ENTRY_IN * (math.ceil(len(entries) / columns) - 1)
        drawn.legend(
            entries.values(), entries, loc="outside lower center", ncols=min(columns, len(entries)), frameon=False
        )
    drawn.set_size_inches(COLUMN_IN, min(height_in, MOST_COLUMN_HEIGHT_IN))
    for text in drawn.findobj(Text):
        text.set_fontsize(min(float(text.get_fontsize()), COLUMN_FONT))


def save(drawn: Figure, stem: Path, suffixes: Sequence[str] = (".png", ".svg")) -> None:
    """Writes `stem`.png and `stem`.svg; the same figure gives the same bytes."""
    for suffix in suffixes:
        file = stem.with_name(stem.name + suffix)
        try:
            _save(drawn, file, suffix)
        except OSError as error:
            error.filename = error.filename or str(file)  # what was written of it is gone
            raise


def as_bytes(drawn: Figure, suffix: str) -> bytes:
    """The content of the file that `save` would write."""
    content = io.BytesIO()
    _save(drawn, content, suffix)
    return content.getvalue()


def _save(drawn: Figure, to: Path | io.BytesIO, suffix: str) -> None:
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # A name may have characters that the font lacks; boxes stand for them.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
        drawn.savefig(to, format=suffix.removeprefix("."), metadata=_WITHOUT[suffix])


def rows_of_schemes(
    title: str,
    schemes: Sequence[str],
    panels: Mapping[str, Sequence[tuple[float, float | None] | None]],
    columns: int = 4,
) -> Figure:
    """A row for each scheme, a panel for each measure: its mean and half width by scheme. It grows with the schemes."""
    rows = math.ceil(len(panels) / columns)
    places = range(len(schemes))
    with mpl.rc_context(STYLE):
        size_in = 0.9 + 1.8 * columns, 0.4 + rows * (0.8 + ROW_IN * len(schemes))
        drawn = Drawn(figsize=size_in, layout="constrained")
        grid = list(drawn.subplots(rows, columns, sharey=True, squeeze=False).flat)
        for unused in grid[len(panels) :]:
            unused.remove()
        drawn.suptitle(title, fontsize=11, x=0.01, ha="left")
        for number, (axes, (measure, estimates)) in enumerate(zip(grid, panels.items(), strict=False)):
            axes.errorbar(
                [estimate[0] if estimate else math.nan for estimate in estimates],
                places,
                xerr=[(estimate[1] or 0.0) if estimate else 0.0 for estimate in estimates],
                fmt="o",
                color=COLOURS[number % len(COLOURS)],
                capsize=2,
            )
            axes.set(xlabel=measure)
            axes.margins(y=0.6 / len(schemes))
            axes.xaxis.set_major_locator(MaxNLocator(3))
        grid[0].set_yticks(places, list(map(for_figure, schemes)))
        grid[0].invert_yaxis()
    return drawn
