"""The scenario of `fairlane init`, a starting point with an explanation of each key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from fairlane.base import toml
from fairlane.base.errors import UserError
from fairlane.base.quantities import parsed
from fairlane.base.text import quoted, visible
from fairlane.schemas import schema
from fairlane.simulate.catalogue import schemes
from fairlane.simulate.scenario import Scenario

WIDTH = 100
BUFFER, SCHEME, RATE, RTT = "24 packets", "abc", "10 Mbit/s", "20 ms"
"""Defaults of the scenario."""
_HEADER = """\
# A scenario of Fairlane. Lines that begin with # are comments; keys in them have the value that is taken without them.
#
#   fairlane run {file}
#   fairlane compare {file} --queues droptail,{scheme}
#
# docs/scenario.md has every key; `fairlane schemes {scheme}` lists the parameters of the scheme.
"""
_GROUPS = """\
# Users that are alike are a group. Each has all of its sources.
[[groups]]
name = "heavy"
users = 1

[[groups.sources]]
kind = "tcp" # or web, transfers, video, rpm, poisson, cbr, on_off, voip
flows = 10

[[groups]]
name = "light"
users = 10

[[groups.sources]]
kind = "tcp"
"""


def profiles() -> tuple[list[str], str]:
    """Names of the TCP profiles, and the default one."""
    profile = schema("scenario")["properties"]["tcp"]["properties"]["profile"]
    return list(profile["enum"]), str(profile["default"])


def scenario_file(
    name: str,
    file: str,
    *,
    profile: str | None = None,
    buffer: str = BUFFER,
    scheme: str = SCHEME,
    rate: str = RATE,
    rtt: str = RTT,
) -> str:
    """The text of the file.

    Args:
        name: Name of the scenario.
        file: Path of the file for the commands in its first lines.
        profile: TCP profile; the default one if None.
        buffer: Limit of the queue: packets, a size, or the time to send a full queue.
        scheme: Scheme of the queue.
        rate: Rate of the bottleneck.
        rtt: Round-trip time without queues.

    Raises:
        UserError: The scheme is unknown, or round-trip time or buffer are invalid.
        ScenarioError: Another value is out of range.
    """
    about = schemes(scheme)[0]
    properties = schema("scenario")["properties"]
    run = {"measure": "60 s", "warmup": "20 s", "replications": 5, "seed": 1}
    topology = {"bottleneck_rate": rate, "bottleneck_delay": _one_way(rtt)}
    queue = {"scheme": scheme, "limit": _limit(buffer, rate)}
    own = {
        param["name"]: param
        for param in about["params"]
        if param["table"] == "queue" and not param["shared"] and param["default"] is not None
    }
    text = "\n".join(
        [
            _HEADER.format(file=visible(file), scheme=scheme),
            _assignment("name", name),
            "",
            *_table("run", run, properties["run"]["properties"]),
            *_table("topology", topology, properties["topology"]["properties"]),
            *_table("queue", queue, {"limit": {"description": f"{_doc(about, 'limit')}"}}),
            *(line for param in own.values() for line in _commented(param["name"], param["default"], param["doc"])),
            "",
            *_table("tcp", {"profile": profile or profiles()[1]}, properties["tcp"]["properties"]),
            _GROUPS,
        ]
    )
    Scenario.from_dict(toml.parse(text)).canonical()  # raises for values out of range
    return text


def _doc(about: Mapping[str, Any], name: str) -> str:
    return next(str(param["doc"]) for param in about["params"] if param["name"] == name)


def _one_way(rtt: str) -> str:
    """Delay of the bottleneck: half the round-trip time minus 0.1 ms for the access link."""
    seconds = parsed(rtt, "s")
    if seconds is None or seconds < 2e-4:
        raise UserError(f'rtt: {quoted(rtt)} is not a time such as "20 ms" from 0.2 ms up')
    return f"{round(seconds / 2 * 1e6 - 100)} us"


def _limit(buffer: str, rate: str) -> str:
    """Limit of the queue; converts a time to the bytes that the link sends in it."""
    seconds, bits_per_s = parsed(buffer, "s"), parsed(rate, "bit/s")
    if seconds is None:
        return buffer
    if bits_per_s is None:
        raise UserError(f'rate: {quoted(rate)} is not a rate such as "10 Mbit/s"')
    return f"{round(seconds * bits_per_s / 8)} B"


def _table(name: str, values: Mapping[str, Any], properties: Mapping[str, Any]) -> list[str]:
    lines = [f"[{name}]"]
    for key, value in values.items():
        lines += [*_comment(properties.get(key, {}).get("description", "")), _assignment(key, value)]
    return (
        [
            *lines,
            "",
        ]
        if name != "queue"
        else lines
    )


def _commented(key: str, default: Any, doc: str) -> Sequence[str]:
    return [*_comment(doc), f"# {_assignment(key, default)}"]


def _comment(words: str) -> list[str]:
    return wrap(words, WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False)


def _assignment(key: str, value: Any) -> str:
    import tomli_w

    return tomli_w.dumps({key: value}).strip()
