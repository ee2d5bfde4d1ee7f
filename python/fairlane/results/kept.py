"""A run record and its cost.

A record is text, stored with an empty scenario name, so that its bytes do not depend on the name. Records are edited as
text, since parsing and writing numbers takes longer than many runs. Fields are in the order of `RunRecord`; another
order is a bug that the first run reveals.
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
    """Cost of a run, with machine and time."""

    cpu_seconds: float
    host: str
    finished_at: str

    @classmethod
    def now(cls, cpu_seconds: float) -> Cost:
        """Cost of a run that has just finished here."""
        return cls(cpu_seconds, socket.gethostname(), datetime.now(UTC).isoformat(timespec="seconds"))


@dataclass(frozen=True, slots=True)
class Kept:
    """A run record (JSON), and the cost of the run (None if lost). The store keeps records without scenario name."""

    run: str
    cost: Cost | None

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time, if known."""
        return self.cost.cpu_seconds if self.cost else None

    def named(self, scenario_name: str) -> Kept:
        """The same run for a scenario of that name."""
        return Kept(with_name(self.run, scenario_name), self.cost)


def with_name(record: str, scenario_name: str) -> str:
    """The record for a scenario of that name."""
    if (name := _NAME.match(record)) is None:
        raise ValueError(f"no run record: {record[:80]}")
    return record[: name.start(1)] + json.dumps(scenario_name, ensure_ascii=False) + record[name.end(1) :]


def without_cost(record: str) -> str:
    """Removes the CPU time of the run, which a record of format 1 has as its last field."""
    return _COST.sub("}}", record)
