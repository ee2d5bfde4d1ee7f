//! A threshold on the length of the queue; by default a fraction of the limit.

use crate::base::config::{ConfigError, Table};
use crate::base::units::{QueueLimit, QueueMeasure, Threshold, Time};
use crate::contract::aqm::QueueView;
use crate::queue::queue_length::{DelayEstimate, QueueLength};

/// A threshold and its unit.
#[derive(Clone, Copy, Debug)]
pub struct QueueThreshold {
    value: f64,
    measure: QueueMeasure,
}

impl QueueThreshold {
    /// Uses `given` or, if absent, `fraction` of the limit, in the unit of the limit.
    #[must_use]
    pub fn new(given: Option<Threshold>, fraction: f64, limit: QueueLimit) -> Self {
        let threshold = given.unwrap_or(limit.part(fraction));
        Self { value: threshold.magnitude(), measure: threshold.measure() }
    }

    /// Checks that `given`, of key `name`, is not above the limit, if the two have comparable units.
    ///
    /// # Errors
    /// If the threshold is above the limit or not a valid number.
    pub fn check(
        name: &str,
        given: impl Into<Option<Threshold>>,
        limit: QueueLimit,
        table: &Table<'_>,
    ) -> Result<(), ConfigError> {
        let Some(threshold) = given.into() else { return Ok(()) };
        let most = match (limit, threshold.measure()) {
            (QueueLimit::Packets(packets), QueueMeasure::Packets) => Some(f64::from(packets)),
            (QueueLimit::Bytes(bytes), QueueMeasure::Bytes) => Some(bytes as f64),
            _ => None,
        };
        if (0.0..=most.unwrap_or(1e12)).contains(&threshold.magnitude()) {
            return Ok(());
        }
        let text = most.map_or("1e12".into(), |_| format!("the limit of the queue, {limit}"));
        Err(ConfigError::new(table.key(name), format!("\"{threshold}\" is out of range, it must be from 0 to {text}")))
    }

    /// The threshold: packets, bytes, or seconds.
    #[must_use]
    #[inline]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The unit of the threshold.
    #[must_use]
    pub fn measure(&self) -> QueueMeasure {
        self.measure
    }

    /// Length of the queue in the unit of the threshold. A delay is the backlog divided by the link's rate.
    #[must_use]
    #[inline]
    pub fn length(&self, queue: &QueueView, now: Time) -> f64 {
        QueueLength::new(self.measure, DelayEstimate::LinkRate).of(queue, now)
    }

    /// Returns true if the queue is at least as long as the threshold.
    #[must_use]
    #[inline]
    pub fn is_reached(&self, queue: &QueueView, now: Time) -> bool {
        self.length(queue, now) >= self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::BitRate;
    use crate::contract::discipline::Backlog;
    use serde_json::json;

    const VIEW: QueueView = QueueView {
        backlog: Backlog { packets: 10, bytes: 15_000 },
        head_enqueued_at: None,
        link_rate: BitRate(10_000_000),
    };

    #[test]
    fn an_absent_threshold_is_a_part_of_the_limit_in_its_unit() {
        let reached = |fraction, limit| QueueThreshold::new(None, fraction, limit).is_reached(&VIEW, Time::ZERO);
        assert!(reached(0.5, QueueLimit::Packets(20)) && !reached(0.5, QueueLimit::Packets(21)));
        assert!(reached(0.5, QueueLimit::Bytes(30_000)) && !reached(0.5, QueueLimit::Bytes(30_002)));
    }

    #[test]
    fn a_given_threshold_is_compared_in_its_own_unit() {
        // 15 000 bytes at 10 Mbit/s take 12 ms.
        let threshold = |given| QueueThreshold::new(Some(given), 0.5, QueueLimit::Packets(1000));
        let reached = |given| threshold(given).is_reached(&VIEW, Time::ZERO);
        assert!(reached(Threshold::Delay(Time::from_millis(12))) && !reached(Threshold::Delay(Time::from_millis(13))));
        assert!(reached(Threshold::Packets(9.5)) && !reached(Threshold::Packets(10.5)));
        assert_eq!(threshold(Threshold::Bytes(7.0)).value(), 7.0);
    }

    #[test]
    fn a_threshold_above_the_limit_is_refused() {
        let value = json!({});
        let table = Table::new("queue", &value).unwrap();
        let check = |given, limit| QueueThreshold::check("gate", given, limit, &table).map_err(|e| e.to_string());
        assert_eq!(check(None, QueueLimit::Packets(5)), Ok(()));
        assert_eq!(check(Some(Threshold::Packets(5.0)), QueueLimit::Packets(5)), Ok(()));
        assert_eq!(check(Some(Threshold::Packets(9.0)), QueueLimit::Bytes(5)), Ok(()));
        assert_eq!(
            check(Some(Threshold::Packets(6.0)), QueueLimit::Packets(5)),
            Err(r#"queue.gate: "6 packets" is out of range, it must be from 0 to the limit of the queue, 5 packets"#
                .into())
        );
        assert!(check(Some(Threshold::Bytes(6.0)), QueueLimit::Bytes(5)).is_err());
        assert!(check(Some(Threshold::Bytes(1e13)), QueueLimit::Packets(5)).unwrap_err().ends_with("from 0 to 1e12"));
    }
}
