"""Draws values that follow a JSON Schema of the project, with rare exceptions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fuzzer.draw import Draw, junk, quantity, scaled, text

Schema = Mapping[str, Any]


class FromSchema:
    """Draws values from a schema.

    Attributes:
        wild: Probability that a value is junk.
        optional: Probability that an optional key is set.
    """

    def __init__(self, draw: Draw, *, wild: float, optional: float) -> None:
        self._draw = draw
        self.wild = wild
        self.optional = optional

    def value(self, schema: Schema, root: Schema | None = None) -> Any:
        """A value."""
        draw, root = self._draw, root or schema
        if not draw.calm and draw.chance(self.wild):
            return junk(draw)
        if "$ref" in schema:
            return self.value(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return self.value(draw.pick(schema[choice]), root)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return draw.pick(schema["enum"])
        kind = schema.get("type")
        match draw.pick(kind) if isinstance(kind, list) else kind:
            case "object":
                return self._table(schema, root)
            case "array":
                most = max(schema.get("minItems", 0), draw.few(4))
                return [self.value(schema.get("items", {}), root) for _ in range(most)]
            case "integer":
                return self._number(schema, whole=True)
            case "number":
                return self._number(schema, whole=False)
            case "boolean":
                return draw.chance(0.5)
            case "null":
                return None
            case "string":
                return self._text(schema)
            case _:
                return junk(draw)

    def _table(self, schema: Schema, root: Schema) -> dict[str, Any]:
        draw, required = self._draw, schema.get("required", ())
        table = {
            name: self.value(inner, root)
            for name, inner in schema.get("properties", {}).items()
            if name in required or draw.chance(self.optional)
        }
        if isinstance(schema.get("additionalProperties"), Mapping):
            table |= {text(draw): self.value(schema["additionalProperties"], root) for _ in range(draw.few(3))}
        if draw.calm:
            return table
        if draw.chance(self.wild):
            table[text(draw)] = junk(draw)
        if table and draw.chance(self.wild):
            del table[draw.pick(list(table))]
        return table

    def _number(self, schema: Schema, *, whole: bool) -> Any:
        draw = self._draw
        least, most = schema.get("minimum", 0), schema.get("maximum", 1000)
        kind = draw.random()
        if kind < 0.5 and "default" in schema:
            return schema["default"]
        if kind < 0.6:
            return draw.pick((least, most))
        if kind < 0.65 and not draw.calm:
            step = 1 if whole else 1e-9 * max(1.0, abs(most))
            return draw.pick((least - step, most + step))
        # Numbers of all magnitudes, uniform in the logarithm.
        size = math.expm1(draw.uniform(0, math.log1p(min(most - least, 1e15))))
        return int(least + size) if whole else least + size

    def _text(self, schema: Schema) -> Any:
        draw = self._draw
        if "pattern" not in schema:
            return text(draw) if draw.chance(0.3) and not draw.calm else draw.pick(("a", "link1", "bottleneck", "b"))
        kind = draw.random()
        usual = schema.get("default", schema.get("examples", ["1 s"])[0])
        if kind < 0.4 or not isinstance(usual, str):
            return usual
        if kind < 0.85:
            return scaled(draw, usual)
        if kind < 0.95:
            return schema.get(draw.pick(("x-minimum", "x-maximum")), usual)
        return usual if draw.calm else quantity(draw)


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values in a table, including tables and arrays."""
    found = [at] if at else []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += places(inner, (*at, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(inner, (*at, index))
    return found


def dotted(place: tuple[str | int, ...]) -> str:
    """A path in the notation of `--set` and error messages."""
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return shown.removeprefix(".")


def at(value: Any, place: tuple[str | int, ...]) -> Any:
    """The value at a path."""
    for part in place:
        value = value[part]
    return value
