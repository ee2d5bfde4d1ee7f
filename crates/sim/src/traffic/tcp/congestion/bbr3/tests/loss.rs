//! Tests of the responses to losses and marks: sections 5.5.10, 5.5.11 and 5.6.4.4 of the draft.

use super::*;

#[test]
fn a_probe_that_loses_more_than_two_percent_ends_and_leaves_the_volume_at_which_it_did() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    // 2 of 101 segments are lost, which is below 2 %.
    flow.lose(101 * MSS, u64::from(2 * MSS));
    assert_eq!(flow.control.state, State::Up);
    // 3 of 120 segments are lost. InflightAtLoss: before the third loss, 119 segments were in flight and 2 lost. So a
    // fraction (0.02 * 119 - 2) / 0.98 = 0.387755 of the segment is within the threshold.
    flow.lose(120 * MSS, u64::from(3 * MSS));
    assert_eq!(flow.control.state, State::Down);
    assert_eq!(flow.control.inflight_longterm, 119_387);
    assert!(flow.control.prev_probe_too_high);
}

#[test]
fn inflight_longterm_falls_to_seven_tenths_of_the_target_at_least() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.lose(10 * MSS, u64::from(5 * MSS));
    // The bound is 0.7 of a BDP plus the 2 segments of ProbeBW_UP (5.6.4.2).
    assert_eq!(flow.control.inflight_longterm, 71_400);
}

#[test]
fn losses_of_a_probe_that_the_application_limits_end_it_and_leave_inflight_longterm() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.event(Event::SegmentLost {
        bytes: MSS,
        sent: Time::ZERO,
        number: 1,
        tx_in_flight: 50 * MSS,
        lost_since_sent: u64::from(2 * MSS),
        prior_delivered: 0,
        app_limited: true,
    });
    assert_eq!((flow.control.state, flow.control.inflight_longterm), (State::Down, UNBOUNDED));
}

#[test]
fn a_probe_responds_once() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.lose(120 * MSS, u64::from(3 * MSS));
    let first = flow.control.inflight_longterm;
    flow.lose(20 * MSS, u64::from(9 * MSS));
    assert_eq!(flow.control.inflight_longterm, first);
}

#[test]
fn a_round_with_losses_cuts_the_short_term_model_to_seven_tenths_but_not_below_what_was_delivered() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    let window = flow.output.cwnd;
    flow.lose(BDP, u64::from(MSS));
    // The round delivers 12 500 bytes at 1 Mbit/s.
    let slow = Told { rate: Some(BitRate(1_000_000)), acked: 12_500, in_flight: 12_500, ..CALM };
    flow.control.inflight_latest = 0;
    flow.control.bw_latest = Default::default();
    flow.round(slow);
    assert_eq!(flow.control.bw_shortterm, BitRate(5_600_000).into());
    assert_eq!(flow.control.inflight_shortterm, (f64::from(window) * 0.7) as u64);
    assert_eq!(flow.output.pacing, Some(BitRate(5_544_000)));
    // The second round delivers 5 Mbit/s. This is more than 0.7 * 5.6 Mbit/s, so `bw_shortterm` is 5 Mbit/s.
    flow.lose(BDP, u64::from(MSS));
    flow.round(Told { rate: Some(BitRate(5_000_000)), acked: 62_500, in_flight: 62_500, ..CALM });
    assert_eq!(flow.control.bw_shortterm, BitRate(5_000_000).into());
}

#[test]
fn losses_of_a_probe_leave_the_short_term_model() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.lose(BDP, u64::from(MSS));
    flow.round(CALM);
    assert_eq!(flow.control.inflight_shortterm, UNBOUNDED);
}

#[test]
fn a_spurious_recovery_restores_the_model_and_returns_to_the_probe() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    let window = flow.output.cwnd;
    flow.lose(50 * MSS, u64::from(3 * MSS));
    flow.event(Event::Loss);
    assert_eq!(flow.control.state, State::Down);
    flow.round(Told { phase: Phase::Recovery, in_flight: 2 * BDP, ..CALM });
    flow.event(Event::Undo { cwnd: window, ssthresh: u32::MAX });
    assert_eq!((flow.control.state, flow.control.inflight_longterm), (State::Refill, UNBOUNDED));
    assert!(flow.output.cwnd >= window);
}

#[test]
fn a_spurious_recovery_restores_what_was_before_its_first_round() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.event(Event::Loss);
    for _ in 0..5 {
        flow.lose(BDP, u64::from(MSS));
        flow.round(Told { rate: Some(BitRate(1_000_000)), acked: MSS, phase: Phase::Recovery, ..CALM });
    }
    assert!(flow.control.inflight_shortterm < u64::from(BDP));
    flow.event(Event::Undo { cwnd: 0, ssthresh: 0 });
    assert_eq!((flow.control.inflight_shortterm, flow.control.bw_shortterm.0), (UNBOUNDED, f64::INFINITY));
}

#[test]
fn a_spurious_end_of_startup_returns_to_startup() {
    let mut flow = Flow::new(Bbr3Params::default());
    flow.round(CALM);
    flow.lose(BDP, u64::from(MSS));
    flow.event(Event::Loss);
    let lossy = Told { lost: MSS, acked: MSS, phase: Phase::Recovery, in_flight: 3 * BDP, ..CALM };
    for _ in 0..5 {
        flow.within(lossy);
    }
    assert_eq!(flow.round(Told { lost: 15 * MSS, ..lossy }), State::Drain);
    flow.event(Event::Undo { cwnd: 0, ssthresh: 0 });
    assert_eq!((flow.control.state, flow.control.full_bw_reached), (State::Startup, false));
}

#[test]
fn a_timeout_leaves_a_segment_more_than_is_in_flight_and_the_end_of_recovery_the_window_before() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    let window = flow.output.cwnd;
    flow.event(Event::Timeout);
    assert_eq!(flow.output.cwnd, MSS);
    flow.event(Event::RecoveryEnds);
    assert_eq!(flow.output.cwnd, window);
}

#[test]
fn a_marked_byte_counts_as_a_lost_one() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.round(Told { marked: MSS, ..CALM });
    flow.round(CALM);
    assert!(flow.control.inflight_shortterm < UNBOUNDED);
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.within(Told { marked: 3 * MSS, acked: 1, ..CALM });
    // 3 % of the segments of this round are marked.
    assert_eq!(flow.round(Told { marked: 3 * MSS, ..CALM }), State::Down);
}

#[test]
fn a_mark_without_a_count_is_a_loss() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.event(Event::Mark);
    flow.round(CALM);
    assert!(flow.control.inflight_shortterm < UNBOUNDED);
}

#[test]
fn with_alpha_marks_matter_below_five_milliseconds_alone() {
    let params = Bbr3Params { bbr3_ecn: Bbr3Ecn::Alpha, ..Default::default() };
    let mut flow = Flow::cruising(params.clone());
    flow.event(Event::Mark);
    flow.round(Told { marked: BDP, ..CALM });
    flow.round(CALM);
    assert_eq!(flow.control.inflight_shortterm, UNBOUNDED);
    let mut flow = Flow::cruising(params);
    (flow.control.min_rtt, flow.control.rounds_since_probe_up) = (Time::from_millis(5), 0);
    flow.round(CALM);
    flow.round(Told { marked: MSS, ..CALM });
    flow.round(CALM);
    assert!(flow.control.inflight_shortterm < UNBOUNDED);
}
