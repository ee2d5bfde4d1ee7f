//! Responsiveness under working conditions: round trips per minute, measured with probes under load.
//!
//! Source: draft-ietf-ippm-responsiveness-09, "Measuring Responsiveness" and "Aggregating the Measurements", the
//! TCP-only case.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | foreign probes measure the handshake, `tcp_f`, and request and response, `http_f`, of a new connection | [`ResponsivenessProbe::foreign`] |
//! | (2) | self probes measure the round trip on a load-generating connection, `http_l` | [`ResponsivenessProbe::on_load`] |
//! | (3) | `TM`: the mean of the samples up to their 95th percentile | [`trimmed_mean_s`] |
//! | (4) | `Foreign = 60 s / ((TM(tcp_f) + TM(http_f)) / 2)` | [`ResponsivenessProbe::foreign_rpm`] |
//! | (5) | `Loaded = 60 s / TM(http_l)` | [`ResponsivenessProbe::loaded_rpm`] |
//! | (6) | `Responsiveness = (Foreign + Loaded) / 2` | [`ResponsivenessProbe::rpm`] |
//!
//! Cost: a few operations per probe, and at most 24 kB for each group.
//!
//! Deviations:
//! 1. There is no TLS, so there is no TLS handshake `tls_f`. Rules 4 to 6 are those of the draft for this case.
//! 2. `http_l` is the smoothed round-trip time of one of the user's load-generating connections, drawn at random at the
//!    time of each foreign probe. The draft permits this where requests cannot be multiplexed into the load.
//! 3. The number of load-generating connections is fixed, whereas the draft adds connections until goodput and
//!    responsiveness are stable. The warm-up of the run replaces that phase. The measurement replaces the draft's last
//!    intervals.
//! 4. Data go upstream: `tcp_f` is the round trip of SYN and SYN-ACK, `http_f` the round trip of a segment with one
//!    byte and its ACK. If this segment is retransmitted, the time before the retransmission is included in `tcp_f`.
//! 5. Probes are a Poisson process, so that they do not synchronise with other events.
//! 6. Samples are in a histogram of 16 steps per octave, so trimmed means have an error of at most 3.2 %.
//!
//! Not implemented: the growth of the load, the limit of the probes' share of the capacity, the confidence rating.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::port::DelayHistogram;

/// Trimmed mean percentile, TMP in the draft.
const KEPT: f64 = 0.95;
/// Number of quantiles that a trimmed mean averages.
const PARTS: u32 = 1000;

/// The probes of a group.
#[derive(Clone, Debug)]
pub struct ResponsivenessProbe {
    measured_from: Time,
    handshakes: DelayHistogram,
    requests: DelayHistogram,
    on_load: DelayHistogram,
}

impl ResponsivenessProbe {
    /// Creates a counter of probes that start from `measured_from` on.
    #[must_use]
    pub fn new(measured_from: Time) -> Self {
        Self {
            measured_from,
            handshakes: DelayHistogram::default(),
            requests: DelayHistogram::default(),
            on_load: DelayHistogram::default(),
        }
    }

    /// Adds the counts of the probe in another part of the same network.
    pub fn add(&mut self, other: &Self) {
        self.handshakes.add(&other.handshakes);
        self.requests.add(&other.requests);
        self.on_load.add(&other.on_load);
    }

    /// Records the answer to a probe (rule 1). The connection was opened at `start`, and the request was sent at
    /// `request`.
    pub fn foreign(&mut self, start: Time, request: Time, now: Time) {
        if start >= self.measured_from {
            self.handshakes.record(request - start);
            self.requests.record(now - request);
        }
    }

    /// Records the round-trip time of a load-generating connection (rule 2). `rtt` is zero if the connection has no
    /// sample yet.
    pub fn on_load(&mut self, now: Time, rtt: Time) {
        if now >= self.measured_from && rtt > Time::ZERO {
            self.on_load.record(rtt);
        }
    }

    /// Answered foreign probes.
    #[must_use]
    pub fn probes(&self) -> u64 {
        self.handshakes.count()
    }

    /// `TM(tcp_f)`, `TM(http_f)` and `TM(http_l)` in seconds; `None` without samples.
    #[must_use]
    pub fn trimmed_means_s(&self) -> [Option<f64>; 3] {
        [&self.handshakes, &self.requests, &self.on_load].map(trimmed_mean_s)
    }

    /// Round trips per minute on separate connections. Rule 4.
    #[must_use]
    pub fn foreign_rpm(&self) -> Option<f64> {
        let [handshake, request, _] = self.trimmed_means_s();
        Some(60.0 / f64::midpoint(handshake?, request?))
    }

    /// Round trips per minute on load-generating connections. Rule 5.
    #[must_use]
    pub fn loaded_rpm(&self) -> Option<f64> {
        let [_, _, on_load] = self.trimmed_means_s();
        Some(60.0 / on_load?)
    }

    /// Responsiveness in round trips per minute. Rule 6.
    #[must_use]
    pub fn rpm(&self) -> Option<f64> {
        Some(f64::midpoint(self.foreign_rpm()?, self.loaded_rpm()?))
    }
}

/// Mean of the quantiles up to the 95th percentile. Rule 3.
fn trimmed_mean_s(samples: &DelayHistogram) -> Option<f64> {
    let quantile = |part: u32| samples.quantile_s(KEPT * (f64::from(part) + 0.5) / f64::from(PARTS));
    (samples.count() > 0).then(|| (0..PARTS).map(quantile).sum::<f64>() / f64::from(PARTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responsiveness_is_that_of_the_formula_by_hand() {
        // A tcp_f of 20 ms and an http_f of 40 ms give 60/0.03 = 2000 round trips per minute; an http_l of 100 ms gives
        // 600. The mean is 1300. The tolerance is 3.2 % for each.
        let mut probe = ResponsivenessProbe::new(Time::from_secs(1));
        assert_eq!((probe.rpm(), probe.foreign_rpm(), probe.loaded_rpm()), (None, None, None));
        let at = |ms| Time::from_secs(2) + Time::from_millis(ms);
        for _ in 0..10 {
            probe.foreign(at(0), at(20), at(60));
            probe.on_load(at(0), Time::from_millis(100));
        }
        // A probe before the measurement and a connection without a sample do not count.
        probe.foreign(Time::ZERO, Time::from_millis(1), Time::from_millis(2));
        probe.on_load(at(0), Time::ZERO);
        assert_eq!(probe.probes(), 10);
        assert!((probe.foreign_rpm().unwrap() / 2000.0 - 1.0).abs() < 0.033);
        assert!((probe.loaded_rpm().unwrap() / 600.0 - 1.0).abs() < 0.033);
        assert!((probe.rpm().unwrap() / 1300.0 - 1.0).abs() < 0.033);
    }

    #[test]
    fn the_largest_twentieth_is_left_out() {
        // The first histogram has samples of 1, 2 ... 100 ms; those up to the 95th percentile have a mean of 48 ms. The
        // second has 95 samples of 10 ms and 5 of 10 s, which gives 10 ms.
        let mut even = DelayHistogram::default();
        (1..=100).for_each(|ms| even.record(Time::from_millis(ms)));
        assert!((trimmed_mean_s(&even).unwrap() / 0.048 - 1.0).abs() < 0.033);
        let mut spiked = DelayHistogram::default();
        (0..100).for_each(|n| spiked.record(if n < 95 { Time::from_millis(10) } else { Time::from_secs(10) }));
        assert!((trimmed_mean_s(&spiked).unwrap() / 0.01 - 1.0).abs() < 0.033);
    }
}
