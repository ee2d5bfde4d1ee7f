r"""Converts ASCII drawings to SVG: tools/diagrams/NAME.txt to docs/figures/diagrams/NAME.svg.

Lines are `-`, `=` (thick), `|`, `/` and `\`, with `+` where lines meet. Arrows end in `<`, `>`, `v` or `^`. Boxes are
`[ text ]` or drawn with lines; `| a | b |` is a row of cells. `*` is a point of a curve, `....` is a horizontal part of
a curve, and `#` is a block. Everything else is text.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES, FIGURES = ROOT / "tools" / "diagrams", ROOT / "docs" / "figures" / "diagrams"
WIDE, TALL, MARGIN = 8, 19, 8
"""Size of a character, and margin, in px."""
LEVEL = "-="
LEAST_CELLS, MOST_CELL = 3, 8
"""Minimum number of cells in a row, and maximum width of a cell in characters."""
STYLE = (
    "svg{color:#14212d;stroke:currentColor;fill:none;stroke-width:1.4;stroke-linecap:round}"
    "text{stroke:none;fill:currentColor;font:13.3px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}"
    ".head,.point{fill:currentColor}.thick{stroke-width:4;stroke-linecap:butt}"
    ".block{fill:currentColor;fill-opacity:.3;stroke:none}.box{stroke-width:1.1}"
    "@media screen and (prefers-color-scheme:dark){svg{color:#dbe4ee}}"
)
_ARROWS = re.compile(r"<?[-=+]*[-=][-=+]*>?")
_BOX = re.compile(r"\[[^\[\]]*\]")
_WORDS = re.compile(r"\S+(?: \S+)*")


def write(*, check: bool) -> int:
    """Writes all figures, or with `check` only compares them. Returns 1 if one is stale."""
    stale = 0
    for source in sorted(SOURCES.glob("*.txt")):
        target = FIGURES / f"{source.stem}.svg"
        svg = to_svg(source.read_text(encoding="utf-8"))
        if target.exists() and target.read_text(encoding="utf-8") == svg:
            continue
        if check:
            print(f"{target}: stale, run: make docs", file=sys.stderr)
            stale = 1
        else:
            FIGURES.mkdir(exist_ok=True)
            target.write_text(svg, encoding="utf-8")
    return stale


def to_svg(drawing: str) -> str:
    """Returns the SVG of a drawing."""
    rows = drawing.expandtabs().rstrip().splitlines()
    width = max(map(len, rows))
    grid = _Grid([row.ljust(width) for row in rows])
    size = 2 * MARGIN + WIDE * width, 2 * MARGIN + TALL * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}" role="img">',
        f"<style>{STYLE}</style>",
        *grid.parts(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Grid:
    """A drawing. `_line` is true for each character that is part of a line."""

    def __init__(self, rows: Sequence[str]) -> None:
        self._rows = rows
        self._line = [[False] * len(row) for row in rows]
        self._boxes = [[match.span() for match in _BOX.finditer(row)] for row in rows]
        for y, row in enumerate(rows):
            for match in _ARROWS.finditer(row):
                if self._is_line(y, *match.span()):
                    for x in range(*match.span()):
                        self._line[y][x] = True
            for x, letter in enumerate(row):
                if letter == "|":
                    self._line[y][x] = True
        self._find_marks()

    def _find_marks(self) -> None:
        """Finds corners, arrowheads, diagonals and low lines."""
        rows = self._rows
        for y, row in enumerate(rows):
            for x, letter in enumerate(row):
                above, below = self.at(x, y - 1), self.at(x, y + 1)
                alone = not self.at(x - 1, y).isalnum() and not self.at(x + 1, y).isalnum()
                if letter == "+" and (above in "|^" or below in "|v") and alone:
                    self._line[y][x] = True
                if letter in "v^" and alone:
                    tail = above if letter == "v" else below
                    self._line[y][x] = (
                        tail in "|+" or row[max(x - 2, 0) : x].strip() == row[x + 1 : x + 3].strip() == ""
                    )
                if letter in "/\\" and self.at(x - 1, y) in " -_" and self.at(x + 1, y) in " -_":
                    self._line[y][x] = not self._is_sign(x, y)
            for match in re.finditer(r"__+", row):
                for x in range(*match.span()):
                    self._line[y][x] = True

    def at(self, x: int, y: int) -> str:
        """The character at a position, a space outside of the drawing."""
        return self._rows[y][x] if 0 <= y < len(self._rows) and 0 <= x < len(self._rows[y]) else " "

    def is_line(self, x: int, y: int) -> bool:
        """True if the character at a position is part of a line."""
        return 0 <= y < len(self._rows) and 0 <= x < len(self._rows[y]) and self._line[y][x]

    def _is_line(self, y: int, begin: int, end: int) -> bool:
        """True if a run of line characters is a line, not a sign or hyphen as in `A - B`, `-1/4` or `drop-tail`."""
        run = self._rows[y][begin:end]
        if run == "-=" or ("-" not in run and run.count("=") < 3):
            return False
        before, after = self.at(begin - 1, y), self.at(end, y)
        if any(left < begin and end <= right for left, right in self._boxes[y]) and not run.strip("-"):
            return False
        if before.isalnum() or after.isalnum():
            return len(run) > 2
        return len(run) > 1 or before == "|" or after == "|"

    def parts(self) -> Iterator[str]:
        """Yields the SVG elements."""
        for y in range(len(self._rows)):
            yield from self._row(y)
        yield from self._cells()

    def _row(self, y: int) -> Iterator[str]:
        row = self._rows[y]
        for begin, end in self._boxes[y]:
            left, right = _x(begin), _x(end - 1)
            yield f'<rect class="box" x="{left}" y="{_y(y) - 8}" width="{right - left}" height="17" rx="4"/>'
        covered = {x for begin, end in self._boxes[y] for x in (begin, end - 1)}
        for x, letter in enumerate(row):
            if self._line[y][x] and x not in covered:
                yield from self._character(x, y, letter)
            elif letter == "#":
                yield f'<rect class="block" x="{_x(x) - 4}" y="{_y(y) - 8}" width="{WIDE}" height="16"/>'
            elif letter == "*" and not self._is_sign(x, y):
                yield f'<circle class="point" cx="{_x(x)}" cy="{_y(y)}" r="2.6"/>'
        for match in re.finditer(r"\.{4,}", row):
            yield f'<path d="M{_x(match.start()) - 4} {_y(y)}H{_x(match.end() - 1) + 4}"/>'
            covered |= set(range(*match.span()))
        text = "".join(" " if x in covered or self._is_drawn(x, y) else letter for x, letter in enumerate(row))
        for match in _WORDS.finditer(text):
            begin, words = match.start(), match.group()
            yield (
                f'<text x="{MARGIN + WIDE * begin}" y="{_y(y) + 4:g}" textLength="{WIDE * len(words)}" '
                f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{escape(words)}</text>'
            )

    def _is_sign(self, x: int, y: int) -> bool:
        """True if `*` or `/` is the sign of a product or quotient, with or without spaces."""
        near, far = ([self.at(x - d, y), self.at(x + d, y)] for d in (1, 2))
        if self.at(x, y) == "*":
            return near[1] not in " ." or near[0] not in " .|" or (" " not in far and near == [" ", " "])
        return near == [" ", " "] and " " not in far

    def _is_drawn(self, x: int, y: int) -> bool:
        """True if a character is not text."""
        letter = self.at(x, y)
        is_point = letter == "*" and not self._is_sign(x, y)
        return self._line[y][x] or is_point or letter == "#" or (letter == "=" and self._is_bar(x, y))

    def _is_bar(self, x: int, y: int) -> bool:
        return "=" in (self.at(x - 1, y) + self.at(x + 1, y))

    def _character(self, x: int, y: int, letter: str) -> Iterator[str]:
        across, down = _x(x), _y(y)
        half, tall = WIDE / 2, TALL / 2
        if letter in LEVEL:
            kind = ' class="thick"' if letter == "=" else ""
            yield f'<path{kind} d="M{across - half:g} {down}h{WIDE}"/>'
        elif letter == "_":
            yield f'<path d="M{across - half:g} {down + tall:g}h{WIDE}"/>'
        elif letter == "|":
            top = tall if self._joins_up(x, y) else 8
            bottom = tall if self._joins_down(x, y) else 8
            yield f'<path d="M{across} {down - top:g}V{down + bottom:g}"/>'
        elif letter == "+":
            ways = [
                (self.is_line(x - 1, y) and self.at(x - 1, y) in "-+=<", f"h{-half:g}"),
                (self.is_line(x + 1, y) and self.at(x + 1, y) in "-+=>", f"h{half:g}"),
                (self.is_line(x, y - 1) and self.at(x, y - 1) in "|+^", f"v{-tall:g}"),
                (self.is_line(x, y + 1) and self.at(x, y + 1) in "|+v", f"v{tall:g}"),
            ]
            yield from (f'<path d="M{across} {down}{way}"/>' for there, way in ways if there)
        elif letter in "<>":
            sign = 1 if letter == ">" else -1
            yield f'<path class="head" d="M{across + sign * half:g} {down}l{-sign * 7} -3.6v7.2z"/>'
        elif letter in "v^":
            sign = 1 if letter == "v" else -1
            yield f'<path d="M{across} {down - sign * tall:g}V{down}"/>'
            yield f'<path class="head" d="M{across} {down + sign * 6}l-3.6 {-sign * 7}h7.2z"/>'
        elif letter == "/":
            yield f'<path d="M{across - half:g} {down + tall:g}L{across + half:g} {down - tall:g}"/>'
        elif letter == "\\":
            yield f'<path d="M{across - half:g} {down - tall:g}L{across + half:g} {down + tall:g}"/>'

    def _joins_up(self, x: int, y: int) -> bool:
        return self.is_line(x, y - 1) and self.at(x, y - 1) in "|+^v"

    def _joins_down(self, x: int, y: int) -> bool:
        return self.is_line(x, y + 1) and self.at(x, y + 1) in "|+^v"

    def _cells(self) -> Iterator[str]:
        """Yields the upper and lower edges of rows of cells. A row is three or more cells between bars of one line."""
        for y, row in enumerate(self._rows):
            bars = [
                x
                for x, letter in enumerate(row)
                if letter == "|" and not self._joins_up(x, y) and not self._joins_down(x, y)
            ]
            cells = [(begin, end) for begin, end in itertools.pairwise(bars) if end - begin <= MOST_CELL]
            if len(cells) >= LEAST_CELLS:
                for begin, end in cells:
                    left, right, middle = _x(begin), _x(end), _y(y)
                    yield f'<path class="box" d="M{left} {middle - 8}H{right}M{left} {middle + 8}H{right}"/>'


def _x(column: int) -> int:
    return MARGIN + WIDE * column + WIDE // 2


def _y(row: int) -> float:
    return MARGIN + TALL * row + TALL / 2
