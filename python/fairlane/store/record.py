"""A run record as text, which is kept with an empty scenario name: the same run is the same bytes whoever asks for it.

Records are cut as text, since reading and writing numbers again costs more than many a run. The order of the fields is
that of `RunRecord`; another order is a defect that the first run shows.
"""

from __future__ import annotations

import json
import re

_NAME = re.compile(r'\{"schema":\d+,"version":"[^"]*","scenario":("(?:[^"\\]|\\.)*"),')
_COST = re.compile(r',"cpu_seconds":[^,{}"]+\}\}\Z')


def with_name(record: str, scenario_name: str) -> str:
    """The record for a scenario of that name."""
    if (name := _NAME.match(record)) is None:
        raise ValueError(f"no run record: {record[:80]}")
    return record[: name.start(1)] + json.dumps(scenario_name, ensure_ascii=False) + record[name.end(1) :]


def without_cost(record: str) -> str:
    """The record without the CPU time that records of format 1 ended with."""
    return _COST.sub("}}", record)
