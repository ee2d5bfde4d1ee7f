"""The simulator. Scenarios and results are passed as JSON text."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, final

class ScenarioError(ValueError):
    """The scenario cannot be simulated; the message is one line with key, value and allowed range."""

class SchemeError(RuntimeError):
    """The user's scheme or congestion control failed; the message is one line with name, class, method and error."""

class ThreadError(RuntimeError):
    """The system cannot start a thread for a run."""

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
    """The connection of a congestion control."""

    @property
    def mss(self) -> int:
        """Payload of a full segment in bytes."""
    @property
    def rng(self) -> random.Random:
        """Random numbers for the congestion control, from the scenario's seed."""
    @property
    def window(self) -> int:
        """Congestion window in bytes, at least one segment."""
    @window.setter
    def window(self, window: float) -> None: ...
    @property
    def pacing_rate_bps(self) -> float | None:
        """Pacing rate of payload (bit/s); if None, the sender chooses it."""
    @pacing_rate_bps.setter
    def pacing_rate_bps(self, rate: float | None) -> None: ...

@final
class Ack:
    """An ACK for a congestion control. Sizes are bytes of payload, times are seconds."""

    @property
    def now(self) -> float:
        """Arrival time."""
    @property
    def rtt(self) -> float | None:
        """Round-trip time of the newest segment that it delivers; None if that was retransmitted or does not exist."""
    @property
    def smoothed_rtt(self) -> float:
        """Smoothed round-trip time."""
    @property
    def min_rtt(self) -> float | None:
        """Minimum round-trip time of the connection; None before the first sample."""
    @property
    def delivered(self) -> int:
        """Newly acknowledged bytes."""
    @property
    def lost(self) -> int:
        """Bytes newly considered lost."""
    @property
    def marked(self) -> int:
        """Newly acknowledged bytes with a congestion mark, if the feedback reports all marks."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight after the ACK."""
    @property
    def total_delivered(self) -> int:
        """Total bytes acknowledged on the connection."""
    @property
    def total_lost(self) -> int:
        """Total bytes lost on the connection."""
    @property
    def delivered_when_sent(self) -> int:
        """Value of `total_delivered` when the newest delivered segment was sent; used to count round trips."""
    @property
    def delivery_rate_bps(self) -> float | None:
        """Delivery rate (bit/s); None if there is no sample."""
    @property
    def app_limited(self) -> bool:
        """True if the sender lacked data when the newest delivered segment was sent."""
    @property
    def window_limited(self) -> bool:
        """True if the window limited the sender."""
    @property
    def in_recovery(self) -> bool:
        """True if the sender is in loss recovery."""

@final
class Segment:
    """A segment that is sent, acknowledged or considered lost."""

    @property
    def now(self) -> float:
        """Current time (s)."""
    @property
    def sent(self) -> float:
        """Time of the last transmission (s)."""
    @property
    def number(self) -> int:
        """Number of the last transmission, from 1."""
    @property
    def size(self) -> int:
        """Payload in bytes."""
    @property
    def app_limited(self) -> bool:
        """True if the sender had too few data to fill the window when the segment was sent."""

@final
class Event:
    """An event other than an ACK."""

    @property
    def name(self) -> Literal["open", "loss", "mark", "timeout", "recovery_ends", "undo", "idle"]:
        """Kind of event. `loss` starts a recovery; `undo` means that the last congestion event was spurious."""
    @property
    def now(self) -> float:
        """Current time (s)."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight."""
    @property
    def smoothed_rtt(self) -> float:
        """Smoothed round-trip time (s)."""
    @property
    def prior_window(self) -> int | None:
        """Window in bytes before a spurious congestion event; None unless the event is `undo`."""
    @property
    def idle(self) -> float | None:
        """Time since the last segment was sent (s); None unless the event is `idle`."""

@final
class Packet:
    """A packet's properties for a scheme. The packet itself stays in the simulator."""

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
        """True if the transport supports congestion marks (ECN)."""
    @property
    def label(self) -> float:
        """Label written by the marker at the edge; 0 without a marker."""
    @property
    def arrival(self) -> float:
        """Arrival time at the port (s)."""

@final
class Port:
    """The port of a scheme."""

    @property
    def limit_packets(self) -> int | None:
        """Limit of the queue in packets; None if it is in bytes."""
    @property
    def limit_bytes(self) -> int | None:
        """Limit of the queue in bytes; None if it is in packets."""
    @property
    def link_rate_bps(self) -> float:
        """Current rate of the link (bit/s)."""
    @property
    def rng(self) -> random.Random:
        """Random numbers for the scheme, from the scenario's seed."""
    @property
    def packets(self) -> int:
        """Number of packets waiting when the scheme was called, without an arriving packet."""
    @property
    def bytes(self) -> int:
        """Bytes of the waiting packets."""
    def has_room(self, packet: Packet) -> bool:
        """Returns true if the packet fits into the queue."""
    def drop(self, packet: Packet) -> None:
        """Drops the arriving packet or a waiting packet."""
    def mark(self, packet: Packet) -> None:
        """Sets a congestion mark on an ECN-capable packet."""

@final
class Batch:
    """Replications that run in threads, starting at construction."""

    def __new__(cls, jobs: list[tuple[str, int]], threads: int) -> Batch: ...
    def next(self, timeout_s: float) -> tuple[int, str, float] | None: ...
    @property
    def remaining(self) -> int: ...
    def reached(self) -> list[tuple[float, float, int]]: ...
    def cancel(self) -> None: ...

@final
class WatchedRun:
    """One recorded replication in a thread, starting at construction."""

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
