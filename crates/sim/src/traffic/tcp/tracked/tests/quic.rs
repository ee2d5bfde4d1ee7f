//! Tests of loss recovery in QUIC (RFC 9002). The RTT is 100 ms.

use super::path::{Lot, MS, MSS, Path};
use crate::traffic::tcp::phase::Phase;
use crate::traffic::tcp::{Pacing, TcpParams, TcpProfile};

/// Returns QUIC parameters with segments of [`MSS`], an ACK for each segment, and no pacing, so that windows can be
/// computed by hand.
fn quic() -> TcpParams {
    let base = TcpParams::profile(TcpProfile::Quic);
    TcpParams { segment_payload: MSS, delayed_ack: 1, pacing: Pacing::Off, ..base }
}

#[test]
fn a_packet_is_lost_when_the_third_after_it_is_acknowledged() {
    let mut path =
        Path::new(quic(), Some(60), |seq, time| if (seq, time) == (4, 0) { Lot::Lost } else { Lot::Arrives });
    path.run_to_completion();
    assert_eq!(path.resent(), [(200, 4)]);
    assert_eq!(path.sender.stats().fast_recoveries, 1);
}

#[test]
fn or_when_a_later_one_is_acknowledged_and_nine_eighths_of_the_rtt_have_passed() {
    let mut path =
        Path::new(quic(), Some(10), |seq, time| if (seq, time) == (8, 0) { Lot::Lost } else { Lot::Arrives });
    path.run_to_completion();
    // The packet was sent at 100 ms and is considered lost 9/8 of the RTT later.
    assert_eq!(path.resent(), [(212, 8)]);
}

#[test]
fn a_lost_tail_is_probed_without_a_reduction() {
    let lossy = |seq, time| if seq >= 8 && time < 2 { Lot::Lost } else { Lot::Arrives };
    let mut path = Path::new(quic(), Some(10), lossy);
    path.run_until(MS(350));
    let window = path.sender.cwnd();
    path.run_until(MS(800));
    assert_eq!(path.sender.cwnd(), window);
    assert!(path.sender.stats().tail_loss_probes >= 2);
    path.run_to_completion();
    assert_eq!(path.sender.stats().timeouts, 0);
}

#[test]
fn the_window_is_halved_once_until_a_packet_sent_in_recovery_is_acknowledged() {
    let lossy = |seq, time| if time == 0 && (20..28).contains(&seq) { Lot::Lost } else { Lot::Arrives };
    let mut path = Path::new(quic(), None, lossy);
    path.run_until(MS(350));
    assert_eq!((path.sender.phase(), path.sender.stats().fast_recoveries), (Phase::Recovery, 1));
    let window = path.sender.cwnd();
    assert_eq!(window, path.sender.ssthresh());
    path.run_until(MS(450));
    assert_ne!(path.sender.phase(), Phase::Recovery);
    assert_eq!(path.sender.stats().fast_recoveries, 1);
}

#[test]
fn losses_over_three_probe_timeouts_leave_two_packets() {
    // The 40 packets from segment 30 on, sent at 300 ms, and the next six probes are lost.
    let mut gone = 0;
    let lossy = move |seq: u32, _| {
        if seq >= 30 && gone < 46 {
            gone += 1;
            return Lot::Lost;
        }
        Lot::Arrives
    };
    let mut path = Path::new(quic(), Some(200), lossy);
    let mut least = u64::MAX;
    while !path.sender.is_done() {
        path.run_until(path.now + MS(10));
        least = least.min(path.sender.cwnd());
    }
    assert_eq!((path.sender.stats().timeouts, least), (1, u64::from(2 * MSS)));
}
