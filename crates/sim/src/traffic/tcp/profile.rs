//! Parameters of a TCP connection and their named sets.

use fairlane_schemes::base::units::{BitRate, Bytes, Time};
use fairlane_schemes::{choices, params};

use super::congestion::control::{Authority, EcnUse};
use super::congestion::external::{Failures, NamedControl, Outside};
use super::congestion::{CubicClock, readers};
use super::{
    Ack, AfterIdle, CongestionControl, CongestionParams, FlightSize, FullAckWindow, HyStartKind, LossDetection, Pacing,
    Recovery, Segment,
};

params! {
    /// Parameters of a TCP connection. The declared defaults are those of the profile `ns3.26`; other profiles override
    /// them. Sources are paths in ns-3.26 `src/internet/model/`, RFCs, or the paper abc2018.
    pub struct TcpParams {
        /// Maximum segment size (MSS): payload of a full segment in bytes.
        segment_payload: u32 = 1446, in 1..=64000, symbol "MSS", source "abc2018 IV-A1: 1500 bytes on the wire";
        /// Size of an ACK without data, and bytes on the wire of a data segment in addition to its payload.
        header_bytes: u32 = 54, in 1..=1000, source "abc2018 IV-A1: 2 PPP + 20 IP + 32 TCP with timestamps";
        /// Bytes on the wire of a SYN and of a SYN-ACK.
        syn_bytes: u32 = 58, in 1..=2000, source "tcp-header.cc: window scaling adds 3 bytes, padded to 4";
        /// Congestion window of a new connection in segments.
        initial_window: u32 = 1, in 1..=1000, symbol "IW", source "tcp-socket.cc InitialCwnd";
        /// Slow-start threshold of a new connection in bytes.
        initial_ssthresh: u64 = 4294967295, in 1..=4294967295, symbol "ssthresh",
            source "tcp-socket.cc InitialSlowStartThreshold";
        /// Send buffer and receive window: at least one segment; only whole segments are used. The default limits no
        /// flow of abc2018; the default of ns-3 is 131072 B.
        socket_buffer: Bytes = "2 MiB", in "1 B"..="4 GB", source "tcp-socket.cc SndBufSize, RcvBufSize (131072 B)";
        /// Number of in-order segments that one ACK acknowledges; 1 acknowledges each segment.
        delayed_ack: u32 = 2, in 1..=1000, source "tcp-socket.cc DelAckCount, RFC 5681 4.2";
        /// Maximum delay of an ACK.
        delayed_ack_timeout: Time = "0.2 s", in "1 us"..="10 s", source "tcp-socket.cc DelAckTimeout, RFC 1122 4.2.3.2";
        /// Adapts the delay of an ACK to the gaps between segments, from `delayed_ack_timeout` to 200 ms. A delay above
        /// `delayed_ack_timeout` is at most the RTT of the handshake.
        ack_delay_adapts: bool = false,
            source "tcp_input.c tcp_event_data_recv, tcp_output.c tcp_send_delayed_ack of Linux";
        /// Minimum retransmission timeout, at most `max_rto`.
        min_rto: Time = "1 s", in "1 us"..="1 h", source "tcp-socket-base.cc MinRto, RFC 6298 2.4";
        /// Maximum to which doublings raise the retransmission timeout. As in ns-3, RTT samples may give more.
        max_rto: Time = "60 s", in "1 us"..="24 h", source "tcp-socket-base.cc SendDataPacket, RFC 6298 2.5";
        /// Retransmission timeout before the first RTT sample, at least `min_rto`. Rarely used, since the handshake
        /// provides a sample.
        initial_rto: Time = "1001 ms", in "1 us"..="1 h", source "rtt-estimator.cc InitialEstimation + granularity";
        /// Clock granularity: the minimum of the variation term in the timeout.
        rto_granularity: Time = "1 ms", in "0 s"..="1 s", symbol "G",
            source "tcp-socket-base.cc ClockGranularity, RFC 6298 2.3";
        /// Keeps a backed-off timeout until an RTT is sampled. Otherwise any ACK of new data ends the backoff.
        keep_backoff: bool = false, source "tcp-socket-base.cc NewAck; true by RFC 6298 5 and in ns-2 (tcp.cc newack)";
        /// Reduces the slow-start threshold at every timeout, not only at the first one of a loss state.
        each_timeout_reduces: bool = false,
            source "tcp-socket-base.cc ReTxTimeout, RFC 5681 3.1; true in ns-2 (tcp.cc timeout)";
        /// Restarts the timer at a fast retransmit. Otherwise the timer still runs from the last ACK of new data, and
        /// may expire before the retransmission is acknowledged.
        retransmit_restarts_timer: bool = false,
            source "tcp-socket-base.cc DoRetransmit, RFC 6298 5; true in ns-2 (tcp-newreno.cc dupack_action)";
        /// Unit to which RTT samples are rounded, at least one unit; 0 for exact samples.
        rtt_tick: Time = "0 s", in "0 s"..="1 s", source "deviation 2; ns-2 tcpTick_: 10 ms";
        /// Timeout of the first SYN, doubled with each retransmission.
        syn_timeout: Time = "3 s", in "1 us"..="1 h", source "tcp-socket.cc ConnTimeout";
        /// Duplicate ACKs that start a fast retransmission.
        dupack_threshold: u32 = 3, in 1..=1000, source "tcp-socket-base.cc ReTxThreshold, RFC 5681 3.2";
        /// Sends one new segment for each duplicate ACK before the fast retransmission (limited transmit).
        limited_transmit: bool = true, source "tcp-socket-base.cc LimitedTransmit, RFC 3042";
        /// Lets the receiver report segments above gaps, and the sender use these reports in recovery. Implies
        /// timestamps.
        sack: bool = false, source "RFC 2018, RFC 6675; ns-3 since 3.27";
        /// Sending rate during loss recovery: `newreno` pauses until the new window permits sending, `prr` sends in
        /// proportion to delivered data and needs `sack`.
        recovery: Recovery = "newreno", source "RFC 6582, RFC 6675; RFC 6937";
        /// Congestion control: growth and reduction of the congestion window.
        congestion_control: CongestionControl = "reno", source "RFC 5681; RFC 9438";
        /// Quantity that Reno halves after congestion to get its slow-start threshold. CUBIC always uses a share of
        /// `outstanding`.
        flight_size: FlightSize = "pipe", source "tcp-socket-base.cc BytesInFlight; RFC 5681 3.1 eq. (4)";
        /// Window after recovery without SACK: `inflight` avoids a burst, `ssthresh` does not.
        full_ack_window: FullAckWindow = "inflight", source "RFC 6582 3.2 step 3; tcp-socket-base.cc ReceivedAck";
        /// Lets growth count acknowledged segments instead of ACKs (appropriate byte counting).
        byte_counting: bool = false, source "RFC 3465 without the limit L, as in Linux";
        /// Restricts windows to whole segments: growth counts acknowledged segments, and the window after congestion is
        /// a share of the congestion window, rounded down.
        whole_windows: bool = false, source "tcp_cong.c tcp_cong_avoid_ai, tcp_reno_ssthresh of Linux";
        /// Unit of the clock: timers fire at a tick (from 63 ticks on, at a multiple of 8; from 504 on, of 64), CUBIC
        /// computes at most once per tick, and timestamps count milliseconds. 0 for an exact clock.
        clock_tick: Time = "0 s", in "0 s"..="100 ms",
            source "HZ and TCP_TS_HZ of Linux; kernel/time/timer.c calc_wheel_index, tcp_cubic.c bictcp_update";
        /// Makes data packets ECN-capable; marks reduce the window once per round trip.
        ecn: bool = false, source "RFC 3168";
        /// Number of segments that a receiver acknowledges immediately at the start of a connection and after a
        /// duplicate; 0 for none.
        quickack: u32 = 0, in 0..=255, source "tcp_input.c tcp_enter_quickack_mode, TCP_MAX_QUICKACKS of Linux";
        /// Delay of ACKs that report segments above a gap, from the fourth ACK on, to combine them. The actual delay is
        /// at most a twentieth of the RTT, plus up to 0.1 ms; 0 for no delay.
        sack_delay: Time = "0 s", in "0 s"..="100 ms",
            source "tcp_input.c __tcp_ack_snd_check, tcp_comp_sack_delay_ns of Linux";
        /// Time that an ACK waits to cover up to 64 KiB, as in a receiver with GRO.
        gro_timeout: Time = "0 s", in "0 s"..="10 ms", source "net/core/gro.c, gro_flush_timeout of Linux";
        /// Loss detection. All methods except `dupack` keep a record of each outstanding segment and need `sack`. The
        /// keys `impatient_timer` to `app_limited_until` need these records.
        loss_detection: LossDetection = "dupack", source "RFC 5681, RFC 6675; RFC 8985; RFC 9002 6.1";
        /// Lets only the first ACK of new data in a recovery restart the retransmission timer.
        impatient_timer: bool = false,
            source "RFC 6582 4, Impatient variant; ns-3 tcp-socket-base.cc ProcessAck, with SACK too";
        /// Sends the first retransmission of a recovery regardless of window and pacing. Does the same with a lost
        /// segment, or else a new one, for each partial ACK up to a segment that was not retransmitted.
        recovery_sends_at_once: bool = false,
            source "RFC 6675 5 (4.3), RFC 6582 3.2 step 3; ns-3 tcp-socket-base.cc DoRetransmit";
        /// Treats an ACK with new SACK information as a duplicate even if its number advances. Such an ACK does not
        /// make the window grow or restart the timer. A recovery starts with the third such ACK in a row, or with one
        /// that shows the second outstanding segment as lost.
        sack_duplicates: bool = false, source "RFC 6675 2, 5 (1), (2); ns-3 tcp-socket-base.cc ProcessAck, DupAck";
        /// Passes to the congestion control the RTT of the oldest segment that an ACK acknowledges, not of the newest.
        /// The RTT of the oldest segment includes the delay of a delayed ACK.
        rtt_of_first: bool = false,
            source "ns-3 tcp-socket-base.cc EstimateRtt; of the newest in Linux, tcp_clean_rtx_queue";
        /// Sends a tail loss probe before the timeout.
        tlp: bool = false, source "RFC 8985 7; tcp_early_retrans of Linux";
        /// Detects spurious timeouts: checks whether segments sent before the timeout arrive (F-RTO).
        frto: bool = false, source "RFC 5682; tcp_frto of Linux";
        /// Undoes a window reduction once timestamps or D-SACKs show that no segment was lost.
        undo: bool = false, source "RFC 3522, RFC 4015, RFC 3708; tcp_may_undo of Linux";
        /// Rule that ends slow start before losses do, if the sender uses slow start.
        hystart: HyStartKind = "off", source "tcp_cubic.c hystart_update; RFC 9406";
        /// Congestion window after an idle period, unless the congestion control sets the window itself: `keep` does
        /// not change it, `restart` uses the initial window again, `decay` halves it for each timeout in the period.
        after_idle: AfterIdle = "keep",
            source "RFC 9002 7.8, tcp_slow_start_after_idle = 0 of Linux; restart: RFC 5681 4.1; decay: RFC 2861, \
                tcp_output.c tcp_cwnd_restart";
        /// Spreads segments over time.
        pacing: Pacing = "auto", source "RFC 9002 7.7; sch_fq, tcp_output.c tcp_update_skb_after_send of Linux";
        /// Lets the segment after a late paced segment leave earlier, by at most half of the pacing interval.
        pacing_catches_up: bool = true,
            source "tcp_output.c tcp_update_skb_after_send of Linux; not in ns-3 tcp-socket-base.cc SendDataPacket";
        /// Maximum number of bytes that a paced sender sends in a burst, as TSO does; 0 for single segments.
        tso: Bytes = "64 KiB", in "0 B"..="64 KiB", source "tcp_output.c tcp_tso_autosize; GSO_MAX_SIZE";
        /// Lets new data wait until the window has room for a burst of a millisecond, if an ACK is expected within that
        /// time.
        tso_defer: bool = false, source "tcp_output.c tcp_tso_should_defer of Linux";
        /// Receive-buffer autotuning: the receive window starts at 64 KiB and grows with the data per round trip, up to
        /// `socket_buffer`. Data that widen the window are acknowledged immediately.
        autotuning: bool = false, source "tcp_input.c tcp_rcv_space_adjust, tcp_grow_window of Linux";
        /// With `ecn`, lets the receiver report the number of marks to the sender (accurate ECN), instead of echoing a
        /// mark. Always true with congestion controls that need it.
        accurate_ecn: bool = false, source "draft-ietf-tcpm-accurate-ecn";
        /// Payload rate at which the application writes, from `app_limited_from` to `app_limited_until`; 0 is a pause.
        /// Outside that period, and without this key, the application always has data to send.
        app_rate: Option<BitRate> = null, in "0 bit/s"..="10 Tbit/s", source "our choice";
        /// Simulated time from which `app_rate` applies.
        app_limited_from: Time = "0 s", in "0 s"..="1440 h", source "our choice";
        /// Simulated time until which `app_rate` applies; default: the end of the run.
        app_limited_until: Option<Time> = null, in "0 s"..="1440 h", source "our choice";
        with congestion: CongestionParams;
    }
}

/// Delays of this many units or more belong to the next level of Linux's timers (LVL_START).
const LEVEL_UNITS: u64 = 63;

choices! {
    /// Named sets of parameters.
    pub enum TcpProfile {
        /// New Reno as in ns-3.26, used by abc2018.
        Ns3_26 = "ns3.26",
        /// CUBIC with SACK and PRR: the defaults of ns-3.48.
        Ns3 = "ns3",
        /// New Reno as in ns-2, used by afpft and afc.
        Ns2 = "ns2",
        /// CUBIC as in Linux 6, with RACK-TLP, PRR and HyStart; compared with Linux 6.12.
        Linux = "linux",
        /// New Reno for QUIC (RFC 9002).
        Quic = "quic",
    }
}

impl TcpParams {
    /// Parameters of a profile.
    #[must_use]
    pub fn profile(profile: TcpProfile) -> Self {
        match profile {
            TcpProfile::Ns3_26 => Self::default(),
            TcpProfile::Ns3 => Self::ns3(),
            TcpProfile::Ns2 => Self::ns2(),
            TcpProfile::Linux => Self::linux(),
            TcpProfile::Quic => Self::quic(),
        }
    }

    /// Defaults of ns-3.48, `src/internet/model/`; packets as in `ns3.26`.
    fn ns3() -> Self {
        Self {
            initial_window: 10,                           // tcp-socket.cc InitialCwnd
            socket_buffer: Bytes(131_072),                // tcp-socket.cc SndBufSize, RcvBufSize
            sack: true,                                   // tcp-socket-base.cc Sack
            recovery: Recovery::Prr,                      // tcp-l4-protocol.cc RecoveryType
            congestion_control: CongestionControl::Cubic, // tcp-l4-protocol.cc SocketType
            byte_counting: true,                          // tcp-cubic.cc IncreaseWindow, in slow start
            // tcp-cubic.cc has no CwndEvent.
            congestion: CongestionParams::with_cubic_clock(CubicClock::Always),
            ..Self::default()
        }
    }

    /// ns-2 with `Agent/TCP/Newreno` and `Agent/TCPSink`: `tcl/lib/ns-default.tcl`; packets as in afpft.
    fn ns2() -> Self {
        Self {
            segment_payload: 960,                     // afpft: 1000 bytes with the header
            header_bytes: 40,                         // 20 IP + 20 TCP, no timestamps
            syn_bytes: 40,                            // without options
            initial_window: 2,                        // windowInit_
            delayed_ack: 1,                           // TCPSink
            min_rto: Time::from_millis(200),          // minrto_
            initial_rto: Time::from_secs(3),          // rtxcur_init_
            rto_granularity: Time::from_millis(10),   // tcpTick_
            keep_backoff: true,                       // tcp.cc newack
            each_timeout_reduces: true,               // tcp.cc timeout
            retransmit_restarts_timer: true,          // tcp-newreno.cc dupack_action
            rtt_tick: Time::from_millis(10),          // tcpTick_
            full_ack_window: FullAckWindow::Ssthresh, // exit_recovery_fix_ off
            flight_size: FlightSize::Outstanding,     // tcp.cc slowdown: half of the window
            ..Self::default()
        }
    }

    /// Linux: from RFCs where they specify a value, otherwise from `include/net/tcp.h` and
    /// `Documentation/networking/ip-sysctl.rst`.
    fn linux() -> Self {
        Self {
            segment_payload: 1448, // MTU 1500 - 20 IP - 20 TCP - 12 timestamps
            header_bytes: 52,      // the same; no link layer
            syn_bytes: 60,         // 20 IP + 20 TCP + 20 options
            initial_window: 10,    // TCP_INIT_CWND, RFC 6928
            // tcp_wmem[2] limits the send buffer, which tcp_sndbuf_expand makes larger than the window. Half of
            // tcp_rmem[2] limits the receive window (TCP_DEFAULT_SCALING_RATIO): 3 MiB of 6 MiB in Linux 6.12, more in
            // Linux 6.18, which has 32 MiB.
            socket_buffer: Bytes(4 * 1024 * 1024),
            delayed_ack_timeout: Time::from_millis(40),   // TCP_DELACK_MIN
            ack_delay_adapts: true,                       // icsk_ack.ato
            min_rto: Time::from_millis(200),              // TCP_RTO_MIN
            max_rto: Time::from_secs(120),                // TCP_RTO_MAX
            initial_rto: Time::from_secs(1),              // TCP_TIMEOUT_INIT, RFC 6298 2.1
            rto_granularity: Time::from_millis(200),      // TCP_RTO_MIN bounds the variation too
            syn_timeout: Time::from_secs(1),              // TCP_TIMEOUT_INIT
            sack: true,                                   // tcp_sack
            recovery: Recovery::Prr,                      // tcp_input.c tcp_cwnd_reduction
            congestion_control: CongestionControl::Cubic, // tcp_congestion_control
            flight_size: FlightSize::Outstanding,         // tcp_reno_ssthresh: half of cwnd
            byte_counting: true,                          // tcp_slow_start, tcp_cong_avoid_ai
            whole_windows: true,                          // tcp_cong_avoid_ai
            clock_tick: Time::from_millis(4),             // CONFIG_HZ=250, as in Debian
            sack_delay: Time::from_millis(1),             // tcp_comp_sack_delay_ns
            loss_detection: LossDetection::Rack,          // tcp_recovery
            tlp: true,                                    // tcp_early_retrans
            frto: true,                                   // tcp_frto
            undo: true,                                   // tcp_may_undo
            hystart: HyStartKind::Classic,                // tcp_cubic.c hystart
            quickack: 16,                                 // TCP_MAX_QUICKACKS
            autotuning: true,                             // tcp_moderate_rcvbuf
            after_idle: AfterIdle::Decay,                 // tcp_slow_start_after_idle
            tso_defer: true,                              // tcp_tso_should_defer
            congestion: CongestionParams::linux(),
            ..Self::default()
        }
    }

    /// QUIC: RFC 9002, RFC 9000; datagrams of 1200 bytes.
    fn quic() -> Self {
        Self {
            // RFC 9000 14.1: 1200 bytes. The short header has 1 byte of flags, 8 of connection ID, 2 of packet number
            // and 16 of AEAD tag. The STREAM frame has 1 byte of type, 1 of ID, 4 of offset and 2 of length.
            segment_payload: 1200 - 27 - 8,
            header_bytes: 20 + 8 + 27 + 8, // IP, UDP and the above
            syn_bytes: 20 + 8 + 1200,      // RFC 9000 14.1: Initial packets fill a datagram
            //= RFC 9002 7.2-1: The initial window is ten datagrams, at most the larger of 14720 bytes and two
            //= datagrams.
            initial_window: 10,                         // RFC 9002 7.2
            socket_buffer: Bytes(16 * 1024 * 1024),     // flow control that limits no flow
            delayed_ack_timeout: Time::from_millis(25), // RFC 9000 18.2 max_ack_delay
            min_rto: Time::from_micros(1),              // the probe timeout has no minimum
            //= RFC 9002 6.2.2-2: Without an earlier one the initial RTT is 333 ms.
            initial_rto: Time::from_millis(999), // RFC 9002 6.2.2: three times kInitialRtt
            syn_timeout: Time::from_millis(999), // the same
            sack: true,                          // ACK ranges
            recovery: Recovery::NewReno,         // RFC 9002 7.3.2
            flight_size: FlightSize::Outstanding, // RFC 9002 7.3.2: half of the window
            byte_counting: true,                 // RFC 9002 7.3.1, 7.3.3
            loss_detection: LossDetection::PacketThreshold, // RFC 9002 6.1
            //= RFC 9002 7.7-1, by pacing: Packets are paced.
            //= RFC 9002 7.7-2, by pacing: Senders pace or limit bursts.
            pacing: Pacing::On, // RFC 9002 7.7
            ..Self::default()
        }
    }

    /// Sets an external congestion control.
    pub fn set_external(&mut self, control: NamedControl) {
        let (authority, ecn) = (control.factory.authority(), control.factory.ecn());
        self.congestion_control = CongestionControl::External(Outside { authority, ecn });
        self.congestion.external.control = Some(control);
    }

    /// Returns a copy for the senders of one run, which records the failures of this run separately.
    #[must_use]
    pub(crate) fn of_one_run(&self) -> Self {
        let mut params = self.clone();
        params.congestion.external.failures = Failures::default();
        params
    }

    /// Name of the congestion control in a scenario.
    #[must_use]
    pub fn control_name(&self) -> &str {
        match &self.congestion.external.control {
            Some(control) => &control.name,
            None => self.congestion_control.name(),
        }
    }

    /// Deadline of a timer that is set now for `delay`. Linux counts whole ticks and skips the current one. A delay of
    /// 63 ticks or more is counted in units of 8 ticks, from 63 units on in units of 64 ticks, and so on (calc_index,
    /// calc_wheel_index).
    #[inline]
    pub(super) fn due(&self, now: Time, delay: Time) -> Time {
        let tick = self.clock_tick.0;
        if tick == 0 {
            return now.saturating_add(delay);
        }
        let ticks = delay.0.div_ceil(tick);
        let mut shift = 0;
        while ticks >> shift >= LEVEL_UNITS {
            shift += 3;
        }
        Time(((((now.0 / tick + ticks) >> shift) + 1) << shift).saturating_mul(tick))
    }

    /// RTT given by an ACK's echoed timestamp. Linux's timestamps count milliseconds (tcp_rtt_tsopt_us).
    pub(super) fn rtt_of_echo(&self, echo: Time, now: Time) -> Time {
        if self.clock_tick == Time::ZERO {
            return now.saturating_sub(echo);
        }
        let stamp = |time: Time| time.0 / Time::from_millis(1).0;
        Time::from_millis(stamp(now).saturating_sub(stamp(echo)).max(1))
    }

    /// Returns true if the sender keeps a record of each outstanding segment.
    #[must_use]
    #[inline]
    pub fn is_tracked(&self) -> bool {
        self.loss_detection != LossDetection::Dupack
    }

    /// Returns the reason why a key has no effect; `None` if the key has an effect.
    #[must_use]
    pub fn why_without_effect(&self, key: &str) -> Option<String> {
        let mut of_sender = self.keys_without_effect().into_iter();
        self.why_unread(key).or_else(|| of_sender.find(|(names, _)| names.contains(&key)).map(|(_, reason)| reason))
    }

    /// Returns the reason why the congestion control ignores a key that other controls use.
    fn why_unread(&self, key: &str) -> Option<String> {
        // The sender controls slow start, unless the control grows the window itself.
        let by_sender = !self.is_tracked() || self.congestion_control.authority() == Authority::Avoidance;
        let in_slow_start = key == "byte_counting" && by_sender;
        let readers = readers(key);
        let control = self.congestion_control;
        let is_read = readers.contains(&control) || control.reads().contains(&key);
        if readers.is_empty() || is_read || in_slow_start {
            return None;
        }
        let names: Vec<_> = readers.iter().map(|control| control.name()).collect();
        let (control, verb) = (self.control_name(), if names.len() == 1 { "reads" } else { "read" });
        Some(format!("congestion_control = \"{control}\": only {} {verb} it", names.join(", ")))
    }

    /// Returns the keys of the sender that have no effect, with the setting that causes this.
    fn keys_without_effect(&self) -> Vec<(&'static [&'static str], String)> {
        const OF_RECORDS: &[&str] = &[
            "impatient_timer",
            "recovery_sends_at_once",
            "sack_duplicates",
            "rtt_of_first",
            "tlp",
            "frto",
            "undo",
            "hystart",
            "after_idle",
            "cubic_clock",
            "pacing",
            "pacing_catches_up",
            "tso",
            "tso_defer",
            "autotuning",
            "accurate_ecn",
            "app_rate",
        ];
        const OF_CLASSIC: &[&str] = &[
            "limited_transmit",
            "full_ack_window",
            "keep_backoff",
            "each_timeout_reduces",
            "retransmit_restarts_timer",
            "rtt_tick",
        ];
        let detection = format!("loss_detection = \"{}\"", self.loss_detection.name());
        let control = format!("congestion_control = \"{}\"", self.control_name());
        let authority = self.congestion_control.authority();
        let rfc_timeout = matches!(self.loss_detection, LossDetection::Dupack | LossDetection::Scoreboard);
        let classic_elsewhere =
            self.hystart == HyStartKind::Classic && self.congestion_control != CongestionControl::Cubic;
        let is_external = self.congestion_control.is_external();
        let rules: [(bool, &'static [&'static str], &str); 13] = [
            (!self.sack, &["sack_delay"], "sack = false"),
            (!self.is_tracked(), OF_RECORDS, &detection),
            (self.is_tracked(), OF_CLASSIC, &detection),
            (!rfc_timeout, &["rto_granularity"], &detection),
            (
                self.loss_detection == LossDetection::PacketThreshold,
                &["impatient_timer", "recovery_sends_at_once", "sack_duplicates", "tlp", "frto", "undo", "min_rto"],
                &detection,
            ),
            (
                !self.ecn,
                &["accurate_ecn", "bbr3_ecn", "dctcp_gain", "dctcp_initial_alpha", "dctcp_alpha_steps", "prague_gain"],
                "ecn = false",
            ),
            (self.app_rate.is_none(), &["app_limited_from", "app_limited_until"], "no app_rate"),
            (self.pacing == Pacing::Off, &["pacing_catches_up"], "pacing = \"off\""),
            (self.pacing == Pacing::Off && !self.tso_defer, &["tso"], "pacing = \"off\""),
            (authority != Authority::Avoidance, &["hystart"], &control),
            (classic_elsewhere, &["hystart"], &control),
            (authority == Authority::Full, &["recovery", "initial_ssthresh", "after_idle"], &control),
            // An external congestion control may use this key.
            (authority == Authority::Full && !is_external, &["whole_windows"], &control),
        ];
        let holding = rules.into_iter().filter(|(holds, ..)| *holds);
        holding.map(|(_, keys, reason)| (keys, reason.to_string())).collect()
    }

    /// Returns true if the receiver counts marks for the sender.
    #[must_use]
    #[inline]
    pub fn has_accurate_ecn(&self) -> bool {
        self.ecn && self.is_tracked() && (self.accurate_ecn || self.congestion_control.ecn_use() != EcnUse::Classic)
    }

    /// Returns true if a receiver acknowledges immediately when marks begin or end, like that of DCTCP (RFC 8257 3.2).
    #[must_use]
    #[inline]
    pub fn acknowledges_changes_of_marks(&self) -> bool {
        self.ecn && self.is_tracked() && self.congestion_control.ecn_use() == EcnUse::AccurateEct0
    }

    /// Size of `segment` on the wire in bytes.
    #[must_use]
    #[inline]
    pub fn segment_wire_bytes(&self, segment: &Segment) -> u32 {
        if segment.syn { self.syn_bytes } else { self.header_bytes + segment.payload }
    }

    /// Bytes on the wire of a transfer of `payload` bytes without retransmissions.
    #[must_use]
    pub fn transfer_wire_bytes(&self, payload: u64) -> u64 {
        payload + payload.div_ceil(u64::from(self.segment_payload)) * u64::from(self.header_bytes)
    }

    /// Size of `ack` on the wire in bytes.
    #[must_use]
    #[inline]
    pub fn ack_wire_bytes(&self, ack: &Ack) -> u32 {
        let blocks = if ack.sacks.is_empty() { 0 } else { ack.sacks.len() as u32 };
        //= RFC 2018 3-1: The option has 2 + 8 n bytes for n blocks.
        // RFC 2018 section 3: 2 + 8 n bytes; two NOPs before them keep the blocks aligned.
        let option = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        // The AccECN option has kind, length and three counters of 3 bytes, padded. With timestamps, the 40 bytes of
        // options may have room for fewer counters. DCTCP by itself has no option, only ECE (RFC 8257 3.2).
        let has_option = self.has_accurate_ecn() && (self.accurate_ecn || !self.acknowledges_changes_of_marks());
        let counters = if has_option { 12.min(40 - 12 - option) } else { 0 };
        if ack.is_syn() { self.syn_bytes } else { self.header_bytes + option + counters }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AckFlag, SackBlock, SackBlocks};
    use super::*;

    #[test]
    fn wire_sizes_are_those_of_abc2018() {
        let params = TcpParams::profile(TcpProfile::Ns3_26);
        let data = Segment { payload: 1446, ..Segment::default() };
        // A packet has 1446 bytes of payload, 32 of TCP, 20 of IP and 2 of PPP.
        assert_eq!(params.segment_wire_bytes(&data), 1500);
        assert_eq!(params.segment_wire_bytes(&Segment { payload: 0, ..data }), 54);
        // The TCP header has 20 bytes, 10 of timestamps and 3 of window scaling, padded to 36. IP adds 20 bytes and PPP
        // 2.
        assert_eq!(params.segment_wire_bytes(&Segment { payload: 0, syn: true, ..data }), 58);
        assert_eq!(params.ack_wire_bytes(&Ack { ack: 1, ..Ack::default() }), 54);
        assert_eq!(params.ack_wire_bytes(&Ack { flag: AckFlag::Syn, ..Ack::default() }), 58);
        // DCTCP alone has no AccECN option.
        let dctcp = TcpParams {
            ecn: true,
            congestion_control: CongestionControl::Dctcp,
            ..TcpParams::profile(TcpProfile::Linux)
        };
        let sizes = [false, true]
            .map(|accurate_ecn| TcpParams { accurate_ecn, ..dctcp.clone() }.ack_wire_bytes(&Ack::default()));
        assert_eq!(sizes, [dctcp.header_bytes, dctcp.header_bytes + 12]);
    }

    #[test]
    fn full_packets_are_those_of_the_documents() {
        let size = |profile| {
            let params = TcpParams::profile(profile);
            params.segment_wire_bytes(&Segment { payload: params.segment_payload, ..Segment::default() })
        };
        // Packet sizes of abc2018 IV-A1, afpft, and an Ethernet MTU, and of RFC 9000 14.1 with 28 bytes of UDP and IP.
        assert_eq!(
            [TcpProfile::Ns3_26, TcpProfile::Ns3, TcpProfile::Ns2, TcpProfile::Linux, TcpProfile::Quic].map(size),
            [1500, 1500, 1000, 1500, 1228]
        );
    }

    #[test]
    fn the_profile_ns2_is_that_of_afpft_and_afc() {
        // The values are from ns-2, tcl/lib/ns-default.tcl. Packets have 1000 bytes on the wire including headers of 40
        // bytes; ACKs and SYNs have 40 bytes. The initial window is 2, and each packet is acknowledged. Timeouts are
        // from 0.2 s to 60 s, 3 s at first, in ticks of 10 ms. There is no SACK.
        let params = TcpParams::profile(TcpProfile::Ns2);
        let bytes = (params.segment_payload, params.header_bytes, params.syn_bytes);
        assert_eq!(bytes, (960, 40, 40));
        assert_eq!((params.initial_window, params.delayed_ack, params.dupack_threshold), (2, 1, 3));
        let times = [params.min_rto, params.max_rto, params.initial_rto, params.rtt_tick];
        assert_eq!(times, [200, 60_000, 3000, 10].map(Time::from_millis));
        assert!(params.limited_transmit && params.keep_backoff && params.each_timeout_reduces);
        assert!(params.retransmit_restarts_timer);
        assert!(!params.sack && !params.ecn && !params.byte_counting);
        assert_eq!(params.full_ack_window, FullAckWindow::Ssthresh);
        assert_eq!((params.congestion_control, params.recovery), (CongestionControl::Reno, Recovery::NewReno));
    }

    #[test]
    fn a_timer_waits_for_whole_ticks_beside_the_one_that_goes_on() {
        let params = TcpParams::profile(TcpProfile::Linux);
        let due = |now, delay| params.due(Time::from_micros(now), Time::from_micros(delay));
        // Ticks of 4 ms begin at 8 and 12 ms. A timer that is set at 9 ms for 4.5 ms skips the current tick and takes
        // two whole ones: 12 + 8 ms.
        assert_eq!([due(9_000, 4_500), due(8_000, 4_000)], [20_000, 16_000].map(Time::from_micros));
        // Units are 8 ticks from 63 ticks on (252 ms), and 64 ticks from 504 ticks on (2.016 s). The current one is
        // skipped.
        assert_eq!(
            [(0, 248_000), (0, 252_000), (40_000, 300_000), (0, 2_012_000), (0, 2_016_000)]
                .map(|(at, delay)| due(at, delay)),
            [252_000, 256_000, 352_000, 2_016_000, 2_048_000].map(Time::from_micros)
        );
        let exact = TcpParams { clock_tick: Time::ZERO, ..params.clone() };
        assert_eq!(exact.due(Time::from_micros(9_000), Time::from_micros(4_500)), Time::from_micros(13_500));
    }

    #[test]
    fn an_echo_tells_the_rtt_in_milliseconds_where_the_clock_ticks() {
        let params = TcpParams::profile(TcpProfile::Linux);
        let rtt = |echo, now| params.rtt_of_echo(Time::from_micros(echo), Time::from_micros(now));
        // Timestamps of 3 ms and 14 ms give an RTT of 11 ms, regardless of fractions of milliseconds. The minimum is 1
        // ms.
        assert_eq!([rtt(3_900, 14_100), rtt(3_100, 14_900), rtt(3_100, 3_900)], [11, 11, 1].map(Time::from_millis));
        let exact = TcpParams { clock_tick: Time::ZERO, ..params.clone() };
        assert_eq!(exact.rtt_of_echo(Time::from_micros(3_900), Time::from_micros(14_100)), Time::from_micros(10_200));
    }

    #[test]
    fn blocks_lengthen_an_ack_by_eight_bytes_each_and_four() {
        let params = TcpParams::profile(TcpProfile::Linux);
        let block = SackBlock { start: 5, end: 6 };
        let bytes =
            |blocks: &[SackBlock]| params.ack_wire_bytes(&Ack { sacks: SackBlocks::new(blocks), ..Ack::default() });
        // With three blocks the options have their maximum of 40 bytes, which gives 20 IP + 20 TCP + 40 bytes.
        assert_eq!([bytes(&[]), bytes(&[block]), bytes(&[block; 2]), bytes(&[block; 3])], [52, 64, 72, 80]);
    }
}
