"""Schemes with parameters, in the notation of lists of queues.

abc                         a scheme
fq_codel:share_per=user     with a parameter; several are separated by commas
mine=abc:gamma=8 packets    with a label
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from fairlane import _fairlane
from fairlane.base.errors import UserError, check_kind
from fairlane.base.text import near, quoted
from fairlane.simulate.catalogue import Scheme, SchemeParameter, schemes
from fairlane.simulate.scenario import Scenario

#: Stands for all schemes of the catalogue.
ALL = "all"

_LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")

Queue: TypeAlias = str | Mapping[str, Any]
"""A scheme in this notation, or a table such as `{"scheme": "abc", "gamma": "8 packets"}`."""
Queues: TypeAlias = Iterable[Queue] | Mapping[str, Queue]
"""Several schemes, possibly with labels."""


@dataclass(frozen=True)
class Variant:
    """A scheme with its parameters.

    Attributes:
        label: Name in tables.
        scheme: Name of the scheme.
        settings: Parameters that differ from the defaults, by key of the scenario.
        about: Catalogue entry; None for the user's own scheme.
    """

    label: str
    scheme: str
    settings: Mapping[str, Any]
    about: Scheme | None

    @classmethod
    def parsed(cls, text: str, what: str = "schemes", *, shared: bool = False) -> Self:
        """Parses a variant; `shared` allows parameters that every scheme has, such as the limit.

        Raises:
            UserError: The text is not a variant.
        """
        check_kind(what, text, (str,), "the name of a scheme, such as abc or fq_codel:share_per=user")
        head, colon, rest = text.partition(":")
        label, equals, name = head.rpartition("=")
        about = _about(name)
        if equals and not _LABEL.fullmatch(label):
            raise UserError(f"{text}: {quoted(label)} is no name of an entry: letters, digits, ., - and _")
        pairs = (_pair(text, one) for one in rest.split(",")) if colon else ()
        settings = dict(_written(about, text, key, value, shared) for key, value in pairs)
        return cls(label if equals else text, name, settings, about)

    @classmethod
    def of_table(cls, table: Mapping[str, Any], label: str | None = None) -> Self:
        """The variant described by a table with a scheme and any of its parameters.

        Raises:
            UserError: The table does not describe a variant.
        """
        given = dict(table)
        name = given.pop("scheme", None)
        if not isinstance(name, str):
            raise UserError(
                f'queues: {quoted(dict(table))} is no table such as {{"scheme": "abc", "gamma": "8 packets"}}'
            )
        about = _about(name)
        own = label or (
            f"{name}:{','.join(f'{key}={_shown(value)}' for key, value in given.items())}" if given else name
        )
        settings = {_parameter(about, own, str(key), True)[0]: value for key, value in given.items()}
        return cls(own, name, settings, about)

    def under(self, canonical: str) -> str:
        """Returns a canonical scenario under this scheme, with the variant's parameters and an unchanged buffer.

        Raises:
            ScenarioError: The scheme does not have a parameter.
        """
        table = _fairlane.with_queue(canonical, self.scheme)
        if not self.settings:
            return table
        return Scenario.from_dict(json.loads(table)).changed(self.settings).canonical()


def variants(queues: Queues) -> list[Variant]:
    """Checks and returns schemes to compare; `["all"]` means all schemes of the catalogue.

    Raises:
        UserError: A scheme or parameter is unknown, a name is given twice, or none is given.
    """
    check_kind("queues", queues, (Iterable,), "a list of names of schemes")
    if isinstance(queues, Mapping):
        found = [_labelled(str(label), queue) for label, queue in queues.items()]
    else:
        given = [queues] if isinstance(queues, str) else list(queues)
        found = every() if given == [ALL] else [_variant(queue) for queue in given]
    check_once([variant.label for variant in found])
    return found


def every() -> list[Variant]:
    """All schemes of the catalogue."""
    return [Variant(scheme["name"], scheme["name"], {}, scheme) for scheme in schemes()]


def check_once(labels: list[str]) -> None:
    """Raises a UserError if a name is empty or repeated, or if there are no names."""
    if not all(labels) or not labels or len(set(labels)) < len(labels):
        raise UserError(f"queues: {','.join(labels) or 'nothing'} given; name each scheme once, as in droptail,abc")


def split_variants(texts: Iterable[str]) -> list[str]:
    """Splits comma-separated variants; `KEY=VALUE` after a variant with parameters is another parameter."""
    found: list[str] = []
    for text in texts:
        has_parameters = False
        for part in (part.strip() for part in text.split(",")):
            if has_parameters and "=" in part and ":" not in part:
                found[-1] += f",{part}"
            else:
                found.append(part)
                has_parameters = ":" in part
    return found


def _variant(queue: Queue) -> Variant:
    if isinstance(queue, Mapping):
        return Variant.of_table(queue)
    if not isinstance(queue, str):
        raise UserError(f'queues: {quoted(queue)} is neither a scheme, such as "abc", nor a table of its parameters')
    # No scheme has an empty name; the message of `check_once` says how schemes are named.
    return Variant.parsed(queue, "queues", shared=True) if queue else Variant("", "", {}, None)


def _labelled(label: str, queue: Queue) -> Variant:
    if isinstance(queue, Mapping):
        return Variant.of_table(queue, label)
    found = _variant(queue)
    return Variant(label, found.scheme, found.settings, found.about)


def _about(name: str) -> Scheme | None:
    return None if name in _fairlane.registered_schemes() else schemes(name)[0]


def _pair(text: str, one: str) -> tuple[str, str]:
    key, equals, value = (part.strip() for part in one.partition("="))
    if not equals or not key or not value:
        raise UserError(f"{text}: {quoted(one)} is not KEY=VALUE, as in fq_codel:share_per=user")
    return key, value


def _written(about: Scheme | None, text: str, key: str, value: str, shared: bool) -> tuple[str, Any]:
    place, param = _parameter(about, text, key, shared)
    return place, _value(param, value)


def _parameter(about: Scheme | None, text: str, key: str, shared: bool) -> tuple[str, SchemeParameter]:
    """Scenario key and parameter of a name. The prefix `marker.` is needed if queue and marker have the parameter."""
    own = [param for param in about["params"] if shared or not param["shared"]] if about else []
    for param in own:
        place = f"{param['table']}.{param['name']}"
        if key in {param["name"], place}:
            return place, param
    known = list(dict.fromkeys(param["name"] for param in own))
    raise UserError(f"{text}: {quoted(key)} is no parameter of its own; {near(key, known) if known else 'it has none'}")


def _value(param: SchemeParameter, value: str) -> Any:
    """TOML notation: numbers and booleans without quotes."""
    if param["type"] == "flag" and value in {"true", "false"}:
        return value == "true"
    if param["type"] in {"count", "number", "probability"} and _NUMBER.fullmatch(value):
        return int(value) if param["type"] == "count" and value.lstrip("+-").isdecimal() else float(value)
    return value


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
