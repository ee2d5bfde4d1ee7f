"""A run record as text, taken apart into what every machine gives alike and what it does not.

The store keeps the first part only, with an empty scenario name and no CPU time: the same run is the same bytes
whoever asked for it, wherever it ran. Records are cut as text, since reading and writing numbers again costs more than
many a run. The order of the fields is that of `RunRecord`; another order is a defect that the first run shows.
"""

from __future__ import annotations

import json
import re

_NAME = re.compile(r'\{"schema":\d+,"version":"[^"]*","scenario":("(?:[^"\\]|\\.)*"),')
_CPU = re.compile(r'"cpu_seconds":([^,{}]+)\}\}')
_CPU_KEY = '"cpu_seconds":'


def split(record: str) -> tuple[str, float]:
    """The record without name and CPU time, and the CPU time in seconds."""
    name, cpu = _places(record)
    return record[: name.start(1)] + '""' + record[name.end(1) : cpu.start(1)] + "0.0}}", float(cpu[1])


def join(kept: str, cpu_seconds: float, scenario_name: str) -> str:
    """The record of a run that was kept, for the scenario that asks for it now."""
    name, cpu = _places(kept)
    quoted = json.dumps(scenario_name, ensure_ascii=False)
    return f"{kept[: name.start(1)]}{quoted}{kept[name.end(1) : cpu.start(1)]}{cpu_seconds!r}}}}}"


def _places(record: str) -> tuple[re.Match[str], re.Match[str]]:
    name = _NAME.match(record)
    cpu = _CPU.fullmatch(record, max(record.rfind(_CPU_KEY), 0))
    if name is None or cpu is None:
        raise ValueError(f"no run record: {record[:80]} ... {record[-80:]}")
    return name, cpu
