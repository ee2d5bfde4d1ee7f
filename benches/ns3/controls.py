"""Congestion controls: classes of ns-3, and the equivalent settings of Fairlane.

Each setting follows from the source code of ns-3 3.37, `src/internet/model/`; no setting is fitted. Some deviations of
ns-3 from the algorithm have no key in Fairlane. mended.h describes these deviations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Table = dict[str, Any]

WITHOUT_TIMESTAMPS: Table = {"segment_payload": 1458, "header_bytes": 42, "syn_bytes": 50}
"""Sizes for packets of 1500 bytes without the TCP timestamps option (12 bytes). Without timestamps, RTTs are exact;
ns-3's timestamps have a resolution of a millisecond (TcpOptionTS::NowToTsValue)."""

RECORDS: Table = {
    "loss_detection": "scoreboard",
    "impatient_timer": True,
    "recovery_sends_at_once": True,  # tcp-socket-base.cc EnterRecovery, ProcessAck: DoRetransmit
    "sack_duplicates": True,  # ProcessAck, DupAck
    "pacing_catches_up": False,  # SendDataPacket
    "rtt_of_first": True,  # EstimateRtt
}
"""A sender with a record per segment; senders without records give no rate samples. As in ns-3 (tcp-tx-buffer.cc
UpdateLostCount), a segment is lost once three segments above it are SACKed, but a retransmission is lost only after a
timeout. In recovery only the first partial ACK restarts the timer (tcp-socket-base.cc ProcessAck). All other modern
features are off."""


@dataclass(frozen=True, slots=True)
class Control:
    """A congestion control in both simulators."""

    name: str
    """Class in ns-3, without `ns3::Tcp`."""
    settings: Table = field(default_factory=dict)
    """Keys of the `tcp` source in Fairlane, in addition to the profile `ns3` and the keys of all sources."""
    needs_timestamps: bool = False


CONTROLS = {
    "reno": Control(
        "NewReno",
        # tcp-congestion-ops.cc: per ACK a segment in slow start, then MSS^2 / cwnd; after a loss, half of the bytes in
        # flight.
        {"byte_counting": False, "flight_size": "pipe"},
    ),
    # tcp-cubic.cc Update: no Reno-friendly region before 3.41.
    "cubic": Control("Cubic", {"tcp_friendliness": False}),
    "bbr1": Control(
        "Bbr",
        {
            "bbr1_high_gain": 2.89,  # tcp-bbr.cc HighGain
            "bbr1_pacing_margin_percent": 0.0,  # SetPacingRate: gain * bandwidth
            "bbr1_policer_detection": False,  # ns-3 has none
            # UpdateAckAggregation: an epoch ends after AckEpochAckedResetThresh, 4096 bytes, that is, with the next
            # ACK.
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
        # PktsAcked gets the RTT of the first segment that an ACK covers. Fairlane uses that of the last segment, like
        # Linux. A difference of one packet matters, since Vegas keeps two to four packets queued. With an ACK per
        # segment there is no difference.
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
        needs_timestamps=True,  # PktsAcked: the delay is the difference of the timestamps
    ),
}
