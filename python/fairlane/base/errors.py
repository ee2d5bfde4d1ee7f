"""Errors that end a command with one line for the user, and the warning that does not."""

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
    """Base of the errors of the Python front; the message is one line."""


class UserError(FairlaneError):
    """Invalid input; the message contains the value and, where there is one, the allowed range."""


class ScenarioWarning(UserWarning):
    """A caveat of a valid scenario, such as a warm-up that is too short."""


class WriteError(UserError):
    """A file that cannot be written: the message names it and says why."""


class Interrupted(FairlaneError):  # noqa: N818 nothing went wrong
    """Ctrl-C while replications were running; what had finished is kept.

    Attributes:
        finished: Replications that are done, earlier ones from the store included; or searches.
        total: Replications or searches requested.
    """

    def __init__(self, finished: int, total: int, kept: str, at_least: str = "", what: str = "runs") -> None:
        super().__init__(f"interrupted: {finished} of {at_least}{total} {what} {kept}")
        self.finished = finished
        self.total = total


def check_kind(name: str, value: Any, kinds: tuple[type, ...], wanted: str) -> None:
    """Raises a UserError if an argument is of no kind that the function takes."""
    if not isinstance(value, kinds):
        raise UserError(f"{name}: {quoted(value)} is not {wanted}")
