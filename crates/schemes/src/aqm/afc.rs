//! AFC: blocks a flow while its share of the enqueued bytes exceeds the fair share, unless it has credit from times
//! with a smaller share.
//!
//! Source: Chatranon, Labrador and Banerjee, "A Credit-based Active Queue Management (AQM) Mechanism to Achieve
//! Fairness in the Internet" (afc), section 3. The bitmap is from Estan, Varghese and Fisk, "Counting the Number of
//! Active Flows on a High Speed Link", ACM SIGCOMM CCR 32(3), 2002.
//!
//! | number | rule | code |
//! |---|---|---|
//! |  | `Hit_i`: share of flow i in the bytes of a virtual queue of the last m enqueued packets | `Window::hit` |
//! |  | `Fair = 1/N_act`, with N_act from a direct bitmap over the arrivals | `Flows::fair`, [`crate::flows::bitmap`] |
//! | (1) | `dA_i += (Hit_i - Fair) * (t - t-)`, with t- the time of the previous update | `Entry::integrate` |
//! | (2) | drop if `Hit_i > Fair` and not `dA_i < 0` | `Afc::shuts_out` |
//! | (3) | RED decides on packets of flows that are not cached, and on packets that (2) accepts, see [`super::red`] | `RedCore::decide` |
//!
//! Cost: the operations of RED, plus one hash and up to three look-ups. The jumping window and `period_end` also visit
//! every cached flow once per m packets. State: the state of RED, plus 65 bytes for each of c cached flows, and b bits
//! of bitmap. The sliding window needs 8 bytes for each of m packets.
//!
//! Deviations:
//! 1. By default Hit uses a sliding window, which is exactly the virtual queue of section 3. The paper can also mean
//!    that Hit is computed at the end of each period. A source at link rate is then accepted for a whole period and
//!    blocked for the next. The jumping window needs no ring of packets; its results for Table 1 of afc do not differ
//!    from those of the sliding window.
//! 2. Every packet is accepted if the average queue is below `min_th` or no packet waits.
//! 3. dA is bounded by `max_credit` times Fair, otherwise an idle flow would collect unlimited credit. dA is updated
//!    when a packet of the flow arrives.
//! 4. An enqueued packet brings its flow into the cache. Every arrival of a cached flow, dropped or not, refreshes its
//!    entry. Otherwise a blocked flow would be evicted, and one source would keep 965 kbit/s. A flow evicted from the
//!    cache (least recently used) loses its dA and its bytes in the window.
//! 5. As the paper says, a flow in debt (`dA > 0`) is accepted as soon as `Hit <= Fair`. With `repay` it is blocked
//!    until the debt is paid.
//! 6. A drop by (2) restarts RED's count.
//! 7. With a jumping window, rule (1) is evaluated at the end of each period, with the flow's share of the complete
//!    period. During a period Hit grows from 0, so its mean is half of its final value. Integrating Hit would give
//!    credit to a flow at twice its share. Rule (2) adds `(Hit_i - Fair)` times a whole period to dA_i for its test.
//!
//! Not implemented: ECN.

use super::red_core::{RedCore, RedDecision};
pub use super::virtual_queue::WindowKind;
use super::virtual_queue::{Record, Share, Window};
use super::with_red::RedPartParams;
use crate::contract::prelude::*;
use crate::flows::bitmap::FlowCounter;
use crate::flows::lru_cache::LruCache;
use crate::queue::managed_queue::ManagedQueue;

params! {
    /// AFC, in front of RED.
    pub struct AfcParams {
        /// Window in which a flow's share is measured.
        window: WindowKind = "sliding", source "afc 3: a virtual queue of size m";
        /// Packets in the window, or in a period.
        window_packets: u32 = 1000, in 1..=16777216, symbol "m", source "our choice: 10 packets a flow with 100 flows";
        /// Maximum number of flows in the cache.
        cache: u32 = 46, in 1..=1000000, symbol "c", source "afc 4; 20 with bursty flows";
        /// Bits of the bitmap that counts flows.
        bitmap_bits: u32 = 1024, in 1..=16777216, symbol "b", source "our choice: 2 % error with 105 flows";
        /// Minimum counting interval of the bitmap.
        count_interval: Time = "1 s", in "1 ms"..="1 h", source "our choice";
        /// Time in which a silent flow reaches the maximum credit, and a flow at twice its share reaches the maximum
        /// debt.
        max_credit: Time = "10 s", in "0 s"..="1 h", symbol "D", source "our choice";
        /// Keeps dropping packets of a flow in debt even after its share has fallen to the fair share.
        repay: bool = false, source "afc 3: not so";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "afc 3";
        with red: RedPartParams;
    }
}

/// Registry entry of AFC.
#[derive(Clone, Copy, Debug)]
pub struct AfcScheme;

impl SchemeSpec for AfcScheme {
    const ABOUT: About = About {
        title: "AFC, fairness by credit",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "Blocks a flow while its share of the enqueued bytes is above the fair share, unless it has credit \
                  from times with a smaller share; RED decides on the other packets.",
        source: "Chatranon, Labrador, Banerjee: A Credit-based Active Queue Management (AQM) Mechanism to Achieve \
                 Fairness in the Internet",
        state: "port: 46 flows, a bitmap of 1024 bits, a ring of 1000 packet lengths, the state of RED",
        flow_state: FlowState::Table,
        order: Order::Fifo,
    };
    type Params = AfcParams;
    type Discipline<P: Packet> = ManagedQueue<P, Afc>;

    fn check(params: &Self::Params, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        params.red.check(buffer.limit, table)
    }

    fn build<P: Packet>(params: &Self::Params, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Afc::new(params, port.buffer.limit, port.rate))
    }
}

/// A cached flow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    share: Share,
    /// dA: integral of Hit - Fair over time, in s. A negative value is credit.
    area_s: f64,
    /// Time of the last update of the area.
    updated: Time,
}

impl Record for Entry {
    fn share(&mut self) -> &mut Share {
        &mut self.share
    }
}

impl Entry {
    /// Applies eq. (1): adds `hit - Fair` times the time since the last update to the area.
    #[inline]
    fn integrate(&mut self, hit: f64, fair: Fair, now: Time) {
        let elapsed_s = now.saturating_sub(self.updated).as_secs_f64();
        self.area_s = (self.area_s + (hit - fair.fraction) * elapsed_s).clamp(-fair.bound_s, fair.bound_s);
        self.updated = now;
    }
}

/// Current fair fraction and bound of the area.
#[derive(Clone, Copy, Debug)]
struct Fair {
    /// `FairFraction` = 1/N_act.
    fraction: f64,
    /// D: bound of the area, s.
    bound_s: f64,
}

/// AFC at one port.
#[derive(Clone, Debug)]
pub struct Afc {
    red: RedCore,
    flows: Box<Flows>,
    probability: f64,
}

/// Shares of flows in the virtual queue, and the number of flows.
#[derive(Clone, Debug)]
struct Flows {
    share_per: FlowKey,
    cache: LruCache<Entry>,
    window: Window,
    counter: FlowCounter,
    max_credit_s: f64,
    repay: bool,
}

impl Flows {
    fn fair(&self) -> Fair {
        let fraction = 1.0 / self.counter.flows();
        Fair { fraction, bound_s: fraction * self.max_credit_s }
    }
}

impl Afc {
    /// Creates an idle port at rate `rate`.
    #[must_use]
    pub fn new(params: &AfcParams, limit: QueueLimit, rate: BitRate) -> Self {
        let flows = Flows {
            share_per: params.share_per,
            cache: LruCache::new(params.cache),
            window: Window::new(params.window, params.window_packets),
            counter: FlowCounter::new(params.bitmap_bits, params.count_interval, params.window_packets),
            max_credit_s: params.max_credit.as_secs_f64(),
            repay: params.repay,
        };
        Self { red: RedCore::new(params.red.settings(limit), rate), flows: Box::new(flows), probability: 0.0 }
    }

    /// Updates Hit and dA of `flow`. Returns true if the arriving packet must be dropped.
    fn shuts_out(&mut self, flow: u32, now: Time) -> bool {
        let flows = &mut *self.flows;
        let fair = flows.fair();
        let Some(entry) = flows.cache.use_existing(flow) else { return false };
        let hit = flows.window.hit(&entry.share);
        let area_s = if matches!(flows.window, Window::Jumping(_)) {
            entry.area_s + (hit - fair.fraction) * flows.window.period(now).as_secs_f64() // deviation 7
        } else {
            entry.integrate(hit, fair, now); // eq. (1)
            entry.area_s
        };
        (hit > fair.fraction && area_s >= 0.0) || (flows.repay && entry.area_s > 0.0) // eq. (2)
    }
}

impl Aqm for Afc {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        let flow = self.flows.share_per.of(packet);
        self.flows.counter.count(flow, now, rng);
        self.red.arrival(queue.backlog, packet.wire_bytes(), now);
        let congested = self.red.average() >= self.red.min_th() && queue.backlog.packets > 0;
        if self.shuts_out(flow, now) && congested {
            self.red.restart();
            self.probability = 1.0;
            return Verdict::Drop;
        }
        let decision = self.red.decide(queue.backlog, packet.wire_bytes(), rng); // eq. (3)
        self.probability = self.red.probability();
        if decision == RedDecision::Pass { Verdict::Accept } else { Verdict::Drop }
    }

    fn accepted<P: Packet>(&mut self, packet: &mut P, now: Time) {
        let flows = &mut *self.flows;
        let (flow, fair) = (flows.share_per.of(packet), flows.fair());
        let new = |share| Entry { share, area_s: 0.0, updated: now };
        if flows.window.pass(&mut flows.cache, (flow, packet.wire_bytes()), now, new) {
            flows.cache.records_mut(|_, entry| entry.integrate(entry.share.settled(), fair, now));
        }
    }

    fn overflowed<P: Packet>(&mut self, _: &P, _: Time) {
        self.red.overflowed();
    }

    fn idle(&mut self, now: Time) {
        self.red.idle(now);
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.red.set_link_rate(rate);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn state_size(&self) -> StateSize {
        let fixed = size_of_val(self) - size_of_val(&self.red) + self.red.bytes() + size_of::<Flows>();
        let heap = self.flows.cache.bytes() + self.flows.window.bytes() + self.flows.counter.bytes();
        StateSize { records: self.flows.cache.len(), bytes: fixed + heap }
    }

    fn report(&self, report: Report<'_>) {
        report("average_queue", self.red.average());
        report("flows", self.flows.counter.flows());
        report("fair_fraction", self.flows.fair().fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, readings};

    /// Returns AFC with thresholds of 50 and 150, an average that equals the queue, and RED practically inactive.
    fn afc(own: AfcParams) -> Afc {
        let red = RedPartParams { weight: 1.0, max_p: 1e-6, ..Default::default() };
        Afc::new(&AfcParams { red, ..own }, QueueLimit::Packets(300), BitRate(5_000_000))
    }

    /// Offers a packet to a queue of `packets`, and enqueues the packet if it is accepted. Returns the verdict.
    fn offer(afc: &mut Afc, (flow, wire_bytes): (u32, u32), packets: u32, at_ms: u64, rng: &mut Rng) -> Verdict {
        let backlog = Backlog { packets, bytes: u64::from(packets) * 1000 };
        let view = QueueView { backlog, head_enqueued_at: None, link_rate: BitRate(5_000_000) };
        let mut packet = TestPacket { flow, wire_bytes, ..Default::default() };
        let now = Time::from_millis(at_ms);
        let verdict = afc.admit(&packet, &view, now, rng);
        if verdict == Verdict::Accept {
            afc.accepted(&mut packet, now);
        }
        verdict
    }

    /// Returns AFC with four flows that have ten packets each in the window. The estimated number of flows is four.
    fn four_flows(own: AfcParams, rng: &mut Rng) -> Afc {
        let mut afc = afc(AfcParams { window_packets: 40, ..own });
        (0..80).for_each(|n| _ = offer(&mut afc, (n % 4, 1000), 0, 25 * u64::from(n), rng));
        assert!((afc.flows.counter.flows() - 4.0).abs() < 0.02, "{}", afc.flows.counter.flows());
        afc
    }

    #[test]
    fn a_flow_above_its_share_is_shut_out_until_its_packets_have_left_the_window() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut afc = four_flows(AfcParams { max_credit: Time::ZERO, ..Default::default() }, &mut rng);
        // The estimated number of flows is 1024 ln(1024/1020) = 4.008, so Fair is slightly below 1/4, and ten of forty
        // packets are slightly above Fair.
        assert_eq!(offer(&mut afc, (0, 1000), 60, 2000, &mut rng), Verdict::Drop);
        assert_eq!(afc.drop_probability(), Some(1.0));
        // A packet of another flow displaces the oldest packet of the window, which belongs to flow 0. Nine packets are
        // below the share.
        assert_eq!(offer(&mut afc, (9, 1000), 60, 2000, &mut rng), Verdict::Accept);
        assert_eq!(offer(&mut afc, (0, 1000), 60, 2000, &mut rng), Verdict::Accept);
    }

    #[test]
    fn credit_lets_a_flow_exceed_its_share_until_it_is_spent() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut afc = four_flows(AfcParams::default(), &mut rng);
        let fair = afc.flows.fair();
        let entry = afc.flows.cache.get_mut(0).unwrap();
        entry.area_s = -0.1;
        let updated = entry.updated;
        let excess = 0.25 - fair.fraction;
        // Hit stays 1/4 while no packet is enqueued. So the credit of 0.1 s lasts 0.1/excess seconds.
        let lasts = Time::from_secs_f64(0.1 / excess);
        assert!(!afc.clone().shuts_out(0, updated + lasts - Time::from_millis(1)));
        assert!(afc.shuts_out(0, updated + lasts + Time::from_millis(1)));
    }

    #[test]
    fn equation_1_integrates_what_is_above_the_fair_fraction() {
        let fair = Fair { fraction: 0.25, bound_s: 10.0 };
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut entry = *four_flows(AfcParams::default(), &mut rng).flows.cache.get_mut(0).unwrap();
        (entry.area_s, entry.updated) = (0.0, Time::ZERO);
        entry.integrate(0.75, fair, Time::from_secs(2)); // + 0.5 * 2
        assert_eq!(entry.area_s, 1.0);
        entry.integrate(0.0, fair, Time::from_secs(8)); // - 0.25 * 6
        assert_eq!(entry.area_s, -0.5);
        entry.integrate(0.0, fair, Time::from_secs(1000));
        assert_eq!(entry.area_s, -10.0);
        entry.integrate(1.0, fair, Time::from_secs(2000));
        assert_eq!(entry.area_s, 10.0);
    }

    #[test]
    fn period_ends_integrate_every_cached_flow() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        for window in [WindowKind::Jumping, WindowKind::PeriodEnd] {
            let own = AfcParams { window, window_packets: 2, bitmap_bits: 1_000_000, ..Default::default() };
            let mut afc = afc(own);
            [(1, 1), (3, 1), (4, 2), (7, 2)].iter().for_each(|&(at, flow)| {
                let mut packet = TestPacket { flow, ..Default::default() };
                // Four flows in total, so Fair is 1/4.
                (0..4).for_each(|flow| _ = afc.flows.counter.count(flow, Time::ZERO, &mut rng));
                afc.accepted(&mut packet, Time::from_secs(at));
            });
            let mut area_s = |flow| afc.flows.cache.get_mut(flow).unwrap().area_s;
            // Flow 1 arrives from 1 s on. It has all packets of the period up to 3 s, which adds 0.75 * 2 s to its
            // area. It has no packet of the next period up to 7 s, which subtracts 0.25 * 4 s.
            assert!((area_s(1) - 0.5).abs() < 1e-4, "{}", area_s(1));
            // Flow 2 arrives from 4 s on, which adds 0.75 * 3 s to its area.
            assert!((area_s(2) - 2.25).abs() < 1e-4, "{}", area_s(2));
        }
    }

    #[test]
    fn a_jumping_window_gives_no_credit_to_a_flow_at_twice_its_share() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut afc = four_flows(AfcParams { window: WindowKind::Jumping, ..Default::default() }, &mut rng);
        // In periods of 40 packets, flow 0 sends 20, twice its share. Three other flows send the rest in equal parts.
        let mut taken = [0u32; 4];
        for n in 0..4000u64 {
            let flow = if n % 2 == 0 { 0 } else { 1 + (n / 2 % 3) as u32 };
            let verdict = offer(&mut afc, (flow, 1000), 60, 2000 + n, &mut rng);
            taken[flow as usize] += u32::from(verdict == Verdict::Accept);
        }
        // Flow 0 gets a quarter of each period, or one packet more, because Fair is slightly below 10 of 40.
        let share = f64::from(taken[0]) / f64::from(taken.iter().sum::<u32>());
        assert!((0.22..=11.0 / 40.0).contains(&share), "{taken:?}");
    }

    #[test]
    fn a_jumping_window_spends_credit_by_what_it_costs_in_a_whole_period() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut afc = four_flows(AfcParams { window: WindowKind::Jumping, ..Default::default() }, &mut rng);
        let period_s = afc.flows.window.period(Time::ZERO).as_secs_f64();
        // The credit allows 5 packets of 40 above the share of 10, so flow 0 sends 15 and is then blocked.
        let entry = afc.flows.cache.get_mut(0).unwrap();
        entry.area_s = -5.0 / 40.0 * period_s;
        let taken = (0..40).filter(|_| offer(&mut afc, (0, 1000), 60, 2000, &mut rng) == Verdict::Accept).count();
        assert!((15..=16).contains(&taken), "{taken}");
    }

    #[test]
    fn debt_counts_only_if_it_is_to_be_repaid() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        for repay in [false, true] {
            let mut afc = four_flows(AfcParams { repay, ..Default::default() }, &mut rng);
            (0..4).for_each(|_| _ = offer(&mut afc, (9, 1000), 0, 2000, &mut rng));
            afc.flows.cache.get_mut(0).unwrap().area_s = 1.0;
            // Nine of forty packets are not above the share.
            assert_eq!(afc.shuts_out(0, Time::from_millis(2000)), repay);
        }
    }

    #[test]
    fn shares_are_of_bytes() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let own = || AfcParams { window_packets: 40, max_credit: Time::ZERO, ..Default::default() };
        let mut afc = afc(own());
        // Flow 0 sends packets of 100 bytes, the other three flows 1000 bytes. Flow 0 has 10 of 40 packets, but 1/31 of
        // the bytes.
        (0..80).for_each(|n| {
            _ = offer(&mut afc, (n % 4, if n % 4 == 0 { 100 } else { 1000 }), 0, 25 * u64::from(n), &mut rng);
        });
        let hit = |afc: &mut Afc, flow| {
            let share = afc.flows.cache.get_mut(flow).unwrap().share;
            afc.flows.window.hit(&share)
        };
        assert_eq!((hit(&mut afc, 0), hit(&mut afc, 1)), (1.0 / 31.0, 10.0 / 31.0));
        assert_eq!(offer(&mut afc, (0, 100), 60, 2000, &mut rng), Verdict::Accept);
        assert_eq!(offer(&mut afc, (1, 1000), 60, 2000, &mut rng), Verdict::Drop);
    }

    #[test]
    fn nobody_is_shut_out_below_the_lower_threshold() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut afc = afc(AfcParams::default());
        (0..500).for_each(|n| assert_eq!(offer(&mut afc, (n % 2, 1000), 49, u64::from(n), &mut rng), Verdict::Accept));
    }

    #[test]
    fn what_is_not_cached_is_left_to_red() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let red = RedPartParams { weight: 1.0, gentle: false, ..Default::default() };
        let params = AfcParams { cache: 1, red, ..Default::default() };
        let mut afc = Afc::new(&params, QueueLimit::Packets(300), BitRate(5_000_000));
        // All flows are new, so RED decides. The first packet finds an average of 60 packets and passes. At max_th, 150
        // packets, RED without `gentle` drops every packet.
        assert_eq!(offer(&mut afc, (1, 1000), 60, 0, &mut rng), Verdict::Accept);
        assert!((2..100).all(|flow| offer(&mut afc, (flow, 1000), 150, 0, &mut rng) == Verdict::Drop));
        assert_eq!(afc.state_size().records, 1);
    }

    #[test]
    fn state_is_that_of_the_cache_the_bitmap_and_the_ring() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut afc = afc(AfcParams::default());
        let empty = afc.state_size();
        (0..5000).for_each(|flow| _ = offer(&mut afc, (flow, 1000), 0, u64::from(flow), &mut rng));
        let full = afc.state_size();
        assert_eq!((empty.records, full.records), (0, 46));
        // A record takes 40 bytes, its key and two links take 16 (with padding), and its entry in the table takes 9. A
        // packet in the ring takes 8 bytes.
        assert_eq!(full.bytes - empty.bytes, 46 * (40 + 16 + 9) + 1000 * 8);
        let readings = readings(|report| afc.report(report));
        assert_eq!(
            readings.iter().map(|reading| reading.0).collect::<Vec<_>>(),
            ["average_queue", "flows", "fair_fraction"]
        );
        assert!((readings[1].1 * readings[2].1 - 1.0).abs() < 1e-12);
    }
}
