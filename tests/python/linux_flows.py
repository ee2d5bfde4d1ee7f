"""Lone flows whose packets were recorded on a Linux kernel: the run of each, and the packets of a run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlane import Scenario, group, tcp
from fairlane.lab.difference import DROPPED, Packet

RECORDED = Path(__file__).with_name("linux-packets.json")
"""Of each flow, every `STEP`-th event at the link: number, time in microseconds, dropped or not, segment."""
COUNT, STEP = 4000, 40
PAYLOAD = 1448
TOLERANCE_S = 1e-4


def _alone(name: str, rtt_ms: int, queue: dict[str, Any], **source: Any) -> Scenario:
    return Scenario(
        name,
        group("a", tcp(**source), start_until="0.1 s"),
        queue=queue,
        topology={
            "bottleneck_rate": "10 Mbit/s",
            "bottleneck_delay": f"{rtt_ms / 2 - 0.1:g} ms",
            "access_delay": "0.1 ms",
            "access_rate": "10 Gbit/s",
            "access_limit": "10000 packets",
        },
        tcp={"profile": "linux"},
        run={"warmup": "5 s", "measure": "1 s"},
    )


def _tail(packets: int) -> dict[str, Any]:
    return {"scheme": "droptail", "limit": f"{packets} packets"}


_CODEL = {
    "scheme": "codel",
    "limit": "100 packets",
    "ecn": True,
    "root": "newton",
    "target": "1 ms",
    "interval": "20 ms",
}
FLOWS = {
    flow.name: flow
    for flow in (
        _alone("bbr1", 5, _tail(17), congestion_control="bbr1"),
        _alone(
            "bbr1 that pauses",
            40,
            _tail(34),
            congestion_control="bbr1",
            app_rate="0 bit/s",
            app_limited_from="1 s",
            app_limited_until="1.5 s",
        ),
        _alone("vegas", 40, _tail(8), congestion_control="vegas"),
        _alone("cubic", 40, _tail(34), congestion_control="cubic"),
        _alone("reno", 40, _tail(34), congestion_control="reno"),
        _alone("reno in transfers", 5, _tail(8), congestion_control="reno", transfer="1448000 B"),
        _alone("dctcp", 5, _CODEL, congestion_control="dctcp", ecn=True),
    )
}


def rows(events: Sequence[Packet]) -> list[list[int]]:
    """Every `STEP`-th event, as it is recorded."""
    return [
        [number, round(1e6 * event.time_s), int(event.kind == DROPPED), (event.byte or 0) // PAYLOAD]
        for number, event in enumerate(events[::STEP])
    ]


def recorded() -> dict[str, list[list[int]]]:
    """The recorded rows by flow."""
    found: dict[str, list[list[int]]] = json.loads(RECORDED.read_text())
    return found
