//! Tests of ProbeRTT and idle restarts: sections 5.3.4 and 5.4 of the draft.

use super::*;

const SLOWER: Told = Told { rtt: Time::from_millis(120), ..CALM };

/// Returns a flow that is in ProbeRTT because no RTT in the last 5 s was lower than the first one.
fn in_probe_rtt() -> Flow {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.now = flow.control.probe_rtt_min_stamp + Time::from_secs(5);
    assert_ne!(flow.within(SLOWER), State::ProbeRtt);
    flow.now += Time(1);
    assert_eq!(flow.within(SLOWER), State::ProbeRtt);
    flow
}

#[test]
fn without_a_lower_rtt_for_five_seconds_half_a_bdp_is_kept_for_200_ms_and_a_round() {
    let mut flow = in_probe_rtt();
    assert_eq!(flow.output.cwnd, BDP / 2);
    assert_eq!(flow.output.pacing, Some(BitRate(7_920_000)));
    // The 200 ms of ProbeRTT start once the data in flight fit into the window.
    flow.now += Time::from_millis(50);
    assert_eq!(flow.within(Told { in_flight: BDP / 2, ..CALM }), State::ProbeRtt);
    let start = flow.now;
    let low = Told { in_flight: BDP / 2, rtt: Time::from_millis(110), ..CALM };
    flow.now = start + Time::from_millis(100);
    assert_eq!(flow.ack(flow.delivered, low), State::ProbeRtt, "a round, but 100 ms only");
    flow.now = start + Time::from_millis(200);
    assert_eq!(flow.within(low), State::ProbeRtt);
    flow.now += Time(1);
    assert_eq!(flow.within(low), State::Cruise, "5.3.4.4: the queue is empty, Down need not last");
    assert!(flow.output.cwnd > BDP, "the window of before is back: {}", flow.output.cwnd);
}

#[test]
fn the_200_ms_do_not_end_before_a_round_has() {
    let mut flow = in_probe_rtt();
    flow.within(Told { in_flight: BDP / 2, ..CALM });
    flow.now += Time::from_secs(1);
    let low = Told { in_flight: BDP / 2, ..CALM };
    assert_eq!(flow.within(low), State::ProbeRtt);
    assert_eq!(flow.ack(flow.delivered, low), State::Cruise);
}

#[test]
fn rates_of_probe_rtt_do_not_lower_the_estimate_nor_end_startup() {
    let mut flow = in_probe_rtt();
    let low = Told { in_flight: BDP / 2, rate: Some(BitRate(4_000_000)), ..CALM };
    for _ in 0..5 {
        flow.round(low);
    }
    assert_eq!(flow.control.max_bw, RATE.into());
}

#[test]
fn probe_rtt_in_startup_returns_to_startup() {
    let mut flow = Flow::new(Bbr3Params::default());
    let told = Told { app_limited: true, ..SLOWER };
    flow.round(told);
    flow.now += Time::from_secs(5);
    assert_eq!(flow.round(told), State::ProbeRtt);
    let low = Told { in_flight: 4 * MSS, ..told };
    flow.round(low);
    flow.now += Time::from_millis(200);
    assert_eq!(flow.round(low), State::Startup);
    // Startup continues: the pacing rate is 2.77 * 0.99 times the bandwidth estimate.
    assert_eq!(flow.output.pacing, Some(BitRate(21_938_400)));
}

#[test]
fn the_least_rtt_is_forgotten_after_ten_seconds_and_so_comes_from_two_probes() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    let stamp = flow.control.min_rtt_stamp;
    for (seconds, least) in [(6, 100), (9, 100), (11, 120)] {
        flow.now = stamp + Time::from_secs(seconds);
        flow.within(SLOWER);
        assert_eq!(flow.control.min_rtt, Time::from_millis(least), "after {seconds} s");
    }
}

#[test]
fn idling_stands_for_probe_rtt_and_the_rate_is_the_estimate_itself() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.control.start_probe_bw_down(&flow.params.clone(), (&flow.moment()).into());
    flow.now = flow.control.probe_rtt_min_stamp + Time::from_secs(6);
    flow.app_limited_event(Event::IdleRestart { idle: Time::from_secs(5) });
    assert!(flow.control.idle_restart);
    assert_eq!(flow.output.pacing, Some(BitRate(7_920_000)));
    assert_ne!(flow.within(Told { app_limited: true, ..SLOWER }), State::ProbeRtt);
    assert!(!flow.control.idle_restart);
}

#[test]
fn a_sender_that_its_window_held_back_is_not_idle() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.event(Event::IdleRestart { idle: Time::from_secs(5) });
    assert!(!flow.control.idle_restart);
}
