"""Values of a JSON document; errors name their keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairlane.base.text import quoted
from fairlane.imports.imported import MOST, problem


def read(file: Path, text: str, kind: str) -> Values:
    """The document in a text; `kind` is what the file should be.

    Raises:
        UserError: The text is not JSON; the message contains the line.
    """
    try:
        return Values(file, kind, "", json.loads(text))
    except json.JSONDecodeError as error:
        raise problem(file, error.lineno, f"not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise problem(file, None, f"not JSON: {error}") from error


class Values:
    """A value, and the values in it."""

    def __init__(self, file: Path, kind: str, key: str, value: Any) -> None:
        self._file, self._kind, self._key, self.value = file, kind, key, value

    def of(self, name: str) -> Values:
        """The value of a key.

        Raises:
            UserError: The key is missing.
        """
        if not isinstance(self.value, dict) or name not in self.value:
            raise problem(self._file, None, f"{self._place(name)}: missing, so the file is not {self._kind}")
        return self._inner(self._place(name), self.value[name])

    def optional(self, name: str) -> Any:
        """The plain value of a key; None if it is missing."""
        return self.value.get(name) if isinstance(self.value, dict) else None

    def items(self, name: str) -> list[Values]:
        """The values of an array.

        Raises:
            UserError: The key is missing or not an array.
        """
        found = self.of(name).value
        if not isinstance(found, list):
            raise problem(self._file, None, f"{self._place(name)}: {quoted(found)} is not an array")
        return [self._inner(f"{self._place(name)}[{index}]", one) for index, one in enumerate(found)]

    def table(self, name: str) -> dict[str, Values]:
        """The values of an object, by key.

        Raises:
            UserError: The key is missing or not an object.
        """
        found = self.of(name).value
        if not isinstance(found, dict):
            raise problem(self._file, None, f"{self._place(name)}: {quoted(found)} is not an object")
        return {key: self._inner(f"{self._place(name)}.{key}", one) for key, one in found.items()}

    def number(self, name: str, default: float | None = None) -> float:
        """A number from 0 up; without a default, the key is required.

        Raises:
            UserError: The value is missing or another one.
        """
        if default is not None and self.optional(name) is None:
            return default
        return self.of(name)._number()

    def numbers(self) -> list[float]:
        """The numbers of an array; nulls are left out.

        Raises:
            UserError: The value is not an array of numbers from 0 up.
        """
        if not isinstance(self.value, list):
            raise problem(self._file, None, f"{self._key}: {quoted(self.value)} is not an array")
        return [self._inner(f"{self._key}[{i}]", one)._number() for i, one in enumerate(self.value) if one is not None]

    def _number(self) -> float:
        found = self.value
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= MOST:
            raise problem(self._file, None, f"{self._key}: {quoted(found)} is not a number from 0 up")
        return float(found)

    def _inner(self, key: str, value: Any) -> Values:
        return Values(self._file, self._kind, key, value)

    def _place(self, name: str) -> str:
        return f"{self._key}.{name}" if self._key else name
