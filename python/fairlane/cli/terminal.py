"""Tables and lines for people on standard output. Markup and control sequences in texts are not interpreted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group
from rich.containers import Lines
from rich.table import Table
from rich.text import Text

from fairlane.base.text import name, visible

WIDTH_OF_FILES = 160
"""Line width when standard output is a pipe or a file."""
_GLUE = "\ue000"
"""Stand-in for a no-break space while text is wrapped: rich breaks lines at any space."""
_WITH_INTERVAL = re.compile(r"(\d%?) ± (\d)")


class Whole(Text):
    """Text that is never wrapped between a number and its interval."""

    def wrap(self, console: Console, width: int, *arguments: Any, **options: Any) -> Lines:
        """Wraps the text."""
        glued = self.copy()
        glued.plain = _WITH_INTERVAL.sub(rf"\1{_GLUE}±{_GLUE}\2", self.plain)
        wrapped = glued.wrap(console, width, *arguments, **options)
        for line in wrapped:
            line.plain = line.plain.replace(_GLUE, " ")
        return wrapped


class Terminal(Console):
    """Console for people; strings are plain text on one line."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, soft_wrap=False)
        if not self.is_terminal:
            self.width = max(self.width, WIDTH_OF_FILES)

    def render_str(self, text: str, **options: Any) -> Text:
        """Returns the text with unprintable characters escaped."""
        return Whole("").append_text(super().render_str(visible(text), **options))

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints objects; texts are never wrapped within a number."""
        # Members of a group are wrapped separately; otherwise rich joins the texts first.
        shown = (Group(self.render_str(one)) if isinstance(one, str) else one for one in objects)
        super().print(*shown, **options)

    def head(self, title: str, rest: str) -> None:
        """Prints a line that starts with a bold title."""
        self.print(Text.assemble((visible(title), "bold"), visible(rest)))

    def numbers(self, table: Numbers, most: int | None = None) -> None:
        """Prints a table without cutting numbers. Columns beyond the line or beyond `most` characters follow below."""
        before = self.width
        room = self.width if self.is_terminal else None
        for part, width in table.parts(most if room is None else min(room, most or room)):
            shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, table.gap - 2))
            for index in part:
                shown.add_column(table.heads[index], no_wrap=True)
            for row in table.rows:
                shown.add_row(*(row[index] for index in part))
            self.width = max(before, width)
            self.print(shown, crop=False)
        self.width = before


class Numbers:
    """A table of names and numbers.

    Attributes:
        heads: Headings of the columns.
        keys: Number of leading columns that identify a row.
        gap: Spaces between two columns, at least 2.
        rows: Cells of each row.
    """

    def __init__(self, *heads: str | Text, keys: int = 1, gap: int = 3) -> None:
        self.heads = [_cell(head) for head in heads]
        self.keys = keys
        self.gap = gap
        self.rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Adds a row."""
        self.rows.append([_cell(cell) for cell in cells])

    def parts(self, room: int | None) -> list[tuple[list[int], int]]:
        """Splits columns into parts of at most `room` characters if possible. Returns columns and width of each part.

        Every part begins with the key columns.
        """
        widths = [
            max(cell_len(line) for cell in cells for line in cell.plain.split("\n"))
            for cells in zip(self.heads, *self.rows, strict=True)
        ]

        def width(columns: Iterable[int]) -> int:
            return sum(widths[column] + self.gap for column in columns) - self.gap + 2

        keys = list(range(self.keys))
        parts = [keys[:]]
        for column in range(self.keys, len(self.heads)):
            part = parts[-1]
            if room is not None and len(part) > self.keys and width([*part, column]) > room:
                parts.append(keys[:])
            parts[-1].append(column)
        return [(part, width(part)) for part in parts]


def texts(*heads: str) -> Table:
    """A table of texts, wrapped where they do not fit."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(Text(visible(head, keep="\n")), overflow="fold")
    return table


def lines(*parts: str) -> Text:
    """A cell of several lines."""
    return Whole("\n".join(map(visible, parts)))


def _cell(text: str | Text) -> Text:
    return text if isinstance(text, Text) else Text(name(text))
