"""Keys of a scenario that a plane supports, and reasons for rejecting others.

A key that a plane does not support, or that its rules do not list, must keep its default.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.text import LONGEST_VALUE, shortened

Table = Mapping[str, Any]
IMPAIRMENTS = ("loss", "jitter", "detour", "reorder", "duplicate", "corrupt", "slot", "policer")
"""Tables of the impairments of a link, which are prefixed for the bottleneck and for access links."""
MOST_PROBLEMS = 20
"""Maximum number of problems in a message."""


@dataclass(frozen=True)
class Honoured:
    """A key that has the same effect as in the simulator.

    Attributes:
        where: Corresponding setting of the plane.
        only: The plane that supports it; empty if all do.
    """

    where: str
    only: str = ""


@dataclass(frozen=True)
class Refused:
    """A key that is not supported.

    Attributes:
        why: End of the error message.
        same: Values, besides the default, that are equivalent to the plane's behaviour.
    """

    why: str
    same: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Required:
    """A key that must have one of these values, even if none is its default.

    Attributes:
        values: Values that the plane supports.
        why: End of the error message.
    """

    values: tuple[Any, ...]
    why: str


Rule = Honoured | Refused | Required
Rules = Mapping[str, Rule]
"""Rules by key, such as `groups[].sources[tcp].flows`. A key contains the kind of a source instead of indices."""


def each(section: str, rule: Rule) -> dict[str, Rule]:
    """Returns the same rule for every key of a table of the scenario."""
    return dict.fromkeys(json.loads(_fairlane.scenario_schema())["properties"][section]["properties"], rule)


def check(scenario: str, rules: Rules, plane: str, whose: str) -> None:
    """Raises a UserError naming the first key of a canonical scenario that a plane does not support."""
    for problem in problems(scenario, rules, plane, whose):
        raise UserError(problem)


def problems(scenario: str, rules: Rules, plane: str, whose: str) -> Iterator[str]:
    """Lists the keys of a canonical scenario that a plane does not support, with value and reason.

    Does not check `queue` and `marker`. `whose` names the owner of the rules in messages.
    """
    table = json.loads(scenario)
    for key, pattern, value, default in _leaves(table):
        match rules.get(pattern, Refused(f"{whose} does not know this key")):
            case Honoured(only=only) if only in ("", plane):
                continue
            case Honoured(only=only):
                allowed, why = (default,), f"only the plane {only} has it"
            case Refused(why=why, same=same):
                allowed = (default, *same)
            case Required(values=allowed, why=why):
                pass
        if value not in allowed:
            yield f"{key}: {shown(value)}, {why}"


def joined(found: Iterable[str]) -> str:
    """Joins problems into one line, which names keys with the same problem together."""
    keys: dict[str, dict[str, None]] = {}
    for one in found:
        key, _, problem = one.partition(": ")
        keys.setdefault(problem, {})[key] = None
    lines = [f"{_first(list(of), ', ')}: {problem}" for problem, of in keys.items()]
    return _first(lines, "; ", MOST_PROBLEMS)


def _first(words: Sequence[str], between: str, most: int = 3) -> str:
    rest = len(words) - most
    return between.join(words[:most]) + (f"{between}and {rest} more" if rest > 0 else "")


def decisive(scenario: str, rules: Rules) -> str:
    """Removes the keys that a plane does not support from a canonical scenario. `check` allows only one value of each.

    So measured runs stay valid if the simulator gets a new key. `queue` and `marker` stay complete; profiles stay too,
    since the keys of a source depend on them.
    """
    table = json.loads(scenario)

    def kept(section: str, of: Table) -> dict[str, Any]:
        return {
            name: value
            for name, value in of.items()
            if name == "profile" or isinstance(rules.get(f"{section}.{name}"), Honoured)
        }

    for section in ("run", "topology", "tcp", "probes"):
        table[section] = kept(section, table[section])
    table["groups"] = [
        {
            **kept("groups[]", group),
            "sources": [
                {"kind": source["kind"], **kept(f"groups[].sources[{source['kind']}]", source)}
                for source in group["sources"]
            ],
        }
        for group in table["groups"]
    ]
    return json.dumps(table, ensure_ascii=False)


def _leaves(table: Table) -> Iterator[tuple[str, str, Any, Any]]:
    """Yields key, pattern (key in the rules), value and default of all keys outside of `queue` and `marker`."""
    common = defaults(table["tcp"]["profile"])
    standard = defaults()
    yield "name", "name", table["name"], table["name"]
    for section in ("run", "topology", "tcp", "probes"):
        for name, value in table[section].items():
            # The user sets a profile, which then sets its keys.
            of = standard if name == "profile" else common
            yield f"{section}.{name}", f"{section}.{name}", value, of[section].get(name)
    for index, group in enumerate(table["groups"]):
        for name, value in group.items():
            if name != "sources":
                yield f"groups[{index}].{name}", f"groups[].{name}", value, common["groups"][0].get(name)
        for number, source in enumerate(group["sources"]):
            at = f"groups[{index}].sources[{number}]"
            own = _defaults_of_source(source, table["tcp"])
            for name, value in source.items():
                kind = "" if name == "kind" else source["kind"]
                yield f"{at}.{name}", f"groups[].sources[{kind}].{name}", value, own.get(name)


def _defaults_of_source(source: Table, tcp: Table) -> Table:
    """Defaults of a source: the values of [tcp], which is checked separately, or those of the source's own profile."""
    if source["kind"] != "tcp":
        return {}
    own = tcp if source["profile"] == tcp["profile"] else defaults(source["profile"])["tcp"]
    return {**defaults()["groups"][0]["sources"][0], **own, "profile": tcp["profile"]}


@cache
def defaults(profile: str | None = None, scheme: str = "droptail", limit: str | None = None) -> dict[str, Any]:
    """A canonical scenario with defaults for all other keys."""
    table: dict[str, Any] = {
        "queue": {"scheme": scheme, **({"limit": limit} if limit else {})},
        "groups": [{"name": "users", "sources": [{"kind": "tcp"}]}],
        **({"tcp": {"profile": profile}} if profile else {}),
    }
    found: dict[str, Any] = json.loads(_fairlane.canonical(json.dumps(table)))
    return found


def shown(value: Any) -> str:
    """A value for messages."""
    return shortened(json.dumps(value, ensure_ascii=False), LONGEST_VALUE)
