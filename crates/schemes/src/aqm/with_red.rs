//! RED as a part of another scheme. One table holds its parameters and those of the scheme.
//!
//! By default the thresholds are 1/6 and 1/2 of the limit. With a limit of 300 packets these are the 50 and 150 packets
//! of afc section 4.

use super::red_core::{RedParams, check_thresholds};
use crate::contract::prelude::*;

params! {
    /// Parameters of RED as a part of another scheme.
    pub struct RedPartParams {
        /// Average queue below which no packet is dropped. Absent: a sixth of the limit.
        min_th: Option<Threshold> = null, symbol "min_th", source "afc 4: 50 packets";
        /// Average queue at which RED's probability reaches `max_p`. Absent: half of the limit.
        max_th: Option<Threshold> = null, symbol "max_th", source "afc 4: 150 packets";
        /// RED's drop probability at `max_th`.
        max_p: f64 = 0.1, in 0.000001..=1.0, symbol "max_p", source "ns-2; not in afc";
        /// Weight of a new sample in the average queue.
        weight: f64 = 0.002, in 0.000000001..=1.0, symbol "w_q", source "red1993 section VI; not in afc";
        /// Gentle mode: between `max_th` and twice `max_th` RED's probability rises linearly to 1 instead of jumping.
        gentle: bool = true, source "afc 4";
        /// Wait mode: at least `1/p_b` packets between early drops of RED.
        wait: bool = true, source "ns-2";
        /// Mean length of a packet, for the average after idle times.
        mean_packet: Bytes = "1000 B", in "1 B"..="1 MB", source "afc 4: packets of 1 kB";
    }
}

impl RedPartParams {
    /// Settings of the RED core for a queue of `limit`.
    #[must_use]
    pub fn settings(&self, limit: QueueLimit) -> RedParams {
        let (min_th, max_th) = self.thresholds(limit);
        RedParams {
            min_th,
            max_th,
            max_p: self.max_p,
            weight: self.weight,
            gentle: self.gentle,
            wait: self.wait,
            mean_packet: self.mean_packet,
            ..Default::default()
        }
    }

    /// Checks the thresholds against each other.
    ///
    /// # Errors
    /// If the two thresholds have different units or do not satisfy `0 < min_th < max_th`.
    pub fn check(&self, limit: QueueLimit, table: &Table<'_>) -> Result<(), ConfigError> {
        let (min_th, max_th) = self.thresholds(limit);
        if min_th.magnitude() == 0.0 {
            let problem = format!("\"{min_th}\" is out of range, it must be above 0");
            return Err(ConfigError::new(table.key("min_th"), problem));
        }
        check_thresholds(min_th, max_th, table)
    }

    fn thresholds(&self, limit: QueueLimit) -> (Threshold, Threshold) {
        let part = |divisor: f64| match limit {
            QueueLimit::Packets(packets) => Threshold::Packets(f64::from(packets) / divisor),
            QueueLimit::Bytes(bytes) => Threshold::Bytes(bytes as f64 / divisor),
        };
        (self.min_th.unwrap_or_else(|| part(6.0)), self.max_th.unwrap_or_else(|| part(2.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::afc::{AfcParams, AfcScheme};
    use crate::aqm::black::{BlackParams, BlackScheme};
    use crate::aqm::choke::{ChokeParams, ChokeScheme};
    use crate::testing::{Drops, TestPacket, read_queue, readings, refusal};
    use serde_json::json;

    #[test]
    fn thresholds_follow_from_the_limit_unless_given() {
        let settings = RedPartParams::default().settings(QueueLimit::Packets(300));
        assert_eq!((settings.min_th, settings.max_th), (Threshold::Packets(50.0), Threshold::Packets(150.0)));
        let settings = RedPartParams::default().settings(QueueLimit::Bytes(60_000));
        assert_eq!((settings.min_th, settings.max_th), (Threshold::Bytes(10_000.0), Threshold::Bytes(30_000.0)));
        let given = RedPartParams { max_th: Some(Threshold::Packets(70.0)), ..Default::default() };
        assert_eq!(given.settings(QueueLimit::Packets(300)).max_th, Threshold::Packets(70.0));
        assert_eq!(given.settings(QueueLimit::Packets(300)).max_p, 0.1);
    }

    #[test]
    fn thresholds_that_contradict_each_other_are_refused() {
        // The default of max_th is half of 24 packets, which is not above min_th.
        let message = refusal(json!({"scheme": "choke", "min_th": "12 packets"}));
        assert!(message.starts_with(r#"queue.max_th: "12 packets" does not fit min_th "12 packets""#), "{message}");
        assert!(refusal(json!({"scheme": "choke", "min_th": "5 kB"})).contains("it must be in bytes"));
        let message = refusal(json!({"scheme": "choke", "min_th": "0 packets"}));
        assert_eq!(message, r#"queue.min_th: "0 packets" is out of range, it must be above 0"#);
        assert!(read_queue(json!({"scheme": "choke", "min_th": "5 packets", "max_th": "15 packets"})).is_ok());
    }

    #[test]
    fn thresholds_above_the_limit_of_a_short_queue_are_refused() {
        // Half of a limit of 8 packets is below min_th.
        for scheme in ["afc", "black", "choke"] {
            assert_eq!(
                refusal(json!({"scheme": scheme, "limit": "8 packets", "min_th": "5 packets"})),
                "queue.max_th: \"4 packets\" does not fit min_th \"5 packets\", it must be 0 < min_th < max_th, \
                 or both 0 for automatic"
            );
        }
    }

    /// Checks the average of a port of scheme `S` after an idle time, eq. (1) and (2) of [`crate::aqm::red_core`]. The
    /// link's rate has changed before, and the weight is a half. Three packets arrive at queues of 0, 1 and 2 packets,
    /// so the averages are 0, 1/2 and 5/4. A fourth arrives after the time of two mean packets, when 1/8 of the average
    /// is left.
    fn fades_in_idle_times<S: SchemeSpec>(params: impl FnOnce(RedPartParams) -> S::Params) {
        let params = params(RedPartParams { weight: 0.5, mean_packet: Bytes(1000), ..Default::default() });
        let port = Port { buffer: &BufferParams::default(), rate: BitRate(80_000_000), weights: &Weights::equal() };
        let mut queue = S::build::<TestPacket>(&params, &port);
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        let average = |queue: &S::Discipline<TestPacket>| readings(|report| queue.report(report))[0];
        (0..3).for_each(|_| queue.enqueue(TestPacket::default(), Time::ZERO, &mut rng, &mut drops));
        assert_eq!(average(&queue), ("average_queue", 1.25));
        while queue.dequeue(Time::ZERO, &mut rng, &mut drops).is_some() {}
        queue.set_link_rate(BitRate(8_000_000)); // 1 ms per packet of mean length
        queue.enqueue(TestPacket::default(), Time::from_millis(2), &mut rng, &mut drops);
        assert_eq!((average(&queue).1, queue.drop_probability()), (1.25 / 8.0, Some(0.0)));
        assert_eq!(drops.0.len(), 0);
    }

    #[test]
    fn the_average_fades_in_idle_times_by_the_rate_of_the_link() {
        fades_in_idle_times::<AfcScheme>(|red| AfcParams { red, ..Default::default() });
        fades_in_idle_times::<BlackScheme>(|red| BlackParams { red, ..Default::default() });
        fades_in_idle_times::<ChokeScheme>(|red| ChokeParams { red, ..Default::default() });
    }

    #[test]
    fn both_sets_stand_in_one_table() {
        let value = json!({"scheme": "choke", "draws": 3, "max_p": 0.05});
        let written = read_queue(value).unwrap().write();
        assert_eq!(
            (&written["draws"], &written["max_p"], &written["weight"]),
            (&json!(3), &json!(0.05), &json!(0.002))
        );
    }
}
