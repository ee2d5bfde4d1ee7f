"""Names and values that others chose, as text that is shown: whatever is in them, it stays text, on one line.

For a terminal see `cli/terminal.py`; figures take `for_figure`, pages `for_page`, messages `quoted`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlane import _fairlane

LONGEST_NAME = 60
LONGEST_VALUE = 80
LONGEST_WORD = 300
"""Maximum length in a message: longer than all reasonable names and paths."""
MOST_NAMES = 16
"""In a message: more are not read."""


def visible(text: str, keep: str = "") -> str:
    r"""Escapes unprintable characters: `\x1b`, `\n`, `\u202e`; characters in `keep` stay."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in keep else _escape(character) for character in text
    )


def name(text: str) -> str:
    """A name of a table or figure, cut if it is very long."""
    return shortened(visible(text), LONGEST_NAME)


def for_figure(text: str) -> str:
    r"""A name in a figure: `_` is a space, and `\$` a dollar sign, since `$` would begin a formula."""
    return name(text).replace("_", " ").replace("$", r"\$")


def for_page(value: Any) -> Any:
    """A value of a template; markup that the page itself made stays markup, lines stay lines."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return type(value)(visible(value, keep="\n\t"))


def quoted(value: Any) -> str:
    """A value in a message: a text in quotes, cut if it is very long."""
    if isinstance(value, int) and value.bit_length() > 4 * LONGEST_VALUE:
        return f"a number of {value.bit_length()} bits"  # Python refuses to write very long ones
    try:
        return shortened(visible(repr(value) if isinstance(value, str) else str(value)), LONGEST_VALUE)
    except ValueError:  # there is such a number somewhere in it
        return f"a {type(value).__name__} with a very long number"


def near(name: str, known: Iterable[str], most: int = MOST_NAMES) -> str:
    """Suggestions for an unknown name: similar names, or all; if they are many, the nearest."""
    return _fairlane.near(name, list(known), most)


def message_line(message: str) -> str:
    """A message as one line, in which very long words are cut: somebody's value is among them."""
    return " ".join(shortened(visible(word), LONGEST_WORD) for word in message.split())


def shortened(text: str, most: int) -> str:
    """The text, its middle left out if it has more than `most` characters."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[head + 1 - most :]}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
