"""Notes: what to know about a valid scenario before its numbers are trusted.

The simulator makes them when it reads a scenario (`Scenario::notes`, `SchemeSpec::notes`); here they become lines for
tables, documents and pages.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioWarning

#: How many of the scenarios that a note holds for are named.
MOST_NAMES = 3


def notes_of(scenario: str) -> list[str]:
    """The notes of a scenario, a line each: key and what to know."""
    return [f"{key}: {text}" for key, text in _fairlane.notes(scenario)]


def notes_in(document: Mapping[str, Any]) -> list[str]:
    """As `notes_of`, for a result document."""
    return [f"{note['key']}: {note['text']}" for note in document.get("notes", [])]


def joined(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Notes of several scenarios by name, each once; one that does not hold for all starts with those it holds for."""
    names: dict[str, list[str]] = {}
    for name, lines in notes.items():
        for line in lines:
            names.setdefault(line, []).append(name)
    return [line if len(of_line) == len(notes) else f"{_listed(of_line)}: {line}" for line, of_line in names.items()]


def warn(scenarios: Mapping[str, str]) -> None:
    """Issues the notes of scenarios by name as warnings, at the line that called the caller."""
    for line in joined({name: notes_of(scenario) for name, scenario in scenarios.items()}):
        warnings.warn(line, ScenarioWarning, stacklevel=3)


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
