"""Style and files of figures, and figures with a row per scheme. This module never opens a window."""

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
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, StrMethodFormatter

from fairlane.base.text import for_figure
from fairlane.results.intervals import Interval
from fairlane.results.names import display_name, position

# Okabe and Ito's palette, whose colours remain distinct with common kinds of colour blindness. Its yellow is left out,
# since it is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
FIRST = ("abc", "fq_codel", "cake", "codel", "pie", "dualpi2", "droptail")
"""Most frequently compared schemes; each has the colour at the same index of `COLOURS`."""
GROUP_COLOURS = ("#332288", "#CC6677", "#117733", "#88CCEE", "#AA4499", "#999933", "#44AA99")
"""Colours of groups that share axes, from Tol's muted palette; no scheme has one of them."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":", "-.")
PAPER_GREY = "0.8"
INK = "0.25"
"""Grey of marks that need no colour, since their row or panel says what they are."""
SIZE_IN = (6.4, 4.4)
COLUMN_IN = 3.5
"""Width in inches of a figure for one column. Columns in papers of IEEE and ACM differ from it by at most 0.2 in."""
MOST_COLUMN_HEIGHT_IN = 9.0
MOST_TALL_PANELS = 16
"""Maximum number of panels of normal height in a paper column. More panels are lower and have fewer tick labels."""
BOTH_COLUMNS_IN = 7.16
"""Width of both columns of a page, in inches."""
LEAST_FONT, COLUMN_FONT = 6.5, 7.5
"""Smallest and normal font size in points in a figure one paper column wide."""
_HANDLE_IN, _LETTER_IN, _ENTRY_IN = 0.45, 0.06, 0.18
"""Size of a legend entry in inches: width of its line with padding, width of a letter, height."""
MARK_AREA = 22
"""Area of the marker of a mean, in square points."""
LABEL_CHARACTERS = 20
"""Characters in a line below a panel."""
NARROW_COLUMNS, NARROW_CHARACTERS = 3, 13
"""With three panels side by side in a paper column, lines of labels have at most this number of characters."""
HEADROOM = 1.05
"""End of an axis that begins at zero, divided by the greatest value."""
ROW_IN = 0.24
"""Height of a scheme's row, in inches."""

_WITHOUT: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Metadata to omit, by suffix: it would differ between runs, or between versions of a library."""

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
    """A figure that a notebook displays.

    Attributes:
        descriptions: Tooltips of parts of an SVG, by id.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.descriptions: dict[str, str] = {}
        self._lays_out = False

    def describe(self, part: Artist, words: str) -> None:
        """Adds a tooltip to a part."""
        part.set_gid(f"described-{len(self.descriptions)}")
        self.descriptions[str(part.get_gid())] = words

    def savefig(self, *args: Any, **options: Any) -> None:
        """Writes a file as matplotlib does, with the fonts of the common style."""
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            # A name may contain characters that the font lacks; they are drawn as boxes.
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
            self._lays_out = self.get_layout_engine() is not None
            super().savefig(*args, **options)

    def draw(self, renderer: RendererBase) -> None:
        """Draws. For a file, matplotlib first draws without output, for the layout only, so this skips the drawing."""
        engine = self.get_layout_engine()
        if self._lays_out and engine:
            self._lays_out = False
            engine.execute(self)
        else:
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        return as_bytes(self, ".png")


def colours_of(queues: Iterable[str] | Mapping[str, str]) -> dict[str, str]:
    """Maps each queue to the colour of its scheme.

    The colour is the same in every figure, unless an earlier scheme of the figure has it. A mapping `queues` gives the
    scheme of each label. Further variants of a scheme have other colours.
    """
    schemes = dict(queues) if isinstance(queues, Mapping) else {queue: queue.partition(":")[0] for queue in queues}

    def own(scheme: str) -> int:
        if scheme in FIRST:
            return FIRST.index(scheme)
        place = position(scheme)
        return zlib.crc32(scheme.encode()) if place is None else place

    def rank(queue: str) -> tuple[bool, bool, int, bool]:
        scheme = schemes[queue]
        return scheme not in FIRST, position(scheme) is None, own(scheme), queue != scheme

    order = sorted(schemes, key=rank)
    first = {schemes[queue]: queue for queue in reversed(order)}
    found: dict[str, str] = {}
    for queue in sorted(order, key=lambda queue: queue not in first.values()):
        start = own(schemes[queue]) % len(COLOURS)
        wanted = [*COLOURS[start:], *COLOURS[:start]]
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
    """A figure with several axes in the common style, row by row; `shared` is passed to `subplots` (`sharey`)."""
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
    """Writes titles of panels, and labels below the lowest panels, in lines of at most `letters` characters."""
    for axes, name in zip(grid, names, strict=True):
        axes.set_title(textwrap.fill(name, letters, break_on_hyphens=False), loc="left", fontsize=9)
    for lowest in grid[-columns:]:
        lowest.tick_params(labelbottom=True)
        lowest.set_xlabel(textwrap.fill(across, letters))


def error_bars(axes: Axes, places: Sequence[float], means: Sequence[Interval], **style: Any) -> None:
    """Draws means with their intervals."""
    heights, slacks = [mean.mean for mean in means], [mean.slack for mean in means]
    axes.errorbar(places, heights, yerr=slacks, capsize=2, **style)


def bars(
    axes: Axes,
    groups: Sequence[str],
    series: Sequence[tuple[str, str, Sequence[tuple[float, float | None]]]],
    fair: float | None = None,
) -> None:
    """Draws a bar per group for each label and colour, with its mean and half width, and a line at the fair value."""
    width = 0.8 / len(series)
    for number, (label, colour, estimates) in enumerate(series):
        means, half_widths = zip(*estimates, strict=True)
        axes.bar(
            [index + (number - (len(series) - 1) / 2) * width for index in range(len(groups))],
            means,
            0.9 * width,
            yerr=[half_width or 0 for half_width in half_widths],
            capsize=3,
            color=colour,
            ecolor="0.45",
            label=label,
        )
    if fair is not None:
        axes.axhline(fair, color="0.4", linewidth=1, linestyle="--")
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(visible=False, axis="x")


def from_zero(axes: Sequence[Axes], name: Literal["x", "y"]) -> None:
    """Begins an axis of all panels at zero and ends it above the greatest value, so that no mark is cut."""
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
    """Number of columns (at most `most`) with the fewest rows and the fewest empty cells."""
    return math.ceil(count / math.ceil(count / most))


def logarithmic(axes: Axes, name: Literal["x", "y"], ticks: Sequence[float], base: int = 10) -> None:
    """Makes an axis logarithmic, with plain numbers at the given ticks."""
    (axes.set_xscale if name == "x" else axes.set_yscale)("log", base=base)
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def legend(drawn: Figure, axes: Axes, most_columns: int = 3) -> int:
    """Puts the legend below the axes, where it hides nothing, and returns its number of rows."""
    entries = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if not entries:
        return 0
    return _legend(drawn, entries, most_columns if max(map(len, entries)) < 30 else most_columns - 1)


def _legend(drawn: Figure, entries: Mapping[str, Any], most_columns: int) -> int:
    """Draws the legend with rows as even as possible; returns the number of rows."""
    rows = math.ceil(len(entries) / most_columns)
    columns = math.ceil(len(entries) / rows)
    drawn.legend(entries.values(), entries, loc="outside lower center", ncols=columns, frameon=False)
    return rows


def for_column(drawn: Figure) -> None:
    """Makes a figure one paper column wide and removes titles, since papers have captions."""
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
        text.set_fontsize(max(LEAST_FONT, min(float(text.get_fontsize()), COLUMN_FONT)))


def save(drawn: Figure, stem: Path, suffixes: Sequence[str] = (".png", ".svg")) -> None:
    """Writes `stem`.png and `stem`.svg; the same figure gives the same bytes."""
    for suffix in suffixes:
        file = stem.with_name(stem.name + suffix)
        try:
            _save(drawn, file, suffix)
        except OSError as error:
            error.filename = error.filename or str(file)  # an incomplete file has been removed
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
    schemes: Mapping[str, str],
    panels_by_name: Mapping[str, Sequence[tuple[float, float | None] | None]],
    columns: int = 4,
    metrics: Sequence[str] = (),
) -> Figure:
    """Means and half widths: a row per scheme, a panel per measure. The height grows with the number of schemes.

    `schemes` maps labels to schemes. `metrics` has the metric of each panel; panels of the same metric have equal axes.
    Without `metrics`, all axes differ.
    """
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
            axes.xaxis.set_major_locator(MaxNLocator(3))
        of_metric: dict[str, list[Axes]] = {}
        for axes, metric in zip(grid, metrics or panels_by_name, strict=True):
            of_metric.setdefault(metric, []).append(axes)
        for equal in of_metric.values():
            from_zero(equal, "x")
        grid[0].set_yticks(places, [for_figure(display_name(scheme)) for scheme in schemes])
        grid[0].invert_yaxis()
    return drawn
