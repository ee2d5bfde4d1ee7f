"""Turns a sweep file into the scenarios of its points and checks everything before the first run."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioError, UserError, check_kind
from fairlane.base.text import quoted
from fairlane.simulate.catalogue import schemes
from fairlane.simulate.replications import replications as count
from fairlane.simulate.scenario import Scenario
from fairlane.simulate.variants import Variant
from fairlane.store.point import Identity
from fairlane.sweeps import keys
from fairlane.sweeps.stop import Stop
from fairlane.sweeps.targets import check_metrics

MOST_POINTS = 100_000

Settings = Mapping[str, Any]
"""Values by key of the scenario."""
Grid = Mapping[str, Iterable[Any]]
"""Lists of values by key of the scenario."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a sweep.

    Attributes:
        index: Number of the point, from 0.
        at: Value of every varying key.
        scenario: Canonical scenario.
        identity: Identity of its runs in the store.
    """

    index: int
    at: Settings
    scenario: str
    identity: Identity


@dataclass(frozen=True)
class Plan:
    """Plan of a sweep.

    Attributes:
        name: Name of the sweep.
        points: The points; the last axis varies fastest.
        axes: The varying keys.
        stop: Rule for when a point has enough replications.
        unjudged: Number of the scenario's expectations, which a sweep does not check.
        engine: Version of the engine that runs the points.
    """

    name: str
    points: Sequence[Point]
    axes: Sequence[str]
    stop: Stop
    unjudged: int = 0
    engine: str = field(default_factory=_fairlane.engine_version)

    def on(self, engine: str, identity: Callable[[str], Identity]) -> Plan:
        """The plan for another engine; `identity` returns the identity of a canonical scenario's runs on it."""
        points = [replace(point, identity=identity(point.scenario)) for point in self.points]
        return replace(self, points=points, engine=engine)

    @classmethod
    def read(cls, file: str | Path, *, replications: int | None = None, settings: Settings | None = None) -> Plan:
        """Reads a sweep file.

        Args:
            file: Path of the file.
            replications: Replaces the number in the file.
            settings: Scenario keys to change at every point, instead of the keys in the file.

        Raises:
            UserError: A file cannot be read; a key or value is wrong. The message names file, key, value and range.
        """
        path = Path(file)
        table = Scenario.from_toml(path).to_dict()  # reads any TOML file without checking its keys
        try:
            keys.check_names(table)
            base = Scenario.from_toml(path.parent / _text(table, "scenario"))
            return _plan(base, _text(table, "name", path.stem), table, replications, settings or {})
        except (UserError, ScenarioError) as error:
            raise UserError(f"{file}: {error}") from error

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        *,
        grid: Grid | None = None,
        zip: Sequence[Grid] | None = None,
        stop: Settings | None = None,
        name: str | None = None,
        replications: int | None = None,
        settings: Settings | None = None,
    ) -> Plan:
        """Plans a sweep without a file; the arguments are the keys of a sweep file.

        Args:
            scenario: Scenario that the sweep changes.
            grid: Values by key of the scenario; every combination is a point.
            zip: Tables of values; the keys of a table change together.
            stop: Stopping rule of a point, such as `{"relative_half_width": {"throughput_ratio": 0.05}}`.
            name: Name of the sweep; default: the scenario's name.
            replications: Runs per point, instead of the scenario's number.
            settings: Scenario keys to change at every point.

        Raises:
            UserError: A key or value is wrong.
            ScenarioError: The scenario of a point is invalid.
        """
        table: dict[str, Any] = {} if stop is None else {"stop": dict(stop)}
        if grid is not None:
            check_kind("grid", grid, (Mapping,), "a table such as {'queue.scheme': ['droptail', 'abc']}")
            table["grid"] = _listed(grid)
        if zip is not None:
            check_kind("zip", zip, (list, tuple), "a list of tables such as [{'queue.limit': ['24 packets']}]")
            table["zip"] = [_listed(one) if isinstance(one, Mapping) else one for one in zip]
        own = name or re.sub(r"[^A-Za-z0-9._-]+", "-", scenario.name).lstrip(".-") or "sweep"
        return _plan(scenario, own, table, replications, settings or {})


def _listed(axes: Grid) -> dict[str, Any]:
    """Values as lists, as in a file; also accepts NumPy arrays."""
    found: dict[str, Any] = {}
    for key, values in axes.items():
        made = getattr(values, "tolist", None)
        plain = isinstance(values, str | Mapping) or not isinstance(values, Iterable)
        found[str(key)] = made() if made else values if plain else list(values)
    return found


def _plan(base: Scenario, name: str, table: Mapping[str, Any], replications: int | None, settings: Settings) -> Plan:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name):
        raise UserError(
            f'name: "{name}" must consist of letters, digits, ".", "_" and "-", and not begin with "." or "-"'
        )
    fixed = {**_flat(_table(table, "set"), "set"), **settings}
    axes = list(_axes(table))
    varying = [key for axis in axes for key in axis]
    _check_keys(varying, fixed)
    lengths = [len(next(iter(axis.values()))) for axis in axes]
    if math.prod(lengths) > MOST_POINTS:
        raise UserError(f"grid: {math.prod(lengths)} points are out of range, there may be from 1 to {MOST_POINTS}")
    stop = _stop(table, base, replications)
    points = []
    for index, places in enumerate(itertools.product(*map(range, lengths))):
        at = {key: axis[key][place] for axis, place in zip(axes, places, strict=True) for key in axis}
        scenario = _scenario(base, {**fixed, **at, "run.replications": stop.most}, at)
        points.append(Point(index, at, scenario, Identity.within_process(scenario)))
    check_metrics(stop.targets, points[0].scenario)
    return Plan(name, points, varying, stop, len(base.expectations))


def _axes(table: Mapping[str, Any]) -> Iterator[dict[str, Sequence[Any]]]:
    """Yields groups of keys that change together, with their values."""
    for key, values in _flat(_table(table, "grid"), "grid").items():
        yield {key: _values(f"grid.{key}", values)}
    tables = table.get("zip", [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise UserError(f"zip: {quoted(tables)} is not an array of tables such as [[zip]]")
    for index, one in enumerate(tables):
        place = f"zip[{index}]"
        axis = {key: _values(f"{place}.{key}", values) for key, values in _flat(one, place).items()}
        if not axis:
            raise UserError(f"{place}: has no keys, must have at least one")
        first, *others = axis
        for key in others:
            if len(axis[key]) != len(axis[first]):
                raise UserError(
                    f"{place}.{key}: has {len(axis[key])} values, must have {len(axis[first])} as {first} has"
                )
        yield axis


def _values(place: str, values: Any) -> Sequence[Any]:
    if not isinstance(values, list) or not values:
        raise UserError(f"{place}: {quoted(values)} is not an array of at least one value")
    return values


def _check_keys(varying: Sequence[str], fixed: Settings) -> None:
    places = [_parts(key) for key in varying]
    set_places = {_parts(key) for key in fixed}
    for index, key in enumerate(varying):
        if places[index] in places[:index]:
            raise UserError(f"{key}: varies in two places, must vary in only one of grid and zip")
        if places[index] in set_places:
            raise UserError(f"{key}: is both set and varied, must be one or the other")
    for key in (*varying, *fixed):
        if _parts(key)[0] == "expect":
            raise UserError(f"{key}: has no effect, a sweep judges no expectations")
        if key == "run.replications":
            raise UserError(
                f"{key}: the number of runs is that of `replications` or `[stop]`, it cannot vary or be set"
            )


def _parts(key: str) -> tuple[str, ...]:
    """Parts of a key, which are the same for `groups[0].users` and `groups.00.users`."""
    parts = re.split(r"[.\[\]]+", key.rstrip("]"))
    return tuple((part.lstrip("0") or "0") if part.isdecimal() else part for part in parts)


def _stop(table: Mapping[str, Any], base: Scenario, replications: int | None) -> Stop:
    given = table.get("replications") if replications is None else replications
    if "stop" not in table:
        if given is None:
            return Stop.after(count(base.canonical()))
        return Stop.after(keys.check_count("replications", given))
    if given is not None:
        raise UserError(
            f"replications: {given} cannot be combined with [stop], which has min_replications and max_replications"
        )
    rule = _table(table, "stop")
    keys.check_names(rule, "stop.")
    targets = _flat(rule.get("relative_half_width", {}), "stop.relative_half_width")
    if not targets:
        raise UserError("stop.relative_half_width: missing, must be a table such as { throughput_ratio = 0.05 }")
    least = keys.count(rule, "stop.", "min_replications")
    most = keys.count(rule, "stop.", "max_replications")
    if most < least:
        raise UserError(f"stop.max_replications: {most} is out of range, it must be from min_replications, {least}, up")
    return Stop({metric: keys.check_target(metric, value) for metric, value in targets.items()}, least, most)


def _scenario(base: Scenario, settings: Settings, at: Settings) -> str:
    try:
        return _changed(base, settings).canonical()
    except ScenarioError as error:
        where = ", ".join(f"{key} = {quoted(value)}" for key, value in at.items())
        raise ScenarioError(f"{error} (at {where})" if at else str(error)) from error


def _changed(base: Scenario, settings: Settings) -> Scenario:
    """The scenario with changed settings. A new scheme keeps the buffer but has its own defaults, as in `compare`."""
    scenario = base
    scheme = settings.get("queue.scheme")
    if isinstance(scheme, str) and ":" in scheme:
        variant = Variant.parsed(scheme, shared=True)
        scheme = variant.scheme
        settings = {**variant.settings, **settings, "queue.scheme": scheme}
    queue = base.to_dict().get("queue")
    if scheme is not None and isinstance(queue, dict) and queue.get("scheme") != scheme:
        table = base.to_dict()
        shared = {parameter["name"] for parameter in schemes()[0]["params"] if parameter["shared"]}
        table["queue"] = {key: value for key, value in queue.items() if key in shared}
        table.pop("marker", None)
        scenario = Scenario.from_dict(table, base.folder)
    return scenario.changed(settings)


def _flat(table: Any, place: str, prefix: str = "") -> dict[str, Any]:
    """Values by dotted key, since `a.b = 1` and `"a.b" = 1` are equivalent here."""
    if not isinstance(table, dict):
        raise UserError(f"{place}: {quoted(table)} is not a table")
    flat: dict[str, Any] = {}
    for name, value in table.items():
        key = f"{prefix}{name}"
        inner = _flat(value, place, f"{key}.") if isinstance(value, dict) else {key: value}
        for one in inner.keys() & flat.keys():
            raise UserError(f"{place}.{one}: is given twice")
        flat |= inner
    return flat


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise UserError(f"{key}: {quoted(value)} is not a table")
    return value


def _text(table: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if value is None:
        raise UserError(f"{key}: missing, must be a string")
    if not isinstance(value, str) or not value:
        raise UserError(f"{key}: {quoted(value)} is not a string")
    return value
