"""What a page on results of one's own shows: pictures, tables, facts."""

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
        stem: Of its files, behind that of the page.
        title: What it shows.
        caption: What to know of it.
        words: The same for who cannot see it.
        wide: Draws it.
        narrow: Draws it for small screens, and for a column of a paper.
        says_more: Whether parts of it say what they are where they are pointed at.
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
    """The head of a column: what it has, and what is good."""

    text: str
    aside: str = ""


@dataclass(frozen=True)
class Row:
    """A row: what it is of, by which it is sorted if that is no number as it stands, and its numbers."""

    keys: Sequence[str]
    cells: Sequence[str]
    sizes: Sequence[float | None] = ()


@dataclass(frozen=True)
class Table:
    """A table of numbers.

    Attributes:
        stem: Its anchor.
        title: Heading above it.
        caption: What its numbers are.
        keys: Heads of the columns that say what a row is of.
        heads: Heads of the others.
        rows: In order.
        folded: Whether the reader opens it first.
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
        tab: What the list of pages calls it.
        title: Its heading.
        lead: What it is about.
        notes: What to know before the numbers are trusted.
        pictures: Its figures.
        tables: Its numbers.
        facts: How it was simulated.
    """

    stem: str
    tab: str
    title: str
    lead: str
    notes: Sequence[str]
    pictures: Sequence[Picture]
    tables: Sequence[Table]
    facts: Sequence[tuple[str, str]] = field(default_factory=list)


def stem_of(kind: str, name: str) -> str:
    """The stem of the page of a document."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_-]+', '-', name).strip('-') or 'unnamed'}"
