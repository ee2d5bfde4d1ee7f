//! A port of CSFQ in integers: the decision by eq. (3), the new label by eq. (4), and the fair rate by eq. (5) to (7).

use super::rate::{FixedRates, RateConstants, q31};
use crate::base::units::{BitRate, Time};
use crate::fixed::exp2::{EXPONENT_BITS, scale_down};
use crate::fixed::{Activity, LOG2_OF_ZERO_Q31, OutOfRange};

/// Number of cuts by 1 % allowed after congestion begins; together they are a factor of 0.99^30 = 0.740.
pub(in crate::fixed) const CUTS: u32 = 30;

/// log2(0.99) in Q31.
pub(in crate::fixed) const LOG2_CUT_Q31: i64 = -31_137_589;

/// Constants of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedCsfqParams {
    rates: RateConstants,
    window_ns: u64,
    /// log2(C / unit), Q31.
    log2_capacity: i64,
    /// log2(S) for a rate of C, Q31.
    log2_full: i64,
}

impl FixedCsfqParams {
    /// Precomputes the constants for K_alpha from 1 ms to 1 h, the window K_c, and a link of `capacity`; `unit` is the
    /// reference rate of weight 1.
    ///
    /// # Errors
    ///
    /// If K_alpha is out of range.
    pub fn new(constant: Time, window: Time, capacity: BitRate, unit: BitRate) -> Result<Self, OutOfRange> {
        let rates = RateConstants::new(constant)?;
        let log2_capacity = q31(libm::log2(capacity.as_f64() / unit.as_f64()));
        let log2_full = log2_capacity - rates.offset_q31(unit);
        Ok(Self { rates, window_ns: window.0 / 1000, log2_capacity, log2_full })
    }

    /// Constants of the estimators of the rates A and F, for programs that do the arithmetic themselves.
    #[must_use]
    pub fn rates(&self) -> RateConstants {
        self.rates
    }

    /// K_c in nanoseconds, for programs that do the arithmetic themselves.
    #[must_use]
    pub fn window_ns(&self) -> u64 {
        self.window_ns
    }

    /// log2(C / unit), Q31.
    #[must_use]
    pub fn log2_capacity_q31(&self) -> i64 {
        self.log2_capacity
    }

    /// log2(S) of a rate estimator at a rate of C, Q31. S is the estimator's state: the rate times K_alpha, in bytes.
    #[must_use]
    pub fn log2_full_q31(&self) -> i64 {
        self.log2_full
    }
}

/// The state of one port: 72 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedCsfq {
    /// log2(alpha / unit), Q31; [`LOG2_OF_ZERO_Q31`] without an estimate.
    log2_alpha: i64,
    /// Largest label of the current uncongested window, Q31; [`LOG2_OF_ZERO_Q31`] without labels.
    largest_label: i64,
    window_start_ns: u64,
    /// A and F, the arrival and accepted rates.
    rates: FixedRates<2>,
    is_congested: bool,
    cuts_left: u32,
}

impl Default for FixedCsfq {
    /// Returns a port before its first packet: it counts as congested and has no estimate.
    fn default() -> Self {
        Self {
            log2_alpha: LOG2_OF_ZERO_Q31,
            largest_label: LOG2_OF_ZERO_Q31,
            window_start_ns: 0,
            rates: FixedRates::default(),
            is_congested: true,
            cuts_left: CUTS,
        }
    }
}

impl FixedCsfq {
    /// Creates a port from the registers of a host: log2 of alpha in Q31 (`None` without an estimate), and the rates A
    /// and F. The port counts as congested, like a port before its first packet.
    #[must_use]
    pub fn from_registers(log2_alpha_q31: Option<i64>, rates: FixedRates<2>) -> Self {
        Self { log2_alpha: log2_alpha_q31.unwrap_or(LOG2_OF_ZERO_Q31), rates, ..Self::default() }
    }

    /// Number of cuts of the fair rate allowed after congestion begins.
    pub const CUTS: u32 = CUTS;

    /// Returns the drop decision, and the label of an accepted packet.
    ///
    /// A packet without a label is counted in A and F. It is never dropped early and does not affect the largest label.
    /// If it counted as a packet of the lowest rate, a burst of such packets would set alpha to this rate.
    ///
    /// `random` has 32 random bits. `age_ns` is the time since the start of the measurement.
    ///
    /// ```text
    /// drop if random * 2^-32 < 1 - alpha/label                                                        (3)
    /// label = min(label, alpha)                                                                       (4)
    /// ```
    ///
    /// Error of the probability: the errors of log2(alpha) and of the label, times ln 2, plus 4.1e-9.
    ///
    /// 64 bits suffice: the difference of label and alpha is below 128 in Q31, and values above 64 count as 64.
    #[inline]
    pub fn admit(
        &mut self,
        params: &FixedCsfqParams,
        label: Option<Activity>,
        bytes: u32,
        queue: QueueState,
        random: u32,
        age_ns: u64,
    ) -> (bool, Option<Activity>) {
        let of = |label: Activity| i64::from(label.units()) << (31 - Activity::FRACTION_BITS);
        let log2_label = label.map_or(LOG2_OF_ZERO_Q31, of);
        let (mut drop, mut relabelled) = (false, label);
        if label.is_some() && self.log2_alpha != LOG2_OF_ZERO_Q31 && log2_label > self.log2_alpha {
            let halvings = (log2_label - self.log2_alpha).min((64 << 31) - 1) as u64;
            let passes = scale_down(1 << 32, halvings << (EXPONENT_BITS - 31));
            drop = u64::from(random) < (1 << 32) - passes && !queue.spares;
            relabelled = label.map(|label| label.min(Activity::from_q31(self.log2_alpha)));
        }
        if self.rates.update(&params.rates, [bytes, if drop { 0 } else { bytes }], age_ns) {
            let [arrival, accepted] = self.rates.log2_sums_q31();
            self.observe(params, log2_label, arrival, accepted, queue.is_short, age_ns);
        }
        (drop, relabelled)
    }

    fn observe(
        &mut self,
        params: &FixedCsfqParams,
        log2_label: i64,
        arrival: i64,
        accepted: i64,
        is_short: bool,
        age_ns: u64,
    ) {
        if self.log2_alpha == LOG2_OF_ZERO_Q31 {
            if is_short {
                self.largest_label = self.largest_label.max(log2_label);
                return;
            }
            let has_label = self.largest_label != LOG2_OF_ZERO_Q31;
            self.log2_alpha = if has_label { self.largest_label } else { params.log2_capacity - (1 << 31) };
            self.largest_label = LOG2_OF_ZERO_Q31;
        }
        let is_over = age_ns >= self.window_start_ns.saturating_add(params.window_ns);
        if arrival >= params.log2_full {
            if !self.is_congested {
                self.is_congested = true;
                self.window_start_ns = age_ns;
                self.cuts_left = CUTS;
            } else if is_over {
                self.window_start_ns = age_ns;
                if accepted != LOG2_OF_ZERO_Q31 {
                    let scaled = self.log2_alpha + params.log2_full - accepted; // eq. (5)
                    self.log2_alpha = scaled.min(params.log2_capacity);
                }
            }
        } else if self.is_congested {
            self.is_congested = false;
            self.window_start_ns = age_ns;
            self.largest_label = LOG2_OF_ZERO_Q31;
        } else if !is_over {
            self.largest_label = self.largest_label.max(log2_label);
        } else {
            self.window_start_ns = age_ns;
            self.log2_alpha = if is_short { LOG2_OF_ZERO_Q31 } else { self.largest_label }; // eq. (6)
            if !is_short {
                self.largest_label = LOG2_OF_ZERO_Q31;
            }
        }
    }

    /// Applies eq. (7) after a packet arrived at a full queue.
    #[inline]
    pub fn overflow(&mut self) {
        if self.cuts_left > 0 {
            self.cuts_left -= 1;
            if self.log2_alpha != LOG2_OF_ZERO_Q31 {
                self.log2_alpha += LOG2_CUT_Q31;
            }
        }
    }

    /// The rates A and F.
    #[must_use]
    pub fn rates(&self) -> &FixedRates<2> {
        &self.rates
    }

    /// log2(alpha / unit) in Q31; `None` while there is no estimate.
    #[must_use]
    pub fn log2_alpha_q31(&self) -> Option<i64> {
        (self.log2_alpha != LOG2_OF_ZERO_Q31).then_some(self.log2_alpha)
    }
}

/// State of the queue when a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// True below Q_min, where no packet is dropped early.
    pub spares: bool,
    /// True if the queue is below the threshold at which alpha is first estimated. If it is below this threshold at the
    /// end of an uncongested window, the estimate is deleted.
    pub is_short: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::base::units::Threshold;
    use crate::contract::aqm::{Aqm, QueueView, Verdict};
    use crate::label::csfq::{CsfqAqm, CsfqParams};
    use crate::testing::TestPacket;

    const UNIT: BitRate = BitRate(10_000);
    const C: BitRate = BitRate(10_000_000);
    const K: Time = Time::from_millis(100);

    fn view(packets: u32) -> QueueView {
        crate::testing::view(packets, C)
    }

    /// The integer port (`fixed`) and the floating-point port (`real`), which receive the same packets.
    struct Pair {
        params: FixedCsfqParams,
        fixed: FixedCsfq,
        real: CsfqAqm,
        rng: Rng,
        q_min: u32,
    }

    impl Pair {
        fn new(q_min: u32, seed: u64) -> Self {
            let params = CsfqParams { q_min: Threshold::Packets(f64::from(q_min)), ..Default::default() };
            let mut real = CsfqAqm::new(&params);
            real.set_link_rate(C);
            let rng = Rng::stream(seed, 0, "drops", 0);
            Self { params: FixedCsfqParams::new(K, K, C, UNIT).unwrap(), fixed: FixedCsfq::default(), real, rng, q_min }
        }

        /// Returns the decisions of the integer port and the floating-point port.
        fn admit(&mut self, label: Option<Activity>, bytes: u32, packets: u32, now_ns: u64) -> (bool, bool) {
            // The floating-point port draws a random number only if the label exceeds alpha. The integer port must use
            // the same number, so it comes from a copy of the generator.
            let random = (self.rng.clone().open01() * 4_294_967_296.0) as u32;
            let queue = QueueState { spares: packets < self.q_min, is_short: packets < 12 };
            let (drop, _) = self.fixed.admit(&self.params, label, bytes, queue, random, now_ns);
            let rate = label.map_or(0.0, |label| libm::exp2(label.to_f64()) * UNIT.as_f64());
            let packet = TestPacket { label: rate, wire_bytes: bytes, ..Default::default() };
            let verdict = self.real.admit(&packet, &view(packets), Time::from_nanos(now_ns), &mut self.rng);
            (drop, verdict == Verdict::Drop)
        }

        fn overflow(&mut self) {
            self.fixed.overflow();
            Aqm::overflowed(&mut self.real, &TestPacket::default(), Time::ZERO);
        }

        /// Difference of the two logarithms of alpha; `None` if only one port has an estimate.
        fn alpha_error(&self) -> Option<f64> {
            let real = (self.real.fair_rate() > 0.0).then(|| libm::log2(self.real.fair_rate() / UNIT.as_f64()));
            match (self.fixed.log2_alpha_q31(), real) {
                (None, None) => Some(0.0),
                (Some(fixed), Some(real)) => Some((fixed as f64 / (1u64 << 31) as f64 - real).abs()),
                _ => None,
            }
        }
    }

    /// Passes packets of five users through both ports. If `has_labels` is false, a tenth of the packets have no label.
    /// The queue follows the decisions of the floating-point port. Returns its number of drops, the number of differing
    /// decisions, and the maximum error of log2(alpha).
    fn train(seed: u64, q_min: u32, packets: u32, has_labels: bool) -> (u32, u32, f64) {
        let mut pair = Pair::new(q_min, seed);
        let mut rng = Rng::stream(seed, 0, "train", 0);
        let (mut now, mut backlog) = (0u64, 0.0f64);
        let (mut drops, mut different, mut worst) = (0, 0, 0.0f64);
        let rates = [0.5e6, 1e6, 2e6, 4e6, 8e6];
        for i in 0..packets {
            // The link is overloaded three quarters of the time.
            let load = if (i / 2_000) % 4 == 3 { 0.7 } else { 1.55 };
            let gap = rng.exponential(1.2e6 / load) as u64;
            now += gap;
            backlog = f64::max(0.0, backlog - gap as f64 / 1.2e6);
            let weighed = rng.open01() * 15.5e6;
            let mut sum = 0.0;
            let rate = rates
                .iter()
                .find(|rate| {
                    sum += **rate;
                    weighed < sum
                })
                .unwrap_or(&8e6);
            let label = Activity::from_f64(libm::log2(rate / UNIT.as_f64()) + 0.05 * (rng.open01() - 0.5));
            let is_labelled = has_labels || rng.open01() < 0.9;
            let (fixed, real) = pair.admit(is_labelled.then_some(label), 1500, backlog as u32, now);
            drops += u32::from(real);
            different += u32::from(fixed != real);
            if !real {
                if backlog >= 24.0 { pair.overflow() } else { backlog += 1.0 }
            }
            worst = worst.max(pair.alpha_error().unwrap_or(f64::INFINITY));
        }
        (drops, different, worst)
    }

    #[test]
    fn decisions_and_the_fair_rate_are_those_of_the_reference() {
        for seed in 0..4 {
            let (drops, different, worst) = train(seed, 0, 50_000, seed % 2 == 0);
            println!("{drops} drops, {different} decisions differ, log2(alpha) by {worst:e}");
            assert!(drops > 5_000, "{drops}");
            assert!(different < 50, "{different} of 50 000");
            // One differing decision changes the accepted bytes by 1500 B of the 125 kB that arrive in K_alpha. This
            // changes log2(F), and so log2(alpha), by 0.017 until the next window. Several such changes add up.
            assert!(different > 0 || worst < 1e-3, "{worst:e}");
            assert!(worst < 0.1, "{worst:e}");
        }
    }

    #[test]
    fn without_drops_the_fair_rate_errs_by_its_inputs_only() {
        // Q_min is above every queue, so all packets are accepted, and both ports get the same packets. Each congested
        // window adds the error of log2(F), 1.5e-5, to that of log2(alpha). A phase of 6000 packets has at most 50 such
        // windows without a cut in between.
        let (drops, different, worst) = train(7, 1_000_000, 50_000, true);
        assert_eq!((drops, different), (0, 0));
        assert!(worst < 50.0 * 1.5e-5, "{worst:e}");
    }

    #[test]
    fn equations_3_and_4_by_hand() {
        // alpha is 200 units and the label 500, so p = 1 - 2/5.
        let params = FixedCsfqParams::new(K, K, C, UNIT).unwrap();
        let of = |rate: f64| Activity::from_f64(libm::log2(rate));
        let port = FixedCsfq { log2_alpha: i64::from(of(200.0).units()) << 15, ..FixedCsfq::default() };
        let free = QueueState { spares: false, is_short: false };
        let decide = |label: f64, queue, random: f64| {
            let mut port = port;
            port.admit(&params, Some(of(label)), 1500, queue, (random * 4_294_967_296.0) as u32, 0)
        };
        // alpha and the label are each exact to 7.7e-6 in log2, so their ratio of 0.4 is exact to 2 * 7.7e-6 * ln 2 =
        // 1.1e-5 of its value, and so p is exact to 1.1e-5 * 0.4.
        assert!(decide(500.0, free, 0.59999).0 && !decide(500.0, free, 0.60001).0);
        assert_eq!(decide(500.0, free, 0.7).1, Some(of(200.0)));
        assert_eq!(decide(200.0, free, 0.0), (false, Some(of(200.0))));
        assert_eq!(decide(100.0, free, 0.0), (false, Some(of(100.0))));
        assert_eq!(decide(500.0, QueueState { spares: true, is_short: true }, 0.0), (false, Some(of(200.0))));
    }

    #[test]
    fn a_burst_without_labels_does_not_shut_out_those_who_have_one() {
        // 4 Mbit/s are offered to a link of 10 Mbit/s for ten windows, with a long queue. Each window ends without a
        // label that could set alpha, so the estimate is lost. The next packet sets alpha to C/2 = 500 units.
        let params = FixedCsfqParams::new(K, K, C, UNIT).unwrap();
        let (mut port, long) = (FixedCsfq::default(), QueueState { spares: false, is_short: false });
        let half = params.log2_capacity_q31() - (1 << 31);
        for number in 1..=500u64 {
            let outcome = port.admit(&params, None, 1000, long, 0, number * 2_000_000);
            assert_eq!(outcome, (false, None), "packet {number}");
            assert!(port.log2_alpha_q31().is_none_or(|alpha| alpha == half), "packet {number}");
        }
        // Rates include packets without labels. By eq. (1), 1000 bytes every 2 ms with K = 100 ms give a rate times K
        // of S = 50 000 bytes, to within a packet.
        let sum = libm::exp2(port.rates().log2_sums_q31()[0] as f64 / (1u64 << 31) as f64) / 65_536.0;
        assert!((sum - 50_000.0).abs() < 1000.0, "{sum}");
        // A user of 2 Mbit/s is below the fair rate.
        let label = Activity::from_f64(libm::log2(200.0));
        assert_eq!(port.admit(&params, Some(label), 1500, long, 0, 1_002_000_000), (false, Some(label)));
    }

    #[test]
    fn a_packet_without_a_label_is_not_dropped_early_however_low_the_fair_rate() {
        // log2(alpha) is -70, below the constant that stands for the logarithm of zero. Many reductions of the fair
        // rate lead to such values.
        let params = FixedCsfqParams::new(K, K, C, UNIT).unwrap();
        let mut port = FixedCsfq { log2_alpha: -70 << 31, ..FixedCsfq::default() };
        let queue = QueueState { spares: false, is_short: false };
        assert_eq!(port.admit(&params, None, 1500, queue, 0, 0), (false, None));
        assert!(port.admit(&params, Some(Activity::MIN), 1500, queue, 0, 0).0);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let params = FixedCsfqParams::new(Time::from_millis(1), K, BitRate(1_000_000_000_000), BitRate(1_000)).unwrap();
        for (label, log2_alpha) in [(Activity::MAX, -(63i64 << 31)), (Activity::MIN, 40 << 31), (Activity::MAX, 0)] {
            let mut port = FixedCsfq { log2_alpha, ..FixedCsfq::default() };
            let queue = QueueState { spares: false, is_short: false };
            for age in [0, 1, u64::MAX, 5] {
                port.admit(&params, Some(label), u32::MAX, queue, u32::MAX, age);
                (0..40).for_each(|_| port.overflow());
            }
            assert_eq!(port.cuts_left, 0);
        }
    }

    #[test]
    fn thirty_cuts_by_one_percent() {
        let mut port = FixedCsfq { log2_alpha: 5 << 31, ..FixedCsfq::default() };
        (0..100).for_each(|_| port.overflow());
        let factor = libm::exp2(port.log2_alpha as f64 / (1u64 << 31) as f64 - 5.0);
        assert!((factor - libm::pow(0.99, 30.0)).abs() < 1e-8, "{factor}");
    }

    #[test]
    fn state_is_72_bytes() {
        assert_eq!(size_of::<FixedCsfq>(), 72);
    }
}
