//! Tests of the rules of the parent module, over a path with an RTT of 100 ms. Windows are in segments of 1000 bytes.

mod ecn;
mod recovery;
mod wire;

use proptest::prelude::*;

use super::*;
use crate::traffic::tcp::{CongestionControl, LossDetection, Recovery, SackBlock, SackBlocks, TcpProfile};
use wire::{Event, MSS, Packet, Wire, ack_each, lose_nothing, lose_once, ns3};

fn segments(count: u64) -> u64 {
    count * u64::from(MSS)
}

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// Returns a sender after the handshake with a window of `cwnd` segments, all sent at time zero.
fn established(params: &TcpParams, cwnd: u32) -> Sender {
    let params = TcpParams { initial_window: cwnd, ..params.clone() };
    let mut sender = Sender::new(&params, None, 0);
    sender.start();
    assert!(sender.poll_transmit(&params, Time::ZERO).unwrap().syn);
    sender.on_ack(&params, &Ack { ack: 0, echo: Time::ZERO, flag: AckFlag::Syn, ..Ack::default() }, ms(100));
    drain(&mut sender, &params, ms(100));
    sender
}

/// Polls until no segment may be sent. Returns the numbers of the data segments.
fn drain(sender: &mut Sender, params: &TcpParams, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| sender.poll_transmit(params, now)).filter(|s| s.payload > 0).map(|s| s.seq).collect()
}

/// Passes an ACK with an RTT of 100 ms. Returns the numbers of the data segments sent in response.
fn ack(sender: &mut Sender, params: &TcpParams, number: u32, now: Time) -> Vec<u32> {
    sender.on_ack(params, &Ack { ack: number, echo: now.saturating_sub(ms(100)), ..Ack::default() }, now);
    drain(sender, params, now)
}

#[test]
fn state_is_as_small_as_documented() {
    assert_eq!(size_of::<Sender>(), 144);
    assert_eq!(std::mem::offset_of!(Sender, recover), 64);
    assert_eq!(size_of::<crate::traffic::tcp::Receiver>(), 112);
    assert_eq!(size_of::<Selective>(), 88);
}

#[test]
fn slow_start_with_delayed_acks_adds_one_segment_per_ack() {
    let mut wire = Wire::new(ns3(), None, lose_nothing);
    wire.run_until(ms(750));
    let windows: Vec<u64> =
        wire.events().filter_map(|e| if let Event::Acked(_, _, cwnd) = e { Some(cwnd) } else { None }).collect();
    // Rule 1: cwnd after k ACKs is 1 + k segments.
    let expected: Vec<u64> = (0..windows.len() as u64).map(|k| segments(2 + k)).collect();
    assert_eq!(windows, expected);
    // Number of segments per round, computed by hand. The ACK of the last of the 3 segments of round 3 is delayed until
    // the first segment of round 4, and so on.
    let rounds: Vec<usize> = (1..=7)
        .map(|k| wire.log.iter().filter(|(t, e)| *t == ms(100 * k) && matches!(e, Event::Sent(..))).count())
        .collect();
    assert_eq!(rounds, [1, 2, 3, 3, 6, 9, 12]);
}

#[test]
fn congestion_avoidance_with_delayed_acks_grows_half_a_segment_per_rtt() {
    let params = TcpParams { initial_window: 10, initial_ssthresh: segments(10), ..ns3() };
    let mut wire = Wire::new(params, None, lose_nothing);
    wire.run_until(ms(100 + 100 * 60));
    let window = wire.sender.cwnd() as f64 / f64::from(MSS);
    // A round has at most W segments, so at most W / 2 ACKs, each of which adds MSS^2 / cwnd = MSS / W. Thus after 60
    // rounds W <= 10 + 60 / 2. A round has at least W - 1 segments, and the ACK of one segment may be delayed. So the
    // growth per round is dW/dt >= 1/2 - 1/W, and 60 = 2 (W - 10 + 2 ln((W - 2) / 8)) gives W >= 37.
    assert!((37.0..=40.0).contains(&window), "{window}");
    // Each ACK adds 1 / W to W, and so 1 to W^2 / 2. The rounding to bytes loses less than 1/25 of this growth.
    let acks = wire.events().filter(|e| matches!(e, Event::Acked(..))).count() as f64;
    let closed_form = (100.0 + 2.0 * acks).sqrt();
    assert!((window - closed_form).abs() < 0.04 * closed_form, "{window} {closed_form}");
}

#[test]
fn congestion_avoidance_adds_mss_squared_over_cwnd_rounded_down_and_at_least_a_byte() {
    let params = TcpParams { initial_ssthresh: segments(2), ..ack_each() };
    let mut sender = established(&params, 3);
    // The increments MSS^2 / cwnd are 10^6 / 3000 = 333.3 and 10^6 / 3333 = 300.03 bytes.
    ack(&mut sender, &params, 1, ms(200));
    assert_eq!(sender.cwnd(), 3333);
    ack(&mut sender, &params, 2, ms(200));
    assert_eq!(sender.cwnd(), 3633);
    let mut wide = established(&params, 2000);
    ack(&mut wide, &params, 1, ms(200));
    assert_eq!(wide.cwnd(), 2_000_001);
}

#[test]
fn the_ack_that_crosses_ssthresh_counts_in_both_ways() {
    let params = TcpParams { initial_ssthresh: segments(4), ..ns3() };
    let mut sender = established(&params, 3);
    // The ACK covers two segments. The first adds 1000 bytes in slow start, the second 10^6 / 4000 bytes in congestion
    // avoidance.
    ack(&mut sender, &params, 2, ms(200));
    assert_eq!(sender.cwnd(), 4250);
}

#[test]
fn a_single_drop_is_repaired_by_fast_retransmission() {
    let mut wire = Wire::new(ack_each(), None, lose_once(&[20]));
    // Segments 15 to 30 are sent at 500 ms. Segments 15 to 19 are acknowledged (cwnd is 21, and segments up to 40 are
    // sent), then 10 duplicate ACKs arrive.
    wire.run_until(ms(600));
    // At the third duplicate ACK, segments 41 and 42 have been sent by limited transmit. So inflight = 43 - 20 - 3 =
    // 20, ssthresh = 10 and cwnd = 13 segments. Seven duplicate ACKs follow.
    assert_eq!(wire.sender.ssthresh(), segments(10));
    assert_eq!(wire.sender.cwnd(), segments(20));
    assert_eq!(wire.sender.recover, 43);
    // 12 duplicate ACKs for segments 31 to 42 arrive, then ACK 43. With 32 outstanding segments and 22 duplicate ACKs,
    // inflight = 32 + (1 - 22) = 11 segments, and cwnd = min(10, 12).
    wire.run_until(ms(700));
    assert_eq!(wire.sender.cwnd(), segments(10));
    assert_eq!(wire.sender.phase, Phase::Open);
    // The nine segments 43 to 51 are outstanding, so the window of ten permits one more segment.
    assert_eq!((wire.sender.una, wire.sender.nxt), (43, 53));
    assert_eq!(wire.resent(), [20]);
    wire.run_until(ms(3000));
    let stats = wire.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.timeouts, stats.retransmissions), (1, 0, 1));
}

#[test]
fn two_drops_in_a_window_give_exactly_one_partial_ack() {
    let mut wire = Wire::new(ack_each(), None, lose_once(&[20, 25]));
    wire.run_until(ms(3000));
    let recover = 43;
    let partial: Vec<(u32, u64)> = wire
        .events()
        .filter_map(|e| match e {
            Event::Acked(number, Phase::Recovery, cwnd) if number > 20 && number < recover => Some((number, cwnd)),
            _ => None,
        })
        .collect();
    // cwnd is 13 segments at the third duplicate ACK. The other duplicate ACKs for segments 21 to 30 add 6, and those
    // for segments 31 to 42 add 12. The partial ACK subtracts the 5 acknowledged segments and adds 1. The other ACKs
    // are duplicates of ACK 25, and each adds one segment.
    assert_eq!(partial[0], (25, segments(27)));
    assert!(partial.iter().all(|(number, _)| *number == 25));
    assert_eq!(partial[1].1, segments(28));
    assert_eq!(wire.resent(), [20, 25]);
    let stats = wire.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.timeouts), (1, 0));
}

#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    let params = ack_each();
    let mut sender = established(&params, 10);
    for _ in 0..3 {
        ack(&mut sender, &params, 0, ms(200));
    }
    assert_eq!(sender.phase, Phase::Recovery);
    assert_eq!(ack(&mut sender, &params, 2, ms(300))[0], 2);
    assert_eq!(sender.timer(), ms(1300));
    assert_eq!(ack(&mut sender, &params, 4, ms(400))[0], 4);
    assert_eq!(sender.timer(), ms(1300));
    // The full ACK restarts the timer.
    let recover = sender.recover;
    ack(&mut sender, &params, recover, ms(500));
    assert_eq!(sender.timer(), ms(1500));
}

#[test]
fn a_full_ack_beyond_recover_grows_the_window_by_what_is_beyond() {
    let params = ack_each();
    let mut sender = established(&params, 10);
    for _ in 0..3 {
        ack(&mut sender, &params, 0, ms(200));
    }
    // inflight is 12 - 3 = 9 segments, so ssthresh is 4500 bytes and cwnd 7500 bytes. After 5 more duplicate ACKs cwnd
    // is 12 500 bytes, but no new segment is sent.
    assert_eq!((sender.ssthresh(), sender.cwnd(), sender.recover), (4500, 7500, 12));
    for _ in 0..6 {
        ack(&mut sender, &params, 0, ms(210));
    }
    // A cwnd of 13 500 bytes permits segment 12. ACK 13 covers one segment above `recover`: inflight = 13 + (1 - 9) = 5
    // segments and cwnd = min(4500, 6000) = 4500 bytes. cwnd now equals ssthresh, so the segment above `recover` adds
    // 10^6 / 4500 bytes.
    assert_eq!(sender.nxt, 13);
    ack(&mut sender, &params, 13, ms(300));
    assert_eq!(sender.cwnd(), 4500 + 222);
}

#[test]
fn tail_loss_waits_for_the_minimum_rto() {
    // 1, 2, 4 and 3 segments are sent at 100, 200, 300 and 400 ms. The last of the ten segments is lost.
    let mut wire = Wire::new(ack_each(), Some(segments(10)), lose_once(&[9]));
    wire.run_to_completion();
    // The last ACK of new data restarts the timer at 500 ms. RTO is 1 s, since SRTT + 4 RTTVAR is at most 100 ms + 4 *
    // 50 ms.
    assert_eq!(wire.sent_at(9), [ms(400), ms(1500)]);
    assert_eq!(wire.sender.stats().timeouts, 1);
    assert_eq!(wire.now, ms(1600));
    // One segment is in flight at the timeout, so ssthresh is 2 segments. cwnd is 1 segment, plus 1 for the ACK.
    assert_eq!((wire.sender.ssthresh(), wire.sender.cwnd()), (segments(2), segments(2)));
}

#[test]
fn a_lost_flight_is_sent_again_from_the_first_segment_on() {
    let lost: Vec<u32> = (15..31).collect();
    let mut wire = Wire::new(ack_each(), None, lose_once(&lost));
    wire.run_until(ms(2400));
    // The 16 segments sent at 500 ms are lost. The ACKs that released these segments restarted the timer.
    assert_eq!(wire.sent_at(15), [ms(500), ms(1500)]);
    assert_eq!(wire.sender.ssthresh(), segments(8));
    assert_eq!(wire.resent(), lost);
    // One segment is sent at 1500 ms, 2 at 1600 ms, 4 at 1700 ms, 8 at 1800 ms, and the last one at 1900 ms.
    assert_eq!(wire.sent_at(30), [ms(500), ms(1900)]);
    assert_eq!(wire.sender.stats().timeouts, 1);
    assert_eq!(wire.sender.phase, Phase::Open);
}

#[test]
fn rto_doubles_up_to_a_minute_and_recovers_with_the_next_ack() {
    let lose_eight = |packet, times| match packet {
        Packet::Segment(segment) if segment.payload > 0 && segment.seq == 0 && times < 8 => None,
        _ => Some(Time::ZERO),
    };
    let mut wire = Wire::new(ack_each(), Some(segments(1)), lose_eight);
    wire.run_until(ms(300_000));
    // The first transmission is at 100 ms. After one RTT sample of 100 ms, RTO is 1 s.
    let gaps: Vec<u64> = wire.sent_at(0).windows(2).map(|t| (t[1] - t[0]).0 / Time::PER_SECOND).collect();
    assert_eq!(gaps, [1, 2, 4, 8, 16, 32, 60, 60]);
    // The ACK gives no sample, because segment 0 was retransmitted, but it ends the backoff.
    assert_eq!(wire.sender.rto(), Time::from_secs(1));
    assert_eq!(wire.sender.srtt(), ms(100));
    assert!(wire.sender.is_done());
    assert_eq!(wire.sender.timer(), Time::NEVER);
    // 8 retransmissions without an ACK; ns-3.26 would have closed the connection at the seventh.
    assert_eq!(wire.sender.stats().would_close, 1);
}

#[test]
fn a_kept_backoff_lasts_until_a_segment_that_was_sent_once_is_acknowledged() {
    let params = TcpParams { keep_backoff: true, ..ack_each() };
    // The transfer has two segments, and the RTT is 100 ms. The first segment is lost twice.
    let lose_two = |packet, times| match packet {
        Packet::Segment(segment) if segment.payload > 0 && segment.seq == 0 && times < 2 => None,
        _ => Some(Time::ZERO),
    };
    let mut wire = Wire::new(params, Some(segments(2)), lose_two);
    // Segment 0 is sent at 100, 1100 and 3100 ms. Its ACK at 3200 ms gives no sample, so the RTO is still 4 s.
    wire.run_until(ms(3250));
    assert_eq!(wire.sent_at(0), [100, 1100, 3100].map(ms));
    assert_eq!((wire.sender.rto(), wire.sender.timer()), (Time::from_secs(4), ms(7200)));
    // Segment 1 was sent only once, so it gives a sample.
    wire.run_until(ms(3350));
    assert_eq!(wire.sender.rto(), Time::from_secs(1));
    assert!(wire.sender.is_done());
}

#[test]
fn each_timeout_halves_the_window_of_the_time_if_so_told() {
    let params = TcpParams { each_timeout_reduces: true, ..ack_each() };
    let mut sender = established(&params, 16);
    for (ssthresh, acks) in [(8, 4), (2, 0)] {
        let due = sender.timer();
        sender.on_timer(&params, due);
        drain(&mut sender, &params, due);
        assert_eq!((sender.ssthresh(), sender.cwnd()), (segments(ssthresh), segments(1)));
        // In slow start in the loss state, each ACK adds one segment.
        for number in 1..acks {
            ack(&mut sender, &params, number, due + ms(100));
            drain(&mut sender, &params, due + ms(100));
        }
    }
    // Four segments are outstanding at the second timeout. Half of them is two segments, the minimum of ssthresh.
    assert_eq!(sender.ssthresh(), segments(2));
}

#[test]
fn a_fast_retransmit_restarts_the_timer_if_so_told() {
    // The first segment is sent at 100 ms, and the timeout is its minimum of 1 s. The third duplicate ACK, which starts
    // the fast retransmit, arrives at 600 ms. `due` is the time at which the timer expires after it.
    for (restarts, sack, due) in [(false, false, 1100), (true, false, 1600), (false, true, 1100), (true, true, 1600)] {
        let params = TcpParams { retransmit_restarts_timer: restarts, sack, ..ack_each() };
        let mut sender = established(&params, 8);
        assert_eq!(sender.timer(), ms(1100));
        for end in 2..5 {
            let blocks = [SackBlock { start: 1, end }];
            let sacks = if sack { SackBlocks::new(&blocks) } else { SackBlocks::default() };
            let ack = Ack { ack: 0, echo: ms(500), sacks, ..Ack::default() };
            sender.on_ack(&params, &ack, ms(600));
            drain(&mut sender, &params, ms(600));
        }
        assert_eq!((sender.stats().fast_recoveries, sender.timer()), (1, ms(due)));
    }
}

#[test]
fn every_timeout_returns_to_one_segment_and_keeps_ssthresh() {
    let params = ack_each();
    let mut sender = established(&params, 16);
    let fire = |sender: &mut Sender| {
        let due = sender.timer();
        sender.on_timer(&params, due);
        (due, drain(sender, &params, due))
    };
    let (due, sent) = fire(&mut sender);
    assert_eq!((due, sent), (ms(1100), vec![0]));
    assert_eq!((sender.ssthresh(), sender.cwnd()), (segments(8), segments(1)));
    for number in 1..4 {
        ack(&mut sender, &params, number, due + ms(100));
    }
    assert_eq!(sender.cwnd(), segments(4));
    let (_, sent) = fire(&mut sender);
    assert_eq!(sent, [3]);
    assert_eq!((sender.ssthresh(), sender.cwnd()), (segments(8), segments(1)));
    assert_eq!(sender.stats().timeouts, 2);
}

#[test]
fn duplicate_acks_after_a_timeout_do_not_start_a_fast_retransmission() {
    let params = ack_each();
    let mut sender = established(&params, 16);
    sender.on_timer(&params, ms(1100));
    assert_eq!(drain(&mut sender, &params, ms(1100)), [0]);
    for _ in 0..10 {
        assert!(ack(&mut sender, &params, 0, ms(1200)).is_empty());
    }
    assert_eq!((sender.cwnd(), sender.stats().fast_recoveries), (segments(1), 0));
    // The ACK of everything sent before the timeout (recover = 16) does not end the loss state ...
    assert_eq!(ack(&mut sender, &params, 16, ms(1200)), [16, 17]);
    for _ in 0..3 {
        ack(&mut sender, &params, 16, ms(1300));
    }
    assert_eq!((sender.phase, sender.stats().fast_recoveries), (Phase::Loss, 0));
    // ... but the ACK of one more segment does.
    assert_eq!(ack(&mut sender, &params, 17, ms(1300)).len(), 2);
    assert_eq!(sender.phase, Phase::Open);
    for _ in 0..3 {
        ack(&mut sender, &params, 17, ms(1400));
    }
    assert_eq!(sender.stats().fast_recoveries, 1);
}

#[test]
fn limited_transmit_sends_one_new_segment_for_each_of_two_duplicates() {
    let params = ack_each();
    let mut sender = established(&params, 4);
    assert_eq!(ack(&mut sender, &params, 0, ms(200)), [4]);
    assert_eq!(ack(&mut sender, &params, 0, ms(200)), [5]);
    assert_eq!(ack(&mut sender, &params, 0, ms(200)), [0]);
    assert_eq!(sender.cwnd(), segments(2 + 3));
    let params = TcpParams { limited_transmit: false, ..params };
    let mut sender = established(&params, 4);
    assert!(ack(&mut sender, &params, 0, ms(200)).is_empty());
    assert!(ack(&mut sender, &params, 0, ms(200)).is_empty());
    assert_eq!(ack(&mut sender, &params, 0, ms(200)), [0]);
}

#[test]
fn fast_retransmission_itself_sends_no_new_data() {
    let params = ack_each();
    let mut sender = established(&params, 2);
    ack(&mut sender, &params, 0, ms(200));
    ack(&mut sender, &params, 0, ms(200));
    // 4 segments are outstanding and cwnd becomes 2 + 3 = 5 segments. As in ns-3.26, only the next duplicate ACK (cwnd
    // 6) permits a new segment.
    assert_eq!(ack(&mut sender, &params, 0, ms(200)), [0]);
    assert_eq!(ack(&mut sender, &params, 0, ms(200)), [4, 5]);
}

#[test]
fn reordering_below_the_threshold_leaves_the_window_alone() {
    let params = ack_each();
    let mut sender = established(&params, 8);
    ack(&mut sender, &params, 0, ms(200));
    ack(&mut sender, &params, 0, ms(200));
    ack(&mut sender, &params, 3, ms(200));
    assert_eq!((sender.phase, sender.dup_acks), (Phase::Open, 0));
    assert_eq!(sender.cwnd(), segments(9));
    assert_eq!(sender.stats().retransmissions, 0);
}

#[test]
fn an_ack_gives_no_sample_if_the_oldest_segment_was_sent_again() {
    let params = ack_each();
    let mut sender = established(&params, 4);
    assert_eq!(sender.srtt(), ms(100));
    sender.on_timer(&params, ms(1100));
    drain(&mut sender, &params, ms(1100));
    // Karn's rule: the echoed timestamp would give an RTT of 500 ms, but segment 0 was sent twice, so there is no
    // sample.
    sender.on_ack(&params, &Ack { ack: 2, echo: ms(700), ..Ack::default() }, ms(1200));
    drain(&mut sender, &params, ms(1200));
    assert_eq!(sender.srtt(), ms(100));
    // Segments 2 and 3 were retransmitted by going back N, so they give no sample.
    sender.on_ack(&params, &Ack { ack: 4, echo: ms(900), ..Ack::default() }, ms(1300));
    drain(&mut sender, &params, ms(1300));
    assert_eq!(sender.srtt(), ms(100));
    // Segment 4 was sent only once: SRTT = 7/8 * 100 + 1/8 * 180 ms.
    sender.on_ack(&params, &Ack { ack: 5, echo: ms(1220), ..Ack::default() }, ms(1400));
    assert_eq!(sender.srtt(), ms(110));
}

#[test]
fn the_delayed_ack_is_part_of_the_sample() {
    // The transfer has two segments. Segment 0 is acknowledged at once, with an RTT of 100 ms. The ACK of segment 1 is
    // delayed by 200 ms.
    let mut wire = Wire::new(ns3(), Some(segments(2)), lose_nothing);
    wire.run_to_completion();
    assert_eq!(wire.now, ms(500));
    // SRTT = 7/8 * 100 + 1/8 * 300 ms.
    assert_eq!(wire.sender.srtt(), ms(125));
}

#[test]
fn a_lost_syn_is_repeated_after_three_seconds_then_six() {
    let mut lost = 0;
    let lose_two_syns = move |packet, _| match packet {
        Packet::Segment(segment) if segment.syn && lost < 2 => {
            lost += 1;
            None
        }
        _ => Some(Time::ZERO),
    };
    let mut wire = Wire::new(ns3(), Some(segments(1)), lose_two_syns);
    wire.run_to_completion();
    assert_eq!(wire.sent_at(0), [ms(9100)]);
    assert_eq!(wire.sender.stats().syn_retransmissions, 2);
    // The echo identifies the SYN that arrived.
    assert_eq!(wire.sender.srtt(), ms(100));
}

#[test]
fn a_path_that_loses_every_syn_never_closes_the_connection() {
    let mut wire = Wire::new(ns3(), None, |_, _| None);
    wire.run_until(Time::from_secs(600));
    // The SYN is sent at 0, 3, 9, 21, 45 and 93 s, then every 96 s: at 189, 285, 381, 477 and 573 s.
    assert_eq!(wire.sender.stats().syn_retransmissions, 10);
    assert_eq!(wire.sender.stats().would_close, 1);
}

#[test]
fn the_socket_buffer_bounds_what_is_outstanding_to_whole_segments() {
    let params = TcpParams { socket_buffer: Bytes(4500), ..ack_each() };
    let mut sender = established(&params, 10);
    assert_eq!(sender.nxt, 4);
    // The window does not permit limited transmit either.
    assert!(ack(&mut sender, &params, 0, ms(200)).is_empty());
    assert_eq!(ack(&mut sender, &params, 2, ms(200)), [4, 5]);
}

#[test]
fn only_the_last_segment_is_short() {
    let mut wire = Wire::new(ns3(), Some(segments(6) + 10), lose_nothing);
    wire.run_to_completion();
    assert_eq!(wire.receiver.delivered_bytes(&wire.params), 6010);
    assert_eq!(wire.sender.stats().segments_sent, 7);
    assert_eq!(wire.sender.bytes(&ns3(), 0, 7), 6010);
    assert_eq!(wire.sender.bytes(&ns3(), 6, 7), 10);
    // Without payload, the transfer is done with the handshake.
    let mut wire = Wire::new(ns3(), Some(0), lose_nothing);
    wire.run_to_completion();
    assert_eq!((wire.now, wire.sender.stats().segments_sent), (ms(100), 0));
}

#[test]
fn an_early_timer_call_changes_nothing() {
    let params = ns3();
    let mut sender = established(&params, 4);
    let (before, due) = (format!("{sender:?}"), sender.timer());
    sender.on_timer(&params, due.saturating_sub(Time(1)));
    assert_eq!(format!("{sender:?}"), before);
}

proptest! {
    /// At each step, `Wire` checks windows, ACK numbers, SACK blocks, the scoreboard and the number of retransmitted
    /// segments.
    #[test]
    fn any_loss_reordering_and_marking_ends_with_every_byte_delivered(
        fates in prop::collection::vec((0u32..100, 0u64..40), 0..400),
        percent in 0u32..60,
        total in 1u64..200_000,
        window in 1u32..40,
        buffer in 1u64..100,
        delayed_ack in 1u32..4,
        limited_transmit in any::<bool>(),
        profile in prop::sample::select(TcpProfile::ALL),
        sack in any::<bool>(),
        prr in any::<bool>(),
        cubic in any::<bool>(),
        ecn in any::<bool>(),
    ) {
        let params = TcpParams {
            segment_payload: MSS,
            initial_window: window,
            socket_buffer: Bytes(segments(buffer)),
            delayed_ack,
            limited_transmit,
            sack,
            recovery: if sack && prr { Recovery::Prr } else { Recovery::NewReno },
            congestion_control: if cubic { CongestionControl::Cubic } else { CongestionControl::Reno },
            ecn,
            loss_detection: LossDetection::Dupack,
            ..TcpParams::profile(profile)
        };
        let wire = |fast| {
            let mut fates = fates.clone().into_iter();
            let fate = move |_, _| match fates.next() {
                Some((draw, _)) if draw < percent => None,
                Some((_, extra)) => Some(ms(extra)),
                None => Some(Time::ZERO),
            };
            let mut wire = Wire::new(params.clone(), Some(total), fate);
            (wire.marks, wire.fast) = (|number| number % 7 == 3, fast);
            wire
        };
        let (mut wire, mut reference) = (wire(true), wire(false));
        // After each step, the fast paths have left the same state as the general functions.
        while !wire.sender.is_done() {
            prop_assert_eq!(format!("{:?}", (&wire.sender, &wire.receiver)),
                format!("{:?}", (&reference.sender, &reference.receiver)));
            wire.step();
            reference.step();
        }
        prop_assert_eq!(&wire.log, &reference.log);
        prop_assert_eq!(wire.receiver.delivered_bytes(&wire.params), total);
        let stats = wire.sender.stats();
        prop_assert_eq!(stats.segments_sent - stats.retransmissions, total.div_ceil(u64::from(MSS)));
        prop_assert!(stats.ecn_reductions == 0 || ecn);
    }
}
