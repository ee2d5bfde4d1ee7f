"""Scenarios and catalogues in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairlane.base import html

Row = Mapping[str, Any]
"""An entry of a catalogue."""
PARAMETER_HEADS = ("key", "symbol", "default", "written as", "range", "meaning", "source")


def scenario_html(table: Mapping[str, Any], problem: str, text: str) -> str:
    """A scenario in a notebook: queue, network and users as given in `table`, the error if any, and the TOML text."""
    parts = [html.paragraph("", table.get("name") or "scenario")]
    for key in ("queue", "marker", "topology", "tcp", "run", "probes"):
        if key in table:
            parts.append(html.paragraph(f"{key}: {_settings(table[key])}"))
    groups = [group for group in _tables(table.get("groups")) if isinstance(group, Mapping)]
    heads = ("group", "users", "each sends", "and has")
    parts.append(html.table(heads, map(_group, groups), words=(2, 3)))
    if problem:
        parts.append(html.paragraph(problem, "error: "))
    parts.append(html.folded("as a file", text))
    return html.block(*parts)


def schemes_html(schemes: Sequence[Row]) -> str:
    """A row per scheme; for a single scheme, all its parameters."""
    if len(schemes) != 1:
        keys = ("name", "title", "kind", "state", "marker", "source")
        heads = ("scheme", "title", "kind", "state in the core", "marker", "source")
        cells = ([scheme[key] for key in keys] for scheme in schemes)
        return html.block(html.table(heads, cells, words=(1, 3, 5)))
    (scheme,) = schemes
    about = f"source: {scheme['source']}; state in the core: {scheme['state']}; marker: {scheme['marker']}"
    rows = [(f"{param['table']}.{param['name']}", *parameter_cells(param)) for param in scheme["params"]]
    return html.block(
        html.paragraph(f": {scheme['title']}. {scheme['summary']}", scheme["name"]),
        html.paragraph(about, kind="quiet"),
        html.table(PARAMETER_HEADS, rows, words=(5, 6)),
    )


def parameter_cells(one: Row) -> Sequence[str]:
    """Cells of a parameter for `PARAMETER_HEADS`, without its key."""
    default = "" if one["default"] is None else str(one["default"])
    return one["symbol"], default, one["unit"], _range(one), one["doc"], one["source"]


def _range(parameter: Row) -> str:
    """The allowed values of a parameter."""
    if parameter["choices"]:
        return ", ".join(parameter["choices"])
    low, high = parameter["min"], parameter["max"]
    if low is None and high is None:
        return ""
    if high is None:
        return f"≥ {low}"
    return f"≤ {high}" if low is None else f"{low} to {high}"


def _group(group: Mapping[str, Any]) -> Sequence[str]:
    sources = "; ".join(map(_source, _tables(group.get("sources"))))
    rest = {key: value for key, value in group.items() if key not in {"name", "users", "sources"}}
    return str(group.get("name", "")), str(group.get("users", 1)), sources, _settings(rest)


def _source(source: Any) -> str:
    if not isinstance(source, Mapping):
        return str(source)
    rest = {key: value for key, value in source.items() if key != "kind"}
    return f"{source.get('kind', '?')}{f' ({_settings(rest)})' if rest else ''}"


def _settings(table: Any) -> str:
    if not isinstance(table, Mapping):
        return str(table)
    first = [str(table[key]) for key in ("scheme", "kind") if key in table]
    return ", ".join([*first, *(f"{key} = {value}" for key, value in table.items() if key not in {"scheme", "kind"})])


def _tables(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else []
