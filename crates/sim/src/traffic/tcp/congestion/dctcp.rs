//! DCTCP: a congestion mark reduces the window in proportion to the share of bytes that were marked.
//!
//! Source: RFC 8257.
//!
//! | section | rule | code |
//! |---|---|---|
//! | 3.3, 5 | `M = bytes marked / bytes acknowledged` of a window | `Control::on_sample` |
//! | 3.3, 6 | `alpha = alpha (1 - g) + g M` | `Control::on_sample` |
//! | 3.3, 9 | on a mark, once per window: `cwnd = cwnd (1 - alpha / 2)` | `Control::reduce` |
//! | 3.4 | the window grows like Reno's; with `byte_counting` by whole segments, as in Linux | `Control::avoid` |
//! | 3.5 | losses and timeouts are handled as in Reno, even while a mark reduces the window | [`Reno`] |
//!
//! DCTCP is designed for a queue that marks every packet while it is longer than a threshold (section 3.1):
//! [RED](../schemes/red.md) with `weight = 1`, `max_p = 1`, `max_th` one packet above `min_th`, `ecn = true`, and
//! `gentle`, `wait`, `hard_drop` off.
//!
//! Cost: two additions per ACK, a division per round trip. State: 64 bytes.
//!
//! Deviations:
//! 1. RFC 8257 3.2: each ACK reports the number of all marks so far, as with accurate ECN. In the RFC one bit reports
//!    the marks of the segments that the ACK covers. As in the RFC, segments that wait for a delayed ACK are
//!    acknowledged at once when marks begin or end.
//! 2. RFC 8257 3.3: segments reported by SACK blocks also count as acknowledged, as in Linux (`net/ipv4/tcp_dctcp.c`).
//! 3. With `whole_windows` the reduction by a mark is rounded down to segments, as in `dctcp_ssthresh` of Linux. Alpha
//!    is not rounded. In Linux alpha is a multiple of 1/1024 (`dctcp_alpha_steps`), so one mark in a window of more
//!    than 64 segments does not raise alpha. If 2 % of the packets are marked at random, the window in Linux is
//!    therefore more than three times as large as here.
//! 4. RFC 8257 3.3: if the sender has proportional rate reduction, the window shrinks over a round trip and does not
//!    grow meanwhile, as in Linux. The response to a mark on the last ACK of a window uses alpha as it was in that
//!    window.
//!
//! Not implemented: ECN-capable SYN-ACKs and ACKs (RFC 8257 3.6), which have no codepoint here.

use super::control::{Cause, Connection, Control, EcnUse, Flight, Output, Progress, Sample, Window};
use super::model::rounds::Rounds;
use super::reno::{Reno, RenoParams};
use fairlane_schemes::params;

params! {
    /// Parameters of DCTCP.
    pub struct DctcpParams {
        //= RFC 8257 4.2-1: The gain g lies between 0 and 1; 1/16 is in use.
        /// Weight of the last window in DCTCP's estimate of the marked share.
        dctcp_gain: f64 = 0.0625, in 0.0001..=1.0, symbol "g", source "RFC 8257 4.2; tcp_dctcp.c dctcp_shift_g";
        //= RFC 8257 3.3-1: Alpha is 1 at first.
        /// Initial value of DCTCP's estimate of the marked share.
        dctcp_initial_alpha: f64 = 1.0, in 0.0..=1.0, symbol "DCTCP.Alpha",
            source "RFC 8257 3.3; tcp_dctcp.c dctcp_alpha_on_init";
        /// Steps from 0 to 1 in DCTCP's fixed-point estimate of the marked share; decreases and increases are
        /// rounded down. 0 for an exact estimate.
        dctcp_alpha_steps: u32 = 0, in 0..=1000000, source "RFC 8257 3.3: exact; tcp_dctcp.c dctcp_update_alpha: 1024";
    }
}

/// State of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    alpha: f64,
    rounds: Rounds,
    /// Bytes acknowledged in this window (DCTCP.BytesAcked).
    acked: u64,
    /// Bytes acknowledged in this window that were marked (DCTCP.BytesMarked).
    marked: u64,
}

impl Control for Dctcp {
    type Params = DctcpParams;
    const READS: &'static [&'static str] = &["byte_counting", "flight_size"];
    const NEEDS_SAMPLES: bool = true;
    // dctcp_state.
    const LOSS_AFTER_MARK: bool = true;
    const SCALE_FREE: bool = true;
    //= RFC 8257 3.2-2, deviation: An ACK echoes the mark of what it acknowledges.
    const ECN: EcnUse = EcnUse::AccurateEct0;

    fn new(_: Connection, params: &DctcpParams, _: u64) -> Self {
        Self { alpha: params.dctcp_initial_alpha, rounds: Rounds::default(), acked: 0, marked: 0 }
    }

    /// Grows the window (section 3.4).
    #[inline]
    fn avoid(&mut self, of: Connection, _: &DctcpParams, window: Window<'_>, progress: Progress) {
        //= RFC 8257 3.4-1: The window grows as that of Reno.
        if !of.byte_counting {
            return Reno.avoid(of, &RenoParams {}, window, progress);
        }
        //= RFC 3465 2.1-1: In congestion avoidance cwnd grows by a segment per window of bytes acknowledged.
        // As in tcp_cong_avoid_ai. The rounding of MSS^2 / cwnd would lose a third of the growth at a window of 1000
        // segments.
        let per_segment = (*window.cwnd / of.mss).max(1);
        window.count(per_segment, progress.segments, of.mss);
    }

    fn reduce(&mut self, of: Connection, _: &DctcpParams, flight: Flight) -> u64 {
        match flight.cause {
            //= RFC 8257 3.3-6: A mark leaves cwnd * (1 - alpha / 2).
            Cause::Mark if of.whole_windows => {
                // dctcp_ssthresh: the reduction of the window is rounded down, not the result.
                let window = flight.cwnd / of.mss;
                let lost = (f64::from(window) * self.alpha / 2.0) as u32;
                u64::from(window - lost) * u64::from(of.mss)
            }
            Cause::Mark => (f64::from(flight.cwnd) * (1.0 - self.alpha / 2.0)) as u64,
            //= RFC 8257 3.5-1: Losses are answered as Reno does, marked or not.
            Cause::Loss | Cause::Timeout => Reno.reduce(of, &RenoParams {}, flight),
        }
    }

    /// Updates alpha (section 3.3, steps 1 to 8).
    fn on_sample(&mut self, _: Connection, params: &DctcpParams, _: &mut Output, sample: &Sample) {
        if sample.acked == 0 {
            return;
        }
        //= RFC 8257 3.3-2, deviation: Bytes acknowledged are counted without what SACK says.
        self.acked += u64::from(sample.acked);
        //= RFC 8257 3.3-3: Bytes marked are counted.
        self.marked += u64::from(sample.marked);
        self.rounds.update(sample.prior_delivered, sample.delivered);
        if !self.rounds.started {
            return;
        }
        //= RFC 8257 3.3-4: At the end of a window M is the share of bytes marked in it.
        let marked = self.marked as f64 / self.acked as f64;
        //= RFC 8257 3.3-5: Alpha moves towards M by g.
        let gain = params.dctcp_gain;
        self.alpha = match params.dctcp_alpha_steps {
            0 => (self.alpha * (1.0 - gain) + gain * marked).clamp(0.0, 1.0),
            steps => in_steps(f64::from(steps), self.alpha, gain, marked),
        };
        (self.acked, self.marked) = (0, 0);
    }
}

/// Returns alpha after a window with this marked share (dctcp_update_alpha). Decrease and increase are rounded down to
/// multiples of 1 / `steps`. A decrease that would be zero sets alpha to 0 before the increase.
fn in_steps(steps: f64, alpha: f64, gain: f64, marked: f64) -> f64 {
    let alpha = (alpha * steps).round();
    let lost = match (alpha * gain).floor() {
        0.0 => alpha,
        lost => lost,
    };
    (alpha - lost + (steps * gain * marked).floor()).min(steps) / steps
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, MSS, never_leaves_its_bounds};
    use super::*;

    fn flow() -> Flow<Dctcp> {
        Flow::<Dctcp>::new(DctcpParams::default())
    }

    /// A round trip of ten segments; the first `marked` are marked.
    fn round(flow: &mut Flow<Dctcp>, marked: u32) {
        flow.output.cwnd = 10 * MSS;
        flow.round(|index, sample| sample.marked = if index < marked { MSS } else { 0 });
    }

    #[test]
    fn section_3_3_alpha_moves_by_a_sixteenth_towards_the_share_marked() {
        let mut flow = flow();
        round(&mut flow, 0);
        // The first ACK ends a window, so alpha is 15/16. The other nine ACKs belong to the next window.
        assert_eq!(flow.control.alpha, 0.9375);
        // The window of these nine ACKs ends with the first ACK of this round, which reports the only mark in the
        // window.
        round(&mut flow, 3);
        assert!((flow.control.alpha - (0.9375 * 0.9375 + 0.1 / 16.0)).abs() < 1e-12, "{}", flow.control.alpha);
        let alpha = flow.control.alpha;
        // The window that ends now contains the two other marks of the previous round.
        round(&mut flow, 0);
        assert!((flow.control.alpha - (alpha * 0.9375 + 0.2 / 16.0)).abs() < 1e-12, "{}", flow.control.alpha);
    }

    #[test]
    fn section_3_3_a_constant_share_of_marks_is_found_in_the_end() {
        let mut flow = flow();
        // (15/16)^200 = 2.5e-6 of the initial value is left.
        (0..200).for_each(|_| round(&mut flow, 4));
        assert!((flow.control.alpha - 0.4).abs() < 1e-4, "{}", flow.control.alpha);
    }

    #[test]
    fn section_3_3_a_mark_takes_half_of_alpha_from_the_window() {
        for (alpha, left) in [(1.0, 50_000), (0.4, 80_000), (0.0, 100_000)] {
            let mut flow = Flow::<Dctcp>::new(DctcpParams { dctcp_initial_alpha: alpha, ..Default::default() });
            flow.output.cwnd = 100 * MSS;
            assert_eq!(flow.reduce(Cause::Mark), left, "alpha {alpha}");
        }
    }

    #[test]
    fn in_whole_windows_what_a_mark_takes_is_rounded_down() {
        // The reductions, cwnd * alpha / 2, are 34 * 0.02 / 2 = 0.34 segments, 100 * 0.03 / 2 = 1.5 and 2 * 1 / 2 = 1.
        // They are rounded down.
        for (window, alpha, left) in [(34, 0.02, 34), (100, 0.03, 99), (2, 1.0, 1)] {
            let mut flow = Flow::<Dctcp>::new(DctcpParams { dctcp_initial_alpha: alpha, ..Default::default() });
            flow.of.whole_windows = true;
            // The window has a fraction of a segment, as after growth like Reno's. The reduction is nevertheless in
            // whole segments.
            flow.output.cwnd = window * MSS + 700;
            assert_eq!(flow.reduce(Cause::Mark), left * u64::from(MSS), "{window} segments, alpha {alpha}");
        }
    }

    #[test]
    fn alpha_in_steps_gains_nothing_from_one_mark_in_more_than_64_segments_and_falls_to_zero_below_16_of_1024() {
        // Increases: 1024 / 16 / 64 = 1, but 1024 / 16 / 65 is less than 1. Decreases: 100 - 100 / 16 = 94 and 17 - 1 =
        // 16; for 15, a sixteenth is less than 1, so alpha becomes 0.
        for (alpha, marked, left) in
            [(0, 1.0 / 64.0, 1), (0, 1.0 / 65.0, 0), (100, 0.0, 94), (17, 0.0, 16), (15, 0.0, 0), (1024, 1.0, 1024)]
        {
            let after = in_steps(1024.0, f64::from(alpha) / 1024.0, 0.0625, marked);
            assert_eq!(after * 1024.0, f64::from(left), "{alpha}, {marked}");
        }
    }

    #[test]
    fn section_3_5_a_loss_halves_the_window_whatever_alpha_is() {
        let mut flow = Flow::<Dctcp>::new(DctcpParams { dctcp_initial_alpha: 0.0, ..Default::default() });
        flow.output.cwnd = 100 * MSS;
        assert_eq!([Cause::Loss, Cause::Timeout].map(|cause| flow.reduce(cause)), [50_000, 50_000]);
    }

    #[test]
    fn section_3_4_the_window_grows_by_a_segment_per_round_trip() {
        let mut cwnd = 10 * MSS;
        let mut flow = flow();
        for _ in 0..10 {
            flow.avoid(&mut cwnd, 1);
        }
        assert_eq!(cwnd, 11 * MSS);
        // The next round trip has eleven segments.
        (0..10).for_each(|_| flow.avoid(&mut cwnd, 1));
        assert_eq!(cwnd, 11 * MSS);
        flow.avoid(&mut cwnd, 1);
        assert_eq!(cwnd, 12 * MSS);
        // An ACK of two segments counts as two. At this window, MSS^2 / cwnd is less than a byte, but the growth is not
        // lost.
        cwnd = 4000 * MSS;
        (0..2000).for_each(|_| flow.avoid(&mut cwnd, 2));
        assert_eq!(cwnd, 4001 * MSS);
    }

    #[test]
    fn without_byte_counting_an_ack_adds_as_renos_does() {
        let mut cwnd = 10 * MSS;
        let mut flow = flow();
        flow.of.byte_counting = false;
        flow.avoid(&mut cwnd, 2);
        // An ACK adds 1000^2 / 10 000 bytes, regardless of the number of segments that it covers.
        assert_eq!(cwnd, 10 * MSS + 100);
    }

    #[test]
    fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
        never_leaves_its_bounds::<Dctcp>(&DctcpParams::default(), |flow, _| (0.0..=1.0).contains(&flow.control.alpha));
    }
}
