"""A run record and what it cost.

A record is text, kept with an empty scenario name: the same run is the same bytes whoever asks for it. Records are cut
as text, since reading and writing numbers again costs more than many a run. The order of the fields is that of
`RunRecord`; another order is a defect that the first run shows.
"""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass
from datetime import UTC, datetime

_NAME = re.compile(r'\{"schema":\d+,"version":"[^"]*","scenario":("(?:[^"\\]|\\.)*"),')
_COST = re.compile(r',"cpu_seconds":[^,{}"]+\}\}\Z')


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost, where and when."""

    cpu_seconds: float
    host: str
    finished_at: str

    @classmethod
    def now(cls, cpu_seconds: float) -> Cost:
        """That of a run that has just finished here."""
        return cls(cpu_seconds, socket.gethostname(), datetime.now(UTC).isoformat(timespec="seconds"))


@dataclass(frozen=True, slots=True)
class Kept:
    """A run record (JSON), and what the run cost, None if that was lost. The store keeps records without a name."""

    run: str
    cost: Cost | None

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time, if it is known."""
        return self.cost.cpu_seconds if self.cost else None

    def named(self, scenario_name: str) -> Kept:
        """The same for a scenario of that name."""
        return Kept(with_name(self.run, scenario_name), self.cost)


def with_name(record: str, scenario_name: str) -> str:
    """The record for a scenario of that name."""
    if (name := _NAME.match(record)) is None:
        raise ValueError(f"no run record: {record[:80]}")
    return record[: name.start(1)] + json.dumps(scenario_name, ensure_ascii=False) + record[name.end(1) :]


def without_cost(record: str) -> str:
    """The record without the CPU time that records of format 1 ended with."""
    return _COST.sub("}}", record)
