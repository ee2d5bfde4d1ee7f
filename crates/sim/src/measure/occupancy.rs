//! Time-weighted length of a queue: mean and distribution.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::Backlog;

/// Longest queue with a separate entry in the distribution. All longer queues are counted in this entry, which bounds
/// the memory.
pub const LONGEST_COUNTED: usize = 65_535;

/// Distribution of the queue length over time.
#[derive(Clone, Debug)]
pub struct Occupancy {
    since: Time,
    current: Backlog,
    /// Time spent with 0, 1, 2 ... packets waiting, in picoseconds.
    time_at: Vec<u64>,
    /// Sum of the times with longer queues, each multiplied by the number of packets in excess of [`LONGEST_COUNTED`].
    excess_packet_time: u128,
    byte_time: u128,
    start: Time,
}

impl Occupancy {
    /// Starts the observation at `start` with `backlog` waiting.
    #[must_use]
    pub fn new(start: Time, backlog: Backlog) -> Self {
        Self { since: start, current: backlog, time_at: vec![0; 32], excess_packet_time: 0, byte_time: 0, start }
    }

    /// Records that the backlog is `backlog` from `now` on. `now` must not precede the last change.
    // Always inlined: a call, twice per packet, would save and restore more registers than needed.
    #[inline(always)]
    pub fn change(&mut self, now: Time, backlog: Backlog) {
        let lasted = (now - self.since).0;
        match self.time_at.get_mut(self.current.packets as usize) {
            Some(time) => *time += lasted,
            None => self.add_beyond(lasted),
        }
        self.byte_time += u128::from(self.current.bytes) * u128::from(lasted);
        self.since = now;
        self.current = backlog;
    }

    /// Adds a time during which the queue was longer than ever before, or longer than [`LONGEST_COUNTED`].
    #[cold]
    fn add_beyond(&mut self, lasted: u64) {
        let packets = (self.current.packets as usize).min(LONGEST_COUNTED);
        if packets >= self.time_at.len() {
            self.time_at.resize((packets + 1).next_power_of_two(), 0);
        }
        self.time_at[packets] += lasted;
        self.excess_packet_time += (self.current.packets as usize - packets) as u128 * u128::from(lasted);
    }

    /// Mean number of packets waiting until the last change.
    #[must_use]
    pub fn mean_packets(&self) -> f64 {
        let packet_times = (0..).zip(&self.time_at).map(|(packets, &time): (u128, _)| packets * u128::from(time));
        self.per_time(packet_times.sum::<u128>() + self.excess_packet_time)
    }

    /// Mean number of bytes waiting until the last change.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        self.per_time(self.byte_time)
    }

    /// Fraction of the time with 0, 1, 2 ... packets waiting, up to the longest queue so far.
    #[must_use]
    pub fn distribution(&self) -> Vec<f64> {
        let longest = self.time_at.iter().rposition(|&time| time > 0).unwrap_or(0);
        self.time_at[..=longest].iter().map(|&time| self.per_time(u128::from(time))).collect()
    }

    fn per_time(&self, sum: u128) -> f64 {
        let observed = self.since.saturating_sub(self.start).0;
        if observed == 0 { 0.0 } else { sum as f64 / observed as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(packets: u32) -> Backlog {
        Backlog { packets, bytes: u64::from(packets) * 100 }
    }

    #[test]
    fn weighs_each_length_by_how_long_it_lasted() {
        // The queue has 2 packets for 3 s, 0 for 1 s and 40 for 1 s, so the mean is (6 + 40)/5 = 9.2 packets.
        let mut occupancy = Occupancy::new(Time::from_secs(10), backlog(2));
        occupancy.change(Time::from_secs(13), backlog(0));
        occupancy.change(Time::from_secs(14), backlog(40));
        occupancy.change(Time::from_secs(15), backlog(1));
        assert!((occupancy.mean_packets() - 9.2).abs() < 1e-12);
        assert!((occupancy.mean_bytes() - 920.0).abs() < 1e-9);
        let distribution = occupancy.distribution();
        assert_eq!((distribution[0], distribution[2], distribution[40]), (0.2, 0.6, 0.2));
        assert_eq!(distribution.len(), 41);
    }
}
