//! COBALT: CoDel whose count decays instead of being reset, and a BLUE probability for flows that do not react.
//!
//! Source: Linux `sch_cake.c` (2018 to date); Hoeiland-Joergensen, Taht, Morton: "Piece of CAKE", 2018. A
//! packet that leaves the queue has waited for d.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (C1) | `d > target` and `d > 4 MTU times`: too long | [`Cobalt::judge`] |
//! | (C2) | too long for the first time: `next = now + interval / sqrt(max(1, count))`, `count = max(1, count)` | [`Cobalt::judge`] |
//! | (C3) | still too long and `now >= next` when the packet came to the head: signal, `count += 1`, `next += interval / sqrt(count)` | [`Cobalt::judge`] |
//! | (C4) | not too long: for each `next` that has passed `count -= 1`, `next += interval / sqrt(max(1, count))` | [`Cobalt::judge`] |
//! | (C5) | `count = 0`: `next = now + interval`; otherwise a `next` that has passed without a drop becomes now | [`Cobalt::judge`] |
//! | (C6) | a packet was pushed out: `p += increment` if the last change is more than `target` ago; `next = now`, too long, `count = max(1, count)` | [`Cobalt::overflowed`] |
//! | (C7) | visited while empty: `p -= decrement` with the same pause; a `next` that has passed lowers `count` by 1 | [`Cobalt::emptied`] |
//! | (C8) | drop with probability p, ECN or not | [`Cobalt::judge`] |
//!
//! Cost: some comparisons a packet, a square root per signal, a draw while p > 0; 32 bytes a queue.
//!
//! Deviations:
//! 1. The square root is exact; Linux approximates it.
//!
//! Not implemented: the factor of (C1) for ingress mode, the number of bulk flows in MTU times.

use crate::contract::prelude::*;
/// What COBALT aims at; one for all queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltTarget {
    /// Delay that a queue may have permanently, and least time between two changes of p.
    pub target: Time,
    /// For how long the delay may be above it.
    pub interval: Time,
    /// Delay that is never too long: 4 MTU times.
    pub spared: Time,
    /// Added to p by an overflow.
    pub increment: f64,
    /// Taken off p when the queue is empty.
    pub decrement: f64,
}

/// What is to be done with a packet at the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// Drop it.
    pub drop: bool,
    /// Mark it if it is sent.
    pub mark: bool,
}

/// The state of COBALT at one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cobalt {
    /// Of the next signal, and while `count` is 0 the end of activity.
    next: Time,
    /// Of the last change of p.
    changed: Time,
    probability: f64,
    count: u32,
    dropping: bool,
}

impl Cobalt {
    /// Judges the packet that has just been taken from the head of the queue after `sojourn`.
    pub fn judge(&mut self, aim: &CobaltTarget, sojourn: Time, markable: bool, now: Time, rng: &mut Rng) -> Signal {
        let due = self.is_due(now);
        let mut passed = now > self.next;
        let too_long = sojourn > aim.target && sojourn > aim.spared; // (C1)
        if too_long {
            if !self.dropping {
                self.next = now;
                self.step(aim); // (C2)
            }
            self.count = self.count.max(1);
        }
        self.dropping = too_long;
        let mut signal = Signal::default();
        if due && too_long {
            signal = Signal { drop: !markable, mark: markable }; // (C3)
            self.count = self.count.saturating_add(1);
            self.step(aim);
            passed = now > self.next;
        } else if due {
            while self.is_due(now) {
                self.decay(aim); // (C4)
            }
            passed = now > self.next;
        }
        signal.drop |= self.probability > 0.0 && rng.open01() < self.probability; // (C8)
        if self.count == 0 {
            self.next = now.saturating_add(aim.interval); // (C5)
        } else if passed && !signal.drop {
            self.next = now;
        }
        signal
    }

    /// A packet of the queue was dropped for want of space: rule (C6).
    pub fn overflowed(&mut self, aim: &CobaltTarget, now: Time) {
        if now.saturating_sub(self.changed) > aim.target {
            self.probability = (self.probability + aim.increment).min(1.0);
            self.changed = now;
        }
        (self.dropping, self.next, self.count) = (true, now, self.count.max(1));
    }

    /// The queue was found empty: rule (C7).
    pub fn emptied(&mut self, aim: &CobaltTarget, now: Time) {
        if self.probability > 0.0 && now.saturating_sub(self.changed) > aim.target {
            self.probability = (self.probability - aim.decrement).max(0.0);
            self.changed = now;
        }
        self.dropping = false;
        if self.is_due(now) {
            self.decay(aim);
        }
    }

    /// Whether nothing is left to decay.
    #[must_use]
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.next
    }

    /// p of BLUE.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Whether the last delay was too long.
    #[must_use]
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.next
    }

    fn decay(&mut self, aim: &CobaltTarget) {
        self.count -= 1;
        self.step(aim);
    }

    fn step(&mut self, aim: &CobaltTarget) {
        let gap = aim.interval.as_secs_f64() / f64::from(self.count.max(1)).sqrt();
        self.next = self.next.saturating_add(Time::from_secs_f64(gap));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AIM: CobaltTarget = CobaltTarget {
        target: Time::from_millis(5),
        interval: Time::from_millis(100),
        spared: Time::from_micros(4800),
        increment: 1.0 / 256.0,
        decrement: 1.0 / 4096.0,
    };
    const LONG: Time = Time::from_millis(50);
    const SHORT: Time = Time::from_millis(5);

    fn rng() -> Rng {
        Rng::stream(1, 0, "cobalt", 0)
    }

    /// Judges a packet every millisecond in `span` after `sojourn`; when drops came, in ms.
    fn run(cobalt: &mut Cobalt, span: std::ops::Range<u64>, sojourn: Time) -> Vec<u64> {
        let mut rng = rng();
        span.filter(|&ms| cobalt.judge(&AIM, sojourn, false, Time::from_millis(ms), &mut rng).drop).collect()
    }

    #[test]
    fn drops_grow_with_the_square_root_of_their_number() {
        let mut cobalt = Cobalt::default();
        assert!(run(&mut cobalt, 0..10, SHORT).is_empty());
        // (C2) at 10: next = 110. Then count = 2, 3, 4, 5: next = 110 + 70.71 = 180.71, + 57.74 = 238.45, + 50 = 288.45,
        // + 44.72 = 333.17; the first millisecond not before each.
        assert_eq!(run(&mut cobalt, 10..334, LONG), [110, 181, 239, 289]);
        assert_eq!(cobalt.count, 5);
    }

    #[test]
    fn count_decays_by_the_same_clock_and_makes_the_next_spell_start_faster() {
        let mut cobalt = Cobalt::default();
        run(&mut cobalt, 0..10, SHORT);
        run(&mut cobalt, 10..334, LONG);
        // next = 333.17. Short delays: at 334 count 4, next + 50 = 383.17; at 384 count 3, + 57.74 = 440.91.
        assert!(run(&mut cobalt, 334..400, SHORT).is_empty());
        assert_eq!(cobalt.count, 3);
        // Long again at 400, (C2): next = 400 + 100 / sqrt(3) = 457.74.
        assert_eq!(run(&mut cobalt, 400..459, LONG), [458]);
        // After a long silence one packet makes up all steps of (C4), and (C5) starts over.
        assert!(!cobalt.judge(&AIM, SHORT, false, Time::from_secs(10), &mut rng()).drop);
        assert_eq!((cobalt.count, cobalt.next), (0, Time::from_millis(10_100)));
    }

    #[test]
    fn a_signal_that_is_overdue_is_not_repeated_in_a_burst() {
        let mut cobalt = Cobalt { count: 100, next: Time::ZERO, dropping: true, ..Default::default() };
        let mut signal = |markable, ms| cobalt.judge(&AIM, LONG, markable, Time::from_millis(ms), &mut rng());
        // next = 100 / sqrt(101) = 9.95 ms has passed too: (C5) moves it to now, as the packet is marked, not dropped.
        assert_eq!(signal(true, 1000), Signal { drop: false, mark: true });
        assert_eq!(cobalt.next, Time::from_millis(1000));
        // A drop leaves it in the past: the next packet is dropped at the same time.
        let mut cobalt = Cobalt { count: 100, next: Time::ZERO, dropping: true, ..Default::default() };
        let drops = (0..10).filter(|_| cobalt.judge(&AIM, LONG, false, Time::from_millis(20), &mut rng()).drop).count();
        // Steps of 9.95, 9.90 and 9.85 ms: due at 0, 9.95 and 19.85, not at 29.70.
        assert_eq!(drops, 3);
    }

    #[test]
    fn four_mtu_times_are_never_too_long() {
        let slow = CobaltTarget { spared: LONG, ..AIM };
        let mut cobalt = Cobalt { count: 1, dropping: true, ..Default::default() };
        assert!(!cobalt.judge(&slow, LONG, false, Time::from_secs(1), &mut rng()).drop);
        assert!(!cobalt.is_dropping());
        let mut cobalt = Cobalt { count: 1, dropping: true, ..Default::default() };
        let longer = LONG + Time::from_nanos(1);
        assert!(cobalt.judge(&slow, longer, false, Time::from_secs(1), &mut rng()).drop);
    }

    #[test]
    fn blue_grows_by_overflow_and_shrinks_by_idle_visits_once_per_target() {
        let mut cobalt = Cobalt::default();
        let at = Time::from_micros;
        for us in [5000, 5001, 7500, 10_001, 10_002, 15_002] {
            cobalt.overflowed(&AIM, at(us));
        }
        // 5000 is not more than 5 ms after 0; 5001, 10 002 are more than 5 ms after the change before; 15 002 is not.
        assert_eq!(cobalt.probability(), 2.0 / 256.0);
        assert!(cobalt.is_dropping() && cobalt.count == 1);
        for us in [15_002, 15_003, 20_003, 20_004] {
            cobalt.emptied(&AIM, at(us));
        }
        assert_eq!(cobalt.probability(), 2.0 / 256.0 - 2.0 / 4096.0);
        assert!(!cobalt.is_at_rest(at(1_000_000)));
        (1..100).for_each(|step| cobalt.emptied(&AIM, Time::from_secs(step)));
        assert!(cobalt.probability() == 0.0 && cobalt.is_at_rest(Time::from_secs(100)));
        (1..1000).for_each(|step| cobalt.overflowed(&AIM, Time::from_secs(100 + step)));
        assert_eq!(cobalt.probability(), 1.0);
    }

    #[test]
    fn blue_drops_its_part_of_packets_whose_delay_is_short_too() {
        let mut cobalt = Cobalt { probability: 0.25, ..Default::default() };
        let mut rng = rng();
        let drops = (0..10_000).filter(|_| cobalt.judge(&AIM, SHORT, true, Time::ZERO, &mut rng).drop).count();
        // Binomial(10 000, 1/4): mean 2500, standard deviation 43.3; five of them.
        assert!(drops.abs_diff(2500) < 217, "{drops}");
    }
}
