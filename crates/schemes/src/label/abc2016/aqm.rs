//! The port of the first ABC: modifies the drop probability of another AQM by activity.

use crate::aqm::pie_core::PieCore;
use crate::aqm::pie_core::PieParams;
use crate::aqm::red_core::{RedCore, RedParams, WeightRule};
use crate::base::units::QueueMeasure;
use crate::contract::prelude::*;
use crate::queue::queue_length::{DelayEstimate, QueueLength};
use crate::queue::queue_threshold::QueueThreshold;

choices! {
    /// Source of the base probability p.
    pub enum BaseAqm {
        /// The current queue: p is 0 at `min_th`, `max_p` at `max_th`, 1 at `full_th`, and linear between them.
        Linear = "linear",
        /// RED in gentle mode: p is a function of the average queue, 1 from twice `max_th` on. The number of packets
        /// since the last drop has no effect.
        Red = "red",
        /// PIE: the probability that keeps the queueing delay at `target`; 0 while PIE exempts arrivals.
        Pie = "pie",
    }
}

params! {
    /// A port of the first ABC. All thresholds have the same unit.
    pub struct Abc2016Params {
        /// Influence of activity on the drop probability; 0: none.
        gamma: f64 = 3.0, in 0.0..=100.0, symbol "gamma", source "noms2016: 3 recommended";
        /// Weight of the previous average when a packet arrives.
        average_weight: f64 = 0.996, in 0.0..=0.999999, symbol "w_A", source "our choice: 0.3 s of full packets at 10 \
            Mbit/s, as M_AA of abc2018";
        /// Source of the base probability.
        base: BaseAqm = "linear", source "our choice: the paper names none";
        /// Queue below which no packet is dropped.
        min_th: Threshold = "6 packets", in "0 packets"..="16777216 packets", source "our choice: a quarter of the \
            limit of abc2018";
        /// Queue at which the base probability reaches `max_p`.
        max_th: Threshold = "18 packets", in "0 packets"..="16777216 packets", source "our choice: three quarters";
        /// Queue at which the base probability reaches 1; `base = "linear"` only.
        full_th: Threshold = "24 packets", in "0 packets"..="16777216 packets", source "our choice: the limit";
        /// Probability at `max_th`.
        max_p: f64 = 0.1, in 0.0..=1.0, symbol "max_p", source "our choice";
        /// Weight of the current queue in RED's average.
        queue_weight: f64 = 0.002, in 0.000001..=1.0, symbol "w_q", source "ns-3.26 RED";
        /// Target delay of PIE; `base = "pie"` only.
        target: Time = "15 ms", in "10 us"..="10 s", source "RFC 8033 4.2, as the other defaults of PIE";
        /// Mean packet length, used for RED's average over idle times and PIE's minimum backlog.
        mean_packet: Bytes = "1500 B", in "1 B"..="1 MB", source "our MTU";
    }
}

/// The base probability p.
#[derive(Clone, Debug)]
enum Base {
    Linear { min_th: f64, max_th: f64, full_th: f64, max_p: f64, length: QueueLength },
    Red(RedCore),
    Pie(PieCore),
}

impl Base {
    fn new(params: &Abc2016Params) -> Self {
        match params.base {
            BaseAqm::Linear => Self::Linear {
                min_th: params.min_th.magnitude(),
                max_th: params.max_th.magnitude(),
                full_th: params.full_th.magnitude(),
                max_p: params.max_p,
                length: QueueLength::new(params.min_th.measure(), DelayEstimate::LinkRate),
            },
            BaseAqm::Red => {
                let settings = RedParams {
                    min_th: params.min_th,
                    max_th: params.max_th,
                    max_p: params.max_p,
                    weight: params.queue_weight,
                    weight_rule: WeightRule::Given,
                    gentle: true,
                    mean_packet: params.mean_packet,
                    ..Default::default()
                };
                Self::Red(RedCore::new(settings, BitRate(1)))
            }
            BaseAqm::Pie => {
                let pie = PieParams { target: params.target, mean_packet: params.mean_packet, ..Default::default() };
                Self::Pie(PieCore::new(pie, BitRate(1)))
            }
        }
    }

    /// Bytes of the base, including heap memory.
    fn bytes(&self) -> usize {
        size_of_val(self)
            + match self {
                Self::Linear { .. } => 0,
                Self::Red(core) => core.bytes() - size_of_val(core),
                Self::Pie(core) => core.bytes() - size_of_val(core),
            }
    }

    /// p for an arrival.
    fn probability(&mut self, wire_bytes: u32, queue: &QueueView, now: Time) -> f64 {
        match self {
            Self::Linear { min_th, max_th, full_th, max_p, length } => {
                let q = length.of(queue, now);
                if q <= *min_th {
                    0.0
                } else if q < *max_th {
                    *max_p * (q - *min_th) / (*max_th - *min_th)
                } else if q < *full_th {
                    *max_p + (1.0 - *max_p) * (q - *max_th) / (*full_th - *max_th)
                } else {
                    1.0
                }
            }
            Self::Red(core) => {
                core.arrival(queue.backlog, wire_bytes, now);
                // As in RED, a high average does not drop a packet at an empty queue.
                if queue.backlog.packets == 0 { 0.0 } else { core.base_probability() }
            }
            Self::Pie(core) => {
                core.catch_up(now);
                if core.exempts(queue.backlog) { 0.0 } else { core.probability() }
            }
        }
    }
}

/// The state of one port.
#[derive(Clone, Debug)]
pub struct Abc2016Aqm {
    gamma: f64,
    average_weight: f64,
    /// A_avg, the average activity.
    average_activity: f64,
    base: Box<Base>,
    drop_probability: f64,
}

/// Eq. (7): modifies p by `excess`, which is gamma times the activity above the average.
#[inline]
fn bend(p: f64, excess: f64) -> f64 {
    if p <= 0.0 {
        0.0
    } else if p >= 1.0 {
        1.0
    } else {
        libm::exp(libm::log(p) * libm::exp2(-excess.clamp(-60.0, 60.0)))
    }
}

impl Abc2016Aqm {
    /// Creates an idle port.
    #[must_use]
    pub fn new(params: &Abc2016Params) -> Self {
        Self {
            gamma: params.gamma,
            average_weight: params.average_weight,
            average_activity: 0.0,
            base: Box::new(Base::new(params)),
            drop_probability: 0.0,
        }
    }
}

/// Checks that all thresholds have the same unit and are in ascending order.
pub(super) fn check(params: &Abc2016Params, limit: QueueLimit, table: &Table<'_>) -> Result<(), ConfigError> {
    let measure = params.min_th.measure();
    for (name, threshold, below, least) in
        [("max_th", params.max_th, "min_th", params.min_th), ("full_th", params.full_th, "max_th", params.max_th)]
    {
        if params.base == BaseAqm::Red && name == "full_th" {
            continue;
        }
        if threshold.measure() != measure {
            let problem = format!(
                "\"{threshold}\" is in {}, but min_th \"{}\" is in {measure}: give all thresholds in one unit",
                threshold.measure(),
                params.min_th
            );
            return Err(ConfigError::new(table.key(name), problem));
        }
        if threshold.magnitude() < least.magnitude() {
            let problem = format!("\"{threshold}\" is out of range, it must be at least {below}, {least}");
            return Err(ConfigError::new(table.key(name), problem));
        }
    }
    if params.base == BaseAqm::Red && measure == QueueMeasure::Delay {
        let problem = format!("\"{}\" is a delay, it must be in packets or bytes for base = \"red\"", params.min_th);
        return Err(ConfigError::new(table.key("min_th"), problem));
    }
    if params.base == BaseAqm::Red && params.max_th.magnitude() == 0.0 {
        let problem = format!("\"{}\" is out of range, it must be above 0 for base = \"red\"", params.max_th);
        return Err(ConfigError::new(table.key("max_th"), problem));
    }
    QueueThreshold::check("min_th", params.min_th, limit, table)
}

impl Aqm for Abc2016Aqm {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        let activity = packet.label();
        let Self { average_weight: w, average_activity: average, .. } = *self;
        self.average_activity = w * average + (1.0 - w) * activity; // eq. (6)
        let p = self.base.probability(packet.wire_bytes(), queue, now);
        self.drop_probability = bend(p, self.gamma * (activity - self.average_activity)); // eq. (7)
        if rng.open01() < self.drop_probability { Verdict::Drop } else { Verdict::Accept }
    }

    #[inline]
    fn accepted<P: Packet>(&mut self, packet: &mut P, _: Time) {
        if let Base::Pie(core) = &mut *self.base {
            core.accepted(packet.wire_bytes());
        }
    }

    #[inline]
    fn departed<P: Packet>(&mut self, packet: &P, backlog: Backlog, now: Time) {
        if let Base::Pie(core) = &mut *self.base {
            core.catch_up(now);
            core.departed(packet.wire_bytes(), packet.enqueued_at(), backlog, now);
        }
    }

    fn idle(&mut self, now: Time) {
        if let Base::Red(core) = &mut *self.base {
            core.idle(now);
        }
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        match &mut *self.base {
            Base::Linear { .. } => {}
            Base::Red(core) => core.set_link_rate(rate),
            Base::Pie(core) => core.set_link_rate(rate),
        }
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.drop_probability)
    }

    fn state_size(&self) -> StateSize {
        StateSize { records: 0, bytes: size_of_val(self) + self.base.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        report("average_activity", self.average_activity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::ParamSet;
    use crate::queue::managed_queue::ManagedQueue;
    use crate::testing::{Drops, TestPacket, view};
    use serde_json::{Value as Json, json};

    /// Returns p_A for an activity, with `packets` in the queue and an average activity of `average`.
    fn probability(params: &Abc2016Params, activity: f64, average: f64, packets: u32) -> f64 {
        let mut aqm = Abc2016Aqm::new(params);
        aqm.set_link_rate(BitRate(10_000_000));
        // With this value, eq. (6) gives `average`.
        aqm.average_activity = (average - (1.0 - params.average_weight) * activity) / params.average_weight;
        let view = view(packets, BitRate(10_000_000));
        let packet = TestPacket { label: activity, ..Default::default() };
        aqm.admit(&packet, &view, Time::from_millis(1), &mut Rng::stream(1, 0, "test", 0));
        aqm.drop_probability().unwrap()
    }

    #[test]
    fn the_linear_base_has_two_lines_and_gamma_0_leaves_it_alone() {
        let params = Abc2016Params { gamma: 0.0, ..Default::default() };
        // The intermediate values are 0.1*(12-6)/12 = 0.05 and 0.1 + 0.9*3/6 = 0.55.
        for (queue, expected) in [(0, 0.0), (6, 0.0), (12, 0.05), (18, 0.1), (21, 0.55), (24, 1.0), (30, 1.0)] {
            assert!((probability(&params, 5.0, 1.0, queue) - expected).abs() < 1e-12, "{queue}");
        }
    }

    #[test]
    fn equation_7_doubles_the_exponent_for_each_unit_below_the_average() {
        let at = |excess: f64| probability(&Abc2016Params { gamma: 1.0, ..Default::default() }, 3.0 + excess, 3.0, 18);
        assert!((at(0.0) - 0.1).abs() < 1e-12);
        assert!((at(1.0) - 0.1f64.sqrt()).abs() < 1e-12);
        assert!((at(-1.0) - 0.01).abs() < 1e-12);
        let strong = |excess: f64| probability(&Abc2016Params::default(), 3.0 + excess, 3.0, 18);
        assert!((strong(1.0) - 0.1f64.powf(0.125)).abs() < 1e-12);
        // The exponent is limited to the range from 2^-60 to 2^60: 0.1^(2^60) is 0, and 0.1^(2^-60) is 1.
        assert_eq!((strong(-100.0), strong(100.0)), (0.0, 1.0));
        assert_eq!(probability(&Abc2016Params::default(), 100.0, 3.0, 6), 0.0);
    }

    #[test]
    fn equation_6_averages_every_packet_dropped_or_not() {
        let mut aqm = Abc2016Aqm::new(&Abc2016Params::default());
        let view = view(24, BitRate(10_000_000));
        let mut rng = Rng::stream(1, 0, "test", 0);
        for _ in 0..250 {
            let packet = TestPacket { label: 4.0, ..Default::default() };
            assert_eq!(aqm.admit(&packet, &view, Time::ZERO, &mut rng), Verdict::Drop);
        }
        // After 250 packets of activity 4, the average activity is 4*(1 - 0.996^250) = 2.531.
        aqm.report(&mut |_, value| assert!((value - 4.0 * (1.0 - 0.996f64.powi(250))).abs() < 1e-9));
    }

    #[test]
    fn the_base_of_red_looks_at_the_average_queue() {
        let params = Abc2016Params { base: BaseAqm::Red, gamma: 0.0, queue_weight: 0.5, ..Default::default() };
        let mut aqm = Abc2016Aqm::new(&params);
        aqm.set_link_rate(BitRate(10_000_000));
        let view = view(24, BitRate(10_000_000));
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut at = |aqm: &mut Abc2016Aqm| {
            aqm.admit(&TestPacket::default(), &view, Time::ZERO, &mut rng);
            aqm.drop_probability().unwrap()
        };
        // Average queues of 12, 18 and 21 packets give the probabilities 0.05, 0.1 and, in gentle mode, 0.1 + 0.9*3/18
        // = 0.25.
        for expected in [0.05, 0.1, 0.25] {
            assert!((at(&mut aqm) - expected).abs() < 1e-12);
        }
        // The link is idle for the time of 10 packets, 1.2 ms each. The average of 10.5 is halved 10 times for the idle
        // time and once for the arrival; then half of the queue of 24 is added.
        aqm.idle(Time::ZERO);
        let packet = TestPacket::default();
        let empty = QueueView { backlog: Backlog::default(), ..view };
        aqm.admit(&packet, &empty, Time::from_micros(1), &mut rng);
        assert_eq!(aqm.drop_probability(), Some(0.0)); // although the average is 10.5
        aqm.idle(Time::from_micros(1));
        aqm.admit(&packet, &view, Time::from_micros(12_001), &mut rng);
        let expected = 0.1 * (10.5 / 2048.0 + 12.0 - 6.0) / 12.0;
        assert!((aqm.drop_probability().unwrap() - expected).abs() < 1e-12);
        assert_eq!(aqm.state_size().bytes, size_of::<Abc2016Aqm>() + size_of::<Base>() + size_of::<RedParams>());
    }

    #[test]
    fn the_base_of_pie_holds_the_delay() {
        let params = Abc2016Params { base: BaseAqm::Pie, ..Default::default() };
        let buffer = BufferParams { limit: QueueLimit::Packets(1000), ..Default::default() };
        let mut queue = ManagedQueue::new(&buffer, BitRate(10_000_000), Abc2016Aqm::new(&params));
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        let (mut sum, mut delays) = (0.0, 0.0);
        // 20 Mbit/s of one activity are offered to 10 Mbit/s. A packet of 1500 B arrives every 0.6 ms, and one is
        // served every 1.2 ms.
        for tick in 0..200_000u64 {
            let now = Time::from_micros(600 * tick);
            queue.enqueue(TestPacket { label: 5.0, ..Default::default() }, now, &mut rng, &mut drops);
            let packet = if tick % 2 == 1 { queue.dequeue(now, &mut rng, &mut drops) } else { None };
            if let Some(packet) = packet.filter(|_| tick >= 100_000) {
                sum += now.saturating_sub(packet.enqueued_at).as_secs_f64();
                delays += 1.0;
            }
        }
        // Equal activities do not change p. Half of the packets are dropped, and the controller keeps the delay at 15
        // ms.
        assert!((sum / delays - 0.015).abs() < 0.002, "{}", sum / delays);
        assert!((queue.drop_probability().unwrap() - 0.5).abs() < 0.1);
    }

    fn problem(value: &Json) -> String {
        let mut table = Table::new("queue", value).unwrap();
        let params = Abc2016Params::read(&mut table).unwrap();
        check(&params, QueueLimit::Packets(24), &table).unwrap_err().to_string()
    }

    #[test]
    fn thresholds_that_contradict_each_other_are_refused() {
        assert_eq!(
            problem(&json!({"max_th": "5 packets"})),
            r#"queue.max_th: "5 packets" is out of range, it must be at least min_th, 6 packets"#
        );
        assert_eq!(
            problem(&json!({"full_th": "30 kB"})),
            "queue.full_th: \"30000 B\" is in bytes, but min_th \"6 packets\" is in packets: \
             give all thresholds in one unit"
        );
        assert_eq!(
            problem(&json!({"base": "red", "min_th": "5 ms", "max_th": "15 ms"})),
            r#"queue.min_th: "5 ms" is a delay, it must be in packets or bytes for base = "red""#
        );
        assert!(problem(&json!({"base": "red", "min_th": "0 packets", "max_th": "0 packets"})).contains("above 0"));
        assert!(
            problem(&json!({"min_th": "25 packets", "max_th": "30 packets", "full_th": "30 packets"}))
                .starts_with("queue.min_th: \"25 packets\" is out of range")
        );
    }
}
