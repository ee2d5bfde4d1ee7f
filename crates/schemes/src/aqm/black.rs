//! BLACK: samples packets of the queue to find flows that have more than their share of the queue, and drops packets of
//! these flows.
//!
//! Source: Chatranon, Labrador and Banerjee, "BLACK: Detection and Preferential Dropping of High Bandwidth Unresponsive
//! Flows", IEEE ICC 2003. Its text was not available to us; the scheme is reconstructed from its abstract and from
//! sections 2 to 4 of the AFC paper (afc, see [`super::afc`]). The bitmap is from Estan, Varghese and Fisk, "Counting
//! the Number of Active Flows on a High Speed Link", ACM SIGCOMM CCR 32(3), 2002.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | each arrival samples one waiting packet and gives the packet's flow a hit, in a cache of c flows (least recently used) | `Occupancy::sampled` |
//! | (2) | `Hit`: the flow's share of a virtual queue of the last m samples, `virtual_queue` | `Window::hit` |
//! | (3) | `Fair = 1/N_act` | `Occupancy::excess` |
//! | (4) | at an average queue of `min_th` or more, drop an arrival of a cached flow with `Hit > Fair` with `p = min(1, (Hit-Fair)/Fair)` | `Black::judge` |
//! | (5) | RED decides on every arrival that (4) accepts, see [`super::red`] | `RedCore::decide` |
//!
//! N_act comes from a direct bitmap of b bits: `N_act = b * ln(b/z)`, where z bits are still zero.
//!
//! Cost: the cost of RED, plus one random number, three look-ups and one hash per packet. State: the state of RED, plus
//! 45 bytes for each of c cached flows, 8 bytes for each of m samples, and b bits.
//!
//! Deviations:
//! 1. `p` is linear, the simplest form: afc says only that p is 1 if Hit is twice Fair.
//! 2. The sources leave open when Hit is computed. AFC is BLACK with four changes. The window is not among them, so
//!    BLACK and AFC use the same window. The default `window` comes closest to afc's Tables 1 and 3. BLACK's rows in
//!    these tables therefore do not test the default.
//! 3. N_act comes from a direct bitmap. BLACK's own estimate is said to assume flows of equal rates. `flow_count =
//!    "matches"` makes this assumption: it uses the fraction of samples that match the arrival's flow (`1/N` for N
//!    equal flows). If there are a few heavy flows, it estimates only their number.
//! 4. Every packet is accepted if the average queue is below `min_th` or no packet waits. A drop by (4) restarts RED's
//!    count. RED also decides on packets of flows above their share that (4) accepts; otherwise RED would drop packets
//!    of light flows instead.
//! 5. At an average of `min_th` or more every arrival of a cached flow, dropped or not, refreshes its entry. Otherwise
//!    a flow would be evicted because its packets are dropped.
//! 6. No source that we could read gives m. We use AFC's m: ten samples for each of a hundred flows.
//!
//! Not implemented: ECN; insertion into the cache with a probability below 1; classes (all packets share one FIFO).

use super::red_core::{RedCore, RedDecision};
use super::sampled_queue::{SampledQueue, Sampler};
pub use super::virtual_queue::WindowKind;
use super::virtual_queue::{Share, Window};
use super::with_red::RedPartParams;
use crate::contract::prelude::*;
use crate::flows::bitmap::FlowCounter;
use crate::flows::lru_cache::LruCache;
use crate::queue::random_access_fifo::RandomAccessFifo;

choices! {
    /// Method to obtain the number of active flows.
    pub enum FlowCount {
        /// A direct bitmap that counts the flows of arrivals.
        Bitmap = "bitmap",
        /// Number of samples per match. A match is a sample of the arrival's flow.
        Matches = "matches",
        /// Given by `known_flows`.
        Known = "known",
    }
}

params! {
    /// BLACK, in front of RED.
    pub struct BlackParams {
        /// Window in which a flow's share is measured.
        window: WindowKind = "sliding", source "afc 3: a virtual queue of size m";
        /// Samples in the window, or in a period.
        window_samples: u32 = 1000, in 1..=16777216, symbol "m", source "our choice: AFC's, 10 a flow with 100 flows";
        /// Maximum number of flows in the cache.
        cache: u32 = 46, in 1..=1000000, symbol "c", source "afc 4; 20 with bursty flows";
        /// Method to obtain the number of active flows.
        flow_count: FlowCount = "bitmap", source "our choice";
        /// Number of active flows, for `flow_count = "known"`.
        known_flows: u32 = 100, in 1..=16777216, symbol "N_act", source "an oracle for comparison";
        /// Bits of the bitmap.
        bitmap_bits: u32 = 1024, in 1..=16777216, symbol "b", source "our choice: 2 % error with 105 flows";
        /// Minimum counting interval of the bitmap.
        count_interval: Time = "1 s", in "1 ms"..="1 h", source "our choice";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "afc 2";
        with red: RedPartParams;
    }
}

/// Registry entry of BLACK.
#[derive(Clone, Copy, Debug)]
pub struct BlackScheme;

impl SchemeSpec for BlackScheme {
    const ABOUT: About = About {
        title: "BLACK",
        kind: "one queue with random access; drops the arriving packet",
        summary: "Samples the queue to find flows that hold more than a fair fraction of it, and drops their arrivals \
                  with a probability that grows with the excess; RED decides on the other packets.",
        source: "Chatranon, Labrador, Banerjee: BLACK: Detection and Preferential Dropping of High Bandwidth \
                 Unresponsive Flows, IEEE ICC 2003, as described in afc",
        state: "port: 46 flows, a bitmap of 1024 bits, a ring of 1000 samples, the state of RED",
        flow_state: FlowState::Table,
        order: Order::Fifo,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = BlackParams;
    type Discipline<P: Packet> = SampledQueue<P, Black>;

    fn check(params: &Self::Params, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        params.red.check(buffer.limit, table)
    }

    fn build<P: Packet>(params: &Self::Params, port: &Port<'_>) -> Self::Discipline<P> {
        let sampler =
            Black { share_per: params.share_per, occupancy: Box::new(Occupancy::new(params)), probability: 0.0 };
        SampledQueue::new(sampler, params.red.settings(port.buffer.limit), port.buffer.limit, port.rate)
    }
}

/// BLACK at one port.
#[derive(Clone, Debug)]
pub struct Black {
    share_per: FlowKey,
    occupancy: Box<Occupancy>,
    /// Probability of the last drop decision by eq. (4), combined with RED's probability if RED was evaluated.
    probability: f64,
}

impl Black {
    /// Returns true if an arrival, which RED has already counted, must be dropped although the queue is not full.
    fn judge(&mut self, red: &mut RedCore, flow: u32, wire_bytes: u32, backlog: Backlog, rng: &mut Rng) -> bool {
        let congested = red.average() >= red.min_th() && backlog.packets > 0;
        let excess = if congested { self.occupancy.excess(flow) } else { 0.0 };
        let unfair = excess.clamp(0.0, 1.0); // eq. (4)
        if unfair > 0.0 && rng.open01() < unfair {
            self.probability = unfair;
            red.restart();
            return true;
        }
        let decision = red.decide(backlog, wire_bytes, rng); // eq. (5)
        self.probability = 1.0 - (1.0 - unfair) * (1.0 - red.probability());
        decision != RedDecision::Pass
    }
}

impl Sampler for Black {
    fn drops_early<P: Packet>(
        &mut self,
        (packet, now): (&P, Time),
        queue: &mut RandomAccessFifo<P>,
        red: &mut RedCore,
        rng: &mut Rng,
        _: &mut impl DropSink<P>,
    ) -> bool {
        let flow = self.share_per.of(packet);
        self.occupancy.arrived(flow, now, rng);
        if let Some(position) = queue.draw(rng) {
            self.occupancy.sampled(flow, self.share_per.of(queue.at(position)), now);
        }
        self.judge(red, flow, packet.wire_bytes(), queue.backlog(), rng)
    }

    fn drop_probability(&self, _: &RedCore) -> f64 {
        self.probability
    }

    fn state_size(&self) -> StateSize {
        let bytes = size_of::<Occupancy>() + self.occupancy.bytes();
        StateSize { records: self.occupancy.cache.len(), bytes }
    }

    fn report(&self, report: Report<'_>) {
        report("flows", self.occupancy.flows);
    }
}

/// Shares of flows in the queue, and the number of flows.
#[derive(Clone, Debug)]
struct Occupancy {
    cache: LruCache<Share>,
    window: Window,
    count: FlowCount,
    counter: FlowCounter,
    matches: Matches,
    /// N_act, the number of active flows.
    flows: f64,
}

/// Number of samples in the current period, and number of samples that are of the same flow as the arrival.
#[derive(Clone, Copy, Debug)]
struct Matches {
    period: u32,
    samples: u32,
    matches: u32,
}

impl Occupancy {
    fn new(params: &BlackParams) -> Self {
        let bits = if params.flow_count == FlowCount::Bitmap { params.bitmap_bits } else { 1 };
        Self {
            cache: LruCache::new(params.cache),
            window: Window::new(params.window, params.window_samples),
            count: params.flow_count,
            counter: FlowCounter::new(bits, params.count_interval, params.window_samples),
            matches: Matches { period: params.window_samples, samples: 0, matches: 0 },
            flows: if params.flow_count == FlowCount::Known { f64::from(params.known_flows) } else { 1.0 },
        }
    }

    #[inline]
    fn arrived(&mut self, flow: u32, now: Time, rng: &mut Rng) {
        if self.count == FlowCount::Bitmap {
            self.counter.count(flow, now, rng);
            self.flows = self.counter.flows();
        }
    }

    /// Counts an arrival of `flow` for which a waiting packet of flow `sampled` was drawn: eq. (1).
    fn sampled(&mut self, flow: u32, sampled: u32, now: Time) {
        self.window.pass(&mut self.cache, (sampled, 1), now, |share| share); // eq. (2)
        if self.count == FlowCount::Matches {
            self.flows = self.matches.count(flow == sampled).unwrap_or(self.flows);
        }
    }

    /// Returns (Hit - Fair)/Fair of a cached flow: eq. (3) and (4).
    #[inline]
    fn excess(&mut self, flow: u32) -> f64 {
        let Self { cache, window, flows, .. } = self;
        cache.use_existing(flow).map_or(0.0, |share| window.hit(share) * *flows - 1.0)
    }

    fn bytes(&self) -> usize {
        self.cache.bytes() + self.window.bytes() + self.counter.bytes()
    }
}

impl Matches {
    /// Counts a sample. At the end of a period with at least one match, returns the number of flows that would give
    /// this many matches.
    fn count(&mut self, matched: bool) -> Option<f64> {
        self.samples += 1;
        self.matches += u32::from(matched);
        if self.samples < self.period {
            return None;
        }
        let flows = (self.matches > 0).then(|| f64::from(self.samples) / f64::from(self.matches));
        (self.samples, self.matches) = (0, 0);
        flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fairqueue::testing::{build, offer};
    use crate::testing::{Drops, TestPacket, readings};

    fn black(own: BlackParams, red: RedPartParams, limit: QueueLimit) -> SampledQueue<TestPacket, Black> {
        build::<BlackScheme>(&BlackParams { red, ..own }, limit, &Weights::equal()).0
    }

    fn reasons(drops: &Drops) -> Vec<DropReason> {
        drops.0.iter().map(|drop| drop.1).collect()
    }

    /// Returns the state for a known number of flows.
    fn knowing(flows: u32, own: BlackParams) -> Occupancy {
        Occupancy::new(&BlackParams { flow_count: FlowCount::Known, known_flows: flows, ..own })
    }

    #[test]
    fn hit_is_the_part_of_the_last_samples() {
        let own = |window| BlackParams { window, window_samples: 10, ..Default::default() };
        let samples = |o: &mut Occupancy, flows: &[u32]| flows.iter().for_each(|&flow| o.sampled(9, flow, Time::ZERO));
        for (window, first, second) in
            [(WindowKind::Sliding, 0.4, 0.8), (WindowKind::Jumping, 0.0, 0.4), (WindowKind::PeriodEnd, 0.4, 0.4)]
        {
            let mut o = knowing(4, own(window));
            // The last four of the first ten samples are of flow 1. Four more samples of flow 1 follow later.
            samples(&mut o, &[2, 2, 2, 2, 2, 2, 1, 1, 1, 1]);
            assert!((o.excess(1) - (first * 4.0 - 1.0)).abs() < 1e-12, "{window:?} {}", o.excess(1));
            samples(&mut o, &[1, 1, 1, 1]);
            assert!((o.excess(1) - (second * 4.0 - 1.0)).abs() < 1e-12, "{window:?} {}", o.excess(1));
            assert_eq!(o.excess(3), 0.0); // a flow without a record has no excess
        }
    }

    #[test]
    fn the_cache_forgets_what_was_not_sampled_for_long() {
        let mut o = knowing(1, BlackParams { cache: 2, window_samples: 4, ..Default::default() });
        [1, 1, 2, 3].iter().for_each(|&flow| o.sampled(9, flow, Time::ZERO));
        assert_eq!(o.cache.get_mut(1), None);
        assert_eq!(o.excess(3), 0.25 - 1.0);
    }

    #[test]
    fn matches_count_equal_flows() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let params = BlackParams { flow_count: FlowCount::Matches, window_samples: 200_000, ..Default::default() };
        let mut o = Occupancy::new(&params);
        let mut draw = || (rng.open01() * 20.0) as u32;
        for _ in 0..200_000 {
            o.sampled(draw(), draw(), Time::ZERO);
        }
        // Of 200 000 samples, 10 000 are expected to match, with a standard deviation of 97. So the estimate is 20
        // flows to within 1 %; the test allows five standard deviations.
        assert!((o.flows - 20.0).abs() < 1.0, "{}", o.flows);
        // Without a match the estimate is unchanged.
        let before = o.flows;
        (0..200_000).for_each(|n| o.sampled(n, n + 1, Time::ZERO));
        assert_eq!(o.flows, before);
    }

    #[test]
    fn the_bitmap_counts_arrivals_dropped_or_not() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut queue = black(BlackParams::default(), RedPartParams::default(), QueueLimit::Packets(2));
        (0..100).for_each(|flow| _ = offer(&mut queue, &mut rng, flow, &[1500]));
        // The standard error is 2.2 %; the test allows five times that.
        assert!((queue.sampler.occupancy.flows / 100.0 - 1.0).abs() < 0.12, "{}", queue.sampler.occupancy.flows);
        assert_eq!((queue.state_size().records, queue.backlog().packets), (2, 2));
    }

    /// Returns a queue of ten packets, four of them of flow 0, with `known_flows` flows. The average equals the queue.
    fn loaded(known_flows: u32, rng: &mut Rng) -> SampledQueue<TestPacket, Black> {
        let own = BlackParams { flow_count: FlowCount::Known, known_flows, ..Default::default() };
        let red = RedPartParams { weight: 1.0, max_p: 1e-6, ..Default::default() };
        let mut queue = black(own, red, QueueLimit::Packets(24));
        (0..10u32).for_each(|n| queue.queue.push(TestPacket { flow: n.saturating_sub(3), ..Default::default() }));
        (0..1000).for_each(|_| {
            let position = queue.queue.draw(rng).unwrap();
            let flow = queue.queue.at(position).flow;
            queue.sampler.occupancy.sampled(99, flow, Time::ZERO);
        });
        queue.red.arrival(queue.queue.backlog(), 1500, Time::ZERO);
        queue
    }

    fn judge(port: &mut SampledQueue<TestPacket, Black>, flow: u32, rng: &mut Rng) -> bool {
        let SampledQueue { queue, red, sampler, .. } = port;
        sampler.judge(red, flow, 1500, queue.backlog(), rng)
    }

    #[test]
    fn drops_linearly_up_to_twice_the_fair_fraction() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        // With 1000 samples, Hit is 0.4 with a binomial standard deviation of 0.0155. A Fair of 1/3 gives p = 0.2 with
        // a standard deviation of 0.047, and a Fair of 1/5 gives p = 1.
        for (known, low, high) in [(2, 0.0, 0.0), (3, 0.0, 0.44), (5, 0.77, 1.0), (6, 1.0, 1.0)] {
            let mut queue = loaded(known, &mut rng);
            let drops = (0..1000).filter(|_| judge(&mut queue, 0, &mut rng)).count();
            let p = queue.drop_probability().unwrap();
            assert!((low..=high).contains(&p), "{known}: {p}");
            // Among 1000 draws with probability p, the number of hits has a standard deviation of at most 15.8; the
            // test allows five times that.
            assert!((drops as f64 - 1000.0 * p).abs() < 80.0, "{known}: {drops} {p}");
            assert!(offer(&mut queue, &mut rng, 7_777, &[1500]).0.is_empty()); // never sampled
        }
    }

    #[test]
    fn a_flow_above_its_share_is_not_spared_what_red_drops() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        // Hit is about 0.4 and Fair 1/3: rule (4) drops one in five. At max_th RED without `gentle` drops all others.
        let mut queue = loaded(3, &mut rng);
        let red = RedPartParams { weight: 1.0, gentle: false, ..Default::default() };
        queue.red = RedCore::new(red.settings(QueueLimit::Packets(24)), BitRate(5_000_000));
        queue.red.arrival(Backlog { packets: 12, bytes: 0 }, 1500, Time::ZERO);
        for flow in [0, 7_777] {
            assert!((0..100).all(|_| judge(&mut queue, flow, &mut rng)), "{flow}");
        }
    }

    #[test]
    fn nothing_is_dropped_below_the_lower_threshold() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut queue = loaded(10, &mut rng);
        queue.red.arrival(Backlog { packets: 3, bytes: 0 }, 1500, Time::ZERO);
        assert!((0..100).all(|_| !judge(&mut queue, 0, &mut rng)));
        queue.red.arrival(Backlog { packets: 4, bytes: 0 }, 1500, Time::ZERO);
        assert!(judge(&mut queue, 0, &mut rng));
    }

    #[test]
    fn red_and_the_limit_stand_behind_it() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let own = || BlackParams { flow_count: FlowCount::Known, known_flows: 1, ..Default::default() };
        let red = RedPartParams { weight: 1.0, gentle: false, ..Default::default() };
        let mut queue = black(own(), red, QueueLimit::Packets(24));
        let drops: Vec<_> = (0..100).flat_map(|flow| reasons(&offer(&mut queue, &mut rng, flow, &[1500]))).collect();
        assert!(drops.iter().all(|&reason| reason == DropReason::Aqm) && queue.backlog().packets == 12);
        let red = RedPartParams { weight: 1e-9, ..Default::default() };
        let mut queue = black(own(), red, QueueLimit::Packets(24));
        let drops: Vec<_> = (0..30).flat_map(|flow| reasons(&offer(&mut queue, &mut rng, flow, &[1500]))).collect();
        assert_eq!(drops, [DropReason::Overlimit; 6]);
        let (names, _): (Vec<_>, Vec<_>) = readings(|report| queue.report(report)).into_iter().unzip();
        assert_eq!(names, ["average_queue", "flows"]);
    }
}
