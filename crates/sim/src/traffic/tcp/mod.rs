//! TCP as a pair of state machines without I/O: a bulk sender, [`AnySender`], and its [`Receiver`].
//!
//! The classic [`Sender`] implements New Reno without SACK, or RFC 6675 with SACK and optionally PRR. The sender in
//! `tracked` keeps a record of each outstanding segment, as Linux and QUIC do. [`TcpParams::profile`] returns the named
//! parameter sets `ns3.26`, `ns3`, `ns2`, `linux` and `quic`. All flows of a source share their parameters. The caller
//! passes the parameters to every call and must not change them during a flow.
//!
//! # Sources
//!
//! - RFC 5681 (congestion control), RFC 6582 (New Reno), RFC 3042 (limited transmit), RFC 6298 (retransmission timer),
//!   RFC 7323 (timestamps, window scaling), RFC 1122 section 4.2 (delayed ACK, silly window).
//! - RFC 2018 (SACK), RFC 6675 (loss recovery with SACK), RFC 6937 (PRR), RFC 9438 (CUBIC, see
//!   `congestion/cubic/mod.rs`), RFC 3168 (ECN), RFC 3465 (byte counting).
//! - ns-3.26, `src/internet/model/`: `tcp-socket-base.cc`, `tcp-congestion-ops.cc`, `rtt-estimator.cc`,
//!   `tcp-rx-buffer.cc`. In a bulk transfer, the profile `ns3.26` behaves like these files, except for the deviations
//!   below. Where ns-3.26 and an RFC differ, the profile follows ns-3.26.
//! - For the profile `ns3`, ns-3.48 (2026); for `ns2`, `tcl/lib/ns-default.tcl`, `tcp/tcp.cc`, `tcp/tcp-newreno.cc` of
//!   ns-2; for `linux`, `include/net/tcp.h`, `net/ipv4/tcp*.c` and `Documentation/networking/ip-sysctl.rst` of Linux 6;
//!   for `quic`, RFC 9000 and RFC 9002.
//! - RFC 8985 (RACK-TLP), RFC 5682 (F-RTO), RFC 3522 and RFC 4015 (Eifel), RFC 2883 and RFC 3708 (D-SACK), RFC 9937
//!   (PRR), RFC 9406 (HyStart++), draft-ietf-ccwg-bbr (delivery rate), draft-ietf-tcpm-accurate-ecn.
//!
//! # Rules
//!
//! MSS is [`TcpParams::segment_payload`], UNA the first unacknowledged segment, NXT the next segment to send, and
//! recover the segment at which a recovery ends.
//!
//! Always:
//!
//! 1. *Growth*, for each ACK of new data that covers n segments (with SACK, without those SACKed before). If cwnd <
//!    ssthresh: cwnd += MSS and n -= 1. Then, if cwnd >= ssthresh and n > 0: cwnd += max(1, floor(MSS^2 / cwnd)). The
//!    ACK that crosses ssthresh may do both steps. With `byte_counting`, the first step is repeated up to n times while
//!    cwnd < ssthresh, and the second step n times. CUBIC replaces the second step. With `whole_windows`, the second
//!    step adds one segment per window of acknowledged segments. The window after congestion is then a share of cwnd,
//!    rounded down to segments. On marks with DCTCP, the amount of the reduction is rounded down instead.
//!
//! Without SACK:
//!
//! 2. *Inflight* = max(0, NXT - UNA + (retransmitted - dupacks) * MSS).
//! 3. *Duplicate ACK* (ack = UNA < NXT): the third one, if UNA >= recover, sets recover = highest sent + 1, ssthresh =
//!    max(2 MSS, inflight / 2), cwnd = ssthresh + 3 MSS, and retransmits UNA. Any other duplicate ACK before recovery
//!    sends one new segment, regardless of cwnd (limited transmit). With `flight_size = "outstanding"`, min(cwnd, NXT -
//!    UNA) replaces inflight; at a timeout in recovery, min(ssthresh, NXT - UNA). With CUBIC the factor is
//!    `cubic_beta`, not 1/2.
//! 4. *In recovery* each duplicate ACK adds one MSS to cwnd and sends what cwnd permits.
//! 5. *Partial ACK* (ack < recover): cwnd = max(0, cwnd - acked) + MSS. The new UNA is retransmitted. Only the first
//!    partial ACK restarts the timer.
//! 6. *Full ACK*: depending on `full_ack_window`, cwnd = ssthresh or cwnd = min(ssthresh, inflight + MSS). This
//!    inflight uses UNA and the counters from before the ACK. Then rule 1 applies to the segments above recover.
//!
//! Always:
//!
//! 7. *Timeout*: recover = highest sent + 1; cwnd = MSS; NXT = UNA (go back N). ssthresh is set as in rule 3. It does
//!    not change if the sender already is in the loss state and `each_timeout_reduces` is false. Duplicate ACKs are
//!    ignored until an ACK exceeds recover. Rule 17 applies with SACK.
//! 8. *Timer*: RTO = max(min_rto, SRTT + max(granularity, 4 RTTVAR)). It doubles at each timeout, up to max_rto. Each
//!    ACK of new data restarts the timer (except by rule 5) and recomputes RTO, even without a new sample. With
//!    `keep_backoff`, only a sample recomputes RTO. With `retransmit_restarts_timer`, a fast retransmit restarts the
//!    timer.
//! 9. *Sample*: now - echo, if segment UNA was sent only once; with SACK, at each ACK of new data. If `rtt_tick` is not
//!    zero, samples are rounded to whole ticks, at least one.
//! 10. *Sending*: a full segment if the window has room for it, a short segment only at the end of the transfer. The
//!     socket buffer, which is also the receive window, limits NXT - UNA.
//! 11. *Receiver*: it acknowledges at once the first data segment, every second in-order segment, a duplicate, and all
//!     segments from the start of a gap until the gap is filled. It acknowledges other segments after 0.2 s. An ACK
//!     echoes the timestamp of the earliest in-order segment that is not yet acknowledged. With SACK it reports up to
//!     three runs of segments above gaps: first the run of the arriving segment, then the most recently reported ones.
//!
//! With SACK:
//!
//! 12. *Pipe* = un-SACKed segments that are not lost, plus un-SACKed segments that were retransmitted in this recovery.
//!     A segment is lost if `dupack_threshold` segments above it are SACKed.
//! 13. *Recovery starts* when UNA is lost: recover = NXT; ssthresh from the outstanding data or the pipe as in rule 3;
//!     cwnd = ssthresh. UNA is retransmitted regardless of the window.
//! 14. *Sending*: while pipe + 1 segment fits into cwnd, the first available of: a lost segment not yet retransmitted;
//!     a new segment; in recovery, a segment below the highest SACKed one not yet retransmitted; once per recovery the
//!     last segment, if it is above all SACKed ones. This includes limited transmit, since SACKed segments leave the
//!     pipe.
//! 15. *Recovery ends* when UNA >= recover: cwnd = ssthresh; rule 1 applies to the segments above recover.
//! 16. *PRR*: at each ACK in recovery cwnd = pipe + sndcnt. If pipe > ssthresh, sndcnt = ceil(prr_delivered * ssthresh
//!     / RecoverFS) - prr_out, else min(ssthresh - pipe, max(prr_delivered - prr_out, delivered) + MSS).
//! 17. *Timeout*: all outstanding un-SACKed segments are lost, none of them counts as retransmitted, and cwnd = MSS.
//!     Rule 14 sends them. No recovery starts until UNA >= recover. The ACK that reaches recover counts the segments
//!     above it in rule 1.
//!
//! With ECN:
//!
//! 18. New data segments carry ECT(0), retransmissions are not ECN-capable. With `rack`, a connection whose SYN was
//!     retransmitted has no ECN. With a congestion control that needs accurate ECN, all packets including the SYN carry
//!     its codepoint. In QUIC all packets carry ECT(0). The receiver sets ECE on all ACKs from a CE mark until CWR. An
//!     ACK with ECE does not increase cwnd. If such an ACK acknowledges data sent after the last reduction, outside
//!     recovery, ssthresh is set as in rule 3 and cwnd = ssthresh. A loss in such a window causes no further reduction.
//!     After any reduction the next new segment carries CWR.
//!
//! With a record of each outstanding segment (`loss_detection = "rack"`, `"scoreboard"` or `"packet_threshold"`), rules
//! 1, 9, 10, 11 and 18 apply. The following rules replace the others:
//!
//! 19. *Pipe* = segments neither SACKed nor lost. A lost segment is in the pipe again once it is retransmitted.
//! 20. *Loss* (RACK): let r be the RTT of the delivered segment that was processed last; an ACK's SACKed segments come
//!     first. A segment sent before any delivered one is lost r + w after it was sent. w = 0 in recovery, or with
//!     `dupack_threshold` segments SACKed, unless reordering was seen. Otherwise w is a quarter of the minimum RTT,
//!     plus another quarter for each round trip with a D-SACK, until 16 recoveries have passed; at most SRTT. A timer
//!     checks again 2 ms after the last of these segments is overdue. Segments reported by the same ACK do not count as
//!     reordered. Lost retransmissions are detected in the same way.
//! 21. *Recovery* starts with the first loss: ssthresh by the congestion control, recover = NXT. Lost segments are sent
//!     before new ones, as far as the window permits. Recovery ends when UNA >= recover: cwnd = ssthresh. With `rack`,
//!     the same ACK starts another recovery if a lost segment is not delivered yet, even if its retransmission is in
//!     flight. A segment repeated by a probe is not considered lost.
//! 22. *PRR* as rule 16, except that the cwnd before the reduction replaces RecoverFS, and the additional segment
//!     requires an ACK that advances UNA without new losses. Marks reduce the window in the same way, over a round
//!     trip.
//! 23. *Probe* (`tlp`): sent 2 SRTT after the last segment or after the last ACK that advanced UNA, plus `min_rto` if
//!     one segment is outstanding, otherwise plus 2 ms. It is not sent later than the timeout. The probe is a new
//!     segment or, if there is none, the last segment again. If the repetition repairs a loss, the window is reduced as
//!     by a recovery.
//! 24. *Timeout*: RTO = SRTT + v, where v is four times the mean deviation, at its maximum in a round trip, and at
//!     least `min_rto`. If this maximum falls, v shrinks by a quarter of the difference per round trip. Segments sent
//!     longer ago than r are lost; cwnd = pipe + MSS; ssthresh is reduced if no recovery is in progress. Slow start
//!     follows. If an ACK delivers no segment that was sent once, the echo gives the RTT (in milliseconds with
//!     `clock_tick`); with `rack`, the congestion control and the minimum RTT use it too.
//! 25. *F-RTO* (`frto`): if the ACK after a timeout advances UNA, two new segments are sent. If a segment is then
//!     delivered that was sent only once, before the timeout, the timeout was spurious. As in Linux, F-RTO does not
//!     check timeouts in recovery (RFC 5682 2.1). So if only a retransmission of a real loss is late, the timeout is
//!     not considered spurious. ssthresh stays at the value that the recovery set.
//! 26. *Undo* (`undo`): restores window and threshold from before the reduction if the timeout was spurious, if an ACK
//!     that advances UNA echoes a time before the first retransmission, or if D-SACKs have answered all
//!     retransmissions.
//! 27. *Slow start* also ends by HyStart (`hystart`); HyStart++ applies only while ssthresh has its initial value. The
//!     window grows only if it limits sending: if the window is full, or at least half full in slow start. In QUIC the
//!     window must be full, or would be full without pacing. Depending on `after_idle`, the window shrinks when more
//!     than a timeout has passed since the last segment and nothing is outstanding.
//! 28. *Pacing*: after ten segments, data are sent in chunks. Each chunk starts after the time that the previous one
//!     takes at the pacing rate. The congestion control sets the rate. With `pacing = "on"` and no such rate, the rate
//!     is 2 cwnd / SRTT while cwnd < ssthresh / 2, else 1.2 cwnd / SRTT. A chunk has the bytes of 2^-10 s at this rate,
//!     at least two segments, and at most `tso`.
//! 29. *Accurate ECN*: each ACK carries the number of marked segments. This makes the ACK 12 bytes longer, or 8 bytes
//!     with two SACK blocks. With three blocks, which fill the option space, its length does not change.
//! 30. *QUIC* (`packet_threshold`): a packet is lost if a packet with a number higher by `dupack_threshold` is
//!     delivered. It is also lost if any later packet is delivered and 9/8 of max(SRTT, last RTT) have passed since the
//!     lost one was sent. Recovery halves the window at once and ends when a packet sent in it is acknowledged. A probe
//!     timeout of SRTT + 4 RTTVAR + `delayed_ack_timeout` sends one packet and does not reduce the window. The timeout
//!     doubles each time. If all packets sent over three probe timeouts are lost, the window becomes two segments. The
//!     pacing rate is 1.25 cwnd / SRTT.
//! 31. *Scoreboard* (`scoreboard`): a segment sent once is lost as in rule 12. A timeout, with the RTO of rule 8,
//!     considers everything in flight lost. Thresholds after congestion and the counts of rule 22 are in bytes, and the
//!     outstanding data replace RecoverFS; with `rack`, as in Linux, they are in whole segments. With
//!     `impatient_timer`, only the first ACK in a recovery that advances UNA restarts the timer. With
//!     `recovery_sends_at_once`, the first lost segment leaves regardless of window and pacing. After each ACK in
//!     recovery that advances UNA to a segment sent once, the next lost segment, or else a new one, also leaves at
//!     once. With `sack_duplicates`, an ACK with new SACK information is a duplicate even if it advances UNA: outside
//!     recovery it neither grows the window nor restarts the timer. A recovery starts with the third duplicate in a
//!     row. It also starts if, among the segments above UNA, the first one that is lost, retransmitted or SACKed is not
//!     SACKed. Segments still lost at the end of a recovery are retransmitted without another recovery.
//!
//! The receiver acknowledges the first `quickack` segments one by one, and again as many after a duplicate segment. It
//! reports a duplicate in the first block (D-SACK). It also immediately acknowledges:
//!
//! - with `autotuning`, each segment that widens the receive window (by two segments);
//! - with `tso_defer`, the last segment of a burst of several and the last one written, which carry PSH, if in order;
//! - with `ecn` and `quickack`, the segment with the first mark that it echoes, and the segment with the CWR that ends
//!   the echo;
//! - pending segments when marks begin or end (RFC 8257 3.2), for controls that count each mark but do not use ECT(1).
//!
//! With `gro_timeout`, an ACK waits for segments that follow immediately. With `sack_delay`, ACKs of segments above a
//! gap are delayed, from the fourth since RCV.NXT advanced. The delay is the smaller of `sack_delay` and RTT / 20, plus
//! at most 0.1 ms for the next segment. It ends once 44 ACKs wait. With `clock_tick`, timers of sender and receiver
//! fire at a tick, after whole ticks.
//!
//! # Wire sizes
//!
//! A connection opens with SYN, SYN-ACK, ACK. A full segment takes 1500 bytes on the wire: 1446 of payload, 32 of TCP
//! header with timestamps, 20 of IP, 2 of PPP (abc2018 IV-A1).
//!
//! Packets carry no options, but their sizes include them. `header_bytes` of a profile with timestamps includes their
//! 12 bytes, and `syn_bytes` the options of the handshake (window scaling, SACK permitted, timestamps, MSS). An ACK
//! with n SACK blocks is 4 + 8 n bytes longer. Without `autotuning`, windows are 32-bit byte counts, which window
//! scaling permits (RFC 7323 2.2: up to 1 GiB). With it, ACKs carry the scaled window.
//!
//! # Cost
//!
//! A classic sender takes 144 bytes, a receiver 112 (pinned by a test), and about 130 more with `autotuning`. No
//! packet causes an allocation. At the sender,
//! SACK adds 88 bytes and CUBIC 120. A receiver that has seen a gap has a bitmap with one bit per segment of the widest
//! gap, in units of 8 bytes rounded up to a power of two. A sender with SACK also has such a bitmap. A sender without
//! SACK needs none: New Reno retransmits UNA or, after a timeout, all segments from UNA on. So retransmitted segments
//! are always the first outstanding ones, and one number marks their end. A sender with records has about 1 kB, and 64
//! bytes for each segment of its widest window, rounded up to a power of two.
//!
//! # Deviations from ns-3.26
//!
//! 1. Every timeout sets cwnd to one segment. In ns-3.26 only the first of several timeouts does this: afterwards the
//!    flow sends its whole window in a burst once a second and hardly recovers. This happens with 2 of 10 seeds of
//!    abc2018's default mix.
//! 2. Timestamps are exact, not in milliseconds, and the estimator counts picoseconds, not nanoseconds. So RTTs below 1
//!    ms are sampled as well.
//! 3. Data that a window permits follow an ACK immediately, not 1 ns later.
//! 4. A connection is never closed for lack of ACKs; [`SenderStats::would_close`] counts when ns-3.26 would have closed
//!    it. The timeout of a SYN stops doubling at the sixth.
//! 5. There is no FIN. ns-3 acknowledges the last segment of a finite transfer at once because it carries the FIN. Here
//!    its ACK may be delayed, so the sender may finish up to 0.2 s later. The receiver finishes at the same time as in
//!    ns-3.
//! 6. A socket buffer contains whole segments; ns-3 fills the rest of a full buffer with a short segment. The default
//!    of 2 MiB limits no flow of abc2018. The default of ns-3 is 131 072 bytes, about the bandwidth-delay product at
//!    D_b = 50 ms. The paper does not state its buffer size.
//! 7. A second SYN-ACK is ignored; in ns-3.26 it resets cwnd and ssthresh. The receiver has no timer for the SYN-ACK:
//!    the sender repeats its SYN after the same 3 s.
//! 8. Sequence numbers count segments from 0 and do not wrap: a flow ends after 2^32 - 1 segments (6.2 TB).
//!
//! # Deviations from the RFCs, for all profiles
//!
//! 9. RFC 6675: SACK information is kept at a timeout, as section 5.1 permits and RFC 2018 5.1 forbids, because no
//!    receiver here reneges. Sizes are in segments; the short last segment counts as a full one. The rescue
//!    retransmission (NextSeg rule 4) is sent only if the last segment is above all SACKed ones. Otherwise it would
//!    repeat a segment whose retransmission is in flight. RFC 2018 section 4: a block dropped from the list of three is
//!    not reported again later.
//! 10. RFC 6937: RecoverFS and the counters are in segments.
//! 11. RFC 3168: ECN is not negotiated with SYN flags, since both ends use the same parameters. On marks cwnd stays at
//!     two segments or more, so the rule for a window of one segment (wait for the timeout) never applies.
//! 12. RFC 5681 section 3.1: the initial window is a parameter, 10 segments in `ns3` and `linux` (RFC 6928), and a lost
//!     SYN does not reduce it to one. In the loss state, the timeout of any segment leaves ssthresh unchanged, unless
//!     `each_timeout_reduces`. In the RFC only a repeated timeout of the same segment does so.
//! 13. RFC 6582 section 3.2: as in ns-3.26, an ACK that covers exactly recover allows a fast retransmit, and the flight
//!     after a full ACK may be less than a segment.
//! 14. RFC 6298: the minimum timeout is 0.2 s in `ns2` and `linux` (section 2.4: 1 s). A SYN that timed out does not
//!     raise the timeout to 3 s (5.7), since the handshake gives a sample anyway. Without `keep_backoff` any ACK of new
//!     data ends the backoff. RFC 7323 section 4.2: the gains do not depend on the number of samples per window; 4.3:
//!     without `sack` an ACK echoes only the timestamp of the segment that the last ACK requested, as in ns-3.26.
//! 15. RFC 3465 section 2.3: growth by bytes has no limit, even after a timeout, as in Linux. The RFC's limit is two
//!     segments, and one after a timeout; RFC 5681 section 3.1 always has one.
//!
//! # Deviations of the profile `ns3` from ns-3.48
//!
//! Deviations 2 to 8, and:
//!
//! 16. Segments are those of abc2018 (1446 bytes), not of 536: each study sets them.
//! 17. HyStart, which ns-3's CUBIC uses, is not in the profile, so slow start overshoots more.
//! 18. CUBIC's target is one smoothed RTT ahead; in ns-3 it is one minimum RTT ahead. In ns-3 CUBIC's window grows only
//!     if it was full when the last segment left (m_isCwndLimited); here the classic sender does not check this.
//!     Neither ns-3 nor this sender stops CUBIC's clock while the application is idle (`cubic_clock`) or reduces the
//!     window after an idle period.
//! 19. PRR follows RFC 6937. ns-3 uses the pipe as RecoverFS, adds one segment to the delivered data of a duplicate
//!     ACK, and permits the additional segment of the slow-start bound only after the ACK of a retransmission. In
//!     recovery, ns-3 restarts the timer only at the first partial ACK. The ACK that ends recovery counts all segments
//!     that it covers for growth, at most one segment.
//! 20. Marks reduce the window immediately; ns-3.48 spreads the reduction over an RTT by PRR.
//! 21. An ACK with n blocks is 8 n bytes longer in ns-3, which packs the options.
//! 22. With `congestion_control = "reno"`, ns-3 counts ACKs; for this, also set `byte_counting = false`. With `sack =
//!     false`, rules 2 to 6 are those of ns-3.26; later versions treat duplicate ACKs as SACKs of the next segments.
//!
//! # Deviations of the profile `ns2` from ns-2 `Agent/TCP/Newreno`
//!
//! 23. cwnd is in bytes, not in packets with fractions.
//! 24. Without timestamps ns-2 times one segment per RTT; here each ACK gives a sample (rule 9), in ticks of 10 ms as
//!     in ns-2. The tick is also the minimum of the variation.
//! 25. An idle period does not change the window. In ns-2 the timer keeps running while nothing is outstanding, and its
//!     timeout reduces the window to one segment (`slow_start_restart_`, `restart_bugfix_`).
//! 26. The window is unlimited: ssthresh starts at its largest value and the buffer has 2 MiB. In ns-2 the initial
//!     ssthresh and the buffer are `window_` = 20 packets. To get this, set `socket_buffer` and `initial_ssthresh`.
//! 27. ns-2 forgets SRTT above a backoff of 8 (tcp.cc rtt_backoff) and backs off to at most 64 times the timeout.
//!
//! # Deviations of the profile `linux` from Linux
//!
//! 28. The threshold of SACKed segments, used in rule 20 while no reordering was seen, does not grow with reordering.
//!     The minimum RTT is that of the connection, not of the last five minutes. RACK knows the order of segments sent
//!     at the same time; Linux uses their sequence numbers. An echo older than a retransmission shows that the original
//!     arrived (RFC 8985 6.2).
//! 29. Deviation 6 of CUBIC applies. The tick is that of CONFIG_HZ=250, as in Debian. The minimum RTT of HyStart is
//!     that of slow start; Linux uses all samples except those of the first second of a CUBIC epoch.
//! 30. With `tso_defer` the sender does not defer the rest of a send buffer (skb). The application writes 64 KiB at a
//!     time while fewer than 128 KiB are unsent, and fills the last buffer up (tcp_sendmsg_locked). Buffers consist of
//!     whole segments; in Linux a buffer also grows at the expense of the next while it waits (tcp_grow_skb). No
//!     socket buffer limits a sender (tcp_sndbuf_expand), and no queue below it delays it (TSQ). GRO merges by time
//!     (`gro_timeout`, off in the profile), not by polls of a device.
//! 31. The receive window is that of 6.12. The receiver does not know which timestamp a segment echoes. It assumes that
//!     each segment is sent when an ACK arrives, and subtracts the delay of the reverse path from the send time. The
//!     handshake gives this delay. With pacing, the resulting RTT is too short. The application reads at once, and no
//!     ACK waits for that (tcp_backlog_ack_defer).
//! 32. Pacing and the SYN have exact timers. In Linux a pacing timer may be 0.1 ms late, and the SYN timer fires at a
//!     tick. Undo restores the previous threshold; Linux sets it to at least 3/4 of cwnd (tcp_current_ssthresh).
//! 33. tcp_cwnd_application_limited is not implemented. The function shrinks a window that has not been full for the
//!     duration of a timeout. This never happens: tcp_cong_avoid restarts this duration at each ACK, and without ACKs
//!     the connection is idle.
//!
//! # Deviations of the profile `quic` from RFC 9000 and 9002
//!
//! 34. Each packet carries one segment of one stream; the segment of a lost packet is sent again unchanged, in a packet
//!     with a new number. The handshake is that of TCP in datagrams of QUIC's size, and gives the first RTT.
//! 35. An ACK has the three ranges that changed last. More ranges would not add information, since the reverse path
//!     loses no ACK (a reverse link may). The ACK does not report its delay. Its 8 bytes per range are more than in
//!     QUIC.
//! 36. A probe timeout sends one packet; the RFC allows two (6.2.4). The probe is a lost packet, otherwise new data,
//!     otherwise the packet that has been in flight longest.
//! 37. Where section 5.3 and appendix A.7 of RFC 9002 differ, the variation follows A.7: it uses the difference from
//!     the old smoothed RTT.
//! 38. RTT samples are taken as in TCP: from the first packet that an ACK newly acknowledges, including the delay of
//!     the ACK (5.1). The minimum RTT is taken over the whole connection, even after persistent congestion (5.2).
//! 39. In recovery, Reno's window is half of the outstanding data, at most half of cwnd. By 7.3.2 it is half of cwnd,
//!     which is the same while the window is full.
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
pub(crate) use receiver::{first_window, window_shift};
pub use sender::Sender;
pub use sender_stats::SenderStats;

choices! {
    /// Sending rate during loss recovery.
    pub enum Recovery {
        /// Sends no data until the pipe has shrunk to the new window, then as much as leaves the network (RFC 6582, RFC
        /// 6675).
        NewReno = "newreno",
        /// Sends in proportion to the data that leave the network, from the first ACK on: proportional rate reduction
        /// (RFC 6937).
        Prr = "prr",
    }
}

choices! {
    /// Window after recovery without SACK (RFC 6582 3.2 step 3, full acknowledgment).
    pub enum FullAckWindow {
        /// min(ssthresh, inflight + MSS): option (1), which avoids a burst.
        Inflight = "inflight",
        /// ssthresh: option (2).
        Ssthresh = "ssthresh",
    }
}

choices! {
    /// Loss detection of a sender.
    pub enum LossDetection {
        /// Duplicate ACKs or, with SACK, the number of SACKed segments above a segment (RFC 5681, RFC 6675).
        Dupack = "dupack",
        /// RACK: the time since a segment was sent, once a segment sent later is delivered (RFC 8985).
        Rack = "rack",
        /// The number of SACKed segments above a segment (RFC 6675), with a record of each segment. Only the timeout
        /// detects a lost retransmission.
        Scoreboard = "scoreboard",
        /// The number of later packets that are delivered, or the time since the packet was sent (RFC 9002).
        PacketThreshold = "packet_threshold",
    }
}

choices! {
    /// Pacing of segments.
    pub enum Pacing {
        /// Paces only if the congestion control sets a rate.
        Auto = "auto",
        /// Always paces. If the congestion control sets no rate, uses the rate that Linux derives from the window.
        On = "on",
        /// Never.
        Off = "off",
    }
}

choices! {
    /// Congestion window after an idle period that is longer than the retransmission timeout.
    pub enum AfterIdle {
        /// Unchanged.
        Keep = "keep",
        /// At most the initial window.
        Restart = "restart",
        /// Halved for each timeout in the idle period, down to the initial window. ssthresh becomes at least 3/4 of the
        /// previous window.
        Decay = "decay",
    }
}

choices! {
    /// Rule that ends slow start before losses do.
    pub enum HyStartKind {
        /// None.
        Off = "off",
        /// HyStart: a long train of ACKs, or an increased RTT. As in Linux it is part of CUBIC, and has no effect with
        /// other controls.
        Classic = "classic",
        /// HyStart++: an increased RTT, followed by conservative slow start (RFC 9406).
        PlusPlus = "plusplus",
    }
}

/// Output of a sender: a SYN, the bare ACK that ends the handshake (no SYN, no payload), or a data segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Index of the data segment: segment k has the bytes from k * MSS on.
    pub seq: u32,
    /// Payload in bytes: one MSS, or less in the last segment of a finite transfer.
    pub payload: u32,
    /// True if the segment opens the connection; such a segment has no data.
    pub syn: bool,
    /// True if the sender has reduced its window since the last congestion echo (CWR, RFC 3168).
    pub cwr: bool,
    /// ECN field of its packet.
    pub ecn: Ecn,
    /// Send time (TSval, RFC 7323).
    pub timestamp: Time,
    /// With `tso_defer`, true if the segment ends a burst or a write (PSH). In order, it is acknowledged at once.
    pub push: bool,
}

/// Flag of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckFlag {
    /// None.
    #[default]
    None,
    /// The ACK is a SYN-ACK.
    Syn,
    /// A packet with a congestion mark has arrived, and none with CWR since then (ECE, RFC 3168).
    CongestionEcho,
}

/// Output of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Next expected data segment: all segments before it have arrived.
    pub ack: u32,
    /// Timestamp of the acknowledged segment (TSecr, RFC 7323).
    pub echo: Time,
    /// SYN or ECE.
    pub flag: AckFlag,
    /// Number of segments that arrived with a congestion mark, modulo 2^8, if the feedback is accurate.
    pub marks: u8,
    /// With `autotuning`, the scaled receive window. A SYN-ACK has none.
    pub window: u16,
    /// Runs of segments above gaps, if the connection uses SACK.
    pub sacks: SackBlocks,
}

impl Ack {
    /// Returns true if this is a SYN-ACK.
    #[must_use]
    #[inline]
    pub fn is_syn(&self) -> bool {
        self.flag == AckFlag::Syn
    }

    /// Returns true if the ACK echoes a congestion mark.
    #[must_use]
    #[inline]
    pub fn echoes_congestion(&self) -> bool {
        self.flag == AckFlag::CongestionEcho
    }
}

/// Returns `value`, at most 2^32 - 1.
#[inline]
fn clamped(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
