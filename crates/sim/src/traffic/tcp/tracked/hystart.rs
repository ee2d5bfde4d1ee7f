//! Rules that end slow start before losses: HyStart as in Linux (`tcp_cubic.c`), and HyStart++ (RFC 9406).

use fairlane_schemes::base::units::{BitRate, Time};

use crate::traffic::tcp::HyStartKind;

/// Minimum window for the classic form, in segments (hystart_low_window).
const LOW_WINDOW: u32 = 16;
/// Maximum gap between ACKs of a train (hystart_ack_delta).
const TRAIN_GAP: Time = Time::from_millis(2);
/// Number of RTT samples that a round needs before it may end slow start (HYSTART_MIN_SAMPLES; RFC 9406 4.3
/// N_RTT_SAMPLE).
const SAMPLES: u32 = 8;
/// Minimum and maximum of the RTT increase that ends slow start (HYSTART_DELAY_MIN and MAX; RFC 9406 4.3
/// MIN_RTT_THRESH, MAX_RTT_THRESH). Between them, the increase is the minimum RTT divided by the next constant
/// (MIN_RTT_DIVISOR).
const RISE: (Time, Time) = (Time::from_millis(4), Time::from_millis(16));
const RISE_SHARE: u64 = 8;
/// Constants of RFC 9406 4.3: CSS_GROWTH_DIVISOR, CSS_ROUNDS, and L for senders without pacing.
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
const LIMIT: u32 = 8;
/// Maximum size of a GSO or GRO packet (GSO_MAX_SIZE). The time of four such packets, but at most a millisecond, is
/// added to the minimum RTT before ACK trains are compared with it.
const BUNDLE: u64 = 65_536;

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// Start of this round. The next field is the time of the last ACK of the train.
    round_start: Time,
    last_ack: Time,
    round_end: u32,
    /// Minimum RTT of this round; [`Time::NEVER`] without a sample. The next field is the minimum of the previous
    /// round.
    current: Time,
    previous: Time,
    samples: u32,
    /// Minimum RTT of the connection seen by HyStart.
    least: Time,
    /// True if slow start is over.
    found: bool,
    /// Conservative slow start: number of rounds left, and RTT at its start.
    css: Option<(u32, Time)>,
}

/// Information from an ACK in slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sign {
    pub(super) now: Time,
    pub(super) rtt: Option<Time>,
    pub(super) una: u32,
    pub(super) nxt: u32,
    /// Congestion window in segments.
    pub(super) cwnd: u32,
    /// Pacing rate at the current window, if known. The next field is true if the sender paces.
    pub(super) rate: Option<BitRate>,
    pub(super) paced: bool,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            round_end: 0,
            current: Time::NEVER,
            previous: Time::NEVER,
            samples: 0,
            least: Time::NEVER,
            found: false,
            css: None,
        }
    }

    /// Handles a timeout, after which a new slow start begins.
    pub(super) fn restart(&mut self, now: Time, nxt: u32) {
        self.found = false;
        self.css = None;
        self.begin_round(now, nxt);
    }

    /// Processes an ACK in slow start. Returns true if slow start ends here.
    pub(super) fn ends_slow_start(&mut self, kind: HyStartKind, sign: &Sign) -> bool {
        if self.found {
            return false;
        }
        self.found = match kind {
            HyStartKind::Off => false,
            HyStartKind::Classic => self.classic(sign),
            HyStartKind::PlusPlus => self.plus_plus(sign),
        };
        self.found
    }

    /// Number of bytes by which an ACK of `bytes` bytes grows the window in slow start.
    pub(super) fn growth(&self, kind: HyStartKind, bytes: u32, mss: u32, paced: bool) -> u32 {
        if kind != HyStartKind::PlusPlus {
            return bytes;
        }
        // RFC 9406 4.2: cwnd += min(N, L * SMSS). Conservative slow start divides this by CSS_GROWTH_DIVISOR.
        let limit = if paced { u32::MAX } else { LIMIT * mss };
        let divisor = if self.css.is_some() { CSS_GROWTH_DIVISOR } else { 1 };
        bytes.min(limit) / divisor
    }

    fn begin_round(&mut self, now: Time, nxt: u32) {
        (self.round_start, self.last_ack, self.round_end) = (now, now, nxt);
        (self.previous, self.current, self.samples) = (self.current, Time::NEVER, 0);
    }

    /// Applies HyStart (`tcp_cubic.c` cubictcp_acked, hystart_update). Returns true if slow start ends.
    fn classic(&mut self, sign: &Sign) -> bool {
        let Some(rtt) = sign.rtt else { return false };
        self.least = self.least.min(rtt);
        if sign.una > self.round_end || self.round_start == Time::ZERO {
            self.begin_round(sign.now, sign.nxt);
        }
        if sign.cwnd < LOW_WINDOW {
            return false;
        }
        self.train_is_long(sign) || self.rtt_has_risen(rtt)
    }

    /// Returns true if closely spaced ACKs have arrived for half of the minimum RTT, or all of it if the sender paces.
    /// The window then fills the path.
    fn train_is_long(&mut self, sign: &Sign) -> bool {
        if sign.now.saturating_sub(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = sign.now;
        let bundle = sign.rate.map_or(Time::ZERO, |rate| rate.time_of(4 * BUNDLE).min(Time::from_millis(1)));
        let threshold = self.least.saturating_add(bundle);
        // With pacing, data are spread over half of an RTT.
        let threshold = if sign.paced { threshold } else { Time(threshold.0 / 2) };
        sign.now - self.round_start > threshold
    }

    /// Returns true if, after eight samples, the minimum RTT of the round exceeds that of the connection by more than
    /// [`rise`] permits.
    fn rtt_has_risen(&mut self, rtt: Time) -> bool {
        self.current = self.current.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        self.current > self.least.saturating_add(rise(self.least))
    }

    /// Applies HyStart++ (RFC 9406 4.2). Returns true if slow start ends.
    fn plus_plus(&mut self, sign: &Sign) -> bool {
        let mut ends = false;
        if sign.una > self.round_end || self.round_start == Time::ZERO {
            if let Some((rounds, _)) = &mut self.css {
                *rounds -= 1;
                ends = *rounds == 0;
            }
            self.begin_round(sign.now, sign.nxt);
        }
        if let Some(rtt) = sign.rtt {
            self.current = self.current.min(rtt);
            self.samples += 1;
        }
        if self.samples < SAMPLES || self.current == Time::NEVER {
            return ends;
        }
        match self.css {
            // The rise of the RTT was spurious, so slow start continues.
            Some((_, baseline)) if self.current < baseline => self.css = None,
            None if self.previous < Time::NEVER
                && self.current >= self.previous.saturating_add(rise(self.previous)) =>
            {
                self.css = Some((CSS_ROUNDS, self.current));
            }
            _ => {}
        }
        ends && self.css.is_some()
    }
}

/// Maximum permitted increase of the RTT above `least`.
fn rise(least: Time) -> Time {
    Time(least.0 / RISE_SHARE).clamp(RISE.0, RISE.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_micros;

    fn sign(now_us: u64, rtt_us: u64, una: u32, nxt: u32) -> Sign {
        Sign { now: US(now_us), rtt: Some(US(rtt_us)), una, nxt, cwnd: 100, rate: None, paced: false }
    }

    #[test]
    fn a_train_of_acks_for_half_of_the_least_rtt_ends_slow_start() {
        let mut hystart = HyStart::new();
        let mut at = |us| hystart.ends_slow_start(HyStartKind::Classic, &sign(us, 100_000, 1, 1000));
        // A round starts at 1 s, with ACKs every 2 ms. The ACK after 50 ms does not exceed half of the minimum RTT of
        // 100 ms. The next ACK does, and ends slow start.
        assert!(!at(1_000_000));
        assert!((1..=25).all(|k| !at(1_000_000 + 2000 * k)));
        assert!(at(1_052_000));
    }

    #[test]
    fn a_gap_in_the_train_or_a_small_window_does_not() {
        let mut hystart = HyStart::new();
        let mut at =
            |us, cwnd| hystart.ends_slow_start(HyStartKind::Classic, &Sign { cwnd, ..sign(us, 100_000, 1, 1000) });
        assert!(!at(1_000_000, 100) && !at(1_002_001, 100));
        // The gap ended the train, so no later ACK of this round counts.
        assert!((1..60).all(|k| !at(1_002_001 + 2000 * k, 100)));
        let mut hystart = HyStart::new();
        assert!((0..60).all(|k| {
            let small = Sign { cwnd: 15, ..sign(1_000_000 + 2000 * k, 100_000, 1, 1000) };
            !hystart.ends_slow_start(HyStartKind::Classic, &small)
        }));
    }

    #[test]
    fn a_round_whose_ninth_sample_is_an_eighth_above_the_least_ends_slow_start() {
        // The permitted increase is 100 ms / 8 = 12.5 ms, between 4 and 16 ms. Gaps of 3 ms end the train.
        let run = |rtt| {
            let mut hystart = HyStart::new();
            hystart.ends_slow_start(HyStartKind::Classic, &sign(900_000, 100_000, 1, 10));
            (0..12)
                .position(|k| hystart.ends_slow_start(HyStartKind::Classic, &sign(1_000_000 + 3000 * k, rtt, 11, 50)))
        };
        assert_eq!(run(112_500), None);
        assert_eq!(run(112_501), Some(8));
    }

    #[test]
    fn hystart_plus_plus_slows_down_first_and_ends_after_five_rounds() {
        let kind = HyStartKind::PlusPlus;
        let mut hystart = HyStart::new();
        let mut round = |number: u32, rtt| {
            let of = |k: u32| {
                sign(u64::from(number) * 100_000 + u64::from(k) * 3000, rtt, 10 * number + 1, 10 * number + 10)
            };
            (0..8).any(|k| hystart.ends_slow_start(kind, &of(k)))
        };
        assert!(!round(1, 100_000) && !round(2, 112_499) && !round(3, 112_499));
        // Up to here, the RTT never rose by 1/8 from one round to the next. It does so now, which starts conservative
        // slow start.
        assert!(!round(4, 127_000));
        let rounds: Vec<bool> = (5..=9).map(|number| round(number, 127_000)).collect();
        assert_eq!(rounds, [false, false, false, false, true]);
        assert_eq!(hystart.growth(kind, 8000, 1000, false), 2000);
    }

    #[test]
    fn hystart_plus_plus_goes_on_when_the_rtt_falls_again() {
        let kind = HyStartKind::PlusPlus;
        let mut hystart = HyStart::new();
        for (number, rtt, growth) in [(1, 100_000, 8000), (2, 120_000, 2000), (3, 119_999, 8000)] {
            for k in 0..8 {
                let of = sign(number * 100_000 + k * 3000, rtt, 10 * number as u32 + 1, 10 * number as u32 + 10);
                assert!(!hystart.ends_slow_start(kind, &of));
            }
            assert_eq!(hystart.growth(kind, 9000, 1000, false), growth);
        }
        assert_eq!(hystart.growth(kind, 9000, 1000, true), 9000);
    }
}
