"""HTML for notebooks, without scripts. All text is escaped, and colours follow the light or dark page around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fairlane.base.text import visible

_STYLE = (
    ".fairlane{font-size:.9em}"
    ".fairlane div{overflow-x:auto}"
    ".fairlane table{border-collapse:collapse;margin:.4em 0;color:inherit;background:none}"
    ".fairlane th,.fairlane td{text-align:left;vertical-align:top;padding:.15em .8em .15em 0;"
    "color:inherit;background:none;border:0;white-space:nowrap}"
    ".fairlane thead th{border-bottom:1px solid rgba(128,128,128,.6);white-space:pre-line}"
    ".fairlane tbody th{font-weight:inherit}"
    ".fairlane td.words{white-space:normal;min-width:14em}"
    ".fairlane p{margin:.3em 0}"
    ".fairlane .quiet{opacity:.75}"
    ".fairlane pre{color:inherit;background:none}"
)


def text(value: object) -> str:
    """A value as escaped text."""
    return escape(visible(str(value)))


def paragraph(words: object, title: object = "", kind: str = "") -> str:
    """A paragraph of class `kind`, with an optional title in bold."""
    strong = f"<strong>{text(title)}</strong>" if str(title) else ""
    return f"<p{f' class={kind}' if kind else ''}>{strong}{text(words)}</p>"


def table(
    heads: Sequence[str | tuple[str, ...]], rows: Iterable[Sequence[object]], keys: int = 1, words: Iterable[int] = ()
) -> str:
    """A table. Its first `keys` columns identify a row; text in the columns `words` is wrapped."""
    wrapped = set(words)
    shown = "".join(f'<th scope="col">{_head(head)}</th>' for head in heads)
    lines = []
    for row in rows:
        cells = [
            f'<th scope="row">{text(cell)}</th>'
            if index < keys
            else f"<td{' class=words' if index in wrapped else ''}>{text(cell)}</td>"
            for index, cell in enumerate(row)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<div><table><thead><tr>{shown}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def folded(summary: str, content: str) -> str:
    """Preformatted text in a collapsible block."""
    kept = escape(visible(content, keep="\n\t"))
    return f"<details><summary>{text(summary)}</summary><pre>{kept}</pre></details>"


def block(*parts: str) -> str:
    """Joins parts and adds their style."""
    return f'<div class="fairlane"><style>{_STYLE}</style>{"".join(parts)}</div>'


def _head(head: str | tuple[str, ...]) -> str:
    return "\n".join(map(text, head)) if isinstance(head, tuple) else text(head)
