//! Rule 18: ECN, RFC 3168. Windows are in segments of 1000 bytes.

use super::*;

fn ecn() -> TcpParams {
    TcpParams { ecn: true, ..ack_each() }
}

/// Passes an ACK with or without congestion echo. Returns the segments sent in response: number, codepoint, CWR.
fn echo(sender: &mut Sender, params: &TcpParams, number: u32, echo: bool, now: Time) -> Vec<(u32, Ecn, bool)> {
    let echoed = now.saturating_sub(ms(100));
    sender.on_ack(
        params,
        &Ack {
            ack: number,
            echo: echoed,
            flag: if echo { AckFlag::CongestionEcho } else { AckFlag::None },
            ..Ack::default()
        },
        now,
    );
    std::iter::from_fn(|| sender.poll_transmit(params, now)).map(|s| (s.seq, s.ecn, s.cwr)).collect()
}

#[test]
fn only_new_data_is_ecn_capable() {
    let params = ecn();
    let mut sender = Sender::new(&params, None, 0);
    sender.start();
    assert_eq!(sender.poll_transmit(&params, Time::ZERO).unwrap().ecn, Ecn::NotEct);
    let mut sender = established(&params, 4);
    assert_eq!(echo(&mut sender, &params, 1, false, ms(200)), [(4, Ecn::Ect0, false), (5, Ecn::Ect0, false)]);
    // RFC 3168 6.1.5: retransmissions are not ECN-capable.
    sender.on_timer(&params, ms(1200));
    let segment = sender.poll_transmit(&params, ms(1200)).unwrap();
    assert_eq!((segment.seq, segment.ecn, segment.cwr), (1, Ecn::NotEct, false));
    // Without ECN no segment is ECN-capable.
    let params = ack_each();
    let mut sender = established(&params, 4);
    assert_eq!(echo(&mut sender, &params, 1, false, ms(200))[0].1, Ecn::NotEct);
}

#[test]
fn marks_reduce_the_window_once_per_window_of_data() {
    let params = ecn();
    let mut sender = established(&params, 10);
    // With ten segments in flight, the window is halved to five. Neither this ACK nor the following ones with an echo
    // increase the window.
    assert!(echo(&mut sender, &params, 1, true, ms(200)).is_empty());
    assert_eq!((sender.ssthresh(), sender.cwnd()), (segments(5), segments(5)));
    for number in 2..=5 {
        assert!(echo(&mut sender, &params, number, true, ms(200)).is_empty());
    }
    // ACK 6 is the first to leave room for a new segment. This segment carries CWR, the next one does not.
    assert_eq!(echo(&mut sender, &params, 6, true, ms(200)), [(10, Ecn::Ect0, true)]);
    assert_eq!(echo(&mut sender, &params, 7, true, ms(200)), [(11, Ecn::Ect0, false)]);
    for number in 8..=10 {
        echo(&mut sender, &params, number, true, ms(200));
    }
    assert_eq!((sender.cwnd(), sender.stats().ecn_reductions), (segments(5), 1));
    // Segment 10 was sent after the reduction, so an echo in its ACK means new congestion.
    echo(&mut sender, &params, 11, true, ms(300));
    assert_eq!((sender.cwnd(), sender.stats().ecn_reductions), (2500, 2));
    // Without an echo the window grows by MSS^2 / cwnd.
    echo(&mut sender, &params, 15, false, ms(400));
    assert_eq!(sender.cwnd(), 2900);
}

#[test]
fn a_loss_in_a_marked_window_is_the_same_congestion() {
    for sack in [false, true] {
        let params = TcpParams { sack, ..ecn() };
        let mut sender = established(&params, 10);
        echo(&mut sender, &params, 1, true, ms(200));
        assert_eq!(sender.ssthresh(), segments(5));
        for end in 3..6 {
            let sacks = SackBlocks::new(&[SackBlock { start: 2, end }]);
            let sacks = if sack { sacks } else { Default::default() };
            sender.on_ack(&params, &Ack { ack: 1, flag: AckFlag::CongestionEcho, sacks, ..Ack::default() }, ms(210));
            drain(&mut sender, &params, ms(210));
        }
        assert_eq!((sender.phase, sender.ssthresh()), (Phase::Recovery, segments(5)), "sack {sack}");
    }
}

#[test]
fn marks_during_recovery_are_the_same_congestion() {
    let params = ecn();
    let mut sender = established(&params, 10);
    for _ in 0..3 {
        echo(&mut sender, &params, 0, true, ms(200));
    }
    let (ssthresh, recover) = (sender.ssthresh(), sender.recover);
    echo(&mut sender, &params, 2, true, ms(300));
    echo(&mut sender, &params, recover, true, ms(400));
    assert_eq!((sender.phase, sender.ssthresh(), sender.stats().ecn_reductions), (Phase::Open, ssthresh, 0));
    // CWR also announced the reduction for the loss (RFC 3168 6.1.2).
    assert!(sender.cwr_due || sender.nxt > recover);
}

#[test]
fn marked_packets_reduce_the_window_and_nothing_is_sent_again() {
    // Segments 15 to 30 are sent at 500 ms. The five marks on segments 20 to 24 are in one window, so there is only one
    // reduction. A mark on transmission 60 is in a later window and causes a second reduction.
    for (marks, reductions) in
        [((|n| (20..25).contains(&n)) as fn(u64) -> bool, 1), (|n| n == 20 || n == 60, 2), (|_| false, 0)]
    {
        let mut wire = Wire::new(ecn(), None, lose_nothing);
        wire.marks = marks;
        wire.run_until(ms(1500));
        let stats = wire.sender.stats();
        assert_eq!((stats.ecn_reductions, stats.retransmissions), (reductions, 0));
    }
}
