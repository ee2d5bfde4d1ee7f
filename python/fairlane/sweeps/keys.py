"""Keys of a sweep file, from which the parser's checks, the JSON Schema and the documentation are derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairlane.base.errors import UserError
from fairlane.base.text import near, quoted

Kind = Literal["text", "count", "settings", "axes", "list of axes", "targets", "table"]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the file.

    Attributes:
        name: Name, prefixed by the table that contains the key.
        kind: Kind of value.
        default: Default, a number or words; "required" if there is none.
        doc: Meaning.
        least: Smallest allowed number.
        most: Largest allowed number.
    """

    name: str
    kind: Kind
    default: str | int
    doc: str
    least: float | None = None
    most: float | None = None


KEYS = (
    Key(
        "name",
        "text",
        "name of the file",
        "Name of the sweep and of its folder in `results`; letters, digits, `.`, `_` and `-`.",
    ),
    Key("scenario", "text", "required", "Path of the scenario file, relative to the sweep file."),
    Key(
        "replications",
        "count",
        "the scenario's number",
        "Runs per point, instead of `run.replications`; excludes `[stop]`.",
        1,
        100_000,
    ),
    Key("set", "settings", "none", "Keys of the scenario to change at every point."),
    Key("grid", "axes", "none", "Keys of the scenario with an array of values each; every combination is a point."),
    Key(
        "zip",
        "list of axes",
        "none",
        "Like `grid`, but the keys of one table change together: the first values, the second values, and so on.",
    ),
    Key("stop", "table", "none", "Rule that ends the runs of a point when its intervals are narrow enough."),
    Key(
        "stop.relative_half_width",
        "targets",
        "required",
        "Target for each metric: half width of the 95 % interval divided by the mean. All targets must be reached.",
        0.0001,
        1.0,
    ),
    Key("stop.min_replications", "count", 5, "Runs before the first evaluation of the rule.", 2, 100_000),
    Key("stop.max_replications", "count", 100, "Maximum runs of a point.", 2, 100_000),
)

_JSON_KINDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "minLength": 1},
    "count": {"type": "integer"},
    "settings": {"type": "object"},
    "axes": {"type": "object", "additionalProperties": {"type": ["array", "object"], "minItems": 1}},
    "list of axes": {
        "type": "array",
        "items": {"type": "object", "additionalProperties": {"type": ["array", "object"], "minItems": 1}},
    },
    "targets": {"type": "object", "minProperties": 1, "additionalProperties": {"type": ["number", "object"]}},
    "table": {"type": "object", "additionalProperties": False},
}


def named(name: str) -> Key:
    """The key called `name`."""
    return next(key for key in KEYS if key.name == name)


def check_names(table: Mapping[str, Any], prefix: str = "") -> None:
    """Raises a UserError for an unknown key."""
    known = [
        key.name.removeprefix(prefix)
        for key in KEYS
        if key.name.startswith(prefix) and "." not in key.name.removeprefix(prefix)
    ]
    for name in table:
        if name not in known:
            raise UserError(f"{prefix}{name}: unknown key; {near(name, known)}")


def count(table: Mapping[str, Any], prefix: str, name: str) -> int:
    """The value of a key that is a count, or its default; raises a UserError with the range if invalid."""
    return check_count(f"{prefix}{name}", table.get(name, named(f"{prefix}{name}").default))


def check_count(name: str, value: Any) -> int:
    """Returns a count; raises a UserError with the range if invalid."""
    key = named(name)
    if isinstance(value, bool) or not isinstance(value, int) or not _within(key, value):
        raise UserError(f"{name}: {quoted(value)} is not a whole number from {key.least} to {key.most}")
    return value


def check_target(metric: str, value: Any) -> float:
    """Returns a target of `[stop]`; raises a UserError with the range if invalid."""
    key = named("stop.relative_half_width")
    if isinstance(value, bool) or not isinstance(value, int | float) or not _within(key, value):
        raise UserError(f"{key.name}.{metric}: {quoted(value)} is not a number from {key.least} to {key.most}")
    return float(value)


def file_schema() -> dict[str, Any]:
    """The JSON Schema of a sweep file."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sweep",
        "description": "One scenario at many points, each with replications.",
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    for key in KEYS:
        table = schema
        *tables, name = key.name.split(".")
        for part in tables:
            table = table["properties"][part]
        value = {"description": key.doc, **_JSON_KINDS[key.kind]}
        if key.kind == "count":
            value |= {"minimum": key.least, "maximum": key.most}
        if isinstance(key.default, int):
            value["default"] = key.default
        if key.default == "required":
            table.setdefault("required", []).append(name)
        table.setdefault("properties", {})[name] = value
    return schema


def _within(key: Key, value: float) -> bool:
    # A NaN is outside every range.
    return key.least is not None and key.most is not None and key.least <= value <= key.most
