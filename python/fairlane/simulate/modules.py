"""Registries of the user's schemes and congestion controls, and Python files that register them."""

from __future__ import annotations

import importlib.util
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fairlane.base.errors import UserError

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class Registry:
    """The registrations of one kind."""

    kind: str
    """Kind of the registered objects, such as "scheme"."""
    decorator: str
    """The function that registers an object."""
    option: str
    """The option that names a Python file to load."""
    names: list[str] = field(default_factory=list)
    """Names in the order of registration; repeated if registered again."""

    def check(self, name: str) -> None:
        """Raises a UserError for an invalid name."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            rule = "lower-case letters, digits, - and _, a letter first"
            raise UserError(f"{name!r} is not a name for a {self.kind}: {rule}")

    def add(self, name: str, register: Callable[[], None]) -> None:
        """Registers a name; `register` raises a ValueError if the name is taken."""
        try:
            register()
        except ValueError as error:
            raise UserError(str(error)) from error
        self.names.append(name)

    def load(self, path: Path) -> None:
        """Runs a Python file that registers something of this kind.

        Raises:
            UserError: The file cannot be read or run, or registers nothing.
        """
        before = len(self.names)
        self._run(path)
        if len(self.names) == before:
            hint = f"decorate a class with @fairlane.{self.decorator}"
            raise UserError(f"{self.option}: {path} registers no {self.kind}; {hint}")

    def _run(self, path: Path) -> None:
        spec = importlib.util.spec_from_file_location(f"fairlane_module_{path.stem}", path)
        if not path.is_file() or spec is None or spec.loader is None:
            raise UserError(f"{self.option}: {path} is not a Python file")
        try:
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            raise UserError(f"{self.option}: {path}: {_told(error)}") from error


def _told(error: BaseException) -> str:
    """An error as one line, with its file and line number."""
    message = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if isinstance(error, SyntaxError):
        return message  # it contains the line number already
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{message} ({place.filename}, line {place.lineno})"
