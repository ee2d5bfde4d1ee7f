//! Approximate fair queueing: a calendar of FIFO queues, one per future round, and a bid per flow.
//!
//! Source: N. Sharma, M. Liu, K. Atreya and A. Krishnamurthy, "Approximating fair queueing on reconfigurable switches",
//! NSDI 2018, and its public simulation code.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | arrival: `bid = max(bid, round * BpR) + L / w` | `Afq::enqueue` |
//! | (2) | `slot = floor(bid / BpR)`; drop if `slot - round >= nQ`, without a change of the bid | `Afq::enqueue` |
//! | (3) | the packet waits in queue `slot mod nQ` | `Afq::enqueue` |
//! | (4) | serve queue `round mod nQ`; when it is empty, `round += 1`; empty queues are skipped | `Afq::dequeue` |
//!
//! A flow of weight w may send `BpR * w` bytes per round. Its bid is the byte position, divided by w, at which its
//! latest packet ends. A new flow starts at the present round. Bids are stored either exactly in a table, or in a
//! count-min sketch. In a sketch each flow has one cell per row. The flow's bid is the minimum of its cells, and an
//! update raises all its cells to the new bid. Flows that share all cells count as one flow.
//!
//! A flow may have `nQ * BpR * w` bytes in the calendar. This must be well below the buffer size. Otherwise the buffer
//! is full before rule (2) drops a packet, and the port is a drop-tail queue. At the default limit of 24 packets BpR is
//! 375 bytes. If more than three flows have `nQ * BpR` bytes in the calendar, the buffer still overflows, and arriving
//! packets of all flows are dropped. The paper assumes that the buffer of a switch is large enough.
//!
//! Cost: O(1) per packet, plus at most nQ empty queues to skip; one hash, or one per row of a sketch. State with a
//! sketch: 64 kB by default. State with exact bids: 25 bytes per flow with waiting packets; 29 bytes per flow without
//! waiting packets, until the round ends.
//!
//! Deviations:
//! 1. Rule (2) has `>=`. The authors' code has `>`, so its last slot is the queue being served.
//! 2. Bids are real numbers and divided by the weight of the flow; the paper has no weights.
//! 3. When the port becomes idle, the round ends and the bids are forgotten.
//! 4. A packet longer than `nQ * BpR * w` is always dropped, by rule (2).
//! 5. Classes have no effect.
//! 6. A full buffer drops the arriving packet; the authors' code limits each queue to 320 packets instead.
//! 7. The default BpR depends on the buffer. A flow of weight 1 may fill a third of the buffer, or more if the flow
//!    with the smallest weight could not have two full packets otherwise. If `nQ * BpR` is not below the limit, BpR is
//!    rejected. A limit in packets is converted with full packets, so short packets fill the buffer before the
//!    calendar; for short packets, give the limit in bytes.
//!
//! Not implemented: marks (the authors' code marks above 48 kB of an unspecified quantity).

use crate::contract::prelude::*;
use crate::fairqueue::queue_store::{LengthMeasure, QueueStore};
use crate::flows::flow_table::FlowTable;
use crate::flows::hash::{bucket, hash};

choices! {
    /// Storage of bids.
    pub enum BidStore {
        /// In a count-min sketch.
        Sketch = "sketch",
        /// One entry for each flow.
        Exact = "exact",
    }
}

params! {
    /// Approximate fair queueing.
    pub struct AfqParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "Sharma et al. 2018 section 3";
        /// Number of FIFO queues.
        queues: u32 = 32, in 2..=4096, symbol "nQ", source "Sharma et al. 2018: what a switch has, 8 to 32; our choice";
        /// Bytes that a flow of weight 1 may send per round; absent: `nQ * BpR` is a third of the limit.
        bytes_per_round: Option<Bytes> = null, in "64 B"..="16 MB", symbol "BpR", source "our choice; Sharma et al. \
            2018: 1 to 2 full packets, and buffers that hold the calendars of many flows";
        /// Storage of bids.
        bids: BidStore = "sketch", source "Sharma et al. 2018 section 3.2";
        /// Rows of the sketch.
        rows: u32 = 4, in 1..=16, source "our choice";
        /// Cells per row.
        columns: u32 = 2048, in 1..=1048576, source "our choice";
    }
}

/// Registry entry of approximate fair queueing.
#[derive(Clone, Copy, Debug)]
pub struct AfqScheme;

impl SchemeSpec for AfqScheme {
    const ABOUT: About = About {
        title: "Approximate fair queueing",
        kind: "a calendar of FIFO queues; drops the arriving packet",
        summary: "Puts each packet into the queue of the round in which fair queueing would send it, and drops it if \
                  that round is too far in the future.",
        source: "Sharma, Liu, Atreya and Krishnamurthy 2018",
        state: "port: 4 x 2048 bids, or one for each flow with waiting packets",
        flow_state: FlowState::Table,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = AfqParams;
    type Discipline<P: Packet> = Afq<P>;

    fn check(params: &AfqParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        let limit_bytes = buffer.full_bytes();
        let calendar_bytes = params.bytes_per_round.map_or(0, |bytes| bytes.0.saturating_mul(params.queues.into()));
        if calendar_bytes < limit_bytes {
            return Ok(());
        }
        let problem = format!(
            "\"{}\" is out of range, {} queues of it must be less than the limit of the queue, {}: no flow would ever \
             be held back",
            Bytes(calendar_bytes / u64::from(params.queues)),
            params.queues,
            buffer.limit,
        );
        Err(ConfigError::new(table.key("bytes_per_round"), problem))
    }

    fn build<P: Packet>(params: &AfqParams, port: &Port<'_>) -> Afq<P> {
        Afq::new(params, port.buffer, port.weights.clone())
    }
}

/// Fraction of the buffer that a flow of weight 1 may use, unless BpR is given: deviation 7.
const CALENDAR_PART: f64 = 1.0 / 3.0;
/// Minimum number of maximum-size packets that every flow may have in the calendar.
const LEAST_PACKETS: f64 = 2.0;

fn default_bytes_per_round(queues: u32, buffer: &BufferParams, weights: &Weights) -> f64 {
    let least = LEAST_PACKETS * buffer.mtu.0 as f64 / weights.smallest();
    // BpR is an integer, so that `floor(round * BpR / BpR)` is the round.
    (f64::max(CALENDAR_PART * buffer.full_bytes() as f64, least) / f64::from(queues)).ceil()
}

/// Bids of flows, in bytes.
#[derive(Clone, Debug)]
enum Bids {
    Sketch { cells: Box<[f64]>, seeds: Vec<u64>, rows: usize, columns: u32 },
    Exact { bids: FlowTable<ExactBid>, served: Vec<u32> },
}

/// Bid of a flow and number of its waiting packets.
#[derive(Clone, Copy, Debug, Default)]
struct ExactBid {
    bid: f64,
    waiting: u32,
    /// True if the flow must be checked at the end of the round.
    listed: bool,
}

impl Bids {
    fn new(params: &AfqParams) -> Self {
        let (rows, columns) = (params.rows as usize, params.columns);
        match params.bids {
            BidStore::Sketch => {
                Self::Sketch { cells: vec![0.0; rows * columns as usize].into(), seeds: vec![], rows, columns }
            }
            BidStore::Exact => Self::Exact { bids: FlowTable::default(), served: vec![] },
        }
    }

    /// Cells of `key`, one per row.
    fn cells(key: u32, seeds: &[u64], columns: u32) -> impl Iterator<Item = usize> {
        seeds.iter().enumerate().map(move |(row, &seed)| row * columns as usize + bucket(hash(key, seed), columns))
    }

    fn of(&mut self, key: u32, rng: &mut Rng) -> f64 {
        match self {
            Self::Sketch { cells, seeds, rows, columns } => {
                if seeds.is_empty() {
                    *seeds = (0..*rows).map(|_| rng.bits()).collect();
                }
                Self::cells(key, seeds, *columns).map(|cell| cells[cell]).fold(f64::INFINITY, f64::min)
            }
            Self::Exact { bids, .. } => bids.get(key).map_or(0.0, |record| record.bid),
        }
    }

    /// Records that a packet of `key` was stored, and sets the flow's bid to `bid`.
    fn raise(&mut self, key: u32, bid: f64) {
        match self {
            Self::Sketch { cells, seeds, columns, .. } => {
                Self::cells(key, seeds, *columns).for_each(|cell| cells[cell] = cells[cell].max(bid));
            }
            Self::Exact { bids, .. } => {
                let record = bids.or_insert_with(key, ExactBid::default);
                record.bid = bid;
                record.waiting += 1;
            }
        }
    }

    /// Records that a packet of `key` was served.
    fn departed(&mut self, key: u32) {
        if let Self::Exact { bids, served } = self
            && let Some(record) = bids.get_mut(key)
        {
            record.waiting -= 1;
            if record.waiting == 0 && !std::mem::replace(&mut record.listed, true) {
                served.push(key);
            }
        }
    }

    /// Ends a round. Deletes the records of flows without waiting packets: their bids no longer have an effect on rule
    /// (1).
    fn round_over(&mut self) {
        if let Self::Exact { bids, served } = self {
            for key in served.drain(..) {
                match bids.get_mut(key) {
                    Some(record) if record.waiting > 0 => record.listed = false,
                    _ => _ = bids.remove(key),
                }
            }
        }
    }
}

/// The calendar of one port.
#[derive(Clone, Debug)]
pub struct Afq<P> {
    queues: QueueStore<P, (), ()>,
    bids: Bids,
    round: u64,
    /// True if the link has found the port without packets and none has arrived since then.
    idle: bool,
    share_per: FlowKey,
    queue_count: u32,
    bytes_per_round: f64,
    limit: QueueLimit,
    weights: Weights,
}

impl<P: Packet> Afq<P> {
    /// Creates an empty port.
    #[must_use]
    pub fn new(params: &AfqParams, buffer: &BufferParams, weights: Weights) -> Self {
        let bytes_per_round = match params.bytes_per_round {
            Some(bytes) => bytes.0 as f64,
            None => default_bytes_per_round(params.queues, buffer, &weights),
        };
        let mut queues = QueueStore::new(LengthMeasure::Packets);
        for _ in 0..params.queues {
            queues.open(());
        }
        Self {
            queues,
            bids: Bids::new(params),
            round: 0,
            idle: true,
            share_per: params.share_per,
            queue_count: params.queues,
            bytes_per_round,
            limit: buffer.limit,
            weights,
        }
    }

    fn queue_of(&self, round: u64) -> u32 {
        (round % u64::from(self.queue_count)) as u32
    }

    fn end_round(&mut self) {
        self.round += 1;
        self.bids.round_over();
    }
}

impl<P: Packet> QueueDiscipline<P> for Afq<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let found = self.queues.backlog();
        let key = self.share_per.of(&packet);
        let start = self.bids.of(key, rng).max(self.round as f64 * self.bytes_per_round);
        let bid = start + f64::from(packet.wire_bytes()) / self.weights.of(packet.user()); // rule (1)
        let slot = (bid / self.bytes_per_round) as u64;
        if slot.saturating_sub(self.round) >= u64::from(self.queue_count) {
            drops.dropped(&packet, DropReason::Aqm, found); // rule (2)
        } else if !found.has_room_for(packet.wire_bytes(), self.limit) {
            drops.dropped(&packet, DropReason::Overlimit, found);
        } else {
            self.idle = false;
            self.bids.raise(key, bid);
            packet.set_enqueued_at(now);
            self.queues.push_back(self.queue_of(slot), packet, ()); // rule (3)
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        if self.queues.backlog().packets == 0 {
            if !std::mem::replace(&mut self.idle, true) {
                self.end_round();
            }
            return None;
        }
        loop {
            if let Some((packet, ())) = self.queues.pop_front(self.queue_of(self.round)) {
                self.bids.departed(self.share_per.of(&packet));
                return Some(packet);
            }
            self.end_round(); // rule (4)
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_size(&self) -> StateSize {
        let (records, bytes) = match &self.bids {
            Bids::Sketch { cells, seeds, .. } => (cells.len(), size_of_val(&**cells) + size_of_val(seeds.as_slice())),
            Bids::Exact { bids, served } => (bids.len(), bids.bytes() + size_of_val(served.as_slice())),
        };
        StateSize { records, bytes: size_of_val(self) + self.queues.state_bytes() + bytes }
    }

    fn report(&self, report: Report<'_>) {
        report("round", self.round as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{
        assert_max_min, assert_rates, build, drain, limits, noise, offer, shares, survives,
    };
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket, read_queue, refusal};
    use proptest::prelude::*;
    use serde_json::json;

    const STORES: [BidStore; 2] = [BidStore::Sketch, BidStore::Exact];

    fn with(bids: BidStore, queues: u32) -> AfqParams {
        AfqParams { bids, queues, bytes_per_round: Some(Bytes(1000)), ..Default::default() }
    }

    fn port(params: &AfqParams, limit: u32, weights: &Weights) -> (Afq<TestPacket>, Rng) {
        build::<AfqScheme>(params, QueueLimit::Packets(limit), weights)
    }

    #[test]
    fn packets_wait_for_the_round_of_their_bid() {
        // BpR is 1000 bytes. The bids of flow 0 are 600, 1200 and 1800, for rounds 0, 1 and 1. The bids of flow 1 are
        // 500, 999 and 1500, for rounds 0, 0 and 1.
        for bids in STORES {
            let (mut queue, mut rng) = port(&with(bids, 8), 100, &Weights::equal());
            offer(&mut queue, &mut rng, 0, &[600, 600, 600]);
            offer(&mut queue, &mut rng, 1, &[500, 499, 501]);
            let expected = [(0, 600), (1, 500), (1, 499), (0, 600), (0, 600), (1, 501)];
            assert_eq!(drain(&mut queue, &mut rng), expected);
        }
    }

    #[test]
    fn a_bid_beyond_the_calendar_drops_and_does_not_count() {
        for bids in STORES {
            let (mut queue, mut rng) = port(&with(bids, 4), 100, &Weights::new([1.0, 2.0]));
            // Rounds 0 to 3 accept bids below 4000: three packets of 1300 bytes. The fourth packet would bid 5200.
            let drops = offer(&mut queue, &mut rng, 0, &[1300, 1300, 1300, 1300, 99]);
            let log: Vec<_> = drops.0.iter().map(|drop| (drop.0.wire_bytes, drop.1)).collect();
            assert_eq!(log, [(1300, DropReason::Aqm)], "the last bids 3999");
            // Weight 2 halves the bids, so six packets are stored.
            assert_eq!(offer(&mut queue, &mut rng, 1, &[1300; 7]).0.len(), 1);
            assert_eq!(drain(&mut queue, &mut rng).len(), 10);
        }
    }

    #[test]
    fn an_idle_port_forgets_bids() {
        for bids in STORES {
            let (mut queue, mut rng) = port(&with(bids, 4), 100, &Weights::equal());
            for _ in 0..3 {
                assert!(offer(&mut queue, &mut rng, 0, &[1300; 3]).0.is_empty());
                assert_eq!(drain(&mut queue, &mut rng).len(), 3);
                assert!(queue.dequeue(Time::ZERO, &mut rng, &mut Drops::default()).is_none());
            }
            // The packets use rounds 0-3, 4-7 and 8-11. An idle time adds one round, even if it is reported twice.
            assert_eq!(queue.round, 12);
        }
    }

    #[test]
    fn a_full_buffer_drops_the_arriving_packet() {
        let (mut queue, mut rng) = port(&with(BidStore::Exact, 32), 2, &Weights::equal());
        assert_eq!(offer(&mut queue, &mut rng, 0, &[100; 3]).0[0].1, DropReason::Overlimit);
    }

    #[test]
    fn a_sketch_of_one_cell_takes_all_flows_for_one() {
        let params = AfqParams { rows: 1, columns: 1, ..with(BidStore::Sketch, 4) };
        let (mut queue, mut rng) = port(&params, 100, &Weights::equal());
        assert!(offer(&mut queue, &mut rng, 0, &[1300; 3]).0.is_empty());
        assert_eq!(offer(&mut queue, &mut rng, 1, &[1300]).0.len(), 1);
    }

    #[test]
    fn exact_bids_last_until_the_round_is_over() {
        let (mut queue, mut rng) = port(&with(BidStore::Exact, 8), 100, &Weights::equal());
        offer(&mut queue, &mut rng, 0, &[500]);
        offer(&mut queue, &mut rng, 1, &[500, 1000]);
        let mut serve = |queue: &mut Afq<_>| queue.dequeue(Time::ZERO, &mut rng, &mut Drops::default());
        serve(&mut queue);
        assert_eq!(queue.state_size().records, 2, "flow 0 may not bid from 0 again in this round");
        serve(&mut queue);
        serve(&mut queue);
        assert_eq!(queue.state_size().records, 1);
        serve(&mut queue);
        assert_eq!(queue.state_size().records, 0);
    }

    #[test]
    fn rates_are_the_weighted_max_min_shares() {
        for bids in STORES {
            let params = AfqParams { bids, bytes_per_round: Some(Bytes(3000)), ..Default::default() };
            assert_max_min::<AfqScheme>(&params, 1000, [1.0, 1.0, 2.0], 0.02);
        }
    }

    #[test]
    fn no_limit_makes_the_defaults_a_drop_tail_queue() {
        // With drop-tail, flows of 20 and 10 Mbit/s would share a link of 10 Mbit/s at 2 : 1. The tolerance is 3 %,
        // because all packets in the buffer at the end (at most 60 ms of 2 s) may belong to one flow.
        for limit in [6, 24, 50].map(QueueLimit::Packets).into_iter().chain([QueueLimit::Bytes(30_000)]) {
            let params = AfqParams::default();
            let rates = shares::<AfqScheme>(&params, limit, &Weights::equal(), &[20e6, 10e6], &[1500, 1500]);
            assert_rates(&rates, &[5e6, 5e6], 0.03);
        }
    }

    #[test]
    fn the_smallest_weight_has_room_for_two_full_packets() {
        let (mut queue, mut rng) = port(&AfqParams::default(), 24, &Weights::new([1.0, 0.01]));
        assert_eq!(offer(&mut queue, &mut rng, 1, &[1499, 1500, 1500]).0.len(), 1);
    }

    #[test]
    fn a_calendar_that_the_buffer_cannot_hold_is_refused() {
        // 24 packets of 1500 B are 36 000 B. 32 queues of 1124 B are 35 968 B; with 1125 B they equal the buffer.
        assert!(read_queue(json!({"scheme": "afq", "bytes_per_round": "1124 B"})).is_ok());
        assert_eq!(
            refusal(json!({"scheme": "afq", "bytes_per_round": "1125 B"})),
            "queue.bytes_per_round: \"1125 B\" is out of range, 32 queues of it must be less than the limit of the \
             queue, 24 packets: no flow would ever be held back"
        );
        assert!(
            read_queue(json!({"scheme": "afq", "limit": "30 kB", "queues": 8, "bytes_per_round": "4 kB"})).is_err()
        );
        assert!(read_queue(json!({"scheme": "afq", "limit": "1 packets"})).is_ok());
    }

    proptest! {
        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            bids in prop::sample::select(STORES.to_vec()),
            queues in 2u32..40,
            bytes in prop::sample::select(vec![None, Some(64), Some(1500), Some(3000)]),
        ) {
            let params =
                AfqParams { bids, queues, bytes_per_round: bytes.map(Bytes), columns: 8, rows: 2,
                    ..Default::default() };
            let records = survives(SchemeParams::Afq(params), limit, &noise);
            prop_assert_eq!(records, if bids == BidStore::Exact { 0 } else { 16 });
        }
    }
}
