"""Figures: style, files, and rows of schemes. Never opens a window."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from fairlane.results.names import display_name, position

# Okabe and Ito's palette without yellow, which is faint on white: distinguishable with all common kinds of colour
# vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
FIRST = ("abc", "fq_codel", "cake", "codel", "pie", "dualpi2", "droptail")
"""Schemes that are compared most: each has the colour at its position for itself."""
GROUP_COLOURS = ("#332288", "#CC6677", "#117733", "#88CCEE", "#AA4499", "#999933", "#44AA99")
"""Of groups where they share axes, from Tol's muted palette: none is that of a scheme."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":", "-.")
PAPER_GREY = "0.8"
INK = "0.25"
"""Of marks that are told apart by their row or panel."""
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
MARK_AREA = 22
"""Of a mean in a row, in square points."""
LABEL_CHARACTERS = 20
"""In a line below a panel."""
NARROW_COLUMNS, NARROW_CHARACTERS = 3, 13
"""The same where three panels share a column of a paper."""
HEADROOM = 1.05
"""End of an axis that begins at zero, over the greatest value."""
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
    # TrueType: IEEE and ACM reject the Type 3 fonts that are matplotlib's default.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-9, 12),
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

    def savefig(self, *args: Any, **options: Any) -> None:
        """Writes a file as matplotlib does, with the fonts of the common style."""
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            # A name may have characters that the font lacks; boxes stand for them.
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
            super().savefig(*args, **options)

    def _repr_png_(self) -> bytes:
        return as_bytes(self, ".png")


def colours_of(queues: Iterable[str]) -> dict[str, str]:
    """A colour for each queue: the same in every picture, unless an earlier scheme of the catalogue has it there."""

    def own(queue: str) -> int:
        if queue in FIRST:
            return FIRST.index(queue)
        place = position(queue)
        return zlib.crc32(queue.encode()) if place is None else place

    order = sorted(dict.fromkeys(queues), key=lambda queue: (queue not in FIRST, position(queue) is None, own(queue)))
    found: dict[str, str] = {}
    for queue in order:
        first = own(queue) % len(COLOURS)
        wanted = [*COLOURS[first:], *COLOURS[:first]]
        found[queue] = next((colour for colour in wanted if colour not in found.values()), wanted[0])
    return found


@contextmanager
def figure(title: str, subtitle: str, size_in: tuple[float, float] = SIZE_IN) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one pair of axes in the common style."""
    with panels(1, title, size_in=size_in) as (drawn, (axes,)):
        set_subtitle(axes, subtitle)
        yield drawn, axes


@contextmanager
def panels(
    count: int, title: str, columns: int = 1, size_in: tuple[float, float] = SIZE_IN, **shared: Any
) -> Iterator[tuple[Drawn, list[Axes]]]:
    """A figure with pairs of axes in the common style, row by row; `shared` is for `subplots`, such as `sharey`."""
    with mpl.rc_context(STYLE):
        drawn = Drawn(figsize=size_in, layout="constrained")
        grid = list(drawn.subplots(math.ceil(count / columns), columns, squeeze=False, **shared).flat)
        for unused in grid[count:]:
            unused.remove()
        drawn.suptitle(title, fontsize=11, x=0.01, ha="left", wrap=True)
        yield drawn, grid[:count]


def set_subtitle(axes: Axes, text: str) -> None:
    """Writes above the axes, below the title."""
    axes.set_title(text, loc="left", color="0.35", fontsize=9)


def label_panels(
    grid: Sequence[Axes], columns: int, names: Sequence[str], across: str, letters: int = LABEL_CHARACTERS
) -> None:
    """Titles of panels, and what their lowest ones have below them, in lines of at most `letters`."""
    for axes, name in zip(grid, names, strict=True):
        axes.set_title(textwrap.fill(name, letters, break_on_hyphens=False), loc="left", fontsize=9)
    for lowest in grid[-columns:]:
        lowest.tick_params(labelbottom=True)
        lowest.set_xlabel(textwrap.fill(across, letters))


def error_bars(axes: Axes, places: Sequence[float], means: Sequence[Interval], **style: Any) -> None:
    """Draws means with their intervals."""
    heights, slacks = [mean.mean for mean in means], [mean.slack for mean in means]
    axes.errorbar(places, heights, yerr=slacks, capsize=2, **style)


def from_zero(axes: Sequence[Axes], name: Literal["x", "y"]) -> None:
    """Begins an axis of all panels at zero and ends it beyond the greatest value of any, so that no mark is cut."""
    ends = [
        end
        for one in axes
        for end in (
            (one.get_xlim()[1], HEADROOM * one.dataLim.xmax)
            if name == "x"
            else (one.get_ylim()[1], HEADROOM * one.dataLim.ymax)
        )
    ]
    for one in axes:
        (one.set_xlim if name == "x" else one.set_ylim)(0, max(filter(math.isfinite, ends)))


def even_columns(count: int, most: int) -> int:
    """Number of columns of as few rows as possible, which leaves as few places empty as possible."""
    return math.ceil(count / math.ceil(count / most))


def logarithmic(axes: Axes, name: Literal["x", "y"], ticks: Sequence[float], base: int = 10) -> None:
    """Makes an axis logarithmic, with plain numbers at the given ticks."""
    (axes.set_xscale if name == "x" else axes.set_yscale)("log", base=base)
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def legend(drawn: Figure, axes: Axes, most_columns: int = 3) -> int:
    """Puts the legend below the axes, where it hides nothing, and gives its number of rows."""
    entries = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if not entries:
        return 0
    return _legend(drawn, entries, most_columns if max(map(len, entries)) < 30 else most_columns - 1)


def _legend(drawn: Figure, entries: Mapping[str, Any], most_columns: int) -> int:
    """Rows as even as they can be; gives their number."""
    rows = math.ceil(len(entries) / most_columns)
    columns = math.ceil(len(entries) / rows)
    drawn.legend(entries.values(), entries, loc="outside lower center", ncols=columns, frameon=False)
    return rows


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
        height_in += _ENTRY_IN * (_legend(drawn, entries, columns) - 1)
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
    drawn.savefig(to, format=suffix.removeprefix("."), metadata=_WITHOUT[suffix])


def rows_of_schemes(
    title: str,
    schemes: Sequence[str],
    panels_by_name: Mapping[str, Sequence[tuple[float, float | None] | None]],
    columns: int = 4,
) -> Figure:
    """A row for each scheme, a panel for each measure: its mean and half width by scheme. It grows with the schemes."""
    rows, places = math.ceil(len(panels_by_name) / columns), range(len(schemes))
    own = colours_of(schemes) if len(schemes) <= len(COLOURS) else dict.fromkeys(schemes, INK)
    colours = [own[scheme] for scheme in schemes]
    size_in = 0.9 + 1.8 * columns, 0.4 + rows * (0.8 + ROW_IN * len(schemes))
    with panels(len(panels_by_name), title, columns, size_in, sharey=True) as (drawn, grid):
        for axes, (measure, estimates) in zip(grid, panels_by_name.items(), strict=True):
            means, slacks = zip(
                *((one[0], one[1] or 0.0) if one else (math.nan, 0.0) for one in estimates), strict=True
            )
            low, high = ([mean + sign * slack for mean, slack in zip(means, slacks, strict=True)] for sign in (-1, 1))
            axes.hlines(places, low, high, colors=colours)
            axes.scatter(means, places, s=MARK_AREA, c=colours, zorder=2)
            axes.set(xlabel=textwrap.fill(measure, LABEL_CHARACTERS))
            axes.margins(y=0.6 / len(schemes))
            from_zero([axes], "x")
            axes.xaxis.set_major_locator(MaxNLocator(3))
        grid[0].set_yticks(places, [for_figure(display_name(scheme)) for scheme in schemes])
        grid[0].invert_yaxis()
    return drawn
