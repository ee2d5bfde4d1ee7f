"""Draws scenario files from the schema or from an example, with short simulations and with faults."""

from __future__ import annotations

import copy
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import fairlane
from fairlane.base.errors import ScenarioError, UserError
from fuzzer.draw import Draw, document, junk, quantity, scaled, text, toml
from fuzzer.schemas import FromSchema, at, dotted, places

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_USERS = 5
"""Maximum number of users in most cases. More users cost memory and time but find no more bugs."""

Table = dict[str, Any]


@cache
def schema() -> Table:
    """The JSON Schema of scenarios."""
    return fairlane.schema("scenario")


@cache
def scheme_names() -> tuple[str, ...]:
    """All schemes."""
    return tuple(scheme["name"] for scheme in fairlane.schemes())


@cache
def control_names() -> tuple[str, ...]:
    """All congestion controls."""
    return tuple(_controls())


@cache
def examples(folder: str = ".") -> dict[str, str]:
    """Texts of the examples in a folder, by name."""
    return {path.name: path.read_text() for path in sorted((EXAMPLES / folder).glob("*.toml"))}


def scenario(draw: Draw, *, faults: bool = True) -> str:
    """Text of a scenario file."""
    faults = faults and not draw.calm
    if faults and draw.chance(0.08):
        return damaged(draw, draw.pick(list(examples().values())))
    table = _from_schema(draw) if draw.chance(0.4) else _from_example(draw)
    if draw.calm or draw.chance(0.98):
        shorten(draw, table)
    if draw.chance(0.3):
        _rename(draw, table)
    if draw.calm:
        _repair(table)
    if faults and draw.chance(0.6):
        for _ in range(1 + draw.few(3)):
            _change(draw, table)
    written = document(table)
    return damaged(draw, written) if faults and draw.chance(0.05) else written


def setting(draw: Draw) -> str:
    """KEY=VALUE for `--set`."""
    if draw.calm:
        return draw.pick(
            (
                "probes.series_interval=5 ms",
                "queue.limit='50 packets'",
                "tcp.segment_payload=1000",
                "groups[0].weight=2.0",
            )
        )
    kind = draw.random()
    if kind < 0.1:
        return text(draw)
    if kind < 0.2:
        return f"{text(draw)}={text(draw)}"
    table = _from_schema(draw)
    place = draw.pick(places(table))
    value = at(table, place) if kind < 0.6 else junk(draw)
    written = toml(value) if draw.chance(0.8) else str(value)
    return f"{dotted(place) if draw.chance(0.95) else text(draw)}={written}"


def shorten(draw: Draw, table: Table) -> None:
    """Reduces users and time of a table that has the form of a scenario."""
    run = table.setdefault("run", {})
    if isinstance(run, dict):
        run["warmup"] = draw.pick(("0 s", "1 ms", "20 ms", "0.1 s"))
        run["measure"] = draw.pick(("1 ms", "10 ms", "50 ms", "0.3 s"))
        run["replications"] = draw.pick((1, 1, 1, 2, 3))
    groups = table.get("groups")
    for group in groups if isinstance(groups, list) else ():
        if isinstance(group, dict):
            group["start_until"] = draw.pick(("0 s", "1 ms"))
            group.pop("start_from", None)
            if isinstance(group.get("users"), int):
                group["users"] = min(group["users"], MOST_USERS)
            for source in group["sources"] if isinstance(group.get("sources"), list) else ():
                for name in ("flows", "sessions", "pages", "objects", "repeat"):
                    if isinstance(source, dict) and isinstance(source.get(name), int):
                        source[name] = min(source[name], MOST_USERS)


def damaged(draw: Draw, written: str) -> str:
    """A text with pieces removed, repeated, exchanged or inserted."""
    for _ in range(1 + draw.few(4)):
        start = draw.randrange(len(written) + 1)
        end = min(len(written), start + draw.pick((0, 1, 1, 2, 10, 100)))
        new = draw.choice((
            "", "", draw.choice("[]{}=\"'\\\n#.,\x00\udcff\udc80-+e_ "), written[start:end] * 2, text(draw),
            quantity(draw), toml(junk(draw)),
        ))  # fmt: skip
        written = written[:start] + new + written[end:]
    return written


def _from_schema(draw: Draw) -> Table:
    drawn = FromSchema(draw, wild=draw.pick((0.0, 0.0, 0.005, 0.03)), optional=draw.pick((0.02, 0.1, 0.3)))
    table = drawn.value(schema())
    if not isinstance(table, dict):
        return {"groups": table}
    scheme = table["queue"].get("scheme") if isinstance(table.get("queue"), dict) else None
    if "marker" in table and draw.chance(0.7):  # the scheme's marker, or none
        of = next((known["marker"] for known in fairlane.schemes() if known["name"] == scheme), "")
        fitting = [one for one in schema()["properties"]["marker"]["anyOf"] if _name(one) == of]
        table.pop("marker")
        if fitting:
            table["marker"] = drawn.value(fitting[0])
    if not table.get("groups"):
        table["groups"] = [drawn.value(schema()["properties"]["groups"]["items"])]
    if draw.calm or draw.chance(0.7):
        _give_needs(draw, table)
    if draw.calm:
        _agree(draw, table)
    return table


def _give_needs(draw: Draw, table: Table) -> None:
    """Sets the congestion control that keys of TCP need to have an effect, and ECN for controls that need marks."""
    groups = table.get("groups")
    sources = [group.get("sources") for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    given = [table.get("tcp"), *(source for some in sources if isinstance(some, list) for source in some)]
    for tcp in given:
        if not isinstance(tcp, dict):
            continue
        owners = {control for key in tcp for control in _controls() if key.startswith(_prefix(control))}
        if owners:
            tcp["congestion_control"] = draw.pick(sorted(owners))
            tcp.setdefault("profile", "linux")  # most of them need its loss detection
        control = tcp.get("congestion_control")
        if "accurate_ecn" in tcp or (isinstance(control, str) and _controls().get(control, False)):
            tcp["ecn"] = True


@cache
def _controls() -> dict[str, bool]:
    """For each congestion control, whether it responds to all marks."""
    return {control["name"]: control["marks"].startswith("every") for control in fairlane.congestion_controls()}


def _prefix(control: str) -> str:
    """Prefix of the keys of a congestion control."""
    return control.replace("++", "_pp") + "_"


def _agree(draw: Draw, table: Table) -> None:
    """Removes parts that conflict with the rest of the scenario. A schema cannot express all conflicts."""
    shapes = [shape for shape in fairlane.topologies() if shape["name"] != "graph"]
    shape = draw.pick(shapes)
    keys = {parameter["name"] for parameter in shape["params"]}
    topology = {name: value for name, value in table.get("topology", {}).items() if name in keys}
    table["topology"] = {**topology, "kind": shape["name"]}
    if isinstance(table["queue"].get("scheduler"), str):
        table["queue"]["scheduler"] = "fifo"
    table.pop("expect", None)  # metrics have units
    for name in ("transfer_times", "transfer_sizes", "series_link"):
        table.get("probes", {}).pop(name, None)
    for group in table["groups"]:
        for name in ("route", *(() if "receiver_rate" in keys else ("receiver_rate", "receiver_delay"))):
            group.pop(name, None)
        group["sources"] = group["sources"] or [{"kind": "tcp"}]
        for source in [table.get("tcp", {}), *group["sources"]]:
            source.pop("recovery", None)
            if source.get("kind") == "transfers":
                for name in ("cdf", "interval"):
                    source.pop(name, None)
                source |= {"load": "60 %", "sizes": draw.pick(("web_search", "data_mining"))}
            if source.get("kind") == "voip":
                source.pop("packet_interval", None)
            if source.get("kind") == "video":
                for name in ("ladder", "chunk", "buffer", "reservoir", "cushion"):
                    source.pop(name, None)
            if source.get("kind") == "web" and ("interval" in source) == ("sessions" in source):
                source.pop("sessions", None)
                source["interval"] = "40 ms"


def _repair(table: Table) -> None:
    """Removes, one by one, the keys that the simulator rejects, and the tables that lack a required key."""
    while True:
        try:
            fairlane.Scenario.from_dict(table).canonical()
            return
        except (ScenarioError, UserError) as error:
            if not _remove(table, str(error).partition(": ")[0]):
                return


def _remove(table: Table, key: str) -> bool:
    """Removes the value of an error's key, or of the nearest parent that exists. Returns true if it removed a value."""
    place = [int(index) if index else name for index, name in re.findall(r"\[(\d+)\]|([^.\[\]]+)", key)]
    while place:
        try:
            del at(table, tuple(place[:-1]))[place[-1]]
            return True
        except (KeyError, IndexError, TypeError):
            place.pop()
    return False


def _name(scheme: Table) -> str | None:
    const: str | None = scheme.get("properties", {}).get("scheme", {}).get("const")
    return const


def _from_example(draw: Draw) -> Table:
    table: Table = tomllib.loads(draw.pick(list(examples().values())))
    if draw.chance(0.5):
        table.pop("marker", None)
        keep = {name: table["queue"][name] for name in ("limit", "scheduler") if name in table["queue"]}
        table["queue"] = {"scheme": draw.pick(scheme_names()), **(keep if draw.chance(0.5) else {})}
    return table


def _change(draw: Draw, table: Table) -> None:
    """Makes one change, which may be a fault."""
    found = places(table)
    if not found:
        return
    place = draw.pick(found)
    holder, name = at(table, place[:-1]), place[-1]
    match draw.randrange(8):
        case 0 | 1:
            holder[name] = junk(draw)
        case 2:
            holder[name] = scaled(draw, holder[name]) if isinstance(holder[name], str) else junk(draw)
        case 3:
            del holder[name]
        case 4 if isinstance(holder, dict):
            holder[text(draw)] = holder[name] if draw.chance(0.5) else junk(draw)
        case 5 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[draw.randrange(len(holder))]))
        case 6:
            drawn = _from_schema(draw)
            other = draw.pick(places(drawn))
            holder[name] = at(drawn, other)
        case _:
            _rename(draw, table)


def _rename(draw: Draw, table: Table) -> None:
    """Replaces names by arbitrary text."""
    if names := [place for place in places(table) if place[-1] == "name"]:
        at(table, draw.pick(names)[:-1])["name"] = text(draw)
