"""What a page on results of one's own shows: pictures, tables, facts; and which document a file holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane.base.errors import UserError
from fairlane.base.files import read_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES = ("result.json", "sweep.json")
"""What commands leave in their folders."""
COMPARISON = "compare"
"""Stem of the page of a comparison beside papers."""
_UNFIT = (KeyError, TypeError, IndexError, AttributeError, ValueError, StopIteration)
"""What a document raises that is another than was thought."""


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
    """

    stem: str
    title: str
    caption: str
    words: str
    wide: Callable[[], Figure]
    narrow: Callable[[], Figure]


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


def is_file(name: str | Path) -> bool:
    """Whether that is meant as a file or folder, and not as a paper."""
    return isinstance(name, Path) or "/" in name or name.endswith(".json")


def pages(files: Sequence[Path]) -> list[OwnPage]:
    """A page for each document of `fairlane run`, `compare` and `sweep`; of folders the documents in them.

    Raises:
        UserError: A file cannot be read or is none of them.
    """
    found: list[OwnPage] = []
    for file in files:
        page = _page(file)
        taken = {other.stem for other in found}
        number = next(number for number in range(1, len(files) + 1) if _numbered(page.stem, "-", number) not in taken)
        found.append(replace(page, stem=_numbered(page.stem, "-", number), tab=_numbered(page.tab, " ", number)))
    return found


def _numbered(name: str, between: str, number: int) -> str:
    return name if number == 1 else f"{name}{between}{number}"


def comparison_page(file: Path) -> OwnPage:
    """The page of a comparison that stands beside papers, compare.html.

    Raises:
        UserError: The file cannot be read or is none.
    """
    from fairlane.report.result_page import of_comparison

    document = read_json(file, "--compare")
    try:
        return of_comparison(document, COMPARISON)
    except _UNFIT as error:
        raise UserError(f"--compare: {file}: not a document of `fairlane compare`") from error


def stem_of(kind: str, name: str) -> str:
    """The stem of the page of a document."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_-]+', '-', name).strip('-') or 'unnamed'}"


def _page(file: Path) -> OwnPage:
    from fairlane.report import result_page, sweep_page

    path = next((file / name for name in FILES if (file / name).is_file()), file) if file.is_dir() else file
    if path.is_dir():
        raise UserError(f"report: {file}: has none of {', '.join(FILES)}")
    document = read_json(path, "report")
    kinds: Mapping[str, Callable[[Any], OwnPage]] = {
        "results": result_page.of_comparison,
        "summary": result_page.of_result,
        "points": sweep_page.of_sweep,
    }
    try:
        return next(make for key, make in kinds.items() if key in document)(document)
    except _UNFIT as error:
        raise UserError(f"report: {path}: not a document of `fairlane run`, `compare` or `sweep`") from error
