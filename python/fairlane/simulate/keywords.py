"""Functions of `queues` and `markers`: one per scheme, with a keyword argument per parameter.

The functions are created on first use from the simulator's declarations. `make docs` writes a stub next to each module,
for editors and type checkers.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature
from textwrap import wrap
from typing import Any, Literal

from fairlane.base.text import near
from fairlane.simulate.catalogue import Scheme, SchemeParameter, schemes

WIDTH = 116
_KINDS: dict[str, Any] = {"flag": bool, "count": int, "number": float}
"""Kinds of parameters without a unit."""

Build = Callable[..., dict[str, Any]]
Table = Literal["queue", "marker"]


def members(module: str, table: Table) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` of a module with a function for each scheme that has keys in `table`."""

    @cache
    def known() -> dict[str, Scheme]:
        return {
            _word(scheme["name"]): scheme
            for scheme in sorted(schemes(), key=lambda scheme: scheme["name"])
            if _params(scheme, table)
        }

    @cache
    def member(name: str) -> Any:
        if name == "__all__":
            return list(known())
        if name.startswith("__") or name not in known():
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return _function(module, name, known()[name], table)

    return member, lambda: list(known())


def _function(module: str, name: str, scheme: Scheme, table: Table) -> Build:
    params = _params(scheme, table)
    keys = {_word(param["name"]): param["name"] for param in params}
    first = {"scheme": scheme["name"]} if table == "queue" else {}

    def build(**values: Any) -> dict[str, Any]:
        for word in values:
            if word not in keys:
                raise TypeError(f"{name}() got an unexpected keyword argument {word!r}; {near(word, keys)}")
        return first | {key: values[word] for word, key in keys.items() if values.get(word) is not None}

    build.__module__, build.__name__, build.__qualname__ = module, name, name
    build.__doc__ = _doc(scheme["title"] if table == "queue" else f"The marker of {scheme['title']}", params)
    keywords = [
        Parameter(_word(one["name"]), Parameter.KEYWORD_ONLY, default=None, annotation=_kind(one)) for one in params
    ]
    build.__signature__ = Signature(keywords, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    return build


def _params(scheme: Scheme, table: Table) -> list[SchemeParameter]:
    """A scheme's parameters in the table `queue` or `marker`; parameters that all schemes share come last."""
    return sorted((one for one in scheme["params"] if one["table"] == table), key=lambda one: one["shared"])


def _kind(param: SchemeParameter) -> Any:
    return (Literal[*param["choices"]] if param["choices"] else _KINDS.get(param["type"], str)) | None


def _doc(title: str, params: list[SchemeParameter]) -> str:
    lines = [f"{title}.", "", "Args:"]
    for param in params:
        value = param["default"]
        quoted = f'"{value}"' if isinstance(value, str) else value
        default = "" if value is None else f" Default: {quoted}."
        words = f"{_word(param['name'])}: {param['doc']}{default}"
        lines += wrap(words, WIDTH, initial_indent="    ", subsequent_indent="        ", break_long_words=False)
    return "\n".join(lines)


def _word(name: str) -> str:
    """A name as an identifier: `raise` becomes `raise_`."""
    return f"{name}_" if keyword.iskeyword(name) else name
