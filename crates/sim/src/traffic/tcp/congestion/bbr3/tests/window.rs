//! Tests of ACK aggregation and the outputs: sections 5.5.9 and 5.6 of the draft.

use super::*;

#[test]
fn the_window_is_two_bdps_and_what_acks_delivered_in_excess() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.control.extra_acked_filter = super::super::WindowedMax::new(0.0);
    (flow.control.extra_acked_delivered, flow.control.extra_acked_interval_start) = (0, flow.now);
    // In each 10 ms, 10 segments are expected. First 1 byte is delivered, then 30 segments at once.
    flow.now += Time::from_millis(10);
    flow.within(Told { acked: 1, ..CALM });
    flow.now += Time::from_millis(10);
    flow.within(Told { acked: 30 * MSS, ..CALM });
    // 1 byte is less than the 10 000 bytes expected, so the interval restarts and all 30 000 bytes are in excess.
    assert_eq!(flow.control.extra_acked, 30_000);
    assert_eq!(flow.output.cwnd, 2 * BDP + 30_000);
}

#[test]
fn an_excess_counts_for_ten_rounds_and_in_startup_for_one() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.control.extra_acked_filter = super::super::WindowedMax::new(0.0);
    (flow.control.extra_acked_delivered, flow.control.extra_acked_interval_start) = (0, flow.now);
    flow.within(Told { acked: 50 * MSS, ..CALM });
    let start = flow.control.rounds.count;
    let trickle = Told { acked: MSS, ..CALM };
    while flow.control.rounds.count < start + 10 {
        flow.round(trickle);
        assert_eq!(flow.control.extra_acked, 50_000, "round {}", flow.control.rounds.count - start);
    }
    flow.round(trickle);
    assert!(flow.control.extra_acked < 50_000);

    let mut flow = Flow::new(Bbr3Params::default());
    flow.round(Told { acked: 5 * MSS, ..CALM });
    assert_eq!(flow.control.extra_acked, 5000);
    for _ in 0..3 {
        flow.round(trickle);
    }
    assert_eq!(flow.control.extra_acked, 1000);
}

#[test]
fn the_window_is_four_segments_at_least() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.control.inflight_shortterm = 1;
    flow.round(CALM);
    assert_eq!(flow.output.cwnd, 4 * MSS);
}

#[test]
fn below_a_bdp_of_a_packet_the_window_covers_three_quanta() {
    let mut flow = Flow::new(Bbr3Params::default());
    // The BDP, 64 kbit/s times 10 ms, is 80 bytes.
    let tiny = Told { rate: Some(BitRate(64_000)), rtt: Time::from_millis(10), acked: MSS, in_flight: 4 * MSS, ..CALM };
    for _ in 0..20 {
        flow.round(tiny);
    }
    while flow.round(tiny) != State::Cruise {}
    assert_eq!(flow.output.quantum, 2 * MSS);
    assert_eq!(flow.output.cwnd, 6 * MSS);
}

#[test]
fn a_quantum_is_a_millisecond_two_segments_at_least_and_64_kib_at_most() {
    let mut flow = Flow::new(Bbr3Params::default());
    for (rate, quantum) in [(8_000_000, 2 * MSS), (80_000_000, 10_000), (10_000_000_000, 65_536)] {
        flow.output.pacing = Some(BitRate(rate));
        flow.control.set_send_quantum(OF, &mut flow.output);
        assert_eq!(flow.output.quantum, quantum, "{rate}");
    }
}

#[test]
fn the_model_bounds_the_window_by_state() {
    let mut flow = Flow::cruising(Bbr3Params::default());
    flow.control.inflight_longterm = u64::from(BDP);
    let mut bound = |state| {
        flow.control.state = state;
        flow.control.cwnd_cap(OF, &flow.params)
    };
    // 5.6.4.7: the bound is inflight_longterm while probing and in Down, and 85 % of it otherwise.
    assert_eq!([State::Down, State::Refill, State::Up].map(&mut bound), [u64::from(BDP); 3]);
    assert_eq!([State::Cruise, State::ProbeRtt].map(&mut bound), [u64::from(85 * MSS); 2]);
    assert_eq!([State::Startup, State::Drain].map(&mut bound), [UNBOUNDED; 2]);
}

#[test]
fn the_state_is_as_large_as_its_head_says() {
    assert_eq!(size_of::<Bbr3>(), 440);
}
