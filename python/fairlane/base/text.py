"""Escapes names and values from outside, so that they are displayed as plain text on one line.

`for_figure` escapes for figures, `for_page` for pages, `quoted` for messages, and cli/terminal.py for terminals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fairlane import _fairlane

LONGEST_NAME = 60
LONGEST_VALUE = 80
LONGEST_WORD = 300
"""Maximum length of a word in a message: longer than all reasonable names and paths."""
MOST_NAMES = 16
"""Maximum number of names in a message."""


def counted(number: int, word: str) -> str:
    """`1 run` or `2 runs`."""
    return f"{number} {word}{'s' if number != 1 else ''}"


def visible(text: str, keep: str = "") -> str:
    r"""Escapes unprintable characters: `\x1b`, `\n`, `\u202e`; characters in `keep` stay."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in keep else _escape(character) for character in text
    )


def name(text: str) -> str:
    """A name for a table or figure, shortened if it is very long."""
    return shortened(visible(text), LONGEST_NAME)


def for_figure(text: str) -> str:
    r"""A name for a figure: `share_per=user` becomes `share per user`, and `$`, which begins a formula, `\$`."""
    return re.sub(r"_|(?<=\w)=(?=\S)", " ", name(text)).replace("$", r"\$")


def for_page(value: Any) -> Any:
    """A value for a template. Keeps line breaks, and markup that the page itself generated."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return type(value)(visible(value, keep="\n\t"))


def quoted(value: Any) -> str:
    """A value for a message: texts in quotes, shortened if very long."""
    if isinstance(value, int) and value.bit_length() > 4 * LONGEST_VALUE:
        return f"a number of {value.bit_length()} bits"  # Python refuses to format very long ones
    try:
        return shortened(visible(repr(value) if isinstance(value, str) else str(value)), LONGEST_VALUE)
    except ValueError:  # the value contains such a number
        return f"a {type(value).__name__} with a very long number"


def near(name: str, known: Iterable[str], most: int = MOST_NAMES) -> str:
    """Suggestions for an unknown name: similar names or all known names; only the nearest if there are many."""
    return _fairlane.near(name, list(known), most)


def message_line(message: str) -> str:
    """A message as one line. Shortens very long words, which come from input."""
    return " ".join(shortened(visible(word), LONGEST_WORD) for word in message.split())


def shortened(text: str, most: int) -> str:
    """Shortens a text of more than `most` characters by leaving out its middle."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[head + 1 - most :]}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
