"""Errors that end a command with one line for the user."""

from fairlane._fairlane import ScenarioError, SchemeError

__all__ = ["FairlaneError", "Interrupted", "ScenarioError", "SchemeError", "UserError"]


class FairlaneError(Exception):
    """Base of the errors of the Python front; the message is one line."""


class UserError(FairlaneError):
    """Input that cannot be used: the message names what was given and, where there is one, the range."""


class Interrupted(FairlaneError):  # noqa: N818 nothing went wrong
    """Ctrl-C while replications were running; what had finished is kept.

    Attributes:
        finished: Replications that are done, earlier ones from the store included.
        total: Replications that were asked for.
    """

    def __init__(self, finished: int, total: int, kept: str, at_least: str = "") -> None:
        super().__init__(f"interrupted: {finished} of {at_least}{total} runs {kept}")
        self.finished = finished
        self.total = total
