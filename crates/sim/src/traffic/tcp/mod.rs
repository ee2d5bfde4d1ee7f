//! TCP as a pair of state machines without I/O: a bulk sender, [`AnySender`], and its [`Receiver`].
//!
//! The classic [`Sender`] has New Reno without SACK, or RFC 6675 with it and optionally PRR; the one of `tracked` keeps
//! a record of each outstanding segment, as Linux and QUIC do. [`TcpParams::profile`] gives the named sets `ns3.26`,
//! `ns3`, `ns2`, `linux` and `quic`. The parameters are shared by the flows of a source and passed to every call: pass
//! the same ones for the whole life of a flow.
//!
//! # Sources
//!
//! - RFC 5681 (congestion control), RFC 6582 (New Reno), RFC 3042 (limited transmit), RFC 6298 (retransmission
//!   timer), RFC 7323 (timestamps, window scaling), RFC 1122 section 4.2 (delayed ACK, silly window).
//! - RFC 2018 (SACK), RFC 6675 (loss recovery with it), RFC 6937 (PRR), RFC 9438 (CUBIC, see
//!   `congestion/cubic/mod.rs`), RFC 3168 (ECN), RFC 3465 (byte counting).
//! - ns-3.26, `src/internet/model/`: `tcp-socket-base.cc`, `tcp-congestion-ops.cc`, `rtt-estimator.cc`,
//!   `tcp-rx-buffer.cc`. The profile `ns3.26` behaves as these files do in a bulk transfer, save for the deviations
//!   below. Where they differ from an RFC, the profile follows ns-3.
//! - For the profile `ns3`, ns-3.48 (2026); for `ns2`, `tcl/lib/ns-default.tcl`, `tcp/tcp.cc`, `tcp/tcp-newreno.cc` of
//!   ns-2; for `linux`, `include/net/tcp.h`, `net/ipv4/tcp*.c` and `Documentation/networking/ip-sysctl.rst` of Linux 6;
//!   for `quic`, RFC 9000 and RFC 9002.
//! - RFC 8985 (RACK-TLP), RFC 5682 (F-RTO), RFC 3522 and RFC 4015 (Eifel), RFC 2883 and RFC 3708 (D-SACK), RFC 9937
//!   (PRR), RFC 9406 (HyStart++), draft-ietf-ccwg-bbr (delivery rate), draft-ietf-tcpm-accurate-ecn.
//!
//! # Rules
//!
//! MSS is [`TcpParams::segment_payload`], UNA the first segment not acknowledged, NXT the next to send.
//!
//! Always:
//!
//! 1. *Growth*, per ACK of new data that covers n segments, with SACK without those SACKed before: if cwnd < ssthresh,
//!    cwnd += MSS and n -= 1; then, if cwnd >= ssthresh and n > 0, cwnd += max(1, floor(MSS^2 / cwnd)). The ACK that
//!    crosses ssthresh may do both. With `byte_counting` the first step is repeated up to n times while cwnd <
//!    ssthresh, and the second step counts n times. CUBIC replaces the second step. With `whole_windows` a window of
//!    segments acknowledged adds one in the second step, and what congestion leaves is a share of cwnd, rounded down to
//!    segments (of DCTCP, upon marks, what it takes).
//!
//! Without SACK:
//!
//! 2. *Inflight* = max(0, NXT - UNA + (retransmitted - dupacks) * MSS).
//! 3. *Duplicate ACK* (ack = UNA < NXT): the third one, if UNA >= recover, sets recover = highest sent + 1,
//!    ssthresh = max(2 MSS, inflight / 2), cwnd = ssthresh + 3 MSS and resends UNA. Any other before recovery sends one
//!    new segment, whatever cwnd is (limited transmit). With `flight_size = "outstanding"`, min(cwnd, NXT - UNA) stands
//!    for inflight; CUBIC keeps `cubic_beta` of that. At a timeout in recovery ssthresh stands for cwnd in it.
//! 4. *In recovery* each duplicate ACK adds one MSS to cwnd and sends what cwnd allows.
//! 5. *Partial ACK* (ack < recover): cwnd = max(0, cwnd - acked) + MSS; resend the new UNA; the timer restarts only at
//!    the first one.
//! 6. *Full ACK*: cwnd = min(ssthresh, inflight + MSS), with UNA and the counters as before this ACK, or ssthresh by
//!    `full_ack_window`; then rule 1 with the segments beyond recover.
//!
//! Always:
//!
//! 7. *Timeout*: recover = highest sent + 1; ssthresh as in rule 3, unless in the loss state already without
//!    `each_timeout_reduces`; cwnd = MSS; NXT = UNA (go back N). Duplicate ACKs are ignored until an ACK exceeds
//!    recover. With SACK see rule 17.
//! 8. *Timer*: RTO = max(min_rto, SRTT + max(granularity, 4 RTTVAR)); doubled at each timeout, up to max_rto; computed
//!    anew, and the timer restarted, at each ACK of new data, with or without a new sample (except by rule 5);
//!    with `keep_backoff`, computed anew at a sample only. A fast retransmit restarts it with
//!    `retransmit_restarts_timer`.
//! 9. *Sample*: now - echo, if the segment UNA was sent once only; with SACK at each ACK of new data. Rounded to whole
//!    `rtt_tick`, one at least, if that is not zero.
//! 10. *Sending*: a full segment if the window has room for one; a short segment only at the end of the transfer. The
//!     socket buffer, which is the receiver's window too, bounds NXT - UNA.
//! 11. *Receiver*: an ACK at once for the first data segment, for every second one in order, for a duplicate, while
//!     a gap exists and when it is filled; otherwise after 0.2 s. It echoes the timestamp of the earliest segment in
//!     order that is not yet acknowledged. With SACK it reports up to three runs of segments beyond gaps, first the one
//!     that the arriving segment belongs to, then those reported most recently.
//!
//! With SACK:
//!
//! 12. *Pipe* = segments not SACKed that are not lost, plus those not SACKed that were sent again in this recovery. A
//!     segment is lost if `dupack_threshold` segments above it are SACKed.
//! 13. *Recovery starts* when UNA is lost: recover = NXT, ssthresh by the outstanding data or the pipe as in rule 3,
//!     cwnd = ssthresh; UNA is sent again whatever the window.
//! 14. *Sending*: while pipe + 1 segment fits into cwnd, the first of: a lost segment not sent again yet; a new
//!     segment; in recovery, a segment below the highest SACKed one not sent again yet; once per recovery the last
//!     segment, if it is above all SACKed ones. Limited transmit follows: what is SACKed leaves the pipe.
//! 15. *Recovery ends* when UNA >= recover: cwnd = ssthresh, rule 1 with the segments beyond recover.
//! 16. *PRR*: at each ACK in recovery cwnd = pipe + sndcnt. If pipe > ssthresh, sndcnt = ceil(prr_delivered * ssthresh
//!     / RecoverFS) - prr_out, else min(ssthresh - pipe, max(prr_delivered - prr_out, delivered) + MSS).
//! 17. *Timeout*: all outstanding segments without a SACK are lost, none is sent again yet, cwnd = MSS; rule 14 sends
//!     them. No recovery starts until UNA >= recover, and the ACK that gets there counts the segments beyond it in
//!     rule 1.
//!
//! With ECN:
//!
//! 18. New data segments carry ECT(0), those sent again nothing. By `rack` a connection whose SYN was sent again has no
//!     ECN. Of a control that needs accurate ECN all carry its
//!     codepoint, the SYN too, and in QUIC all carry ECT(0). The receiver sets ECE on all ACKs from a CE mark until
//!     CWR. An ACK with ECE does not let cwnd grow; if it acknowledges data sent after the last reduction, and no
//!     recovery goes on, ssthresh as in rule 3 and cwnd = ssthresh. A loss in such a window reduces nothing more. After
//!     any reduction the next new segment carries CWR.
//!
//! With a record of each outstanding segment (`loss_detection = "rack"`, `"scoreboard"` or `"packet_threshold"`),
//! rules 1, 9, 10, 11 and 18 hold, and for the rest:
//!
//! 19. *Pipe* = segments neither SACKed nor lost; one that was lost is in it again once it is sent again.
//! 20. *Loss* (RACK): of all delivered, let the one sent last have the RTT r. A segment sent before it is lost r + w
//!     after it was sent. w = 0 in recovery or with `dupack_threshold` segments SACKed, unless reordering was seen;
//!     otherwise a quarter of the least RTT, times one more for each round trip with a D-SACK until 16 recoveries have
//!     passed, at most SRTT. A timer looks again 2 ms after the last of those sent before it is due. What one ACK
//!     reports is not out of order among itself. Copies that are lost are found in the same way.
//! 21. *Recovery* starts with the first loss: ssthresh by the congestion control, recover = NXT. Lost segments are sent
//!     before new ones, as far as the window allows. It ends when UNA >= recover: cwnd = ssthresh. By `rack` another
//!     starts with the same ACK if a lost segment is not delivered yet, whether its copy is in flight or not. A probe's
//!     copy starts none.
//! 22. *PRR* as rule 16, where cwnd before it stands for RecoverFS and the additional segment needs an ACK that
//!     advances UNA without new losses. Marks reduce the window in the same way, over a round trip.
//! 23. *Probe* (`tlp`): 2 SRTT after the last segment was sent or the last ACK that advanced UNA, and `min_rto` more if
//!     one segment is outstanding, else 2 ms, but not after the timeout: a new segment, or else the last one again. If
//!     its copy repaired a loss, the window is reduced as by a recovery.
//! 24. *Timeout*: RTO = SRTT + v, where v is the largest of four times the mean deviation in a round trip, at least
//!     `min_rto`, and shrinks by a quarter of the difference in each. What was sent longer ago than r is lost;
//!     cwnd = pipe + MSS; ssthresh shrinks if no recovery goes on. Slow start follows. Where an ACK delivers no segment
//!     sent once, the echo tells the RTT, with `clock_tick` in milliseconds, and by `rack` to the congestion control
//!     and the least RTT too.
//! 25. *F-RTO* (`frto`): if the ACK after a timeout advances UNA, two new segments are sent; if then something arrives
//!     that was sent once and before the timeout, it was spurious. It watches no timeout in a recovery (RFC 5682 2.1),
//!     as in Linux: one that comes while the copy of a true loss is held up stays. The threshold is that of the
//!     recovery.
//! 26. *Undo* (`undo`): window and threshold are as before the reduction if the timeout was spurious, if an ACK that
//!     advances UNA echoes a time before the first copy was sent, or if D-SACKs have answered all copies.
//! 27. *Slow start* ends by HyStart too (`hystart`), by HyStart++ the first one only, while ssthresh is the initial
//!     one. The window grows only if it bounds what is sent: if it is full, or in slow start at least half full. In
//!     QUIC it has to be full, or waiting data would fill it without pacing. By `after_idle` the window shrinks when
//!     more than a timeout has passed since the last segment and nothing is outstanding.
//! 28. *Pacing*: after ten segments, chunks leave each when the rate has paid for the one before. The rate is that of
//!     the congestion control, or with `pacing = "on"` twice cwnd / SRTT while cwnd < ssthresh / 2, else 1.2 times. A
//!     chunk is 2^-10 s of the rate, at least two segments, at most `tso`.
//! 29. *Accurate ECN*: each ACK carries the number of marked segments; an ACK is 12 bytes longer, or 8 with two SACK
//!     blocks, and no longer with three, which fill its options.
//! 30. *QUIC* (`packet_threshold`): a packet is lost if one sent `dupack_threshold` later, or one sent later and 9/8 of
//!     max(SRTT, last RTT) after it, is delivered. Recovery halves the window at once and ends when a packet sent in it
//!     is acknowledged. A probe timeout, SRTT + 4 RTTVAR + `delayed_ack_timeout`, doubled in a row, sends one packet
//!     and reduces nothing; losses over three of them leave two segments. The rate of pacing is 1.25 cwnd / SRTT.
//! 31. *Scoreboard* (`scoreboard`): a segment sent once is lost as in rule 12. A timeout, which is that of rule 8,
//!     takes all that is in flight for lost. Thresholds after congestion and the counts of rule 22 are in bytes, with
//!     what was outstanding for RecoverFS; by `rack`, as in Linux, in whole segments. With `impatient_timer` only the
//!     first ACK in a recovery that advances UNA restarts the timer. With `recovery_sends_at_once` the first lost
//!     segment, and after each ACK that advances UNA in recovery to a segment sent once, the next lost or else a new
//!     one, leave whatever window and pacing. With `sack_duplicates` an ACK with news of SACK is a duplicate even if it
//!     advances UNA: outside of recovery it neither grows the window nor restarts the timer. The third in a row, or one
//!     while of the segments beyond UNA the first that is lost, sent again or SACKed is not SACKed, begins a recovery;
//!     what is lost at the end of one is sent again without.
//!
//! The receiver acknowledges the first `quickack` segments one by one, and as many after a duplicate, which it reports
//! first (D-SACK). With `autotuning` it acknowledges at once each segment that widens its window, by two; with
//! `tso_defer` the last one of a burst of several, which carries PSH; with `ecn` and `quickack` the first mark that it
//! echoes, and the CWR that ends the echo. For controls to which each mark counts, other than by ECT(1), it
//! acknowledges what waits when marks begin or end (RFC 8257 3.2). With `gro_timeout` an ACK waits for the segments
//! that follow at once. With `sack_delay` the fourth ACK of a segment beyond a gap, counted since RCV.NXT moved, and
//! each that follows waits for that time or RTT / 20, whichever is less, and then for the next segment, 0.1 ms at most,
//! unless 44 segments wait. With `clock_tick` timers of sender and receiver are due at a tick, after whole ticks.
//!
//! # Wire sizes
//!
//! A connection opens with SYN, SYN-ACK, ACK. A full segment takes 1500 bytes on the wire: 1446 of payload, 32 of TCP
//! header with timestamps, 20 of IP, 2 of PPP (abc2018 IV-A1).
//!
//! Packets carry no options; their sizes do. `header_bytes` of a profile with timestamps holds their 12 bytes,
//! `syn_bytes` the options of the handshake (window scaling, SACK permitted, timestamps, MSS); an ACK with n blocks is
//! 4 + 8 n bytes longer. Windows are in bytes of 32 bits, which window scaling allows (RFC 7323 2.2: up to 1 GiB).
//!
//! # Cost
//!
//! 144 bytes for a classic sender, 104 for a receiver (pinned by a test), no allocation per packet. SACK takes 88 bytes
//! more at the sender, CUBIC 120. A receiver that has seen a gap owns a bitmap of one bit per segment of the widest
//! gap, rounded up to a power of two of 8 bytes, and so does a sender with SACK. Without SACK it needs no bitmap to
//! know which segments were sent twice: New Reno resends either UNA or, after a timeout, everything from UNA on, so
//! these are always the first of the outstanding ones, and one number tells where they end. A sender with records has
//! about 1 kB, and 64 bytes for each segment of its widest window, rounded up to a power of two.
//!
//! # Deviations from ns-3.26
//!
//! 1. Every timeout sets cwnd to one segment. ns-3.26 does so only at the first of several: the flow then bursts its
//!    whole window once a second and hardly recovers. This happens with 2 of 10 seeds of the default mix of abc2018.
//! 2. Timestamps are exact, not in milliseconds, and the estimator counts picoseconds, not nanoseconds. Thus RTTs below
//!    1 ms are sampled as well.
//! 3. Window data follow an ACK immediately, not 1 ns later.
//! 4. A connection is never closed for want of ACKs: what 3.26 would have closed is counted in
//!    [`SenderStats::would_close`]. The timeout of a SYN stops doubling at the sixth.
//! 5. No FIN. ns-3 acknowledges the last segment of a finite transfer at once, for it carries the FIN; here it may wait
//!    for the delayed ACK, so that the sender is done up to 0.2 s later. The receiver's end of transfer is the same.
//! 6. A socket buffer holds whole segments: ns-3 fills the rest of a limiting buffer with a short segment. The default
//!    of 2 MiB limits no flow of abc2018. ns-3's own is 131 072 bytes, about the bandwidth-delay product at D_b =
//!    50 ms; the paper does not say which it used.
//! 7. A second SYN-ACK is ignored: ns-3.26 resets cwnd and ssthresh by it. The receiver has no timer of its own
//!    for the SYN-ACK: the sender's SYN is repeated after the same 3 s.
//! 8. Sequence numbers count segments from 0 and do not wrap: a flow ends after 2^32 - 1 segments (6.2 TB).
//!
//! # Deviations from the RFCs, for all profiles
//!
//! 9. RFC 6675: what was SACKed is kept upon a timeout, as section 5.1 allows and RFC 2018 5.1 forbids: no receiver
//!    here reneges. Sizes are in segments; the short last one counts as a full one. The rescue retransmission (NextSeg
//!    rule 4) is sent only if the last segment is above all SACKed ones: otherwise it would repeat a segment whose
//!    retransmission is on its way. RFC 2018 section 4: blocks that fell out of the list of three are not reported
//!    again when it has room.
//! 10. RFC 6937: RecoverFS and the counters are in segments.
//! 11. RFC 3168: ECN is not negotiated by flags of the SYN, both ends use the same parameters; cwnd stays at two
//!     segments at least upon marks, and the rule for a window of one segment (wait for the timeout) does not arise.
//! 12. RFC 5681 section 3.1: the initial window is a parameter, of 10 segments in `ns3` and `linux` (RFC 6928), and a
//!     lost SYN does not bring it down to one. In the loss state the timeout of any segment leaves ssthresh as it is,
//!     unless `each_timeout_reduces`; the RFC says so of a segment that timed out before.
//! 13. RFC 6582 section 3.2: an ACK that covers recover and nothing beyond lets a fast retransmit start, and the flight
//!     after a full ACK may count for less than a segment. Both are so in ns-3.26.
//! 14. RFC 6298: the least timeout is 0.2 s in `ns2` and `linux` (section 2.4: 1 s); a SYN that timed out does not
//!     raise the timeout to 3 s (5.7), for the handshake gives a sample all the same; without `keep_backoff` any ACK of
//!     new data ends the doubling. RFC 7323 section 4.2: the gains are the same however many samples a window gives;
//!     4.3: without `sack` only the stamp of the segment that the last ACK asked for is echoed, as in ns-3.26.
//! 15. RFC 3465 section 2.3: growth by bytes has no limit, after a timeout neither, as in Linux; the RFC has two
//!     segments, and one after a timeout; RFC 5681 section 3.1 has one always.
//!
//! # Deviations of the profile `ns3` from ns-3.48
//!
//! Deviations 2 to 8 hold, and:
//!
//! 16. Segments are those of abc2018 (1446 bytes), not of 536: each study sets them.
//! 17. HyStart, on in ns-3's CUBIC, is missing here: slow start overshoots more.
//! 18. CUBIC's target is a smoothed RTT ahead, in ns-3 the least RTT. There its window grows only if it was full as the
//!     last segment left (m_isCwndLimited); here the classic sender does not look. Neither stops CUBIC's clock while
//!     the application is idle (`cubic_clock`), nor reduces a window after that.
//! 19. PRR follows RFC 6937: ns-3 takes the pipe for RecoverFS, adds one segment to the delivered data of a duplicate
//!     ACK, and allows the additional segment of the slow-start bound only after the ACK of a retransmission. In
//!     recovery ns-3 restarts the timer at the first partial ACK only, and the ACK that ends recovery counts all that
//!     it covers for growth, by a segment at most.
//! 20. Marks reduce the window at once; ns-3.48 spreads the reduction over an RTT by PRR.
//! 21. An ACK with n blocks is 8 n bytes longer in ns-3, which packs the options.
//! 22. With `congestion_control = "reno"`, ns-3 counts ACKs: set `byte_counting = false` too. With `sack = false`,
//!     rules 2 to 6 are those of ns-3.26; later versions treat duplicate ACKs as SACKs of the next segments.
//!
//! # Deviations of the profile `ns2` from ns-2 `Agent/TCP/Newreno`
//!
//! 23. cwnd is in bytes, not in packets with fractions.
//! 24. Without timestamps ns-2 times one segment per RTT; here each ACK gives a sample (rule 9), in ticks of 10 ms as
//!     there. The tick bounds the variation from below as well.
//! 25. An idle period leaves the window as it is. In ns-2 the timer goes on while nothing is outstanding, and its
//!     timeout leaves one segment (`slow_start_restart_`, `restart_bugfix_`).
//! 26. The window is unlimited: ssthresh starts at its largest value and the buffer has 2 MiB, where ns-2 has
//!     `window_` = 20 packets for both. Set `socket_buffer` and `initial_ssthresh` for that.
//! 27. ns-2 forgets SRTT beyond a backoff of 8 (tcp.cc rtt_backoff) and backs off to 64 times the timeout at most.
//!
//! # Deviations of the profile `linux` from Linux
//!
//! 28. The threshold of SACKed segments, which rule 20 has while no reordering was seen, does not grow with reordering;
//!     the least RTT is that of the connection, not of the last five minutes. Of segments sent at one time RACK knows
//!     the order, where Linux has their numbers; an echo older than a copy shows that the original arrived (RFC 8985
//!     6.2).
//! 29. CUBIC's deviation 6. The tick is that of CONFIG_HZ=250, which Debian has. The least RTT of HyStart is that of
//!     slow start, where Linux takes in all samples but those of the first second of a CUBIC epoch.
//! 30. Data that wait for room are one buffer; Linux has buffers of up to 64 KiB, and does not let the rest of one wait
//!     (tcp_tso_should_defer). No send buffer limits a flow (tcp_sndbuf_expand), and no queue below the sender holds
//!     any back (TSQ). GRO merges by a time (`gro_timeout`, off in the profile), not by polls of a device.
//! 31. The receive window is that of 6.12, kept at the sender, by what is sent: losses narrow no round trip of it, and
//!     what waits beyond a gap widens it no further (tcp_data_queue_ofo). The delayed ACK has a fixed 40 ms. No ACK
//!     waits until the application has read (tcp_backlog_ack_defer).
//! 32. Pacing and the SYN have exact timers: in Linux the first may be 0.1 ms late, the last ticks. Undo restores the
//!     threshold as it was; Linux takes at least 3/4 of cwnd for it (tcp_current_ssthresh).
//! 33. tcp_cwnd_application_limited is missing. It lets a window shrink that was not full for a timeout, which never
//!     happens: tcp_cong_avoid begins that time again with each ACK, and without ACKs the connection is idle. On Linux
//!     6.18 a window of 134 segments was the same after 10 s with 17 in flight.
//!
//! # Deviations of the profile `quic` from RFC 9000 and 9002
//!
//! 34. Packets carry one segment of one stream each; a lost one is sent again as it was, under a new number. The
//!     handshake is that of TCP in datagrams of QUIC's size, and gives the first RTT.
//! 35. An ACK has three ranges, those that changed last: none is lost on its way here, so that more would tell nothing.
//!     Its delay is not reported, and 8 bytes a range is more than QUIC takes.
//! 36. Of two packets that a probe timeout may send, it sends one: what is lost first, then new data, then what is in
//!     flight for the longest time (6.2.4).
//! 37. Where section 5.3 and appendix A.7 of RFC 9002 differ, the variation follows A.7: the difference is that from
//!     the old smoothed RTT.
//! 38. RTT samples are those of TCP: from the first packet that an ACK newly acknowledges, the wait for a delayed ACK
//!     included (5.1). The least RTT is that of the connection, after persistent congestion too (5.2).
//! 39. Recovery leaves Reno half of what is outstanding, cwnd at most (7.3.2): the same while the window is in use.
//!
//! # Not implemented
//!
//! FIN and RST, data in both directions, persist timer and window updates (the receiver reads at once), path MTU,
//! Nagle's algorithm (off in ns-3), congestion window validation by RFC 7661, ABE (RFC 8511).

mod any_sender;
mod blocks;
mod congestion;
mod phase;
mod profile;
mod receiver;
mod ring;
mod rto;
mod scoreboard;
mod sender;
mod sender_stats;
mod tracked;

use fairlane_schemes::base::units::Time;
use fairlane_schemes::choices;
use fairlane_schemes::contract::packet::Ecn;

pub use any_sender::AnySender;
pub use blocks::{SackBlock, SackBlocks};
pub use congestion::catalogue::catalogue as congestion_controls;
pub use congestion::control;
pub use congestion::control::FlightSize;
pub use congestion::external;
pub use congestion::{CongestionControl, CongestionParams};
pub use phase::Phase;
pub use profile::{TcpParams, TcpProfile};
pub use receiver::Receiver;
pub use sender::Sender;
pub use sender_stats::SenderStats;

choices! {
    /// Sending rate during loss recovery.
    pub enum Recovery {
        /// Nothing until the pipe has shrunk to the new window, then as much as leaves the network (RFC 6582, RFC
        /// 6675).
        NewReno = "newreno",
        /// A share of what leaves the network, from the first ACK on: proportional rate reduction (RFC 6937).
        Prr = "prr",
    }
}

choices! {
    /// The window after recovery without SACK (RFC 6582 3.2 step 3, full acknowledgment).
    pub enum FullAckWindow {
        /// min(ssthresh, inflight + MSS): option (1), which sends no burst.
        Inflight = "inflight",
        /// ssthresh: option (2).
        Ssthresh = "ssthresh",
    }
}

choices! {
    /// Loss detection of a sender.
    pub enum LossDetection {
        /// Duplicate ACKs, or with SACK the number of segments SACKed above it (RFC 5681, RFC 6675).
        Dupack = "dupack",
        /// RACK: the time since it was sent, if a segment sent later is delivered (RFC 8985).
        Rack = "rack",
        /// The number of segments SACKed above it (RFC 6675), with a record of each segment. A lost retransmission is
        /// detected by the timeout.
        Scoreboard = "scoreboard",
        /// The number of packets sent later and delivered, or the time (RFC 9002).
        PacketThreshold = "packet_threshold",
    }
}

choices! {
    /// Pacing of segments.
    pub enum Pacing {
        /// If the congestion control sets a rate.
        Auto = "auto",
        /// Always; if the congestion control sets no rate, at the rate that Linux derives from the window.
        On = "on",
        /// Never.
        Off = "off",
    }
}

choices! {
    /// Congestion window at the first segment after an idle period that is longer than the retransmission timeout.
    pub enum AfterIdle {
        /// Unchanged.
        Keep = "keep",
        /// The initial window at most.
        Restart = "restart",
        /// Halved for each timeout that the idle period lasts, down to the initial window. ssthresh becomes at least
        /// 3/4 of the previous window.
        Decay = "decay",
    }
}

choices! {
    /// Rule that ends slow start before losses do.
    pub enum HyStartKind {
        /// None.
        Off = "off",
        /// HyStart: a long train of ACKs, or an increased RTT, as in Linux. There it is part of CUBIC, and has no
        /// effect with other controls.
        Classic = "classic",
        /// HyStart++: an increased RTT, followed by conservative slow start (RFC 9406).
        PlusPlus = "plusplus",
    }
}

/// Output of a sender: a SYN, the bare ACK that ends the handshake (no SYN, no payload), or a data segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Index of the data segment: segment k carries the bytes from k * MSS on.
    pub seq: u32,
    /// Payload in bytes: one MSS, less in the last segment of a finite transfer.
    pub payload: u32,
    /// Opens the connection; carries no data.
    pub syn: bool,
    /// The sender has reduced its window since the last congestion echo (CWR, RFC 3168).
    pub cwr: bool,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// Send time (TSval, RFC 7323).
    pub timestamp: Time,
    /// Asks for an immediate ACK.
    pub prompt: Prompt,
}

/// Reason of a segment for an immediate ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prompt {
    /// None.
    #[default]
    No,
    /// It ends a burst (PSH), by `tso_defer`: only if it arrives in order (tcp_event_data_recv).
    InOrder,
    /// It widens the receive window, by `autotuning` (tcp_grow_window).
    Always,
}

/// Output of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The next data segment expected: all before it have arrived.
    pub ack: u32,
    /// The timestamp that the acknowledged segment carried (TSecr, RFC 7323).
    pub echo: Time,
    /// Answers a SYN (SYN-ACK).
    pub syn: bool,
    /// A packet arrived with a congestion mark, and no CWR since (ECE, RFC 3168).
    pub congestion_echo: bool,
    /// Segments that arrived with a congestion mark, modulo 2^16, if the feedback on marks is accurate.
    pub marks: u16,
    /// Segments beyond gaps, if the connection uses SACK.
    pub sacks: SackBlocks,
}

/// `value`, at most 2^32 - 1.
#[inline]
fn clamped(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
