"""Results and comparisons in notebooks, with the same tables as on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairlane.base import html
from fairlane.results.notes import joined, notes_in
from fairlane.results.table import Table
from fairlane.results.tables import MOST_QUEUES, headline, overview_tables, summary_tables


def result_html(document: Mapping[str, Any], queue: str) -> str:
    """Groups, shares, delays, links and notes of one scenario."""
    head = html.paragraph(headline(document), document["scenario"]["name"])
    return html.block(head, *tables(summary_tables({queue: document})), *notes(notes_in(document)))


def comparison_html(document: Mapping[str, Any]) -> str:
    """The tables of `result_html` with a row per queue; for many queues, one table of the main metrics."""
    documents = document["results"]
    first = next(iter(documents.values()))
    parts = [html.paragraph(headline(first), first["scenario"]["name"])]
    if len(documents) > MOST_QUEUES:
        parts += tables(overview_tables(document))
    else:
        parts += tables(summary_tables(documents))
    return html.block(*parts, *notes(joined({name: notes_in(one) for name, one in documents.items()})))


def tables(found: Iterable[Table]) -> Sequence[str]:
    """Tables of names and numbers, with the descriptions of their rows."""
    return [
        part
        for table in found
        for part in (
            html.table(table.heads, table.rows, table.keys),
            html.paragraph(table.note, kind="quiet") if table.note else "",
        )
        if part
    ]


def notes(lines: Iterable[str]) -> Sequence[str]:
    """Notes, which are caveats about the numbers."""
    return [html.paragraph(f" {line}", "note:") for line in lines]
