//! CP-AQM: congestion policing at the queue. Every user has a congestion allowance and pays for each packet a price
//! that depends on the queue length.
//!
//! Source: the paper of [`crate::label::abc`] (abc2018), section II and references 30 and 32, based on the congestion
//! policers of ConEx (RFC 7713). Only the idea was available to us: policers per user in front of one queue, controlled
//! by the queue's length instead of ConEx marks. All numbers are ours.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | price of a byte: `p(Q) = max_price * (Q - q_low)/(q_high - q_low)` between the thresholds, 0 below, `max_price` above | `CpAqm::price` |
//! | (2) | a user's bucket fills at `allowance` times its weight, up to `depth` | `filled` |
//! | (3) | an arrival of length L takes `L * p(Q)` from the bucket | `Policers::admits` |
//! | (4) | packets of a user are dropped while its bucket is below 0 | `Policers::admits` |
//!
//! A packet may be dropped although the queue is empty.
//!
//! Cost: one look-up and a few multiplications per packet. Passes over all users delete full buckets; on average they
//! visit at most one user per packet. State: 25 bytes for each user whose bucket is not full.
//!
//! Deviations:
//! 1. Dropped packets pay, too (`charge`): a user that does not react stays blocked. A bucket never falls below
//!    `-depth`, so a user that stops is admitted again.
//! 2. Buckets start full, and full buckets are deleted.
//! 3. The price rises linearly with the instantaneous queue, which the other schemes of abc2018 use as well.
//!
//! Not implemented: ConEx itself, which needs transports that signal congestion to an ingress policer by marks.

use crate::contract::prelude::*;
use crate::flows::flow_table::FlowTable;
use crate::measure::ticker::Ticker;
use crate::queue::managed_queue::ManagedQueue;
use crate::queue::queue_threshold::QueueThreshold;

choices! {
    /// Packets that pay the congestion price.
    pub enum Charge {
        /// All arrivals.
        Arrivals = "arrivals",
        /// Packets that the policer lets pass.
        Admitted = "admitted",
    }
}

params! {
    /// CP-AQM.
    pub struct CpAqmParams {
        /// Congestion allowance of a user of weight 1: rate at which its bucket fills.
        allowance: BitRate = "50 kbit/s", in "1 bit/s"..="1 Tbit/s", symbol "w", source "our choice: 1 % of 5 Mbit/s";
        /// Depth of a bucket.
        depth: Bytes = "15000 B", in "1 B"..="1 GB", source "our choice: 10 full packets";
        /// Queue below which packets pay nothing. Absent: half of the limit.
        q_low: Option<Threshold> = null, source "our choice: Q_min of abc2018 in its 24 packets";
        /// Queue above which packets pay the full price. Absent: the limit.
        q_high: Option<Threshold> = null, source "our choice";
        /// Price of a byte at `q_high`.
        max_price: f64 = 1.0, in 0.0..=1.0, source "our choice";
        /// Packets that pay the congestion price.
        charge: Charge = "arrivals", source "our choice";
        /// Unit that gets one share: `flow`, or `user` with all its flows.
        share_per: FlowKey = "user", source "abc2018 II";
    }
}

/// Registry entry of CP-AQM.
#[derive(Clone, Copy, Debug)]
pub struct CpAqmScheme;

impl SchemeSpec for CpAqmScheme {
    const ABOUT: About = About {
        title: "Congestion policing at the queue",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "Charges each user for the congestion that its packets find and drops the packets of users whose \
                  allowance is used up.",
        source: "abc2018 II, after the congestion policers of RFC 7713",
        state: "user: bucket and time, while the bucket is not full",
        flow_state: FlowState::Each,
        order: Order::Fifo,
    };
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = CpAqmParams;
    type Discipline<P: Packet> = ManagedQueue<P, CpAqm>;

    fn check(params: &CpAqmParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        QueueThreshold::check("q_low", params.q_low, buffer.limit, table)?;
        QueueThreshold::check("q_high", params.q_high, buffer.limit, table)?;
        let (low, high) = thresholds(params, buffer.limit);
        if low.measure() != high.measure() {
            let problem = format!("is in {}, but q_low is in {}: give both in one unit", high.measure(), low.measure());
            return Err(ConfigError::new(table.key("q_high"), problem));
        }
        if low.value() > high.value() {
            let problem = format!("{} is out of range, it must be at least q_low, {}", high.value(), low.value());
            return Err(ConfigError::new(table.key("q_high"), problem));
        }
        Ok(())
    }

    fn build<P: Packet>(params: &CpAqmParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, CpAqm::new(params, port.buffer.limit, port.weights))
    }
}

fn thresholds(params: &CpAqmParams, limit: QueueLimit) -> (QueueThreshold, QueueThreshold) {
    (QueueThreshold::new(params.q_low, 0.5, limit), QueueThreshold::new(params.q_high, 1.0, limit))
}

/// Remaining allowance of a user.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    bytes: f64,
    updated: Time,
}

/// CP-AQM at one port.
#[derive(Clone, Debug)]
pub struct CpAqm {
    policers: Box<Policers>,
    low: QueueThreshold,
    high: f64,
    max_price: f64,
    share_per: FlowKey,
    price: f64,
    dropped: bool,
}

impl CpAqm {
    /// Creates an idle port.
    #[must_use]
    pub fn new(params: &CpAqmParams, limit: QueueLimit, weights: &Weights) -> Self {
        let (low, high) = thresholds(params, limit);
        Self {
            policers: Box::new(Policers::new(params, weights)),
            low,
            high: high.value(),
            max_price: params.max_price,
            share_per: params.share_per,
            price: 0.0,
            dropped: false,
        }
    }

    /// Returns p(Q): eq. (1).
    fn price(&self, queue: &QueueView, now: Time) -> f64 {
        let above = self.low.length(queue, now) - self.low.value();
        let span = self.high - self.low.value();
        match above {
            above if above < 0.0 => 0.0,
            above if above >= span => self.max_price,
            above => self.max_price * above / span,
        }
    }
}

impl Aqm for CpAqm {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, _: &mut Rng) -> Verdict {
        self.price = self.price(queue, now);
        let cost = f64::from(packet.wire_bytes()) * self.price;
        self.dropped = !self.policers.admits(self.share_per.of(packet), cost, now);
        if self.dropped { Verdict::Drop } else { Verdict::Accept }
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(f64::from(u8::from(self.dropped)))
    }

    fn state_size(&self) -> StateSize {
        let buckets = &self.policers.buckets;
        let fixed = size_of_val(self) + size_of_val(&*self.policers);
        StateSize { records: buckets.len(), bytes: fixed + buckets.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        report("price", self.price);
        report("users_below_allowance", self.policers.buckets.len() as f64);
    }
}

/// The buckets of all users that have used a part of their allowance.
#[derive(Clone, Debug)]
struct Policers {
    buckets: FlowTable<Bucket>,
    weights: Weights,
    bytes_per_s: f64,
    depth: f64,
    charge: Charge,
    /// Interval between searches for full buckets: the time that a bucket needs to fill from `-depth`.
    sweep: Ticker,
}

impl Policers {
    fn new(params: &CpAqmParams, weights: &Weights) -> Self {
        let (bytes_per_s, depth) = (params.allowance.as_f64() / 8.0, params.depth.0 as f64);
        let fills_within = Time::from_secs_f64(2.0 * depth / bytes_per_s);
        // A sweep at least every minute bounds the memory; at most one per millisecond bounds the CPU time.
        let sweep = Ticker::new(fills_within.clamp(Time::from_millis(1), Time::from_secs(60)));
        Self {
            buckets: FlowTable::default(),
            weights: weights.clone(),
            bytes_per_s,
            depth,
            charge: params.charge,
            sweep,
        }
    }

    /// Returns true if a packet of `user` that costs `cost` passes: eq. (2) to (4).
    fn admits(&mut self, user: u32, cost: f64, now: Time) -> bool {
        self.forget_full_buckets(now);
        let rate = self.bytes_per_s * self.weights.of(user);
        let Some(bucket) = self.buckets.get_mut(user) else {
            if cost > 0.0 {
                self.buckets.insert(user, Bucket { bytes: (self.depth - cost).max(-self.depth), updated: now });
            }
            return true;
        };
        let level = filled(bucket, rate, self.depth, now);
        let passes = level >= 0.0;
        let paid = if passes || self.charge == Charge::Arrivals { cost } else { 0.0 };
        *bucket = Bucket { bytes: (level - paid).max(-self.depth), updated: now };
        passes
    }

    fn forget_full_buckets(&mut self, now: Time) {
        if self.sweep.due(now).is_none() {
            return;
        }
        self.sweep.skip_to(now);
        let (weights, bytes_per_s, depth) = (&self.weights, self.bytes_per_s, self.depth);
        self.buckets.retain(|user, bucket| filled(bucket, bytes_per_s * weights.of(user), depth, now) < depth);
    }
}

/// Level of `bucket` at `now`: eq. (2).
#[inline]
fn filled(bucket: &Bucket, bytes_per_s: f64, depth: f64, now: Time) -> f64 {
    depth.min(bucket.bytes + bytes_per_s * now.saturating_sub(bucket.updated).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, read_queue, readings, refusal};
    use serde_json::json;

    /// Returns parameters with an allowance of 8 kbit/s (1000 bytes per second) and a bucket depth of 3000 bytes. The
    /// price rises between backlogs of 10 and 20 packets of 1000 bytes.
    fn params() -> CpAqmParams {
        CpAqmParams { allowance: BitRate(8000), depth: Bytes(3000), ..Default::default() }
    }

    fn policed(params: &CpAqmParams) -> CpAqm {
        CpAqm::new(params, QueueLimit::Packets(20), &Weights::new([1.0, 2.0]))
    }

    fn offer(aqm: &mut CpAqm, user: u32, packets: u32, at_ms: u64) -> Verdict {
        let backlog = Backlog { packets, bytes: u64::from(packets) * 1000 };
        let view = QueueView { backlog, head_enqueued_at: None, link_rate: BitRate(8_000_000) };
        let packet = TestPacket { user, wire_bytes: 1000, ..Default::default() };
        aqm.admit(&packet, &view, Time::from_millis(at_ms), &mut Rng::stream(1, 0, "test", 0))
    }

    #[test]
    fn the_price_is_linear_between_the_thresholds() {
        let mut aqm = policed(&CpAqmParams { max_price: 0.5, ..params() });
        let mut price = |packets| {
            offer(&mut aqm, 0, packets, 0);
            aqm.price
        };
        assert_eq!([0, 10, 12, 15, 20].map(&mut price), [0.0, 0.0, 0.1, 0.25, 0.5]);
        // Equal thresholds: the price is a step.
        let step =
            CpAqmParams { q_low: Some(Threshold::Packets(5.0)), q_high: Some(Threshold::Packets(5.0)), ..params() };
        let mut aqm = policed(&step);
        assert_eq!(
            [4, 5].map(|packets| {
                offer(&mut aqm, 0, packets, 0);
                aqm.price
            }),
            [0.0, 1.0]
        );
    }

    #[test]
    fn a_user_is_shut_out_while_its_bucket_is_below_zero() {
        let mut aqm = policed(&CpAqmParams { charge: Charge::Admitted, ..params() });
        // At full price a packet costs 1000 bytes. Four packets pass, at levels of 3000, 2000, 1000 and 0 bytes.
        let verdicts: Vec<_> = (0..6).map(|_| offer(&mut aqm, 0, 20, 0)).collect();
        assert_eq!(verdicts, [[Verdict::Accept; 4].as_slice(), &[Verdict::Drop; 2]].concat());
        assert_eq!(aqm.drop_probability(), Some(1.0));
        // The bucket takes a second to fill from -1000 bytes to 0.
        assert_eq!(offer(&mut aqm, 0, 0, 999), Verdict::Drop);
        assert_eq!(offer(&mut aqm, 0, 0, 1000), Verdict::Accept);
        // Another user's bucket is not affected.
        assert_eq!(offer(&mut aqm, 7, 20, 1000), Verdict::Accept);
    }

    #[test]
    fn those_who_go_on_sending_stay_shut_out_if_every_arrival_pays() {
        let mut aqm = policed(&params());
        // A packet every 500 ms at full price costs twice the allowance.
        let passed: Vec<bool> = (0..40).map(|n| offer(&mut aqm, 0, 20, 500 * n) == Verdict::Accept).collect();
        assert!(passed[..7].iter().all(|&passed| passed) && passed[10..].iter().all(|&passed| !passed), "{passed:?}");
        // The level never falls below -depth, so packets are admitted again after three seconds without packets.
        assert_eq!(offer(&mut aqm, 0, 20, 19_500 + 2_999), Verdict::Drop);
        let mut again = policed(&params());
        (0..40).for_each(|n| _ = offer(&mut again, 0, 20, 500 * n));
        assert_eq!(offer(&mut again, 0, 20, 19_500 + 3_000), Verdict::Accept);
    }

    #[test]
    fn weights_scale_the_allowance() {
        let mut aqm = policed(&CpAqmParams { charge: Charge::Admitted, ..params() });
        for user in [0, 1] {
            (0..5).for_each(|_| _ = offer(&mut aqm, user, 20, 0));
        }
        // User 1 has weight 2, so its bucket takes half the time from -1000 bytes to 0.
        assert_eq!([0, 1].map(|user| offer(&mut aqm, user, 0, 500)), [Verdict::Drop, Verdict::Accept]);
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let mut aqm = policed(&params());
        (0..1000).for_each(|user| _ = offer(&mut aqm, user, 20, 0));
        assert_eq!(aqm.state_size().records, 1000);
        // Without congestion, a packet creates no bucket.
        offer(&mut aqm, 5000, 0, 1);
        assert_eq!(aqm.state_size().records, 1000);
        // Buckets with 2000 of 3000 bytes are full after a second. The sweep runs after 6 s.
        offer(&mut aqm, 5000, 0, 6000);
        assert_eq!(aqm.state_size().records, 0);
        assert_eq!(readings(|report| aqm.report(report)), [("price", 0.0), ("users_below_allowance", 0.0)]);
    }

    #[test]
    fn contradictions_are_refused() {
        assert_eq!(
            refusal(json!({"scheme": "cp_aqm", "q_high": "5 packets"})),
            "queue.q_high: 5 is out of range, it must be at least q_low, 12"
        );
        assert_eq!(
            refusal(json!({"scheme": "cp_aqm", "q_low": "5 ms"})),
            "queue.q_high: is in packets, but q_low is in delay: give both in one unit"
        );
        assert!(read_queue(json!({"scheme": "cp_aqm", "q_low": "5 ms", "q_high": "10 ms"})).is_ok());
        assert!(refusal(json!({"scheme": "cp_aqm", "q_low": "30 packets"})).starts_with("queue.q_low"));
        assert!(refusal(json!({"scheme": "cp_aqm", "q_high": "30 packets"})).starts_with("queue.q_high"));
    }
}
