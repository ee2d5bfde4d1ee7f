"""Results of Flent (`.flent.gz`), as expectations of a scenario with the same flows.

Source: doc/data-format.rst of tohojo/flent, and the names of series in flent/tests/*.conf: `TCP upload::1`,
`TCP download BE` in Mbit/s, `Ping (ms) ICMP` in ms, and sums and averages of these. `fairlane store export` writes this
format (store/flent.py).

Deviations:
1. A scenario has one direction, so of uploads and downloads those with more flows are taken over, or the downloads.
2. Pings are a group that sends a packet of 84 bytes every `STEP_SIZE`. The mean ping, less half of the round-trip time
   without queues for the reverse path, is the expectation of its one-way delay.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from fairlane.base.text import visible
from fairlane.imports import imported as parts
from fairlane.imports import json_values
from fairlane.imports.imported import (
    FULL_PACKET,
    PAYLOAD,
    Imported,
    content,
    problem,
    rate,
    unique,
)
from fairlane.imports.json_values import Values
from fairlane.simulate.named_files import MOST_BYTES
from fairlane.simulate.scenario import cbr, group, tcp

KIND = "a result of Flent"
PING = "ping"
PING_BYTES = 84
"""An ICMP echo with 56 bytes of data."""
STEP_S = 0.2
_DERIVED = ("avg", "sum", "totals", "fairness")
_DIRECTIONS = ("download", "upload")


def imported(
    file: Path, *, scheme: str, rate_bps: float | None, rtt_s: float | None, tolerance: float = parts.TOLERANCE
) -> Imported:
    """The scenario of a result.

    Args:
        file: The data file.
        scheme: Scheme of the queue.
        rate_bps: Rate of the bottleneck; if None, the measured rates with headers.
        rtt_s: Round-trip time without queues; if None, the shortest ping.
        tolerance: Allowed deviation of rates and times, as a share.

    Raises:
        UserError: The file is not a result of Flent, or has no TCP series.
    """
    result = json_values.read(file, _text(file), KIND)
    metadata, series = result.of("metadata"), result.table("results")
    notes: list[str] = []
    flows = {word: _tcp(series, word) for word in _DIRECTIONS}
    taken, other = sorted(_DIRECTIONS, key=lambda word: -len(flows[word]))
    if not flows[taken]:
        raise problem(file, None, "results: no series of TCP uploads or downloads, such as TCP upload::1")
    if flows[other]:
        notes.append(f"{len(flows[other])} {other}s are not taken over: a scenario has one direction.")
    groups, expected, total = [], [], 0.0
    names: dict[str, int] = {}
    for title, values in flows[taken].items():
        name = unique(title.removeprefix("TCP ").replace("::", " ").replace(".", "_"), names)
        mean = sum(values) / len(values) * 1e6
        total += mean
        groups.append(group(name, tcp(**_control(metadata, title, notes)), start_until="0 s"))  # type: ignore[arg-type]
        expected.append(parts.expected_rate(f"goodput_bps.{name}", mean, tolerance, f"Mean of {title}."))
    pings = {title: values.numbers() for title, values in series.items() if _is_single(title, "Ping (ms)")}
    pings = {title: values for title, values in pings.items() if values}
    if rtt_s is None and pings:
        rtt_s = min(min(values) for values in pings.values()) / 1e3
    if rtt_s is not None and pings:
        title = "Ping (ms) ICMP" if "Ping (ms) ICMP" in pings else next(iter(pings))
        mean = sum(pings[title]) / len(pings[title]) / 1e3
        step = metadata.number("STEP_SIZE", STEP_S) or STEP_S
        source = cbr(rate(8 * PING_BYTES / step), packet_size=f"{PING_BYTES} B")
        groups.append(group(PING, source, start_until="0 s"))
        why = f"Mean of {title}, less half of the shortest round-trip time."
        expected.append(parts.expected_time(f"one_way_delay_mean_s.{PING}", max(mean - rtt_s / 2, 0.0), tolerance, why))
    left = [title for title in series if _is_single(title, "") and title not in {*flows[taken], *flows[other], *pings}]
    if left:
        notes.append(f"Series that are not taken over: {', '.join(visible(title) for title in left)}.")
    return parts.compared(
        file,
        groups,
        expected,
        notes,
        seconds=(0.0, metadata.number("LENGTH")),
        scheme=scheme,
        rates_bps=(rate_bps, total * FULL_PACKET / PAYLOAD),
        rtt_s=rtt_s,
    )


def _text(file: Path) -> str:
    try:
        with gzip.open(file) as opened:
            found = opened.read(MOST_BYTES + 1)
        if len(found) > MOST_BYTES:
            raise problem(file, None, f"is out of range, a file may have {MOST_BYTES} bytes")
        return found.decode()
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise problem(file, None, f"not a .flent.gz file: {error}") from error
    except OSError:
        content(file)  # reports why it cannot be read
        raise


def _is_single(title: str, begin: str) -> bool:
    return title.startswith(begin) and not title.endswith(_DERIVED)


def _tcp(series: dict[str, Values], word: str) -> dict[str, list[float]]:
    """Values of the TCP flows of a direction, in Mbit/s."""
    found = {title: values.numbers() for title, values in series.items() if _is_single(title, f"TCP {word}")}
    return {title: values for title, values in found.items() if values}


def _control(metadata: Values, title: str, notes: list[str]) -> dict[str, str]:
    """The congestion control of a flow, if the file has it."""
    of_series = metadata.optional("SERIES_META")
    own = of_series.get(title) if isinstance(of_series, dict) else None
    control, more = parts.control_of((own.get("CONGESTION_CONTROL") if isinstance(own, dict) else None) or "")
    notes += [note for note in more if note not in notes]
    return {"congestion_control": control} if control else {}
