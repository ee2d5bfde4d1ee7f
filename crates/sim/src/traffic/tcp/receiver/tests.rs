//! Tests of the receiving end.

use super::*;
use crate::traffic::tcp::{CongestionControl, LossDetection};

const MSS: u32 = 1000;

fn params() -> TcpParams {
    TcpParams { segment_payload: MSS, ..TcpParams::default() }
}

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// Delivers segment `seq`, sent and received at `at` ms. Returns the ACK number and the echo in ms.
fn data(receiver: &mut Receiver, seq: u32, at: u64) -> Option<(u32, u64)> {
    let segment = Segment { seq, payload: MSS, timestamp: ms(at), ..Segment::default() };
    receiver.on_segment(&params(), segment, ms(at)).map(|ack| (ack.ack, ack.echo.0 / ms(1).0))
}

/// Returns a receiver that has acknowledged segment 0 immediately, and segments 1 and 2 with one ACK.
fn warm() -> Receiver {
    let mut receiver = Receiver::new(&params());
    let syn = Segment { syn: true, timestamp: ms(1), ..Segment::default() };
    let answer = receiver.on_segment(&params(), syn, ms(1));
    assert_eq!(answer, Some(Ack { ack: 0, echo: ms(1), flag: AckFlag::Syn, ..Ack::default() }));
    let close = Segment { syn: false, ..syn };
    assert_eq!(receiver.on_segment(&params(), close, ms(2)), None);
    assert_eq!(data(&mut receiver, 0, 3), Some((1, 3)));
    assert_eq!(data(&mut receiver, 1, 4), None);
    assert_eq!(data(&mut receiver, 2, 5), Some((3, 4)));
    receiver
}

#[test]
fn acknowledges_the_first_segment_at_once_then_every_second() {
    let mut receiver = warm();
    assert_eq!(data(&mut receiver, 3, 6), None);
    assert_eq!(data(&mut receiver, 4, 7).unwrap().0, 5);
    assert_eq!(receiver.delivered_bytes(&params()), 5 * u64::from(MSS));
}

#[test]
fn acknowledges_every_segment_when_the_count_is_one() {
    let params = TcpParams { delayed_ack: 1, ..params() };
    let mut receiver = Receiver::new(&params);
    for seq in 0..5 {
        let segment = Segment { seq, payload: MSS, timestamp: ms(9), ..Segment::default() };
        assert_eq!(receiver.on_segment(&params, segment, ms(9)).unwrap().ack, seq + 1);
        assert_eq!(receiver.timer(), Time::NEVER);
    }
}

#[test]
fn sends_the_delayed_ack_after_its_timeout() {
    let mut receiver = warm();
    assert_eq!(data(&mut receiver, 3, 10), None);
    assert_eq!(receiver.timer(), ms(210));
    assert_eq!(receiver.on_timer(&params(), ms(209)), None);
    assert_eq!(receiver.on_timer(&params(), ms(210)), Some(Ack { ack: 4, echo: ms(10), ..Ack::default() }));
    assert_eq!(receiver.timer(), Time::NEVER);
    // The count of unacknowledged segments restarts, so the ACK of the next segment is delayed.
    assert_eq!(data(&mut receiver, 4, 220), None);
    assert_eq!(receiver.timer(), ms(420));
}

#[test]
fn echoes_the_earliest_segment_in_order_without_an_ack() {
    let mut receiver = warm();
    data(&mut receiver, 3, 20);
    // The ACK triggered by segment 4 also acknowledges segment 3. It echoes the timestamp of segment 3, so the RTT
    // sample includes the delay of the ACK.
    assert_eq!(data(&mut receiver, 4, 90), Some((5, 20)));
}

#[test]
fn acknowledges_at_once_beyond_a_gap_with_the_echo_before_it() {
    let mut receiver = warm();
    assert_eq!(data(&mut receiver, 4, 10), Some((3, 4)));
    assert_eq!(data(&mut receiver, 5, 11), Some((3, 4)));
    // A duplicate of an out-of-order segment has no effect except an ACK.
    assert_eq!(data(&mut receiver, 5, 12), Some((3, 4)));
    assert_eq!(receiver.delivered_bytes(&params()), 3 * u64::from(MSS));
}

#[test]
fn an_early_segment_flushes_a_delayed_ack() {
    let mut receiver = warm();
    assert_eq!(data(&mut receiver, 3, 10), None);
    assert_eq!(data(&mut receiver, 5, 11), Some((4, 10)));
    assert_eq!(receiver.timer(), Time::NEVER);
}

#[test]
fn acknowledges_at_once_when_a_gap_is_filled_in_full_or_in_part() {
    let mut receiver = warm();
    for seq in [4, 5, 7] {
        data(&mut receiver, seq, 10);
    }
    // Segment 3 fills the first gap while the second gap is still open. The ACK echoes the timestamp of segment 3.
    assert_eq!(data(&mut receiver, 3, 30), Some((6, 30)));
    assert_eq!(data(&mut receiver, 6, 31), Some((8, 31)));
    // Without a gap, ACKs are delayed again.
    assert_eq!(data(&mut receiver, 8, 32), None);
    assert_eq!(receiver.delivered_bytes(&params()), 9 * u64::from(MSS));
}

#[test]
fn acknowledges_at_once_in_order_data_while_a_later_gap_is_open() {
    let mut receiver = warm();
    data(&mut receiver, 6, 10);
    assert_eq!(data(&mut receiver, 3, 11), Some((4, 11)));
    assert_eq!(data(&mut receiver, 4, 12), Some((5, 12)));
}

#[test]
fn acknowledges_an_old_segment_at_once() {
    let mut receiver = warm();
    assert_eq!(data(&mut receiver, 1, 50), Some((3, 4)));
    assert_eq!(receiver.delivered_bytes(&params()), 3 * u64::from(MSS));
}

#[test]
fn echoes_the_first_syn_when_it_is_repeated() {
    let mut receiver = Receiver::new(&params());
    let syn = |at| Segment { syn: true, timestamp: at, ..Segment::default() };
    receiver.on_segment(&params(), syn(ms(1)), ms(2));
    let answer = receiver.on_segment(&params(), syn(ms(3001)), ms(3002));
    assert_eq!(answer, Some(Ack { ack: 0, echo: ms(1), flag: AckFlag::Syn, ..Ack::default() }));
}

#[test]
fn echoes_the_latest_copy_with_sack() {
    let params = TcpParams { sack: true, delayed_ack: 1, ..params() };
    let mut receiver = Receiver::new(&params);
    let mut echo = |seq, sent| {
        let segment = Segment { seq, payload: MSS, timestamp: ms(sent), ..Segment::default() };
        receiver.on_segment(&params, segment, ms(900)).unwrap().echo
    };
    assert_eq!(echo(0, 1), ms(1));
    assert_eq!(echo(1, 2), ms(2));
    // Segment 1 is retransmitted because its ACK was lost. The new timestamp of segment 1 is echoed. An old duplicate
    // does not change the echo.
    assert_eq!(echo(1, 700), ms(700));
    assert_eq!(echo(0, 1), ms(700));
    // The last ACK did not request this segment, which is above a gap.
    assert_eq!(echo(3, 800), ms(700));
}

#[test]
fn counts_the_short_last_segment_with_its_own_length() {
    let last = Segment { seq: 5, payload: 10, timestamp: ms(10), ..Segment::default() };
    // Segments in order.
    let mut receiver = warm();
    data(&mut receiver, 3, 10);
    data(&mut receiver, 4, 10);
    receiver.on_segment(&params(), last, ms(10));
    assert_eq!(receiver.delivered_bytes(&params()), 5 * u64::from(MSS) + 10);
    // Segments out of order.
    let mut receiver = warm();
    receiver.on_segment(&params(), last, ms(10));
    data(&mut receiver, 4, 10);
    assert_eq!(receiver.delivered_bytes(&params()), 3 * u64::from(MSS));
    data(&mut receiver, 3, 10);
    assert_eq!(receiver.delivered_bytes(&params()), 5 * u64::from(MSS) + 10);
}

/// Delivers segment `seq` with SACK; returns the ACK number and the blocks.
fn sack(receiver: &mut Receiver, seq: u32) -> (u32, Vec<(u32, u32)>) {
    let params = TcpParams { sack: true, ..params() };
    let segment = Segment { seq, payload: MSS, ..Segment::default() };
    let ack = receiver.on_segment(&params, segment, ms(10)).expect("an ACK at once");
    (ack.ack, ack.sacks.iter().map(|block| (block.start, block.end)).collect())
}

#[test]
fn reports_blocks_as_in_rfc_2018_section_4() {
    // Cases 2 and 3 of RFC 2018 section 4. The eight segments of the RFC are segments 5 to 12 here.
    let fresh = || {
        let mut receiver = warm();
        data(&mut receiver, 3, 10);
        data(&mut receiver, 4, 10);
        receiver
    };
    // Case 2: the first of the eight segments is lost.
    let mut receiver = fresh();
    for seq in 6..13 {
        assert_eq!(sack(&mut receiver, seq), (5, vec![(6, seq + 1)]));
    }
    // Case 3: the second, fourth, sixth and eighth segments are lost. An ACK has at most three blocks, the most recent
    // one first.
    let mut receiver = fresh();
    data(&mut receiver, 5, 10);
    assert_eq!(sack(&mut receiver, 7), (6, vec![(7, 8)]));
    assert_eq!(sack(&mut receiver, 9), (6, vec![(9, 10), (7, 8)]));
    assert_eq!(sack(&mut receiver, 11), (6, vec![(11, 12), (9, 10), (7, 8)]));
    // The fourth segment arrives late: segments 7, 8 and 9 become one block, which is reported first.
    assert_eq!(sack(&mut receiver, 8), (6, vec![(7, 10), (11, 12)]));
    // The second segment arrives: the ACK advances to segment 10, and one block is left.
    assert_eq!(sack(&mut receiver, 6), (10, vec![(11, 12)]));
    // The sixth segment closes the last gap.
    assert_eq!(sack(&mut receiver, 10), (12, vec![]));
}

#[test]
fn a_run_that_fell_out_of_the_list_is_reported_whole_when_it_grows() {
    let mut receiver = warm();
    for seq in [5, 6, 10, 20, 30, 40] {
        sack(&mut receiver, seq);
    }
    // The receiver's list of blocks no longer contains segments 5, 6 and 10.
    assert_eq!(sack(&mut receiver, 7), (3, vec![(5, 8), (40, 41), (30, 31)]));
    assert_eq!(sack(&mut receiver, 9), (3, vec![(9, 11), (5, 8), (40, 41)]));
    assert_eq!(sack(&mut receiver, 8), (3, vec![(5, 11), (40, 41)]));
    // A duplicate is also reported first.
    assert_eq!(sack(&mut receiver, 40), (3, vec![(40, 41), (5, 11)]));
}

#[test]
fn reports_no_blocks_without_sack() {
    let mut receiver = warm();
    let segment = Segment { seq: 7, payload: MSS, ..Segment::default() };
    assert!(receiver.on_segment(&params(), segment, ms(10)).unwrap().sacks.is_empty());
}

#[test]
fn quick_acks_answer_each_segment_at_the_start_and_after_a_duplicate() {
    let params = TcpParams { quickack: 4, ..params() };
    let mut receiver = Receiver::new(&params);
    let mut answers = |seq| {
        let segment = Segment { seq, payload: MSS, ..Segment::default() };
        receiver.on_segment(&params, segment, ms(9)).is_some()
    };
    let first: Vec<bool> = (0..8).map(&mut answers).collect();
    // The first four segments are acknowledged one by one, later every second segment.
    assert_eq!(first, [true, true, true, true, false, true, false, true]);
    assert!(answers(3));
    let then: Vec<bool> = (8..14).map(&mut answers).collect();
    assert_eq!(then, [true, true, true, true, false, true]);
}

#[test]
fn gro_acknowledges_a_burst_as_one() {
    let params = TcpParams { gro_timeout: Time::from_micros(50), ..params() };
    let mut receiver = warm();
    let mut at = |seq, us| {
        let segment = Segment { seq, payload: MSS, ..Segment::default() };
        (receiver.on_segment(&params, segment, Time::from_micros(us)), receiver.timer())
    };
    let first = at(3, 100);
    assert_eq!(first, (None, Time::from_micros(100) + ms(200)));
    // The second segment schedules an ACK after 50 us. The third segment does not prolong this delay.
    assert_eq!(at(4, 110), (None, Time::from_micros(160)));
    assert_eq!(at(5, 150), (None, Time::from_micros(160)));
    assert_eq!(receiver.on_timer(&params, Time::from_micros(160)).unwrap().ack, 6);
    // 66 segments of 1000 bytes exceed 64 KiB.
    let mut at = |seq| {
        let segment = Segment { seq, payload: MSS, ..Segment::default() };
        receiver.on_segment(&params, segment, Time::from_micros(200)).is_some()
    };
    assert_eq!((6..100).find(|&seq| at(seq)), Some(6 + 65));
}

#[test]
fn echoes_congestion_until_the_sender_says_that_its_window_is_reduced() {
    let params = TcpParams { ecn: true, delayed_ack: 1, ..params() };
    let mut receiver = Receiver::new(&params);
    let mut echo = |seq, ecn, cwr| {
        let segment = Segment { seq, payload: MSS, ecn, cwr, ..Segment::default() };
        receiver.on_segment(&params, segment, ms(9)).unwrap().echoes_congestion()
    };
    assert!(!echo(0, Ecn::Ect0, false));
    assert!(echo(1, Ecn::Ce, false));
    assert!(echo(2, Ecn::Ect0, false));
    assert!(echo(3, Ecn::Ect0, false));
    assert!(!echo(4, Ecn::Ect0, true));
    assert!(!echo(5, Ecn::Ect0, false));
    // RFC 3168 6.1.3: a mark on the very packet that carries CWR is new congestion.
    assert!(echo(6, Ecn::Ce, true));
    assert!(!echo(7, Ecn::Ect0, true));
}

#[test]
fn a_segment_that_ends_a_burst_is_acknowledged_at_once() {
    let mut receiver = Receiver::new(&params());
    let mut answered = |seq, push| {
        let segment = Segment { seq, payload: MSS, push, ..Segment::default() };
        receiver.on_segment(&params(), segment, ms(1)).is_some()
    };
    // The first segment is always acknowledged. Later, every second segment is, and each segment that ends a burst.
    let answers = [(0, false), (1, false), (2, false), (3, true), (4, true), (5, false), (6, false)];
    assert_eq!(answers.map(|(seq, push)| answered(seq, push)), [true, false, true, true, true, false, true]);
}

#[test]
fn of_marks_the_first_one_echoed_and_the_cwr_are_acknowledged_at_once() {
    let params = TcpParams { ecn: true, quickack: 1, ..params() };
    let mut receiver = Receiver::new(&params);
    let mut answered = |seq, ecn, cwr| {
        let segment = Segment { seq, payload: MSS, ecn, cwr, ..Segment::default() };
        receiver.on_segment(&params, segment, ms(1)).is_some()
    };
    assert!(answered(0, Ecn::Ect0, false));
    assert!(!answered(1, Ecn::Ect0, false));
    // The mark causes two immediate ACKs. A second mark during the echo causes none.
    assert!(answered(2, Ecn::Ce, false) && answered(3, Ecn::Ect0, false));
    assert!(!answered(4, Ecn::Ce, false) && answered(5, Ecn::Ect0, false));
    // The CWR ends the echo, so a later mark is handled like the first mark.
    assert!(answered(6, Ecn::Ect0, true) && !answered(7, Ecn::Ect0, false));
    assert!(answered(8, Ecn::Ce, false) && answered(9, Ecn::Ect0, false));
}

#[test]
fn what_waits_is_acknowledged_when_marks_begin_or_end_if_each_is_echoed() {
    let dctcp = TcpParams {
        ecn: true,
        sack: true,
        loss_detection: LossDetection::Scoreboard,
        congestion_control: CongestionControl::Dctcp,
        ..params()
    };
    /// Passes eight segments with these marks. Returns the number and the mark count of each ACK.
    fn acks(params: &TcpParams, marked: [bool; 8]) -> Vec<(u32, u8)> {
        let mut receiver = Receiver::new(params);
        let ecn = |marked| if marked { Ecn::Ce } else { Ecn::Ect0 };
        let segments = (0..).zip(marked);
        let segments =
            segments.map(|(seq, marked)| Segment { seq, payload: MSS, ecn: ecn(marked), ..Segment::default() });
        let mut told =
            segments.filter_map(|segment| receiver.on_segment(params, segment, ms(9))).map(|a| (a.ack, a.marks));
        told.by_ref().collect()
    }
    let marked = [false, false, true, true, false, false, true, false];
    // The first segment is acknowledged immediately, then every second segment. Before a change of marks, a pending
    // segment is also acknowledged.
    assert_eq!(acks(&dctcp, marked), [(1, 0), (2, 0), (4, 2), (6, 2), (7, 3)]);
    // With a congestion control other than DCTCP, one ACK may cover marked and unmarked segments.
    let classic = TcpParams { congestion_control: CongestionControl::Reno, ..dctcp.clone() };
    assert_eq!(acks(&classic, marked), [(1, 0), (3, 1), (5, 2), (7, 3)]);
    // With quick ACKs as in Linux, the first segment after a change of marks is also acknowledged immediately.
    let linux = TcpParams { quickack: 1, ..dctcp };
    assert_eq!(acks(&linux, marked), [(1, 0), (3, 1), (5, 2), (7, 3), (8, 3)]);
}

#[test]
fn acks_of_segments_beyond_a_gap_wait_from_the_fourth_on() {
    let params = TcpParams { sack: true, sack_delay: ms(1), quickack: 0, delayed_ack: 1, ..params() };
    let mut receiver = Receiver::new(&params);
    let syn = Segment { syn: true, ..Segment::default() };
    receiver.on_segment(&params, syn, ms(5));
    // With an RTT of 10 ms, the delay is the minimum of 1 ms and a twentieth of the RTT, so 0.5 ms.
    receiver.on_segment(&params, Segment { syn: false, ..syn }, ms(15));
    let mut at = |seq, us| {
        let segment = Segment { seq, payload: MSS, ..Segment::default() };
        let ack = receiver.on_segment(&params, segment, Time::from_micros(us));
        (ack.map(|ack| ack.sacks.iter().map(|block| (block.start, block.end)).collect::<Vec<_>>()), receiver.timer())
    };
    for seq in 1..=3 {
        assert_eq!(at(seq, 20_000), (Some(vec![(1, seq + 1)]), Time::NEVER));
    }
    // The ACKs of segments 4 and 5 are delayed until 0.5 ms plus 0.1 ms after segment 4.
    assert_eq!(at(4, 20_000), (None, Time::from_micros(20_600)));
    assert_eq!(at(5, 20_400), (None, Time::from_micros(20_600)));
    // The ACK of a second run of segments is also delayed. When a third run begins, the delayed ACK leaves without it.
    assert_eq!(at(8, 20_450), (None, Time::from_micros(20_600)));
    assert_eq!(at(10, 20_460), (Some(vec![(8, 9), (1, 6)]), Time::NEVER));
    // Only the next segment asks for an ACK again. If the run that was reported third becomes longer, its ACK reports
    // that.
    assert_eq!(at(12, 20_461), (None, Time::from_micros(21_061)));
    assert_eq!(at(7, 20_462), (Some(vec![(7, 9), (12, 13), (10, 11)]), Time::NEVER));
    // RCV.NXT advances, so the next three segments above a gap are acknowledged immediately.
    assert!(at(0, 20_470).0.is_some());
    assert!((14..17).all(|seq| at(seq, 20_480).0.is_some()) && at(17, 20_490).0.is_none());
    // The delay of 0.5 ms ends at 20 990 us. The next segment, within the additional 0.1 ms, is acknowledged at once.
    assert!(at(18, 20_980).0.is_none() && at(19, 20_991).0.is_some());
}

#[test]
fn cwr_is_acknowledged_at_once_for_every_control() {
    for congestion_control in [CongestionControl::Reno, CongestionControl::Dctcp] {
        let params = TcpParams { ecn: true, quickack: 1, delayed_ack: 2, congestion_control, ..params() };
        let mut receiver = Receiver::new(&params);
        let answered = [false, false, true].map(|cwr| {
            let segment = Segment { seq: receiver.next, payload: MSS, cwr, ecn: Ecn::Ect0, ..Segment::default() };
            receiver.on_segment(&params, segment, ms(9)).is_some()
        });
        assert_eq!(answered, [true, false, true], "{congestion_control:?}");
    }
}

#[test]
fn after_a_segment_that_is_not_ecn_capable_two_are_acknowledged_at_once() {
    let params = TcpParams { ecn: true, quickack: 1, delayed_ack: 2, ..params() };
    let mut receiver = Receiver::new(&params);
    let codepoints = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect0, Ecn::Ect0];
    let answered = codepoints.map(|ecn| {
        let segment = Segment { seq: receiver.next, payload: MSS, ecn, ..Segment::default() };
        receiver.on_segment(&params, segment, ms(9)).is_some()
    });
    // The first ACK is that of a new connection. The third segment is the second since then.
    assert_eq!(answered, [true, false, true, true, true, false]);
}

#[test]
fn the_end_of_a_burst_does_not_prolong_quick_acks() {
    let params = TcpParams { quickack: 2, delayed_ack: 2, ..params() };
    let mut receiver = Receiver::new(&params);
    let answered = [true, false, false, false, true].map(|push| {
        let segment = Segment { seq: receiver.next, payload: MSS, push, ..Segment::default() };
        receiver.on_segment(&params, segment, ms(9)).is_some()
    });
    assert_eq!(answered, [true, true, false, true, true]);
}

#[test]
fn beyond_a_gap_the_end_of_a_burst_waits() {
    let params = TcpParams { sack: true, sack_delay: ms(1), quickack: 0, delayed_ack: 1, ..params() };
    let mut receiver = Receiver::new(&params);
    let mut answered = |seq, push| {
        let segment = Segment { seq, payload: MSS, push, ..Segment::default() };
        receiver.on_segment(&params, segment, ms(9)).is_some()
    };
    assert!((1..=3).all(|seq| answered(seq, false)));
    assert_eq!([(4, false), (5, true)].map(|(seq, push)| answered(seq, push)), [false, false]);
}

#[test]
fn at_most_44_segments_beyond_a_gap_wait() {
    let params = TcpParams { sack: true, sack_delay: ms(1), delayed_ack: 1, ..params() };
    let mut receiver = Receiver::new(&params);
    let mut is_answered = |seq| {
        let segment = Segment { seq, payload: MSS, ..Segment::default() };
        receiver.on_segment(&params, segment, ms(9)).is_some()
    };
    // The first three segments are acknowledged immediately. Then 44 ACKs are delayed before the next one is sent.
    assert_eq!((1..100).filter(|&seq| is_answered(seq)).take(5).collect::<Vec<_>>(), [1, 2, 3, 48, 93]);
}
