//! AHAB: limits every user to the same rate. Interpolates this limit between three candidates, from the rates that they
//! would let through.
//!
//! Source: MacDavid, Chen and Rexford, "Scalable Real-Time Bandwidth Fairness in Switches", INFOCOM 2023 and IEEE/ACM
//! Transactions on Networking 32(2), 2024. We could read only the abstract. The rules are those of the authors' public
//! Tofino program and its simulation (github.com/Princeton-Cabernet/AHAB, `p4src` and `python`). Symbols: rate C of the
//! link, limit T, length L of an arrival.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | r: minimum of the user's cells in the rows of a sketch; each cell computes `x = L + x * exp(-dt/K)`, `r = x/K` | `Sketch::add` |
//! | (2) | while the link is congested, drop with probability `1 - min(1, T/r)` | `Ahab::admit` |
//! | (3) | `T_lo, T_hi = T -+ delta`, delta = (largest power of two up to T) / `2^step` | `Ahab::set_limit` |
//! | (4) | A, S, S_lo, S_hi: rates of traffic that arrives, that passes, and that would pass with T_lo and T_hi; as in (1) with `link_memory` | `LinkRates::add` |
//! | (5) | each epoch: `T = T_lo` if `C <= S_lo`, `T_hi` if `C >= S_hi`, else interpolated between (S, T) and (S_lo, T_lo) or (S_hi, T_hi), whichever is on C's side | [`interpolate`] |
//! | (6) | each epoch: the link is congested if `A > C` | `Ahab::update` |
//!
//! T converges to the value at which the passed traffic is C. Users below T lose no packets, so T is the max-min fair
//! share.
//!
//! The limit does not depend on the queue, so an idle port may drop a packet.
//!
//! Cost: three hashes, four exponentials and a random number per packet; a few divisions per epoch. State: 3 * 2048
//! cells of 16 bytes, for any number of users.
//!
//! Deviations:
//! 1. Numbers are real; the switch uses shifts and tables of quotients, and stores T in steps of 16 kbit/s.
//! 2. T lies between `least_limit` and C. In the program T lies between 1 Mbit/s and 17 million Mbit/s, so after a time
//!    without congestion T has to fall far.
//! 3. `step` is 1: delta is a quarter to half of T, as in the program's comments, the simulation, and the script that
//!    installs the deltas. A settings script uses 4.
//! 4. The three decisions of (2) and (4) on a packet share one random number, as in the program. The program applies
//!    the decision one packet later.
//! 5. The bytes of a dropped packet are counted at once; in the switch the next packet that passes reports them.
//! 6. The first packet of an epoch may be dropped; in the switch it carries the update and is never dropped.
//! 7. As in the switch, the first arrival of an epoch performs (5) and (6), and epochs without arrivals do not change
//!    T.
//! 8. C is the rate of the link; the program uses 100 Mbit/s. Packets that pass (2) enter a buffer.
//!
//! Not implemented: slices (groups of users with a weight); the program's separate treatment of TCP, which drops or
//! marks a packet whenever a byte counter reaches zero. Here, all users are treated as the program treats UDP.

use crate::contract::prelude::*;
use crate::flows::hash::{bucket, hash};
use crate::measure::ticker::Ticker;
use crate::queue::managed_queue::ManagedQueue;

params! {
    /// AHAB.
    pub struct AhabParams {
        /// Unit that is limited: `user` (with all its flows) or `flow`.
        share_per: FlowKey = "user", source "INFOCOM 2023, abstract: users; the 5-tuple in the program";
        /// Rows of the sketch.
        rows: u32 = 3, in 1..=16, source "rate_estimator.p4";
        /// Cells of a row.
        columns: u32 = 2048, in 1..=1048576, symbol "CMS_HEIGHT", source "define.h";
        /// Time constant of the users' rates.
        user_memory: Time = "4 ms", in "10 us"..="100 s", symbol "K", source "default_settings.sh";
        /// Time constant of the link's rates.
        link_memory: Time = "16 ms", in "10 us"..="100 s", source "default_settings.sh";
        /// Time between updates of the limit.
        epoch: Time = "1048576 ns", in "1 us"..="10 s", source "afd.p4: 2^20 ns";
        /// Distance between the limit and the two other candidates: the limit's highest bit divided by `2^step`.
        step: u32 = 1, in 0..=16, source "add_delta_rules.py, threshold_simulations.py; 4 in default_settings.sh";
        /// Minimum of the limit: rate that every user may always send.
        least_limit: BitRate = "1 kbit/s", in "1 bit/s"..="100 Gbit/s",
            source "ours; 64 steps of 16 kbit/s in the program";
    }
}

/// Registry entry of AHAB.
#[derive(Clone, Copy, Debug)]
pub struct AhabScheme;

impl SchemeSpec for AhabScheme {
    const ABOUT: About = About {
        title: "Approximate hierarchical allocation of bandwidth, AHAB",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "Limits every user to the same rate, measured in a sketch, and interpolates this limit from the \
                  traffic that it and two other limits would pass.",
        source: "MacDavid, Chen, Rexford: Scalable Real-Time Bandwidth Fairness in Switches, INFOCOM 2023",
        state: "port: 3 rows of 2048 rates, 4 rates, limit; user: none",
        flow_state: FlowState::Table,
        order: Order::Fifo,
    };
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = AhabParams;
    type Discipline<P: Packet> = ManagedQueue<P, Ahab>;

    fn build<P: Packet>(params: &AhabParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Ahab::new(params, port.rate))
    }
}

/// A low-pass filter of bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    bytes: f64,
    at: Time,
}

/// Rates of users: a count-min sketch whose counters are low-pass filters.
#[derive(Clone, Debug)]
struct Sketch {
    cells: Box<[Cell]>,
    /// One seed per row; drawn at the first packet.
    seeds: Vec<u64>,
    rows: u32,
    columns: u32,
    memory_s: f64,
}

impl Sketch {
    fn new(params: &AhabParams) -> Self {
        Self {
            cells: vec![Cell::default(); params.rows as usize * params.columns as usize].into(),
            seeds: Vec::new(),
            rows: params.rows,
            columns: params.columns,
            memory_s: params.user_memory.as_secs_f64(),
        }
    }

    /// Counts a packet. Returns the rate of its user in bit/s: rule (1).
    fn add(&mut self, key: u32, wire_bytes: u32, now: Time, rng: &mut Rng) -> f64 {
        while self.seeds.len() < self.rows as usize {
            self.seeds.push(rng.bits());
        }
        let Self { cells, seeds, columns, memory_s, .. } = self;
        let mut least = f64::INFINITY;
        for (row, &seed) in cells.chunks_exact_mut(*columns as usize).zip(&*seeds) {
            let cell = &mut row[bucket(hash(key, seed), *columns)];
            let age_s = now.saturating_sub(cell.at).as_secs_f64();
            cell.bytes = f64::from(wire_bytes) + cell.bytes * libm::exp(-age_s / *memory_s);
            cell.at = now;
            least = least.min(cell.bytes);
        }
        least * 8.0 / *memory_s
    }
}

/// Passed and offered bytes of the link, with exponential decay.
#[derive(Clone, Copy, Debug, Default)]
struct LinkRates {
    offered: f64,
    passed: f64,
    passed_low: f64,
    passed_high: f64,
    at: Time,
}

impl LinkRates {
    /// Applies rule (4).
    fn add(&mut self, wire_bytes: u32, passes: [bool; 3], memory_s: f64, now: Time) {
        let fade = libm::exp(-now.saturating_sub(self.at).as_secs_f64() / memory_s);
        let bytes = f64::from(wire_bytes);
        let count = |sum: &mut f64, counts: bool| *sum = *sum * fade + if counts { bytes } else { 0.0 };
        let [low, current, high] = passes;
        count(&mut self.offered, true);
        count(&mut self.passed_low, low);
        count(&mut self.passed, current);
        count(&mut self.passed_high, high);
        self.at = now;
    }
}

/// A limit, and the traffic that passes with this limit, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// T.
    pub limit: f64,
    /// S.
    pub passed: f64,
}

/// Applies rule (5): returns the limit with which traffic of rate `capacity` passes, interpolated from three candidates
/// in ascending order.
#[must_use]
pub fn interpolate([low, current, high]: [Candidate; 3], capacity: f64) -> f64 {
    if capacity <= low.passed && capacity < current.passed {
        return low.limit;
    }
    if capacity >= high.passed && capacity > current.passed {
        return high.limit;
    }
    let towards = if capacity < current.passed { low } else { high };
    let span = towards.passed - current.passed;
    if span == 0.0 {
        return current.limit;
    }
    current.limit + (capacity - current.passed) / span * (towards.limit - current.limit)
}

/// AHAB at one port.
#[derive(Clone, Debug)]
pub struct Ahab {
    sketch: Box<Sketch>,
    rates: LinkRates,
    epochs: Ticker,
    /// T_lo, T and T_hi in bit/s.
    limits: [f64; 3],
    congested: bool,
    capacity: f64,
    link_memory_s: f64,
    step: u32,
    least_limit: f64,
    share_per: FlowKey,
}

impl Ahab {
    /// Creates an idle port at rate `rate`. The initial limit is a sixth of
    /// `rate`, as in the authors' simulation.
    #[must_use]
    pub fn new(params: &AhabParams, rate: BitRate) -> Self {
        let mut port = Self {
            sketch: Box::new(Sketch::new(params)),
            rates: LinkRates::default(),
            epochs: Ticker::new(params.epoch),
            limits: [0.0; 3],
            congested: false,
            capacity: rate.as_f64(),
            link_memory_s: params.link_memory.as_secs_f64(),
            step: params.step,
            least_limit: params.least_limit.as_f64(),
            share_per: params.share_per,
        };
        port.set_limit(rate.as_f64() / 6.0);
        port
    }

    /// Applies rule (3).
    fn set_limit(&mut self, limit: f64) {
        let limit = limit.min(self.capacity).max(self.least_limit);
        let delta = libm::exp2(libm::floor(libm::log2(limit)) - f64::from(self.step));
        self.limits = [limit - delta, limit, limit + delta];
    }

    /// Applies rules (5) and (6), once per epoch.
    fn update(&mut self) {
        let per_s = 8.0 / self.link_memory_s;
        let LinkRates { offered, passed, passed_low, passed_high, .. } = self.rates;
        let passed = [passed_low, passed, passed_high];
        let candidates = std::array::from_fn(|at| Candidate { limit: self.limits[at], passed: passed[at] * per_s });
        self.set_limit(interpolate(candidates, self.capacity));
        self.congested = offered * per_s > self.capacity;
    }
}

impl Aqm for Ahab {
    fn admit<P: Packet>(&mut self, packet: &P, _: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        if self.epochs.due(now).is_some() {
            self.epochs.skip_to(now);
            self.update();
        }
        let rate = self.sketch.add(self.share_per.of(packet), packet.wire_bytes(), now, rng);
        let draw = rng.open01();
        // Rule (2), with each of the three limits.
        let [low, within, high] = self.limits.map(|limit| rate <= limit || draw * rate < limit);
        let passes = !self.congested || within;
        self.rates.add(packet.wire_bytes(), [low, passes, high], self.link_memory_s, now);
        if passes { Verdict::Accept } else { Verdict::Drop }
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.capacity = rate.as_f64();
        self.set_limit(self.limits[1]);
    }

    fn drop_threshold(&self) -> Option<f64> {
        Some(self.limits[1])
    }

    fn state_size(&self) -> StateSize {
        let sketch = size_of_val(&*self.sketch) + size_of_val(&*self.sketch.cells);
        let seeds = self.sketch.rows as usize * size_of::<u64>();
        StateSize { records: self.sketch.cells.len(), bytes: size_of_val(self) + sketch + seeds }
    }

    fn report(&self, report: Report<'_>) {
        report("limit_bps", self.limits[1]);
        report("congested", f64::from(u8::from(self.congested)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{limits, noise, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{TestPacket, close, view};
    use proptest::prelude::*;

    const LINK: BitRate = BitRate(100_000_000);

    fn candidates(passed: [f64; 3]) -> [Candidate; 3] {
        [5.0, 10.0, 15.0].into_iter().zip(passed).map(|(limit, passed)| Candidate { limit, passed }).collect::<Vec<_>>()
            [..]
            .try_into()
            .unwrap()
    }

    #[test]
    fn rule_5_takes_the_end_or_the_point_on_the_line() {
        for (passed, capacity, expected) in [
            ([30.0, 50.0, 60.0], 20.0, 5.0),  // below all
            ([30.0, 50.0, 60.0], 30.0, 5.0),  // the low candidate fits
            ([30.0, 50.0, 60.0], 40.0, 7.5),  // half way down
            ([30.0, 50.0, 60.0], 50.0, 10.0), // the current limit fits
            ([30.0, 50.0, 60.0], 52.5, 11.25),
            ([30.0, 50.0, 60.0], 60.0, 15.0),
            ([30.0, 50.0, 60.0], 99.0, 15.0), // above all
            ([50.0, 50.0, 50.0], 50.0, 10.0), // no difference: stay
            ([50.0, 50.0, 60.0], 50.0, 10.0),
            ([40.0, 50.0, 50.0], 50.0, 10.0),
        ] {
            close(interpolate(candidates(passed), capacity), expected);
        }
    }

    #[test]
    fn rule_3_steps_by_a_power_of_two_and_stays_within_the_link() {
        let mut ahab = Ahab::new(&AhabParams::default(), LINK);
        // The highest bit of 16 666 667 is 2^23 = 8 388 608; half of it is 4 194 304.
        close(ahab.limits[1] - ahab.limits[0], 4_194_304.0);
        close(ahab.limits[2] - ahab.limits[1], 4_194_304.0);
        ahab.set_limit(2e8);
        close(ahab.limits[1], 1e8);
        ahab.set_limit(0.0);
        close(ahab.limits[1], 1000.0);
        assert!(ahab.limits[0] > 0.0);
        ahab.set_limit(1e8);
        ahab.set_link_rate(BitRate(10_000_000));
        close(ahab.limits[1], 1e7);
    }

    /// Simulates users on a link of 100 Mbit/s and returns their throughput in Mbit/s from `from_ms` to `until_ms`.
    /// `users` gives the rate (in Mbit/s) and start (in ms) of each user. All packets have `bytes`.
    fn shares(params: &AhabParams, bytes: u32, users: &[(f64, f64)], from_ms: f64, until_ms: f64) -> Vec<f64> {
        let mut ahab = Ahab::new(params, LINK);
        let mut rng = Rng::stream(1, 0, "ahab", 0);
        let mut next: Vec<f64> = users.iter().zip(1..).map(|(user, at)| user.1 / 1e3 + 1e-6 * f64::from(at)).collect();
        let mut bits = vec![0.0; users.len()];
        loop {
            let (user, at) = next.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            if at >= until_ms / 1e3 {
                return bits.iter().map(|bits| bits / (until_ms - from_ms) / 1e3).collect();
            }
            let packet = TestPacket { user: user as u32, wire_bytes: bytes, ..Default::default() };
            let verdict = ahab.admit(&packet, &view(0, LINK), Time::from_secs_f64(at), &mut rng);
            if verdict == Verdict::Accept && at >= from_ms / 1e3 {
                bits[user] += f64::from(bytes) * 8.0;
            }
            next[user] += f64::from(bytes) * 8.0 / (users[user].0 * 1e6);
        }
    }

    #[test]
    fn users_get_their_max_min_shares() {
        // Users send 80, 60 and 20 Mbit/s over a link of 100 Mbit/s, so the shares are 40, 40 and 20 Mbit/s. Right
        // after a packet, a filter overestimates a rate by L/2K: 0.25 Mbit/s with 250 B and 4 ms, which is 0.3 to 0.4 %
        // of the two higher rates. The rest of the tolerance is for random drops: 20 000 packets pass in 1 s with p of
        // about 1/2, which gives a standard deviation of 0.5 %.
        let got = shares(&AhabParams::default(), 250, &[(80.0, 0.0), (60.0, 0.0), (20.0, 0.0)], 500.0, 1500.0);
        for (got, fair) in got.iter().zip([40.0, 40.0, 20.0]) {
            assert!((got - fair).abs() < 0.03 * fair, "{got:?}");
        }
    }

    #[test]
    fn below_capacity_nobody_loses_anything() {
        let got = shares(&AhabParams::default(), 250, &[(70.0, 0.0), (20.0, 0.0), (5.0, 0.0)], 500.0, 1500.0);
        for (got, fair) in got.iter().zip([70.0, 20.0, 5.0]) {
            assert!((got - fair).abs() < 0.001 * fair, "{got:?}");
        }
    }

    #[test]
    fn a_user_in_cells_of_its_own_is_measured_within_half_a_packet() {
        let mut sketch = Sketch::new(&AhabParams::default());
        let mut rng = Rng::stream(1, 0, "ahab", 0);
        let gap_s = 1500.0 * 8.0 / 50e6;
        let mut rate = 0.0;
        for packet in 0..1000 {
            rate = sketch.add(7, 1500, Time::from_secs_f64(f64::from(packet) * gap_s), &mut rng);
        }
        // Sum of a geometric series: L / (1 - exp(-gap/K)), divided by K.
        let exact = 1500.0 * 8.0 / (1.0 - libm::exp(-gap_s / 4e-3)) / 4e-3;
        assert!((rate / exact - 1.0).abs() < 1e-6 && (rate - 50e6 - 1.5e6).abs() < 0.02e6, "{rate}");
    }

    #[test]
    fn congestion_is_what_is_offered_above_the_link() {
        let mut ahab = Ahab::new(&AhabParams::default(), LINK);
        ahab.rates.offered = 100e6 / 8.0 * 0.016;
        ahab.update();
        assert!(!ahab.congested);
        ahab.rates.offered *= 1.001;
        ahab.update();
        assert!(ahab.congested);
    }

    proptest! {
        #[test]
        fn the_sketch_never_says_less_than_the_user_sends(
            packets in prop::collection::vec((0u32..40, 40u32..1500, 0u64..2_000), 1..400),
            (rows, columns) in (1u32..4, 1u32..32),
        ) {
            let params = AhabParams { rows, columns, ..Default::default() };
            let mut sketch = Sketch::new(&params);
            let mut exact = [Cell::default(); 40];
            let (mut rng, mut now) = (Rng::stream(1, 0, "ahab", 0), Time::ZERO);
            for (user, bytes, wait_us) in packets {
                now += Time::from_micros(wait_us);
                let cell = &mut exact[user as usize];
                let age_s = now.saturating_sub(cell.at).as_secs_f64();
                *cell = Cell { bytes: f64::from(bytes) + cell.bytes * libm::exp(-age_s / 4e-3), at: now };
                let sent = cell.bytes * 8.0 / 4e-3;
                prop_assert!(sketch.add(user, bytes, now, &mut rng) >= sent * (1.0 - 1e-12));
            }
        }

        #[test]
        fn the_new_limit_lies_between_the_candidates(
            mut passed in prop::array::uniform3(0.0f64..1e9),
            capacity in 0.0f64..1e9,
        ) {
            passed.sort_by(f64::total_cmp);
            let limit = interpolate(candidates(passed), capacity);
            prop_assert!((5.0..=15.0).contains(&limit), "{}", limit);
        }

        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            (rows, columns, step) in (1u32..5, 1u32..100, 0u32..=16),
            (user_us, link_us, epoch_us) in (10u64..1_000_000, 10u64..1_000_000, 1u64..1_000_000),
            least in 1u64..1_000_000_000,
        ) {
            let params = AhabParams {
                rows, columns, step,
                user_memory: Time::from_micros(user_us),
                link_memory: Time::from_micros(link_us),
                epoch: Time::from_micros(epoch_us),
                least_limit: BitRate(least),
                ..Default::default()
            };
            survives(SchemeParams::Ahab(params), limit, &noise);
        }
    }
}
