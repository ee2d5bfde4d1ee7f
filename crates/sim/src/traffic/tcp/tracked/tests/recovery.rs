//! Tests of losses and their repair. The RTT is 100 ms. The SYN-ACK arrives at 100 ms, and then the first window of ten
//! segments is sent.

use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::contract::packet::Ecn;

use super::path::{Lot, MS, MSS, Path, linux, plain};
use crate::traffic::tcp::phase::Phase;
use crate::traffic::tcp::{CongestionControl, HyStartKind, LossDetection, Pacing, SenderStats, TcpParams, TcpProfile};

#[test]
fn a_lost_segment_is_sent_again_when_three_above_it_are_delivered() {
    let mut path =
        Path::new(plain(), Some(60), |seq, time| if (seq, time) == (4, 0) { Lot::Lost } else { Lot::Arrives });
    path.run_to_completion();
    // All ACKs arrive at 200 ms. The third SACK above segment 4 marks segment 4 as lost, without a wait for reordering
    // (RFC 8985 6.2 step 4).
    assert_eq!(path.resent(), [(200, 4)]);
    let stats = path.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.timeouts, stats.tail_loss_probes), (1, 0, 0));
}

#[test]
fn a_delayed_ack_that_comes_with_the_first_sack_delays_no_recovery() {
    // The profile delays ACKs after the first 16 segments. One of segments 10 to 29, sent at 200 ms, is lost. If the
    // receiver delays the ACK of the segment before the lost one, that ACK arrives with the first SACK.
    for lost in 20..24 {
        let params = TcpParams { delayed_ack: linux().delayed_ack, ..plain() };
        let lossy = |seq, time| if (seq, time) == (lost, 0) { Lot::Lost } else { Lot::Arrives };
        let mut path = Path::new(params, Some(100), lossy);
        path.run_to_completion();
        // Without reordering, three SACKs start recovery. There is no additional wait of RTT / 4 = 25 ms.
        assert_eq!(path.resent(), [(300, lost)]);
    }
}

#[test]
fn fewer_than_three_sacks_wait_for_a_quarter_of_the_least_rtt() {
    // The eighth of ten segments is lost. The two later segments are SACKed at 200 ms. RTT / 4 = 25 ms later the lost
    // segment is overdue. The timer adds 2 ms.
    let mut path =
        Path::new(plain(), Some(10), |seq, time| if (seq, time) == (7, 0) { Lot::Lost } else { Lot::Arrives });
    path.run_to_completion();
    assert_eq!(path.resent(), [(227, 7)]);
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    let mut path =
        Path::new(plain(), Some(60), |seq, time| if seq == 4 && time < 2 { Lot::Lost } else { Lot::Arrives });
    path.run_to_completion();
    // The retransmission at 200 ms is lost. A segment sent after it, also at 200 ms, is SACKed at 300 ms.
    assert_eq!(path.resent(), [(200, 4), (300, 4)]);
    assert_eq!(path.sender.stats().timeouts, 0);
}

#[test]
fn the_first_retransmission_waits_for_pacing_unless_recovery_sends_at_once() {
    let resent = |recovery_sends_at_once| {
        let paced =
            TcpParams { pacing: Pacing::On, tso: Bytes(0), loss_detection: LossDetection::Scoreboard, ..plain() };
        let params = TcpParams { recovery_sends_at_once, ..paced };
        let mut path =
            Path::new(params, Some(60), |seq, time| if (seq, time) == (4, 0) { Lot::Lost } else { Lot::Arrives });
        path.run_to_completion();
        path.resent()
    };
    // All ACKs of the first window arrive at 200 ms. The first ACK releases a segment. The pacing rate is 2 cwnd /
    // SRTT, which is 22 segments in 100 ms. So the next segment may be sent 4.5 ms later, or after half of this time if
    // pacing catches up. Either is after 202 ms.
    assert_eq!(resent(true), [(200, 4)]);
    assert!(matches!(resent(false)[..], [(202..=205, 4)]));
}

#[test]
fn an_ack_that_reports_by_sack_may_be_a_duplicate_even_if_its_number_moves() {
    let run = |sack_duplicates| {
        let late = TcpParams { tlp: false, frto: false, undo: false, min_rto: MS(1000), ..plain() };
        let delayed = TcpParams { delayed_ack: 2, quickack: 0, whole_windows: false, ..late };
        let params = TcpParams { loss_detection: LossDetection::Scoreboard, sack_duplicates, ..delayed };
        let lot = |seq, time| match (seq, time) {
            (4, ..=1) => Lot::Lost,
            (5..10, 0) => Lot::Late(MS(20)),
            _ => Lot::Arrives,
        };
        let mut path = Path::new(params, Some(40), lot);
        path.run_until(MS(220));
        let threshold = path.sender.ssthresh();
        path.run_to_completion();
        (threshold, path.resent()[..2].to_vec())
    };
    // At 200 ms the ACKs of segments 0 to 2 have widened the window to 13 segments. The receiver delays the ACK of
    // segment 3 until segment 5 arrives. This ACK, with the SACK of segment 5, arrives at 220 ms, before two more
    // SACKs. If this ACK counts as a duplicate, 13 segments are halved. Otherwise it first increases the window to 15
    // segments, which are then halved. The timeout is one second after the last ACK that restarts the timer.
    assert_eq!(run(true), (6500, vec![(220, 4), (1200, 4)]));
    assert_eq!(run(false), (7500, vec![(220, 4), (1220, 4)]));
}

#[test]
fn a_lost_tail_is_probed_after_two_rtts() {
    let lossy = |seq, time| if seq >= 8 && time == 0 { Lot::Lost } else { Lot::Arrives };
    let mut path = Path::new(plain(), Some(10), lossy);
    path.run_to_completion();
    // The last two of ten segments are lost, so two are outstanding after the ACKs at 200 ms. The probe repeats the
    // last one 2 * 100 + 2 ms later (RFC 8985 7.3). The SACK of the probe at 502 ms makes the other segment overdue,
    // because more than an RTT has passed.
    assert_eq!(path.resent(), [(402, 9), (502, 8)]);
    let stats = path.sender.stats();
    assert_eq!((stats.tail_loss_probes, stats.timeouts), (1, 0));
}

#[test]
fn without_probes_a_lost_tail_waits_for_the_timeout() {
    let lossy = |seq, time| if seq >= 8 && time == 0 { Lot::Lost } else { Lot::Arrives };
    let mut path = Path::new(TcpParams { tlp: false, ..plain() }, Some(10), lossy);
    path.run_to_completion();
    // The timeout is the SRTT of 100 ms plus the minimum variation of 200 ms, counted from the ACKs at 200 ms.
    assert_eq!(path.resent(), [(500, 8), (600, 9)]);
    assert_eq!((path.sender.stats().tail_loss_probes, path.sender.stats().timeouts), (0, 1));
}

#[test]
fn a_lone_segment_waits_for_a_delayed_ack_before_it_is_probed() {
    let mut path = Path::new(plain(), Some(1), |_, time| if time == 0 { Lot::Lost } else { Lot::Arrives });
    path.run_to_completion();
    // The probe would be sent at 100 ms + 2 * 100 ms + 200 ms. This is after the timeout at 100 ms + 300 ms, so the
    // probe is sent at the time of the timeout.
    assert_eq!(path.resent(), [(400, 0)]);
}

/// Sends ten segments, of which the last is subject to `lot` and is repeated by a probe at 500 ms. 30 more segments are
/// sent before the ACK of the probe. Returns the final ssthresh and the sender's counters.
fn window_after_a_probe(lot: Lot) -> (u64, SenderStats) {
    let mut path = Path::new(plain(), Some(10), |seq, time| if (seq, time) == (9, 0) { lot } else { Lot::Arrives });
    path.run_until(MS(550));
    assert_eq!(path.resent(), [(500, 9)]);
    path.sender.end = 40;
    path.run_to_completion();
    (path.sender.ssthresh(), path.sender.stats())
}

#[test]
fn a_copy_by_a_probe_that_repairs_a_loss_halves_the_window_once() {
    let (ssthresh, stats) = window_after_a_probe(Lot::Lost);
    // RFC 8985 7.4.2: the ACK of a segment sent after the probe reveals the loss. The ACK of the probe at 600 ms
    // releases 20 segments. Until then the window is 20 segments. It is then halved, regardless of the outstanding
    // data.
    assert_eq!(ssthresh, u64::from(20 / 2 * MSS));
    assert_eq!((stats.tail_loss_probes, stats.fast_recoveries, stats.timeouts), (1, 0, 0));
}

#[test]
fn a_copy_by_a_probe_that_was_needless_reduces_nothing() {
    // The original arrives at 540 ms and the probe at 550 ms, which causes a D-SACK.
    let (ssthresh, stats) = window_after_a_probe(Lot::Late(MS(390)));
    assert_eq!(ssthresh, u64::from(u32::MAX));
    assert_eq!((stats.tail_loss_probes, stats.fast_recoveries, stats.timeouts), (1, 0, 0));
}

#[test]
fn classic_hystart_serves_cubic_alone() {
    // From the third window on, the RTT of 130 ms exceeds the minimum of 100 ms by more than 1/8, which ends slow
    // start.
    let threshold = |congestion_control| {
        let params = TcpParams { congestion_control, hystart: HyStartKind::Classic, ..plain() };
        let mut path = Path::new(params, None, |seq, _| if seq < 30 { Lot::Arrives } else { Lot::Late(MS(30)) });
        path.run_until(MS(800));
        path.sender.ssthresh()
    };
    assert_eq!(threshold(CongestionControl::Reno), u64::from(u32::MAX));
    assert!(threshold(CongestionControl::Cubic) < u64::from(u32::MAX));
}

#[test]
fn hystart_plus_plus_serves_the_first_slow_start_alone() {
    // The windows are 10, 20, 40 and 80 segments, the size of the buffer. Segment 70 is lost twice, so a timeout
    // follows, with a threshold of 40 segments. The next slow start has windows of 2, 4 and 8 segments from segment 150
    // on, then 16 segments from segment 164 on. The RTT of these 16 segments is 130 ms. The increase exceeds 100 ms /
    // 8, which would make the rest of the slow start conservative (CSS of HyStart++).
    let run = |hystart| {
        let lot = |seq, time| match (seq, time) {
            (70, 0 | 1) => Lot::Lost,
            (164.., 0) => Lot::Late(MS(30)),
            _ => Lot::Arrives,
        };
        let params = TcpParams { hystart, socket_buffer: Bytes(80 * u64::from(MSS)), ..plain() };
        let mut path = Path::new(params, Some(400), lot);
        path.run_to_completion();
        assert_eq!(path.sender.stats().timeouts, 1);
        path.sent
    };
    assert_eq!(run(HyStartKind::PlusPlus), run(HyStartKind::Off));
}

#[test]
fn recovery_halves_the_window_of_reno_by_proportional_reduction() {
    let mut path = Path::new(plain(), None, |seq, time| if (seq, time) == (20, 0) { Lot::Lost } else { Lot::Arrives });
    // Ten segments are sent at 100 ms, and segments 10 to 29 at 200 ms. Segment 20 is lost. At 300 ms the ACKs of
    // segments 10 to 19 have widened the window to 30 segments, and the third SACK starts recovery.
    path.run_until(MS(350));
    assert_eq!(path.sender.phase(), Phase::Recovery);
    // The window of 30 segments is halved.
    assert_eq!(path.sender.ssthresh(), u64::from(15 * MSS));
    path.run_until(MS(450));
    assert_eq!(path.sender.phase(), Phase::Open);
    assert!(path.sender.cwnd() >= u64::from(15 * MSS) && path.sender.cwnd() <= u64::from(17 * MSS));
    assert_eq!(path.resent(), [(300, 20)]);
}

#[test]
fn reordering_within_the_window_costs_no_retransmission_once_it_was_seen() {
    // Every seventh segment arrives 10 ms late. The minimum RTT is 100 ms, so the reordering window is 25 ms.
    let mut path = Path::new(plain(), Some(400), |seq, _| if seq % 7 == 3 { Lot::Late(MS(10)) } else { Lot::Arrives });
    path.run_to_completion();
    // Until reordering is detected, segments with three SACKed segments above them are retransmitted.
    let resent = path.resent();
    assert!(resent.iter().all(|&(at, _)| at <= 200), "{resent:?}");
}

#[test]
fn sending_the_first_segment_again_does_not_end_the_wait_for_later_ones() {
    // The ACKs are spread over 18 ms, so two losses are detected at different times. Segment 11 overtakes segment 10,
    // so reordering is detected.
    let lot = |seq, time| match (seq, time) {
        (k, 0) if k < 10 => Lot::Late(MS(2 * u64::from(k))),
        (10, 0) => Lot::Late(MS(1)),
        (32 | 46, 0) => Lot::Lost,
        _ => Lot::Arrives,
    };
    let mut path = Path::new(plain(), Some(50), lot);
    path.run_to_completion();
    let at = |seq| path.sent.iter().find(|sent| sent.1 == seq).unwrap().0.0 / MS(1).0;
    assert!(at(46) > at(32) + 5, "{} {}", at(32), at(46));
    // No segment is sent after segment 49, so no further ACK arrives. Each lost segment is detected 100 + 100 / 4 ms
    // after its transmission. The timer is set for the last of them and adds 2 ms. PRR retransmits one segment
    // immediately, and the other one at the ACK of the first.
    assert_eq!(path.resent(), [(at(46) + 127, 32), (at(46) + 227, 46)]);
}

#[test]
fn a_recovery_is_followed_by_the_next_while_the_copy_of_a_later_loss_is_in_flight() {
    // Recovery starts at 300 ms, after 52 segments. The retransmission of segment 20 is lost and is repeated at 400 ms.
    // Segment 53, which is above `recover`, is also lost and retransmitted at 400 ms. The ACK of segment 20 ends the
    // first recovery at 500 ms, before the ACK of segment 53 arrives.
    let lot = |seq, time| if matches!((seq, time), (20, 0 | 1) | (53, 0)) { Lot::Lost } else { Lot::Arrives };
    let mut path = Path::new(plain(), None, lot);
    while path.sender.records.una() < 53 {
        path.step();
    }
    assert_eq!(path.resent(), [(300, 20), (400, 20), (400, 53)]);
    assert_eq!((path.sender.phase(), path.sender.stats().fast_recoveries), (Phase::Recovery, 2));
    // The second recovery halves the window again, because the losses are in two windows.
    assert_eq!(path.sender.ssthresh(), u64::from(15 / 2 * MSS));
    path.run_until(MS(650));
    assert_eq!((path.sender.phase(), path.sender.stats().fast_recoveries), (Phase::Open, 2));
}

#[test]
fn a_copy_that_a_probe_has_sent_is_no_loss_but_disorder() {
    // Packets sent at 200 ms stall until 900 ms. A probe repeats the last segment, 29, and a timeout the first. The
    // first ACK shows that no segment was lost.
    let stalls = |seq, time| match (seq, time) {
        (29, 1..) => Lot::NotBefore(MS(950)),
        (10.., _) => Lot::NotBefore(MS(900)),
        _ => Lot::Arrives,
    };
    let params = TcpParams { socket_buffer: Bytes(20 * u64::from(MSS)), ..plain() };
    let mut path = Path::new(params, None, stalls);
    while path.sender.records.una() <= 10 {
        path.step();
    }
    let stats = path.sender.stats();
    assert_eq!((stats.tail_loss_probes, stats.timeouts, stats.undone_reductions), (1, 1, 1));
    assert_eq!((path.sender.phase(), stats.fast_recoveries), (Phase::Disorder, 0));
    path.run_until(MS(950));
    assert_eq!((path.sender.phase(), path.sender.stats().fast_recoveries), (Phase::Open, 0));
}

#[test]
fn what_a_timer_took_for_lost_is_no_loss_of_the_next_ack() {
    // Segments 32, 45 and 46 are lost when the timer expires. PRR retransmits the first of them. Its ACK shows progress
    // without new losses, so PRR then sends one segment more than was delivered.
    let lot = |seq, time| match (seq, time) {
        (k, 0) if k < 10 => Lot::Late(MS(2 * u64::from(k))),
        (10, 0) => Lot::Late(MS(1)),
        (32 | 45 | 46, 0) => Lot::Lost,
        _ => Lot::Arrives,
    };
    let mut path = Path::new(plain(), Some(50), lot);
    path.run_to_completion();
    assert_eq!(path.resent(), [(435, 32), (535, 45), (535, 46)]);
}

#[test]
fn recovery_in_a_window_that_marks_reduced_ends_at_the_threshold() {
    // Segments 30 to 69 are sent at 300 ms. At 400 ms, ACKs report the mark on segment 30 and the loss of five segments
    // of the same window.
    let lot = |seq, time| match (seq, time) {
        (30, 0) => Lot::Marked,
        (34..=38, 0) => Lot::Lost,
        _ => Lot::Arrives,
    };
    let mut path = Path::new(TcpParams { ecn: true, ..plain() }, None, lot);
    path.run_until(MS(450));
    assert_eq!(path.sender.phase(), Phase::Recovery);
    while path.sender.phase() == Phase::Recovery {
        path.step();
    }
    let stats = path.sender.stats();
    assert_eq!((stats.ecn_reductions, stats.fast_recoveries), (1, 1));
    // The window of 40 segments is halved only once. Then 20 delivered segments add one segment to the window.
    // `counted` is 1, because the ACK that ends recovery delivers the first of them.
    assert_eq!((path.sender.ssthresh(), path.sender.cwnd(), path.sender.counted), (20_000, 20_000, 1));
}

#[test]
fn a_spurious_recovery_is_undone_by_the_dsack() {
    let mut path =
        Path::new(plain(), Some(200), |seq, time| if (seq, time) == (4, 0) { Lot::Late(MS(60)) } else { Lot::Arrives });
    path.run_until(MS(205));
    assert_eq!(path.sender.phase(), Phase::Recovery);
    assert_eq!(path.resent(), [(200, 4)]);
    path.run_to_completion();
    let stats = path.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.undone_reductions), (1, 1));
    // The original arrived at 210 ms. Its ACK arrives at 260 ms and echoes a timestamp older than the retransmission
    // (RFC 3522 3.2).
    assert!(path.sender.ssthresh() > u64::from(1000 * MSS), "{}", path.sender.ssthresh());
    // Without undo the threshold stays halved.
    let params = TcpParams { undo: false, ..plain() };
    let mut path =
        Path::new(params, Some(200), |seq, time| if (seq, time) == (4, 0) { Lot::Late(MS(60)) } else { Lot::Arrives });
    path.run_to_completion();
    assert_eq!((path.sender.stats().fast_recoveries, path.sender.stats().undone_reductions), (1, 0));
    assert!(path.sender.ssthresh() < u64::from(10 * MSS));
}

#[test]
fn a_spurious_timeout_is_undone_when_originals_arrive() {
    // Packets sent at 200 ms stall for a second. So do the retransmissions after the timeouts at 500 ms and 1100 ms.
    let stalls = |seq, time| match time {
        0 if (10..30).contains(&seq) => Lot::Late(MS(1000)),
        1 if seq == 10 => Lot::Late(MS(700)),
        2 if seq == 10 => Lot::Late(MS(100)),
        _ => Lot::Arrives,
    };
    let mut path = Path::new(TcpParams { tlp: false, ..plain() }, Some(300), stalls);
    path.run_until(MS(700));
    assert_eq!((path.sender.phase(), path.sender.stats().timeouts), (Phase::Loss, 1));
    path.run_to_completion();
    let stats = path.sender.stats();
    assert_eq!((stats.timeouts, stats.undone_reductions, stats.retransmissions), (2, 1, 2));
    assert!(path.sender.ssthresh() > u64::from(1000 * MSS));
}

#[test]
fn sacks_of_older_segments_postpone_the_timeout_of_a_retransmission() {
    // Segment 10 and its copy, sent at 300 ms, are lost. The SACKs of segments 20 to 29, which were sent at 200 ms,
    // arrive at 360 ms. The timeout of 300 ms counts from then on, and grows with their RTT of 160 ms.
    let lot = |seq, time| match (seq, time) {
        (10, 0 | 1) => Lot::Lost,
        (20..30, 0) => Lot::Late(MS(60)),
        _ => Lot::Arrives,
    };
    let mut path = Path::new(TcpParams { tlp: false, ..plain() }, Some(30), lot);
    path.run_to_completion();
    let resent = path.resent();
    assert_eq!((resent[0], resent[1].1, path.sender.stats().timeouts), ((300, 10), 10, 1));
    assert!(resent[1].0 > 660, "{resent:?}");
}

#[test]
fn a_spurious_timeout_in_a_recovery_from_a_true_loss_is_not_undone_and_reduces_no_further() {
    // Segment 20 is lost. Recovery retransmits it at 300 ms, when a stall begins. The timeout that follows is spurious,
    // since this retransmission arrives at 1000 ms. But Eifel and D-SACK cannot detect this for a retransmission, and
    // F-RTO is not used for a timeout during recovery (RFC 5682 2.1, tcp_enter_loss).
    let mut stalls = false;
    let lot = |seq, time| {
        stalls |= (seq, time) == (20, 1);
        match (seq, time) {
            (20, 0) => Lot::Lost,
            _ if stalls => Lot::NotBefore(MS(1000)),
            _ => Lot::Arrives,
        }
    };
    let mut path = Path::new(plain(), None, lot);
    path.run_until(MS(1300));
    let stats = path.sender.stats();
    assert_eq!((stats.timeouts, stats.undone_reductions, path.sender.phase()), (1, 0, Phase::Open));
    // The window of 30 segments was halved only once.
    assert_eq!(path.sender.ssthresh(), u64::from(15 * MSS));
}

#[test]
fn after_a_true_timeout_f_rto_changes_nothing_but_the_order() {
    let stalls = |seq, time| if (10..30).contains(&seq) && time == 0 { Lot::Lost } else { Lot::Arrives };
    let run = |frto| {
        let mut path = Path::new(TcpParams { frto, tlp: false, ..plain() }, Some(300), stalls);
        path.run_to_completion();
        path
    };
    let (with, without) = (run(true), run(false));
    assert_eq!(with.sender.stats().undone_reductions, 0);
    assert_eq!(with.sender.stats().timeouts, 1);
    // Step 2 b of RFC 5682: two new segments are sent before the second retransmission.
    let order = |path: &Path<_>| {
        let first = path.sent.iter().position(|sent| sent.2 > 0).unwrap();
        path.sent[first..first + 4].iter().map(|sent| sent.1).collect::<Vec<_>>()
    };
    assert_eq!(order(&with), [10, 30, 31, 11]);
    assert_eq!(order(&without), [10, 11, 12, 13]);
}

#[test]
fn a_paced_sender_spreads_its_window_over_the_round_trip() {
    let mut path = Path::new(TcpParams { pacing: Pacing::On, ..plain() }, Some(150), |_, _| Lot::Arrives);
    path.run_to_completion();
    // The first ten segments are sent in one burst. Then the sender paces chunks of two segments. The rate in the last
    // round, 2 * 80 segments in 100 ms, gives 1.25 ms per chunk.
    let times: Vec<u64> = path.sent.iter().filter(|sent| sent.1 >= 10).map(|sent| sent.0.0 / MS(1).0).collect();
    let most = times.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap();
    assert!(most <= 4, "{most} in a millisecond: {times:?}");
    assert_eq!(path.sender.stats().retransmissions, 0);
}

#[test]
fn marks_reduce_the_window_once_a_round_trip_without_a_loss() {
    for accurate_ecn in [false, true] {
        let params = TcpParams { ecn: true, accurate_ecn, ..plain() };
        // Segments 25 to 39 are sent before the echo of the first mark arrives, segments 100 to 104 after the sender
        // has responded.
        let marked =
            |seq, _| if (25..40).contains(&seq) || (100..105).contains(&seq) { Lot::Marked } else { Lot::Arrives };
        let mut path = Path::new(params, Some(400), marked);
        path.run_to_completion();
        let stats = path.sender.stats();
        assert_eq!((stats.ecn_reductions, stats.fast_recoveries, stats.retransmissions), (2, 0, 0), "{accurate_ecn}");
    }
}

#[test]
fn after_a_timeout_the_window_grows_although_the_receiver_repeats_a_mark() {
    // Segment 9 is marked, and all later first transmissions are lost, so the receiver never sees CWR.
    let lot = |seq, n| match seq {
        9 => Lot::Marked,
        10.. if n == 0 => Lot::Lost,
        _ => Lot::Arrives,
    };
    let mut path = Path::new(TcpParams { ecn: true, ..plain() }, Some(40), lot);
    path.run_to_completion();
    let resent = path.resent();
    // Without growth, an ACK would release one segment or two.
    let most = resent.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max().unwrap();
    assert!(most >= 4, "{resent:?}");
}

#[test]
fn a_syn_that_is_sent_again_asks_for_no_ecn() {
    let params = TcpParams { ecn: true, congestion_control: CongestionControl::Dctcp, ..plain() };
    let mut path = Path::new(params.clone(), Some(10), |_, _| Lot::Arrives);
    path.sender.on_timer(&params, MS(1000));
    let again = path.sender.poll_transmit(&params, MS(1000)).expect("the SYN again");
    assert_eq!((path.codepoints[0], again.syn, again.ecn), (Ecn::Ect0, true, Ecn::NotEct));
}

#[test]
fn a_loss_while_a_mark_reduces_the_window_halves_that_of_dctcp() {
    let window_after = |congestion_control| {
        let mut params = TcpParams { ecn: true, accurate_ecn: true, congestion_control, ..plain() };
        // A mark does not reduce the window.
        params.congestion.dctcp.dctcp_initial_alpha = 0.0;
        let lot = |seq, time| match (seq, time) {
            (25, 0) => Lot::Marked,
            (28, 0) => Lot::Lost,
            _ => Lot::Arrives,
        };
        let mut path = Path::new(params, Some(100), lot);
        path.run_to_completion();
        let stats = path.sender.stats();
        assert_eq!((stats.ecn_reductions, stats.fast_recoveries), (1, 1), "{congestion_control:?}");
        path.sender.output.ssthresh / MSS
    };
    assert_eq!([CongestionControl::Reno, CongestionControl::Dctcp].map(window_after), [17, 17]);
}

#[test]
fn controls_that_need_ecn_send_all_as_ecn_capable_and_others_send_nothing_again_that_is() {
    use CongestionControl::{Dctcp, Prague, Reno};
    for (congestion_control, new, again) in
        [(Reno, Ecn::Ect0, Ecn::NotEct), (Dctcp, Ecn::Ect0, Ecn::Ect0), (Prague, Ecn::Ect1, Ecn::Ect1)]
    {
        let params = TcpParams { ecn: true, congestion_control, ..plain() };
        // One loss is repaired by recovery, the last two losses by a probe or the timeout.
        let lost = |seq, time| if time == 0 && [30, 98, 99].contains(&seq) { Lot::Lost } else { Lot::Arrives };
        let mut path = Path::new(params, Some(100), lost);
        path.run_to_completion();
        // SYN, the ACK that ends the handshake, data.
        assert_eq!(path.codepoints[..3], [again, again, new], "{congestion_control:?}");
        let data = &path.codepoints[2..];
        assert!(path.resent().len() >= 3);
        for ((_, seq, time), carried) in path.sent.iter().zip(data) {
            assert_eq!(*carried, if *time == 0 { new } else { again }, "{congestion_control:?}, {seq}");
        }
    }
}

#[test]
fn quic_sends_data_again_in_packets_that_are_ecn_capable_like_any_other() {
    let params = TcpParams { ecn: true, ..TcpParams::profile(TcpProfile::Quic) };
    let mut path =
        Path::new(params, Some(100), |seq, time| if seq == 30 && time == 0 { Lot::Lost } else { Lot::Arrives });
    path.run_to_completion();
    assert_eq!(path.resent().len(), 1);
    assert!(path.codepoints.iter().all(|&carried| carried == Ecn::Ect0));
}

#[test]
fn accurate_feedback_counts_every_mark() {
    let params = TcpParams { ecn: true, accurate_ecn: true, ..plain() };
    let mut path = Path::new(params, Some(400), |seq, _| if seq % 3 == 0 { Lot::Marked } else { Lot::Arrives });
    path.run_to_completion();
    // Marked segments: 0, 3 ... 399.
    assert_eq!(path.sender.rate.delivered_ce, 134 * u64::from(MSS));
}

/// Returns the mean window of DCTCP times the share of randomly marked segments, from a model that advances by rounds.
/// A round with a mark reduces the window by `lost(window, alpha)` segments, and the window does not grow in the next
/// round. Any other round adds one segment.
fn dctcp_in_rounds(share: f64, lost: impl Fn(f64, f64) -> f64) -> f64 {
    const ROUNDS: u32 = 100_000;
    let mut random = Rng::stream(1, 0, "marks", 0);
    let (mut window, mut alpha, mut reduced, mut sum) = (10.0, 1.0, false, 0.0);
    for _ in 0..ROUNDS {
        sum += window;
        let marks = (0..window as u32).filter(|_| random.open01() < share).count() as f64;
        alpha += (marks / window - alpha) / 16.0;
        let answers = marks > 0.0 && !reduced;
        window = match (answers, reduced || marks > 0.0) {
            (true, _) => f64::max(window - lost(window, alpha), 2.0),
            (false, true) => window,
            (false, false) => window + 1.0,
        };
        reduced = answers;
    }
    sum / f64::from(ROUNDS) * share
}

#[test]
fn dctcp_loses_whole_segments_rounded_down_as_in_linux() {
    for (share, seconds) in [(0.02, 200), (0.05, 100), (0.1, 100)] {
        let mut random = Rng::stream(2, 0, "marks", 0);
        let lot = move |_, _| if random.open01() < share { Lot::Marked } else { Lot::Arrives };
        let mut params = TcpParams { ecn: true, congestion_control: CongestionControl::Dctcp, ..plain() };
        params.congestion.dctcp.dctcp_alpha_steps = 0;
        let mut path = Path::new(params, None, lot);
        path.run_until(Time::from_secs(seconds));
        // One window is sent per round trip of 100 ms.
        let measured = path.sent.len() as f64 / (10 * seconds) as f64 * share;
        // dctcp_ssthresh: cwnd - ((cwnd * alpha) >> 11), alpha in 1024ths.
        let rounded_down = dctcp_in_rounds(share, |window, alpha| (window * alpha / 2.0).floor());
        let rounded_up = dctcp_in_rounds(share, |window, alpha| (window * alpha / 2.0).ceil());
        println!("{share}: {measured}, model {rounded_down}, rounded up {rounded_up}");
        assert!((measured / rounded_down - 1.0).abs() < 0.1, "{share}: {measured}, model {rounded_down}");
        assert!(measured > 2.0 * rounded_up, "{share}: {measured}, rounded up {rounded_up}");
    }
}
