//! AFD: estimates each flow's rate from a sample of recent arrivals, and drops the excess over a fair rate that follows
//! the queue.
//!
//! Source: Pan, Breslau, Prabhakar and Shenker, "Approximate Fairness through Differential Dropping", ACM SIGCOMM CCR
//! 33(2), 2003. We did not have its text, so we follow two implementations.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | each arrival is sampled with probability 1/s into a shadow buffer of b entries, replacing a random or the oldest entry | `ShadowBuffer::offer` |
//! | (2) | `m_i`: entries of flow i, each with weight length/MTU | `ShadowBuffer::bytes_of` |
//! | (3) | drop with `d_i = max(0, 1 - m_fair/m_i)` | `Afd::admit` |
//! | (4) | every interval: `m_fair += alpha*(q_old - q_target) - beta*(q - q_target)`, kept between `min_fair` and b | `FairShare::catch_up` |
//!
//! q is the queue in packets at the end of the interval, `q_old` at the end of the previous interval. As `beta >
//! alpha`, m_fair settles only at `q = q_target`.
//!
//! Updates need no timer: the queue does not change between two events, so missed updates are run at the next event.
//! Parameters with which no packet is ever dropped are rejected: a target at the limit, `min_fair` as large as the
//! shadow buffer, no sampling, `beta <= alpha`.
//!
//! Cost: one random number and one look-up per packet, a second random number if the packet may be dropped, two
//! look-ups per sample. State: 8 bytes for each of b entries, 13 for each distinct flow among them.
//!
//! Deviations:
//! 1. `b` = 500 and 1/s = 0.1 for links up to about 10 Mbit/s; implementations use 500 to 2000 and 1/500 to 1/10.
//! 2. `min_fair` is 1. One implementation uses 10. With b = 500, a flow with less than a fiftieth of the arrivals is
//!    then never dropped. For more than 50 equal flows the queue is drop-tail.
//! 3. m_fair starts at b: no packet is dropped in the first intervals.
//! 4. A target in bytes or as a delay is converted to full packets, the unit of alpha and beta.
//! 5. By default a sample replaces the oldest entry. The b entries are then the last b samples, so a flow that stops is
//!    forgotten after b samples.
//! 6. An arrival is sampled before the drop decision. A packet may be dropped although the queue is empty.
//!
//! Not implemented: hash tables of limited size instead of the exact count of entries; ECN.

use crate::base::units::QueueMeasure;
use crate::contract::prelude::*;
use crate::flows::flow_table::FlowTable;
use crate::flows::hash::bucket;
use crate::measure::ticker::Ticker;
use crate::queue::managed_queue::ManagedQueue;
use crate::queue::queue_threshold::QueueThreshold;

choices! {
    /// Entry of the shadow buffer that a sample replaces.
    pub enum Replacement {
        /// A random entry, each with the same probability.
        Random = "random",
        /// The oldest entry.
        Oldest = "oldest",
    }
}

params! {
    /// AFD.
    pub struct AfdParams {
        /// Number of entries of the shadow buffer.
        shadow_entries: u32 = 500, in 1..=1000000, symbol "b", source "AFD: 500 to 2000";
        /// Probability that an arriving packet is sampled.
        sampling_probability: f64 = 0.1, in 0.000001..=1.0, symbol "1/s",
            source "our choice; implementations 1/500 and 1/10";
        /// Entry that a sample replaces.
        replacement: Replacement = "oldest", source "our choice; AFD either";
        /// Weights an entry by its packet's length divided by the MTU. Otherwise each entry has weight 1.
        by_bytes: bool = true, source "our choice";
        /// Time between updates of the fair share.
        update_interval: Time = "6.25 ms", in "1 us"..="10 s", source "AFD: 160 a second";
        /// Gain on the previous queue length.
        alpha: f64 = 1.7, in 0.0..=1000.0, symbol "alpha", source "AFD";
        /// Gain on the current queue length.
        beta: f64 = 1.8, in 0.0..=1000.0, symbol "beta", source "AFD";
        /// Target queue. Absent: half of the limit.
        target: Option<Threshold> = null, symbol "q_target", source "our choice; AFD 50 packets";
        /// Minimum fair share, in maximum-size packets of the shadow buffer.
        min_fair: f64 = 1.0, in 0.0..=1000000.0, source "our choice; 10 in an implementation";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "AFD";
    }
}

/// Registry entry of AFD.
#[derive(Clone, Copy, Debug)]
pub struct AfdScheme;

impl SchemeSpec for AfdScheme {
    const ABOUT: About = About {
        title: "Approximate fair dropping",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "Estimates each flow's rate from a sample of recent arrivals and drops the excess over a fair share, \
                  which follows the queue length.",
        source: "Pan, Breslau, Prabhakar, Shenker: Approximate Fairness through Differential Dropping, ACM SIGCOMM CCR \
                 2003",
        state: "port: 500 sampled packets and a count for each flow among them",
        flow_state: FlowState::Table,
        order: Order::Fifo,
    };
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = AfdParams;
    type Discipline<P: Packet> = ManagedQueue<P, Afd>;

    fn check(params: &AfdParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        let error = |name, problem| Err(ConfigError::new(table.key(name), problem));
        if params.min_fair >= f64::from(params.shadow_entries) {
            let problem = format!(
                "{} is out of range, it must be below shadow_entries, {}: no flow has more, none would be dropped",
                params.min_fair, params.shadow_entries
            );
            return error("min_fair", problem);
        }
        QueueThreshold::check("target", params.target, buffer.limit, table)?;
        if params.beta <= params.alpha {
            let problem = format!(
                "{} is out of range, it must be above alpha, {}: the fair share would not fall while the queue is long",
                params.beta, params.alpha
            );
            return error("beta", problem);
        }
        let full = buffer.limit.part(1.0);
        if let Some(target) = params.target.filter(|&target| target == full) {
            let problem = format!(
                "\"{target}\" is out of range, it must be below the limit of the queue, {}: the fair share would not \
                 fall",
                buffer.limit
            );
            return error("target", problem);
        }
        Ok(())
    }

    fn build<P: Packet>(params: &AfdParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Afd::new(params, port.buffer, port.rate))
    }
}

/// AFD at one port.
#[derive(Clone, Debug)]
pub struct Afd {
    share_per: FlowKey,
    shadow: Box<ShadowBuffer>,
    fair: Box<FairShare>,
    mtu: f64,
    probability: f64,
}

impl Afd {
    /// Creates an idle port at rate `rate`.
    #[must_use]
    pub fn new(params: &AfdParams, buffer: &BufferParams, rate: BitRate) -> Self {
        Self {
            share_per: params.share_per,
            shadow: Box::new(ShadowBuffer::new(params, buffer.mtu.0)),
            fair: Box::new(FairShare::new(params, buffer, rate)),
            mtu: buffer.mtu.0 as f64,
            probability: 0.0,
        }
    }
}

impl Aqm for Afd {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        self.fair.catch_up(queue.backlog, now);
        let flow = self.share_per.of(packet);
        self.shadow.offer(flow, packet.wire_bytes(), rng);
        let amount = self.shadow.bytes_of(flow) as f64 / self.mtu; // m_i
        self.probability = if amount > self.fair.share { 1.0 - self.fair.share / amount } else { 0.0 }; // eq. (3)
        if self.probability > 0.0 && rng.open01() < self.probability { Verdict::Drop } else { Verdict::Accept }
    }

    fn departed<P: Packet>(&mut self, packet: &P, backlog: Backlog, now: Time) {
        let mut before = backlog;
        before.add(packet.wire_bytes());
        self.fair.catch_up(before, now);
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.fair.rate = rate;
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn state_size(&self) -> StateSize {
        let fixed = size_of_val(self) + size_of_val(&*self.shadow) + size_of_val(&*self.fair);
        StateSize { records: self.shadow.flows.len(), bytes: fixed + self.shadow.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        report("fair_share_packets", self.fair.share);
        report("shadow_flows", self.shadow.flows.len() as f64);
    }
}

/// Samples of arrivals, and the sum of their weights for each flow: rules (1) and (2).
#[derive(Clone, Debug)]
struct ShadowBuffer {
    /// Flow and weight of each sample.
    entries: Vec<(u32, u32)>,
    capacity: usize,
    next: usize,
    flows: FlowTable<u64>,
    probability: f64,
    replacement: Replacement,
    /// Weight of every sample; `None` to use its length.
    fixed_bytes: Option<u32>,
}

impl ShadowBuffer {
    fn new(params: &AfdParams, mtu: u64) -> Self {
        Self {
            entries: Vec::with_capacity(params.shadow_entries as usize),
            capacity: params.shadow_entries as usize,
            next: 0,
            flows: FlowTable::default(),
            probability: params.sampling_probability,
            replacement: params.replacement,
            fixed_bytes: (!params.by_bytes).then_some(u32::try_from(mtu).unwrap_or(u32::MAX)),
        }
    }

    fn offer(&mut self, flow: u32, wire_bytes: u32, rng: &mut Rng) {
        if rng.open01() >= self.probability {
            return;
        }
        let entry = (flow, self.fixed_bytes.unwrap_or(wire_bytes));
        *self.flows.or_insert_with(flow, || 0) += u64::from(entry.1);
        if self.entries.len() < self.capacity {
            self.entries.push(entry);
            return;
        }
        let place = match self.replacement {
            Replacement::Random => bucket((rng.bits() >> 32) as u32, self.capacity as u32),
            Replacement::Oldest => {
                let oldest = self.next;
                self.next = (oldest + 1) % self.capacity;
                oldest
            }
        };
        let (old, old_bytes) = std::mem::replace(&mut self.entries[place], entry);
        self.forget(old, old_bytes);
    }

    /// Subtracts a removed sample from its flow's bytes, and deletes the flow's record when no bytes are left.
    /// Remaining samples of length 0 then have no record.
    fn forget(&mut self, flow: u32, wire_bytes: u32) {
        if let Some(bytes) = self.flows.get_mut(flow) {
            *bytes -= u64::from(wire_bytes);
            if *bytes == 0 {
                self.flows.remove(flow);
            }
        }
    }

    #[inline]
    fn bytes_of(&self, flow: u32) -> u64 {
        self.flows.get(flow).copied().unwrap_or(0)
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + self.flows.bytes()
    }
}

/// m_fair and its control: eq. (4).
#[derive(Clone, Debug)]
struct FairShare {
    share: f64,
    min: f64,
    max: f64,
    alpha: f64,
    beta: f64,
    target: f64,
    measure: QueueMeasure,
    previous: f64,
    ticker: Ticker,
    rate: BitRate,
    mtu: f64,
}

impl FairShare {
    fn new(params: &AfdParams, buffer: &BufferParams, rate: BitRate) -> Self {
        let target = QueueThreshold::new(params.target, 0.5, buffer.limit);
        Self {
            share: f64::from(params.shadow_entries),
            min: params.min_fair,
            max: f64::from(params.shadow_entries),
            alpha: params.alpha,
            beta: params.beta,
            target: target.value(),
            measure: target.measure(),
            previous: 0.0,
            ticker: Ticker::new(params.update_interval),
            rate,
            mtu: buffer.mtu.0 as f64,
        }
    }

    /// Runs the updates that were due since the last call. `backlog` is the queue, which has not changed since then.
    fn catch_up(&mut self, backlog: Backlog, now: Time) {
        while self.ticker.due(now).is_some() {
            let excess = self.excess_packets(backlog);
            let before = self.share;
            self.share = (self.share + self.alpha * self.previous - self.beta * excess).clamp(self.min, self.max);
            let steady = self.previous == excess && self.share == before;
            self.previous = excess;
            if steady {
                // Further updates with the same queue have no effect.
                self.ticker.skip_to(now);
            }
        }
    }

    /// Returns q - q_target in packets. A target in bytes or as a delay is converted to maximum-size packets.
    fn excess_packets(&self, backlog: Backlog) -> f64 {
        match self.measure {
            QueueMeasure::Packets => f64::from(backlog.packets) - self.target,
            QueueMeasure::Bytes => (backlog.bytes as f64 - self.target) / self.mtu,
            QueueMeasure::Delay => (backlog.bytes as f64 - self.target * self.rate.as_f64() / 8.0) / self.mtu,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, read_queue, refusal, view};
    use serde_json::json;

    const RATE: BitRate = BitRate(10_000_000);

    fn backlog(packets: u32) -> Backlog {
        Backlog { packets, bytes: u64::from(packets) * 1500 }
    }

    fn buffer() -> BufferParams {
        BufferParams { limit: QueueLimit::Packets(100), mtu: Bytes(1500), ..Default::default() }
    }

    /// Returns a port that samples every packet.
    fn sample_all(params: AfdParams) -> Afd {
        Afd::new(&AfdParams { sampling_probability: 1.0, ..params }, &buffer(), RATE)
    }

    fn offer(afd: &mut Afd, flow: u32, wire_bytes: u32, rng: &mut Rng) -> Verdict {
        afd.admit(&TestPacket { flow, wire_bytes, ..Default::default() }, &view(50, RATE), Time::ZERO, rng)
    }

    #[test]
    fn drops_what_exceeds_the_fair_share() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut afd = sample_all(AfdParams { replacement: Replacement::Oldest, ..Default::default() });
        // Flow 0 has four of five packets: 400 of 500 entries.
        (0..1000).for_each(|n| _ = offer(&mut afd, u32::from(n % 5 == 4), 1500, &mut rng));
        afd.fair.share = 100.0;
        let drops =
            (0..1000).filter(|n| offer(&mut afd, u32::from(n % 5 == 4), 1500, &mut rng) == Verdict::Drop).count();
        // 800 packets have the drop probability 1 - 100/400 and 200 have 0, so 600 drops are expected, with a binomial
        // deviation of 12.2. The test allows five times that.
        assert!(drops.abs_diff(600) < 62, "{drops}");
        offer(&mut afd, 1, 1500, &mut rng);
        assert!(afd.drop_probability().unwrap() < 0.02); // 100 or 101 entries
        assert_eq!(afd.state_size().records, 2);
    }

    #[test]
    fn entries_weigh_their_bytes_or_count() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        for (by_bytes, expected) in [(true, [50, 500]), (false, [500, 500])] {
            let params = AfdParams { by_bytes, shadow_entries: 1000, ..Default::default() };
            let mut afd = sample_all(params);
            (0..1000).for_each(|n| _ = offer(&mut afd, n % 2, if n % 2 == 0 { 150 } else { 1500 }, &mut rng));
            assert_eq!([0, 1].map(|flow| afd.shadow.bytes_of(flow) / 1500), expected);
        }
    }

    #[test]
    fn a_random_entry_gives_way_unless_the_oldest_does() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut survivors = |replacement| {
            let mut afd = sample_all(AfdParams { replacement, ..Default::default() });
            (0..500).for_each(|_| _ = offer(&mut afd, 0, 1500, &mut rng));
            (0..500).for_each(|_| _ = offer(&mut afd, 1, 1500, &mut rng));
            afd.shadow.bytes_of(0) / 1500
        };
        assert_eq!(survivors(Replacement::Oldest), 0);
        // Each of 500 entries survives 500 draws with probability (1 - 1/500)^500 = 0.3675, so 184 are expected to
        // survive. The standard deviation is below 10.8; the test allows five times that.
        assert!(survivors(Replacement::Random).abs_diff(184) < 54);
    }

    #[test]
    fn samples_the_given_part_and_forgets_flows_that_left() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut afd = Afd::new(&AfdParams { shadow_entries: 100_000, ..Default::default() }, &buffer(), RATE);
        (0..100_000).for_each(|flow| _ = offer(&mut afd, flow, 1500, &mut rng));
        // Among 100 000 draws with probability 0.1, the number of hits has a standard deviation of 94.9; the test
        // allows five times that.
        assert!(afd.shadow.entries.len().abs_diff(10_000) < 475, "{}", afd.shadow.entries.len());
        let mut afd = sample_all(AfdParams { replacement: Replacement::Oldest, ..Default::default() });
        (0..10_000).for_each(|flow| _ = offer(&mut afd, flow, if flow % 2 == 0 { 0 } else { 1500 }, &mut rng));
        // Each of the last 500 packets belongs to a different flow. A flow whose sample was overwritten has no record,
        // even if the sample had length 0.
        assert_eq!(afd.shadow.flows.len(), 500);
        assert_eq!(afd.shadow.bytes(), 500 * 8 + 500 * 13 + 500 * 4);
    }

    #[test]
    fn equation_4_by_hand() {
        let mut fair = FairShare::new(&AfdParams { shadow_entries: 1000, ..Default::default() }, &buffer(), RATE);
        fair.share = 200.0;
        let tick = |n: u64| Time::from_micros(6250 * n);
        // q is 60 and the target 50. The excess at time 0 counts as 0, so the share changes by -1.8 * 10.
        fair.catch_up(backlog(60), tick(1));
        assert!((fair.share - 182.0).abs() < 1e-9);
        // With q = 70 the share changes by 1.7 * 10 - 1.8 * 20.
        fair.catch_up(backlog(70), tick(2));
        assert!((fair.share - 163.0).abs() < 1e-9);
        // q stays 70 for two more intervals. Each of them changes the share by -0.1 * 20.
        fair.catch_up(backlog(70), tick(4));
        assert!((fair.share - 159.0).abs() < 1e-9);
        // At the target the share changes once, by 1.7 * 20, and then stays.
        fair.catch_up(backlog(50), tick(1000));
        assert!((fair.share - 193.0).abs() < 1e-9);
        // An empty queue raises the share by 5 per interval, up to b.
        fair.catch_up(backlog(0), tick(1_000_000));
        assert_eq!(fair.share, 1000.0);
        fair.catch_up(backlog(100), tick(2_000_000));
        assert_eq!(fair.share, 1.0);
        assert!(fair.ticker.due(tick(2_000_000)).is_none());
        assert!(fair.ticker.due(tick(2_000_001)).is_some());
    }

    #[test]
    fn the_queue_between_events_is_the_one_that_waited() {
        let mut afd = sample_all(AfdParams::default());
        afd.fair.share = 100.0;
        // Up to this departure 51 packets waited. So the update that was due before it uses 51 packets, not 50.
        afd.departed(&TestPacket::default(), backlog(50), Time::from_millis(7));
        assert!((afd.fair.share - (100.0 - 1.8)).abs() < 1e-9);
    }

    #[test]
    fn targets_count_in_full_packets() {
        let excess = |target| {
            let params = AfdParams { target: Some(target), ..Default::default() };
            FairShare::new(&params, &buffer(), RATE).excess_packets(backlog(60))
        };
        assert_eq!(excess(Threshold::Packets(50.0)), 10.0);
        assert_eq!(excess(Threshold::Bytes(75_000.0)), 10.0);
        assert_eq!(excess(Threshold::Delay(Time::from_millis(60))), 10.0); // 75 000 bytes at 10 Mbit/s
        let mut afd =
            sample_all(AfdParams { target: Some(Threshold::Delay(Time::from_millis(60))), ..Default::default() });
        afd.set_link_rate(BitRate(20_000_000));
        assert_eq!(afd.fair.excess_packets(backlog(60)), -40.0);
    }

    #[test]
    fn contradictions_are_refused() {
        assert_eq!(
            refusal(json!({"scheme": "afd", "shadow_entries": 50, "min_fair": 60.0})),
            "queue.min_fair: 60 is out of range, it must be below shadow_entries, 50: no flow has more, none would \
                 be dropped"
        );
        assert!(refusal(json!({"scheme": "afd", "target": "25 packets"})).starts_with("queue.target"));
        // The queue is never longer than the limit of 24 packets. With a target at the limit, no packet would ever be
        // dropped.
        assert!(read_queue(json!({"scheme": "afd", "target": "23 packets"})).is_ok());
        assert_eq!(
            refusal(json!({"scheme": "afd", "target": "24 packets"})),
            "queue.target: \"24 packets\" is out of range, it must be below the limit of the queue, 24 packets: the \
                 fair share would not fall"
        );
        assert_eq!(
            refusal(json!({"scheme": "afd", "alpha": 2.0})),
            "queue.beta: 1.8 is out of range, it must be above alpha, 2: the fair share would not fall while the \
                 queue is long"
        );
        assert!(read_queue(json!({"scheme": "afd", "sampling_probability": 0.0})).is_err());
    }
}
