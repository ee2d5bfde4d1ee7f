"""Makes RFCs searchable by number. The search ignores numbers, so "RFC 8289" becomes one word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_RFC = re.compile(r"\bRFCs?\W+(\d+)", re.IGNORECASE)
_SPLITTER = r"""
var splitQuery = (query) =>
  query.replace(/\bRFCs?[^\p{L}\p{N}]+(\d+)/giu, "rfc$1").split(/[^\p{L}\p{N}_]+/gu).filter((term) => term);
"""


class Search(SearchEnglish):  # type: ignore[misc]
    """English, with RFCs."""

    js_splitter_code = _SPLITTER

    def split(self, input: str) -> list[str]:
        """Returns the words of a text."""
        words: list[str] = super().split(_RFC.sub(r"RFC rfc\1", input))
        return words


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension with Sphinx."""
    app.add_search_language(Search)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
