//! Adaptive RED: RED that moves max_p so that the average queue stays between its thresholds.
//!
//! Source: Floyd, Gummadi and Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
//! Management", 2001 (ared2001); code of ns-2 and ns-3. Variant `feng`: Feng, Kandlur, Saha and Shin, "A
//! Self-Configuring RED Gateway", INFOCOM 1999.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `avg > max_th - 0.4*(max_th-min_th)` and `max_p <= top`: `max_p += min(alpha, max_p/4)` | [`Ared::adapt`] |
//! | (2) | `avg < min_th + 0.4*(max_th-min_th)` and `max_p >= bottom`: `max_p *= beta` | the same |
//! | (3) | feng: `max_p *= raise` when avg rises above max_th, `max_p /= lower` when avg falls below min_th | [`Ared::cross`] |
//!
//! (1) and (2) are tested at an arrival if max_p has not changed for more than `interval`. The equations of RED are in
//! [`super::red`].
//!
//! Cost: the cost of RED, plus a comparison per packet. State: RED's, plus max_p and the time of its last change.
//!
//! Deviations:
//! 1. (1) and (2) are tested at arrivals, as in ns-2 and ns-3; the authors' report uses a timer. The difference matters
//!    only on an idle link.
//! 2. The gentle part of the drop curve uses the present max_p, not the initial one as in ns-2 and ns-3.
//! 3. `bottom = 0` selects `min(0.01, 80000/C)`, as in ns-2. ns-3's code multiplies by the round-trip time, but its
//!    comment says to divide.
//! 4. Feng's max_p stays between 1e-6 and 1; ns-2 and ns-3 do not bound it.
//!
//! Not implemented: nonlinear RED.

use super::red_core::{RedCore, RedParams, RedProfile, SizeScaling, WeightRule, check_thresholds};
use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

choices! {
    /// Adaptation of max_p.
    pub enum Adaptation {
        /// Additive increase, multiplicative decrease (2001).
        Floyd = "floyd",
        /// Multiplies or divides `max_p` when the average crosses a threshold (Feng et al. 1999).
        Feng = "feng",
    }
}

params! {
    /// Adaptive RED. Thresholds may be in packets or in bytes.
    pub struct AredParams {
        /// Adaptation of `max_p`.
        adaptation: Adaptation = "floyd", source "ared2001";
        /// Average queue below which no packet is dropped early; automatic if this and `max_th` are 0.
        min_th: Threshold = "0 packets", symbol "min_th", source "ared2001, automatic; ns-2";
        /// Average queue at which the drop probability reaches `max_p`.
        max_th: Threshold = "0 packets", symbol "max_th", source "ared2001, automatic: 3*min_th";
        /// Initial drop probability at `max_th`.
        max_p: f64 = 0.02, in 0.000001..=1.0, symbol "max_p", source "ns-3.26 (LInterm 50); 0.1 in ns-2";
        /// Time between two changes of `max_p`.
        interval: Time = "0.5 s", in "1 ms"..="100 s", source "ared2001";
        /// Largest increment of `max_p`.
        alpha: f64 = 0.01, in 0.0..=1.0, symbol "alpha", source "ared2001";
        /// Factor of a decrease of `max_p`.
        beta: f64 = 0.9, in 0.0..=1.0, symbol "beta", source "ared2001";
        /// Maximum of `max_p`.
        top: f64 = 0.5, in 0.0..=1.0, source "ared2001";
        /// Minimum of `max_p`; 0: automatic, `min(0.01, 80000/C)`.
        bottom: f64 = 0.0, in 0.0..=1.0, source "ns-2; 0.01 in ared2001";
        /// Variant `feng`: factor when the average rises above `max_th`.
        raise: f64 = 2.0, in 1.0..=100.0, symbol "beta", source "Feng et al. 1999; ns-3 FengBeta";
        /// Variant `feng`: divisor when the average falls below `min_th`.
        lower: f64 = 3.0, in 1.0..=100.0, symbol "alpha", source "Feng et al. 1999; ns-3 FengAlpha";
        /// Weight of a new sample in the average queue, for `weight_rule = "given"`.
        weight: f64 = 0.002, in 0.000000001..=1.0, symbol "w_q", source "red1993 section VI";
        /// Source of the weight of the average. All values except `given` derive the weight from the link's rate.
        weight_rule: WeightRule = "second", source "ared2001: 1-exp(-1/C)";
        /// Gentle mode: between `max_th` and twice `max_th` the drop probability rises linearly to 1 instead of
        /// jumping.
        gentle: bool = true, source "ared2001";
        /// Wait mode: at least `1/p_b` packets between early drops.
        wait: bool = true, source "ns-3.26, ns-2";
        /// Effect of a packet's length on its drop probability.
        size_scaling: SizeScaling = "none", source "ns-3.26 packet mode; ns-2 bytes_ = after";
        /// Mean packet length, used for idle times, byte mode and automatic settings.
        mean_packet: Bytes = "500 B", in "1 B"..="1 MB", source "ns-3.26, ns-2";
        /// Automatic thresholds: `min_th = max(5, target_delay*C_pkt/2)`, `max_th = 3*min_th`.
        target_delay: Time = "5 ms", in "1 us"..="10 s", source "ared2001, ns-2 targetdelay_";
        /// One-way delay of the link, for `weight_rule = "ten_rtt"`.
        link_delay: Time = "20 ms", in "0 s"..="100 s", source "ns-3.26 LinkDelay";
        /// A forced drop or a full queue resets the count since the last early drop.
        forced_restarts: bool = true, source "ns-2; false in ns-3";
        /// Marks ECN-capable packets instead of dropping them early.
        ecn: bool = false, source "RFC 3168; ns-3.26 has none";
        /// With ECN: still drops packets when the average is above the upper end of the drop curve.
        hard_drop: bool = true, source "ns-3 UseHardDrop";
    }
}

impl AredParams {
    fn settings(&self) -> RedParams {
        RedParams {
            profile: RedProfile::Ns,
            min_th: self.min_th,
            max_th: self.max_th,
            max_p: self.max_p,
            weight: self.weight,
            weight_rule: self.weight_rule,
            gentle: self.gentle,
            wait: self.wait,
            size_scaling: self.size_scaling,
            mean_packet: self.mean_packet,
            target_delay: self.target_delay,
            link_delay: self.link_delay,
            forced_restarts: self.forced_restarts,
            ecn: self.ecn,
            hard_drop: self.hard_drop,
        }
    }
}

/// Registry entry of Adaptive RED.
#[derive(Clone, Copy, Debug)]
pub struct AredScheme;

impl SchemeSpec for AredScheme {
    const ABOUT: About = About {
        title: "Adaptive RED",
        kind: "one queue, or one per class; drops or marks the arriving packet",
        summary: "RED that adapts its maximum early drop probability so that the average queue stays between the \
                  thresholds.",
        source: "Floyd, Gummadi, Shenker: Adaptive RED, 2001; Feng et al.: A Self-Configuring RED Gateway, INFOCOM \
                 1999",
        state: "port: the state of RED, max_p and the time of its last change; flow: none",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    type Params = AredParams;
    type Discipline<P: Packet> = ManagedQueue<P, Ared>;

    fn check(params: &AredParams, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        check_thresholds(params.min_th, params.max_th, table)?;
        if params.bottom > params.top {
            let problem =
                format!("{} is out of range, it must be from 0 (automatic) to top, {}", params.bottom, params.top);
            return Err(ConfigError::new(table.key("bottom"), problem));
        }
        Ok(())
    }

    fn build<P: Packet>(params: &AredParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Ared::new(params, port.rate))
    }
}

/// Region of the last average, for Feng's variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zone {
    Below,
    Between,
    Above,
}

/// Adaptive RED at one port.
#[derive(Clone, Debug)]
pub struct Ared {
    core: RedCore,
    last_change: Time,
    bottom: f64,
    zone: Zone,
    params: Box<AredParams>,
}

impl Ared {
    /// Creates an idle port at rate `rate`.
    #[must_use]
    pub fn new(params: &AredParams, rate: BitRate) -> Self {
        let mut ared = Self {
            core: RedCore::new(params.settings(), rate),
            last_change: Time::ZERO,
            bottom: 0.0,
            zone: Zone::Above,
            params: Box::new(params.clone()),
        };
        ared.set_link_rate(rate);
        ared
    }

    /// Applies rules (1) and (2), at most once per `interval`.
    fn adapt(&mut self, now: Time) {
        if now <= self.last_change.saturating_add(self.params.interval) {
            return;
        }
        let (average, max_p) = (self.core.average(), self.core.max_p());
        let margin = 0.4 * (self.core.max_th() - self.core.min_th());
        if average > self.core.max_th() - margin && max_p <= self.params.top {
            self.core.set_max_p(f64::min(max_p + self.params.alpha.min(max_p / 4.0), 1.0)); // (1)
            self.last_change = now;
        } else if average < self.core.min_th() + margin && max_p >= self.bottom {
            self.core.set_max_p(max_p * self.params.beta); // (2)
            self.last_change = now;
        }
    }

    /// Applies rule (3) when the average enters another region.
    fn cross(&mut self) {
        let (average, before) = (self.core.average(), self.zone);
        if average < self.core.min_th() {
            self.zone = Zone::Below;
        } else if average > self.core.max_th() {
            self.zone = Zone::Above;
        } else if average > self.core.min_th() && average < self.core.max_th() {
            self.zone = Zone::Between;
        }
        let factor = match self.zone {
            Zone::Below if before != Zone::Below => 1.0 / self.params.lower,
            Zone::Above if before != Zone::Above => self.params.raise,
            _ => return,
        };
        self.core.set_max_p((self.core.max_p() * factor).clamp(1e-6, 1.0));
    }
}

impl Aqm for Ared {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        self.core.arrival(queue.backlog, packet.wire_bytes(), now);
        match self.params.adaptation {
            Adaptation::Floyd => self.adapt(now),
            Adaptation::Feng => self.cross(),
        }
        let AredParams { ecn, hard_drop, .. } = *self.params;
        self.core.decide(queue.backlog, packet.wire_bytes(), rng).verdict(ecn, hard_drop)
    }

    fn overflowed<P: Packet>(&mut self, _: &P, _: Time) {
        self.core.overflowed();
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.core.idle(now);
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.core.set_link_rate(rate);
        // ns-2 sets the bottom to at most 1/W. W is the number of packets of 1000 B in flight on this link at a
        // round-trip time of 100 ms.
        let automatic = f64::min(0.01, 80_000.0 / rate.as_f64());
        self.bottom = if self.params.bottom == 0.0 { automatic } else { self.params.bottom };
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.core.probability())
    }

    fn state_size(&self) -> StateSize {
        let inline = size_of_val(self) - size_of_val(&self.core);
        StateSize { records: 0, bytes: inline + size_of::<AredParams>() + self.core.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        report("average_queue", self.core.average());
        report("max_p", self.core.max_p());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, close, readings, refusal, view};
    use serde_json::json;

    const RATE: BitRate = BitRate(10_000_000);

    /// Returns parameters with thresholds of 10 and 30 packets. The average equals the current queue. The target range
    /// is 18 to 22 packets.
    fn params(adaptation: Adaptation, max_p: f64) -> AredParams {
        AredParams {
            adaptation,
            min_th: Threshold::Packets(10.0),
            max_th: Threshold::Packets(30.0),
            max_p,
            weight: 1.0,
            weight_rule: WeightRule::Given,
            ..Default::default()
        }
    }

    /// Returns max_p after arrivals, given as pairs of the time in ms and the number of waiting packets.
    fn max_p_after(params: &AredParams, arrivals: &[(u64, u32)]) -> f64 {
        let (mut ared, mut rng) = (Ared::new(params, RATE), Rng::stream(1, 0, "test", 0));
        for &(at, packets) in arrivals {
            ared.admit(&TestPacket::default(), &view(packets, RATE), Time::from_millis(at), &mut rng);
        }
        ared.core.max_p()
    }

    #[test]
    fn rules_1_and_2_move_max_p_towards_the_target_twice_a_second() {
        let floyd = |max_p, arrivals: &[_]| max_p_after(&params(Adaptation::Floyd, max_p), arrivals);
        close(floyd(0.1, &[(501, 23)]), 0.11); // + alpha
        close(floyd(0.02, &[(501, 23)]), 0.025); // + a quarter
        close(floyd(0.1, &[(501, 17)]), 0.09);
        close(floyd(0.1, &[(501, 18), (502, 20), (503, 22)]), 0.1); // within the target
        close(floyd(0.1, &[(500, 23)]), 0.1); // not yet
        close(floyd(0.1, &[(501, 23), (900, 23), (1001, 23)]), 0.11);
        close(floyd(0.1, &[(501, 23), (900, 23), (1002, 23)]), 0.12);
        // An arrival within the target range does not delay the next change.
        close(floyd(0.1, &[(501, 20), (510, 23)]), 0.11);
        close(floyd(0.51, &[(501, 23)]), 0.51); // top
        close(floyd(0.5, &[(501, 23)]), 0.51); // equals the top, so the rise is allowed
        // The bottom is 80000/10^7 = 0.008, since this is below 0.01.
        close(floyd(0.0079, &[(501, 3)]), 0.0079);
        close(floyd(0.008, &[(501, 3)]), 0.0072);
        let fixed = AredParams { bottom: 0.05, ..params(Adaptation::Floyd, 0.04) };
        close(max_p_after(&fixed, &[(501, 3)]), 0.04);
    }

    #[test]
    fn rule_3_multiplies_when_the_average_crosses_a_threshold() {
        let feng = |arrivals: &[_]| max_p_after(&params(Adaptation::Feng, 0.3), arrivals);
        close(feng(&[(1, 20), (2, 31)]), 0.6);
        close(feng(&[(1, 20), (2, 31), (3, 40)]), 0.6); // still above
        close(feng(&[(1, 9)]), 0.1);
        close(feng(&[(1, 9), (2, 8), (3, 20), (4, 9)]), 0.3 / 9.0);
        close(feng(&[(1, 10), (2, 30)]), 0.3); // reaching a threshold does not cross it
        close(feng(&[(1, 20), (2, 31), (3, 20), (4, 31)]), 1.0); // 1.2, bounded
    }

    #[test]
    fn a_floor_above_the_ceiling_is_refused() {
        assert_eq!(
            refusal(json!({"scheme": "ared", "bottom": 0.6})),
            "queue.bottom: 0.6 is out of range, it must be from 0 (automatic) to top, 0.5"
        );
    }

    #[test]
    fn marks_and_reports_as_red_does() {
        let params = AredParams { ecn: true, hard_drop: false, wait: false, ..params(Adaptation::Floyd, 1.0) };
        let (mut ared, mut rng) = (Ared::new(&params, RATE), Rng::stream(1, 0, "test", 0));
        let mut admit =
            |ared: &mut Ared, packets| ared.admit(&TestPacket::default(), &view(packets, RATE), Time::ZERO, &mut rng);
        assert_eq!(admit(&mut ared, 29), Verdict::Accept); // crosses min_th
        assert_eq!(admit(&mut ared, 29), Verdict::Mark); // p_b = 0.95, c = 2
        assert_eq!(admit(&mut ared, 60), Verdict::Mark); // forced
        ared.params.hard_drop = true;
        assert_eq!(admit(&mut ared, 60), Verdict::Drop);
        assert_eq!(readings(|report| ared.report(report)), [("average_queue", 60.0), ("max_p", 1.0)]);
        assert_eq!(ared.drop_probability(), Some(1.0));
        assert_eq!(ared.state_size().bytes, size_of::<Ared>() + size_of::<RedParams>() + size_of::<AredParams>());
        ared.overflowed(&TestPacket::default(), Time::ZERO);
        ared.idle(Time::ZERO);
    }
}
