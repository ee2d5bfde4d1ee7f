//! HCSFQ (hierarchical core-stateless fair queueing): one queue with a fair rate for tenants, and a fair rate for the
//! flows of each tenant.
//!
//! Source: Yu, Wu, Braverman, Stoica, Jin: Twenty Years After: Hierarchical Core-Stateless Fair Queueing, NSDI 2021, as
//! implemented in its authors' code. Here a tenant is a user. Rates are estimated as in CSFQ
//! ([`crate::measure::rate_estimates`]).
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | label `= r`, rate of the flow in bit/s, at the edge | `HcsfqMarker` |
//! | (2) | drop with probability `max(0, 1 - alpha_i/label)`, i the packet's tenant | `State::judge` |
//! | (3) | relabel accepted packets with `min(label, alpha_i)` | `HcsfqAqm::accepted` |
//! | (4) | congested, `A >= C`, at the end of a window: `alpha = alpha*C/F`, at most C | `Share::congested` |
//! | (5) | uncongested: `alpha = max rate` seen in the window, at least `C/32` | `Share::uncongested` |
//! | (6) | virtual capacity of a tenant: `C_i = w_i alpha_root` | `State::judge` |
//! | (7) | no update, congested or not, reduces alpha by more than a quarter | `Share::observe` |
//!
//! Rules (4), (5) and (7) apply at two levels. The root uses A and F of the port and the rates `A_i/w_i` of the
//! tenants. Tenant i uses A_i, F_i, the capacity C_i and the labels of its flows. A is the rate of arrivals, F the rate
//! of packets that (2) accepts.
//!
//! HCSFQ needs the link's rate. A packet without a label is never dropped early. (5) sets alpha to the largest rate of
//! the last window. So a flow that has become faster since then loses packets even if no packet waits. HCSFQ's
//! definition requires this. `q_min = "12 packets"` exempts packets that find a short queue.
//!
//! Cost: per packet, the edge computes 1 exponential. The port computes 2 exponentials and 3 divisions, looks up the
//! tenant, and draws a random number if the flow exceeds its fair rate. State: 3 numbers per flow at the edge; 11
//! numbers per port, and 10 for each tenant that sent recently.
//!
//! Deviations:
//! 1. Time constants are 100 ms, for rates in Mbit/s; those of the authors' code are meant for 10 to 100 Gbit/s.
//! 2. In the code C is 0.985 times the link's rate; here this factor is `capacity_factor`, by default 1.
//! 3. A tenant's fair rate starts with alpha = C at the tenant's first packet. In the code all tenants exist from time
//!    0, with C/32. Because of (7), a new tenant is limited to its share only after some windows. If alpha exceeds F,
//!    alpha limits no flow and becomes C. The code tests this only when congested.
//! 4. The code replaces a time of 0 between packets by 20 ns. Here simultaneous packets count together at the next
//!    packet.
//! 5. `q_min` is ours, as in the CSFQ of the ABC paper, V-E1: below `q_min` no packet is dropped early. The paper's
//!    scheme has `q_min = 0`.
//! 6. A tenant's record is deleted after 10 time constants without a packet, when its rates are below e^-10 of their
//!    last values.
//!
//! Not implemented: the switch prototype's epochs and its comparison of 4 random bits.

use crate::contract::prelude::*;
use crate::flows::expiring_table::ExpiringTable;
use crate::measure::rate_estimates::{Averaging, RateEstimates};
use crate::queue::managed_queue::ManagedQueue;
use crate::queue::queue_length::{DelayEstimate, QueueLength};
use crate::queue::queue_threshold::QueueThreshold;

params! {
    /// Rate estimator at the edge of HCSFQ.
    pub struct HcsfqMarkerParams {
        /// Time constant of the rate estimate of a flow.
        rate_constant: Time = "100 ms", in "1 ms"..="1 h", symbol "K", source "our choice; that of CSFQ";
    }
}

params! {
    /// HCSFQ.
    pub struct HcsfqParams {
        /// Time constant of the rates of the port and of its tenants.
        aggregate_constant: Time = "100 ms", in "1 ms"..="1 h", symbol "K_alpha", source "our choice; that of CSFQ";
        /// Window between two updates of a fair rate.
        window: Time = "100 ms", in "1 ms"..="1 h", symbol "K_c", source "our choice; that of CSFQ";
        /// Maximum fraction by which one update reduces a fair rate.
        largest_cut: f64 = 0.25, in 0.0..=1.0, source "NSDI 2021, code: 1 - Khd";
        /// Minimum fair rate after an uncongested window, as a fraction of the capacity.
        least_share: f64 = 0.03125, in 0.0..=1.0, source "NSDI 2021, code: C/32";
        /// Fraction of the link's rate that counts as its capacity.
        capacity_factor: f64 = 1.0, in 0.5..=1.0, source "our choice; the code has 0.985";
        /// Length below which packets always pass.
        bypass_below: Bytes = "125 B", in "0 B"..="65535 B", source "NSDI 2021, code: 1000 bit";
        /// Queue above which ECN-capable packets are marked; absent: never.
        mark_above: Option<Bytes> = null, in "0 B"..="1 GB", source "NSDI 2021, code: 48 kB";
        /// Queue below which no packet is dropped early.
        q_min: Threshold = "0 packets", symbol "Q_min", source "abc2018 V-E1 for CSFQ";
    }
}

/// The edge of HCSFQ: the rate of each flow.
#[derive(Clone, Debug)]
pub struct HcsfqMarker(Averaging);

impl Marker for HcsfqMarker {
    const SCHEME: MarkerScheme = MarkerScheme::new("hcsfq");
    const BEST_LABEL: f64 = 0.0;
    type Params = HcsfqMarkerParams;
    type State = RateEstimates<1>;

    fn new(params: &HcsfqMarkerParams) -> Self {
        Self(Averaging::new(params.rate_constant))
    }

    fn key(&self) -> FlowKey {
        FlowKey::Flow
    }

    fn state(&self, spec: &MeterSpec) -> RateEstimates<1> {
        RateEstimates::new(spec.start)
    }

    #[inline]
    fn label<P: Packet>(&self, meter: &mut RateEstimates<1>, packet: &mut P, now: Time, _: &mut Rng) {
        meter.update(self.0, [f64::from(packet.wire_bytes()) * 8.0], now);
        packet.set_label(meter.rates()[0]); // eq. (1)
    }
}

/// Registry entry of HCSFQ.
#[derive(Clone, Copy, Debug)]
pub struct HcsfqScheme;

impl SchemeSpec for HcsfqScheme {
    const ABOUT: About = About {
        title: "Hierarchical core-stateless fair queueing",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "The edge labels packets with their flow's rate; a port estimates a fair rate for users, and a fair \
                  rate for the flows of each user, and drops the excess.",
        source: "Yu, Wu, Braverman, Stoica, Jin: Twenty Years After: Hierarchical Core-Stateless Fair Queueing, NSDI \
                 2021",
        state: "port: 11 numbers, and 10 for each active user; flow, at the edge: 3 numbers",
        flow_state: FlowState::Each,
        order: Order::Fifo,
    };
    const MARKER: MarkerScheme = HcsfqMarker::SCHEME;
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = HcsfqParams;
    type Discipline<P: Packet> = ManagedQueue<P, HcsfqAqm>;

    fn check(params: &HcsfqParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        QueueThreshold::check("q_min", params.q_min, buffer.limit, table)
    }

    fn marks(params: &HcsfqParams) -> bool {
        params.mark_above.is_some()
    }

    fn build<P: Packet>(params: &HcsfqParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, HcsfqAqm::new(params, port.weights))
    }
}

/// Number of time constants without a packet after which a tenant's record is deleted.
const FORGOTTEN_AFTER: u64 = 10;

/// The hierarchy of one port.
#[derive(Clone, Debug)]
pub struct HcsfqAqm(Box<State>);

#[derive(Clone, Debug)]
struct State {
    rules: Rules,
    averaging: Averaging,
    forgotten_after: Time,
    capacity: f64,
    rates: RateEstimates<2>,
    root: Share,
    tenants: ExpiringTable<Tenant>,
    length: QueueLength,
    weights: Weights,
    params: HcsfqParams,
    /// alpha_i of the last packet, if the label exceeded alpha_i. The packet leaves with this value as its label.
    relabel: Option<f64>,
    drop_probability: f64,
}

#[derive(Clone, Debug)]
struct Tenant {
    /// A_i and F_i, the arrival and accepted rates.
    rates: RateEstimates<2>,
    share: Share,
    seen: Time,
}

impl HcsfqAqm {
    /// Creates a port. The link rate must be set before use.
    #[must_use]
    pub fn new(params: &HcsfqParams, weights: &Weights) -> Self {
        Self(Box::new(State {
            rules: Rules { window: params.window, largest_cut: params.largest_cut, least_share: params.least_share },
            averaging: Averaging::new(params.aggregate_constant),
            forgotten_after: Time(params.aggregate_constant.0.saturating_mul(FORGOTTEN_AFTER)),
            capacity: 0.0,
            rates: RateEstimates::new(Time::ZERO),
            root: Share::new(0.0, Time::ZERO),
            tenants: ExpiringTable::default(),
            length: QueueLength::new(params.q_min.measure(), DelayEstimate::LinkRate),
            weights: weights.clone(),
            params: params.clone(),
            relabel: None,
            drop_probability: 0.0,
        }))
    }
}

impl State {
    /// Applies equation (2) to a label and counts the packet. Returns true if the packet must be dropped.
    fn judge(&mut self, user: u32, label: f64, wire_bytes: u32, spares: bool, now: Time, rng: &mut Rng) -> bool {
        let weight = self.weights.of(user);
        let capacity = self.capacity;
        let is_live = |tenant: &Tenant| now.saturating_sub(tenant.seen) < self.forgotten_after;
        let new = || Tenant { rates: RateEstimates::new(now), share: Share::new(capacity, now), seen: now };
        let tenant = self.tenants.get_or_insert_with(user, is_live, new);
        tenant.seen = now;
        let alpha = tenant.share.alpha;
        let exceeds = label > alpha;
        self.drop_probability = if exceeds { 1.0 - alpha / label } else { 0.0 }; // eq. (2)
        self.relabel = exceeds.then_some(alpha);
        let drops = exceeds && !spares && rng.open01() < self.drop_probability;
        let bits = f64::from(wire_bytes) * 8.0;
        let counted = [bits, if drops { 0.0 } else { bits }];
        let tenant_moved = tenant.rates.update(self.averaging, counted, now);
        let [tenant_arrivals, _] = tenant.rates.rates();
        if self.rates.update(self.averaging, counted, now) {
            self.root.observe(&self.rules, tenant_arrivals / weight, self.rates.rates(), self.capacity, now);
        }
        if tenant_moved {
            let virtual_capacity = f64::min(self.capacity, weight * self.root.alpha); // eq. (6)
            tenant.share.observe(&self.rules, label, tenant.rates.rates(), virtual_capacity, now);
        }
        drops
    }
}

impl Aqm for HcsfqAqm {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        let state = &mut *self.0;
        let bypasses = u64::from(packet.wire_bytes()) < state.params.bypass_below.0;
        let spares = bypasses || state.length.of(queue, now) < state.params.q_min.magnitude();
        if state.judge(packet.user(), packet.label(), packet.wire_bytes(), spares, now, rng) {
            return Verdict::Drop;
        }
        let marks = state.params.mark_above.is_some_and(|threshold| queue.backlog.bytes >= threshold.0);
        if marks && packet.ecn().is_capable() { Verdict::Mark } else { Verdict::Accept }
    }

    fn accepted<P: Packet>(&mut self, packet: &mut P, _: Time) {
        if let Some(alpha) = self.0.relabel {
            packet.set_label(alpha); // eq. (3)
        }
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        let state = &mut *self.0;
        let is_first = state.capacity == 0.0;
        state.capacity = rate.as_f64() * state.params.capacity_factor;
        if is_first {
            state.root.alpha = state.capacity;
        }
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.0.drop_probability)
    }

    fn state_size(&self) -> StateSize {
        let tenants = &self.0.tenants;
        StateSize { records: tenants.len(), bytes: size_of::<Self>() + size_of::<State>() + tenants.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        let [arrivals, accepted] = self.0.rates.rates();
        report("fair_rate_bps", self.0.root.alpha);
        report("arrival_rate_bps", arrivals);
        report("accepted_rate_bps", accepted);
        report("users", self.0.tenants.len() as f64);
    }
}

/// Parameters shared by the estimates of fair rates.
#[derive(Clone, Copy, Debug)]
struct Rules {
    window: Time,
    largest_cut: f64,
    least_share: f64,
}

/// The fair rate alpha of the flows or tenants that share one capacity.
#[derive(Clone, Debug)]
struct Share {
    alpha: f64,
    /// Largest rate of a flow or tenant in the current uncongested window.
    largest: f64,
    is_congested: bool,
    window_start: Time,
}

impl Share {
    /// Creates a share with an alpha equal to `capacity`. Its first window starts at `now`.
    fn new(capacity: f64, now: Time) -> Self {
        Self { alpha: capacity, largest: 0.0, is_congested: false, window_start: now }
    }

    /// Counts a packet of a flow or tenant with `rate`. A and F are the total arrival and accepted rates, C the
    /// capacity.
    fn observe(&mut self, rules: &Rules, rate: f64, [arrivals, accepted]: [f64; 2], capacity: f64, now: Time) {
        let is_congested = arrivals >= capacity;
        let is_over = now >= self.window_start.saturating_add(rules.window);
        let least = (1.0 - rules.largest_cut) * self.alpha;
        if is_congested != self.is_congested {
            self.is_congested = is_congested;
            self.window_start = now;
            self.largest = 0.0;
        } else if is_congested && is_over {
            self.window_start = now;
            self.congested(accepted, capacity);
        } else if is_over {
            self.window_start = now;
            self.uncongested(rules, accepted, capacity);
        }
        self.alpha = self.alpha.max(least); // eq. (7)
        if !is_congested {
            self.largest = self.largest.max(rate);
        }
    }

    /// Applies eq. (4).
    fn congested(&mut self, accepted: f64, capacity: f64) {
        if self.alpha == 0.0 {
            self.alpha = capacity;
        } else if accepted > 0.0 {
            self.alpha = (self.alpha * capacity / accepted).min(capacity);
        }
    }

    /// Applies eq. (5).
    fn uncongested(&mut self, rules: &Rules, accepted: f64, capacity: f64) {
        let alpha = self.largest.max(rules.least_share * capacity);
        self.alpha = if alpha > accepted { capacity } else { alpha.min(capacity) };
        self.largest = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, readings};

    const C: f64 = 10e6;
    const RULES: Rules = Rules { window: Time::from_millis(100), largest_cut: 0.25, least_share: 1.0 / 32.0 };

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn equation_4_scales_alpha_at_the_end_of_a_congested_window() {
        let mut share = Share::new(C, Time::ZERO);
        share.observe(&RULES, 8e6, [12e6, 12e6], C, ms(0));
        share.observe(&RULES, 8e6, [12e6, 12e6], C, ms(99));
        assert_eq!(share.alpha, C);
        share.observe(&RULES, 8e6, [12e6, 12.5e6], C, ms(100));
        assert_eq!(share.alpha, 8e6); // 10 * 10/12.5
        share.observe(&RULES, 8e6, [12e6, 20e6], C, ms(200));
        assert_eq!(share.alpha, 6e6); // 8 * 10/20 would be half
        share.observe(&RULES, 8e6, [12e6, 5e6], C, ms(300));
        assert_eq!(share.alpha, C); // 6 * 10/5 = 12, bounded by the capacity
        share.observe(&RULES, 8e6, [12e6, 0.0], C, ms(400));
        assert_eq!(share.alpha, C);
    }

    #[test]
    fn equation_5_takes_the_largest_rate_of_an_uncongested_window() {
        let mut share = Share::new(C, Time::ZERO);
        for (at, rate) in [(0, 9e6), (50, 2e6), (90, 4e6)] {
            share.observe(&RULES, rate, [9e6, 9e6], C, ms(at));
        }
        share.observe(&RULES, 1e6, [9e6, 9e6], C, ms(100));
        assert_eq!(share.alpha, 9e6);
        share.observe(&RULES, 8e6, [9e6, 9e6], C, ms(150));
        share.observe(&RULES, 1e3, [9e6, 9e6], C, ms(200));
        assert_eq!(share.alpha, 8e6);
        // 8 Mbit/s * 0.75^12 is 253 kbit/s, so from the twelfth window on alpha is the lower bound C/32 = 312.5 kbit/s.
        (3..15).for_each(|window| share.observe(&RULES, 1e3, [9e6, 9e6], C, ms(100 * window)));
        assert_eq!(share.alpha, C / 32.0);
    }

    #[test]
    fn equation_7_takes_a_quarter_from_alpha_at_most_whether_congested_or_not() {
        let mut share = Share::new(C, Time::ZERO);
        share.observe(&RULES, 2e6, [9e6, 9e6], C, ms(50));
        share.observe(&RULES, 2e6, [9e6, 9e6], C, ms(100));
        assert_eq!(share.alpha, 7.5e6); // the largest rate was 2 Mbit/s
        share.observe(&RULES, 2e6, [12e6, 9e6], C, ms(150)); // congested from here on
        share.observe(&RULES, 2e6, [12e6, 30e6], C, ms(250));
        assert_eq!(share.alpha, 0.75 * 7.5e6); // 7.5 * 10/30 would be a third
        // A capacity may fall, for example that of a tenant. Alpha, 5.625 Mbit/s, is then above the capacity for a
        // while.
        share.observe(&RULES, 2e6, [12e6, 1e6], 1e6, ms(350));
        assert_eq!(share.alpha, 0.75 * 0.75 * 7.5e6);
    }

    #[test]
    fn an_alpha_above_what_is_accepted_binds_nobody() {
        let mut share = Share::new(C, Time::ZERO);
        share.observe(&RULES, 9e6, [9e6, 8e6], C, ms(50));
        share.observe(&RULES, 9e6, [9e6, 8e6], C, ms(150));
        assert_eq!(share.alpha, C);
    }

    #[test]
    fn an_alpha_of_nothing_starts_again_from_the_capacity() {
        let mut share = Share { alpha: 0.0, is_congested: true, ..Share::new(C, Time::ZERO) };
        share.observe(&RULES, 1e6, [12e6, 0.0], C, ms(100));
        assert_eq!(share.alpha, C);
    }

    struct Bench {
        port: ManagedQueue<TestPacket, HcsfqAqm>,
        markers: crate::label::meter_bank::MeterBank<HcsfqMarker>,
        rng: Rng,
        drops: Drops,
    }

    impl Bench {
        fn new(params: &HcsfqParams, weights: &[f64]) -> Self {
            let aqm = HcsfqAqm::new(params, &Weights::new(weights));
            let spec = MeterSpec { reference_rate: BitRate(1), weight: 1.0, start: Time::ZERO };
            Self {
                port: ManagedQueue::new(&BufferParams::default(), BitRate(10_000_000), aqm),
                markers: crate::label::meter_bank::MeterBank::new(
                    &HcsfqMarkerParams::default(),
                    &vec![spec; weights.len()],
                ),
                rng: Rng::stream(1, 0, "test", 0),
                drops: Drops::default(),
            }
        }

        fn offer(&mut self, flow: u32, user: u32, now: Time) {
            let mut packet = TestPacket { flow, user, wire_bytes: 500, ..Default::default() };
            self.markers.label(user as usize, &mut packet, now, &mut self.rng);
            self.port.enqueue(packet, now, &mut self.rng, &mut self.drops);
        }

        /// Each of `flows`, given as (user, rate in Mbit/s), sends at a constant rate for 20 s. The port serves 10
        /// Mbit/s. Returns the flows' rates in Mbit/s over the last 10 s.
        fn run(&mut self, flows: &[(u32, f64)]) -> Vec<f64> {
            let mut served = vec![0.0; flows.len()];
            let mut credit = vec![0.0; flows.len()];
            for tick in 0..50_000u64 {
                let now = Time::from_micros(400 * tick); // 4000 bit at 10 Mbit/s
                for (flow, &(user, rate)) in (0..).zip(flows) {
                    credit[flow as usize] += rate / 10.0;
                    while credit[flow as usize] >= 1.0 {
                        credit[flow as usize] -= 1.0;
                        self.offer(flow, user, now + Time::from_micros(u64::from(flow)));
                    }
                }
                let packet = self.port.dequeue(now + Time::from_micros(399), &mut self.rng, &mut self.drops);
                if let Some(packet) = packet.filter(|_| tick >= 25_000) {
                    served[packet.flow as usize] += 4000.0 / 10e6;
                }
            }
            served
        }
    }

    fn assert_close(rates: &[f64], shares: &[f64]) {
        // Windows of 100 ms and random drops cause errors of a few per cent.
        let close = |(rate, share): (&f64, &f64)| (rate - share).abs() < 0.1 * share;
        assert!(rates.iter().zip(shares).all(close), "{rates:?}, expected {shares:?}");
    }

    #[test]
    fn users_share_the_link_and_flows_the_share_of_their_user() {
        // Two users get 5 Mbit/s each. The first user's three flows of 4 Mbit/s get 5/3 Mbit/s each. The other user's
        // flow gets 5 Mbit/s.
        let rates = Bench::new(&HcsfqParams::default(), &[1.0, 1.0]).run(&[(0, 4.0), (0, 4.0), (0, 4.0), (1, 8.0)]);
        assert_close(&rates, &[5.0 / 3.0, 5.0 / 3.0, 5.0 / 3.0, 5.0]);
    }

    #[test]
    fn what_a_small_flow_leaves_is_for_the_other_flows_of_its_user() {
        let rates = Bench::new(&HcsfqParams::default(), &[1.0, 1.0]).run(&[(0, 1.0), (0, 8.0), (1, 8.0)]);
        assert_close(&rates, &[1.0, 4.0, 5.0]);
    }

    #[test]
    fn users_share_by_weight() {
        let rates = Bench::new(&HcsfqParams::default(), &[1.0, 3.0]).run(&[(0, 9.0), (1, 9.0)]);
        assert_close(&rates, &[2.5, 7.5]);
    }

    #[test]
    fn a_late_user_is_not_shut_out_of_an_idle_link() {
        // From 5 s on, a flow sends ten packets at once, as TCP does. Then it sends 500 B every 800 us for 0.5 s (5
        // Mbit/s, 625 packets). The flow is alone, or another flow sends 100 kbit/s from the start. Alpha starts at 10
        // Mbit/s and is at least 5.6 Mbit/s after two windows. By then the label is at least 1 - e^-2 = 86 % of the
        // flow's rate, and it grows to 99 %. So with alpha from eq. (5), less than 5 % of the last 400 packets are
        // dropped.
        for light_rate in [0.0, 0.1] {
            let mut bench = Bench::new(&HcsfqParams::default(), &[1.0, 1.0]);
            for tick in 0..13_750u64 {
                let now = Time::from_micros(400 * tick); // 500 B at 10 Mbit/s
                if light_rate > 0.0 && tick % 100 == 0 {
                    bench.offer(0, 0, now);
                }
                let packets = if tick == 12_500 { 10 } else { u32::from(tick > 12_500 && tick % 2 == 0) };
                (0..packets).for_each(|_| bench.offer(1, 1, now + Time::from_micros(1)));
                bench.port.dequeue(now + Time::from_micros(399), &mut bench.rng, &mut bench.drops);
            }
            assert!(bench.drops.0.len() < 20, "{} of 625 dropped", bench.drops.0.len());
        }
    }

    #[test]
    fn short_queues_short_packets_and_missing_labels_are_spared() {
        let dropped = |params: &HcsfqParams, wire_bytes, label| {
            let mut bench = Bench::new(params, &[1.0]);
            let packet = TestPacket { wire_bytes, label, ..Default::default() };
            bench.port.enqueue(packet, Time::ZERO, &mut bench.rng, &mut bench.drops);
            bench.drops.0.len()
        };
        // alpha = C = 10 Mbit/s, so a label of 1e300 is always dropped.
        assert_eq!(dropped(&HcsfqParams::default(), 1500, 1e300), 1);
        assert_eq!(dropped(&HcsfqParams::default(), 124, 1e300), 0);
        assert_eq!(dropped(&HcsfqParams::default(), 125, 1e300), 1);
        assert_eq!(dropped(&HcsfqParams::default(), 1500, 0.0), 0);
        assert_eq!(dropped(&HcsfqParams { q_min: Threshold::Packets(1.0), ..Default::default() }, 1500, 1e300), 0);
    }

    #[test]
    fn what_passes_above_alpha_is_relabelled_with_it() {
        let mut bench = Bench::new(&HcsfqParams { q_min: Threshold::Packets(9.0), ..Default::default() }, &[1.0]);
        for label in [12e6, 3e6] {
            let packet = TestPacket { label, ..Default::default() };
            bench.port.enqueue(packet, Time::ZERO, &mut bench.rng, &mut bench.drops);
        }
        let labels: Vec<_> = std::iter::from_fn(|| bench.port.dequeue(Time::ZERO, &mut bench.rng, &mut bench.drops))
            .map(|packet| packet.label)
            .collect();
        assert_eq!(labels, [10e6, 3e6]);
    }

    #[test]
    fn packets_are_marked_from_a_queue_on_if_they_understand_it() {
        let mut bench = Bench::new(&HcsfqParams { mark_above: Some(Bytes(3000)), ..Default::default() }, &[1.0]);
        for (flow, ecn) in (0..).zip([Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::NotEct]) {
            let packet = TestPacket { flow, ecn, ..Default::default() };
            bench.port.enqueue(packet, Time::ZERO, &mut bench.rng, &mut bench.drops);
        }
        assert_eq!((bench.drops.1.as_slice(), bench.drops.0.len()), (&[2][..], 0));
    }

    #[test]
    fn a_full_queue_drops_and_silent_users_are_forgotten() {
        let mut bench = Bench::new(&HcsfqParams::default(), &[1.0; 100]);
        (0..100).for_each(|user| bench.offer(user, user, Time::ZERO));
        assert_eq!(bench.drops.0.iter().map(|drop| drop.1).collect::<Vec<_>>(), [DropReason::Overlimit; 76]);
        assert_eq!(bench.port.state_size().records, 100);
        (0..100).for_each(|_| bench.offer(0, 0, Time::from_secs(2)));
        assert_eq!(bench.port.state_size().records, 1);
        bench.port.set_link_rate(BitRate(5_000_000));
        let readings = readings(|report| bench.port.report(report));
        assert_eq!((readings[0], readings[3]), (("fair_rate_bps", 10e6), ("users", 1.0)));
        assert_eq!(bench.port.drop_probability(), Some(0.0)); // no flow has a rate after one instant
    }
}
