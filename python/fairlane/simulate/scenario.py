"""Scenarios: a TOML file, or the same thing built in Python.

    from fairlane import Scenario, group, poisson, tcp

    scenario = Scenario(
        "poisson-against-tcp",
        group("heavy", poisson("12 Mbit/s")),
        group("light", tcp()),
        queue="abc",
        topology={"bottleneck_delay": "50 ms"},
    )

The words are those of the TOML file; `fairlane schema scenario` prints all of them. What is left out has its default.
Nothing is checked here but that the values can be written down: names, units and ranges are checked by the simulator,
whose message names the key.
"""

from __future__ import annotations

import copy
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

from fairlane import _fairlane
from fairlane.base import toml
from fairlane.base.errors import ScenarioError, UserError
from fairlane.base.text import quoted, visible
from fairlane.simulate.access_files import with_access_files
from fairlane.simulate.expectation import Expectation, expectations
from fairlane.simulate.size_files import with_sizes
from fairlane.simulate.traces import check_given_gaps, with_traces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairlane.simulate.keys import ProbesKeys, RunKeys, TcpKeys, WebKeys

__all__ = ["Scenario", "cbr", "expect", "group", "on_off", "poisson", "rpm", "tcp", "transfers", "video", "voip", "web"]

Table: TypeAlias = dict[str, Any]

DEEPEST = 16
"""Tables and arrays inside one another; those of a scenario are never deeper than half of it."""

_KEY = re.compile(r"[^.\[\]]+(\.[^.\[\]]+|\[[0-9]{1,9}\])*")
_INDEX = re.compile(r"[0-9]{1,9}")


def tcp(
    *,
    flows: int | None = None,
    transfer: str | None = None,
    repeat: int | None = None,
    pause: str | None = None,
    stop: str | None = None,
    **settings: Unpack[TcpKeys],
) -> Table:
    """TCP flows of one user.

    Args:
        flows: Number of flows.
        transfer: Payload of each flow, such as `"1 MB"`; saturated if left out.
        repeat: Transfers of each flow, one after another.
        pause: Mean of the exponential pause between them, such as `"1 s"`.
        stop: When flows send no new data and no further transfer starts, such as `"60 s"`.
        settings: Any key of the scenario's `tcp` table, for these flows only.
    """
    return _given(kind="tcp", flows=flows, transfer=transfer, repeat=repeat, pause=pause, stop=stop, **settings)


Codepoint = Literal["not_ect", "ect0", "ect1"]
"""ECN field of the packets of a UDP source; ECT(1) is for the L queue of DualPI2."""


def poisson(
    rate: str, *, packet_size: str | None = None, ecn: Codepoint | None = None, stop: str | None = None
) -> Table:
    """Packets with exponential gaps: `rate` such as `"5 Mbit/s"`, `packet_size` on the wire such as `"1500 B"`.

    `stop` is when it stops, such as `"60 s"`.
    """
    return _given(kind="poisson", rate=rate, packet_size=packet_size, ecn=ecn, stop=stop)


def cbr(
    rate: str,
    *,
    packet_size: str | None = None,
    jitter: float | None = None,
    ecn: Codepoint | None = None,
    stop: str | None = None,
) -> Table:
    """Packets with a constant gap: `rate` such as `"5 Mbit/s"`, `packet_size` on the wire such as `"1500 B"`.

    `jitter` is the width, in gaps, by which each gap differs; 1 is `random_` of ns-2. `stop` is when it stops.
    """
    return _given(kind="cbr", rate=rate, packet_size=packet_size, jitter=jitter, ecn=ecn, stop=stop)


def on_off(
    rate: str,
    *,
    on: str | None = None,
    off: str | None = None,
    packet_size: str | None = None,
    distribution: Literal["exponential", "pareto"] | None = None,
    shape: float | None = None,
    ecn: Codepoint | None = None,
    stop: str | None = None,
) -> Table:
    """Bursts at `rate`, of mean time `on` such as `"0.2 s"`, with silence of mean time `off` between them.

    `shape` is that of a Pareto distribution of both times. `stop` is when it stops, such as `"60 s"`.
    """
    return _given(
        kind="on_off",
        rate=rate,
        on=on,
        off=off,
        packet_size=packet_size,
        distribution=distribution,
        shape=shape,
        ecn=ecn,
        stop=stop,
    )


def video(
    *,
    ladder: Sequence[str] | None = None,
    chunk: str | None = None,
    buffer: str | None = None,
    reservoir: str | None = None,
    cushion: str | None = None,
    stop: str | None = None,
    **settings: Unpack[TcpKeys],
) -> Table:
    """A video of each user over one TCP connection, whose bitrate follows the playback buffer (BBA-0).

    Args:
        ladder: Bitrates that there are, in ascending order, such as `["1 Mbit/s", "3 Mbit/s"]`.
        chunk: Playing time of a chunk, such as `"4 s"`.
        buffer: Playing time that the player has room for.
        reservoir: Buffered time up to which it takes the lowest bitrate.
        cushion: Buffered time beyond it over which the bitrate rises to the highest.
        stop: Time after which it requests no further chunk, such as `"60 s"`.
        settings: Any key of the scenario's `tcp` table.
    """
    return _given(
        kind="video",
        ladder=ladder,
        chunk=chunk,
        buffer=buffer,
        reservoir=reservoir,
        cushion=cushion,
        stop=stop,
        **settings,
    )


def rpm(
    *, flows: int | None = None, interval: str | None = None, stop: str | None = None, **settings: Unpack[TcpKeys]
) -> Table:
    """A test of responsiveness of each user: load, and probes that measure round trips per minute.

    Args:
        flows: Load-generating connections.
        interval: Mean time between two probes, such as `"100 ms"`.
        stop: When load and probes end, such as `"60 s"`.
        settings: Any key of the scenario's `tcp` table.
    """
    return _given(kind="rpm", flows=flows, interval=interval, stop=stop, **settings)


def voip(
    codec: Literal["g711", "g711_plc", "g729a"] | None = None,
    *,
    packet_interval: str | None = None,
    buffer: str | None = None,
    stop: str | None = None,
) -> Table:
    """A telephone call of each user, whose opinion the results estimate.

    Args:
        codec: Speech codec.
        packet_interval: Speech in a packet, such as `"20 ms"`.
        buffer: Delay that the receiver's buffer adds, such as `"50 ms"`.
        stop: When the call ends, such as `"60 s"`.
    """
    return _given(kind="voip", codec=codec, packet_interval=packet_interval, buffer=buffer, stop=stop)


def web(
    *,
    interval: str | None = None,
    sessions: int | None = None,
    size: str | None = None,
    shape: float | None = None,
    stop: str | None = None,
    **settings: Unpack[WebKeys],
) -> Table:
    """Sessions of one user with short TCP transfers.

    Args:
        interval: Mean time between two sessions of a Poisson process, such as `"40 ms"`; either this
        sessions: or their number, with starts uniform from `start_from` to `start_until` of the group.
        size: Mean payload of a transfer, such as `"30 kB"`.
        shape: Shape of its Pareto distribution.
        stop: When no further transfer starts, such as `"60 s"`.
        settings: Any other key of a web source, or of the scenario's `tcp` table.
    """
    return _given(kind="web", interval=interval, sessions=sessions, size=size, shape=shape, stop=stop, **settings)


def transfers(
    *,
    sizes: Literal["web_search", "data_mining"] | None = None,
    cdf: str | Table | None = None,
    load: str | None = None,
    interval: str | None = None,
    limit: int | None = None,
    stop: str | None = None,
    **settings: Unpack[TcpKeys],
) -> Table:
    """TCP transfers that start at the times of a Poisson process, with sizes of a distribution.

    Args:
        sizes: Name of the distribution; either this
        cdf: or a file with a line for each point, size in bytes and share; or a table with the file.
        load: Load offered by all users of the group, as a share of the slowest link's rate such as `"60 %"`; either
            this
        interval: or the mean time between two transfers of a user, such as `"40 ms"`.
        limit: Maximum number of open transfers of a user.
        stop: When no further transfer starts, such as `"60 s"`.
        settings: Any key of the scenario's `tcp` table.
    """
    file = {"file": cdf} if isinstance(cdf, str) else cdf
    return _given(
        kind="transfers", sizes=sizes, cdf=file, load=load, interval=interval, limit=limit, stop=stop, **settings
    )


def group(
    name: str,
    *sources: Table,
    users: int | None = None,
    traffic_class: Literal["BE", "EF"] | None = None,
    reference_rate: str | None = None,
    weight: float | None = None,
    start_from: str | None = None,
    start_until: str | None = None,
    access_rate: str | None = None,
    access_delay: str | None = None,
    access_loss: Table | None = None,
    access_jitter: Table | None = None,
    access_detour: Table | None = None,
    rtt: str | None = None,
    rtt_spread: float | None = None,
    user_rtts: Sequence[str] | None = None,
    receiver_rate: str | None = None,
    receiver_delay: str | None = None,
    route: Sequence[str] | None = None,
    ingresses: int | None = None,
    forged_labels: bool | None = None,
    share: float | None = None,
    direction: Literal["down", "up", "local"] | None = None,
    node: str | None = None,
    plan: str | None = None,
    configured_plan: str | None = None,
) -> Table:
    """Users that are alike; each of them has all `sources`.

    Args:
        name: Name of the group in the results.
        sources: Traffic sources of a user: `tcp()`, `web()`, `transfers()`, `video()`, `rpm()`, `poisson()`, `cbr()`,
            `on_off()`, `voip()`.
        users: Number of users.
        traffic_class: Best effort or expedited forwarding.
        reference_rate: Rate at which the activity of a user is zero, such as `"10 kbit/s"`.
        weight: Weight of a user relative to others, 0.001 to 1000; it multiplies the reference rate.
        start_from: Sources start at a time drawn uniformly from here, such as `"0 s"`,
        start_until: to here.
        access_rate: Rate of the users' access links, instead of the topology's.
        access_delay: Delay of the users' access links, instead of the topology's.
        access_loss: Packets that the access links lose on the way up, such as `{"probability": "1 %"}`.
        access_jitter: How their delay varies on the way up, such as `{"deviation": "5 ms"}`.
        access_detour: A longer route on the way up for a time, such as `{"delay": "50 ms", "from": "20 s"}`.
        rtt: Round-trip time of the users without queues, such as `"40 ms"`, instead of `access_delay`.
        rtt_spread: By which part of it the time of a user may differ, such as 0.1; each user's is drawn. On access
            networks 0.1 unless given.
        user_rtts: The time of each user, instead of `rtt`.
        receiver_rate: Rate of the receivers' access links, instead of the topology's.
        receiver_delay: Delay of the receivers' access links, instead of the topology's.
        route: Names of the links that the packets cross, in order; all links if left out.
        ingresses: Number of edge nodes that meter parts of a user's traffic, each with its part of the reference rate.
        forged_labels: Packets have the label that the port treats best, instead of the marker's.
        share: Share of the subscribers of an access network in the group, instead of `users`.
        direction: Where their packets go, there.
        node: Site or access point under which they are.
        plan: Rate of their plan, such as `"100 Mbit/s"`.
        configured_plan: Rate that the edge or the tree of shapers enforces instead of the plan.
    """
    return _given(
        name=name,
        users=users,
        traffic_class=traffic_class,
        reference_rate=reference_rate,
        weight=weight,
        start_from=start_from,
        start_until=start_until,
        access_rate=access_rate,
        access_delay=access_delay,
        access_loss=access_loss,
        access_jitter=access_jitter,
        access_detour=access_detour,
        rtt=rtt,
        rtt_spread=rtt_spread,
        user_rtts=None if user_rtts is None else list(user_rtts),
        receiver_rate=receiver_rate,
        receiver_delay=receiver_delay,
        route=None if route is None else list(route),
        ingresses=ingresses,
        forged_labels=forged_labels,
        share=share,
        direction=direction,
        node=node,
        plan=plan,
        configured_plan=configured_plan,
        sources=list(sources),
    )


def expect(
    metric: str,
    *,
    min: str | float | None = None,
    max: str | float | None = None,
    equals: str | float | None = None,
    tolerance: str | float | None = None,
    window: tuple[str | None, str | None] = (None, None),
    why: str | None = None,
) -> Table:
    """Expected value of a metric; `check` judges it.

    Args:
        metric: Such as `"throughput_ratio"` or `"goodput_bps.light"`.
        min: Least value of the mean, such as `"2 Mbit/s"`.
        max: Greatest value of the mean.
        equals: Value of the mean, instead of the two.
        tolerance: Allowed deviation, such as `"5 %"` of it or `"1 ms"`.
        window: From when to when the time series is looked at, such as `("10 s", "20 s")`.
        why: The reason.
    """
    times = {"from": window[0], "to": window[1]}
    return _given(metric=metric, min=min, max=max, equals=equals, tolerance=tolerance, **times, why=why)


class Scenario:
    """A network, its traffic, what to measure and what to expect."""

    __slots__ = ("_folder", "_table")

    def __init__(
        self,
        name: str,
        *groups: Table,
        queue: str | Table | None = None,
        marker: str | Table | None = None,
        topology: Table | None = None,
        tcp: TcpKeys | Table | None = None,
        run: RunKeys | Table | None = None,
        probes: ProbesKeys | Table | None = None,
        expect: Sequence[Table] | None = None,
    ) -> None:
        self._folder = Path()
        self._table = _copied(
            _given(
                name=name,
                run=run,
                topology=topology,
                queue={"scheme": queue} if isinstance(queue, str) else queue,
                marker={"scheme": marker} if isinstance(marker, str) else marker,
                tcp=tcp,
                probes=probes,
                groups=list(groups),
                expect=None if expect is None else list(expect),
            )
        )

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], folder: str | Path = "") -> Scenario:
        """The scenario of a table that has the structure of the TOML file.

        Args:
            table: The table.
            folder: Where the files are that it names; the working directory if left out.

        Raises:
            ScenarioError: Tables and arrays are nested deeper than those of any scenario.
        """
        scenario = cls.__new__(cls)
        scenario._table = _copied(dict(table))
        scenario._folder = Path(folder)
        return scenario

    @classmethod
    def from_toml(cls, path: str | Path) -> Scenario:
        """Reads a TOML file.

        Raises:
            UserError: The file cannot be read or is not TOML; the message has line and column.
        """
        table = toml.read(path)
        folder = Path(path).parent
        try:
            scenario = cls.from_dict(table, folder)
            check_given_gaps(table, folder)
            return scenario
        except ScenarioError as error:
            raise UserError(f"{path}: {error}") from error

    @property
    def name(self) -> str:
        """Its name as it was given; empty if it has none."""
        return str(self._table.get("name", ""))

    @property
    def folder(self) -> Path:
        """Folder of the files that it names."""
        return self._folder

    def to_dict(self) -> Table:
        """A copy of the table as it was given, defaults not filled in."""
        return copy.deepcopy(self._table)

    def to_toml(self) -> str:
        """The text of a TOML file with this scenario."""
        import tomli_w

        return tomli_w.dumps(self._table)

    def canonical(self) -> str:
        """Canonical JSON of what decides a run, with every default filled in, and the content of the files it names.

        Raises:
            ScenarioError: A key, value or unit is wrong, or a file cannot be read.
        """
        for key, value in leaves(self._table):
            _check(key, value)
        _ = self.expectations
        table = {key: value for key, value in self._table.items() if key != "expect"}
        for with_files in (with_traces, with_sizes, with_access_files):
            table = with_files(table, self._folder)
        return _fairlane.canonical(json.dumps(table))

    def plot(self, *, column: bool = False) -> Figure:
        """Draws the network: users with their sources, links with rate, delay and scheme, levels of an access network.

        Args:
            column: True if the figure is as wide as a column of a paper, 3.5 in, and without a title.

        Raises:
            ScenarioError: A key, value or unit is wrong, or a file cannot be read.
        """
        from fairlane.simulate.network_figure import draw  # which loads matplotlib

        canonical = self.canonical()
        return draw(json.loads(canonical), json.loads(_fairlane.layout(canonical, 0)), column=column)

    @property
    def expectations(self) -> list[Expectation]:
        """Expectations for `fairlane check`; no run depends on them.

        Raises:
            ScenarioError: A key or value of `[[expect]]` is wrong.
        """
        return expectations(self._table.get("expect", []))

    def replace(self, key: str, value: Any) -> Scenario:
        """The same scenario with one key changed, as in `replace("tcp.delayed_ack", 1)` or `"groups[0].users"`.

        Raises:
            ScenarioError: The key leads through a value that is not a table or array.
        """
        if not _KEY.fullmatch(key):
            raise ScenarioError(f"{quoted(key)} is not a key such as tcp.delayed_ack or groups[0].users")
        changed = copy.copy(self)
        place: Any = dict(self._table)  # shares with this one what the key does not lead through
        changed._table = place
        *path, last = (int(part) if _INDEX.fullmatch(part) else part for part in re.findall(r"[^.\[\]]+", key))
        try:
            for part in path:
                inner = place.get(part, {}) if isinstance(place, dict) else place[part]
                place[part] = copy.copy(inner)
                place = place[part]
            place[last] = value
        except (IndexError, TypeError, AttributeError):
            raise ScenarioError(f"{visible(key)}: no such key") from None
        return changed

    def changed(self, settings: Mapping[str, Any]) -> Scenario:
        """The same scenario with some keys changed; see `replace`."""
        scenario = self
        for key, value in settings.items():
            scenario = scenario.replace(key, value)
        return scenario

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._table == other._table

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        from fairlane.simulate.display import scenario_html  # for notebooks alone

        problem, text = "", repr(self)
        with suppress(TypeError, ValueError):  # for a value that TOML does not have
            text = self.to_toml()
        try:
            self.canonical()
        except (UserError, ScenarioError) as error:
            problem = str(error)
        return scenario_html(self._table, problem, text)

    def __repr__(self) -> str:
        return f"Scenario.from_dict({self._table!r})"


def _given(**values: Any) -> Table:
    return {key: value for key, value in values.items() if value is not None}


def _copied(table: Table) -> Table:
    for _ in leaves(table):
        pass  # a copy that goes too deep ends in the middle of Python
    return copy.deepcopy(table)


def leaves(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every value that is neither table nor array, with its key as the simulator's messages write it."""
    if depth > DEEPEST:
        raise ScenarioError(f"{key}: is nested too deeply, at most {DEEPEST} tables and arrays deep")
    if isinstance(value, dict):
        for name, inner in value.items():
            place = f"{key}.{visible(str(name))}" if key else visible(str(name))
            _check_text(place, name)
            yield from leaves(inner, place, depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{key}[{index}]", depth + 1)
    else:
        yield key, value


def _check(key: str, value: Any) -> None:
    """Raises a ScenarioError for a value that cannot be handed to the simulator."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ScenarioError(f"{key}: {value} is not a finite number")
    if isinstance(value, int) and value.bit_length() > sys.float_info.max_exp - 1:
        raise ScenarioError(f"{key}: {quoted(value)} is out of range for any key")
    _check_text(key, value)
    if value is not None and not isinstance(value, str | int | float):
        raise ScenarioError(f"{key}: {quoted(value)} is a {type(value).__name__}, which no key takes")


def _check_text(key: str, value: Any) -> None:
    """Raises a ScenarioError for a text that is not Unicode, as bytes of a command line may be."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ScenarioError(f"{key}: {quoted(value)} is not Unicode text") from None
