"""Congestion controls of both simulators: the class of ns-3, and equivalent settings of Fairlane.

Each setting reproduces ns-3 3.37 by its source, `src/internet/model/`; none is fitted. Where ns-3 departs from an
algorithm's source in a way that no key of Fairlane expresses, nothing is set; mended.h describes such faults.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Table = dict[str, Any]

WITHOUT_TIMESTAMPS: Table = {"segment_payload": 1458, "header_bytes": 42, "syn_bytes": 50}
"""Sizes without the 12 bytes of timestamps, in packets of 1500 bytes. ns-3's timestamps count in milliseconds, and with
them RTTs have a resolution of a millisecond (TcpOptionTS::NowToTsValue); without them RTTs are exact."""

RECORDS: Table = {
    "loss_detection": "scoreboard",
    "impatient_timer": True,
    "recovery_sends_at_once": True,  # tcp-socket-base.cc EnterRecovery, ProcessAck: DoRetransmit
    "sack_duplicates": True,  # ProcessAck, DupAck
    "pacing_catches_up": False,  # SendDataPacket
    "rtt_of_first": True,  # EstimateRtt
}
"""Controls get samples only from a sender with a record per segment. Like that of ns-3 (tcp-tx-buffer.cc
UpdateLostCount), it considers a segment lost once three are SACKed above it, and a retransmission only at the timeout,
which in recovery only the first partial ACK restarts (tcp-socket-base.cc ProcessAck). All other modern features are
off."""


@dataclass(frozen=True, slots=True)
class Control:
    """A congestion control in both simulators."""

    name: str
    """Class in ns-3, without `ns3::Tcp`."""
    settings: Table = field(default_factory=dict)
    """Keys of its `tcp` source in Fairlane, beyond the profile `ns3` and the keys shared by all sources."""
    needs_timestamps: bool = False


CONTROLS = {
    "reno": Control(
        "NewReno",
        # tcp-congestion-ops.cc: per ACK a segment in slow start, then MSS^2 / cwnd; half of the data in flight after a
        # loss.
        {"byte_counting": False, "flight_size": "pipe"},
    ),
    # tcp-cubic.cc Update: no Reno-friendly region before 3.41.
    "cubic": Control("Cubic", {"tcp_friendliness": False}),
    "bbr1": Control(
        "Bbr",
        {
            "bbr1_high_gain": 2.89,  # tcp-bbr.cc HighGain
            "bbr1_pacing_margin_percent": 0.0,  # SetPacingRate: gain * bandwidth
            "bbr1_policer_detection": False,  # there is none
            # UpdateAckAggregation: an epoch ends after AckEpochAckedResetThresh, 4096 bytes, i.e. with the next ACK.
            "bbr1_ack_aggregation": False,
            "bbr1_whole_segments": False,  # InFlight
            "bbr1_counts_next_quantum": False,  # IsNextCyclePhase
            "bbr1_equal_rtt_counts": True,  # UpdateRTprop
            "tso": "0 B",  # SetSendQuantum: one segment
        }
        | RECORDS,
    ),
    # tcp-linux-reno.cc counts segments, as the profile does.
    "dctcp": Control("Dctcp", {"ecn": True} | RECORDS),
    "vegas": Control(
        "Vegas",
        # PktsAcked gets the RTT of the first segment that an ACK covers; Fairlane uses that of the last, like Linux.
        # They differ by a packet, and Vegas keeps two to four. With an ACK per segment they are the same.
        {
            "delayed_ack": 1,
            "byte_counting": False,  # tcp-congestion-ops.cc SlowStart
            "vegas_diff": "expected_less_actual",  # IncreaseWindow
            "vegas_early_round": True,  # IncreaseWindow
        }
        | RECORDS,
    ),
    "ledbat": Control(
        "Ledbat",
        {
            "byte_counting": False,  # tcp-congestion-ops.cc SlowStart
            "ledbat_slow_start": True,  # tcp-ledbat.cc SSParam
            "ledbat_current_filter": 3,  # AddDelay drops one of NoiseFilterLen = 4
            "ledbat_fresh_delays": False,  # AddDelay
            "ledbat_delay": "stamps",  # PktsAcked; tcp-option-ts.cc NowToTsValue
        }
        | RECORDS,
        needs_timestamps=True,  # PktsAcked: the delay is the difference of the time stamps
    ),
}
