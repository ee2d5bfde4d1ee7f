//! BLACK: packets sampled from the queue tell which flows hold more than their share of it; these lose packets.
//!
//! Source: Chatranon, Labrador and Banerjee, "BLACK: Detection and Preferential Dropping of High Bandwidth Unresponsive
//! Flows", IEEE ICC 2003; its text was not available to us. What is known of it comes from its abstract and from afc,
//! sections 2 to 4.
//!
//! | number | rule |
//! |---|---|
//! | (1) | each arrival samples one waiting packet; its flow, in a cache of c flows (least recently used), has a hit |
//! | (2) | after m samples: `Hit = (1-e)*Hit + e*hits/m`, hits = 0 |
//! | (3) | `Fair = 1/N_act` |
//! | (4) | at an average queue of `min_th` or more, a cached flow with `Hit > Fair` loses its arrival with `p = min(1, (Hit-Fair)/Fair)` |
//! | (5) | RED decides on every other arrival, see [`super::red_core`] |
//!
//! Cost: RED's, one random number and three look-ups per packet, c records per m packets. State: 25 bytes for each of
//! c flows and those to find it, b bits, RED's.
//!
//! Deviations and choices where no source decides:
//! 1. `p` is linear. afc says that it is 1 at twice Fair; the simplest form.
//! 2. Hit is smoothed over the periods. With `smoothing` 1, the literal text, a source at link rate is let in and shut out
//!    for whole periods and keeps about a fifth of the link.
//! 3. N_act comes from a direct bitmap. BLACK's own estimate is said to assume flows of one intensity, which the share of
//!    matches between arrival and sample does (`1/N` for N equal flows): `flow_count = "matches"`. A few heavy flows bring
//!    it down to their own number.
//! 4. Below an average of `min_th` everything is accepted, and so is a packet that finds nothing waiting. A drop by (4)
//!    restarts RED's count.
//! 5. An arrival of a cached flow refreshes its place in the cache, dropped or not: otherwise a flow that loses its
//!    packets is forgotten for it.
//!
//! Not implemented: ECN; insertion into the cache with a probability below 1. The queue is one FIFO for all classes.

use super::red_core::{RedCore, RedDecision};
use super::red_part::WithRed;
use crate::bitmap::FlowCounter;
use crate::buffer::BufferParams;
use crate::choices;
use crate::config::{ConfigError, Table};
use crate::discipline::{Backlog, DropReason, DropSink, QueueDiscipline, Report, StateSize};
use crate::flow::FlowKey;
use crate::lru::LruCache;
use crate::packet::Packet;
use crate::params;
use crate::random_access::RandomAccessFifo;
use crate::rng::Rng;
use crate::scheme::{About, Port, SchemeSpec};
use crate::units::{BitRate, QueueLimit, Time};

choices! {
    /// Where the number of active flows comes from.
    pub enum FlowCount {
        /// A direct bitmap over the arrivals.
        Bitmap = "bitmap",
        /// Samples per match between arrival and sample.
        Matches = "matches",
        /// It is given: `known_flows`.
        Known = "known",
    }
}

params! {
    /// BLACK, RED left out.
    pub struct BlackParams {
        /// Samples in a period.
        period: u32 = 150, in 1..=1000000, symbol "m", source "our choice: not in afc";
        /// Weight of the last period in the fraction of hits; 1 is the literal text.
        smoothing: f64 = 0.02, in 0.000001..=1.0, symbol "e", source "our choice: meets afc Table 1";
        /// Flows that the cache holds.
        cache: u32 = 46, in 1..=1000000, symbol "c", source "afc 4; 20 with bursty flows";
        /// Where the number of active flows comes from.
        flow_count: FlowCount = "bitmap", source "our choice";
        /// Number of active flows, for `flow_count = "known"`.
        known_flows: u32 = 100, in 1..=16777216, symbol "N_act", source "an oracle for comparison";
        /// Bits of the bitmap.
        bitmap_bits: u32 = 1024, in 1..=16777216, symbol "b", source "our choice: 2 % error with 105 flows";
        /// Shortest time over which the bitmap counts.
        count_interval: Time = "1 s", in "1 ms"..="1 h", source "our choice";
        /// What gets one share: each flow, which is one connection, or each user with all its flows.
        share_per: FlowKey = "flow", source "afc 2";
    }
}

/// BLACK in the list of schemes.
#[derive(Clone, Copy, Debug)]
pub struct BlackScheme;

impl SchemeSpec for BlackScheme {
    const ABOUT: About = About {
        title: "BLACK",
        kind: "one queue with random access; drops the arriving packet",
        summary: "Samples the queue to find flows that hold more than a fair fraction of it, and drops their arrivals \
                  with a probability that grows with the excess; RED decides on the rest.",
        source: "Chatranon, Labrador, Banerjee: BLACK: Detection and Preferential Dropping of High Bandwidth \
                 Unresponsive Flows, IEEE ICC 2003, as described in afc",
        state: "port: 46 flows, a bitmap of 1024 bits, that of RED",
        cost: "RED's; 1 random number, 3 look-ups, 1 hash",
    };
    const ORDERS_PACKETS: bool = true;
    type Params = WithRed<BlackParams>;
    type Discipline<P: Packet> = Black<P>;

    fn check(params: &Self::Params, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        params.red.check(buffer.limit, table)
    }

    fn build<P: Packet>(params: &Self::Params, port: &Port<'_>) -> Black<P> {
        Black {
            queue: RandomAccessFifo::default(),
            limit: port.buffer.limit,
            red: RedCore::new(params.red.settings(port.buffer.limit), port.rate),
            share_per: params.own.share_per,
            occupancy: Box::new(Occupancy::new(&params.own)),
            probability: 0.0,
        }
    }
}

/// BLACK at one port, with its queue.
#[derive(Clone, Debug)]
pub struct Black<P> {
    queue: RandomAccessFifo<P>,
    limit: QueueLimit,
    red: RedCore,
    share_per: FlowKey,
    occupancy: Box<Occupancy>,
    /// That of the last drop decision, eq. (4) or RED.
    probability: f64,
}

impl<P: Packet> Black<P> {
    /// Whether an arrival that was counted is to be dropped before the queue is full.
    fn drops_early(&mut self, flow: u32, wire_bytes: u32, backlog: Backlog, rng: &mut Rng) -> bool {
        let excess = self.occupancy.excess(flow);
        if self.red.average() >= self.red.min_th() && backlog.packets > 0 && excess > 0.0 {
            self.probability = excess.min(1.0); // eq. (4)
            let dropped = rng.open01() < self.probability;
            if dropped {
                self.red.restart();
            }
            return dropped;
        }
        let decision = self.red.decide(backlog, wire_bytes, rng); // eq. (5)
        self.probability = self.red.probability();
        decision != RedDecision::Pass
    }
}

impl<P: Packet> QueueDiscipline<P> for Black<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let (backlog, flow) = (self.queue.backlog(), self.share_per.of(&packet));
        self.occupancy.arrived(flow, now, rng);
        if let Some(position) = self.queue.draw(rng) {
            self.occupancy.sampled(flow, self.share_per.of(self.queue.at(position)));
        }
        self.red.arrival(backlog, packet.wire_bytes(), now);
        if self.drops_early(flow, packet.wire_bytes(), backlog, rng) {
            drops.dropped(&packet, DropReason::Aqm, backlog);
        } else if !backlog.has_room_for(packet.wire_bytes(), self.limit) {
            self.red.overflowed();
            drops.dropped(&packet, DropReason::Overlimit, backlog);
        } else {
            packet.set_enqueued_at(now);
            self.queue.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        let packet = self.queue.pop();
        if packet.is_none() {
            self.red.idle(now);
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.red.set_link_rate(rate);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn state_size(&self) -> StateSize {
        let fixed = size_of_val(self) - size_of_val(&self.queue) - size_of_val(&self.red);
        StateSize {
            records: self.occupancy.cache.len(),
            bytes: fixed + self.red.bytes() + size_of::<Occupancy>() + self.occupancy.bytes(),
        }
    }

    fn report(&self, report: Report<'_>) {
        report("average_queue", self.red.average());
        report("flows", self.occupancy.flows);
    }
}

/// What a cached flow holds of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Held {
    /// Samples of this period.
    hits: u32,
    /// `HitFraction`.
    fraction: f64,
}

/// Who holds how much of the queue, and how many there are.
#[derive(Clone, Debug)]
struct Occupancy {
    cache: LruCache<Held>,
    period: u32,
    smoothing: f64,
    samples: u32,
    matches: u32,
    source: FlowCount,
    counter: FlowCounter,
    /// N_act.
    flows: f64,
}

impl Occupancy {
    fn new(params: &BlackParams) -> Self {
        Self {
            cache: LruCache::new(params.cache),
            period: params.period,
            smoothing: params.smoothing,
            samples: 0,
            matches: 0,
            source: params.flow_count,
            counter: FlowCounter::new(
                if params.flow_count == FlowCount::Bitmap { params.bitmap_bits } else { 1 },
                params.count_interval,
                params.period,
            ),
            flows: if params.flow_count == FlowCount::Known { f64::from(params.known_flows) } else { 1.0 },
        }
    }

    #[inline]
    fn arrived(&mut self, flow: u32, now: Time, rng: &mut Rng) {
        if self.source == FlowCount::Bitmap {
            self.counter.count(flow, now, rng);
        }
    }

    /// An arrival of `flow` sampled a waiting packet of `sampled`: eq. (1).
    fn sampled(&mut self, flow: u32, sampled: u32) {
        self.cache.use_or_insert_with(sampled, Held::default).hits += 1;
        self.matches += u32::from(flow == sampled);
        self.samples += 1;
        if self.samples == self.period {
            self.end_period();
        }
    }

    fn end_period(&mut self) {
        let (e, samples) = (self.smoothing, f64::from(self.samples));
        self.cache.records_mut(|_, held| {
            held.fraction += e * (f64::from(held.hits) / samples - held.fraction); // eq. (2)
            held.hits = 0;
        });
        match self.source {
            FlowCount::Bitmap => self.flows = self.counter.flows(),
            FlowCount::Matches if self.matches > 0 => {
                let flows = samples / f64::from(self.matches);
                // The first estimate stands alone: there is none before it to be smoothed with.
                self.flows = if self.flows == 1.0 { flows } else { self.flows + e * (flows - self.flows) };
            }
            FlowCount::Matches | FlowCount::Known => {}
        }
        (self.samples, self.matches) = (0, 0);
    }

    /// (Hit - Fair)/Fair of a cached flow, eq. (3) and (4).
    #[inline]
    fn excess(&mut self, flow: u32) -> f64 {
        let flows = self.flows;
        self.cache.use_existing(flow).map_or(0.0, |held| held.fraction * flows - 1.0)
    }

    fn bytes(&self) -> usize {
        self.cache.bytes() + self.counter.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::red_part::{RedPartParams, check_idle_time};
    use super::*;
    use crate::flow::Weights;
    use crate::scheme::QueueConfig;
    use crate::testing::{Drops, TestPacket};
    use serde_json::json;

    fn black(own: BlackParams, red: RedPartParams, limit: QueueLimit) -> Black<TestPacket> {
        let buffer = BufferParams { limit, ..Default::default() };
        let port = Port { buffer: &buffer, rate: BitRate(5_000_000), weights: &Weights::equal() };
        BlackScheme::build(&WithRed { own, red }, &port)
    }

    fn offer(queue: &mut Black<TestPacket>, flow: u32, rng: &mut Rng) -> Option<DropReason> {
        let mut drops = Drops::default();
        queue.enqueue(TestPacket { flow, ..Default::default() }, Time::ZERO, rng, &mut drops);
        drops.0.first().map(|drop| drop.1)
    }

    fn occupancy(params: &BlackParams) -> Occupancy {
        Occupancy::new(params)
    }

    #[test]
    fn hits_are_smoothed_over_periods() {
        let params = BlackParams {
            period: 10,
            smoothing: 0.25,
            flow_count: FlowCount::Known,
            known_flows: 4,
            ..Default::default()
        };
        let mut o = occupancy(&params);
        // Period 1: flow 1 has 4 of 10 hits, period 2: 10 of 10.
        (0..10).for_each(|n| o.sampled(9, if n < 4 { 1 } else { 2 }));
        assert!((o.excess(1) - (0.25 * 0.4 * 4.0 - 1.0)).abs() < 1e-12);
        (0..10).for_each(|_| o.sampled(9, 1));
        let fraction = 0.75 * 0.1 + 0.25;
        assert!((o.excess(1) - (fraction * 4.0 - 1.0)).abs() < 1e-12); // 0.3 above the fair quarter
        // Flow 2 had none in the second period: 0.75 * 0.15. A flow without a record has no excess.
        assert!((o.excess(2) - (0.1125 * 4.0 - 1.0)).abs() < 1e-12);
        assert_eq!(o.excess(3), 0.0);
    }

    #[test]
    fn the_cache_forgets_what_was_not_sampled_for_long() {
        let mut o = occupancy(&BlackParams { cache: 2, period: 4, smoothing: 1.0, ..Default::default() });
        [1, 1, 2, 3].iter().for_each(|&flow| o.sampled(9, flow));
        assert_eq!(o.cache.get_mut(1), None);
        assert_eq!(o.cache.get_mut(3).copied(), Some(Held { hits: 0, fraction: 0.25 }));
    }

    #[test]
    fn matches_count_equal_flows() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let params = BlackParams { period: 1000, flow_count: FlowCount::Matches, ..Default::default() };
        let mut o = occupancy(&params);
        let mut draw = || (rng.open01() * 20.0) as u32;
        for _ in 0..200_000 {
            o.sampled(draw(), draw());
        }
        // Matches are Binomial(1000, 1/20) a period: E[m/matches] = 20 (1 + 0.95/50) = 20.4, and smoothing leaves
        // 0.02/1.98 of the variance (20 * 0.138)^2: deviation 0.28.
        assert!((o.flows - 20.4).abs() < 1.4, "{}", o.flows);
        // No match leaves the estimate as it is.
        let before = o.flows;
        (0..1000).for_each(|n| o.sampled(n, n + 1));
        assert_eq!(o.flows, before);
    }

    #[test]
    fn the_bitmap_counts_arrivals_dropped_or_not() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut queue =
            black(BlackParams { period: 10, ..Default::default() }, RedPartParams::default(), QueueLimit::Packets(2));
        (0..100).for_each(|flow| _ = offer(&mut queue, flow, &mut rng));
        // 2.2 % standard error; five of them.
        assert!((queue.occupancy.flows / 100.0 - 1.0).abs() < 0.12, "{}", queue.occupancy.flows);
        assert_eq!((queue.state_size().records, queue.backlog().packets), (2, 2));
    }

    /// Ten packets wait, four of them of flow 0; the fair share of `known_flows` flows; the average is the queue.
    fn loaded(known_flows: u32, rng: &mut Rng) -> Black<TestPacket> {
        let own = BlackParams {
            period: 1000,
            smoothing: 1.0,
            flow_count: FlowCount::Known,
            known_flows,
            ..Default::default()
        };
        let red = RedPartParams { weight: 1.0, max_p: 1e-6, ..Default::default() };
        let mut queue = black(own, red, QueueLimit::Packets(24));
        (0..10u32).for_each(|n| queue.queue.push(TestPacket { flow: n.saturating_sub(3), ..Default::default() }));
        (0..1000).for_each(|_| {
            let position = queue.queue.draw(rng).unwrap();
            let flow = queue.queue.at(position).flow;
            queue.occupancy.sampled(99, flow);
        });
        queue.red.arrival(queue.queue.backlog(), 1500, Time::ZERO);
        queue
    }

    #[test]
    fn drops_linearly_up_to_twice_the_fair_fraction() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        // Hit = 0.4 +- 0.0155 (binomial, 1000 samples). Fair 1/3: p = 0.2 +- 0.047; Fair 1/5: p = 1.
        for (known, low, high) in [(2, 0.0, 0.0), (3, 0.0, 0.44), (5, 0.77, 1.0), (6, 1.0, 1.0)] {
            let mut queue = loaded(known, &mut rng);
            let drops = (0..1000).filter(|_| queue.drops_early(0, 1500, queue.queue.backlog(), &mut rng)).count();
            let p = queue.drop_probability().unwrap();
            assert!((low..=high).contains(&p), "{known}: {p}");
            // Binomial(1000, p), deviation at most 15.8: five of them.
            assert!((drops as f64 - 1000.0 * p).abs() < 80.0, "{known}: {drops} {p}");
            assert_eq!(offer(&mut queue, 7_777, &mut rng), None); // never sampled
        }
    }

    #[test]
    fn nothing_is_dropped_below_the_lower_threshold() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut queue = loaded(10, &mut rng);
        queue.red.arrival(Backlog { packets: 3, bytes: 0 }, 1500, Time::ZERO);
        assert!((0..100).all(|_| !queue.drops_early(0, 1500, queue.queue.backlog(), &mut rng)));
        queue.red.arrival(Backlog { packets: 4, bytes: 0 }, 1500, Time::ZERO);
        assert!(queue.drops_early(0, 1500, queue.queue.backlog(), &mut rng));
    }

    #[test]
    fn red_and_the_limit_stand_behind_it() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let own = || BlackParams { flow_count: FlowCount::Known, known_flows: 1, ..Default::default() };
        let red = RedPartParams { weight: 1.0, gentle: false, ..Default::default() };
        let mut queue = black(own(), red, QueueLimit::Packets(24));
        let drops: Vec<_> = (0..100).filter_map(|flow| offer(&mut queue, flow, &mut rng)).collect();
        assert!(drops.iter().all(|&reason| reason == DropReason::Aqm) && queue.backlog().packets == 12);
        let red = RedPartParams { weight: 1e-9, ..Default::default() };
        let mut queue = black(own(), red, QueueLimit::Packets(24));
        let drops: Vec<_> = (0..30).filter_map(|flow| offer(&mut queue, flow, &mut rng)).collect();
        assert_eq!(drops, [DropReason::Overlimit; 6]);
        let mut readings = Vec::new();
        queue.report(&mut |name, _| readings.push(name));
        assert_eq!(readings, ["average_queue", "flows"]);
    }

    #[test]
    fn the_average_fades_in_idle_times_by_the_rate_of_the_link() {
        check_idle_time::<BlackScheme, _>(BlackParams::default());
    }

    #[test]
    fn thresholds_of_red_above_the_limit_of_a_short_queue_are_refused() {
        // Half of a limit of 8 packets is below min_th.
        let value = json!({"scheme": "black", "limit": "8 packets", "min_th": "5 packets"});
        assert_eq!(
            QueueConfig::read(&mut Table::new("queue", &value).unwrap()).unwrap_err().to_string(),
            "queue.max_th: \"4 packets\" does not fit min_th \"5 packets\", it must be 0 < min_th < max_th, \
             or both 0 for automatic"
        );
    }
}
