"""Errors that end a command with one line for the user, and a warning that does not end a command."""

from __future__ import annotations

from typing import Any

from fairlane._fairlane import ScenarioError, SchemeError, ThreadError
from fairlane.base.text import quoted

__all__ = [
    "FairlaneError",
    "Interrupted",
    "ScenarioError",
    "ScenarioWarning",
    "SchemeError",
    "ThreadError",
    "UserError",
    "WriteError",
    "check_kind",
]


class FairlaneError(Exception):
    """Base class of the errors of this package; the message is one line."""


class UserError(FairlaneError):
    """Invalid input; the message contains the value and the allowed range, if any."""


class ScenarioWarning(UserWarning):
    """A caveat of a valid scenario, such as a warm-up that is too short."""


class WriteError(UserError):
    """A file cannot be written; the message contains its name and the reason."""


class Interrupted(FairlaneError):  # noqa: N818 nothing went wrong
    """Ctrl-C while replications were running; finished replications are kept.

    Attributes:
        finished: Finished replications, including stored replications; or finished searches.
        total: Replications or searches requested.
    """

    def __init__(self, finished: int, total: int, kept: str, at_least: str = "", what: str = "runs") -> None:
        super().__init__(f"interrupted: {finished} of {at_least}{total} {what} {kept}")
        self.finished = finished
        self.total = total


def check_kind(name: str, value: Any, kinds: tuple[type, ...], wanted: str) -> None:
    """Raises a UserError if the function does not accept an argument of this kind."""
    if not isinstance(value, kinds):
        raise UserError(f"{name}: {quoted(value)} is not {wanted}")
