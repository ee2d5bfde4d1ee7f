//! Tests of rules 12 to 17: SACK, RFC 6675 and PRR. The expected traces were computed by hand for an RTT of 100 ms.
//! Windows are in segments of 1000 bytes.

use super::*;
use crate::traffic::tcp::FlightSize;

/// Returns parameters of Reno with SACK and an ACK for each segment. Congestion halves the outstanding data.
fn sack_each() -> TcpParams {
    TcpParams { sack: true, flight_size: FlightSize::Outstanding, ..ack_each() }
}

/// Passes an ACK with blocks. Returns the numbers of the data segments sent in response.
fn sack(sender: &mut Sender, params: &TcpParams, number: u32, blocks: &[(u32, u32)], now: Time) -> Vec<u32> {
    let blocks: Vec<_> = blocks.iter().map(|&(start, end)| SackBlock { start, end }).collect();
    let echo = now.saturating_sub(ms(100));
    sender.on_ack(params, &Ack { ack: number, echo, sacks: SackBlocks::new(&blocks), ..Ack::default() }, now);
    drain(sender, params, now)
}

fn recovered_at<F>(wire: &Wire<F>) -> Time {
    let in_recovery = |event: &Event| matches!(event, Event::Acked(_, Phase::Recovery, _));
    wire.log.iter().rev().find(|(_, event)| in_recovery(event)).expect("there was a recovery").0
}

#[test]
fn a_single_drop_is_repaired_by_its_third_sack() {
    let mut wire = Wire::new(sack_each(), None, lose_once(&[20]));
    // Segments 15 to 30 are sent at 500 ms. Segments 15 to 19 are acknowledged (cwnd is 21, and segments up to 40 are
    // sent). Segments 21 and 22 are SACKed, which releases segments 41 and 42. At the SACK of segment 23, 23 segments
    // are outstanding, of which only cwnd = 21 count: ssthresh = cwnd = 10.5 segments.
    wire.run_until(ms(600));
    assert_eq!((wire.sender.ssthresh(), wire.sender.cwnd(), wire.sender.recover), (10_500, 10_500, 43));
    // pipe = 23 outstanding - 10 SACKed - 1 lost + 1 retransmitted.
    assert_eq!(wire.sender.in_flight(&sack_each()), segments(13));
    // Twelve SACKs arrive, of segments 31 to 42. The fourth reduces the pipe to 9 segments. Then 9 new segments leave,
    // 43 to 51. The full ACK releases one more.
    wire.run_until(ms(700));
    assert_eq!((wire.sender.una, wire.sender.nxt, wire.sender.phase), (43, 53, Phase::Open));
    assert_eq!(wire.sender.cwnd(), 10_500);
    wire.run_until(ms(3000));
    let stats = wire.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.timeouts, wire.resent()), (1, 0, vec![20]));
}

#[test]
fn several_drops_in_a_window_take_one_round_trip_not_one_each() {
    let lost = [20, 22, 24, 26];
    // New Reno detects one loss per partial ACK.
    let mut wire = Wire::new(ack_each(), None, lose_once(&lost));
    wire.run_until(ms(3000));
    assert_eq!(lost.map(|seq| wire.sent_at(seq)[1]), [600, 700, 800, 900].map(ms));
    assert_eq!(recovered_at(&wire), ms(1000));
    // SACK shows all four losses at 600 ms, when 7 of the segments 21 to 30 have arrived. The pipe is then 23 - 7 - 4 +
    // 1 = 13. After four of the 12 SACKs at 700 ms the pipe is 9, which leaves room in the window of 10.5. The next
    // three SACKs release three retransmissions.
    let mut wire = Wire::new(sack_each(), None, lose_once(&lost));
    wire.run_until(ms(600));
    assert_eq!((wire.sender.in_flight(&sack_each()), wire.sender.cwnd()), (segments(13), 10_500));
    wire.run_until(ms(3000));
    assert_eq!(lost.map(|seq| wire.sent_at(seq)[1]), [600, 700, 700, 700].map(ms));
    assert_eq!((wire.resent(), recovered_at(&wire)), (lost.to_vec(), ms(800)));
    assert_eq!(wire.sender.stats().timeouts, 0);
}

#[test]
fn prr_resends_in_proportion_to_what_arrives() {
    let params = TcpParams { recovery: Recovery::Prr, ..sack_each() };
    let mut wire = Wire::new(params, None, lose_once(&[20, 22, 24, 26]));
    wire.run_until(ms(3000));
    // RecoverFS = 23, ssthresh = 10.5: after n delivered segments, ceil(n * 10500 / 23) bytes may leave. The first
    // segment is forced and leaves at n = 1. The second leaves at n = 5 (2283 bytes), the SACK of segment 30 at 600 ms.
    // The third leaves at n = 7 (3196 bytes), the fourth at n = 9 (4109 bytes), at 700 ms.
    assert_eq!([20, 22, 24, 26].map(|seq| wire.sent_at(seq)[1]), [600, 600, 700, 700].map(ms));
    assert_eq!(recovered_at(&wire), ms(800));
    let exit = wire.log.iter().position(|(t, e)| *t == ms(800) && matches!(e, Event::Acked(43.., Phase::Recovery, _)));
    let Some((_, Event::Acked(_, _, cwnd))) = exit.map(|index| wire.log[index]) else { panic!("a full ACK at 800 ms") };
    assert_eq!(cwnd, 10_500);
    assert_eq!(wire.sender.stats().timeouts, 0);
}

#[test]
fn prr_catches_up_to_ssthresh_when_most_of_the_window_is_lost() {
    let params = TcpParams { recovery: Recovery::Prr, ..sack_each() };
    let mut sender = established(&params, 20);
    // Segments 0 to 16 are lost, 17 to 19 arrive: pipe = 20 - 3 - 17 = 0 < ssthresh = 10. With the slow-start reduction
    // bound, limit = max(prr_delivered - prr_out, DeliveredData) + MSS = 3 + 1, so four segments instead of ten.
    assert_eq!(sack(&mut sender, &params, 0, &[(17, 20)], ms(200)), [0, 1, 2, 3]);
    // Each of the next ACKs covers one segment: limit = max(4 - 4, 1) + 1 = 2.
    assert_eq!(sack(&mut sender, &params, 1, &[(17, 20)], ms(300)), [4, 5]);
    assert_eq!(sack(&mut sender, &params, 2, &[(17, 20)], ms(300)), [6, 7]);
    // Recovery without PRR fills the window at once.
    let mut burst = established(&sack_each(), 20);
    assert_eq!(sack(&mut burst, &sack_each(), 0, &[(17, 20)], ms(200)).len(), 10);
}

#[test]
fn a_lost_first_segment_is_sent_again_without_a_timeout() {
    let params = TcpParams { initial_window: 10, ..sack_each() };
    let mut wire = Wire::new(params, None, lose_once(&[0]));
    wire.run_until(ms(2000));
    // Of a window of 10 segments, segments 1, 2 and 3 are SACKed at 200 ms.
    assert_eq!(wire.sent_at(0), [ms(100), ms(200)]);
    assert_eq!(wire.sender.ssthresh(), segments(5));
    assert_eq!((wire.resent(), wire.sender.stats().timeouts), (vec![0], 0));
}

#[test]
fn a_lost_retransmission_waits_for_the_timeout() {
    let lose_twice = |packet, times| match packet {
        Packet::Segment(segment) if segment.seq == 20 && times < 2 => None,
        _ => Some(Time::ZERO),
    };
    let mut wire = Wire::new(sack_each(), None, lose_twice);
    wire.run_until(ms(1700));
    // The last ACK of new data restarted the timer of 1 s at 600 ms.
    assert_eq!(wire.sent_at(20), [500, 600, 1600].map(ms));
    // The loss at 600 ms halves the window to 10.5 segments, and the timeout halves this to 5.25 segments.
    assert_eq!((wire.sender.stats().timeouts, wire.sender.ssthresh()), (1, 5250));
    // New data were sent in the meantime. The ACK of segment 20 covers them, so no other segment is retransmitted.
    assert_eq!((wire.resent(), wire.sender.phase), (vec![20, 20], Phase::Open));
}

#[test]
fn reordering_below_the_threshold_leaves_the_window_alone() {
    let params = sack_each();
    let mut sender = established(&params, 8);
    // Limited transmit (RFC 3042): SACKed segments have left the pipe.
    assert_eq!(sack(&mut sender, &params, 0, &[(1, 2)], ms(200)), [8]);
    assert_eq!(sack(&mut sender, &params, 0, &[(1, 3)], ms(200)), [9]);
    assert_eq!(sender.phase, Phase::Disorder);
    sack(&mut sender, &params, 3, &[], ms(200));
    assert_eq!((sender.phase, sender.cwnd()), (Phase::Open, segments(9)));
    assert_eq!(sender.stats().retransmissions, 0);
    // Without limited transmit the two SACKs release no segment.
    let params = TcpParams { limited_transmit: false, ..sack_each() };
    let mut sender = established(&params, 8);
    assert!(sack(&mut sender, &params, 0, &[(1, 2)], ms(200)).is_empty());
    assert!(sack(&mut sender, &params, 0, &[(1, 3)], ms(200)).is_empty());
}

#[test]
fn reordering_by_the_threshold_is_taken_for_a_loss_even_in_a_single_ack() {
    let params = sack_each();
    let mut sender = established(&params, 8);
    // The two previous ACKs were lost. This ACK shows three segments above segment 0, which is enough (RFC 6675 section
    // 5, step (2)).
    assert_eq!(sack(&mut sender, &params, 0, &[(1, 4)], ms(200)), [0]);
    assert_eq!((sender.phase, sender.cwnd()), (Phase::Recovery, segments(4)));
    // Segment 0 was only late: the window stays reduced.
    sack(&mut sender, &params, 8, &[], ms(210));
    assert_eq!((sender.phase, sender.cwnd()), (Phase::Open, segments(4)));
}

#[test]
fn a_segment_is_lost_when_three_above_it_have_arrived_wherever_they_are() {
    let params = sack_each();
    let mut sender = established(&params, 20);
    sack(&mut sender, &params, 0, &[(3, 4)], ms(200));
    sack(&mut sender, &params, 0, &[(9, 10), (3, 4)], ms(200));
    assert_eq!(sender.phase, Phase::Disorder);
    // Segments 0, 1 and 2 have the SACKed segments 3, 9 and 11 above them. Segments 4 to 8 have two SACKed segments
    // above them, and segment 10 has one. 22 segments are outstanding and cwnd is 20, so ssthresh = 10 segments.
    assert_eq!(sack(&mut sender, &params, 0, &[(11, 12), (9, 10), (3, 4)], ms(200)), [0]);
    assert_eq!(sender.in_flight(&params), segments(22 - 3 - 3 + 1));
    // With two more SACKed segments, segments 4 to 8 have four above them, and segment 10 has three. The pipe is 22 - 5
    // - 9 + 1 = 9 segments. The window has room for one segment, the second lost one.
    assert_eq!(sack(&mut sender, &params, 0, &[(11, 14), (9, 10), (3, 4)], ms(200)), [1]);
    assert_eq!(sender.in_flight(&params), segments(10));
}

#[test]
fn a_spurious_timeout_resends_only_until_the_late_acks_tell() {
    let params = sack_each();
    let mut sender = established(&params, 4);
    sender.on_timer(&params, ms(1100));
    assert_eq!(drain(&mut sender, &params, ms(1100)), [0]);
    // The ACKs of the first transmissions were only late. Their time stamps give a correct sample: 7/8 * 100 + 1/8 *
    // 1100.
    let late = |number| Ack { ack: number, echo: ms(100), ..Ack::default() };
    sender.on_ack(&params, &late(1), ms(1200));
    assert_eq!(sender.srtt(), ms(225));
    assert_eq!(drain(&mut sender, &params, ms(1200)), [1, 2]);
    sender.on_ack(&params, &late(4), ms(1210));
    // All segments are acknowledged: new data leave, and recovery is possible again.
    assert_eq!(drain(&mut sender, &params, ms(1210))[0], 4);
    assert_eq!((sender.phase, sender.stats().retransmissions), (Phase::Open, 3));
}

#[test]
fn a_timeout_takes_all_for_lost_but_what_was_or_will_be_reported() {
    let params = sack_each();
    let mut sender = established(&params, 8);
    assert_eq!(sack(&mut sender, &params, 0, &[(3, 4)], ms(200)), [8]);
    let due = sender.timer();
    sender.on_timer(&params, due);
    assert_eq!(drain(&mut sender, &params, due), [0]);
    assert_eq!((sender.cwnd(), sender.in_flight(&params)), (segments(1), segments(1)));
    // Slow start sends two segments three times. It skips segment 3, which was SACKed before, and segments 5 and 6,
    // which are SACKed later.
    assert_eq!(sack(&mut sender, &params, 1, &[(3, 4)], ms(1300)), [1, 2]);
    assert_eq!(sack(&mut sender, &params, 2, &[(5, 7), (3, 4)], ms(1400)), [4, 7]);
    assert_eq!(sack(&mut sender, &params, 4, &[(5, 7)], ms(1400)), [8, 9]);
}

#[test]
fn no_recovery_starts_until_what_was_sent_before_a_timeout_is_acknowledged() {
    let params = sack_each();
    let mut sender = established(&params, 16);
    sender.on_timer(&params, ms(1100));
    drain(&mut sender, &params, ms(1100));
    sack(&mut sender, &params, 0, &[(3, 9)], ms(1200));
    assert_eq!((sender.phase, sender.stats().fast_recoveries), (Phase::Loss, 0));
    // RFC 6675 5.1: an ACK of RecoveryPoint is sufficient.
    sack(&mut sender, &params, 16, &[], ms(1300));
    assert_eq!(sender.phase, Phase::Open);
    // The ACK of RecoveryPoint covers no segment above RecoveryPoint, so cwnd is 1. After the next three ACKs cwnd is 4
    // and segments 19 to 22 are outstanding. Segment 19 is lost: cwnd = 2, pipe = 0.
    assert_eq!((sender.cwnd(), sender.nxt), (segments(1), 17));
    (17..=19).for_each(|number| drop(sack(&mut sender, &params, number, &[], ms(1400))));
    assert_eq!(sack(&mut sender, &params, 19, &[(20, 23)], ms(1500)), [19, 23]);
    assert_eq!((sender.phase, sender.stats().fast_recoveries), (Phase::Recovery, 1));
}

#[test]
fn a_lost_last_segment_waits_for_the_timeout() {
    // No segment above the lost one is SACKed, so only the timeout repairs the loss, as without SACK.
    let mut wire = Wire::new(sack_each(), Some(segments(10)), lose_once(&[9]));
    wire.run_to_completion();
    assert_eq!(wire.sent_at(9), [ms(400), ms(1500)]);
    assert_eq!(wire.sender.stats().timeouts, 1);
}

#[test]
fn the_rescue_retransmission_repairs_a_tail_lost_beside_another_segment() {
    let params = TcpParams { initial_window: 10, ..sack_each() };
    let mut wire = Wire::new(params, Some(segments(10)), lose_once(&[5, 9]));
    wire.run_to_completion();
    // At 200 ms segments 0 to 4 are acknowledged and segments 6 to 8 SACKed, so segment 5 is retransmitted. ssthresh is
    // half of the 5 outstanding segments, 2.5, and the pipe of 2 leaves no room. At 300 ms only segment 9 is in the
    // pipe, and NextSeg rule 4 applies.
    assert_eq!((wire.sent_at(5), wire.sent_at(9)), (vec![ms(100), ms(200)], vec![ms(100), ms(300)]));
    assert_eq!((wire.now, wire.sender.stats().timeouts), (ms(400), 0));
}

#[test]
fn with_nothing_new_to_send_recovery_resends_what_is_doubtful() {
    // Segment 0 is lost; segments 4 and 5 are late. There are no new data. After segment 0, NextSeg rule 3 selects
    // segment 4, which is below the highest SACKed segment.
    let params = TcpParams { socket_buffer: Bytes(segments(8)), ..sack_each() };
    let mut sender = established(&params, 8);
    assert_eq!(sack(&mut sender, &params, 0, &[(1, 4)], ms(200)), [0]);
    // pipe = 8 outstanding - 5 SACKed - 1 lost + 1 retransmitted = 3; cwnd = 4.
    assert_eq!(sack(&mut sender, &params, 0, &[(6, 8), (1, 4)], ms(200)), [4]);
    assert_eq!(sender.stats().retransmissions, 2);
}

#[test]
fn cubic_keeps_seven_tenths_and_epochs_start_after_recovery() {
    let params = TcpParams { congestion_control: CongestionControl::Cubic, ..sack_each() };
    let mut wire = Wire::new(params, None, lose_once(&[20]));
    wire.run_until(ms(600));
    // As in the first test, with 21 segments.
    assert_eq!(wire.sender.ssthresh(), 14_700);
    wire.run_until(ms(3000));
    // K = (6.3 / 0.4)^(1/3) = 2.507 s. The Reno-friendly window starts with 14 whole segments and grows by 0.529 per
    // RTT. After 23 RTTs, from 700 ms to 3000 ms, it is 26.2. The actual window has 26 whole segments, plus the
    // fraction of 0.7 with which it started. W_cubic is still below 21.
    let window = wire.sender.cwnd() as f64 / f64::from(MSS);
    assert!((window - 26.7).abs() < 1.1, "{window}");
}

#[test]
fn a_timeout_in_recovery_takes_its_share_of_the_window_not_of_what_duplicates_inflate() {
    // Without SACK, ssthresh is 0.7 of cwnd (10), not of the 12 outstanding segments. Then cwnd = 7 + 3, plus a segment
    // per duplicate ACK.
    let params = TcpParams { congestion_control: CongestionControl::Cubic, ..ack_each() };
    let mut sender = established(&params, 10);
    for _ in 0..12 {
        ack(&mut sender, &params, 0, ms(200));
    }
    assert_eq!((sender.ssthresh(), sender.cwnd(), sender.nxt), (7000, segments(19), 19));
    let due = sender.timer();
    sender.on_timer(&params, due);
    assert_eq!((sender.ssthresh(), sender.cwnd()), (4900, segments(1)));
}

#[test]
fn after_a_timeout_an_ack_counts_what_it_delivers_and_not_what_was_sacked_before() {
    let params = TcpParams { byte_counting: true, ..sack_each() };
    let mut sender = established(&params, 50);
    // Segment 0 is lost, 1 to 49 are SACKed. Recovery retransmits 0 and sends 24 new segments, as ssthresh is 25.
    let sent = sack(&mut sender, &params, 0, &[(1, 50)], ms(200));
    assert_eq!((sent.len(), sent[0], sender.nxt), (25, 0, 74));
    sender.on_timer(&params, ms(1500));
    assert_eq!((drain(&mut sender, &params, ms(1500)), sender.cwnd(), sender.recover), (vec![0], segments(1), 74));
    // The retransmission arrives. The ACK number advances by 50, but only one segment was delivered now.
    sack(&mut sender, &params, 50, &[], ms(1600));
    assert_eq!(sender.cwnd(), segments(2));
    // The ACK that ends the loss state covers no segment above `recover`, so the window does not grow.
    sack(&mut sender, &params, 74, &[], ms(1700));
    assert_eq!((sender.phase, sender.cwnd()), (Phase::Open, segments(2)));
    sack(&mut sender, &params, 75, &[], ms(1800));
    assert_eq!(sender.cwnd(), segments(3));
}
