"""Distributions of flow sizes for the key `cdf` of `transfers`.

The simulator reads lines of size and share itself (crates/sim/src/scenario/size_cdf.rs: HPCC
`traffic_gen/WebSearch_distribution.txt`, HKUST-SING `DCTCP_CDF.txt`). Two other forms are converted to it:

- Three columns: size in packets, a column that is not read, and the share. The source is `loadCDF` of ns-2's
  tools/ranvar.cc (`"%lf %*f %lf"`), which pFabric uses with packets of 1460 bytes of payload.
- A first line with one number, the mean size, as in HomaSimulation `homatransport/sizeDistributions/*.txt`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.base.text import quoted
from fairlane.imports.imported import Imported, dumbbell, number, percent, problem, text, time
from fairlane.simulate.scenario import Scenario, group, transfers

PACKET = 1460.0
"""Bytes of payload of a packet in pFabric's tables."""
USERS = 10


def imported(
    file: Path,
    *,
    named: str,
    scheme: str,
    load: float,
    unit_bytes: float | None,
    rate_bps: float | None,
    rtt_s: float | None,
) -> Imported:
    """The scenario of a distribution.

    Args:
        file: The distribution.
        named: Its name in the scenario.
        scheme: Scheme of the queue.
        load: Load that the transfers offer, as a share.
        unit_bytes: Bytes of a unit of the sizes; by default 1460 with three columns and 1 with two.
        rate_bps: Rate of the bottleneck; the default one if None.
        rtt_s: Round-trip time without queues; the default one if None.

    Raises:
        UserError: A line is wrong.
    """
    lines, notes, factor = _converted(file, unit_bytes)
    try:
        points = _fairlane.points_of_cdf("\n".join(lines))
    except ValueError as error:
        raise problem(file, None, str(error)) from error
    is_ours = factor == 1.0 and not notes
    source = transfers(load=percent(load), cdf={"file": named} if is_ours else {"file": named, "points": points})
    if factor != 1.0:
        notes.append(f"Sizes are in units of {factor:g} bytes.")
    notes.append(
        f"A distribution has no arrivals: {USERS} users together offer a load of {percent(load)}, as Poisson processes."
    )
    run: Any = {"warmup": time(20), "measure": time(60), "replications": 5}
    users = group("users", source, users=USERS, start_until="0 s")
    return Imported(
        Scenario(file.stem, users, queue=scheme, topology=dumbbell(rate_bps, rtt_s) or None, run=run), notes
    )


def _converted(file: Path, unit_bytes: float | None) -> tuple[list[str], list[str], float]:
    """The lines in the simulator's format, under their old numbers; notes; bytes of a unit of the sizes."""
    notes: list[str] = []
    lines: list[str] = []
    widths: set[int] = set()
    for line_number, line in enumerate(text(file).splitlines(), 1):
        words = line.partition("#")[0].split()
        if len(words) == 1 and not widths and not notes:
            notes.append(f"The mean in the first line, {quoted(words[0])}, is not needed.")
            words = []
        if words:
            widths.add(len(words))
            if widths not in ({2}, {3}):
                shown = quoted(line.strip())
                raise problem(
                    file, line_number, f"{shown} does not have the columns of the lines before: two or three numbers"
                )
        lines.append(" ".join([words[0], words[-1]] if words else []))
    factor = unit_bytes if unit_bytes is not None else PACKET if widths == {3} else 1.0
    if widths == {3}:
        notes.append("The second of three columns is not read, as in ns-2.")
    if factor != 1.0:
        lines = [_scaled(file, at, line, factor) for at, line in enumerate(lines, 1)]
    return lines, notes, factor


def _scaled(file: Path, line_number: int, line: str, factor: float) -> str:
    if not line:
        return line
    first, share = line.split()
    if (packets := number(first)) is None:
        raise problem(file, line_number, f"{quoted(first)} is not a size, a number of packets")
    return f"{packets * factor!r} {share}"
