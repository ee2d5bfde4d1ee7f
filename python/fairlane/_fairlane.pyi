"""The simulator. Scenarios and results pass the border as JSON text."""

from pathlib import Path
from typing import final

__all__ = [
    "Batch",
    "ScenarioError",
    "TracedRun",
    "canonical",
    "engine_version",
    "links",
    "result_schema",
    "scenario_schema",
    "schemes",
    "student_t",
    "summarise",
    "tcp_states",
    "topologies",
    "users",
    "version",
    "with_queue",
]

class ScenarioError(ValueError):
    """A scenario that cannot be simulated; one line with key, value and allowed range."""

def version() -> str: ...
def engine_version() -> str: ...
def canonical(scenario: str) -> str: ...
def with_queue(scenario: str, scheme: str) -> str: ...
def schemes() -> str: ...
def topologies() -> str: ...
def scenario_schema() -> str: ...
def result_schema() -> str: ...
def summarise(scenario: str, runs: list[str], confidence: float = 0.95) -> str: ...
def tcp_states() -> list[str]: ...
def users(scenario: str) -> tuple[list[int], list[int]]: ...
def links(scenario: str) -> list[str]: ...
def student_t(confidence: float, degrees: int) -> float: ...

@final
class Batch:
    """Replications that run in threads from construction on."""

    def __new__(cls, jobs: list[tuple[str, int]], threads: int) -> Batch: ...
    def next(self, timeout_s: float) -> tuple[int, str] | None: ...
    @property
    def remaining(self) -> int: ...
    def cancel(self) -> None: ...

@final
class TracedRun:
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
    ) -> TracedRun: ...
    def next(self, timeout_s: float) -> tuple[tuple[str, dict[str, tuple[str, bytes]]] | None, str | None]: ...
    def cancel(self) -> None: ...
