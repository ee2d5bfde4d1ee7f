"""Content of a page about the user's results: figures, tables, facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure of a page.

    Attributes:
        stem: Stem of its files, appended to the stem of the page.
        title: Title.
        caption: Caption.
        words: Text alternative.
        wide: Draws the figure.
        narrow: Draws the figure for small screens and for a paper column.
        says_more: True if parts of the figure have tooltips.
    """

    stem: str
    title: str
    caption: str
    words: str
    wide: Callable[[], Figure]
    narrow: Callable[[], Figure]
    says_more: bool = False


@dataclass(frozen=True)
class Head:
    """Heading of a column: quantity, and whether higher or lower is better."""

    text: str
    aside: str = ""


@dataclass(frozen=True)
class Row:
    """A row: identifying cells, other cells, and sort keys of identifying cells that are not plain numbers."""

    keys: Sequence[str]
    cells: Sequence[str]
    sizes: Sequence[float | None] = ()


@dataclass(frozen=True)
class Table:
    """A table of numbers.

    Attributes:
        stem: Anchor of the table in the page.
        title: Heading.
        caption: Description of the numbers.
        keys: Headings of the columns that identify a row.
        heads: Headings of the other columns.
        rows: Rows, in order.
        folded: True if collapsed until the reader opens it.
    """

    stem: str
    title: str
    caption: str
    keys: Sequence[str]
    heads: Sequence[Head]
    rows: Sequence[Row]
    folded: bool = False


@dataclass(frozen=True)
class OwnPage:
    """A page.

    Attributes:
        stem: Stem of its file.
        tab: Name in the list of pages.
        title: Heading.
        lead: Introduction.
        answers: Sentences that compare schemes.
        notes: Caveats.
        pictures: Figures.
        tables: Tables of numbers.
        facts: Facts about the simulation.
    """

    stem: str
    tab: str
    title: str
    lead: str
    answers: Sequence[str]
    notes: Sequence[str]
    pictures: Sequence[Picture]
    tables: Sequence[Table]
    facts: Sequence[tuple[str, str]] = field(default_factory=list)


def stem_of(kind: str, name: str) -> str:
    """The stem of the page of a document."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_-]+', '-', name).strip('-') or 'unnamed'}"
