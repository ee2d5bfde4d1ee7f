//! Tests of ProbeBW: section 5.3.3 of the draft.

use super::*;

#[test]
fn down_paces_at_nine_tenths_and_ends_with_headroom_in_the_pipe() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.control.inflight_longterm = u64::from(BDP);
    flow.control.full_bw_now = true;
    assert_eq!(flow.within(Told { in_flight: BDP, ..CALM }), State::Down);
    // Gain 0.9, pacing margin 0.99, rate 8 Mbit/s.
    assert_eq!(flow.output.pacing, Some(BitRate(7_128_000)));
    // 5.3.3.1: Down ends only when 15 % of inflight_longterm, here a BDP, are free.
    assert_eq!(flow.within(Told { in_flight: 85 * MSS + 1, acked: 1, ..CALM }), State::Down);
    assert_eq!(flow.within(Told { in_flight: 85 * MSS, acked: 1, ..CALM }), State::Cruise);
    assert_eq!(flow.output.pacing, Some(BitRate(7_920_000)));
}

#[test]
fn down_lasts_while_more_than_a_bdp_is_in_flight_and_no_longer_than_the_wait() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.control.full_bw_now = true;
    let queued = Told { in_flight: BDP + 1, ..CALM };
    assert_eq!(flow.within(queued), State::Down);
    flow.now += flow.control.bw_probe_wait;
    flow.control.probe_rtt_min_stamp = flow.now; // no ProbeRTT meanwhile
    assert_eq!(flow.within(queued), State::Down);
    flow.now += Time(1);
    assert_eq!(flow.within(queued), State::Refill);
}

#[test]
fn the_wait_is_uniform_between_two_and_three_seconds() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    let mut waits = Vec::new();
    for _ in 0..1000 {
        flow.control.start_probe_bw_down(&flow.params.clone(), (&flow.moment()).into());
        waits.push(flow.control.bw_probe_wait.as_secs_f64());
        assert!(flow.control.rounds_since_probe_up <= 1);
    }
    assert!(waits.iter().all(|wait| (2.0..=3.0).contains(wait)));
    // A mean of 1000 uniform numbers has a standard deviation of 1 / sqrt(12 * 1000) = 0.009.
    let mean = waits.iter().sum::<f64>() / 1000.0;
    assert!((mean - 2.5).abs() < 0.05, "{mean}");
}

#[test]
fn a_flow_probes_as_often_as_reno_would_after_as_many_rounds_as_it_has_segments_in_flight() {
    let mut flow = Flow::cruising(Bbr3Params { bbr3_probe_wait: Time::from_secs(3600), ..Default::default() });
    // The BDP, 8 Mbit/s times 20 ms, is 20 segments of 1000 bytes.
    let told = Told { rtt: Time::from_millis(20), ..CALM };
    flow.round(told);
    flow.control.rounds_since_probe_up = 0;
    let rounds = (1..100).find(|_| flow.round(told) == State::Refill);
    assert_eq!(rounds, Some(20));
}

#[test]
fn a_flow_waits_for_63_rounds_at_most() {
    let mut flow = Flow::cruising(Bbr3Params { bbr3_probe_wait: Time::from_secs(3600), ..Default::default() });
    // With 100 segments in flight, the wait for coexistence with Reno would be 100 rounds. Its bound is 63 rounds.
    flow.control.rounds_since_probe_up = 0;
    let rounds = (1..100).find(|_| {
        flow.control.probe_rtt_min_stamp = flow.now; // no ProbeRTT meanwhile
        flow.round(CALM) == State::Refill
    });
    assert_eq!(rounds, Some(63));
}

#[test]
fn refill_forgets_the_short_term_model_and_lasts_a_round() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.control.inflight_shortterm = u64::from(BDP) / 2;
    flow.control.bw_shortterm = BitRate(4_000_000).into();
    flow.now = flow.control.cycle_stamp + Time::from_secs(3);
    assert_eq!(flow.round(CALM), State::Refill);
    assert_eq!(flow.control.inflight_shortterm, UNBOUNDED);
    assert_eq!(flow.output.pacing, Some(BitRate(7_920_000)));
    assert_eq!(flow.within(CALM), State::Refill);
    assert_eq!(flow.round(CALM), State::Up);
}

#[test]
fn up_paces_at_five_quarters_with_two_and_a_quarter_bdps_of_window() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.within(CALM);
    // Gain 1.25, pacing margin 0.99, rate 8 Mbit/s.
    assert_eq!(flow.output.pacing, Some(BitRate(9_900_000)));
    flow.control.extra_acked_filter = super::super::WindowedMax::new(0.0);
    flow.control.extra_acked_interval_start = flow.now;
    (flow.control.extra_acked_delivered, flow.output.cwnd) = (0, 3 * BDP);
    flow.within(Told { acked: 1, ..CALM });
    // 5.6.4.2: the window is 2.25 BDP, plus 1 byte for aggregation, plus 2 segments.
    assert_eq!(flow.output.cwnd, 225 * MSS + 1 + 2 * MSS);
}

#[test]
fn up_ends_on_a_plateau_of_three_rounds() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    let states = [(); 4].map(|()| flow.round(CALM));
    // The round in which Up starts does not count: its rate is the baseline.
    assert_eq!(states, [State::Up, State::Up, State::Down, State::Cruise]);
    assert!(!flow.control.prev_probe_too_high);
}

#[test]
fn up_lasts_while_the_rate_grows_and_while_the_application_limits() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    for round in 1..10 {
        let rate = BitRate(RATE.0 * 13u64.pow(round) / 10u64.pow(round));
        assert_eq!(flow.round(Told { rate: Some(rate), ..CALM }), State::Up);
    }
    let mut flow = Flow::probing_up(Bbr3Params::default());
    for _ in 0..40 {
        assert_eq!(flow.round(Told { app_limited: true, ..CALM }), State::Up);
    }
}

#[test]
fn a_limit_by_inflight_longterm_starts_the_search_for_a_plateau_anew() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.control.inflight_longterm = u64::from(BDP);
    for _ in 0..10 {
        assert_eq!(flow.round(Told { acked: 1, cwnd_limited: true, ..CALM }), State::Up);
    }
}

#[test]
fn inflight_longterm_grows_by_1_2_4_8_segments_a_round_while_it_limits() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.control.inflight_longterm = u64::from(BDP);
    flow.probe();
    assert_eq!(flow.output.cwnd, BDP, "5.6.4.7: the window is bounded by it");
    let mut grown = Vec::new();
    for _ in 0..5 {
        let before = flow.control.inflight_longterm;
        // A full window is acknowledged, and the next round starts.
        let limited = Told { in_flight: flow.output.cwnd, cwnd_limited: true, ..CALM };
        flow.within(Told { acked: flow.output.cwnd, ..limited });
        flow.round(Told { acked: 1, ..limited });
        grown.push((flow.control.inflight_longterm - before) / u64::from(MSS));
    }
    assert_eq!(grown, [1, 2, 4, 8, 16]);
}

#[test]
fn a_higher_volume_that_was_safe_raises_inflight_longterm_in_any_phase() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.control.inflight_longterm = u64::from(BDP);
    flow.round(Told { in_flight: BDP + 7 * MSS, ..CALM });
    assert_eq!(flow.control.inflight_longterm, u64::from(BDP + 7 * MSS));
    // inflight_longterm does not grow in a round that lost more than 2 %.
    flow.round(Told { in_flight: BDP + 50 * MSS, lost: 4 * MSS, ..CALM });
    assert_eq!(flow.control.inflight_longterm, u64::from(BDP + 7 * MSS));
}

#[test]
fn after_a_probe_that_was_too_high_the_next_stops_at_inflight_longterm_and_probes_again_at_once() {
    let mut flow = Flow::probing_up(Bbr3Params::default());
    flow.control.inflight_longterm = u64::from(BDP);
    flow.control.prev_probe_too_high = true;
    // 5.3.3.6, deceleration: Up ends when the data in flight exceed inflight_longterm minus one quantum of 2 segments
    // (deviation 2).
    assert_eq!(flow.within(Told { in_flight: BDP - 2 * MSS - 1, acked: 1, ..CALM }), State::Up);
    assert_eq!(flow.within(Told { in_flight: BDP - 2 * MSS, acked: 1, ..CALM }), State::Down);
    assert!(flow.control.prev_probe_precautionary && !flow.control.prev_probe_too_high);
    // Acceleration: Refill follows one round later if there are no losses.
    assert_eq!(flow.round(Told { in_flight: BDP, ..CALM }), State::Refill);
    assert!(!flow.control.prev_probe_precautionary);
}

#[test]
fn the_largest_rate_is_that_of_this_cycle_and_the_last_one() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    let slow = Told { rate: Some(BitRate(4_000_000)), acked: BDP / 2, in_flight: BDP / 2, ..CALM };
    flow.round(slow);
    assert_eq!(flow.control.max_bw, RATE.into());
    // 5.5.6: one round after each ProbeBW_UP, the filter drops the maximum of the older cycle.
    for largest in [RATE, BitRate(4_000_000)] {
        flow.control.start_probe_bw_down(&flow.params.clone(), (&flow.moment()).into());
        flow.round(slow);
        flow.round(slow);
        assert_eq!(flow.control.max_bw, largest.into());
    }
}

#[test]
fn a_rate_that_the_application_limits_counts_only_if_it_is_higher() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.control.start_probe_bw_down(&flow.params.clone(), (&flow.moment()).into());
    for _ in 0..3 {
        flow.round(Told { rate: Some(BitRate(1_000_000)), app_limited: true, ..CALM });
    }
    assert_eq!(flow.control.max_bw, RATE.into());
    flow.round(Told { rate: Some(BitRate(9_000_000)), app_limited: true, ..CALM });
    assert_eq!(flow.control.max_bw, BitRate(9_000_000).into());
}
