//! Periodic work without a timer. Each call first runs the ticks missed since the last call.
//!
//! The queue does not change between two calls, so the state at each tick is known. Running the missed ticks at the
//! beginning of a call therefore gives the same result as a timer, without any event.

use crate::base::units::Time;

/// Ticks at `period`, `2 * period` and so on.
#[derive(Clone, Copy, Debug)]
pub struct Ticker {
    period: Time,
    next: Time,
}

impl Ticker {
    /// Creates a ticker whose first tick is at `period`, which must be positive.
    #[must_use]
    pub fn new(period: Time) -> Self {
        Self { period, next: period }
    }

    /// Time between ticks.
    #[must_use]
    pub fn period(&self) -> Time {
        self.period
    }

    /// Next tick at or before `now`, if any. Call this until it returns `None`.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<Time> {
        if now < self.next {
            return None;
        }
        let tick = self.next;
        self.next += self.period;
        Some(tick)
    }

    /// Skips all ticks up to `now` except the last. Suits a scheme that records only the time of each tick.
    pub fn skip_to_last(&mut self, now: Time) {
        self.next += Time(now.saturating_sub(self.next).0 / self.period.0 * self.period.0);
    }

    /// Skips all ticks up to `now`. Suits a scheme whose state no longer changes with further ticks.
    pub fn skip_to(&mut self, now: Time) {
        if now >= self.next {
            let missed = (now - self.next).0 / self.period.0 + 1;
            self.next += Time(self.period.0 * missed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tick_is_made_up_once() {
        let mut ticker = Ticker::new(Time::from_millis(15));
        assert_eq!(ticker.due(Time::from_millis(14)), None);
        let ticks: Vec<_> = std::iter::from_fn(|| ticker.due(Time::from_millis(45))).collect();
        assert_eq!(ticks, [15, 30, 45].map(Time::from_millis));
        assert_eq!(ticker.due(Time::from_millis(59)), None);
    }

    #[test]
    fn skipped_ticks_keep_the_phase() {
        let mut ticker = Ticker::new(Time::from_millis(15));
        ticker.skip_to(Time::from_millis(100));
        assert_eq!(ticker.due(Time::from_millis(104)), None);
        assert_eq!(ticker.due(Time::from_millis(105)), Some(Time::from_millis(105)));
        ticker.skip_to(Time::from_millis(110));
        assert_eq!(ticker.due(Time::from_millis(120)), Some(Time::from_millis(120)));
        ticker.skip_to_last(Time::from_millis(134));
        assert_eq!(ticker.due(Time::from_millis(134)), None);
        ticker.skip_to_last(Time::from_millis(195));
        assert_eq!(ticker.due(Time::from_millis(195)), Some(Time::from_millis(195)));
        ticker.skip_to_last(Time::from_millis(224));
        assert_eq!(ticker.due(Time::from_millis(224)), Some(Time::from_millis(210)));
    }
}
