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
//! | (9) | Reordering: a packet skips the delay of the link, if at least `gap - 1` packets since the last such packet did not. | [`Impairment::skips_delay`] |
//! | (10) | Correlation `r`: the number that decides is `x = (1 - r) u + r x'`, with `u` uniform and `x'` the last `x`. | [`happens`] |
//! | (11) | Slots: a packet that arrives after the last slot opened waits until a new slot opens, a uniform time later. After its last packet or byte, a slot is followed by the next one. | [`Slot::take`] |
//! | (12) | Policer: a bucket fills at `rate` up to `burst`. A packet passes if the bucket holds its bytes, which it takes, and is lost otherwise. With `peak_rate`, it must find its bytes in a second bucket too. | [`Policed::takes`] |
//!
//! A packet meets the parts in this order: policer, losses, duplication, corruption, slot, reordering, detour and
//! jitter. A part outside its span draws no random numbers and keeps its state. So does a loss for a packet that is
//! already lost.
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

mod chance;
mod held;
mod jitter;
mod loss;
mod policer;
mod slot;

use crate::measure::path_probe::Loss;
use crate::network::ack_packets::AckPackets;
use crate::network::sim_packet::SimPacket;
use crate::scenario::Impairments;
use chance::happens;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;
use held::Held;
use jitter::draw_delay;
use loss::{LossState, loses};
use policer::Policed;
use slot::Slot;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const DUPLICATE: usize = 0;
const CORRUPT: usize = 1;
const REORDER: usize = 2;

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
    /// Last random numbers that decided on [`DUPLICATE`], [`CORRUPT`] and [`REORDER`].
    drawn: [Option<f64>; 3],
    slot: Option<Slot>,
    policed: Option<Policed>,
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
        let path = match self.place {
            Place::Link(_) => 0,
            Place::Access { first_user, .. } => (packet.user - first_user) as usize,
        };
        self.account.entered += 1;
        if self.is_lost(path, packet, now) {
            self.account.lost += 1;
            if matches!(self.place, Place::Access { .. }) {
                self.losses.push(Loss::of(packet, now));
            }
            return Outcome::Lost;
        }
        let copy = self.is_drawn(path, DUPLICATE, now).then(|| acks.copy(packet));
        // A packet that is already damaged takes the hops of damaged packets.
        if self.is_drawn(path, CORRUPT, now) && packet.hop < self.to_damaged {
            self.account.corrupted += 1;
            packet.hop += self.to_damaged;
        }
        let until = self.delayed(path, packet, now);
        match until {
            Some(until) => self.hold(*packet, until),
            None => self.account.passed += 1,
        }
        if let Some(copy) = copy {
            self.account.copied += 1;
            let until = self.delayed(path, &copy, now).unwrap_or(now);
            self.hold(copy, until);
        }
        if until.is_some() { Outcome::Waits } else { Outcome::Passes }
    }

    /// Returns true if the policer or a loss takes a packet (rules 1 to 3 and 12).
    fn is_lost(&mut self, path: usize, packet: &SimPacket, now: Time) -> bool {
        let Self { config, paths, loss_states, rng, .. } = self;
        let policed = &mut paths[path].policed;
        if config.policer.as_ref().is_some_and(|params| !Policed::takes(policed, params, packet.wire_bytes.into(), now))
        {
            return true;
        }
        let states = &mut loss_states[path * config.loss.len()..];
        config.loss.iter().zip(states).any(|(loss, state)| loss.span().has(now) && loses(loss, state, rng))
    }

    /// Returns true if a packet is drawn for a part, an index of [`PathState::drawn`] (rules 7 to 9).
    fn is_drawn(&mut self, path: usize, part: usize, now: Time) -> bool {
        let Self { config, paths, rng, .. } = self;
        let of_reorder = config.reorder.as_ref().map(|reorder| &reorder.chance);
        let chance = [config.duplicate.as_ref(), config.corrupt.as_ref(), of_reorder][part];
        chance.is_some_and(|chance| happens(chance, &mut paths[path].drawn[part], now, rng))
    }

    /// Returns the time at which a packet continues, or `None` if it continues immediately (rules 4 to 6, 9 and 11).
    fn delayed(&mut self, path: usize, packet: &SimPacket, now: Time) -> Option<Time> {
        let Self { config, paths, rng, .. } = self;
        let slot = config.slot.as_ref();
        let mut until = slot.map_or(now, |slot| Slot::take(&mut paths[path].slot, slot, packet, now, rng));
        if self.skips_delay(path, now) {
            return (until > now).then_some(until);
        }
        let Self { config, delays, paths, rng, .. } = self;
        if let Some(detour) = config.detour.as_ref().filter(|detour| detour.span.has(now)) {
            until += detour.delay;
        }
        if config.takes_delay() {
            let delay = *delays.get(path).unwrap_or(&delays[0]);
            let varies = config.jitter.as_ref().filter(|jitter| jitter.span.has(now));
            until += varies.map_or(delay, |jitter| draw_delay(jitter, delay, rng));
            if config.jitter.as_ref().is_some_and(|jitter| !jitter.reorder) {
                until = until.max(paths[path].last);
                paths[path].last = until;
            }
        }
        // A packet that arrives as a slot opens leaves after those that wait for it.
        let is_behind = config.slot.is_some() && self.next() <= now;
        (until > now || self.config.takes_delay() || is_behind).then_some(until)
    }

    /// Returns true if a packet skips the delay (rule 9).
    fn skips_delay(&mut self, path: usize, now: Time) -> bool {
        let Some(reorder) = self.config.reorder.as_ref().filter(|reorder| reorder.chance.span.has(now)) else {
            return false;
        };
        let in_order = self.paths[path].in_order;
        let skips = in_order + 1 >= reorder.gap && self.is_drawn(path, REORDER, now);
        self.paths[path].in_order = if skips { 0 } else { in_order.saturating_add(1) };
        self.account.reordered += u64::from(skips);
        skips
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

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
