//! Impairments of a path in addition to its constant delay: loss, duplication, corruption, slots, reordering and jitter
//! as in netem, detours, and a policer. Each has an effect only within its span of simulated time.
//!
//! Source: net/sched/sch_netem.c of Linux 6.12, netem_enqueue, netem_dequeue, get_slot_next, get_crandom, loss_gilb_ell
//! and tabledist, and netem/ of iproute2; net/sched/act_police.c, tcf_police_act; Gilbert, Capacity of a burst-noise
//! channel, Bell System Technical Journal 39, 1960; Elliott, Estimates of error rates for codes on burst-noise
//! channels, Bell System Technical Journal 42, 1963.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | Random loss: each packet with the same probability, independently. | [`loses`] |
//! | (2) | Gilbert-Elliott loss: a Markov chain of a good and a bad state. A packet is lost with the probability of the current state; then the chain takes a step. | [`loses`] |
//! | (3) | Periodic loss: every n-th packet. | [`loses`] |
//! | (4) | Jitter: the delay of the link plus a random time of mean zero; negative sums count as zero. | [`draw_delay`] |
//! | (5) | Without reordering, a packet arrives no earlier than the one before it on the same path. | [`Impairment::delayed`] |
//! | (6) | Detour: while the detour lasts, each entering packet takes longer by the detour's delay. Without jitter, packets that enter after the end of the detour overtake packets that took it. | [`Impairment::delayed`] |
//! | (7) | Duplication: a packet is followed by a copy, which is not copied again. | [`Impairment::enter`] |
//! | (8) | Corruption: a damaged packet crosses all further links. The checksum of its receiver then discards it. | [`Impairment::enter`] |
//! | (9) | Reordering: a packet skips the delay of the link, if at least `gap - 1` packets since the last such packet did not. | [`Impairment::delayed`] |
//! | (10) | Correlation `r`: the number that decides is `x = (1 - r) u + r x'`, with `u` uniform and `x'` the last `x`. | [`happens`] |
//! | (11) | Slots: a packet that arrives after the last slot opened waits until a new slot opens, a uniform time later. After its last packet or byte, a slot is followed by the next one. | [`Slot::take`] |
//! | (12) | Policer: a bucket fills at `rate` up to `burst`. A packet passes if the bucket holds its bytes, which it takes, and is lost otherwise. With `peak_rate`, it must find its bytes in a second bucket too. | [`Policed::takes`] |
//!
//! A packet meets the parts in this order: policer, losses, duplication, corruption, slot, reordering, detour and jitter.
//! A part outside its span draws no random numbers and keeps its state. So does a loss for a packet that is already lost.
//!
//! An impairment is a separate hop after a link or an access link, so links without an impairment have no extra cost.
//!
//! Cost: loss takes a random draw or a counter per packet. Jitter, reordering, a detour or a slot takes an event and a
//! heap entry for each packet in flight. Corruption doubles the table of hops.
//!
//! Deviations:
//! 1. netem drops a packet before it waits for the link. Here the packet is lost on the wire, so it uses link capacity.
//!    Likewise, a copy uses the capacity of further links only.
//! 2. netem draws from tables of 4096 values of 16 bits. Here the distributions themselves are used, truncated at four
//!    deviations, where the tables of netem end.
//! 3. netem duplicates before it loses: a packet drawn for both passes once. Here a lost packet has no copy.
//! 4. netem's default for `r` is 1 - p; here `r` is required.
//! 5. A copy in netem may be lost or corrupted, and precedes its packet. Here it is neither, and follows its packet. In
//!    both, the copy has its own delay.
//! 6. netem flips one bit, which may be in a header. Here every receiver detects the damage, and no hop before it.
//! 7. netem's slots open for packets that have waited their delay. Here packets wait for the slot first. Both are the
//!    same without reordering if the delay is constant. netem draws the first `x'`; here the first `x` is `u`.
//! 8. netem drops packets that exceed its `limit`. Here any number of packets waits.
//! 9. In netem, all parts last as long as the qdisc. At the end of the span of slots, packets keep their slots, and
//!    later ones do not overtake them. The same holds for jitter without reordering.
//! 10. The policer of Linux drops before the packet waits for a queue, and counts the link's header. Here it is behind
//!     the link, and counts the same bytes as the link.
//!
//! Not implemented: correlation of loss and jitter, distributions of slots, the four-state chain, colours of policers
//! (RFC 2697, RFC 2698).

use crate::measure::path_probe::Loss;
use crate::network::ack_packets::AckPackets;
use crate::network::sim_packet::SimPacket;
use crate::scenario::{
    ChanceParams, Impairments, JitterDistribution, JitterParams, LossConfig, PolicerParams, SlotParams,
};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Bytes, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Range of netem's distribution tables, in deviations: the largest signed 16-bit number divided by the scale of 8192.
const MOST_DEVIATIONS: f64 = 4.0;

/// Location of an impairment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// After a link, given by index: one path for all packets.
    Link(u32),
    /// After the access links of a group: a separate path for each user.
    Access {
        /// Index of the group.
        group: u16,
        /// Number of the group's first user.
        first_user: u32,
    },
}

/// Outcome for a packet that enters an impairment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet continues immediately.
    Passes,
    /// The packet is lost.
    Lost,
    /// The packet continues later.
    Waits,
}

/// Packet accounting of an impairment: at any time, `entered + copied = passed + lost + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairmentAccount {
    /// Packets that entered.
    pub entered: u64,
    /// Copies of packets.
    pub copied: u64,
    /// Packets that continued.
    pub passed: u64,
    /// Packets lost.
    pub lost: u64,
    /// Packets that were damaged. They are also passed or held.
    pub corrupted: u64,
    /// Packets that skipped the delay. They are also passed or held.
    pub reordered: u64,
}

/// State of one path, which determines the outcome for the next packet.
#[derive(Clone, Copy, Debug, Default)]
struct PathState {
    /// Arrival time of the last packet.
    last: Time,
    /// Packets since the last one that skipped the delay.
    in_order: u32,
    /// Last random numbers that decided on duplication, corruption and reordering.
    drawn: [Option<f64>; 3],
    slot: Option<Slot>,
    policed: Option<Policed>,
}

/// State of a loss on one path.
#[derive(Clone, Copy, Debug, Default)]
struct LossState {
    /// True if the Gilbert-Elliott chain is in its bad state.
    is_bad: bool,
    /// Packets since the last periodic loss.
    count: u32,
}

/// The buckets of a path's policer after the last packet that passed.
#[derive(Clone, Copy, Debug)]
struct Policed {
    passed: Time,
    /// Time in which the bucket's rate transmits its content.
    tokens: Time,
    /// The same for the second bucket.
    peak_tokens: Time,
}

/// The last slot of a path.
#[derive(Clone, Copy, Debug)]
struct Slot {
    opens: Time,
    packets_left: u32,
    bytes_left: u64,
    /// Time at which the last packet leaves.
    last: Time,
}

/// Impairment of a link, or of the access links of a group.
#[derive(Debug)]
pub struct Impairment {
    place: Place,
    config: Impairments,
    delays: Vec<Time>,
    rng: Rng,
    paths: Vec<PathState>,
    /// States of all losses of the first path, then of the next one.
    loss_states: Vec<LossState>,
    held: BinaryHeap<Reverse<Held>>,
    account: ImpairmentAccount,
    /// Accounting at the start of the measurement.
    before: ImpairmentAccount,
    /// Number of hops of undamaged packets, which is the distance to the same hop for damaged ones.
    to_damaged: u16,
    /// Packets lost behind access links that the users' probes have not counted yet. For packets lost behind a link,
    /// the link keeps this list.
    pub losses: Vec<Loss>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    until: Time,
    /// Sequence number. Packets that continue at the same time keep this order.
    number: u64,
    packet: SimPacket,
}

impl Held {
    fn order(&self) -> (Time, u64) {
        (self.until, self.number)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl Impairment {
    /// Creates an impairment of `paths` paths: one, or one for each user. `delays` has the constant delays that jitter
    /// and reordering replace: the link's, or one for each path.
    #[must_use]
    pub fn new(place: Place, config: &Impairments, delays: Vec<Time>, paths: usize, rng: Rng) -> Self {
        Self {
            place,
            config: config.clone(),
            delays,
            rng,
            paths: vec![PathState::default(); paths],
            loss_states: vec![LossState::default(); paths * config.loss.len()],
            held: BinaryHeap::new(),
            account: ImpairmentAccount::default(),
            before: ImpairmentAccount::default(),
            to_damaged: 0,
            losses: Vec::new(),
        }
    }

    /// Location of the impairment.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Returns true if packets may be corrupted.
    #[must_use]
    pub fn corrupts(&self) -> bool {
        self.config.corrupt.is_some()
    }

    /// Sets the distance in the table of hops from a hop to the same hop for damaged packets.
    pub fn set_damaged(&mut self, distance: u16) {
        self.to_damaged = distance;
    }

    /// Packet accounting so far. Packets that are neither passed nor lost are in flight.
    #[must_use]
    pub fn account(&self) -> ImpairmentAccount {
        self.account
    }

    /// Packet accounting of the measurement.
    #[must_use]
    pub fn measured(&self) -> ImpairmentAccount {
        ImpairmentAccount {
            entered: self.account.entered - self.before.entered,
            copied: self.account.copied - self.before.copied,
            passed: self.account.passed - self.before.passed,
            lost: self.account.lost - self.before.lost,
            corrupted: self.account.corrupted - self.before.corrupted,
            reordered: self.account.reordered - self.before.reordered,
        }
    }

    /// Packets in flight.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Starts the measurement.
    pub fn restart(&mut self) {
        self.before = self.account;
    }

    /// Handles a packet that enters at `now`. `acks` has the acknowledgements in packets.
    pub fn enter(&mut self, packet: &mut SimPacket, now: Time, acks: &mut AckPackets) -> Outcome {
        let index = match self.place {
            Place::Link(_) => 0,
            Place::Access { first_user, .. } => (packet.user - first_user) as usize,
        };
        let Self { config, paths, loss_states, rng, account, .. } = self;
        let path = &mut paths[index];
        account.entered += 1;
        let states = &mut loss_states[index * config.loss.len()..];
        let is_lost = |(loss, state): (&LossConfig, &mut LossState)| loss.span().has(now) && loses(loss, state, rng);
        let is_policed =
            |policer: &PolicerParams| !Policed::takes(&mut path.policed, policer, packet.wire_bytes.into(), now);
        if config.policer.as_ref().is_some_and(is_policed) || config.loss.iter().zip(states).any(is_lost) {
            account.lost += 1;
            if matches!(self.place, Place::Access { .. }) {
                self.losses.push(Loss::of(packet, now));
            }
            return Outcome::Lost;
        }
        let [duplicate, corrupt, _] = &mut path.drawn;
        let copied = config.duplicate.as_ref().is_some_and(|chance| happens(chance, duplicate, now, rng));
        let copy = copied.then(|| acks.copy(packet));
        // A packet that is already damaged takes the hops of damaged packets.
        if config.corrupt.as_ref().is_some_and(|chance| happens(chance, corrupt, now, rng))
            && packet.hop < self.to_damaged
        {
            account.corrupted += 1;
            packet.hop += self.to_damaged;
        }
        let until = self.delayed(index, packet, now);
        match until {
            Some(until) => self.hold(*packet, until),
            None => self.account.passed += 1,
        }
        if let Some(copy) = copy {
            self.account.copied += 1;
            let until = self.delayed(index, &copy, now).unwrap_or(now);
            self.hold(copy, until);
        }
        if until.is_some() { Outcome::Waits } else { Outcome::Passes }
    }

    /// Returns the time at which a packet continues, or `None` if it continues immediately (rules 4 to 6, 9 and 11).
    fn delayed(&mut self, index: usize, packet: &SimPacket, now: Time) -> Option<Time> {
        let Self { config, delays, paths, rng, account, .. } = self;
        let path = &mut paths[index];
        let mut until = config.slot.as_ref().map_or(now, |slot| Slot::take(&mut path.slot, slot, packet, now, rng));
        if let Some(reorder) = config.reorder.as_ref().filter(|reorder| reorder.chance.span.has(now)) {
            if path.in_order + 1 >= reorder.gap && happens(&reorder.chance, &mut path.drawn[2], now, rng) {
                path.in_order = 0;
                account.reordered += 1;
                return (until > now).then_some(until);
            }
            path.in_order = path.in_order.saturating_add(1);
        }
        if let Some(detour) = config.detour.as_ref().filter(|detour| detour.span.has(now)) {
            until += detour.delay;
        }
        if config.takes_delay() {
            let delay = *delays.get(index).unwrap_or(&delays[0]);
            let varies = config.jitter.as_ref().filter(|jitter| jitter.span.has(now));
            until += varies.map_or(delay, |jitter| draw_delay(jitter, delay, rng));
            if config.jitter.as_ref().is_some_and(|jitter| !jitter.reorder) {
                until = until.max(path.last);
                path.last = until;
            }
        }
        // A packet that arrives as a slot opens leaves after those that wait for it.
        let is_behind = config.slot.is_some() && self.next() <= now;
        (until > now || self.config.takes_delay() || is_behind).then_some(until)
    }

    fn hold(&mut self, packet: SimPacket, until: Time) {
        let number = self.account.entered + self.account.copied;
        self.held.push(Reverse(Held { until, number, packet }));
    }

    /// Time at which the next packet continues; [`Time::NEVER`] if none is in flight.
    #[must_use]
    pub fn next(&self) -> Time {
        self.held.peek().map_or(Time::NEVER, |Reverse(held)| held.until)
    }

    /// Takes the packet that continues now, which must exist.
    pub fn take(&mut self) -> SimPacket {
        self.account.passed += 1;
        self.held.pop().expect("a packet was announced").0.packet
    }
}

impl Policed {
    /// Returns true if the buckets hold the tokens of a packet, and takes them (rule 12).
    fn takes(last: &mut Option<Self>, params: &PolicerParams, bytes: u32, now: Time) -> bool {
        if !params.span.has(now) {
            return true;
        }
        let filled = |tokens: Option<Time>, rate: BitRate, burst: Bytes| {
            let full = rate.time_of(burst.0);
            let held = tokens.map_or(full, |tokens| tokens.saturating_add(now - last.map_or(now, |last| last.passed)));
            held.min(full).0.checked_sub(rate.time_of(bytes.into()).0).map(Time)
        };
        let tokens = filled(last.map(|last| last.tokens), params.rate, params.burst);
        let peak = params.peak().map(|(rate, burst)| filled(last.map(|last| last.peak_tokens), rate, burst));
        let (Some(tokens), Some(peak_tokens)) = (tokens, peak.unwrap_or(Some(Time::ZERO))) else { return false };
        *last = Some(Self { passed: now, tokens, peak_tokens });
        true
    }
}

impl Slot {
    /// Returns the time at which a packet that arrives at `now` leaves (rule 11).
    fn take(last: &mut Option<Self>, params: &SlotParams, packet: &SimPacket, now: Time, rng: &mut Rng) -> Time {
        if !params.span.has(now) {
            return last.map_or(now, |slot| now.max(slot.last));
        }
        let slot = match last.take() {
            Some(slot) if slot.opens >= now => last.insert(slot),
            _ => last.insert(Self::after(now, params, rng)),
        };
        let leaves = slot.opens;
        slot.packets_left -= 1;
        slot.bytes_left = slot.bytes_left.saturating_sub(packet.wire_bytes.into());
        if slot.packets_left == 0 || slot.bytes_left == 0 {
            *slot = Self::after(leaves, params, rng);
        }
        slot.last = leaves;
        leaves
    }

    /// Returns the next slot after `time`.
    fn after(time: Time, params: &SlotParams, rng: &mut Rng) -> Self {
        let spread = params.max.map_or(0, |max| max.0 - params.min.0);
        let drawn = if spread == 0 { 0 } else { (rng.open01() * spread as f64) as u64 };
        Self {
            opens: time + params.min + Time(drawn),
            packets_left: params.packets.unwrap_or(u32::MAX),
            bytes_left: params.bytes.map_or(u64::MAX, |bytes| bytes.0),
            last: time,
        }
    }
}

/// Returns true if a packet that enters at `now` is drawn (rule 10). `last` is the last random number that decided.
fn happens(params: &ChanceParams, last: &mut Option<f64>, now: Time, rng: &mut Rng) -> bool {
    if !params.span.has(now) {
        return false;
    }
    let (drawn, weight) = (rng.open01(), params.correlation.0);
    let number = last.map_or(drawn, |last| (1.0 - weight) * drawn + weight * last);
    *last = Some(number);
    number < params.probability.0
}

/// Returns true if the next packet of a path is lost (rules 1 to 3).
fn loses(loss: &LossConfig, state: &mut LossState, rng: &mut Rng) -> bool {
    match loss {
        LossConfig::Random(params) => rng.open01() < params.probability.0,
        LossConfig::GilbertElliott(params) => {
            // As in `loss_gilb_ell` of sch_netem.c, the current state applies to this packet. The state after the
            // transition applies to the next packet.
            let (leaves, loss) =
                if state.is_bad { (params.r.0, params.bad_loss.0) } else { (params.p.0, params.good_loss.0) };
            state.is_bad ^= rng.open01() < leaves;
            rng.open01() < loss
        }
        LossConfig::Periodic(params) => {
            state.count = (state.count + 1) % params.period;
            state.count == 0
        }
    }
}

/// Draws the delay of a packet on a path with mean `delay` (rule 4).
fn draw_delay(jitter: &JitterParams, delay: Time, rng: &mut Rng) -> Time {
    let deviations = match jitter.distribution {
        JitterDistribution::Uniform => 2.0 * rng.open01() - 1.0,
        JitterDistribution::Normal => rng.normal().clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS),
        // iproute2 netem/pareto.c: a Pareto distribution of shape 3 and scale 1 (mean 1.5), multiplied by 4/3.
        JitterDistribution::Pareto => ((libm::pow(rng.open01(), -1.0 / 3.0) - 1.5) * (4.0 / 3.0)).min(MOST_DEVIATIONS),
    };
    let drawn = delay.0 as f64 + deviations * jitter.deviation.0 as f64;
    Time(drawn.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{
        DetourParams, GilbertElliottParams, PeriodicLossParams, RandomLossParams, ReorderParams, Span,
    };
    use fairlane_schemes::base::units::Probability;

    const PACKETS: u32 = 200_000;
    const DELAY: Time = Time::from_millis(20);

    fn impairment(config: &Impairments) -> Impairment {
        let mut impairment = Impairment::new(Place::Link(0), config, vec![DELAY], 1, Rng::stream(1, 0, "test", 0));
        impairment.set_damaged(1);
        impairment
    }

    fn enter(impairment: &mut Impairment, mut packet: SimPacket, now: Time) -> Outcome {
        impairment.enter(&mut packet, now, &mut AckPackets::new(u16::MAX))
    }

    fn losses(loss: LossConfig) -> Vec<bool> {
        let mut impairment = impairment(&Impairments { loss: vec![loss], ..Impairments::default() });
        (0..PACKETS).map(|_| enter(&mut impairment, SimPacket::BLANK, Time::ZERO) == Outcome::Lost).collect()
    }

    fn random(probability: f64) -> RandomLossParams {
        RandomLossParams { probability: Probability(probability), span: Span::default() }
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    /// A span in milliseconds.
    fn span(from: u64, until: u64) -> Span {
        Span { from: Some(Time::from_millis(from)), until: Some(Time::from_millis(until)) }
    }

    fn chance(probability: f64, correlation: f64) -> ChanceParams {
        let [probability, correlation] = [probability, correlation].map(Probability);
        ChanceParams { probability, correlation, span: Span::default() }
    }

    /// Sends numbered packets at `times`. Returns number and arrival time of each packet that arrives, in order.
    fn arrivals(config: &Impairments, times: impl Iterator<Item = Time>) -> (Vec<(u32, Time)>, ImpairmentAccount) {
        let mut impairment = impairment(config);
        let mut arrived = Vec::new();
        let drain = |impairment: &mut Impairment, arrived: &mut Vec<_>, until: Time| {
            while impairment.next() < until {
                let time = impairment.next();
                arrived.push((impairment.take().seq, time));
            }
        };
        for (seq, now) in (0..).zip(times) {
            drain(&mut impairment, &mut arrived, now);
            if enter(&mut impairment, SimPacket { seq, wire_bytes: 1500, ..SimPacket::BLANK }, now) == Outcome::Passes {
                arrived.push((seq, now));
            }
        }
        drain(&mut impairment, &mut arrived, Time::NEVER);
        let account = impairment.account();
        assert_eq!(account.entered + account.copied, account.passed + account.lost);
        assert_eq!(account.passed, arrived.len() as u64);
        (arrived, account)
    }

    fn every_ms(count: u64) -> impl Iterator<Item = Time> {
        (0..count).map(Time::from_millis)
    }

    #[test]
    fn every_part_acts_exactly_within_its_span() {
        let ms = Time::from_millis;
        let all = || ChanceParams { span: span(10, 20), ..chance(1.0, 0.0) };
        let none = Impairments::default;
        let loss = vec![LossConfig::Random(RandomLossParams { span: span(10, 20), ..random(1.0) })];
        let numbers = |arrived: &[(u32, Time)]| arrived.iter().map(|&(seq, _)| seq).collect::<Vec<_>>();
        let (arrived, _) = arrivals(&Impairments { loss, ..none() }, every_ms(30));
        assert_eq!(numbers(&arrived), (0..10).chain(20..30).collect::<Vec<_>>());
        let (arrived, account) = arrivals(&Impairments { duplicate: Some(all()), ..none() }, every_ms(30));
        let copied: Vec<u32> = (0..30).flat_map(|seq| vec![seq; if (10..20).contains(&seq) { 2 } else { 1 }]).collect();
        assert_eq!((numbers(&arrived), account.copied), (copied, 10));
        let (_, account) = arrivals(&Impairments { corrupt: Some(all()), ..none() }, every_ms(30));
        assert_eq!(account.corrupted, 10);
        let reorder = Some(ReorderParams { gap: 1, chance: all() });
        let (arrived, account) = arrivals(&Impairments { reorder, ..none() }, every_ms(30));
        // Packets within the span skip the 20 ms of the link.
        let mut expected: Vec<_> =
            (0..30).map(|seq| (seq as u32, ms(if (10..20).contains(&seq) { seq } else { seq + 20 }))).collect();
        expected.sort_by_key(|&(seq, time)| (time, seq));
        assert_eq!((arrived, account.reordered), (expected, 10));
        let slot = Some(SlotParams { min: ms(4), span: span(10, 20), ..SlotParams::default() });
        let (arrived, _) = arrivals(&Impairments { slot, ..none() }, every_ms(30));
        // The packets of 10 ms to 14 ms leave at 14 ms, those of 15 ms to 19 ms at 19 ms.
        let slots = (0..30).map(|at| ms(if (10..20).contains(&at) { at / 5 * 5 + 4 } else { at }));
        assert_eq!(arrived, (0..).zip(slots).collect::<Vec<_>>());
        let deviation = ms(1);
        let jitter = Some(JitterParams { deviation, span: span(10, 20), ..JitterParams::default() });
        let (arrived, _) = arrivals(&Impairments { jitter, ..none() }, every_ms(30));
        let varied: Vec<u32> =
            arrived.iter().filter(|&&(seq, time)| time != ms(u64::from(seq) + 20)).map(|&(seq, _)| seq).collect();
        assert!(varied.iter().all(|seq| (10..=20).contains(seq)) && varied.len() >= 10, "{varied:?}");
    }

    #[test]
    fn a_part_outside_its_span_draws_nothing() {
        // The losses of a second part of the path are the same with and without a part that does not act.
        let lossy = |duplicate| {
            let loss = vec![LossConfig::Random(random(0.3))];
            arrivals(&Impairments { loss, duplicate, ..Impairments::default() }, every_ms(1000)).0
        };
        let late = ChanceParams { span: span(5000, 6000), ..chance(0.5, 0.0) };
        assert_eq!(lossy(Some(late)), lossy(None));
        assert_ne!(lossy(Some(chance(0.5, 0.0))), lossy(None));
    }

    #[test]
    fn shares_of_copies_and_of_reordered_packets_are_their_probabilities() {
        // The numbers are binomial. The tolerance is five standard errors.
        let n = f64::from(PACKETS);
        let close = |count: u64, p: f64| (count as f64 / n - p).abs() < 5.0 * (p * (1.0 - p) / n).sqrt();
        let none = Impairments::default;
        let (_, account) =
            arrivals(&Impairments { duplicate: Some(chance(0.03, 0.0)), ..none() }, every_ms(u64::from(PACKETS)));
        assert!(close(account.copied, 0.03), "{account:?}");
        let reorder = |gap, chance| {
            let reorder = Some(ReorderParams { gap, chance });
            arrivals(&Impairments { reorder, ..none() }, every_ms(u64::from(PACKETS)))
        };
        let (arrived, account) = reorder(1, chance(0.03, 0.0));
        assert!(close(account.reordered, 0.03), "{account:?}");
        // A packet that skips 20 ms overtakes those of the 20 packets before it that did not, unless it is among the
        // first 20. The packet sent 20 ms before arrives simultaneously, as the second.
        let mut overtaken = 0;
        let (mut place, mut early) = (vec![0; PACKETS as usize], vec![false; PACKETS as usize]);
        for (index, &(seq, time)) in arrived.iter().enumerate() {
            place[seq as usize] = index;
            early[seq as usize] = time == Time::from_millis(seq.into());
        }
        for seq in (20..PACKETS as usize).filter(|&seq| early[seq]) {
            let behind = (seq - 20..seq).filter(|&other| place[other] > place[seq]).count();
            let late = (seq - 20..seq).filter(|&other| !early[other]).count();
            assert_eq!(behind, late, "{seq}");
            overtaken += behind;
        }
        assert!(overtaken > 0);
        // With a gap of 5 and certainty, each fifth packet skips the delay. With a probability p, the distance between
        // two such packets is 4 plus a geometric number, with mean 4 + 1/p and variance (1 - p)/p^2.
        let (arrived, _) = reorder(5, chance(1.0, 0.0));
        assert!(arrived.iter().all(|&(seq, at)| (at == Time::from_millis(seq.into())) == (seq % 5 == 4)));
        let (_, account) = reorder(5, chance(0.2, 0.0));
        let mean = n / account.reordered as f64;
        assert!((mean - 9.0).abs() < 5.0 * (0.8f64.sqrt() / 0.2) / (n / 9.0).sqrt(), "{mean}");
    }

    #[test]
    fn correlated_numbers_have_the_correlation_and_variance_of_netem() {
        // x = (1 - r) u + r x' has the mean 1/2, the correlation r of neighbours, and the variance of u, 1/12, times
        // (1 - r)/(1 + r). Numbers that are k packets apart have a correlation of r^k, so the variance of the mean is
        // multiplied by (1 + r)/(1 - r). The tolerances are five standard errors, for the variance and correlation with
        // the same factor.
        let (r, n) = (0.6, f64::from(PACKETS));
        let (mut rng, mut last) = (Rng::stream(1, 0, "test", 0), None);
        let params = chance(0.5, r);
        let happened: Vec<(bool, f64)> = (0..PACKETS)
            .map(|_| (happens(&params, &mut last, Time::ZERO, &mut rng), last.expect("drawn") - 0.5))
            .collect();
        assert!(happened.iter().all(|&(happened, number)| happened == (number < 0.0)));
        let numbers: Vec<f64> = happened.into_iter().map(|(_, number)| number).collect();
        let mean = numbers.iter().sum::<f64>() / n;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / n;
        let covariance = numbers.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n;
        let (expected, factor) = (1.0 / 12.0 * (1.0 - r) / (1.0 + r), ((1.0 + r) / (1.0 - r)).sqrt());
        let error = 5.0 / n.sqrt() * factor;
        assert!(mean.abs() < error * expected.sqrt(), "{mean}");
        assert!((variance / expected - 1.0).abs() < 2.0f64.sqrt() * error, "{variance} {expected}");
        assert!((covariance / variance - r).abs() < error, "{}", covariance / variance);
    }

    #[test]
    fn slots_release_their_packets_and_bytes_together() {
        let ms = Time::from_millis;
        let slot = |packets, bytes| SlotParams { min: ms(10), packets, bytes, ..SlotParams::default() };
        let times = |slot| {
            let config = Impairments { slot: Some(slot), ..Impairments::default() };
            arrivals(&config, [0, 1, 2, 3, 40, 50, 51].into_iter().map(ms)).0.iter().map(|&(_, at)| at).collect()
        };
        let all = |times: [u64; 7]| times.map(ms).to_vec();
        // The first packet after the last slot waits for a full slot. A packet that arrives as the slot opens leaves.
        let plain: Vec<Time> = times(slot(None, None));
        assert_eq!(plain, all([10, 10, 10, 10, 50, 50, 61]));
        // Three packets a slot: the fourth waits for the next. Then the slot of 20 ms is over.
        let few: Vec<Time> = times(slot(Some(3), None));
        assert_eq!(few, all([10, 10, 10, 20, 50, 50, 61]));
        // A slot ends with the packet that reaches its bytes: two packets of 1500 bytes for 1501 bytes.
        let short: Vec<Time> = times(slot(None, Some(Bytes(1501))));
        assert_eq!(short, all([10, 10, 20, 20, 50, 50, 60]));
        let most: Vec<Time> = times(SlotParams { max: Some(ms(30)), ..slot(Some(1), None) });
        assert!(most.windows(2).all(|pair| pair[1] >= pair[0] + ms(10)), "{most:?}");
    }

    #[test]
    fn a_packet_waits_half_a_slot_on_average() {
        // A packet arrives every 1 ms. A slot opens U after the first packet that arrives behind the last slot, with U
        // uniform from 10 ms to 30 ms. So packets wait from U downwards in steps of 1 ms until the slot opens: floor(U)
        // + 1 packets with delays of U - i, which sum to U^2/2 + U/2 within 1/8 (in ms). The mean over packets is the
        // ratio of the means: (E[U^2]/2 + E[U]/2) / (E[U] + 1/2) with E[U] = 20 and E[U^2] = 400 + 400/12.
        let ms = Time::from_millis;
        let slot = Some(SlotParams { min: ms(10), max: Some(ms(30)), ..SlotParams::default() });
        let (arrived, _) = arrivals(&Impairments { slot, ..Impairments::default() }, every_ms(u64::from(PACKETS)));
        let waits = arrived.iter().map(|&(seq, at)| (at - ms(seq.into())).as_secs_f64() * 1e3);
        let mean = waits.sum::<f64>() / f64::from(PACKETS);
        let expected = ((400.0 + 400.0 / 12.0) / 2.0 + 10.0) / 20.5;
        // The tolerance is five standard errors: U^2/2 + U/2 - 11 (U + 1/2) has a standard deviation of 57.
        let error = 57.0 / 20.5 / (f64::from(PACKETS) / 20.5).sqrt();
        assert!((mean - expected).abs() < 5.0 * error, "{mean} {expected}");
    }

    /// Virtual scheduling algorithm of ITU-T I.371, a bucket without tokens: the expected time after a packet of 1500
    /// bytes, or `None` if it does not conform.
    fn conforms(expected: Time, now: Time, (rate, burst): (BitRate, Bytes)) -> Option<Time> {
        let next = expected.max(now) + rate.time_of(1500);
        (next <= now + rate.time_of(burst.0)).then_some(next)
    }

    #[test]
    fn a_policer_passes_what_its_buckets_hold() {
        let (rate, burst) = (BitRate(12_000_000), Bytes(15_000));
        let policer = |peak_rate, peak_burst, span| {
            let policer = Some(PolicerParams { rate, burst, peak_rate, peak_burst, span });
            Impairments { policer, ..Impairments::default() }
        };
        let passed = |config: &Impairments, times: &[Time]| arrivals(config, times.iter().copied()).0;
        let single = policer(None, None, Span::default());
        // 10 of 20 packets at once; then one each ms is the rate.
        let mut times = vec![Time::ZERO; 20];
        times.extend(every_ms(50).skip(1));
        assert_eq!(passed(&single, &times).len(), 10 + 49);
        // A pause fills the bucket, but not above its size.
        let times = [[0; 15], [5; 15], [1000; 15]].concat().into_iter().map(Time::from_millis).collect::<Vec<_>>();
        assert_eq!(passed(&single, &times).len(), 10 + 5 + 10);
        // Outside its span, a policer has no effect.
        assert_eq!(passed(&policer(None, None, span(1000, 2000)), &times).len(), 15 + 15 + 10);
        let (peak_rate, peak_burst) = (BitRate(30_000_000), Bytes(3000));
        let double = policer(Some(peak_rate), Some(peak_burst), Span::default());
        let mut rng = Rng::stream(1, 0, "arrivals", 0);
        let (mut now, mut times) = (Time::ZERO, Vec::new());
        for _ in 0..PACKETS / 10 {
            now += Time((rng.open01() * 1.5e9) as u64);
            times.push(now);
        }
        for (config, buckets) in [(single, vec![(rate, burst)]), (double, vec![(rate, burst), (peak_rate, peak_burst)])]
        {
            let mut expected = vec![Time::ZERO; buckets.len()];
            let conforming = times.iter().filter(|&&now| {
                let next = expected.iter().zip(&buckets).map(|(&expected, &bucket)| conforms(expected, now, bucket));
                next.collect::<Option<Vec<_>>>().map(|next| expected = next).is_some()
            });
            let conforming: Vec<Time> = conforming.copied().collect();
            assert_eq!(passed(&config, &times).into_iter().map(|(_, at)| at).collect::<Vec<_>>(), conforming);
            assert!((conforming.len() as f64) < 0.9 * f64::from(PACKETS / 10));
        }
    }

    #[test]
    fn random_loss_has_its_probability_and_no_memory() {
        // The numbers of losses are binomial. The test allows five standard errors for the share of losses among all
        // packets, and among the packets that follow a loss.
        let p = 0.02;
        let lost = losses(LossConfig::Random(random(p)));
        let error = |n: f64| 5.0 * (p * (1.0 - p) / n).sqrt();
        assert!((share(&lost) - p).abs() < error(f64::from(PACKETS)), "{}", share(&lost));
        let behind: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!((share(&behind) - p).abs() < error(behind.len() as f64), "{}", share(&behind));
        for (probability, lost) in [(0.0, false), (1.0, true)] {
            assert!(losses(LossConfig::Random(random(probability))).iter().all(|&other| other == lost));
        }
    }

    #[test]
    fn gilbert_elliott_loss_has_its_bursts_and_its_rate() {
        let (p, r) = (0.01, 0.2);
        let params = |bad_loss, good_loss| {
            let [p, r, bad_loss, good_loss] = [p, r, bad_loss, good_loss].map(Probability);
            LossConfig::GilbertElliott(GilbertElliottParams { p, r, bad_loss, good_loss, span: Span::default() })
        };
        // The duration of the bad state in packets is geometric, with mean 1/r and variance (1 - r)/r^2. The tolerance
        // is five standard errors.
        let lost = losses(params(1.0, 0.0));
        let bursts: Vec<f64> = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).map(|run| run.len() as f64).collect();
        let n = bursts.len() as f64;
        let mean = bursts.iter().sum::<f64>() / n;
        assert!((mean - 1.0 / r).abs() < 5.0 * (1.0 - r).sqrt() / r / n.sqrt(), "{mean}");
        // The share of the bad state is pi = p/(p + r). States that are k packets apart have a correlation of (1 - p -
        // r)^k, so the variance of the mean is multiplied by (2 - p - r)/(p + r). The losses in each state are
        // proportional to the state's share and loss probability.
        let pi = p / (p + r);
        let error = 5.0 * (pi * (1.0 - pi) / f64::from(PACKETS) * (2.0 - p - r) / (p + r)).sqrt();
        assert!((share(&lost) - pi).abs() < error, "{}", share(&lost));
        let some = share(&losses(params(0.6, 0.01)));
        let expected = 0.6 * pi + 0.01 * (1.0 - pi);
        let own = 5.0 * (expected / f64::from(PACKETS)).sqrt();
        assert!((some - expected).abs() < error + own, "{some} {expected}");
    }

    #[test]
    fn periodic_loss_takes_the_last_packet_of_each_period() {
        let lost = losses(LossConfig::Periodic(PeriodicLossParams { period: 7, span: Span::default() }));
        assert!(lost.iter().enumerate().all(|(index, &lost)| lost == (index % 7 == 6)));
    }

    /// Returns the delays of packets that enter at intervals of `gap`, and true if the packets left in order.
    fn delays(distribution: JitterDistribution, deviation: Time, reorder: bool, gap: Time) -> (Vec<f64>, bool) {
        let jitter = Some(JitterParams { deviation, distribution, reorder, span: Span::default() });
        let mut impairment = impairment(&Impairments { jitter, ..Impairments::default() });
        let (mut left, mut now) = (vec![0.0; PACKETS as usize], Time::ZERO);
        let mut order = Vec::new();
        let mut drain = |impairment: &mut Impairment, until: Time| {
            while impairment.next() <= until && impairment.next() < Time::NEVER {
                let time = impairment.next();
                let seq = impairment.take().seq;
                left[seq as usize] = (time - Time(gap.0 * u64::from(seq))).as_secs_f64();
                order.push(seq);
            }
        };
        for seq in 0..PACKETS {
            drain(&mut impairment, now);
            enter(&mut impairment, SimPacket { seq, ..SimPacket::BLANK }, now);
            now += gap;
        }
        drain(&mut impairment, Time::NEVER);
        assert_eq!((impairment.held(), impairment.account().passed), (0, u64::from(PACKETS)));
        (left, order.is_sorted())
    }

    #[test]
    fn jitter_has_the_mean_and_deviation_of_its_distribution() {
        // The mean delay is about 20 ms. Means and variances are in units of the deviation of 5 ms. The uniform
        // distribution has a variance of 1/3, the normal distribution of 1; truncation at four deviations changes the
        // latter by less than 1e-3. The Pareto distribution is that of 4/3 (Y - 1.5) with P(Y > y) = y^-3, truncated at
        // y = 4.5. Its mean is -4/3 * 4.5^-2/2 = -0.033. Since E[min(Y, a)^2] = 3 - 2/a, its variance is (4/3)^2 (2.556
        // - 1.475^2) = 0.675.
        let deviation = 0.005;
        for (distribution, mean, variance) in [
            (JitterDistribution::Uniform, 0.0, 1.0 / 3.0),
            (JitterDistribution::Normal, 0.0, 1.0),
            (JitterDistribution::Pareto, -4.0 / 3.0 / 4.5 / 4.5 / 2.0, 0.675),
        ] {
            let (delays, _) = delays(distribution, Time::from_secs_f64(deviation), true, Time::from_millis(1));
            let n = f64::from(PACKETS);
            let drawn: Vec<f64> = delays.iter().map(|delay| (delay - DELAY.as_secs_f64()) / deviation).collect();
            let average = drawn.iter().sum::<f64>() / n;
            let spread = drawn.iter().map(|x| (x - average).powi(2)).sum::<f64>() / n;
            assert!((average - mean).abs() < 5.0 * (variance / n).sqrt(), "{distribution:?} {average}");
            // The tolerance of the variance suffices because no distribution here has a kurtosis above 12.
            assert!((spread / variance - 1.0).abs() < 0.04, "{distribution:?} {spread}");
        }
    }

    #[test]
    fn packets_keep_their_order_unless_they_may_overtake() {
        // A packet is sent every 1 ms, and delays are 0 or more. If reordering were permitted, nearly every pair of
        // neighbours would swap.
        let (deviation, gap) = (Time::from_millis(30), Time::from_millis(1));
        for distribution in [JitterDistribution::Uniform, JitterDistribution::Normal, JitterDistribution::Pareto] {
            let (kept, is_sorted) = delays(distribution, deviation, false, gap);
            assert!(is_sorted && kept.iter().all(|&delay| delay >= 0.0));
            let (free, is_sorted) = delays(distribution, deviation, true, gap);
            assert!(!is_sorted && free.iter().all(|&delay| delay >= 0.0));
        }
    }

    #[test]
    fn a_detour_delays_what_comes_meanwhile_and_is_overtaken_afterwards() {
        let ms = Time::from_millis;
        let detour = Some(DetourParams { delay: ms(50), span: span(10, 30) });
        let mut impairment = impairment(&Impairments { detour, ..Impairments::default() });
        let outcomes = [9, 10, 29, 30].map(|at| enter(&mut impairment, SimPacket::BLANK, ms(at)));
        use Outcome::{Passes, Waits};
        assert_eq!(outcomes, [Passes, Waits, Waits, Passes]);
        // The packets sent at 10 and 29 ms take the detour of 50 ms, so they arrive after the packet sent at 30 ms.
        let arrivals: Vec<Time> = std::iter::from_fn(|| {
            let next = impairment.next();
            (next < Time::NEVER).then(|| (impairment.take(), next).1)
        })
        .collect();
        assert_eq!(arrivals, [ms(60), ms(79)]);
        let account = impairment.account();
        assert_eq!((account.entered, account.passed, account.lost), (4, 4, 0));
    }

    #[test]
    fn losses_act_one_after_another() {
        let periodic = |period| LossConfig::Periodic(PeriodicLossParams { period, span: Span::default() });
        let outage = LossConfig::Random(RandomLossParams { span: span(10, 15), ..random(1.0) });
        let arrived = |loss: &[LossConfig]| -> Vec<u32> {
            let config = Impairments { loss: loss.to_vec(), ..Impairments::default() };
            arrivals(&config, every_ms(24)).0.into_iter().map(|(seq, _)| seq).collect()
        };
        // The first loss takes 2, 5, 8 ... of 0 to 23. The second takes the fourth of each four others: 4, 10, 16, 22.
        let expected: Vec<u32> = (0..24).filter(|seq| seq % 3 != 2 && seq % 6 != 4).collect();
        assert_eq!(arrived(&[periodic(3), periodic(4)]), expected);
        // The periodic loss does not count the packets that the outage took before it, but those that it takes after it.
        let first: Vec<u32> = (0..10).chain(15..24).filter(|seq| ![6, 18].contains(seq)).collect();
        assert_eq!(arrived(&[outage.clone(), periodic(7)]), first);
        let last: Vec<u32> = (0..10).chain(15..24).filter(|seq| seq % 7 != 6).collect();
        assert_eq!(arrived(&[periodic(7), outage]), last);
    }

    #[test]
    fn each_user_has_a_path_of_its_own_behind_the_access_links() {
        let loss = vec![LossConfig::Periodic(PeriodicLossParams { period: 3, span: Span::default() })];
        let place = Place::Access { group: 1, first_user: 10 };
        let config = Impairments { loss, ..Impairments::default() };
        let mut impairment = Impairment::new(place, &config, vec![DELAY], 2, Rng::stream(1, 0, "test", 0));
        let mut enter = |user| enter(&mut impairment, SimPacket { user, ..SimPacket::BLANK }, Time::ZERO);
        let outcomes = [10, 10, 11, 10, 11, 11].map(&mut enter);
        use Outcome::{Lost, Passes};
        assert_eq!(outcomes, [Passes, Passes, Passes, Lost, Passes, Lost]);
    }
}
