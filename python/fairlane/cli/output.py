"""Standard output and standard error: lines and JSON, whatever the encoding."""

from __future__ import annotations

import codecs
import json
import sys
from typing import Any

import click

from fairlane.base.text import visible

_SIGNS = {"±": "+-", "≥": ">=", "≤": "<=", "∞": "inf", "…": "...", "–": "-"}
"""ASCII substitutes for our symbols, for encodings that lack them."""


def say(line: str, *, error: bool = False) -> None:
    """Prints a line."""
    click.echo(visible(line), err=error)


def print_json(text: str) -> None:
    """Prints JSON; characters that the encoding lacks or a terminal would interpret are written as JSON escapes."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = "\n".join(line if line.isprintable() else _printable(line) for line in text.split("\n"))
    click.echo(shown.encode(encoding, errors=_JSON).decode(encoding))


def print_document(document: Any) -> None:
    """Prints a short document as indented JSON."""
    print_json(json.dumps(document, indent=2, ensure_ascii=False))


def _printable(line: str) -> str:
    return "".join(character if character.isprintable() else _units(character) for character in line)


def _units(text: str) -> str:
    r"""Escapes text as JSON does, such as `\u009b`."""
    units = text.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[index : index + 2].hex()}" for index in range(0, len(units), 2))


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _units(error.object[error.start : error.end]), error.end


def _signs(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeEncodeError) and (sign := _SIGNS.get(error.object[error.start])):
        return sign, error.start + 1
    return _escaped(error)


_JSON, READABLE = "fairlane.json", "fairlane.readable"
codecs.register_error(_JSON, _escaped)
codecs.register_error(READABLE, _signs)
