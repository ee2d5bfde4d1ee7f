"""Columns of numbers: CSV, or words between spaces, with units in the fields, in the header or from an option."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlane.base.quantities import UNITS, parsed
from fairlane.base.text import quoted
from fairlane.imports.imported import MOST, problem, text

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_EXAMPLES = {
    "s": "a time such as 0.5 or 5 ms",
    "bit/s": "a rate such as 10 Mbit/s",
    "bytes": "a size such as 1500 or 30 kB",
}
_PLAIN = {"s": "s", "bit/s": "bit/s", "bytes": "B"}


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        names: Words with which its header may begin.
        kind: Unit in which it is read, `s`, `bit/s` or `bytes`; empty for a name.
        unit: Unit of plain numbers; None if nothing was given.
        option: Option for that unit.
    """

    names: Sequence[str]
    kind: str = ""
    unit: str | None = None
    option: str = ""


@dataclass(frozen=True)
class Columns:
    """The content of a file: a row for each line, with its number, and units that were assumed."""

    rows: list[tuple[int, dict[str, float | str]]]
    assumed: list[str]


def words_of(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines with their numbers and fields, without empty lines and comments.

    Fields are between commas, semicolons or tabs, or else between spaces.
    """
    lines = text(file).splitlines()
    shown = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    mark = next((mark for mark in (",", ";", "\t") if mark in shown), None)
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            fields = line.split() if mark is None else next(csv.reader([line], delimiter=mark))
            yield number, [field.strip() for field in fields]


def read(file: Path, columns: Mapping[str, Column]) -> Columns:
    """Reads a file with these columns, in their order if it has no header. Columns of text may be missing.

    Raises:
        UserError: A line is wrong.
    """
    rows: list[tuple[int, dict[str, float | str]]] = []
    places = {name: index for index, name in enumerate(columns)}
    units = {name: column.unit for name, column in columns.items()}
    plain: set[str] = set()
    is_first = True
    for line, fields in words_of(file):
        if is_first and not _NUMBER.match(fields[0]):
            places, of_header = _header(file, line, fields, columns)
            units |= {name: unit for name, unit in of_header.items() if units[name] is None}
            is_first = False
            continue
        is_first = False
        row: dict[str, float | str] = {}
        for name, column in columns.items():
            place = places.get(name, len(fields))
            field = fields[place] if place < len(fields) else ""
            if not column.kind:
                row[name] = field
                continue
            word = field
            if _NUMBER.fullmatch(word):
                plain.add(name)
                word = f"{word} {units[name] or _PLAIN[column.kind]}"
            value = parsed(word, column.kind)
            if value is None or not 0 <= value <= MOST:
                raise problem(
                    file, line, f"{quoted(field)} is not {_EXAMPLES[column.kind]}, the {name} of column {place + 1}"
                )
            row[name] = value
        rows.append((line, row))
    if not rows:
        raise problem(file, None, f"is empty, a line has {', '.join(columns)}")
    return Columns(
        rows, [f"{name} in {_PLAIN[columns[name].kind]}" for name in columns if name in plain and units[name] is None]
    )


def _header(
    file: Path, line: int, fields: Sequence[str], columns: Mapping[str, Column]
) -> tuple[dict[str, int], dict[str, str]]:
    """Places of the columns that a header names, and their units."""
    places: dict[str, int] = {}
    units: dict[str, str] = {}
    for index, field in enumerate(fields):
        for name, column in columns.items():
            word = next((word for word in column.names if field.lower().startswith(word)), None)
            if word is None or name in places:
                continue
            places[name] = index
            unit = field[len(word) :].strip(" _()[]")
            if column.kind and unit and column.unit is None:
                if unit not in UNITS[column.kind]:
                    known = f"a unit such as {_PLAIN[column.kind]}; {column.option} states the unit"
                    raise problem(file, line, f"{quoted(field)}: {quoted(unit)} is not {known}")
                units[name] = unit
            break
    missing = [name for name, column in columns.items() if column.kind and name not in places]
    if missing:
        raise problem(file, line, f"the header has no column {', '.join(missing)}")
    return places, units
