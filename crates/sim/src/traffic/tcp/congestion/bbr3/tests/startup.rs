//! Tests of Startup and Drain: sections 5.3.1 and 5.3.2 of the draft.

use super::*;

#[test]
fn the_first_rate_is_the_initial_window_in_the_first_rtt_times_the_gain() {
    let flow = Flow::new(Bbr3Params::default());
    // 5.6.2: the initial pacing rate is 2.77 * 10 kB / 0.1 s = 277 kB/s.
    assert_eq!(flow.output.pacing, Some(BitRate(8 * 277_000)));
}

#[test]
fn rate_and_window_double_each_round_while_the_delivery_rate_does() {
    let mut flow = Flow::new(Bbr3Params::default());
    for round in 0..5 {
        let rate = BitRate(1_000_000 << round);
        let bytes = (rate.0 / 80) as u32; // in an RTT of 0.1 s
        assert_eq!(flow.round(Told { rate: Some(rate), acked: bytes, in_flight: bytes, ..CALM }), State::Startup);
        // The pacing rate is 2.77 * 0.99 times the delivery rate, if that exceeds the initial pacing rate.
        let paced = (2.7423 * rate.0 as f64).max(2_216_000.0);
        assert!((flow.output.pacing.unwrap().as_f64() - paced).abs() < 1.0, "{:?} of {rate:?}", flow.output);
    }
    // The last rate is 16 Mbit/s. Twice its BDP would be a window of 400 kB, but the window starts at 10 kB and grows
    // only by acknowledged data: 10 + 12.5 * (1 + 2 + 4 + 8 + 16) = 397.5 kB.
    assert_eq!(flow.output.cwnd, 397_500);
}

#[test]
fn startup_ends_after_three_rounds_that_grow_by_less_than_a_quarter() {
    let mut flow = Flow::new(Bbr3Params::default());
    flow.round(CALM);
    let slow = Told { rate: Some(BitRate(9_900_000)), in_flight: 3 * BDP, ..CALM }; // 1.2375 of the first rate
    assert_eq!([flow.round(slow), flow.round(slow)], [State::Startup; 2]);
    assert_eq!(flow.control.full_bw_count, 2);
    assert_eq!(flow.round(slow), State::Drain);
    assert!(flow.control.full_bw_now && flow.control.full_bw_reached);
}

#[test]
fn a_round_that_grows_by_a_quarter_starts_the_count_anew() {
    let mut flow = Flow::new(Bbr3Params::default());
    for rate in [8, 9, 9, 10, 12, 12] {
        flow.round(Told { rate: Some(BitRate(rate * 1_000_000)), in_flight: 3 * BDP, ..CALM });
    }
    assert_eq!((flow.control.state, flow.control.full_bw_count), (State::Startup, 2));
}

#[test]
fn rounds_that_the_application_limits_never_end_startup() {
    let mut flow = Flow::new(Bbr3Params::default());
    for _ in 0..40 {
        assert_eq!(flow.round(Told { app_limited: true, ..CALM }), State::Startup);
    }
}

/// A flow in Startup and in recovery, in a round with `reports` ACKs that report losses. The last of these ACKs reports
/// the loss of 5 % of the data in flight.
fn startup_with_losses(reports: u32) -> Flow {
    let mut flow = Flow::new(Bbr3Params::default());
    flow.round(CALM);
    flow.event(Event::Loss);
    flow.lose(BDP, u64::from(MSS));
    let lossy = Told { lost: MSS, acked: MSS, phase: Phase::Recovery, app_limited: true, in_flight: 3 * BDP, ..CALM };
    for _ in 1..reports {
        assert_eq!(flow.within(lossy), State::Startup);
    }
    flow.round(Told { lost: 15 * MSS, ..lossy });
    flow
}

#[test]
fn losses_end_startup_if_a_round_of_recovery_has_six_and_more_than_two_percent_even_if_the_application_limits() {
    assert_eq!(startup_with_losses(5).control.state, State::Startup);
    let flow = startup_with_losses(6);
    assert_eq!(flow.control.state, State::Drain);
    assert!(flow.control.full_bw_now && flow.control.full_bw_reached);
    // 5.3.1.3: inflight_longterm becomes the larger of a BDP, 100 segments, and the largest volume delivered while a
    // segment was in flight, 105 segments.
    assert_eq!(flow.control.inflight_longterm, u64::from(105 * MSS));
}

#[test]
fn drain_halves_the_rate_until_a_bdp_is_in_flight() {
    let mut flow = Flow::new(Bbr3Params::default());
    for _ in 0..4 {
        flow.round(Told { in_flight: 2 * BDP, ..CALM });
    }
    assert_eq!(flow.control.state, State::Drain);
    // Gain 0.5, pacing margin 0.99, rate 8 Mbit/s.
    assert_eq!(flow.output.pacing, Some(BitRate(3_960_000)));
    assert_eq!(flow.within(Told { in_flight: BDP + 1, ..CALM }), State::Drain);
    assert_eq!(flow.within(Told { in_flight: BDP, ..CALM }), State::Cruise, "through Down, with the queue gone");
}

#[test]
fn drain_ends_after_three_rounds_even_if_the_queue_stays() {
    let mut flow = Flow::new(Bbr3Params::default());
    let queued = Told { in_flight: 2 * BDP, ..CALM };
    for _ in 0..7 {
        flow.round(queued);
    }
    assert_eq!(flow.control.state, State::Drain);
    assert_eq!(flow.round(queued), State::Down);
}
