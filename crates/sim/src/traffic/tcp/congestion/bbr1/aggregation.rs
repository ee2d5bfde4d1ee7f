//! ACK aggregation: data delivered beyond the amount expected at the estimated bandwidth (Linux,
//! bbr_update_ack_aggregation).

use super::super::control::Sample;
use super::super::model::byte_rate::ByteRate;
use fairlane_schemes::base::units::Time;

/// Number of rounds in each of the two halves of the time window (bbr_extra_acked_win_rtts). After these rounds a new
/// half begins, and the older one is dropped.
const HALF_WINDOW_ROUNDS: u32 = 5;
/// Maximum number of segments in an epoch (bbr_ack_epoch_acked_reset_thresh).
const MOST_SEGMENTS: u64 = 1 << 20;
/// Maximum allowance: the data sent in this time at the estimated bandwidth (bbr_extra_acked_max_us).
const LONGEST: Time = Time::from_millis(100);

/// Maximum number of bytes delivered beyond the amount expected, over the last 5 to 10 rounds.
#[derive(Clone, Debug, Default)]
pub struct Aggregation {
    /// Start of the epoch, the interval in which deliveries are compared with the bandwidth.
    epoch: Time,
    /// Bytes delivered since the start of the epoch.
    acked: u64,
    /// Largest excess in the current half of the time window, and in the previous half.
    extra: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Starts a new epoch.
    pub fn restart(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0);
    }

    /// Processes an ACK. Expected deliveries are rounded to multiples of `unit` bytes.
    pub fn update(&mut self, unit: u64, mss: u32, bw: ByteRate, round_start: bool, cwnd: u32, sample: &Sample) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= HALF_WINDOW_ROUNDS {
                (self.rounds, self.extra) = (0, [0, self.extra[0]]);
            }
        }
        let acked = u64::from(sample.acked);
        let mut expected = Whole { unit, bytes: bw.over(sample.now.saturating_sub(self.epoch)) as u64 };
        if expected.at_least(self.acked) || self.acked + acked >= MOST_SEGMENTS * u64::from(mss) {
            self.restart(sample.now);
            expected.bytes = 0;
        }
        self.acked += acked;
        if !expected.at_least(self.acked.saturating_sub(self.extra[0])) {
            let extra = (self.acked - expected.get()).min(u64::from(cwnd));
            self.extra[0] = self.extra[0].max(extra);
        }
    }

    /// Allowance in the window (bbr_ack_aggregation_cwnd).
    pub fn allowance(&self, unit: u64, bw: ByteRate) -> u64 {
        let (most, bound) = (self.extra[0].max(self.extra[1]), Whole { unit, bytes: bw.over(LONGEST) as u64 });
        if bound.at_least(most) { most } else { bound.get() }
    }
}

/// A number of bytes that is rounded down to a multiple of `unit`.
#[derive(Clone, Copy)]
struct Whole {
    unit: u64,
    bytes: u64,
}

impl Whole {
    #[inline]
    fn get(self) -> u64 {
        self.bytes - self.bytes % self.unit
    }

    /// Returns true if the rounded number is at least `least`, in most cases without a division.
    #[inline]
    fn at_least(self, least: u64) -> bool {
        least <= self.bytes && (self.bytes - least >= self.unit - 1 || least <= self.get())
    }
}
