"""Pages about the user's results: detects the kind of document in a file and selects its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairlane.base.errors import UserError
from fairlane.base.files import read_json
from fairlane.judge.library import ALL, papers
from fairlane.report import result_page, sweep_page
from fairlane.report.own_page import OwnPage

FILES = ("result.json", "sweep.json")
"""Files that commands leave in their folders."""
COMPARISON = "compare"
"""Stem of a comparison's page in a report about papers."""
_UNFIT = (KeyError, TypeError, IndexError, AttributeError, ValueError, StopIteration)
"""Exceptions raised for a document of unexpected form."""


def is_file(name: str | Path) -> bool:
    """True if a name refers to a file or folder. A paper takes precedence over a folder of the same name."""
    if isinstance(name, Path) or "/" in name or name.endswith(".json"):
        return True
    return name != ALL and name.partition(".")[0] not in papers() and Path(name).is_dir()


def pages(files: Sequence[Path]) -> list[OwnPage]:
    """A page for each document of `fairlane run`, `compare` and `sweep`, given as a file or as its folder.

    Raises:
        UserError: A file cannot be read or is not such a document.
    """
    found: list[OwnPage] = []
    for file in files:
        page = _page(file)
        taken = {other.stem for other in found}
        number = next(number for number in range(1, len(files) + 1) if _numbered(page.stem, "-", number) not in taken)
        found.append(replace(page, stem=_numbered(page.stem, "-", number), tab=_numbered(page.tab, " ", number)))
    tabs = Counter(page.tab for page in found)
    return [page if tabs[page.tab] == 1 else replace(page, tab=f"{page.tab}, {_kind(page)}") for page in found]


def _kind(page: OwnPage) -> str:
    """Kind of a page, with which its stem begins."""
    return page.stem.partition("-")[0]


def _numbered(name: str, between: str, number: int) -> str:
    return name if number == 1 else f"{name}{between}{number}"


def comparison_page(file: Path) -> OwnPage:
    """The page of a comparison in a report about papers, compare.html.

    Raises:
        UserError: The file cannot be read or is not a comparison.
    """
    document = read_json(file, "--compare")
    try:
        return result_page.of_comparison(document, COMPARISON)
    except _UNFIT as error:
        raise UserError(f"--compare: {file}: not a document of `fairlane compare`") from error


def _page(file: Path) -> OwnPage:
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
