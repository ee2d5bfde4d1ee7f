//! The length of a queue in the unit of thresholds: packets, bytes, or the expected delay of an arrival.
//!
//! Source: abc2018 III-C2.
//!
//! On links whose rate varies, thresholds are expected queueing delays instead of packets or bytes. The paper gives no
//! formula. We use the backlog divided by the link rate. The rate is known, or measured from departures (ratio of
//! exponentially weighted sums of bits and of busy time, memory 0.1 s). Alternatively, we use the waiting time of the
//! head of the queue, which reacts later by one queueing delay.

use crate::base::units::{QueueMeasure, Threshold, Time};
use crate::choices;
use crate::contract::aqm::QueueView;
use crate::contract::discipline::Backlog;

choices! {
    /// Source of an expected queueing delay.
    pub enum DelayEstimate {
        /// Backlog divided by the link's current rate.
        LinkRate = "link_rate",
        /// Backlog divided by the departure rate, measured while packets wait.
        Departures = "departures",
        /// Waiting time of the packet at the head of the queue.
        Sojourn = "sojourn",
    }
}

/// Returns true if the queue is shorter than `threshold`. A delay is the backlog divided by the link rate.
#[inline]
pub fn is_shorter(queue: &QueueView, threshold: Threshold) -> bool {
    match threshold {
        Threshold::Packets(packets) => f64::from(queue.backlog.packets) < packets,
        Threshold::Bytes(bytes) => (queue.backlog.bytes as f64) < bytes,
        Threshold::Delay(delay) => queue.backlog.bytes as f64 * 8.0 < delay.as_secs_f64() * queue.link_rate.as_f64(),
    }
}

/// Measures a queue in the unit of its thresholds.
#[derive(Clone, Debug)]
pub struct QueueLength {
    kind: LengthKind,
    departures: DepartureRate,
}

impl QueueLength {
    /// Creates a measurement in the unit `measure`; `estimate` has an effect only if this unit is a delay.
    #[must_use]
    pub fn new(measure: QueueMeasure, estimate: DelayEstimate) -> Self {
        Self { kind: LengthKind { measure, estimate }, departures: DepartureRate::default() }
    }

    /// Length of the queue: packets, bytes, or seconds.
    #[inline]
    pub fn of(&self, queue: &QueueView, now: Time) -> f64 {
        self.kind.of(queue, &self.departures, now)
    }

    /// Records the start of a packet's transmission, after which `backlog` waits.
    #[inline]
    pub fn departed(&mut self, wire_bytes: u32, backlog: Backlog, now: Time) {
        self.kind.departed(&mut self.departures, wire_bytes, backlog, now);
    }
}

/// Unit and source of a [`QueueLength`]: two bytes, which a caller may store separately from the [`DepartureRate`].
#[derive(Clone, Copy, Debug)]
pub struct LengthKind {
    /// The unit.
    pub measure: QueueMeasure,
    /// Source of the delay.
    pub estimate: DelayEstimate,
}

impl LengthKind {
    /// See [`QueueLength::of`].
    #[inline]
    pub fn of(self, queue: &QueueView, departures: &DepartureRate, now: Time) -> f64 {
        match self.measure {
            QueueMeasure::Packets => f64::from(queue.backlog.packets),
            QueueMeasure::Bytes => queue.backlog.bytes as f64,
            QueueMeasure::Delay => self.expected_delay_s(queue, departures, now),
        }
    }

    /// See [`QueueLength::departed`].
    #[inline]
    pub fn departed(self, departures: &mut DepartureRate, wire_bytes: u32, backlog: Backlog, now: Time) {
        if self.measure == QueueMeasure::Delay && self.estimate == DelayEstimate::Departures {
            departures.departed(wire_bytes, backlog, now);
        }
    }

    fn expected_delay_s(self, queue: &QueueView, departures: &DepartureRate, now: Time) -> f64 {
        let bits = queue.backlog.bytes as f64 * 8.0;
        match self.estimate {
            DelayEstimate::LinkRate => bits / queue.link_rate.as_f64(),
            DelayEstimate::Departures => bits / departures.bits_per_s().unwrap_or(queue.link_rate.as_f64()),
            DelayEstimate::Sojourn => queue.head_enqueued_at.map_or(0.0, |at| now.saturating_sub(at).as_secs_f64()),
        }
    }
}

/// Rate of the link, measured from its departures while packets wait.
#[derive(Clone, Debug, Default)]
pub struct DepartureRate {
    bits: f64,
    busy_s: f64,
    /// Length and start of the transmission in progress, if the next transmission follows without a gap.
    in_progress: Option<(u32, Time)>,
}

impl DepartureRate {
    const MEMORY_S: f64 = 0.1;

    fn departed(&mut self, wire_bytes: u32, backlog: Backlog, now: Time) {
        if let Some((bytes, start)) = self.in_progress {
            let lasted_s = now.saturating_sub(start).as_secs_f64();
            let decay = libm::exp(-lasted_s / Self::MEMORY_S);
            self.bits = self.bits * decay + f64::from(bytes) * 8.0;
            self.busy_s = self.busy_s * decay + lasted_s;
        }
        self.in_progress = (backlog.packets > 0).then_some((wire_bytes, now));
    }

    fn bits_per_s(&self) -> Option<f64> {
        (self.busy_s > 0.0).then(|| self.bits / self.busy_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::BitRate;

    const TEN_PACKETS: QueueView = QueueView {
        backlog: Backlog { packets: 10, bytes: 15_000 },
        head_enqueued_at: Some(Time::from_millis(3)),
        link_rate: BitRate(10_000_000),
    };

    #[test]
    fn each_measure_has_its_unit() {
        let length = |measure, estimate| QueueLength::new(measure, estimate).of(&TEN_PACKETS, Time::from_millis(20));
        assert_eq!(length(QueueMeasure::Packets, DelayEstimate::LinkRate), 10.0);
        assert_eq!(length(QueueMeasure::Bytes, DelayEstimate::LinkRate), 15_000.0);
        // Sending the backlog takes 10 * 12 000 bit / 10 Mbit/s = 12 ms. The head arrived 17 ms ago.
        assert!((length(QueueMeasure::Delay, DelayEstimate::LinkRate) - 0.012).abs() < 1e-12);
        assert!((length(QueueMeasure::Delay, DelayEstimate::Sojourn) - 0.017).abs() < 1e-12);
    }

    #[test]
    fn a_threshold_is_met_by_a_queue_of_its_length() {
        // 10 packets of 1500 B take 12 ms at 10 Mbit/s.
        for (at, above) in [
            (Threshold::Packets(10.0), Threshold::Packets(10.5)),
            (Threshold::Bytes(15_000.0), Threshold::Bytes(15_001.0)),
            (Threshold::Delay(Time::from_millis(12)), Threshold::Delay(Time::from_micros(12_001))),
        ] {
            assert!(!is_shorter(&TEN_PACKETS, at) && is_shorter(&TEN_PACKETS, above));
        }
    }

    #[test]
    fn departures_show_the_rate_of_the_link_whatever_is_declared() {
        let mut length = QueueLength::new(QueueMeasure::Delay, DelayEstimate::Departures);
        // A 5 Mbit/s link serves 1500 B in 2.4 ms; idle time in between must not count.
        let mut now = Time::ZERO;
        for round in 0..200 {
            let waiting = if round % 10 == 9 { 0 } else { 5 };
            length.departed(1500, Backlog { packets: waiting, bytes: 0 }, now);
            now += if waiting == 0 { Time::from_millis(50) } else { Time::from_micros(2400) };
        }
        assert!((length.of(&TEN_PACKETS, now) - 0.024).abs() < 1e-9);
    }
}
