//! Queueing delay: the current delay minus the minimum of the last minutes.
//!
//! Source: RFC 6817 2.4.2, `update_base_delay`, `update_current_delay`, `queuing_delay`;
//! draft-irtf-iccrg-ledbat-plus-plus.

use fairlane_schemes::base::units::Time;

/// Maximum number of stored minutes. The next constant is the maximum number of stored samples.
pub const MOST_MINUTES: usize = 20;
pub const MOST_SAMPLES: usize = 16;

const MINUTE: Time = Time::from_secs(60);

/// Recent delays, and the minimum delay of each of the last minutes.
#[derive(Clone, Debug)]
pub struct QueuingDelay {
    /// base_delays, as a ring buffer; [`Time::NEVER`] for minutes without a delay.
    base: [Time; MOST_MINUTES],
    /// Minute of the newest entry of `base`. The next field is the index of this entry.
    minute: u64,
    newest: usize,
    /// current_delays, as a ring buffer of times and delays.
    recent: [(Time, Time); MOST_SAMPLES],
    next: usize,
}

impl QueuingDelay {
    pub fn new() -> Self {
        let nothing = (Time::ZERO, Time::NEVER);
        Self { base: [Time::NEVER; MOST_MINUTES], minute: 0, newest: 0, recent: [nothing; MOST_SAMPLES], next: 0 }
    }

    /// Adds a delay.
    pub fn observe(&mut self, now: Time, delay: Time) {
        //= RFC 6817 2.4.2-1: Base delays are the least ones of each minute.
        let minute = now.0 / MINUTE.0;
        if minute != self.minute {
            self.minute = minute;
            self.newest = (self.newest + 1) % MOST_MINUTES;
            self.base[self.newest] = delay;
        }
        self.base[self.newest] = self.base[self.newest].min(delay);
        self.recent[self.next] = (now, delay);
        self.next = (self.next + 1) % MOST_SAMPLES;
    }

    /// Minimum delay of the last `minutes` minutes; [`Time::NEVER`] before the first delay.
    pub fn base(&self, minutes: u32) -> Time {
        let last = |back: u32| self.base[(self.newest + MOST_MINUTES - back as usize) % MOST_MINUTES];
        (0..minutes.min(MOST_MINUTES as u32)).map(last).min().unwrap_or(Time::NEVER)
    }

    /// FILTER(current_delays) - MIN(base_delays); `None` before the first delay. The filter takes the minimum of the
    /// last `samples` delays, without those older than `age`. The last delay always counts.
    pub fn get(&self, minutes: u32, samples: u32, now: Time, age: Time) -> Option<Time> {
        let oldest = now.saturating_sub(age);
        let last = |back: u32| self.recent[(self.next + 2 * MOST_SAMPLES - 1 - back as usize) % MOST_SAMPLES];
        //= RFC 6817 2.5-6: No sample of the filter is older than an RTT.
        let fresh = (0..samples.min(MOST_SAMPLES as u32)).map(last).enumerate();
        let current =
            fresh.filter(|(index, (at, _))| *index == 0 || *at >= oldest).map(|(_, (_, delay))| delay).min()?;
        //= RFC 6817 2.4.2-2: The queuing delay is the filtered delay less the base delay.
        (current != Time::NEVER).then(|| current.saturating_sub(self.base(minutes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;
    const RTT: Time = Time::from_secs(1);

    fn delay(of: &QueuingDelay, minutes: u32, samples: u32, now: Time) -> Option<u64> {
        of.get(minutes, samples, now, RTT).map(|delay| delay.0 / MS(1).0)
    }

    #[test]
    fn there_is_no_queuing_delay_before_the_first_sample() {
        assert_eq!(delay(&QueuingDelay::new(), 10, 4, MS(0)), None);
    }

    #[test]
    fn the_delay_is_the_least_of_the_last_samples_less_the_base() {
        let mut queuing = QueuingDelay::new();
        for (at, ms) in [(0, 50), (1, 90), (2, 80), (3, 120)] {
            queuing.observe(MS(at), MS(ms));
        }
        assert_eq!([1, 2, 3, 4].map(|samples| delay(&queuing, 10, samples, MS(3))), [70, 30, 30, 0].map(Some));
    }

    #[test]
    fn samples_older_than_an_rtt_do_not_count_save_the_last_one() {
        let mut queuing = QueuingDelay::new();
        queuing.observe(MS(0), MS(50));
        queuing.observe(MS(1500), MS(90));
        assert_eq!(delay(&queuing, 10, 4, MS(1500)), Some(40));
        assert_eq!(delay(&queuing, 10, 4, MS(9000)), Some(40));
    }

    #[test]
    fn a_base_delay_is_forgotten_after_so_many_minutes() {
        let mut queuing = QueuingDelay::new();
        queuing.observe(MS(0), MS(50));
        for minute in 1..=2 {
            queuing.observe(Time::from_secs(60 * minute), MS(80));
        }
        // The first minute is among the last three minutes, but not among the last two.
        assert_eq!([3, 2].map(|minutes| queuing.base(minutes)), [MS(50), MS(80)]);
    }

    #[test]
    fn a_lower_base_delay_counts_at_once() {
        let mut queuing = QueuingDelay::new();
        queuing.observe(MS(0), MS(50));
        queuing.observe(MS(10), MS(20));
        queuing.observe(MS(20), MS(60));
        assert_eq!(delay(&queuing, 10, 1, MS(20)), Some(40));
    }
}
