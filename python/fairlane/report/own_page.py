"""Content of a page on your results: figures, tables, facts."""

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
        stem: Stem of its files, after that of the page.
        title: Title.
        caption: Caption.
        words: Text alternative.
        wide: Draws it.
        narrow: Draws it for small screens, and for a column of a paper.
        says_more: Parts of it have tooltips.
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
    """Heading of a column: quantity, and better direction."""

    text: str
    aside: str = ""


@dataclass(frozen=True)
class Row:
    """A row: its subject, a sort key if that is not a plain number, and its numbers."""

    keys: Sequence[str]
    cells: Sequence[str]
    sizes: Sequence[float | None] = ()


@dataclass(frozen=True)
class Table:
    """A table of numbers.

    Attributes:
        stem: Its anchor.
        title: Heading above it.
        caption: Description of its numbers.
        keys: Headings of the columns that identify a row.
        heads: Heads of the others.
        rows: In order.
        folded: Collapsed until the reader opens it.
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
        stem: Of its file.
        tab: Name in the list of pages.
        title: Its heading.
        lead: Introduction.
        answers: Sentences that compare schemes.
        notes: Caveats.
        pictures: Its figures.
        tables: Its numbers.
        facts: How it was simulated.
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
