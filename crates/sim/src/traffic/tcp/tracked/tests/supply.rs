//! Applications that limit their sender. The RTT is 100 ms, so the SYN-ACK arrives at 100 ms.

use super::path::{Lot, MS, MSS, Path, linux, plain};
use crate::traffic::tcp::{AfterIdle, CongestionControl, Pacing, TcpParams, TcpProfile};
use fairlane_schemes::base::units::{BitRate, Bytes, Time};

#[test]
fn an_application_writes_once_its_connection_is_open() {
    // The application writes a segment of 1000 bytes every 10 ms.
    let params = TcpParams { app_rate: Some(BitRate(800_000)), ..plain() };
    let mut path = Path::new(params, Some(3), |_, _| Lot::Arrives);
    path.run_to_completion();
    // Write times are rounded, so each segment is sent a picosecond after it has been written. The division drops this.
    let sent: Vec<_> = path.sent.iter().map(|&(at, seq, _)| (at.0 / 1_000_000_000, seq)).collect();
    assert_eq!(sent, [(110, 0), (120, 1), (130, 2)]);
}

/// Parameters of an application that is silent from `from` until `until`.
fn pause(from: Time, until: Time, params: TcpParams) -> TcpParams {
    TcpParams { app_rate: Some(BitRate(0)), app_limited_from: from, app_limited_until: Some(until), ..params }
}

/// Returns the number of segments sent in the 20 ms after `start`.
fn burst(params: TcpParams, start: Time) -> usize {
    let mut path = Path::new(params, None, |_, _| Lot::Arrives);
    path.run_until(start + MS(20));
    path.sent.iter().filter(|&&(at, ..)| at >= start).count()
}

#[test]
fn after_an_idle_period_the_window_stays_or_starts_again_or_is_halved_for_each_timeout() {
    // Slow start doubles the window every 100 ms: 10 segments at 100 ms, 80 at 400 ms. The ACKs of the 80 segments
    // raise the window to 160. The timeout is 100 + 200 ms. At 1150 ms the last segment was sent 750 ms ago, which is
    // two complete timeouts, so the window is halved twice. At 4450 ms the window has its minimum.
    for (after_idle, left) in
        [(AfterIdle::Keep, [160, 160]), (AfterIdle::Restart, [10, 10]), (AfterIdle::Decay, [40, 10])]
    {
        let bursts = [1150, 4450].map(|until| {
            let params = TcpParams { after_idle, ..plain() };
            burst(pause(MS(450), MS(until), params), MS(until))
        });
        assert_eq!(bursts, left, "{after_idle:?}");
    }
    // A pause of 290 ms is shorter than a timeout, so the window does not change.
    assert_eq!(burst(pause(MS(450), MS(690), plain()), MS(690)), 160);
}

#[test]
fn a_window_that_decays_comes_back_to_three_quarters_by_slow_start() {
    let params = TcpParams { initial_ssthresh: 50_000, ..plain() };
    // The window has 50 segments at 400 ms and grows by one per round trip, so it has 53 segments at the pause. Halving
    // it 13 times gives the minimum of ten. The new threshold would be 53 / 2 + 53 / 4 = 39 segments, which is below
    // the present one of 50.
    let mut path = Path::new(pause(MS(650), MS(5000), params), None, |_, _| Lot::Arrives);
    path.run_until(MS(5050));
    assert_eq!([path.sender.cwnd(), path.sender.ssthresh()], [10, 50].map(|segments| segments * u64::from(MSS)));
    let params = TcpParams { initial_ssthresh: 20_000, ..plain() };
    // The window has 20 segments at 200 ms, and 61 segments 41 round trips later. The threshold becomes 61 / 2 + 61 / 4
    // = 30 + 15 segments.
    let mut path = Path::new(pause(MS(4250), MS(9000), params), None, |_, _| Lot::Arrives);
    path.run_until(MS(9050));
    assert_eq!([path.sender.cwnd(), path.sender.ssthresh()], [10, 45].map(|segments| segments * u64::from(MSS)));
}

#[test]
fn a_sender_is_short_of_data_once_its_application_writes_again() {
    // tcp_rate_check_app_limited, called by tcp_sendmsg alone: all data are sent at 440 ms, and more follow at 450 ms.
    let mut path = Path::new(pause(MS(250), MS(450), plain()), None, |_, _| Lot::Arrives);
    let limited = [440, 451].map(|at| {
        path.run_until(MS(at));
        path.sender.rate.is_app_limited()
    });
    assert_eq!(limited, [false, true]);
    // The same holds for data that are added, as those of a video player.
    let mut path = Path::new(plain(), Some(5), |_, _| Lot::Arrives);
    path.run_until(MS(150));
    assert!(!path.sender.rate.is_app_limited());
    path.sender.extend(&plain(), 5);
    assert!(path.sender.rate.is_app_limited());
}

#[test]
fn controls_that_set_their_window_keep_it_over_an_idle_period() {
    // tcp_slow_start_after_idle_check excludes congestion controls with `cong_control`.
    let params = TcpParams { congestion_control: CongestionControl::Bbr1, pacing: Pacing::Off, ..plain() };
    let mut path = Path::new(pause(MS(650), MS(5000), params), None, |_, _| Lot::Arrives);
    path.run_until(MS(650));
    let window = path.sender.cwnd();
    path.run_until(MS(5050));
    assert!(path.sender.cwnd() >= window, "{} of {window}", path.sender.cwnd());
}

#[test]
fn cubic_does_not_catch_up_on_an_idle_period() {
    // The loss of segment 300 starts an epoch, and the application pauses 10 s later. After 30 s of silence, CUBIC's
    // window needs about a second to return to its value before the pause. In Linux 6.18 the window went from 119
    // segments to 10 and back to 107.
    let windows = [false, true].map(|rests| {
        let params = TcpParams { congestion_control: CongestionControl::Cubic, clock_tick: MS(4), ..linux() };
        let params = if rests { pause(Time::from_secs(5), Time::from_secs(35), params) } else { params };
        let lossy = |seq, time| if (seq, time) == (300, 0) { Lot::Lost } else { Lot::Arrives };
        let mut path = Path::new(params, None, lossy);
        path.run_until(Time::from_secs(if rests { 36 } else { 6 }));
        path.sender.cwnd() / u64::from(MSS)
    });
    assert!(windows[1] <= windows[0], "{windows:?}");
}

#[test]
fn a_quic_window_does_not_grow_beyond_what_is_in_flight() {
    // In slow start, Linux lets the window grow to twice the segments in flight (tcp_is_cwnd_limited). The application
    // writes a segment every 4 ms, 25 per round trip.
    for pacing in [Pacing::Off, Pacing::On] {
        let quic = TcpParams { pacing, app_rate: Some(BitRate(2_000_000)), ..TcpParams::profile(TcpProfile::Quic) };
        let mut path = Path::new(TcpParams { segment_payload: MSS, delayed_ack: 1, ..quic }, None, |_, _| Lot::Arrives);
        let mut most = 0;
        while path.now < Time::from_secs(5) {
            path.step();
            most = most.max(path.sender.in_flight(&path.params));
        }
        let window = path.sender.cwnd();
        assert!(window <= most + u64::from(MSS), "{window} for {most}, {pacing:?}");
    }
}

#[test]
fn a_paced_quic_sender_with_data_at_hand_uses_its_window_while_it_waits() {
    let params = TcpParams { segment_payload: MSS, delayed_ack: 1, ..TcpParams::profile(TcpProfile::Quic) };
    let mut path = Path::new(params, None, |_, _| Lot::Arrives);
    // Ten segments are sent at 100 ms. From 200 ms on, the window of 20 segments is sent within 80 ms, at 1.25 windows
    // per round trip.
    path.run_until(MS(390));
    assert_eq!(path.sender.cwnd() / u64::from(MSS), 40);
}

#[test]
fn the_last_of_a_burst_of_several_segments_asks_for_an_ack() {
    for (tso_defer, tso, prompt) in
        [(true, 65_536, vec![1, 3, 5, 7, 9, 11, 13, 15, 17, 19]), (true, 0, vec![19]), (false, 65_536, vec![])]
    {
        let params = TcpParams { tso_defer, tso: Bytes(tso), autotuning: false, ..plain() };
        let mut path = Path::new(params, Some(20), |_, _| Lot::Arrives);
        path.run_to_completion();
        // The first ten segments are sent in bursts of two, the minimum. Then each ACK of one segment releases a burst
        // of two segments. The last segment of the transfer asks for an ACK too.
        assert_eq!(path.prompt, prompt, "{tso_defer} {tso}");
    }
}
