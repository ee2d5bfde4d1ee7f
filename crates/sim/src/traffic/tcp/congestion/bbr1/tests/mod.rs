//! Tests of BBRv1: each transition of the state machine, and each estimate, with constructed ACKs. Sections are those
//! of draft-cardwell-iccrg-bbr-congestion-control-00.

mod random;

use super::super::control::Event;
use super::super::testing::path::{BDP, CALM, Modelled, PathFlow, RATE, Told};
use super::super::testing::{MSS, RTT};
use super::params::Bbr1Params;
use super::{Bbr1, State};
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::units::{BitRate, Time};

type Flow = PathFlow<Bbr1>;

impl Modelled for Bbr1 {
    type State = State;

    fn state(&self) -> State {
        self.state
    }
}

impl Flow {
    /// Creates a flow in ProbeBW, at the start of phase `index`.
    fn cycling(params: Bbr1Params, index: u8) -> Self {
        let mut flow = Self::new(params);
        for _ in 0..5 {
            flow.round(CALM);
        }
        assert_eq!(flow.control.state, State::ProbeBw);
        (flow.control.cycle_index, flow.control.cycle_stamp) = (index, flow.now);
        flow.within(Told { acked: 1, ..CALM });
        flow
    }
}

#[test]
fn the_first_rate_is_the_initial_window_in_the_first_rtt_times_the_gain() {
    let flow = Flow::new(Bbr1Params::default());
    // 4.2.1: the pacing rate is 739 / 256 * 10 kB / 0.1 s, times 0.99 by the margin of Linux.
    assert_eq!(flow.output.pacing, Some(BitRate(2_286_281)));
}

#[test]
fn without_a_margin_rates_are_those_of_the_draft() {
    let params = Bbr1Params { bbr1_pacing_margin_percent: 0.0, ..Default::default() };
    assert_eq!(Flow::new(params).output.pacing, Some(BitRate(2_309_375)));
}

#[test]
fn startup_ends_after_three_rounds_that_grow_by_less_than_a_quarter_and_drain_with_a_bdp_in_flight() {
    let mut flow = Flow::new(Bbr1Params::default());
    let queued = Told { in_flight: 2 * BDP, ..CALM };
    let states = [(); 4].map(|()| flow.round(queued));
    assert_eq!(states, [State::Startup, State::Startup, State::Startup, State::Drain]);
    // 4.3.3: the pacing rate is 0.99 * 8 Mbit/s * 88 / 256.
    assert_eq!(flow.output.pacing, Some(BitRate(2_722_500)));
    // 4.2.3.2: the target is a BDP and 3 quanta of 2 segments each.
    assert_eq!(flow.within(Told { in_flight: 106 * MSS + 1, ..CALM }), State::Drain);
    assert_eq!(flow.within(Told { in_flight: 106 * MSS, ..CALM }), State::ProbeBw);
}

#[test]
fn rounds_that_the_application_limits_never_end_startup() {
    let mut flow = Flow::new(Bbr1Params::default());
    for _ in 0..40 {
        assert_eq!(flow.round(Told { app_limited: true, ..CALM }), State::Startup);
    }
}

#[test]
fn the_cycle_begins_at_any_phase_but_the_one_that_drains() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 0);
    let mut first = [0; 8];
    for _ in 0..700 {
        flow.control.enter_probe_bw(flow.now);
        first[usize::from(flow.control.cycle_index)] += 1;
    }
    assert_eq!(first[1], 0);
    // On average each phase is the first in 100 of 700 runs, with a standard deviation of sqrt(700 * 6 / 49) = 9.3. The
    // tolerance is five standard deviations.
    assert!(first.iter().enumerate().all(|(index, count)| index == 1 || (53..=147).contains(count)), "{first:?}");
}

#[test]
fn a_cycle_has_gains_of_five_quarters_three_quarters_and_six_times_one() {
    let flow = Flow::cycling(Bbr1Params::default(), 0);
    let mut bbr = flow.control.clone();
    let gains: Vec<f64> = (0..8)
        .map(|index| {
            bbr.cycle_index = index;
            bbr.pacing_gain(&flow.params)
        })
        .collect();
    assert_eq!(gains, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
}

#[test]
fn the_phase_that_probes_lasts_an_rtt_and_until_its_gain_is_in_flight_or_something_is_lost() {
    for (in_flight, lost, ends) in [(BDP, 0, false), (BDP, MSS, true), (130 * MSS, 0, false), (132 * MSS, 0, true)] {
        let mut flow = Flow::cycling(Bbr1Params::default(), 0);
        let told = Told { in_flight, lost, acked: 1, ..CALM };
        flow.within(told);
        assert_eq!(flow.control.cycle_index, 0, "it has just begun");
        flow.now += RTT + Time::from_micros(1);
        flow.within(told);
        // 4.3.4.3: the target is 125 segments plus 6 for three quanta. This is rounded up to 132, an even number, plus
        // 2 (bbr_quantization_budget). The next quantum to be sent, of 2 segments, counts as in flight.
        assert_eq!(flow.control.cycle_index == 1, ends, "{in_flight} in flight, {lost} lost");
    }
}

#[test]
fn the_phase_that_drains_ends_early_with_a_bdp_in_flight() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 0);
    flow.control.cycle_index = 1;
    flow.within(Told { in_flight: 107 * MSS, ..CALM });
    assert_eq!(flow.control.cycle_index, 1);
    flow.within(Told { in_flight: 106 * MSS, ..CALM });
    assert_eq!(flow.control.cycle_index, 2);
}

#[test]
fn data_that_leave_the_network_before_the_next_quantum_departs_are_not_in_flight() {
    // The draining phase ends at 106 segments in flight. Of 116 segments, 10 leave the network in the tenth of a round
    // trip before the next quantum departs.
    for (bbr1_counts_next_quantum, ends) in [(true, true), (false, false)] {
        let mut flow = Flow::cycling(Bbr1Params { bbr1_counts_next_quantum, ..Default::default() }, 0);
        flow.control.cycle_index = 1;
        flow.within(Told { in_flight: 116 * MSS, until_release: Time(RTT.0 / 10), ..CALM });
        assert_eq!(flow.control.cycle_index == 2, ends);
    }
}

#[test]
fn data_that_leave_before_the_next_quantum_count_in_whole_segments() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 0);
    flow.now += RTT + Time::from_micros(1);
    // The phase ends with 134 segments in flight: 133 and a quantum of 2, less 1.9, rounded down to 1.
    flow.within(Told { in_flight: 133 * MSS, acked: 1, until_release: Time(RTT.0 * 19 / 1000), ..CALM });
    assert_eq!(flow.control.cycle_index, 1);
}

#[test]
fn a_phase_lasts_longer_than_an_rtt_in_whole_microseconds() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    flow.control.cycle_stamp += Time(900_000);
    flow.now = flow.control.cycle_stamp + RTT + Time(90_000);
    flow.within(Told { acked: 1, ..CALM });
    assert_eq!(flow.control.cycle_index, 2);
    flow.now += Time(10_000);
    flow.within(Told { acked: 1, ..CALM });
    assert_eq!(flow.control.cycle_index, 3);
}

#[test]
fn the_largest_rate_of_ten_rounds_counts() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    let slow = Told { rate: Some(BitRate(4_000_000)), ..CALM };
    let largest: Vec<bool> = (0..11)
        .map(|_| {
            flow.round(slow);
            flow.control.bw() == RATE.into()
        })
        .collect();
    assert_eq!(largest, [[true; 10].as_slice(), &[false]].concat());
}

#[test]
fn a_rate_that_the_application_limits_counts_only_if_it_is_higher() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    for _ in 0..20 {
        flow.round(Told { rate: Some(BitRate(1_000_000)), app_limited: true, ..CALM });
    }
    assert_eq!(flow.control.bw(), RATE.into());
    flow.round(Told { rate: Some(BitRate(9_000_000)), app_limited: true, ..CALM });
    assert_eq!(flow.control.bw(), BitRate(9_000_000).into());
}

#[test]
fn the_window_is_two_bdps_three_quanta_and_what_acks_delivered_in_excess() {
    let mut flow = Flow::cycling(Bbr1Params { bbr1_ack_aggregation: false, ..Default::default() }, 2);
    flow.round(CALM);
    flow.round(CALM);
    assert_eq!(flow.output.cwnd, 206 * MSS);
    // A BDP is delivered at once when no delivery was expected. This is an excess of 100 segments, which is also the
    // maximum: 100 ms at 8 Mbit/s.
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    flow.round(CALM);
    flow.round(CALM);
    assert_eq!(flow.output.cwnd, 306 * MSS);
}

#[test]
fn without_a_lower_rtt_for_ten_seconds_four_segments_are_kept_for_200_ms_and_a_round() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    let before = flow.output.cwnd;
    let slower = Told { rtt: Time::from_millis(120), acked: 1, ..CALM };
    flow.now = flow.control.min_rtt_stamp + Time::from_secs(10);
    assert_eq!(flow.within(slower), State::ProbeBw);
    flow.now += Time(1);
    assert_eq!(flow.within(slower), State::ProbeRtt);
    assert_eq!((flow.output.cwnd, flow.control.min_rtt), (4 * MSS, Time::from_millis(120)));
    let low = Told { in_flight: 4 * MSS, rtt: Time::from_millis(130), rate: Some(BitRate(1_000_000)), ..slower };
    flow.within(low);
    flow.now += Time::from_millis(200);
    assert_eq!(flow.ack(flow.delivered, low), State::ProbeRtt);
    flow.now += Time(1);
    assert_eq!(flow.within(low), State::ProbeBw);
    assert!(flow.output.cwnd >= before);
    assert_eq!(flow.control.bw(), RATE.into(), "rates of ProbeRTT do not count");
}

#[test]
fn an_equal_rtt_does_not_put_probe_rtt_off() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    let stamp = flow.control.min_rtt_stamp;
    flow.now += Time::from_secs(5);
    flow.within(CALM);
    assert_eq!(flow.control.min_rtt_stamp, stamp);
    flow.within(Told { rtt: Time(RTT.0 - Time::from_micros(1).0), ..CALM });
    assert_eq!(flow.control.min_rtt_stamp, flow.now);
}

#[test]
fn probe_rtt_in_startup_returns_to_startup() {
    let mut flow = Flow::new(Bbr1Params::default());
    let low = Told { app_limited: true, rtt: Time::from_millis(120), in_flight: 4 * MSS, ..CALM };
    flow.round(low);
    flow.now += Time::from_secs(10);
    assert_eq!(flow.round(low), State::ProbeRtt);
    flow.now += Time::from_millis(201);
    assert_eq!(flow.ack(flow.delivered, low), State::Startup);
}

#[test]
fn probe_rtt_keeps_a_larger_window_that_was_saved_earlier() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    // The window was 400 segments when a recovery started, and is smaller when ProbeRTT starts.
    flow.control.prior_cwnd = 400 * MSS;
    flow.now += Time::from_secs(11);
    let slower = Told { rtt: Time::from_millis(120), in_flight: 4 * MSS, ..CALM };
    assert_eq!(flow.round(slower), State::ProbeRtt);
    assert_eq!(flow.control.prior_cwnd, 400 * MSS);
}

#[test]
fn a_loss_after_a_mark_restores_the_window_of_the_mark() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    let at_mark = flow.output.cwnd;
    flow.event(Event::Mark);
    flow.output.cwnd += 10 * MSS;
    flow.reducing_event(Event::Loss);
    assert_eq!(flow.control.prior_cwnd, at_mark);
    flow.event(Event::Loss);
    assert_eq!(flow.control.prior_cwnd, at_mark + 10 * MSS);
}

#[test]
fn idling_stands_for_probe_rtt_and_the_rate_is_the_estimate_itself() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 0);
    flow.now += Time::from_secs(11);
    flow.app_limited_event(Event::IdleRestart { idle: Time::from_secs(11) });
    assert_eq!(flow.output.pacing, Some(BitRate(7_920_000)));
    let slower = Told { rtt: Time::from_millis(120), acked: 1, ..CALM };
    assert_eq!(flow.within(slower), State::ProbeBw);
    assert!(!flow.control.idle_restart);
}

#[test]
fn the_first_round_of_recovery_sends_what_leaves_the_network_and_its_end_restores_the_window() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    flow.round(CALM);
    let before = flow.output.cwnd;
    let repair = Told { phase: Phase::Recovery, acked: 2 * MSS, in_flight: 90 * MSS, ..CALM };
    flow.event(Event::Loss);
    flow.within(Told { lost: 8 * MSS, ..repair });
    assert_eq!(flow.output.cwnd, 92 * MSS);
    // 4.2.3.4: lost segments are subtracted from the window, but the flow may send at least as much as was delivered.
    flow.within(Told { lost: MSS, in_flight: 91 * MSS, ..repair });
    assert_eq!(flow.output.cwnd, 93 * MSS);
    // In the second round the window grows by delivered data.
    flow.round(Told { in_flight: 50 * MSS, ..repair });
    assert_eq!(flow.output.cwnd, 95 * MSS);
    flow.within(Told { acked: 1, ..CALM });
    assert_eq!(flow.output.cwnd, before);
}

#[test]
fn a_timeout_leaves_a_segment_more_than_is_in_flight_and_the_first_ack_the_least_window() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    flow.round(CALM);
    let before = flow.output.cwnd;
    flow.event(Event::Timeout);
    assert_eq!(flow.output.cwnd, MSS);
    flow.within(Told { acked: MSS, phase: Phase::Loss, ..CALM });
    assert_eq!(flow.output.cwnd, 4 * MSS);
    flow.within(Told { acked: MSS, ..CALM });
    assert_eq!(flow.output.cwnd, before);
}

#[test]
fn an_undo_starts_the_search_for_a_full_pipe_and_a_policer_anew() {
    let mut flow = Flow::new(Bbr1Params::default());
    for _ in 0..3 {
        flow.round(Told { in_flight: 2 * BDP, ..CALM });
    }
    assert_eq!(flow.control.full_bw_count, 2);
    flow.event(Event::Undo { cwnd: 0, ssthresh: 0 });
    assert_eq!((flow.control.full_bw_count, flow.round(CALM)), (0, State::Startup));
}

#[test]
fn a_policer_sets_the_rate_and_ends_the_cycle_of_gains() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 0);
    // At a delivery rate of 4 Mbit/s, more than a fifth of the data is lost: in one round, and then in two intervals of
    // 4 rounds.
    let policed = Told { lost: 13 * MSS, acked: 50 * MSS, ..CALM };
    for _ in 0..9 {
        flow.round(policed);
    }
    let rate = flow.control.policer.rate().expect("a policer").0;
    assert!((rate - 500_000.0).abs() < 1.0, "{rate}");
    assert_eq!(flow.control.pacing_gain(&flow.params), 1.0);
    assert_eq!(flow.output.pacing, Some(BitRate(3_960_000)));
}

#[test]
fn an_ack_without_a_rate_ends_no_round() {
    let mut flow = Flow::cycling(Bbr1Params::default(), 2);
    let rounds = flow.control.rounds.count;
    flow.round(Told { rate: None, ..CALM });
    assert_eq!(flow.control.rounds.count, rounds);
}

#[test]
fn the_state_is_as_large_as_its_head_says() {
    assert_eq!(size_of::<Bbr1>(), 392);
}
