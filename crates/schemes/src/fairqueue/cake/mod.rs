//! CAKE: serves the queues of flows in turn. The quantum of a queue shrinks with the number of its host's flows. Each
//! queue runs COBALT.
//!
//! Source: Linux `sch_cake.c`; Hoeiland-Joergensen, Taht, Morton: "Piece of CAKE: A Comprehensive Queue Management
//! Solution for Home Gateways", LANMAN 2018. The rules of COBALT are in [`crate::aqm::cobalt_core`]. The MTU time is
//! the transmission time of a full packet. The rate is `bandwidth`, or the link's.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | quantum = clamp(rate in byte/s / 4096, 300 B, 1514 B) | `Cake::adapt` |
//! | (2) | target = max(5 ms, 1.5 MTU times); interval = max(100 ms + target - 5 ms, 2 target); spared delay: 4 MTU times | `Cake::adapt` |
//! | (3) | hash to one of 1024 queues; if another flow uses this queue, take a free queue of the same set of 8 | `Cake::queue_of`, `SetAssociative::place` |
//! | (4) | share = quantum / load, load = max(1, the host's bulk flows) | `share` |
//! | (5) | a packet arrives at a queue at rest: the queue is sparse, `credits = share` | `Cake::enqueue` |
//! | (6) | serve the first sparse queue or, if there is none, the first bulk queue | `Cake::dequeue` |
//! | (7) | `credits <= 0`: the queue becomes bulk (waiting, if empty), `credits += share`, and moves to the end of the bulk queues; back to (6) | `Cake::grant` |
//! | (8) | COBALT drops at the head, but never the last packet; for a sent packet `credits -= L` | `Cake::serve` |
//! | (9) | an empty queue decays until COBALT is at rest; one decaying queue is visited per packet sent | `Cake::dequeue` |
//! | (10) | buffer full: drop the head of the queue with most bytes | `Cake::make_room` |
//! | (11) | L = max(length + `overhead`, `mpu`); `atm`: 53 ceil(L/48); `ptm`: L + ceil(L/64) | `Shaper::length` |
//! | (12) | no packet leaves before `ready`; arrival at an empty port: ready = max(ready, now); packet leaves: ready += L/`bandwidth` | `Shaper::rested`, `Shaper::sent` |
//!
//! The host of a packet is its user.
//!
//! | `isolation` | a queue for each | load of a queue |
//! |---|---|---|
//! | `flow` | flow | 1 |
//! | `host` | user | 1 |
//! | `dual` | flow | bulk queues of its user |
//! | `triple` | flow | the larger of the loads at both ends of the flow |
//!
//! Packets do not name the other end of their flow. It counts as a host of its own with a load of 1, so `triple`, the
//! kernel's default, equals `dual`.
//!
//! Flows may be reordered. When all 8 queues of a set are in use, a new flow takes over another flow's queue. That
//! flow's next packet may then use a free queue, while its older packets still wait.
//!
//! Cost: O(1) per packet except for rule (10), see [`crate::fairqueue::queue_store`]; one hash, or two with `dual` or
//! `triple`. State: 112 bytes for each of the 1024 queues and 8 for each of 1024 hosts, used or not; no state per flow.
//!
//! Deviations:
//! 1. For rule (10), [`crate::fairqueue::queue_store`] replaces the heap of Linux.
//! 2. Rounds in which all queues have negative credits are skipped in one step.
//! 3. A packet that alone exceeds the limit is dropped.
//! 4. Credits are in 1/65 536 byte, and shares are rounded down; Linux uses whole bytes and rounds a share at random.
//! 5. The buffer sets the limit; Linux uses 4 intervals at the link rate, at least 4 MiB. With 24 packets most drops
//!    come from overflow and BLUE, not from CoDel.
//! 6. The MTU is the buffer's `mtu`.
//! 7. The shaper counts picoseconds, Linux nanoseconds.
//!
//! Not implemented: tins (classes have no effect); the ACK filter; ingress mode; NAT lookup; negative overheads.

mod set_associative;
mod shaper;

use crate::aqm::cobalt_core::{Cobalt, CobaltTarget, Signal};
use crate::contract::prelude::*;
use crate::fairqueue::intrusive_list::IntrusiveList;
use crate::fairqueue::queue_store::{LengthMeasure, QueueStore};
use crate::fairqueue::skip_rounds::skip_rounds;
use crate::flows::hash::hash;
use set_associative::{Found, SetAssociative};
use shaper::Shaper;
pub use shaper::{Framing, ShaperParams};

choices! {
    /// Units among which CAKE shares the link.
    pub enum Isolation {
        /// Flows, regardless of their hosts.
        Flow = "flow",
        /// Users, each with one queue.
        Host = "host",
        /// Users, and the flows of each user.
        Dual = "dual",
        /// Hosts at both ends, and their flows. Equals `dual`, since packets do not name the host at the other end.
        Triple = "triple",
    }
}

params! {
    /// CAKE.
    pub struct CakeParams {
        /// Units among which the link is shared.
        isolation: Isolation = "triple", source "sch_cake: triple-isolate";
        /// Sets of queues.
        sets: u32 = 128, in 1..=8192, source "sch_cake: 1024 queues";
        /// Queues per set.
        ways: u32 = 8, in 1..=64, symbol "CAKE_SET_WAYS", source "sch_cake";
        /// Bytes that a queue may send per round, divided by the load of its host; absent: derived from the link's
        /// rate.
        quantum: Option<Bytes> = null, in "1 B"..="1 MB", source "sch_cake: byte/s / 4096, from 300 to 1514 B";
        /// Minimum of the target delay of the standing queue.
        target: Time = "5 ms", in "1 us"..="10 s", source "sch_cake: internet, interval / 20";
        /// Minimum interval, the time for which the delay may exceed the target.
        interval: Time = "100 ms", in "10 us"..="100 s", source "sch_cake: internet";
        /// Drops or marks as soon as a delay is too long, without waiting for an interval.
        starts_at_once: bool = false, source "sch_cake: true, rec_inv_sqrt is 0 at first";
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = true, source "sch_cake: always";
        /// Increment of BLUE's probability at an overflow.
        increment: f64 = 0.00390625, in 0.0..=1.0, symbol "p_inc", source "sch_cake: 1/256";
        /// Decrement of BLUE's probability when an empty queue is visited.
        decrement: f64 = 0.000244140625, in 0.0..=1.0, symbol "p_dec", source "sch_cake: 1/4096";
        with shaper: ShaperParams;
    }
}

/// Registry entry of CAKE.
#[derive(Clone, Copy, Debug)]
pub struct CakeScheme;

impl SchemeSpec for CakeScheme {
    const ABOUT: About = About {
        title: "Common applications kept enhanced, CAKE",
        kind: "hashed queues served in turn, sparse ones first; drops or marks at the head, on overflow drops from the \
               longest queue",
        summary: "Hashes flows into queues that are served in turn, gives a host's queues less if more of them are \
                  busy, and keeps the delay of each queue short by CoDel and BLUE.",
        source: "Linux sch_cake; Hoeiland-Joergensen, Taht, Morton: Piece of CAKE, LANMAN 2018",
        state: "port: 1024 queues with 5 numbers of COBALT, 1 credit, 1 host; 1024 hosts with 1 count each",
        flow_state: FlowState::Table,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    /// By rule (3), a flow whose queue another flow took over moves to another queue, so packets may be reordered.
    const REORDERS_FLOWS: bool = true;
    type Params = CakeParams;
    type Discipline<P: Packet> = Cake<P>;

    fn holds_back(params: &CakeParams) -> Option<(&'static str, BitRate)> {
        params.shaper.bandwidth.map(|bandwidth| ("bandwidth", bandwidth))
    }

    fn build<P: Packet>(params: &CakeParams, port: &Port<'_>) -> Cake<P> {
        Cake::new(params, port.buffer, port.rate)
    }
}

/// Credits per byte.
const PER_BYTE: f64 = 65_536.0;

/// State of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In no list: the queue is free.
    Idle,
    /// The queue was at rest, and still has credits of its first share.
    Sparse,
    /// The queue became empty with negative credits while sparse. It waits among the bulk queues, but does not count as
    /// load.
    SparseWait,
    /// The queue has exceeded its share.
    Bulk,
    /// Empty; COBALT is not at rest yet.
    Decaying,
}

impl State {
    /// Index of the list of queues in this state.
    fn list(self) -> Option<usize> {
        match self {
            Self::Idle => None,
            Self::Sparse => Some(SPARSE),
            Self::SparseWait | Self::Bulk => Some(BULK),
            Self::Decaying => Some(DECAYING),
        }
    }
}

const SPARSE: usize = 0;
const BULK: usize = 1;
const DECAYING: usize = 2;

/// One hashed queue.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    cobalt: Cobalt,
    /// Credits of the queue, an integer number of 1/65 536 bytes. Exact for packets of up to 4 GiB.
    credits: f64,
    host: u32,
    state: State,
}

/// Loads of the hosts.
#[derive(Clone, Debug)]
struct Hosts {
    places: SetAssociative,
    /// Number of bulk queues of each host.
    bulk: Vec<u32>,
}

/// Parameters that a port needs after its start, and its shaper.
#[derive(Clone, Debug)]
struct Settings {
    isolation: Isolation,
    ecn: bool,
    quantum: Option<Bytes>,
    target: Time,
    interval: Time,
    shaper: Shaper,
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct Cake<P> {
    queues: QueueStore<P, (), Bucket>,
    places: SetAssociative,
    /// State of the hosts, only in modes that use the load of hosts.
    hosts: Option<Box<Hosts>>,
    /// Indexed by [`State::list`].
    lists: [IntrusiveList; 3],
    /// Drawn at the first packet.
    seed: Option<u64>,
    aim: CobaltTarget,
    quantum: f64,
    mtu: u64,
    settings: Box<Settings>,
    limit: QueueLimit,
}

impl<P: Packet> Cake<P> {
    /// Creates an empty port at a link of rate `rate`.
    #[must_use]
    pub fn new(params: &CakeParams, buffer: &BufferParams, rate: BitRate) -> Self {
        let mut queues = QueueStore::new(LengthMeasure::Bytes);
        let idle = Bucket { cobalt: Cobalt::default(), credits: 0.0, host: 0, state: State::Idle };
        let places = SetAssociative::new(params.sets, params.ways);
        (0..places.capacity()).for_each(|_| _ = queues.open(idle));
        let hosts = matches!(params.isolation, Isolation::Dual | Isolation::Triple)
            .then(|| Box::new(Hosts { places: places.clone(), bulk: vec![0; places.capacity()] }));
        let CakeParams { isolation, ecn, quantum, target, interval, .. } = *params;
        let CakeParams { increment, decrement, starts_at_once, .. } = *params;
        let shaper = Shaper::new(&params.shaper);
        let mut port = Self {
            queues,
            places,
            hosts,
            lists: Default::default(),
            seed: None,
            aim: CobaltTarget {
                target,
                interval,
                spared: Time::ZERO,
                increment,
                decrement,
                whole_spells: false,
                starts_at_once,
            },
            quantum: 0.0,
            mtu: buffer.mtu.0,
            settings: Box::new(Settings { isolation, ecn, quantum, target, interval, shaper }),
            limit: buffer.limit,
        };
        port.adapt(rate);
        port
    }

    /// Applies rules (1) and (2).
    fn adapt(&mut self, link: BitRate) {
        let Settings { quantum, target, interval, shaper, .. } = *self.settings;
        let rate = shaper.rate_at(link);
        let by_rate = || (rate.0 / 8 / 4096).clamp(300, 1514);
        self.quantum = quantum.map_or_else(by_rate, |quantum| quantum.0) as f64;
        let mtu_time = rate.time_of(self.mtu);
        self.aim.target = target.max(Time(mtu_time.0.saturating_mul(3) / 2));
        self.aim.interval = (interval + (self.aim.target - target)).max(Time(self.aim.target.0.saturating_mul(2)));
        self.aim.spared = Time(mtu_time.0.saturating_mul(4));
    }

    /// Returns the queue of a packet by rule (3), and sets the host of the queue.
    fn queue_of(&mut self, packet: &P, rng: &mut Rng) -> u32 {
        let seed = *self.seed.get_or_insert_with(|| rng.bits());
        let key = if self.settings.isolation == Isolation::Host { FlowKey::User } else { FlowKey::Flow };
        let Self { queues, places, hosts, .. } = self;
        let (queue, found) = places.place(hash(key.of(packet), seed), |queue| queues[queue].state == State::Idle);
        let Bucket { state, host: before, .. } = queues[queue];
        let Some(Hosts { places, bulk }) = hosts.as_deref_mut() else { return queue };
        if found == Found::Own && state != State::Idle {
            return queue;
        }
        // If another host had the queue, the queue's load moves to the new host.
        let load = u32::from(state == State::Bulk);
        bulk[before as usize] -= load;
        let host = places.place(hash(packet.user(), seed), |host| bulk[host as usize] == 0).0;
        bulk[host as usize] += load;
        queues[queue].host = host;
        queue
    }

    /// Applies rule (10). `offered` is the queue of the arriving packet.
    fn make_room(&mut self, offered: u32, found: Backlog, now: Time, drops: &mut impl DropSink<P>) {
        while self.queues.exceeds(self.limit) {
            let fattest = self.queues.longest().expect("more waits than the limit");
            let (packet, ()) = self.queues.pop_front(fattest).expect("the longest queue has a packet");
            let arriving = fattest == offered && self.queues.length(fattest).packets == 0;
            drops.dropped(&packet, if arriving { DropReason::Overlimit } else { DropReason::PushedOut }, found);
            self.queues[fattest].cobalt.overflowed(&self.aim, now);
        }
    }

    /// Changes the state of `queue` and appends it to the list of that state.
    fn move_to(&mut self, queue: u32, state: State) {
        let from = self.queues[queue].state.list();
        self.set_state(queue, state);
        let Self { queues, lists, .. } = self;
        if let Some(from) = from {
            lists[from].remove(queues.elements(), queue);
        }
        if let Some(to) = state.list() {
            lists[to].push_back(queues.elements(), queue);
        }
    }

    /// Changes the state of `queue` and updates the load of its host, without moving it in a list.
    fn set_state(&mut self, queue: u32, state: State) {
        let bucket = &mut self.queues[queue];
        let was = std::mem::replace(&mut bucket.state, state);
        if let Some(hosts) = &mut self.hosts {
            let load = &mut hosts.bulk[bucket.host as usize];
            *load = *load + u32::from(state == State::Bulk) - u32::from(was == State::Bulk);
        }
    }

    /// Next packet of `queue` that COBALT accepts: rule (8).
    fn serve(&mut self, queue: u32, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        while let Some((mut packet, ())) = self.queues.pop_front(queue) {
            let is_last = self.queues.length(queue).packets == 0;
            let markable = self.settings.ecn && packet.ecn().is_capable();
            let sojourn = now.saturating_sub(packet.enqueued_at());
            let too_long = self.aim.is_exceeded(sojourn);
            let Signal { drop, mark } = self.queues[queue].cobalt.judge(&self.aim, too_long, markable, now, rng);
            if drop && !is_last {
                drops.dropped(&packet, DropReason::Aqm, self.queues.backlog());
                continue;
            }
            if mark {
                packet.set_ecn(Ecn::Ce);
                drops.marked(&packet);
            }
            let length = self.settings.shaper.length(packet.wire_bytes());
            self.settings.shaper.sent(length);
            self.queues[queue].credits -= length as f64 * PER_BYTE;
            return Some(packet);
        }
        None
    }

    /// Grants a share to `queue`, whose credits are negative: rule (7).
    fn grant(&mut self, queue: u32) {
        let is_empty = self.queues.length(queue).packets == 0;
        let state = match self.queues[queue].state {
            State::Sparse if is_empty => State::SparseWait,
            State::Sparse => State::Bulk,
            state => state,
        };
        self.move_to(queue, state);
        let bucket = &mut self.queues[queue];
        bucket.credits += share(self.quantum, self.hosts.as_deref(), bucket);
    }

    /// Skips the rounds in which all bulk queues have negative credits.
    fn skip_rounds(&mut self) {
        let (quantum, hosts) = (self.quantum, self.hosts.as_deref());
        let share = |bucket: &Bucket| share(quantum, hosts, bucket);
        // Credits are integers. Computes the number of grants until the credits are 1, plus the next visit.
        let visits = |queues: &QueueStore<P, (), Bucket>, queue: u32| {
            let bucket = &queues[queue];
            ((1.0 - bucket.credits) / share(bucket)).ceil().max(0.0) + 1.0
        };
        skip_rounds(&mut self.queues, &self.lists[BULK], visits, |bucket, rounds| {
            bucket.credits += rounds * share(bucket);
        });
    }
}

/// Returns the share of a queue by rule (4), in credits.
fn share(quantum: f64, hosts: Option<&Hosts>, bucket: &Bucket) -> f64 {
    let load = hosts.map_or(1, |hosts| hosts.bulk[bucket.host as usize].max(1));
    (quantum * PER_BYTE / f64::from(load)).floor().max(1.0)
}

impl<P: Packet> QueueDiscipline<P> for Cake<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let found = self.queues.backlog();
        if !Backlog::default().has_room_for(packet.wire_bytes(), self.limit) {
            drops.dropped(&packet, DropReason::Overlimit, found);
            return;
        }
        if found.packets == 0 {
            self.settings.shaper.rested(now);
        }
        let queue = self.queue_of(&packet, rng);
        packet.set_enqueued_at(now);
        self.queues.push_back(queue, packet, ());
        match self.queues[queue].state {
            State::Idle | State::Decaying => {
                // Rule (5).
                self.queues[queue].credits = share(self.quantum, self.hosts.as_deref(), &self.queues[queue]);
                self.move_to(queue, State::Sparse);
            }
            State::SparseWait => self.set_state(queue, State::Bulk),
            State::Sparse | State::Bulk => {}
        }
        self.make_room(queue, found, now, drops);
    }

    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        if now < self.settings.shaper.ready {
            return None; // rule (12)
        }
        let mut decaying = self.lists[DECAYING].front();
        let mut first_in_debt = None;
        while self.queues.backlog().packets > 0 {
            // Rules (9) and (6). Decaying queues are empty and never have negative credits.
            let queue = decaying.take().or_else(|| self.lists[..DECAYING].iter().find_map(IntrusiveList::front))?;
            if self.queues[queue].credits <= 0.0 {
                if first_in_debt == Some(queue) {
                    self.skip_rounds();
                }
                first_in_debt = first_in_debt.or(Some(queue));
                self.grant(queue);
                continue;
            }
            if let Some(packet) = self.serve(queue, now, rng, drops) {
                return Some(packet);
            }
            let cobalt = &mut self.queues[queue].cobalt;
            cobalt.emptied(&self.aim, now);
            let state = if cobalt.is_at_rest(now) { State::Idle } else { State::Decaying };
            self.move_to(queue, state); // rule (9)
            first_in_debt = first_in_debt.filter(|&first| first != queue);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn ready_at(&self) -> Option<Time> {
        (self.queues.backlog().packets > 0).then_some(self.settings.shaper.ready)
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.adapt(rate);
    }

    fn state_size(&self) -> StateSize {
        let per_host = size_of::<u32>() * 2;
        let hosts = self.hosts.as_deref().map_or(0, |hosts| size_of_val(hosts) + hosts.bulk.len() * per_host);
        let tags = self.places.capacity() * size_of::<u32>();
        let bytes = size_of_val(self) + size_of_val(&*self.settings) + self.queues.state_bytes() + tags + hosts;
        StateSize { records: self.queues.open_queues(), bytes }
    }

    fn report(&self, report: Report<'_>) {
        let buckets = || (0..self.queues.open_queues() as u32).map(|queue| &self.queues[queue]);
        let count = |is: fn(&Bucket) -> bool| buckets().filter(|bucket| is(bucket)).count() as f64;
        report("bulk_queues", count(|bucket| bucket.state == State::Bulk));
        report("dropping_queues", count(|bucket| bucket.cobalt.is_dropping()));
        report("largest_blue_probability", buckets().map(|bucket| bucket.cobalt.probability()).fold(0.0, f64::max));
    }
}

#[cfg(test)]
mod tests;
