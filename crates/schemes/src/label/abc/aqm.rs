//! The activity AQM: the more active a user, the lower the drop threshold of its packets. abc2018 III-C.

use crate::contract::prelude::*;
use crate::measure::utema::WeightedMean;
use crate::queue::queue_length::{DelayEstimate, DepartureRate, LengthKind};
use crate::queue::queue_threshold::QueueThreshold;

choices! {
    /// Weighting of packets in the average activity.
    pub enum AverageOver {
        /// Every packet counts the same.
        Packets = "packets",
        /// Weighted by bytes, so small packets, such as acknowledgements, have little weight.
        Bytes = "bytes",
    }
}

params! {
    /// Activity AQM of ABC. The three thresholds must have the same unit: packets, bytes, or time.
    pub struct AbcParams {
        /// Queue below which no packet is dropped.
        q_min: Threshold = "12 packets", symbol "Q_min", source "abc2018 Table 1, eq. (10)";
        /// Drop threshold of a packet of average activity.
        q_base: Threshold = "20 packets", symbol "Q_base", source "abc2018 Table 1, eq. (10)";
        /// Decrease of the drop threshold per unit of activity above the average.
        gamma: Threshold = "16 packets", symbol "gamma", source "abc2018 Table 1, eq. (10)";
        /// Time constant of the average activity; should be shorter than the time constant of the meters.
        averager_memory: Time = "0.3 s", in "1 ms"..="1 h", symbol "M_AA", source "abc2018 Table 1, eq. (6)-(7)";
        /// Source of the queueing delay when the thresholds are times.
        delay_estimate: DelayEstimate = "link_rate", source "abc2018 III-C2, our choice";
        /// Marks ECN-capable packets instead of dropping them, below Q_base + gamma.
        ecn: Option<bool> = null, source "RFC 3168 5, our choice";
        /// Weighting of the average activity; default: by packets.
        average_over: Option<AverageOver> = null, source "packets: abc2018 eq. (6)-(7); bytes: our choice";
    }
}

/// Parameters of the drop rule, eq. (10): three queue lengths in the same unit.
#[derive(Clone, Copy, Debug)]
pub struct AbcRule {
    /// Q_min.
    pub q_min: f64,
    /// Q_base.
    pub q_base: f64,
    /// gamma.
    pub gamma: f64,
}

impl AbcRule {
    /// T_drop: the queue length at which a packet of this activity is dropped.
    #[must_use]
    #[inline]
    pub fn drop_threshold(&self, activity: f64, average_activity: f64) -> f64 {
        f64::max(self.q_min, self.q_base - self.gamma * (activity - average_activity)) // eq. (10)
    }

    /// Verdict on a packet that arrives at a queue of length `queue`.
    #[must_use]
    #[inline]
    pub fn verdict(queue: f64, drop_threshold: f64) -> Verdict {
        if queue >= drop_threshold { Verdict::Drop } else { Verdict::Accept }
    }

    /// Verdict on a packet above its threshold if marks replace drops. The packet is marked only if the queue is below
    /// `q_base + gamma`, the threshold of a user with half the average rate (activity A_avg - 1 in eq. (10)). Otherwise
    /// it is dropped, or users that ignore marks would displace the others (RFC 7567 4.2.1).
    #[must_use]
    #[inline]
    pub fn verdict_with_ecn(&self, queue: f64) -> Verdict {
        if queue < self.q_base + self.gamma { Verdict::Mark } else { Verdict::Drop }
    }
}

/// The activity AQM of one port. Marking is a const generic, so the non-marking path compiles without the branch.
#[derive(Clone, Debug)]
pub struct AbcAqm<const MARKS: bool = false> {
    rule: AbcRule,
    average_activity: WeightedMean,
    departures: DepartureRate,
    drop_threshold: f64,
    length: LengthKind,
    average_over: AverageOver,
}

impl<const MARKS: bool> AbcAqm<MARKS> {
    /// Creates the state of an idle port. The thresholds of `params` must have the same unit.
    #[must_use]
    pub fn new(params: &AbcParams) -> Self {
        Self {
            rule: AbcRule {
                q_min: params.q_min.magnitude(),
                q_base: params.q_base.magnitude(),
                gamma: params.gamma.magnitude(),
            },
            average_activity: WeightedMean::new(params.averager_memory),
            departures: DepartureRate::default(),
            drop_threshold: params.q_base.magnitude(),
            length: LengthKind { measure: params.q_min.measure(), estimate: params.delay_estimate },
            average_over: params.average_over.unwrap_or(AverageOver::Packets),
        }
    }

    /// A_avg: mean activity of the accepted packets, or of their bytes; 0 before the first packet.
    #[must_use]
    pub fn average_activity(&self) -> f64 {
        self.average_activity.mean()
    }
}

/// Checks that the thresholds have the same unit and that Q_min is below the limit.
pub(super) fn check_thresholds(params: &AbcParams, limit: QueueLimit, table: &Table<'_>) -> Result<(), ConfigError> {
    let named = [("q_min", params.q_min), ("q_base", params.q_base), ("gamma", params.gamma)];
    let measure = params.q_min.measure();
    if let Some((name, other)) = named.iter().find(|(_, threshold)| threshold.measure() != measure) {
        let problem = format!(
            "\"{other}\" is in {}, but q_min \"{}\" is in {measure}: give q_min, q_base and gamma in one unit",
            other.measure(),
            params.q_min
        );
        return Err(ConfigError::new(table.key(name), problem));
    }
    for (name, threshold) in named {
        if !(0.0..=1e12).contains(&threshold.magnitude()) {
            return Err(ConfigError::new(
                table.key(name),
                format!("\"{threshold}\" is out of range, it must be from 0 to 1e12"),
            ));
        }
    }
    check_opens(params.q_min, table)?;
    QueueThreshold::check("q_min", params.q_min, limit, table)
}

/// Rejects Q_min = 0, because an empty queue could then drop packets: T_drop is 0 for a packet whose activity exceeds
/// the average by Q_base/gamma. The average is 0 before the first packet and changes only with accepted packets. Such a
/// port could drop all packets forever.
///
/// # Errors
///
/// If Q_min is 0.
pub fn check_opens(q_min: Threshold, table: &Table<'_>) -> Result<(), ConfigError> {
    if q_min.magnitude() > 0.0 {
        return Ok(());
    }
    let problem = format!(
        "\"{q_min}\" is out of range, it must be above 0: otherwise an empty queue drops packets that are more active \
         than the average, which accepted packets alone can raise"
    );
    Err(ConfigError::new(table.key("q_min"), problem))
}

impl<const MARKS: bool> Aqm for AbcAqm<MARKS> {
    #[inline]
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, _: &mut Rng) -> Verdict {
        self.drop_threshold = self.rule.drop_threshold(packet.label(), self.average_activity.mean());
        let length = self.length.of(queue, &self.departures, now);
        match AbcRule::verdict(length, self.drop_threshold) {
            Verdict::Drop if MARKS => self.rule.verdict_with_ecn(length),
            verdict => verdict,
        }
    }

    #[inline]
    fn accepted<P: Packet>(&mut self, packet: &mut P, now: Time) {
        let weight = match self.average_over {
            AverageOver::Packets => 1.0,
            AverageOver::Bytes => f64::from(packet.wire_bytes().max(1)),
        };
        self.average_activity.update_weighing(packet.label(), weight, now); // eq. (6)-(9)
    }

    #[inline]
    fn departed<P: Packet>(&mut self, packet: &P, backlog: Backlog, now: Time) {
        self.length.departed(&mut self.departures, packet.wire_bytes(), backlog, now);
    }

    #[inline]
    fn drop_threshold(&self) -> Option<f64> {
        Some(self.drop_threshold)
    }

    fn report(&self, report: Report<'_>) {
        report("average_activity", self.average_activity());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::abc::AbcScheme;
    use crate::queue::managed_queue::ManagedQueue;
    use crate::testing::{Drops, TestPacket, read_queue, readings, refusal, view};
    use serde_json::json;

    /// Returns an AQM whose average activity is `average`.
    fn aqm_with_average(params: &AbcParams, average: f64) -> AbcAqm {
        with_average(AbcAqm::new(params), average)
    }

    fn with_average<const MARKS: bool>(mut aqm: AbcAqm<MARKS>, average: f64) -> AbcAqm<MARKS> {
        aqm.accepted(&mut TestPacket { label: average, ..Default::default() }, Time::ZERO);
        aqm
    }

    fn admit<const MARKS: bool>(aqm: &mut AbcAqm<MARKS>, activity: f64, packets: u32) -> Verdict {
        let view = view(packets, BitRate(10_000_000));
        let packet = TestPacket { label: activity, ..Default::default() };
        aqm.admit(&packet, &view, Time::ZERO, &mut Rng::stream(1, 0, "test", 0))
    }

    /// Returns the shortest queue at which the port drops a packet with an activity of `excess` above the average.
    fn threshold(params: &AbcParams, excess: f64) -> u32 {
        let mut aqm = aqm_with_average(params, 7.0);
        (0..100).find(|&q| admit(&mut aqm, 7.0 + excess, q) == Verdict::Drop).unwrap()
    }

    #[test]
    fn equation_10_shortens_the_queue_for_the_more_active() {
        let params = AbcParams::default();
        assert_eq!(threshold(&params, 0.0), 20); // Q_base
        assert_eq!(threshold(&params, 0.25), 16); // 20 - 16/4
        assert_eq!(threshold(&params, 0.3), 16); // 15.2: a queue of 16 is the first at or above it
        assert_eq!(threshold(&params, 0.5), 12); // Q_min from 0.5 on
        assert_eq!(threshold(&params, 9.0), 12);
        assert_eq!(threshold(&params, -0.25), 24); // only the limit drops packets
    }

    #[test]
    fn marks_take_the_place_of_drops_below_q_base_and_gamma() {
        fn verdicts<const MARKS: bool>(excess: f64) -> [Verdict; 6] {
            let mut aqm = with_average(AbcAqm::<MARKS>::new(&AbcParams::default()), 7.0);
            [11, 12, 19, 20, 35, 36].map(|packets| admit(&mut aqm, 7.0 + excess, packets))
        }
        use Verdict::{Accept as A, Drop as D, Mark as M};
        // Thresholds are 20, and 12 for an activity 0.5 above the average. Marks end at 20 + 16.
        assert_eq!(verdicts::<false>(0.0), [A, A, A, D, D, D]);
        assert_eq!(verdicts::<true>(0.0), [A, A, A, M, M, D]);
        assert_eq!(verdicts::<true>(0.5), [A, M, M, M, M, D]);
        // Half of the average rate is an activity 1 below the average. T_drop is then 36, where marking ends, so no
        // packet is marked.
        assert_eq!(verdicts::<true>(-1.0), [A, A, A, A, A, D]);
    }

    /// A port of 10 Mbit/s with `ecn` receives 2000 packets of activities 0 to 3, two for each departure. Returns the
    /// numbers of dropped and marked packets.
    fn dropped_and_marked(ecn: bool, codepoint: Ecn) -> (Vec<u64>, Vec<u32>) {
        let config = read_queue(json!({"scheme": "abc", "ecn": ecn, "limit": "100 packets"})).unwrap();
        let mut queue = config.build::<TestPacket>(BitRate(10_000_000), &Weights::equal());
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for flow in 0..2000 {
            let (label, now) = (f64::from(flow * 7 % 4), Time::from_micros(600 * u64::from(flow)));
            let packet = TestPacket { id: flow.into(), flow, label, ecn: codepoint, ..Default::default() };
            queue.enqueue(packet, now, &mut rng, &mut drops);
            if flow % 2 == 1 {
                queue.dequeue(now, &mut rng, &mut drops).unwrap();
            }
        }
        (drops.0.iter().map(|(packet, ..)| packet.id).collect(), drops.1)
    }

    #[test]
    fn what_cannot_be_marked_meets_the_same_drops_with_ecn_as_without() {
        let (dropped, marked) = dropped_and_marked(false, Ecn::NotEct);
        // 2000 packets arrived, 1000 left, and fewer than Q_base + 3 gamma wait.
        assert!((933..=1000).contains(&dropped.len()) && marked.is_empty(), "{} {}", dropped.len(), marked.len());
        assert_eq!(dropped_and_marked(true, Ecn::NotEct), (dropped.clone(), vec![]));
        assert_eq!(dropped_and_marked(false, Ecn::Ect0), (dropped, vec![]));
        assert!(!dropped_and_marked(true, Ecn::Ect0).1.is_empty());
    }

    #[test]
    fn a_packet_is_marked_exactly_where_it_would_be_dropped() {
        let params = AbcParams::default();
        let (mut drops, mut marks) = (AbcAqm::<false>::new(&params), AbcAqm::<true>::new(&params));
        let mut random = Rng::stream(1, 0, "test", 0);
        let mut counts = [0; 3];
        for _ in 0..2000 {
            let (activity, packets) = (random.open01() * 4.0, (random.open01() * 50.0) as u32);
            let verdict = admit(&mut drops, activity, packets);
            let expected = if verdict == Verdict::Drop && packets < 36 { Verdict::Mark } else { verdict };
            assert_eq!(admit(&mut marks, activity, packets), expected);
            counts[expected as usize] += 1;
            if verdict == Verdict::Accept {
                let packet = TestPacket { label: activity, ..Default::default() };
                drops.accepted(&mut { packet }, Time::ZERO);
                marks.accepted(&mut { packet }, Time::ZERO);
            }
        }
        assert!(counts.iter().all(|&count| count > 200), "{counts:?}");
    }

    #[test]
    fn acknowledgements_pull_the_average_of_packets_down_and_hardly_that_of_bytes() {
        let average = |average_over| {
            let mut aqm = <AbcAqm>::new(&AbcParams { average_over, ..Default::default() });
            // Two full packets of activity 8 and an acknowledgement of activity 2.
            for (label, wire_bytes) in [(8.0, 1500), (8.0, 1500), (2.0, 60)] {
                aqm.accepted(&mut TestPacket { label, wire_bytes, ..Default::default() }, Time::ZERO);
            }
            aqm.average_activity()
        };
        assert_eq!(average(None), 6.0);
        assert_eq!(average(Some(AverageOver::Packets)), 6.0);
        assert!((average(Some(AverageOver::Bytes)) - (8.0 * 3000.0 + 2.0 * 60.0) / 3060.0).abs() < 1e-12);
    }

    #[test]
    fn thresholds_in_bytes_and_in_delay_are_those_in_packets_scaled() {
        let bytes = AbcParams {
            q_min: Threshold::Bytes(18_000.0),
            q_base: Threshold::Bytes(30_000.0),
            gamma: Threshold::Bytes(24_000.0),
            ..Default::default()
        };
        // 1.2 ms per packet at 10 Mbit/s.
        let delay = AbcParams {
            q_min: Threshold::Delay(Time::from_micros(14_400)),
            q_base: Threshold::Delay(Time::from_micros(24_000)),
            gamma: Threshold::Delay(Time::from_micros(19_200)),
            ..Default::default()
        };
        for excess in [-0.2, 0.01, 0.3, 2.0] {
            let packets = threshold(&AbcParams::default(), excess);
            assert_eq!(threshold(&bytes, excess), packets, "{excess}");
            assert_eq!(threshold(&delay, excess), packets, "{excess}");
        }
    }

    #[test]
    fn average_counts_accepted_packets_only() {
        let buffer = BufferParams { limit: QueueLimit::Packets(14), ..Default::default() };
        let port = Port { buffer: &buffer, rate: BitRate(10_000_000), weights: &Weights::equal() };
        let mut queue = AbcScheme::build::<TestPacket>(&AbcParams::default(), &port);
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        let mut offer = |queue: &mut ManagedQueue<_, _>, label| {
            queue.enqueue(TestPacket { label, ..Default::default() }, Time::ZERO, &mut rng, &mut drops);
        };
        for _ in 0..12 {
            offer(&mut queue, 1.0);
        }
        offer(&mut queue, 50.0); // dropped: Q = 12 = Q_min
        offer(&mut queue, 1.0);
        offer(&mut queue, 1.0); // the 14th
        offer(&mut queue, 1.0); // tail drop, below the threshold of 20
        let reasons: Vec<_> =
            drops.0.iter().map(|&(packet, reason, backlog)| (packet.label, reason, backlog.packets)).collect();
        assert_eq!(reasons, [(50.0, DropReason::Aqm, 12), (1.0, DropReason::Overlimit, 14)]);
        assert_eq!(queue.backlog().packets, 14);
        // The average includes 14 activities of 1, but not the activity of 50. The queue was Q_base at the last
        // arrival.
        assert_eq!(
            (readings(|report| queue.report(report)), queue.drop_threshold()),
            (vec![("average_activity", 1.0)], Some(20.0))
        );
    }

    #[test]
    fn a_delay_from_departures_follows_them() {
        // One packet of 1500 bytes leaves every 2.4 ms, which is half of the link's 10 Mbit/s. So ten waiting packets
        // have a delay of 24 ms, the Q_base used here. The link's rate would give 12 ms.
        let of = |delay_estimate| AbcParams {
            q_min: Threshold::Delay(Time::from_millis(10)),
            q_base: Threshold::Delay(Time::from_micros(24_100)),
            gamma: Threshold::Delay(Time::ZERO),
            delay_estimate,
            ..Default::default()
        };
        let drops_at = |params: &AbcParams| {
            let mut aqm = aqm_with_average(params, 7.0);
            for step in 1..1000 {
                let backlog = Backlog { packets: 9, bytes: 13_500 };
                aqm.departed(&TestPacket::default(), backlog, Time::from_micros(2400 * step));
            }
            (0..100).find(|&q| admit(&mut aqm, 7.0, q) == Verdict::Drop)
        };
        assert_eq!(drops_at(&of(DelayEstimate::Departures)), Some(11)); // 26.4 ms
        assert_eq!(drops_at(&of(DelayEstimate::LinkRate)), Some(21)); // 25.2 ms
    }

    #[test]
    fn thresholds_that_contradict_each_other_are_refused() {
        assert_eq!(
            refusal(json!({"scheme": "abc", "q_min": "30 packets"})),
            r#"queue.q_min: "30 packets" is out of range, it must be from 0 to the limit of the queue, 24 packets"#
        );
        assert_eq!(
            refusal(json!({"scheme": "abc", "q_min": "14.4 ms"})),
            "queue.q_base: \"20 packets\" is in packets, but q_min \"14.4 ms\" is in delay: \
             give q_min, q_base and gamma in one unit"
        );
        assert_eq!(
            refusal(json!({"scheme": "abc", "gamma": "2e12 packets"})),
            "queue.gamma: \"2000000000000 packets\" is out of range, it must be from 0 to 1e12"
        );
    }

    #[test]
    fn a_port_that_would_stay_closed_for_good_is_refused() {
        // The activity is 9.97 and the average 0, so T_drop = 20 - 16 * 9.97 < 0. Dropped packets do not change the
        // average.
        let (activity, open) = (9.97, Threshold::Packets(0.01));
        let mut closed = <AbcAqm>::new(&AbcParams { q_min: Threshold::Packets(0.0), ..Default::default() });
        assert!((0..1000).all(|_| admit(&mut closed, activity, 0) == Verdict::Drop));
        let mut opens = <AbcAqm>::new(&AbcParams { q_min: open, ..Default::default() });
        assert_eq!(admit(&mut opens, activity, 0), Verdict::Accept);
        for zero in ["0 packets", "0 B", "0 s"] {
            let unit = zero.replace('0', "1");
            let message = refusal(json!({"scheme": "abc", "q_min": zero, "q_base": unit, "gamma": unit}));
            let start =
                format!("queue.q_min: \"{zero}\" is out of range, it must be above 0: otherwise an empty queue");
            assert!(message.starts_with(&start), "{message}");
        }
    }

    #[test]
    fn equation_13_equal_shift_of_all_activities_changes_no_decision() {
        let params = AbcParams::default();
        for shift in [1.0, -1.0, 4.0, 100.0] {
            for excess in [-1.0, -0.125, 0.0, 0.125, 0.375, 2.0] {
                let mut aqm = aqm_with_average(&params, 7.0 + shift);
                let first = (0..100).find(|&q| admit(&mut aqm, 7.0 + shift + excess, q) == Verdict::Drop).unwrap();
                assert_eq!(first, threshold(&params, excess), "{shift} {excess}");
            }
        }
    }
}
