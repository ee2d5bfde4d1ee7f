"""Tables of results for pages: the terminal's tables with more rows, one scheme below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlane.report.own_page import Head, Row, Table
from fairlane.results.access import access_tables
from fairlane.results.links import busiest_links
from fairlane.results.paths import path_tables
from fairlane.results.table import Json
from fairlane.results.table import Table as Found

MOST = 50
"""Maximum number of rows of nodes, links, users and flows per scheme."""
QUEUE = "queue"
MEANS = "Means ± half width of the 95% interval"


def tables(documents: Mapping[str, Json]) -> list[Table]:
    """Tables by scheme: delays of groups, users and flows; and for an access network, further tables."""
    found = [*path_tables(documents, MOST), *access_tables(documents, MOST)]
    if len(next(iter(documents.values()))["summary"]["links"]) > 1:
        found.append(busiest_links(documents, MOST))
    return [_of_page(table, list(documents)) for table in found if table.rows]


def _of_page(table: Found, schemes: Sequence[str]) -> Table:
    """Sorts the rows so that those about the same user, flow, link or node are adjacent, one per scheme.

    Leaves out the column of the scheme if there is only one scheme.
    """
    heads = [" ".join(head) if isinstance(head, tuple) else head for head in table.heads]
    subjects = [index for index in range(table.keys) if heads[index] != QUEUE]
    rows = table.rows
    keys = subjects
    if QUEUE in heads:
        queue = heads.index(QUEUE)
        order = {key: place for place, key in enumerate(dict.fromkeys(tuple(row[i] for i in subjects) for row in rows))}
        rows = sorted(rows, key=lambda row: (order[tuple(row[i] for i in subjects)], schemes.index(row[queue])))
        keys = [*subjects, queue] if len(schemes) > 1 else subjects
    return Table(
        stem=table.title.lower().replace(" ", "-"),
        title=table.title,
        caption=_caption(table),
        keys=["scheme" if heads[index] == QUEUE else heads[index] for index in keys],
        heads=[Head(head) for head in heads[table.keys :]],
        rows=[Row([row[i] for i in keys], [cell or "–" for cell in row[table.keys :]]) for row in rows],
    )


def _caption(table: Found) -> str:
    """Subject of the rows, and an explanation of the numbers if they have intervals."""
    has_intervals = any("±" in cell for row in table.rows for cell in row)
    sentences = [MEANS if has_intervals else "", table.note[:1].upper() + table.note[1:]]
    return "".join(f"{sentence}. " for sentence in sentences if sentence).rstrip()
