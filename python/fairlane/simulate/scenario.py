"""Scenarios, from a TOML file or built in Python.

    from fairlane import Scenario, group, poisson, tcp

    scenario = Scenario(
        "poisson-against-tcp",
        group("heavy", poisson("12 Mbit/s")),
        group("light", tcp()),
        queue="abc",
        topology={"bottleneck_delay": "50 ms"},
    )

Arguments have the names of keys in the TOML file; `fairlane schema scenario` prints all keys. Omitted keys have their
defaults. This module only checks that values can be written as TOML. The simulator checks names, units and ranges; the
message of an error names the key.
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
"""Maximum nesting of tables and arrays; valid scenarios reach at most half of it."""

_KEY = re.compile(r"[^.\[\]]+(\.[^.\[\]]+|\[[0-9]{1,9}\])*")
_INDEX = re.compile(r"[0-9]{1,9}")


def tcp(
    *,
    flows: int | None = None,
    transfer: str | None = None,
    repeat: int | None = None,
    pause: str | None = None,
    start: str | None = None,
    stop: str | None = None,
    **settings: Unpack[TcpKeys],
) -> Table:
    """TCP flows of one user.

    Args:
        flows: Number of flows.
        transfer: Payload of each flow, such as `"1 MB"`; without it, flows send until the run ends.
        repeat: Transfers of each flow, one after another.
        pause: Mean of the exponential pause between two transfers, such as `"1 s"`.
        start: Start time of the flows, such as `"3 s"`, instead of the group's random times.
        stop: Time after which flows send no new data and no transfer starts, such as `"60 s"`.
        settings: Keys of the scenario's `tcp` table, for these flows only.
    """
    of_flows = {"flows": flows, "transfer": transfer, "repeat": repeat, "pause": pause, "start": start, "stop": stop}
    return _given(kind="tcp", **of_flows, **settings)


Codepoint = Literal["not_ect", "ect0", "ect1"]
"""ECN field of the packets of a UDP source; ECT(1) is for the L queue of DualPI2."""


def poisson(
    rate: str, *, packet_size: str | None = None, ecn: Codepoint | None = None, stop: str | None = None
) -> Table:
    """Packets with exponential gaps: `rate` such as `"5 Mbit/s"`, `packet_size` on the wire such as `"1500 B"`.

    The source stops at `stop`, such as `"60 s"`.
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

    `jitter` is the width of the random variation of a gap, divided by the gap; 1 is `random_` of ns-2. The source
    stops at `stop`.
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
    """Bursts at `rate` with mean duration `on`, such as `"0.2 s"`, separated by silence of mean duration `off`.

    `shape` is the shape parameter of the Pareto distribution of both times. The source stops at `stop`.
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
    """A video stream over one TCP connection per user; the bitrate follows the playback buffer (BBA-0).

    Args:
        ladder: Available bitrates in ascending order, such as `["1 Mbit/s", "3 Mbit/s"]`.
        chunk: Playing time of a chunk, such as `"4 s"`.
        buffer: Capacity of the playback buffer, in playing time.
        reservoir: Buffered time up to which the player requests the lowest bitrate.
        cushion: Buffered time above the reservoir over which the bitrate rises to the highest.
        stop: Time after which the player requests no chunk, such as `"60 s"`.
        settings: Keys of the scenario's `tcp` table.
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
    """A responsiveness test per user: load, and probes that measure round trips per minute.

    Args:
        flows: Load-generating connections.
        interval: Mean time between two probes, such as `"100 ms"`.
        stop: End of load and probes, such as `"60 s"`.
        settings: Keys of the scenario's `tcp` table.
    """
    return _given(kind="rpm", flows=flows, interval=interval, stop=stop, **settings)


def voip(
    codec: Literal["g711", "g711_plc", "g729a"] | None = None,
    *,
    packet_interval: str | None = None,
    buffer: str | None = None,
    stop: str | None = None,
) -> Table:
    """A telephone call per user; the results estimate its mean opinion score.

    Args:
        codec: Speech codec.
        packet_interval: Duration of the speech in a packet, such as `"20 ms"`.
        buffer: Delay that the receiver's buffer adds, such as `"50 ms"`.
        stop: End of the call, such as `"60 s"`.
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
        interval: Mean time between two sessions of a Poisson process, such as `"40 ms"`; not with `sessions`.
        sessions: Number of sessions; they start uniformly between the group's `start_from` and `start_until`.
        size: Mean payload of a transfer, such as `"30 kB"`.
        shape: Shape parameter of the Pareto distribution of `size`.
        stop: Time after which no transfer starts, such as `"60 s"`.
        settings: Other keys of a web source, or of the scenario's `tcp` table.
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
    """TCP transfers that start as a Poisson process, with sizes from a distribution.

    Args:
        sizes: Name of a distribution of sizes; not with `cdf`.
        cdf: File with a line per point of the distribution (size in bytes, cumulative share), or a table with the file.
        load: Load offered by all users of the group as a share of the slowest link's rate, such as `"60 %"`; not with
            `interval`.
        interval: Mean time between two transfers of a user, such as `"40 ms"`.
        limit: Maximum number of open transfers of a user.
        stop: Time after which no transfer starts, such as `"60 s"`.
        settings: Keys of the scenario's `tcp` table.
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
    access_loss: Table | Sequence[Table] | None = None,
    access_jitter: Table | None = None,
    access_detour: Table | None = None,
    access_reorder: Table | None = None,
    access_duplicate: Table | None = None,
    access_corrupt: Table | None = None,
    access_slot: Table | None = None,
    access_policer: Table | None = None,
    rtt: str | None = None,
    rtt_spread: float | None = None,
    user_rtts: Sequence[str] | None = None,
    receiver_rate: str | None = None,
    receiver_delay: str | None = None,
    route: Sequence[str] | None = None,
    ingresses: int | None = None,
    ingress_parts: Sequence[float] | None = None,
    forged_labels: bool | None = None,
    share: float | None = None,
    direction: Literal["down", "up", "local"] | None = None,
    node: str | None = None,
    plan: str | None = None,
    configured_plan: str | None = None,
) -> Table:
    """Identical users; each of them has all `sources`.

    Args:
        name: Name of the group in the results.
        sources: Traffic sources of a user: `tcp()`, `web()`, `transfers()`, `video()`, `rpm()`, `poisson()`, `cbr()`,
            `on_off()`, `voip()`.
        users: Number of users.
        traffic_class: Best effort or expedited forwarding.
        reference_rate: Rate at which the activity of a user is zero, such as `"10 kbit/s"`.
        weight: Weight of a user relative to others, 0.001 to 1000; multiplies the reference rate.
        start_from: Earliest start of a source, such as `"0 s"`. Start times are drawn uniformly.
        start_until: Latest start of a source.
        access_rate: Rate of the users' access links, instead of the topology's.
        access_delay: Delay of the users' access links, instead of the topology's.
        access_loss: Packet loss of the access links upstream, such as `{"probability": "1 %"}`, or a list of losses
            that act one after another. This and the next six may have the keys `from` and `until`.
        access_jitter: Variation of the access links' upstream delay, such as `{"deviation": "5 ms"}`.
        access_detour: A temporary longer upstream route, such as `{"delay": "50 ms", "from": "20 s"}`.
        access_reorder: Upstream packets that skip the access links' delay, such as `{"probability": "1 %", "gap": 5}`.
        access_duplicate: Upstream packets that arrive twice, such as `{"probability": "1 %"}`.
        access_corrupt: Upstream packets that their receivers discard, such as `{"probability": "1 %"}`.
        access_slot: Slots in which upstream packets leave, such as `{"min": "5 ms", "packets": 10}`.
        access_policer: A policer for each user, such as `{"rate": "20 Mbit/s", "burst": "200 kB"}`.
        rtt: Round-trip time of the users without queues, such as `"40 ms"`, instead of `access_delay`.
        rtt_spread: Each user's round-trip time is drawn from `rtt * (1 - rtt_spread)` to `rtt * (1 + rtt_spread)`. The
            default is 0, and 0.1 on access networks.
        user_rtts: Round-trip time of each user, instead of `rtt`.
        receiver_rate: Rate of the receivers' access links, instead of the topology's.
        receiver_delay: Delay of the receivers' access links, instead of the topology's.
        route: Names of the links that the packets cross, in order; default: all links.
        ingresses: Number of edge nodes that each meter a part of a user's traffic, with a part of the reference rate.
        ingress_parts: Parts of the reference rate at these nodes, in any unit; equal parts by default.
        forged_labels: Packets carry the label that the port treats best, instead of the marker's.
        share: Share of an access network's subscribers that are in the group, instead of `users`.
        direction: Direction of the packets in an access network.
        node: Site or access point of the users.
        plan: Rate of the users' plan, such as `"100 Mbit/s"`.
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
        access_reorder=access_reorder,
        access_duplicate=access_duplicate,
        access_corrupt=access_corrupt,
        access_slot=access_slot,
        access_policer=access_policer,
        rtt=rtt,
        rtt_spread=rtt_spread,
        user_rtts=None if user_rtts is None else list(user_rtts),
        receiver_rate=receiver_rate,
        receiver_delay=receiver_delay,
        route=None if route is None else list(route),
        ingresses=ingresses,
        ingress_parts=None if ingress_parts is None else list(ingress_parts),
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
    """Expected value of a metric, for `check`.

    Args:
        metric: Name of the metric, such as `"throughput_ratio"` or `"goodput_bps.light"`.
        min: Smallest accepted mean, such as `"2 Mbit/s"`.
        max: Largest accepted mean.
        equals: Expected mean, instead of `min` and `max`.
        tolerance: Accepted deviation from `equals`, such as `"5 %"` or `"1 ms"`.
        window: Start and end of a window of the time series, such as `("10 s", "20 s")`.
        why: Reason for the expectation.
    """
    times = {"from": window[0], "to": window[1]}
    return _given(metric=metric, min=min, max=max, equals=equals, tolerance=tolerance, **times, why=why)


class Scenario:
    """A network, its traffic, its measurements and its expectations."""

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
        """Creates a scenario from a table with the structure of the TOML file.

        Args:
            table: Table of a scenario, as parsed from TOML.
            folder: Folder of the files that the table names; default: the working directory.

        Raises:
            ScenarioError: Tables and arrays are nested too deeply.
        """
        scenario = cls.__new__(cls)
        scenario._table = _copied(dict(table))
        scenario._folder = Path(folder)
        return scenario

    @classmethod
    def from_toml(cls, path: str | Path) -> Scenario:
        """Reads a TOML file.

        Raises:
            UserError: The file cannot be read or is not TOML; the message contains line and column.
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
        """Name of the scenario as given; empty if missing."""
        return str(self._table.get("name", ""))

    @property
    def folder(self) -> Path:
        """Folder of the files that the scenario names."""
        return self._folder

    def to_dict(self) -> Table:
        """A copy of the table as given, without defaults."""
        return copy.deepcopy(self._table)

    def to_toml(self) -> str:
        """The scenario as TOML text."""
        import tomli_w

        return tomli_w.dumps(self._table)

    def canonical(self) -> str:
        """Canonical JSON of everything that a run depends on, including defaults and the content of named files.

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
        """Draws the network: users with their sources, and each link with rate, delay and scheme.

        For an access network, draws its levels instead.

        Args:
            column: True to draw one paper column (3.5 in) wide, without a title; both columns for more than two links
                in a row.

        Raises:
            ScenarioError: A key, value or unit is wrong, or a file cannot be read.
        """
        from fairlane.simulate.network_figure import draw  # slow: loads matplotlib

        canonical = self.canonical()
        return draw(json.loads(canonical), json.loads(_fairlane.layout(canonical, 0)), column=column)

    @property
    def expectations(self) -> list[Expectation]:
        """Expectations for `fairlane check`; runs do not depend on them.

        Raises:
            ScenarioError: A key or value of `[[expect]]` is wrong.
        """
        return expectations(self._table.get("expect", []))

    def replace(self, key: str, value: Any) -> Scenario:
        """A copy with one key changed: `replace("tcp.delayed_ack", 1)`, or a key such as `"groups[0].users"`.

        Raises:
            ScenarioError: A part of the key names a value that is not a table or array.
        """
        if not _KEY.fullmatch(key):
            raise ScenarioError(f"{quoted(key)} is not a key such as tcp.delayed_ack or groups[0].users")
        changed = copy.copy(self)
        place: Any = dict(self._table)  # shares all values with this scenario except those on the key's path
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
        """A copy with some keys changed; see `replace`."""
        scenario = self
        for key, value in settings.items():
            scenario = scenario.replace(key, value)
        return scenario

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._table == other._table

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        from fairlane.simulate.display import scenario_html  # only notebooks need it

        problem, text = "", repr(self)
        with suppress(TypeError, ValueError):  # a value that TOML cannot represent
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
        pass  # deeper copies would fail inside Python
    return copy.deepcopy(table)


def leaves(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """All values that are neither tables nor arrays, with their keys as in the simulator's messages."""
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
    """Raises a ScenarioError for a value that cannot be passed to the simulator."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ScenarioError(f"{key}: {value} is not a finite number")
    if isinstance(value, int) and value.bit_length() > sys.float_info.max_exp - 1:
        raise ScenarioError(f"{key}: {quoted(value)} is out of range for any key")
    _check_text(key, value)
    if value is not None and not isinstance(value, str | int | float):
        raise ScenarioError(f"{key}: {quoted(value)} is a {type(value).__name__}, which no key takes")


def _check_text(key: str, value: Any) -> None:
    """Raises a ScenarioError for a text that is not Unicode, such as raw bytes from a command line."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ScenarioError(f"{key}: {quoted(value)} is not Unicode text") from None
