"""Results of `iperf3 --json`, as expectations of a scenario with the same flows.

Source: `iperf_print_results` in esnet/iperf src/iperf_api.c. `end.streams` has a `sender` and a `receiver` for each TCP
stream, with rates of payload and, at the sender, round-trip times in us. A UDP stream has one `udp`, with the sender's
rate, and packets and losses.
"""

from __future__ import annotations

from pathlib import Path

from fairlane.base.text import quoted
from fairlane.imports import imported as parts
from fairlane.imports import json_values
from fairlane.imports.imported import (
    FULL_PACKET,
    PAYLOAD,
    Imported,
    Table,
    problem,
    rate,
    size,
    text,
)
from fairlane.imports.json_values import Values
from fairlane.results.metrics import jain
from fairlane.simulate.scenario import cbr, group, tcp

HEADERS = 30
"""Bytes of headers of a datagram in a scenario."""
GROUP = "iperf3"
KIND = "a result of iperf3 --json"


def imported(
    file: Path, *, scheme: str, rate_bps: float | None, rtt_s: float | None, tolerance: float = parts.TOLERANCE
) -> Imported:
    """The scenario of a result.

    Args:
        file: The JSON file.
        scheme: Scheme of the queue.
        rate_bps: Rate of the bottleneck; if None, the measured rates with headers.
        rtt_s: Round-trip time without queues; if None, the lowest that a sender measured.
        tolerance: Allowed deviation of rates and times, as a share.

    Raises:
        UserError: The file is not a result of iperf3.
    """
    result = json_values.read(file, text(file), KIND)
    if error := result.optional("error"):
        raise problem(file, None, f"iperf3 failed: {error}")
    test = result.of("start").of("test_start")
    streams = result.of("end").items("streams")
    if not streams:
        raise problem(file, None, "end.streams: is empty, nothing was measured")
    protocol = test.of("protocol").value
    if protocol not in ("TCP", "UDP"):
        raise problem(file, None, f"start.test_start.protocol: {quoted(protocol)} is neither TCP nor UDP")
    notes: list[str] = []
    part = "sender" if protocol == "TCP" else "udp"
    if len({bool(stream.of(part).optional("sender")) for stream in streams}) > 1:
        streams = [stream for stream in streams if stream.of(part).optional("sender")]
        notes.append("The streams from server to client are not taken over: a scenario has one direction.")
    if protocol == "TCP":
        source, rates, expected, least_s, wire = _tcp(result, streams, notes, tolerance)
    else:
        source, rates, expected, least_s, wire = _udp(test, streams, notes)
    total = sum(rates)
    expected.insert(0, parts.expected_rate(f"goodput_bps.{GROUP}", total, tolerance, "Sum of the streams of iperf3."))
    if protocol == "TCP" and len(rates) > 1 and (fairness := jain(rates)) is not None:
        expected.append(parts.expected_share("jain_index_flows", fairness, "Jain's index of the streams of iperf3."))
    return parts.compared(
        file,
        [group(GROUP, source, start_until="0 s")],
        expected,
        notes,
        seconds=(test.number("omit", 0.0), streams[0].of(part).number("seconds")),
        scheme=scheme,
        rates_bps=(rate_bps, total * wire),
        rtt_s=least_s if rtt_s is None else rtt_s,
    )


def _tcp(
    result: Values, streams: list[Values], notes: list[str], tolerance: float
) -> tuple[Table, list[float], list[Table], float | None, float]:
    """Source, rates of payload, other expectations, lowest RTT, and bytes on the wire per byte of payload."""
    rates = [stream.of("receiver").number("bits_per_second") for stream in streams]
    control, more = parts.control_of(result.of("end").optional("sender_tcp_congestion") or "")
    notes += more
    means = [stream.of("sender").optional("mean_rtt") for stream in streams]
    known = [mean / 1e6 for mean in means if isinstance(mean, int | float) and mean > 0]
    lowest = [stream.of("sender").optional("min_rtt") for stream in streams]
    least = min((low / 1e6 for low in lowest if isinstance(low, int | float) and low > 0), default=None)
    expected = []
    if known:
        why = "Mean of the round-trip times that the kernel of the sender measured."
        expected.append(parts.expected_time(f"rtt_mean_s.{GROUP}", sum(known) / len(known), tolerance, why))
    source = tcp(flows=len(streams), **({"congestion_control": control} if control else {}))  # type: ignore[arg-type]
    return source, rates, expected, least, FULL_PACKET / PAYLOAD


def _udp(
    test: Values, streams: list[Values], notes: list[str]
) -> tuple[Table, list[float], list[Table], float | None, float]:
    udp = [stream.of("udp") for stream in streams]
    sent = [stream.number("bits_per_second") for stream in udp]
    packets, lost = (sum(stream.number(name) for stream in udp) for name in ("packets", "lost_packets"))
    share = min(lost / packets, 1.0) if packets else 0.0
    payload = max(test.number("blksize"), 1.0)
    wire = (payload + HEADERS) / payload
    if len(streams) > 1:
        notes.append(f"{len(streams)} streams are one stream of their total rate.")
    notes.append("Jitter is not taken over: no metric has iperf3's definition.")
    source = cbr(rate(sum(sent) * wire), packet_size=size(payload + HEADERS))
    expected = [parts.expected_share(f"lost_share.{GROUP}", share, "Lost packets of iperf3.")]
    return source, [one * (1 - share) for one in sent], expected, None, wire
