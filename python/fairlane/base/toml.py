"""Reads TOML files and values. The message of an error is one line and contains the line and column in the file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from fairlane.base.errors import UserError
from fairlane.base.text import quoted

_LONG_NUMBER = re.compile(r"[0-9_]{4300,}")
"""A number that is too long for Python to convert."""
_NESTED = re.compile(r"[\[{](?:[^\[\]{}]*[\[{]){99}")


def read(path: str | Path) -> dict[str, Any]:
    """The table of a TOML file.

    Raises:
        UserError: The file cannot be read or is not TOML; the message contains line and column.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text at byte {error.start}") from error
    except ValueError as error:
        raise UserError(f"{quoted(str(path))}: not a path: {error}") from error
    try:
        return parse(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}") from error


def read_if_there(path: Path) -> dict[str, Any]:
    """Like `read`; empty if the file does not exist."""
    return read(path) if path.exists() else {}


def parse(text: str) -> dict[str, Any]:
    """The table of a TOML text.

    Raises:
        TOMLDecodeError: The text is not TOML, or exceeds a limit.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        place = _place(text, _LONG_NUMBER)
        raise tomllib.TOMLDecodeError(f"A number has more digits than any key takes{place}") from error
    except RecursionError as error:
        raise tomllib.TOMLDecodeError(f"Arrays or tables are nested too deeply{_place(text, _NESTED)}") from error


def _place(text: str, pattern: re.Pattern[str]) -> str:
    found = pattern.search(text)
    return f" (at line {text.count(chr(10), 0, found.start()) + 1})" if found else ""
