//! The threshold of the activity AQM in integers: abc2018 eq. (10).
//!
//! Queues and thresholds are integers in a unit that the host selects: bytes, or sixteenths of a packet ([`PACKET`]),
//! which permit thresholds with fractions of a packet.

use super::{Activity, OutOfRange};

/// One packet, when the unit is a sixteenth of a packet.
pub const PACKET: i64 = 16;

/// Q_min, Q_base and gamma of one port, in the unit of its queue. Takes 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedThreshold {
    q_min: i64,
    q_base: i64,
    gamma: i64,
}

impl FixedThreshold {
    /// Maximum of the thresholds: 1 TB if the unit is a byte.
    pub const MAX: i64 = 1 << 40;

    /// Creates thresholds from 0 to [`FixedThreshold::MAX`].
    ///
    /// # Errors
    ///
    /// If a threshold is out of range.
    pub fn new(q_min: i64, q_base: i64, gamma: i64) -> Result<Self, OutOfRange> {
        for (name, value) in [("q_min", q_min), ("q_base", q_base), ("gamma", gamma)] {
            if !(0..=Self::MAX).contains(&value) {
                return Err(OutOfRange { name, min: "0".into(), max: Self::MAX.to_string() });
            }
        }
        Ok(Self { q_min, q_base, gamma })
    }

    /// Shortest queue at which a packet is dropped.
    ///
    /// ```text
    /// T_drop = max(Q_min, Q_base - gamma * (A - A_avg)),  rounded up to a whole unit
    /// ```
    ///
    /// Error: the result is too high by less than a unit. The decision has no error: the queue is an integer, so
    /// comparing it with T_drop rounded up gives the same result.
    ///
    /// 64 bits suffice: 2^40 times a difference of less than 2^22. The shift of the signed product rounds down.
    #[must_use]
    #[inline]
    pub fn drop_threshold(&self, activity: Activity, average: Activity) -> i64 {
        let excess = i64::from(activity.units()) - i64::from(average.units());
        self.q_min.max(self.q_base - ((self.gamma * excess) >> Activity::FRACTION_BITS)) // eq. (10)
    }

    /// Returns true if a packet that arrives at this queue is dropped: `Q >= T_drop`, "not smaller than" (abc2018
    /// III-C2).
    #[must_use]
    #[inline]
    pub fn drops(&self, queue: i64, activity: Activity, average: Activity) -> bool {
        queue >= self.drop_threshold(activity, average)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Q_min, Q_base, gamma = 12, 20, 16 packets: abc2018 Table 1.
    fn published() -> FixedThreshold {
        FixedThreshold::new(12 * PACKET, 20 * PACKET, 16 * PACKET).unwrap()
    }

    #[test]
    fn equation_10_shortens_the_queue_for_the_more_active() {
        let average = Activity::from_f64(7.0);
        // Pairs of (excess, shortest queue in packets at which the packet is dropped).
        for (excess, packets) in [(0.0, 20), (0.25, 16), (0.3, 16), (0.5, 12), (9.0, 12), (-0.25, 24)] {
            let activity = Activity::from_f64(7.0 + excess);
            let first = (0..100).find(|queue| published().drops(queue * PACKET, activity, average));
            assert_eq!(first, Some(packets), "{excess}");
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        let max = FixedThreshold::MAX;
        let widest = FixedThreshold::new(0, max, max).unwrap();
        // The largest difference is 2^22 - 1 units of 2^-16: 63.99998.
        assert_eq!(widest.drop_threshold(Activity::MAX, Activity::MIN), 0);
        assert_eq!(widest.drop_threshold(Activity::MIN, Activity::MAX), max + (max / 65_536) * 4_194_303);
    }

    #[test]
    fn thresholds_out_of_range_are_refused_with_the_range() {
        let error = FixedThreshold::new(0, -1, 0).unwrap_err();
        assert_eq!(error.to_string(), "q_base must be from 0 to 1099511627776");
        assert!(FixedThreshold::new(0, 0, FixedThreshold::MAX + 1).is_err());
    }

    proptest! {
        #[test]
        fn decisions_are_those_of_the_real_formula(
            thresholds in (0i64..1 << 20, 0i64..1 << 20, 0i64..1 << 20),
            biased: u32,
            excess in -200_000i32..200_000,
            distance in -2i64..=2,
        ) {
            let (q_min, q_base, gamma) = thresholds;
            let fixed = FixedThreshold::new(q_min, q_base, gamma).unwrap();
            let activity = Activity::from_biased(biased);
            let average = Activity::from_units(activity.units() - excess);
            // The product of 20 bits and 19 bits is exact in f64.
            let excess = activity.to_f64() - average.to_f64();
            let real = f64::max(q_min as f64, q_base as f64 - gamma as f64 * excess);
            let threshold = fixed.drop_threshold(activity, average);
            prop_assert!((0.0..1.0).contains(&(threshold as f64 - real)));
            let queue = threshold + distance;
            prop_assert_eq!(fixed.drops(queue, activity, average), queue as f64 >= real);
        }
    }
}
