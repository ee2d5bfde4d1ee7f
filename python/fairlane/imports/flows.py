"""Lists of flows: tables of start time, size and user, and the flow files of HPCC's simulator.

HPCC (alibaba-edu/High-Precision-Congestion-Control, `ReadFlowInput` in simulation/scratch/third.cc and the text at the
end of simulation/mix/flow.txt): the first line has the number of flows. A line for each flow follows, with
`src dst 3 dport size start`, the size in bytes and the start in seconds. Lines after the last of these are not read.

Deviation: all flows cross one bottleneck, since a list of flows has no topology.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

from fairlane.base.text import counted, quoted
from fairlane.imports import columns
from fairlane.imports.columns import Column
from fairlane.imports.imported import Imported, dumbbell, number, problem, rate, size, time
from fairlane.simulate.scenario import Scenario, group, tcp

Flow = tuple[float, float, str]
"""Start in s, size in bytes, and user."""
RATE_BPS = 10e6
"""Default rate of the bottleneck, that of the default topology."""
SPARE = 2.0
"""Duration after the last start, as a multiple of the time in which the bottleneck sends all flows."""
LEAST_S = 1.0
_FIELDS = 6


def imported(
    file: Path,
    *,
    scheme: str,
    rate_bps: float | None,
    rtt_s: float | None,
    time_unit: str | None,
    size_unit: str | None,
) -> Imported:
    """The scenario of a list of flows.

    Args:
        file: The list.
        scheme: Scheme of the queue.
        rate_bps: Rate of the bottleneck; the default one if None.
        rtt_s: Round-trip time without queues; the default one if None.
        time_unit: Unit of times without a unit.
        size_unit: Unit of sizes without a unit.

    Raises:
        UserError: A line is wrong.
    """
    fields = next((fields for _, fields in columns.words_of(file)), [])
    flows, notes = _of_hpcc(file) if len(fields) == 1 else _of_table(file, time_unit, size_unit)
    bits = 8.0 * sum(octets for _, octets, _ in flows)
    drain_s = math.ceil(max(SPARE * bits / (rate_bps or RATE_BPS), LEAST_S))
    length_s = max(start for start, _, _ in flows) + drain_s
    if rate_bps is None:
        notes.append(f"The list has no rate: the bottleneck has {rate(RATE_BPS)}; --rate sets another.")
    users: dict[str, Counter[tuple[float, float]]] = {}
    for start, octets, user in flows:
        users.setdefault(user, Counter())[start, octets] += 1
    groups = [
        group(
            user,
            *(
                tcp(transfer=size(octets), start=time(start), flows=count if count > 1 else None)
                for (start, octets), count in own.items()
            ),
        )
        for user, own in users.items()
    ]
    run: Any = {"warmup": "0 s", "measure": time(length_s), "replications": 5}
    return Imported(
        Scenario(file.stem, *groups, queue=scheme, topology=dumbbell(rate_bps, rtt_s) or None, run=run), notes
    )


def _of_table(file: Path, time_unit: str | None, size_unit: str | None) -> tuple[list[Flow], list[str]]:
    found = columns.read(
        file,
        {
            "time": Column(("time", "start", "arrival"), "s", time_unit, "--time-unit"),
            "size": Column(("size", "bytes"), "bytes", size_unit, "--size-unit"),
            "user": Column(("user", "src", "source")),
        },
    )
    notes = [f"Numbers without a unit are {' and '.join(found.assumed)}."] if found.assumed else []
    flows: list[Flow] = []
    for line, row in found.rows:
        octets = float(row["size"])
        if round(octets) < 1:
            raise problem(file, line, f"size {octets:g} is out of range, it must be at least 1 byte")
        flows.append((float(row["time"]), octets, str(row["user"]) or f"line {line}"))
    if not any(row["user"] for _, row in found.rows):
        notes.append("The list has no users: each flow is a user.")
    return flows, notes


def _of_hpcc(file: Path) -> tuple[list[Flow], list[str]]:
    lines = columns.words_of(file)
    first, (word,) = next(lines)
    if not word.isdecimal() or int(word) < 1:
        raise problem(file, first, f"{quoted(word)} is not the number of flows, a whole number from 1 up")
    flows: list[Flow] = []
    for line, fields in lines:
        if len(flows) == int(word):
            break
        flows.append(_flow(file, line, fields))
    if len(flows) < int(word):
        raise problem(file, first, f"{word} flows are announced, but {len(flows)} follow")
    notes = [
        "Destination, priority group and port are not taken over: all flows cross one bottleneck, a source is a user."
    ]
    if (more := sum(1 for _, fields in columns.words_of(file) if len(fields) == _FIELDS) - len(flows)) > 0:
        notes.append(f"The first line announces {counted(len(flows), 'flow')}; {more} more are not read, as in HPCC.")
    return flows, notes


def _flow(file: Path, line: int, fields: list[str]) -> Flow:
    numbers = [found for field in fields if (found := number(field)) is not None and found >= 0]
    if not len(numbers) == len(fields) == _FIELDS:
        raise problem(file, line, f"{quoted(' '.join(fields))} is not src dst pg dport size start, six numbers")
    octets, start = numbers[4:]
    if octets < 1:
        raise problem(file, line, f"size {quoted(fields[4])} is out of range, it must be at least 1 byte")
    return start, octets, fields[0]
