"""Common parts of pages: templates, style sheet, and formatting of values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from fairlane import _fairlane
from fairlane.base.text import for_page

TEMPLATES = Path(__file__).parent / "templates"
STYLE_SHEET, SCRIPT = "style.css", "sort.js"
NARROW = "-narrow"
"""Suffix of the stem of a figure for small screens."""
_CODE = re.compile(r"`([^`]+)`")


class Pages:
    """Writes pages into a folder.

    Args:
        stage: The folder.
        known: Names available in every template, in addition to the version.
    """

    def __init__(self, stage: Path, **known: Any) -> None:
        self._stage = stage
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            finalize=for_page,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters["prose"] = prose
        self._environment.globals |= {"version": _fairlane.version(), **known}

    def write(self, template: str, name: str, **context: Any) -> None:
        """Writes the page `name`.html."""
        html = self._environment.get_template(f"{template}.html.jinja").render(context)
        (self._stage / f"{name}.html").write_text(html + "\n", encoding="utf-8")

    def write_style_sheet(self) -> None:
        """Writes the style sheet and the script that sorts tables."""
        for name in (STYLE_SHEET, SCRIPT):
            (self._stage / name).write_bytes((TEMPLATES / name).read_bytes())


def prose(text: str) -> Markup:
    """Converts plain text to HTML; text in backticks becomes code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))
