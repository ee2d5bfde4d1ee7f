"""Traces of a link's rate: tables of time and rate, and delivery opportunities of Mahimahi.

The simulator reads Mahimahi's format (crates/sim/src/scenario/topology/trace.rs), so a scenario only names such a file.
A table becomes the `bottleneck_schedule`.

Deviations:
1. Times of a table count from its first line, since recorded traces start at any time of a clock.
2. A rate below 1 kbit/s becomes 1 kbit/s, the lowest rate of a link.
3. The last rate lasts as long as the one before it. A run ends there, and has at least 1 ms; only a trace of Mahimahi
   repeats.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.base.text import counted
from fairlane.imports import columns
from fairlane.imports.columns import Column
from fairlane.imports.imported import Imported, dumbbell, problem, rate, text, time
from fairlane.simulate.scenario import Scenario, group, tcp

LEAST_BPS = 1000.0
LEAST_S = 1e-3
"""Shortest run."""
_LONE_S = 1.0
"""Duration of the rate of a table with one line."""


def imported(
    file: Path, *, named: str, scheme: str, rtt_s: float | None, time_unit: str | None, rate_unit: str | None
) -> Imported:
    """The scenario of a trace.

    Args:
        file: The trace.
        named: Its name in the scenario.
        scheme: Scheme of the queue.
        rtt_s: Round-trip time without queues; the default one if None.
        time_unit: Unit of times without a unit.
        rate_unit: Unit of rates without a unit.

    Raises:
        UserError: A line is wrong.
    """
    topology = dumbbell(None, rtt_s)
    notes = ["A trace has no traffic: two users with one TCP flow each take its place."]
    if len(next((fields for _, fields in columns.words_of(file)), [])) == 1:
        length_s = _length_s(file)
        topology["bottleneck_trace"] = {"file": named}
    else:
        times, length_s, more = _steps(file, time_unit, rate_unit)
        notes += more
        (_, first), *steps = times
        topology |= {"bottleneck_rate": rate(first), "access_rate": rate(min(10 * max(bps for _, bps in times), 10e12))}
        if steps:
            topology["bottleneck_schedule"] = [{"at": time(at), "rate": rate(bps)} for at, bps in steps]
    run: Any = {"warmup": "0 s", "measure": time(max(length_s, LEAST_S)), "replications": 5}
    users = group("users", tcp(), users=2)
    return Imported(Scenario(file.stem, users, queue=scheme, topology=topology, run=run), notes)


def _length_s(file: Path) -> float:
    """Time of the last opportunity of a trace of Mahimahi."""
    try:
        _fairlane.gaps_of_trace(text(file))
    except ValueError as error:
        raise problem(file, None, str(error)) from error
    return int(text(file).split()[-1]) / 1e3


def _steps(
    file: Path, time_unit: str | None, rate_unit: str | None
) -> tuple[list[tuple[float, float]], float, list[str]]:
    """Times in s with the rates in bit/s from then on, the length in s, and notes."""
    found = columns.read(
        file,
        {
            "time": Column(("time", "seconds", "t"), "s", time_unit, "--time-unit"),
            "rate": Column(("rate", "capacity", "bandwidth", "throughput"), "bit/s", rate_unit, "--rate-unit"),
        },
    )
    notes = [f"Numbers without a unit are {' and '.join(found.assumed)}."] if found.assumed else []
    rows = [(line, float(row["time"]), float(row["rate"])) for line, row in found.rows]
    start, low = rows[0][1], 0
    steps: list[tuple[float, float]] = []
    before = -1.0
    for line, at, bps in rows:
        if at <= before:
            raise problem(file, line, f"time {at:g} s is out of range, it must be after the line before, {before:g} s")
        before = at
        low += bps < LEAST_BPS
        if not steps or steps[-1][1] != max(bps, LEAST_BPS):
            steps.append((at - start, max(bps, LEAST_BPS)))
    if start:
        notes.append(f"Times count from the first line, {start:g} s.")
    if low:
        notes.append(f"{counted(low, 'rate')} below 1 kbit/s, the lowest rate of a link, became 1 kbit/s.")
    last = rows[-1][1] - rows[-2][1] if len(rows) > 1 else _LONE_S
    return steps, rows[-1][1] - start + last, notes
