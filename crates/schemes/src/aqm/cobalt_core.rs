//! The core of COBALT: CoDel whose count decays instead of being reset, and BLUE against unresponsive flows. COBALT,
//! CAKE and CodelAF share it.
//!
//! Source: Linux `sch_cake.c` (2018 to date); Hoeiland-Joergensen, Taht, Morton: "Piece of CAKE", 2018. The packet at
//! the head has waited for d.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (C1) | too long: `d > target` and `d > spared` (the transmission time of a few MTUs) | [`CobaltTarget::is_exceeded`] |
//! | (C2) | too long for the first time: `next = now + interval / sqrt(max(1, count))`, `count = max(1, count)` | [`Cobalt::judge`] |
//! | (C3) | still too long, and `now >= next` when the packet reached the head: signal, `count += 1`, `next += interval / sqrt(count)` | [`Cobalt::judge`] |
//! | (C4) | not too long: for each `next` that has passed `count -= 1`, `next += interval / sqrt(max(1, count))` | [`Cobalt::judge`] |
//! | (C5) | `count = 0`: `next = now + interval`; otherwise a `next` that has passed without a drop becomes now | [`Cobalt::judge`] |
//! | (C6) | a packet was dropped at a full buffer: `p += increment` if the last change is more than `target` ago; `next = now`, too long, `count = max(1, count)` | [`Cobalt::overflowed`] |
//! | (C7) | visited while empty: `p -= decrement` at most once per `target`; a `next` that has passed lowers `count` by 1 | [`Cobalt::emptied`] |
//! | (C8) | drop with probability p, ECN or not | [`Cobalt::judge`] |
//! | (C9) | with `whole_spells`: the first packet that waits too long gives no signal; the end of such a period, or an empty queue, sets `next = now + interval / sqrt(max(1, count))`, and an empty queue lowers `count` by (C4) | [`Cobalt::judge`], [`Cobalt::emptied`] |
//! | (C10) | with `starts_at_once`: steps of `next` are 0 until `count` changes | `Cobalt::step` |
//!
//! Cost: some comparisons per packet, a square root per signal, a random number while p > 0; 32 bytes per queue.
//!
//! Deviations:
//! 1. The square root is exact; Linux approximates it.
//!
//! Not implemented: ingress mode, which multiplies `spared` by the number of bulk flows.

use crate::contract::prelude::*;
/// Parameters of COBALT, shared by all queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltTarget {
    /// Target delay of the standing queue, and minimum time between two changes of p.
    pub target: Time,
    /// Time for which the delay may exceed `target`.
    pub interval: Time,
    /// Delay that is never too long.
    pub spared: Time,
    /// Increment of p after an overflow.
    pub increment: f64,
    /// Decrement of p when the queue is empty.
    pub decrement: f64,
    /// True if the delay must stay above the target without a break until the first signal, as in CodelAF: (C9).
    pub whole_spells: bool,
    /// True if the steps of `next` are zero until the count changes: (C10). In Linux `rec_inv_sqrt` is 0 until
    /// `cobalt_invsqrt` sets it, so the second packet that waits too long gets a signal.
    pub starts_at_once: bool,
}

impl CobaltTarget {
    /// Returns true if `sojourn` is too long: rule (C1).
    #[must_use]
    #[inline]
    pub fn is_exceeded(&self, sojourn: Time) -> bool {
        sojourn > self.target && sojourn > self.spared
    }
}

/// Decision on a packet at the head.
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
    /// Time of the next signal; while `count` is 0, the time from which the queue is at rest.
    next: Time,
    /// Time of the last change of p.
    changed: Time,
    probability: f64,
    count: u32,
    dropping: bool,
    /// True once a signal or a decay has changed the count.
    has_counted: bool,
}

impl Cobalt {
    /// Returns the decision on the packet that has just been taken from the head of the queue. `too_long` is usually
    /// the result of [`CobaltTarget::is_exceeded`].
    pub fn judge(&mut self, aim: &CobaltTarget, too_long: bool, markable: bool, now: Time, rng: &mut Rng) -> Signal {
        let mut due = self.is_due(now);
        let mut passed = now > self.next;
        if too_long {
            if !self.dropping {
                self.restart(aim, now); // (C2)
                due &= !aim.whole_spells; // (C9)
                passed &= !aim.whole_spells;
            }
            self.count = self.count.max(1);
        } else if self.dropping && aim.whole_spells {
            self.restart(aim, now); // (C9)
            passed = false;
        }
        self.dropping = too_long;
        let mut signal = Signal::default();
        if due && too_long {
            signal = Signal { drop: !markable, mark: markable }; // (C3)
            self.count = self.count.saturating_add(1);
            self.has_counted = true;
            self.step(aim);
            passed = now > self.next;
        } else if due {
            self.run_down(aim, now);
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

    /// Records that a packet of the queue was dropped at a full buffer: rule (C6).
    pub fn overflowed(&mut self, aim: &CobaltTarget, now: Time) {
        self.raise(aim, now);
        (self.dropping, self.next, self.count) = (true, now, self.count.max(1));
    }

    /// Raises p as an overflow does, without a signal of CoDel.
    pub fn raise(&mut self, aim: &CobaltTarget, now: Time) {
        if now.saturating_sub(self.changed) > aim.target {
            self.probability = (self.probability + aim.increment).min(1.0);
            self.changed = now;
        }
    }

    /// Records that the queue was found empty: rule (C7).
    pub fn emptied(&mut self, aim: &CobaltTarget, now: Time) {
        if self.probability > 0.0 && now.saturating_sub(self.changed) > aim.target {
            self.probability = (self.probability - aim.decrement).max(0.0);
            self.changed = now;
        }
        let ends_spell = std::mem::take(&mut self.dropping);
        if self.is_due(now) {
            if aim.whole_spells { self.run_down(aim, now) } else { self.decay(aim) }
        }
        if ends_spell && aim.whole_spells {
            self.restart(aim, now); // (C9)
        }
    }

    /// Returns true if count and p have decayed to 0.
    #[must_use]
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.next
    }

    /// p of BLUE.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Number of signals that have not decayed yet, by (C4) and (C7).
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns true if the last delay was too long.
    #[must_use]
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.next
    }

    /// Applies rule (C4) to a count that is due.
    fn run_down(&mut self, aim: &CobaltTarget, now: Time) {
        self.decay(aim);
        while self.is_due(now) {
            self.decay(aim);
        }
    }

    fn decay(&mut self, aim: &CobaltTarget) {
        self.count -= 1;
        self.has_counted = true;
        self.step(aim);
    }

    /// Moves the next signal to one full step after `now`.
    fn restart(&mut self, aim: &CobaltTarget, now: Time) {
        self.next = now;
        self.step(aim);
    }

    fn step(&mut self, aim: &CobaltTarget) {
        if aim.starts_at_once && !self.has_counted {
            return;
        }
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
        whole_spells: false,
        starts_at_once: false,
    };
    const LONG: Time = Time::from_millis(50);
    const SHORT: Time = Time::from_millis(5);

    fn rng() -> Rng {
        Rng::stream(1, 0, "cobalt", 0)
    }

    /// Passes a packet with `sojourn` every millisecond in `span`. Returns the times of drops in ms.
    fn run(cobalt: &mut Cobalt, span: std::ops::Range<u64>, sojourn: Time) -> Vec<u64> {
        let mut rng = rng();
        span.filter(|&ms| cobalt.judge(&AIM, AIM.is_exceeded(sojourn), false, Time::from_millis(ms), &mut rng).drop)
            .collect()
    }

    #[test]
    fn the_first_spell_of_linux_is_signalled_at_once() {
        let aim = CobaltTarget { starts_at_once: true, ..AIM };
        let (mut cobalt, mut rng) = (Cobalt::default(), rng());
        let mut drops = |span: std::ops::Range<u64>, too_long| -> Vec<u64> {
            span.filter(|&ms| cobalt.judge(&aim, too_long, false, Time::from_millis(ms), &mut rng).drop).collect()
        };
        // The second packet that waits too long gets a signal. Then steps are 100 ms / sqrt(2) and 100 ms / sqrt(3).
        assert!(drops(0..10, false).is_empty());
        assert_eq!(drops(10..150, true), [11, 81, 139]);
        assert!(drops(150..2000, false).is_empty());
        // The count has decayed to 0, so the next signal comes an interval after the delay is too long again.
        assert_eq!(drops(2000..2150, true), [2100]);
    }

    #[test]
    fn drops_grow_with_the_square_root_of_their_number() {
        let mut cobalt = Cobalt::default();
        assert!(run(&mut cobalt, 0..10, SHORT).is_empty());
        // At 10 ms, (C2) sets next = 110 ms. The counts 2 to 5 then set next to 110 + 70.71 = 180.71 ms, + 57.74 =
        // 238.45 ms, + 50 = 288.45 ms, + 44.72 = 333.17 ms. Each signal comes at the first full millisecond from next
        // on.
        assert_eq!(run(&mut cobalt, 10..334, LONG), [110, 181, 239, 289]);
        assert_eq!(cobalt.count, 5);
    }

    #[test]
    fn count_decays_by_the_same_clock_and_makes_the_next_spell_start_faster() {
        let mut cobalt = Cobalt::default();
        run(&mut cobalt, 0..10, SHORT);
        run(&mut cobalt, 10..334, LONG);
        // next is 333.17 ms. With short delays, the count falls to 4 at 334 ms (next + 50 = 383.17 ms) and to 3 at 384
        // ms (next + 57.74 = 440.91 ms).
        assert!(run(&mut cobalt, 334..400, SHORT).is_empty());
        assert_eq!(cobalt.count, 3);
        // The delay is too long again at 400 ms. (C2) sets next = 400 + 100 / sqrt(3) = 457.74 ms.
        assert_eq!(run(&mut cobalt, 400..459, LONG), [458]);
        // After a long pause, one packet applies (C4) to all steps that have passed, and then (C5).
        assert!(!cobalt.judge(&AIM, false, false, Time::from_secs(10), &mut rng()).drop);
        assert_eq!((cobalt.count, cobalt.next), (0, Time::from_millis(10_100)));
    }

    #[test]
    fn a_signal_that_is_overdue_is_not_repeated_in_a_burst() {
        let mut cobalt = Cobalt { count: 100, next: Time::ZERO, dropping: true, ..Default::default() };
        let mut signal = |markable, ms| cobalt.judge(&AIM, true, markable, Time::from_millis(ms), &mut rng());
        // The signal at 0 is overdue at 1000 ms. The next one, at 100 / sqrt(101) = 9.95 ms, is also in the past. The
        // packet is marked, not dropped, so (C5) sets next to now.
        assert_eq!(signal(true, 1000), Signal { drop: false, mark: true });
        assert_eq!(cobalt.next, Time::from_millis(1000));
        // A drop leaves next in the past, so the next packet is dropped at the same time.
        let mut cobalt = Cobalt { count: 100, next: Time::ZERO, dropping: true, ..Default::default() };
        let drops = (0..10).filter(|_| cobalt.judge(&AIM, true, false, Time::from_millis(20), &mut rng()).drop).count();
        // With steps of 9.95, 9.90 and 9.85 ms, signals are due at 0, 9.95 and 19.85 ms. The next one is due at 29.70
        // ms, but all packets are at 20 ms.
        assert_eq!(drops, 3);
    }

    #[test]
    fn whole_spells_signal_only_after_a_step_without_a_good_delay() {
        let aim = CobaltTarget { whole_spells: true, ..AIM };
        let mut rng = rng();
        let mut signals = |cobalt: &mut Cobalt, delays: &mut dyn Iterator<Item = (u64, bool)>| {
            delays
                .filter(|&(ms, long)| cobalt.judge(&aim, long, true, Time::from_millis(ms), &mut rng).mark)
                .map(|(ms, _)| ms)
                .collect::<Vec<_>>()
        };
        // The delay is short every 90 ms, so it never stays above the target for 100 ms, regardless of the count.
        let mut cobalt = Cobalt { count: 1, ..Default::default() };
        assert!(signals(&mut cobalt, &mut (1000..4000).map(|ms| (ms, ms % 90 > 0))).is_empty());
        // CAKE's COBALT does not require this: it signals at the first packet after `next` whose delay is too long.
        let mut cake = Cobalt { count: 1, ..Default::default() };
        assert!(cake.judge(&AIM, true, true, Time::from_secs(1), &mut Rng::stream(1, 0, "cobalt", 0)).mark);
        // The delay is too long from 5000 ms on. The first signal comes 100 ms later, the next ones after 70.71 and
        // 57.74 ms.
        let mut cobalt = Cobalt::default();
        assert_eq!(signals(&mut cobalt, &mut (5000..5230).map(|ms| (ms, true))), [5100, 5171, 5229]);
        // With count 4, a short delay at 5230 ms moves next to 5280 ms. Then count 3 gives next + 57.74 = 5337.74 ms,
        // and count 2 adds 70.71 ms, which is 5408.45 ms.
        assert_eq!(cobalt.count, 4);
        assert!(signals(&mut cobalt, &mut (5230..5340).map(|ms| (ms, false))).is_empty());
        assert_eq!(cobalt.count, 2);
        // A single visit to the empty queue decreases the count to 0.
        cobalt.emptied(&aim, Time::from_secs(60));
        assert_eq!(cobalt.count, 0);
    }

    #[test]
    fn the_target_and_the_spared_delay_are_not_too_long_themselves() {
        let longer = |time: Time| time + Time::from_nanos(1);
        assert!(!AIM.is_exceeded(SHORT) && AIM.is_exceeded(longer(SHORT)));
        let slow = CobaltTarget { spared: LONG, ..AIM };
        assert!(!slow.is_exceeded(LONG) && slow.is_exceeded(longer(LONG)));
    }

    #[test]
    fn blue_grows_by_overflow_and_shrinks_by_idle_visits_once_per_target() {
        let mut cobalt = Cobalt::default();
        let at = Time::from_micros;
        for us in [5000, 5001, 7500, 10_001, 10_002, 15_002] {
            cobalt.overflowed(&AIM, at(us));
        }
        // p rises only more than 5 ms after its previous rise, whose time is initially 0. This holds at 5001 and 10 002
        // us, but not at 5000 or 15 002 us.
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
        let drops = (0..10_000).filter(|_| cobalt.judge(&AIM, false, true, Time::ZERO, &mut rng).drop).count();
        // Among 10 000 draws with probability 1/4, the number of hits has a mean of 2500 and a standard deviation of
        // 43.3; the test allows five times that.
        assert!(drops.abs_diff(2500) < 217, "{drops}");
    }
}
