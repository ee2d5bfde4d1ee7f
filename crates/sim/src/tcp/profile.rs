//! The parameters of a TCP connection and their named sets.

use fairlane_schemes::params;
use fairlane_schemes::units::{Bytes, Time};

use super::{Ack, Segment};

params! {
    /// Parameters of a TCP connection. The defaults are those of the profile `ns3.26`; sources are paths in ns-3.26
    /// `src/internet/model/`, RFCs, or the paper abc2018.
    pub struct TcpParams {
        /// Maximum segment size (MSS): payload of a full segment in bytes.
        segment_payload: u32 = 1446, in 1..=64000, symbol "MSS", source "abc2018 IV-A1: 1500 bytes on the wire";
        /// Bytes on the wire beyond the payload of a data segment, and size of an ACK without data.
        header_bytes: u32 = 54, in 1..=1000, source "abc2018 IV-A1: 2 PPP + 20 IP + 32 TCP with timestamps";
        /// Bytes on the wire of a SYN and of a SYN-ACK.
        syn_bytes: u32 = 58, in 1..=1000, source "tcp-header.cc: window scaling adds 3 bytes, padded to 4";
        /// Congestion window of a new connection in segments.
        initial_window: u32 = 1, in 1..=1000, symbol "IW", source "tcp-socket.cc InitialCwnd";
        /// Slow-start threshold of a new connection in bytes.
        initial_ssthresh: u64 = 4294967295u32, in 1..=4294967295u32, symbol "ssthresh", source "tcp-socket.cc InitialSlowStartThreshold";
        /// Send buffer and receive window; at least one segment, only whole segments of it are used. The default
        /// limits no flow of abc2018; ns-3's own is 131072 B.
        socket_buffer: Bytes = "2 MiB", in "1 B"..="4 GB", source "tcp-socket.cc SndBufSize, RcvBufSize (131072 B)";
        /// An ACK is sent for this many segments in order; 1 acknowledges each.
        delayed_ack: u32 = 2, in 1..=1000, source "tcp-socket.cc DelAckCount, RFC 5681 4.2";
        /// Longest delay of an ACK.
        delayed_ack_timeout: Time = "0.2 s", in "1 us"..="10 s", source "tcp-socket.cc DelAckTimeout, RFC 1122 4.2.3.2";
        /// Least retransmission timeout, at most `max_rto`.
        min_rto: Time = "1 s", in "1 us"..="1 h", source "tcp-socket-base.cc MinRto, RFC 6298 2.4";
        /// The retransmission timeout doubles up to this. As in ns-3, it bounds the doubling only, not the estimate.
        max_rto: Time = "60 s", in "1 us"..="24 h", source "tcp-socket-base.cc SendDataPacket, RFC 6298 2.5";
        /// Retransmission timeout before the first RTT sample; `min_rto` if that is longer. Rarely seen, since the
        /// handshake gives a sample.
        initial_rto: Time = "1001 ms", in "1 us"..="1 h", source "rtt-estimator.cc InitialEstimation + granularity";
        /// Clock granularity: the least share of the variation in the timeout.
        rto_granularity: Time = "1 ms", in "0 s"..="1 s", symbol "G", source "tcp-socket-base.cc ClockGranularity, RFC 6298 2.3";
        /// Timeout of the first SYN, doubled with each further one.
        syn_timeout: Time = "3 s", in "1 us"..="1 h", source "tcp-socket.cc ConnTimeout";
        /// Duplicate ACKs that start a fast retransmission.
        dupack_threshold: u32 = 3, in 1..=1000, source "tcp-socket-base.cc ReTxThreshold, RFC 5681 3.2";
        /// Whether each duplicate ACK before that sends one new segment.
        limited_transmit: bool = true, source "tcp-socket-base.cc LimitedTransmit, RFC 3042";
    }
}

impl TcpParams {
    /// The names that [`TcpParams::profile`] knows.
    pub const PROFILES: &[&str] = &["ns3.26"];

    /// The named set of parameters, if there is one of this name.
    #[must_use]
    pub fn profile(name: &str) -> Option<Self> {
        (name == "ns3.26").then(Self::default)
    }

    /// Size of `segment` on the wire in bytes.
    #[must_use]
    #[inline]
    pub fn segment_wire_bytes(&self, segment: &Segment) -> u32 {
        if segment.syn { self.syn_bytes } else { self.header_bytes + segment.payload }
    }

    /// Size of `ack` on the wire in bytes.
    #[must_use]
    #[inline]
    pub fn ack_wire_bytes(&self, ack: &Ack) -> u32 {
        if ack.syn { self.syn_bytes } else { self.header_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_profile_exists_and_no_other() {
        for name in TcpParams::PROFILES {
            assert!(TcpParams::profile(name).is_some(), "{name}");
        }
        assert_eq!(TcpParams::profile("ns3"), None);
    }

    #[test]
    fn wire_sizes_are_those_of_abc2018() {
        let params = TcpParams::profile("ns3.26").unwrap();
        let data = Segment { seq: 0, payload: 1446, syn: false, timestamp: Time::ZERO };
        // 1446 + 32 TCP + 20 IP + 2 PPP.
        assert_eq!(params.segment_wire_bytes(&data), 1500);
        assert_eq!(params.segment_wire_bytes(&Segment { payload: 0, ..data }), 54);
        // 20 TCP + 10 timestamps + 3 window scaling, padded to 36, + 20 IP + 2 PPP.
        assert_eq!(params.segment_wire_bytes(&Segment { payload: 0, syn: true, ..data }), 58);
        assert_eq!(params.ack_wire_bytes(&Ack { ack: 1, echo: Time::ZERO, syn: false }), 54);
        assert_eq!(params.ack_wire_bytes(&Ack { ack: 0, echo: Time::ZERO, syn: true }), 58);
    }
}
