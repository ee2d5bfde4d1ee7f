"""Results of ns-3's FlowMonitor (`SerializeToXmlFile`), as expectations of a scenario with the same flows.

Source: `SerializeToXmlStream` in src/flow-monitor/model/flow-monitor.cc and ipv4-flow-classifier.cc. Bytes include the
IP header. Times are in ns.

Deviations:
1. FlowMonitor does not mark ACKs. Of two TCP flows with swapped addresses and ports, the one with fewer bytes is taken
   for the ACKs, and left out.
2. A rate is over the whole window, from the first packet of any flow to the last, as in a scenario.
3. A TCP flow that sends nothing in the last 5 % of the window stops at its last packet.
4. FlowMonitor sees IP packets. A scenario adds 2 bytes of PPP to a datagram, which ns-3's rates lack.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlane.base.text import counted
from fairlane.imports import imported as parts
from fairlane.imports import xml
from fairlane.imports.imported import Imported, Table, problem, rate, size, time
from fairlane.simulate.scenario import cbr, group, tcp

TCP, UDP = "6", "17"
"""Protocol numbers (IANA)."""
PPP = 2
TAIL = 0.05


@dataclass(frozen=True)
class _Flow:
    """A flow. Times are in s, and `ends` are addresses and ports."""

    number: str
    protocol: str
    ends: tuple[tuple[str, str], tuple[str, str]]
    first: float
    last_sent: float
    last: float
    sent_bytes: float
    bytes: float
    sent_packets: float
    packets: float
    lost: float
    delay_sum: float


def imported(
    file: Path, *, scheme: str, rate_bps: float | None, rtt_s: float | None, tolerance: float = parts.TOLERANCE
) -> Imported:
    """The scenario of a result.

    Args:
        file: The XML file.
        scheme: Scheme of the queue.
        rate_bps: Rate of the bottleneck; if None, the measured rates.
        rtt_s: Round-trip time without queues; the default one if None.
        tolerance: Allowed deviation of rates and times, as a share.

    Raises:
        UserError: The file is not a result of FlowMonitor.
    """
    flows = _flows(file)
    notes = ["Each flow is a user, and all cross one bottleneck in one direction: FlowMonitor has no topology."]
    by_ends = {(flow.protocol, flow.ends): flow for flow in flows}
    acks = [flow for flow in flows if _is_ack(flow, by_ends.get((flow.protocol, flow.ends[::-1])))]
    data = [flow for flow in flows if flow not in acks and flow.packets >= 1 and flow.sent_packets > 1]
    if acks:
        notes.append(f"{counted(len(acks), 'TCP flow')} of ACKs left out.")
    if few := len(flows) - len(acks) - len(data):
        notes.append(f"{counted(few, 'flow')} of fewer than two packets left out.")
    start = min((flow.first for flow in data), default=0.0)
    length_s = max((flow.last for flow in data), default=0.0) - start
    if length_s <= 0:
        raise problem(file, None, "no flow sent two packets over some time")
    groups, expected = [], []
    for flow in data:
        name = f"flow{flow.number}"
        at = time(flow.first - start)
        groups.append(group(name, _source(flow, start, length_s), start_from=at, start_until=at))
        received = 8 * flow.bytes / length_s
        why = f"{flow.ends[0][0]} to {flow.ends[1][0]} in ns-3."
        expected.append(parts.expected_rate(f"throughput_bps.{name}", received, tolerance, why))
        delay = flow.delay_sum / flow.packets
        expected.append(parts.expected_time(f"one_way_delay_mean_s.{name}", delay, tolerance, why))
        expected.append(parts.expected_share(f"lost_share.{name}", flow.lost / flow.sent_packets, why))
    return parts.compared(
        file,
        groups,
        expected,
        notes,
        seconds=(0.0, length_s),
        scheme=scheme,
        rates_bps=(rate_bps, 8 * sum(flow.bytes for flow in data) / length_s),
        rtt_s=rtt_s,
    )


def _flows(file: Path) -> list[_Flow]:
    root = xml.read(file)
    if root.name != "FlowMonitor":
        raise problem(file, root.line, f"<{root.name}> is not <FlowMonitor>")
    classified = {
        flow.word("flowId"): flow for part in root.children if "Classifier" in part.name for flow in part.all("Flow")
    }
    flows = []
    for stats in (flow for part in root.all("FlowStats") for flow in part.all("Flow")):
        number = stats.word("flowId")
        if (tuple5 := classified.get(number)) is None:
            raise problem(file, stats.line, f"flow {number} is in no classifier")
        first, last_sent, last = (
            stats.number(f"time{name}Packet", unit="ns") / 1e9 for name in ("FirstTx", "LastTx", "LastRx")
        )
        source, target = (
            (tuple5.word(f"{end}Address"), tuple5.word(f"{end}Port")) for end in ("source", "destination")
        )
        protocol = tuple5.word("protocol")
        if protocol not in (TCP, UDP):
            raise problem(file, tuple5.line, f"protocol {protocol} is neither {TCP} (TCP) nor {UDP} (UDP)")
        flow = _Flow(
            number=number,
            protocol=protocol,
            ends=(source, target),
            first=first,
            last_sent=last_sent,
            last=last,
            sent_bytes=stats.number("txBytes"),
            bytes=stats.number("rxBytes"),
            sent_packets=stats.number("txPackets"),
            packets=stats.number("rxPackets"),
            lost=stats.number("lostPackets"),
            delay_sum=stats.number("delaySum", unit="ns") / 1e9,
        )
        flows.append(flow)
    if not flows:
        raise problem(file, root.line, "<FlowMonitor> has no flows")
    return flows


def _is_ack(flow: _Flow, back: _Flow | None) -> bool:
    return flow.protocol == TCP and back is not None and flow.sent_bytes < back.sent_bytes


def _source(flow: _Flow, start: float, length_s: float) -> Table:
    end = flow.last_sent - start
    stop = time(end) if end < (1 - TAIL) * length_s else None
    if flow.protocol == TCP:
        return tcp(stop=stop)
    octets = round(flow.sent_bytes / flow.sent_packets)
    gap_s = (flow.last_sent - flow.first) / (flow.sent_packets - 1)
    return cbr(rate(8 * (octets + PPP) / max(gap_s, 1e-9)), packet_size=size(octets + PPP), stop=stop)
