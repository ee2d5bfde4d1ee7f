//! Record of a flow with drops: rules (3) to (6).

use crate::base::units::Time;

/// Intervals covered by the history of drops.
pub(super) const HISTORY: usize = 5;
/// Intervals with drops that make a flow regular.
const REGULAR: usize = 3;
/// Minimum number of intervals between two increases of a flow's p_f.
const PUNISH_PAUSE: u64 = 4;
const PUNISH_PAUSE_TIME: Time = Time::from_millis(400);

/// Record of a flow with drops.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowRecord {
    /// Bytes dropped by RED, per interval. The index of the current interval is the port's `slot`.
    pub(super) dropped: [u64; HISTORY + 1],
    pub(super) monitor: Option<Box<Monitor>>,
}

/// State of a monitored flow, whose packets the prefilter may drop.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    pub(super) probability: f64,
    /// Packets since the prefilter's last drop.
    pub(super) count: u32,
    /// Interval and time of the last change.
    pub(super) changed: (u64, Time),
    pub(super) reacts: bool,
    /// Bytes that arrived in this interval. `lost` is the part of them that the prefilter or RED dropped.
    pub(super) arrived: u64,
    pub(super) lost: u64,
    /// Rate in bytes per second and drop rate of the last intervals with arrivals, oldest first.
    pub(super) history: [(f64, f64); HISTORY],
    pub(super) known: usize,
}

/// Values at the end of an interval that apply to all flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) number: u64,
    pub(super) end: Time,
    pub(super) lasted_s: f64,
    /// Index of the interval that ended.
    pub(super) slot: usize,
    pub(super) usable: f64,
    pub(super) quiet: bool,
    pub(super) mean_dropped: f64,
}

impl Monitor {
    pub(super) fn new(probability: f64, interval: &Interval) -> Self {
        Self {
            probability,
            count: 0,
            changed: (interval.number, interval.end),
            reacts: true,
            arrived: 0,
            lost: 0,
            history: [(0.0, 0.0); HISTORY],
            known: 0,
        }
    }

    /// Adds the interval to the history and decides if the flow reacts: rule (6).
    pub(super) fn test(&mut self, interval: &Interval) {
        if self.arrived == 0 {
            return;
        }
        if self.known == HISTORY {
            self.history.rotate_left(1);
            self.known -= 1;
        }
        self.history[self.known] = (self.arrived as f64 / interval.lasted_s, self.lost as f64 / self.arrived as f64);
        self.known += 1;
        (self.arrived, self.lost) = (0, 0);
        let (mut good, mut bad) = (0, 0);
        for newer in 1..self.known {
            for older in 0..newer {
                let ((rate1, drops1), (rate2, drops2)) = (self.history[older], self.history[newer]);
                let x = drops1 / drops2;
                if x > 0.1 && x < 1.0 {
                    if rate2 / rate1 > x.sqrt() { bad += 1 } else { good += 1 }
                }
            }
        }
        self.reacts = !match good {
            0 => bad >= 3,
            1 => bad >= 4,
            _ => bad >= 4 * good,
        };
    }

    pub(super) fn set(&mut self, probability: f64, interval: &Interval) {
        self.probability = probability;
        self.changed = (interval.number, interval.end);
    }
}

impl FlowRecord {
    /// Returns the number of finished intervals with drops. `slot` is the index of the interval that has just ended.
    /// The entry after it belongs to the next interval and does not count.
    pub(super) fn lists(&self, slot: usize) -> usize {
        let running = (slot + 1) % (HISTORY + 1);
        (0..=HISTORY).filter(|&i| i != running && self.dropped[i] > 0).count()
    }

    /// Bytes dropped in the finished intervals.
    pub(super) fn total(&self, slot: usize) -> u64 {
        let running = (slot + 1) % (HISTORY + 1);
        (0..=HISTORY).filter(|&i| i != running).map(|i| self.dropped[i]).sum()
    }

    pub(super) fn is_regular(&self, slot: usize) -> bool {
        self.lists(slot) >= REGULAR
    }

    /// Applies rules (3) and (4).
    pub(super) fn punish(&mut self, interval: &Interval) {
        if interval.quiet || !self.is_regular(interval.slot) || self.dropped[interval.slot] == 0 {
            return;
        }
        let pre = interval.usable * self.total(interval.slot) as f64 / interval.mean_dropped;
        let Some(monitor) = &mut self.monitor else {
            let probability = pre.min(2.0 * interval.usable).min(0.5);
            self.monitor = Some(Box::new(Monitor::new(probability, interval)));
            return;
        };
        let (number, at) = monitor.changed;
        if interval.number - number < PUNISH_PAUSE || interval.end.saturating_sub(at) < PUNISH_PAUSE_TIME {
            return;
        }
        let old = monitor.probability;
        let (factor, rest) = if monitor.reacts { (1.0, 2.0) } else { (2.0, 3.0) };
        let raised = if pre > old { (1.0 + factor) * old } else { old + factor * pre };
        monitor.set(if raised > 1.0 { 1.0 - (1.0 - old) / rest } else { raised }, interval);
    }

    /// Applies rule (5).
    pub(super) fn reward(&mut self, interval: &Interval) {
        let lists = self.lists(interval.slot);
        let Some(monitor) = &mut self.monitor else { return };
        let (pause, floor, divisor) = if monitor.reacts { (3, 0.005, 2.0) } else { (5, 0.0025, 1.5) };
        if lists > 0 || interval.number - monitor.changed.0 < pause {
            return;
        }
        let old = monitor.probability;
        if old <= floor {
            self.monitor = None;
        } else {
            monitor.set(if old > 0.1 { old - 0.05 } else { old / divisor }, interval);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    fn interval(number: u64, usable: f64) -> Interval {
        Interval {
            number,
            end: Time::from_millis(400 * number),
            lasted_s: 0.4,
            slot: (number % 6) as usize,
            usable,
            quiet: false,
            mean_dropped: 1000.0,
        }
    }

    /// Returns a record at the end of interval 10, with `dropped` bytes in each of the last five intervals.
    fn record(dropped: u64, probability: Option<f64>, reacts: bool) -> FlowRecord {
        let mut record = FlowRecord { dropped: [dropped; 6], monitor: None };
        record.dropped[11 % 6] = 0; // the interval that comes next
        record.monitor = probability.map(|p| Box::new(Monitor { reacts, ..Monitor::new(p, &interval(0, 0.0)) }));
        record
    }

    fn punished(mut record: FlowRecord, interval: &Interval) -> f64 {
        record.punish(interval);
        record.monitor.map_or(0.0, |monitor| monitor.probability)
    }

    #[test]
    fn rules_3_and_4_raise_the_probability_of_regular_flows() {
        let at = interval(10, 0.05);
        // The flow lost 5*200 B and the mean of regular flows is 1000 B, so pre = usable.
        close(punished(record(200, None, true), &at), 0.05);
        close(punished(record(2000, None, true), &at), 0.1); // at most 2*usable
        close(punished(record(20_000, None, true), &interval(10, 0.4)), 0.5);
        close(punished(record(200, Some(0.2), true), &at), 0.25); // p_f + pre
        close(punished(record(200, Some(0.02), true), &at), 0.04); // 2*p_f
        close(punished(record(200, Some(0.2), false), &at), 0.3); // p_f + 2*pre
        close(punished(record(200, Some(0.02), false), &at), 0.06); // 3*p_f
        close(punished(record(200, Some(0.97), true), &at), 1.0 - 0.03 / 2.0); // 1.02 > 1
        close(punished(record(200, Some(0.97), false), &at), 1.0 - 0.03 / 3.0);
        // Flows that are not punished: not regular, without a drop in the last interval, in a quiet interval, or
        // changed recently.
        let mut two = FlowRecord::default();
        (two.dropped[10 % 6], two.dropped[9 % 6]) = (500, 500);
        close(punished(two, &at), 0.0);
        let mut past = record(200, None, true);
        past.dropped[10 % 6] = 0;
        close(punished(past, &at), 0.0);
        close(punished(record(200, None, true), &Interval { quiet: true, ..at }), 0.0);
        let mut recent = record(200, Some(0.2), true);
        recent.monitor.as_mut().unwrap().changed = (7, Time::ZERO);
        close(punished(recent, &at), 0.2);
        let mut recent = record(200, Some(0.2), true);
        recent.monitor.as_mut().unwrap().changed = (0, Time::from_millis(3_700));
        close(punished(recent, &at), 0.2);
    }

    #[test]
    fn rule_5_lowers_and_releases() {
        let rewarded = |dropped, probability, reacts, changed| {
            let mut record = record(dropped, Some(probability), reacts);
            record.monitor.as_mut().unwrap().changed = (changed, Time::ZERO);
            record.reward(&interval(10, 0.0));
            record.monitor.map(|monitor| monitor.probability)
        };
        close(rewarded(0, 0.3, true, 0).unwrap(), 0.25);
        close(rewarded(0, 0.1, true, 0).unwrap(), 0.05);
        close(rewarded(0, 0.09, false, 0).unwrap(), 0.06);
        assert_eq!(rewarded(0, 0.005, true, 0), None);
        assert_eq!(rewarded(0, 0.0025, false, 0), None);
        assert!(rewarded(0, 0.005, false, 0).is_some());
        assert_eq!(rewarded(1, 0.3, true, 0), Some(0.3)); // one interval still has drops
        assert_eq!(rewarded(0, 0.3, true, 8), Some(0.3)); // 2 intervals ago
        assert_eq!(rewarded(0, 0.3, false, 6), Some(0.3)); // 4 < 5
        close(rewarded(0, 0.3, true, 7).unwrap(), 0.25);
    }

    #[test]
    fn rule_6_compares_the_change_of_rate_with_the_square_root_of_the_drop_rates() {
        let reacts = |rates: &[(u64, u64)]| {
            let mut monitor = Monitor::new(0.1, &interval(0, 0.0));
            for &(arrived, lost) in rates {
                (monitor.arrived, monitor.lost) = (arrived, lost);
                monitor.test(&interval(1, 0.0));
            }
            monitor.reacts
        };
        // The rate is constant while the drop rate doubles. Two intervals make only one bad pair; three intervals make
        // three.
        assert!(reacts(&[(10_000, 500), (10_000, 1_000)]));
        assert!(!reacts(&[(10_000, 500), (10_000, 1_000), (10_000, 2_000)]));
        // The rate falls slightly faster than 1/sqrt(p): its factor per interval, 0.70, is less than sqrt(1/2).
        assert!(reacts(&[(10_000, 500), (7_000, 700), (4_900, 980), (3_430, 1_372)]));
        // Pairs of equal drop rates and intervals without arrivals are ignored.
        assert!(reacts(&[(10_000, 500); 5]));
        assert!(reacts(&[(10_000, 500), (0, 0), (0, 0), (0, 0)]));
        // The history forgets the first of six intervals. Drop rates are 0.02, then 0.04 four times. The first interval
        // makes a bad pair with each of the other four, but only while it is in the history.
        assert!(!reacts(&[(10_000, 200), (10_000, 400), (10_000, 400), (10_000, 400)]));
        assert!(reacts(&[(10_000, 200), (10_000, 400), (10_000, 400), (10_000, 400), (10_000, 400), (10_000, 400)]));
        // The drop rate rises from 0.01 to 0.02 and to 0.04, while the arrival rate falls to a tenth: two good pairs.
        // From 0.02 to 0.04 the arrival rate is constant: a bad pair. The flow reacts, since bad pairs count only if
        // there are four for each good one.
        assert!(reacts(&[(100_000, 1_000), (10_000, 200), (10_000, 400)]));
    }
}
