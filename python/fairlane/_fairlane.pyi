"""The simulator. Scenarios and results pass the border as JSON text."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, final

class ScenarioError(ValueError):
    """A scenario that cannot be simulated; one line with key, value and allowed range."""

class SchemeError(RuntimeError):
    """A scheme written in Python failed; one line with scheme, class, method and mistake."""

class ThreadError(RuntimeError):
    """The system starts no thread for a run."""

def version() -> str: ...
def engine_version() -> str: ...
def canonical(scenario: str) -> str: ...
def gaps_of_trace(content: str) -> str: ...
def long_runs(scenario: str) -> tuple[str, str] | None: ...
def notes(scenario: str) -> list[tuple[str, str]]: ...
def points_of_cdf(content: str) -> str: ...
def with_queue(scenario: str, scheme: str) -> str: ...
def schemes() -> str: ...
def congestion_controls() -> str: ...
def topologies() -> str: ...
def scenario_schema() -> str: ...
def result_schema() -> str: ...
def summarise(scenario: str, runs: list[str], cpu_seconds: list[float | None], confidence: float = 0.95) -> str: ...
def tcp_states() -> list[str]: ...
def users(scenario: str) -> tuple[list[int], list[int]]: ...
def links(scenario: str) -> list[str]: ...
def student_t(confidence: float, degrees: int) -> float: ...
def register_scheme(name: str, factory: Callable[[Port], Any]) -> None: ...
def registered_schemes() -> list[str]: ...

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
    ) -> WatchedRun: ...
    def next(
        self, timeout_s: float
    ) -> tuple[tuple[str, dict[str, tuple[str, bytes]]] | None, tuple[str, float] | None]: ...
    def cancel(self) -> None: ...
