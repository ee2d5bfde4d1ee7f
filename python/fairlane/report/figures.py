"""Writes figures for pages: PNG, SVG with rules for dark mode, and text alternatives."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.container import BarContainer

from fairlane.results import plots
from fairlane.results.intervals import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLED = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")
_DESCRIBED = re.compile(r'<g id="(described-\d+)">')
_MATH = re.compile(r"\\mathrm|[${}\\]")

CSS_PX_PER_IN = 96
NARROW_IN = 4.1
NARROW_CHARACTERS = 56
"""Letters per line of the subtitle."""
NARROW_AXES_IN = 3.2
"""Height in inches of the axes in a figure for small screens."""
NARROW_ROW_IN = 0.19
"""Height in inches of a row of the legend in such a figure."""

DARK_PAPER = "#171b21"
DARK_INK = "#e8eaed"
_DARK_OF = {
    "#332288": "#9a8cf0",
    "#117733": "#4fb877",
    "#0072b2": "#56a9e0",
    "#d55e00": "#f08a3c",
    "#009e73": "#2fc79a",
    "#000000": DARK_INK,
    "#ffffff": DARK_PAPER,
}
"""Replacements in dark mode for colours with too little contrast. Greys are inverted; all other colours stay."""


@dataclass(frozen=True)
class Size:
    """Size of a figure in CSS px, so that the layout is stable while the page loads."""

    width: int
    height: int


def write(drawn: Figure, stem: Path, suffixes: Sequence[str] = (".png", ".svg")) -> Size:
    """Writes `stem` with the given suffixes; the SVG has rules for dark mode."""
    plots.save(drawn, stem, suffixes)
    file = stem.with_name(f"{stem.name}.svg")
    svg = follow_scheme(file.read_text(encoding="utf-8"))
    file.write_text(with_titles(svg, getattr(drawn, "descriptions", {})), encoding="utf-8")
    width, height = drawn.get_size_inches()
    return Size(round(width * CSS_PX_PER_IN), round(height * CSS_PX_PER_IN))


def write_narrow(drawn: Figure, stem: Path) -> Size:
    """Writes `stem`.svg for small screens: the same figure at a smaller size, so that its letters stay legible.

    Changes the size of `drawn`.
    """
    (axes,) = drawn.axes
    with mpl.rc_context(plots.STYLE):
        plots.set_subtitle(axes, textwrap.fill(axes.get_title(loc="left"), NARROW_CHARACTERS))
        for legend in drawn.legends[:]:
            legend.remove()
        rows = plots.legend(drawn, axes, most_columns=2)
        drawn.set_size_inches(NARROW_IN, NARROW_AXES_IN + NARROW_ROW_IN * rows)
    return write(drawn, stem, [".svg"])


def follow_scheme(svg: str) -> str:
    """Adds dark-mode rules to an SVG; programs that do not support these rules show the SVG unchanged."""
    rules = [
        f'[style*="{name}: {colour}"]{{{name}:{dark}!important}}'
        for name, colour in sorted(set(_STYLED.findall(svg)))
        if (dark := _dark(colour)) != colour
    ]
    style = f"<style>@media screen and (prefers-color-scheme: dark){{svg{{fill:{DARK_INK}}}{''.join(rules)}}}</style>"
    head, defs, rest = svg.partition("<defs>")
    return f"{head}{style}\n {defs}{rest}"


def with_titles(svg: str, descriptions: Mapping[str, str]) -> str:
    """Adds tooltips to parts of an SVG, by id. Tooltips also appear over parts without a fill."""

    def titled(found: re.Match[str]) -> str:
        words = html.escape(descriptions[found[1]], quote=False)
        return f'<g id="{found[1]}" pointer-events="all"><title>{words}</title>'

    return _DESCRIBED.sub(titled, svg) if descriptions else svg


def _dark(colour: str) -> str:
    if colour in _DARK_OF:
        return _DARK_OF[colour]
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    if red != green or green != blue:
        return colour
    # Maps a grey so that it differs from dark paper as much as it differed from white paper.
    grey = round(0x1B + (255 - red) / 255 * (0xE8 - 0x1B))
    return f"#{grey:02x}{grey:02x}{grey:02x}"


def describe(drawn: Figure) -> str:
    """Text alternative: axes and curves, with the numbers at their ends and their extremes."""
    sentences = []
    for axes in drawn.axes:
        across = _words(axes.get_xlabel() or drawn.axes[-1].get_xlabel())
        up = _words(axes.get_ylabel() or (axes.get_title("left") if len(drawn.axes) > 1 else ""))
        of, against = f" of {up}" if up else "", f" against {across}" if across else ""
        sentences.append(f"Plot{of}{against}.")
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if isinstance(handle, BarContainer):
                sentences.append(f"{_words(label)}: {_heights(handle, axes)}.")
            elif points := _points(handle):
                sentences.append(f"{_words(label)}: {_course(points)}.")
    return " ".join(sentences)


def _heights(bars: BarContainer, axes: Axes) -> str:
    """Heights of bars with the names below them, which are at 0, 1, 2 and so on."""
    names = [label.get_text() for label in axes.get_xticklabels()]
    found = [(names[round(bar.get_x() + bar.get_width() / 2)], bar.get_height()) for bar in bars.patches]
    return ", ".join(f"{name} {format_number(height)}" for name, height in found if math.isfinite(height))


def _points(handle: Any) -> list[tuple[float, float]]:
    """Points of a curve, with or without error bars."""
    line = handle[0] if isinstance(handle, tuple) else handle
    if not hasattr(line, "get_xydata"):
        return []
    return [(float(x), float(y)) for x, y in line.get_xydata() if math.isfinite(x) and math.isfinite(y)]


def _course(points: Sequence[tuple[float, float]]) -> str:
    numbers = [y for _, y in points]
    first, last = points[0], points[-1]
    start = f"{format_number(first[1])} at {format_number(first[0])}"
    if len(points) == 1:
        return start
    text = f"{start} to {format_number(last[1])} at {format_number(last[0])}"
    between = numbers[1:-1]
    if between and min(between) < min(first[1], last[1]):
        text += f", lowest {format_number(min(between))}"
    if between and max(between) > max(first[1], last[1]):
        text += f", highest {format_number(max(between))}"
    return text


def _words(label: str) -> str:
    """A label without the markup of formulas: `$D_b$` becomes D_b."""
    return _MATH.sub("", label)
