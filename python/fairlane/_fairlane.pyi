"""The simulator. Scenarios and results pass the border as JSON text."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, final

class ScenarioError(ValueError):
    """A scenario that cannot be simulated; one line with key, value and allowed range."""

class SchemeError(RuntimeError):
    """A scheme or congestion control of the user's failed; one line with its name, class, method and mistake."""

class ThreadError(RuntimeError):
    """The system starts no thread for a run."""

def version() -> str: ...
def engine_version() -> str: ...
def canonical(scenario: str) -> str: ...
def gaps_of_trace(content: str) -> str: ...
def long_runs(scenario: str) -> tuple[str, str] | None: ...
def near(name: str, known: list[str], most: int) -> str: ...
def notes(scenario: str) -> list[tuple[str, str]]: ...
def points_of_cdf(content: str) -> str: ...
def with_queue(scenario: str, scheme: str) -> str: ...
def schemes() -> str: ...
def congestion_controls() -> str: ...
def topologies() -> str: ...
def scenario_schema() -> str: ...
def metrics() -> str: ...
def record_schema() -> str: ...
def unstarted_record(scenario: str) -> str: ...
def peak_memory_bytes() -> int | None: ...
def tcp_states() -> list[str]: ...
def nodes_of_network(content: bytes) -> str: ...
def tree_of_files(nodes: str, devices: bytes) -> str: ...
def users(scenario: str) -> tuple[list[int], list[int]]: ...
def layout(scenario: str, replication: int) -> str: ...
def links(scenario: str) -> list[str]: ...
def student_t(confidence: float, degrees: int) -> float: ...
def register_scheme(name: str, factory: Callable[[Port], Any]) -> None: ...
def registered_schemes() -> list[str]: ...
def load_scheme_library(path: Path) -> list[str]: ...
def library_schemes() -> str: ...
def register_congestion_control(name: str, made: Callable[[Connection], Any], grows: bool, ecn: str) -> None: ...
def registered_congestion_controls() -> list[str]: ...

@final
class Connection:
    """The connection that a congestion control serves."""

    @property
    def mss(self) -> int:
        """Payload of a full segment in bytes."""
    @property
    def rng(self) -> random.Random:
        """The control's own random numbers, from the seed of the scenario."""
    @property
    def window(self) -> int:
        """Congestion window in bytes; one of less than a segment counts as a segment."""
    @window.setter
    def window(self, window: float) -> None: ...
    @property
    def pacing_rate_bps(self) -> float | None:
        """Rate of payload at which segments leave (bit/s); None leaves it to the sender."""
    @pacing_rate_bps.setter
    def pacing_rate_bps(self, rate: float | None) -> None: ...

@final
class Ack:
    """An ACK as a congestion control sees it. Sizes are bytes of payload, times seconds."""

    @property
    def now(self) -> float:
        """When it came."""
    @property
    def rtt(self) -> float | None:
        """Round-trip time of the newest segment that it delivers; None if that was sent twice or there is none."""
    @property
    def smoothed_rtt(self) -> float:
        """Smoothed round-trip time."""
    @property
    def min_rtt(self) -> float | None:
        """The least round-trip time of the connection; None before the first."""
    @property
    def delivered(self) -> int:
        """What it newly delivers."""
    @property
    def lost(self) -> int:
        """What is newly taken for lost."""
    @property
    def marked(self) -> int:
        """What it newly delivers with a congestion mark, if the feedback tells all marks."""
    @property
    def in_flight(self) -> int:
        """What is in flight after it."""
    @property
    def total_delivered(self) -> int:
        """Delivered over the connection."""
    @property
    def total_lost(self) -> int:
        """Lost over the connection."""
    @property
    def delivered_when_sent(self) -> int:
        """`total_delivered` when the newest segment that it delivers was sent, which tells round trips apart."""
    @property
    def delivery_rate_bps(self) -> float | None:
        """Delivery rate (bit/s); None if there is no sample."""
    @property
    def app_limited(self) -> bool:
        """Whether the sender had too few data when that segment was sent."""
    @property
    def window_limited(self) -> bool:
        """Whether the window bounded what was sent."""
    @property
    def in_recovery(self) -> bool:
        """Whether losses are being repaired."""

@final
class Segment:
    """A segment that leaves, arrives or is taken for lost."""

    @property
    def now(self) -> float:
        """Now (s)."""
    @property
    def sent(self) -> float:
        """When it was sent last (s)."""
    @property
    def number(self) -> int:
        """Number of its last transmission, the first is 1."""
    @property
    def size(self) -> int:
        """Its payload in bytes."""
    @property
    def app_limited(self) -> bool:
        """Whether the sender had too few data to fill the window when it was sent."""

@final
class Event:
    """What happens apart from ACKs."""

    @property
    def name(self) -> Literal["open", "loss", "mark", "timeout", "recovery_ends", "undo", "idle"]:
        """What it is: `loss` is the start of a recovery, `undo` says that the last congestion was none."""
    @property
    def now(self) -> float:
        """Now (s)."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight."""
    @property
    def smoothed_rtt(self) -> float:
        """Smoothed round-trip time (s)."""
    @property
    def prior_window(self) -> int | None:
        """Window before the congestion that was none, in bytes; None if it is no `undo`."""
    @property
    def idle(self) -> float | None:
        """Since the last segment was sent (s); None if it is no `idle`."""

@final
class Packet:
    """A packet as a scheme sees it. The packet itself stays in the simulator."""

    @property
    def flow(self) -> int:
        """Number of the transport connection."""
    @property
    def user(self) -> int:
        """Number of the user."""
    @property
    def size(self) -> int:
        """Bytes on the link."""
    @property
    def traffic_class(self) -> Literal["BE", "EF"]:
        """Best effort or expedited forwarding."""
    @property
    def ecn_capable(self) -> bool:
        """Whether the transport understands congestion marks."""
    @property
    def label(self) -> float:
        """What the marker of the edge wrote; 0 without a marker."""
    @property
    def arrival(self) -> float:
        """When the packet came to the port (s)."""

@final
class Port:
    """The port that a scheme serves."""

    @property
    def limit_packets(self) -> int | None:
        """Packets that may wait; None if the limit is in bytes."""
    @property
    def limit_bytes(self) -> int | None:
        """Bytes that may wait; None if the limit is in packets."""
    @property
    def link_rate_bps(self) -> float:
        """Rate of the link now (bit/s)."""
    @property
    def rng(self) -> random.Random:
        """The scheme's own random numbers, from the seed of the scenario."""
    @property
    def packets(self) -> int:
        """Packets waiting when the scheme was called, an arriving one left out."""
    @property
    def bytes(self) -> int:
        """Their bytes."""
    def has_room(self, packet: Packet) -> bool:
        """Whether the packet fits beside those that wait."""
    def drop(self, packet: Packet) -> None:
        """Drops the arriving packet or one that waits."""
    def mark(self, packet: Packet) -> None:
        """Gives a packet that understands it a congestion mark."""

@final
class Batch:
    """Replications that run in threads from construction on."""

    def __new__(cls, jobs: list[tuple[str, int]], threads: int) -> Batch: ...
    def next(self, timeout_s: float) -> tuple[int, str, float] | None: ...
    @property
    def remaining(self) -> int: ...
    def reached(self) -> list[tuple[float, float, int]]: ...
    def cancel(self) -> None: ...

@final
class WatchedRun:
    """One replication that is watched, in a thread from construction on."""

    def __new__(
        cls,
        scenario: str,
        replication: int,
        *,
        pcap: Path | None = None,
        drops: bool = False,
        snaplen: int = 0,
        link: int = 0,
        interval: str | None = None,
        qlog: Path | None = None,
        qlog_sequential: bool = False,
        qlog_flows: list[int] | None = None,
    ) -> WatchedRun: ...
    def next(
        self, timeout_s: float
    ) -> tuple[tuple[str, dict[str, tuple[str, bytes]]] | None, tuple[str, float] | None]: ...
    def cancel(self) -> None: ...
