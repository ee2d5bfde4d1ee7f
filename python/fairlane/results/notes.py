"""Notes: warnings that a valid scenario may give misleading numbers.

The simulator creates notes when it reads a scenario (`Scenario::notes`, `SchemeSpec::notes`). This module turns notes
into lines for tables, documents and pages.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioWarning

#: Maximum number of scenarios that a note names.
MOST_NAMES = 3


def notes_of(scenario: str) -> list[str]:
    """The notes of a scenario, one line each: key and text."""
    return [f"{key}: {text}" for key, text in _fairlane.notes(scenario)]


def notes_in(document: Mapping[str, Any]) -> list[str]:
    """The notes in a result document, in the form of `notes_of`."""
    return [f"{note['key']}: {note['text']}" for note in document.get("notes", [])]


def joined(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Merges the notes of several named scenarios without duplicates.

    A note that does not apply to all scenarios is prefixed with the names of its scenarios.
    """
    names: dict[str, list[str]] = {}
    for name, lines in notes.items():
        for line in lines:
            names.setdefault(line, []).append(name)
    return [line if len(of_line) == len(notes) else f"{_listed(of_line)}: {line}" for line, of_line in names.items()]


def warn(scenarios: Mapping[str, str]) -> None:
    """Issues the notes of scenarios (by name) as warnings, which point to the line that called the caller."""
    for line in joined({name: notes_of(scenario) for name, scenario in scenarios.items()}):
        warnings.warn(line, ScenarioWarning, stacklevel=3)


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
