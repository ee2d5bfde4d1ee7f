//! HTB (hierarchical token bucket): classes in a tree have assured rates and borrow unused rates from their ancestors.
//!
//! Source: Linux net/sched/sch_htb.c; M. Devera, "HTB Linux queuing discipline manual, user guide", 2002; tc-htb(8).
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `C < 0`: the class cannot send; else if `T < 0`: it may borrow; else it can send (`htb_class_mode`) | `Bucket::mode_at` |
//! | (2) | a class with packets that can send is in the row of its level; a class with packets that may borrow is in the feed of its parent, and the parent then has packets (`htb_activate_prios`) | `Htb::connect` |
//! | (3) | the lowest non-empty row is served, and in it the classes of the first priority (`htb_dequeue`) | `Htb::next_row` |
//! | (4) | classes of a row or feed are served in turn; a leaf may send `quantum` bytes per turn at a level (`htb_lookup_leaf`, `htb_dequeue_tree`) | `Htb::next_leaf`, `Htb::take_turn` |
//! | (5) | a packet of L bytes sent by a class at level l reduces C of each class from the leaf to the root by `L / ceil`, and T of the classes from level l up by `L / rate` (`htb_charge_class`) | `Htb::charge`, `Bucket::spend` |
//! | (6) | T and C grow with time, up to `burst / rate` and `cburst / ceil` (`htb_accnt_tokens`) | `Tokens::spend` |
//! | (7) | a class that cannot send or has to borrow is checked again when its tokens are back at zero (`htb_do_events`) | `Htb::look_again` |
//! | (8) | `quantum = rate / r2q`, from 1000 to 200 000 bytes (`htb_change_class`) | `Htb::add` |
//!
//! T and C are a class's tokens for its rate and for its ceiling. Leaves are at level 0, the root is at level 7. The
//! classes are the nodes of an access network and a leaf for each user, see [`crate::contract::class_tree`]. Without an
//! access network there is a root with the link's rate. The assured rate of a user's leaf is `rate` times the user's
//! weight; the leaf borrows up to `ceil`.
//!
//! The link is idle while ceilings block all waiting packets.
//!
//! Cost: one look-up of the user and one bucket update per level for each packet, and O(log n) to change a class's mode
//! or turn. State: 285 bytes per leaf, plus 32 bytes per leaf of an access network, plus `leaf_queues` times 116 or 120
//! bytes for the leaf's queue.
//!
//! Deviations:
//! 1. The root can always send, since the link itself limits the rate.
//! 2. Children are served in the order in which they were added; Linux uses the order of class numbers.
//! 3. There are two priorities (eight in Linux): a user whose first packet is EF precedes users whose first packet is
//!    BE.
//! 4. A leaf without packets and with full tokens is removed when the next new user arrives. This changes only the
//!    order of service.
//! 5. The buffer's limit applies to each leaf, as in Linux, not to the port.
//! 6. Leaves have `leaf_queues` queues, by default 32; `fq_codel` and `cake` of Linux have 1024. With 1024, 20 000
//!    subscribers would need 2.4 GB.
//! 7. Tokens are in picoseconds; Linux uses nanoseconds.
//!
//! Not implemented: hysteresis, which is off in Linux by default; unshaped packets of users without a class (here these
//! users get a leaf below the root); offload to hardware.

mod bucket;
mod leaf;
mod params;
mod turns;

use crate::contract::class_tree::{Class as ClassSpec, ClassTree};
use crate::contract::prelude::*;
use crate::fairqueue::indexed_heap::IndexedHeap;
use crate::fairqueue::intrusive_list::{IntrusiveList, Link, Linked};
use crate::flows::flow_table::FlowTable;
use bucket::{Bucket, Mode};
use leaf::Leaf;
pub use params::{HtbParams, LeafQueue, NodeRates};
use turns::Turns;

/// Registry entry of HTB.
#[derive(Clone, Copy, Debug)]
pub struct HtbScheme;

impl SchemeSpec for HtbScheme {
    const ABOUT: About = About {
        title: "Hierarchical token bucket, HTB",
        kind: "tree of classes with token buckets; each user's queue is CAKE, FQ-CoDel or drop-tail",
        summary: "Gives every class of a tree an assured rate, lets it borrow unused rates of its ancestors up to a \
                  ceiling, and keeps a queue for each user.",
        source: "Linux sch_htb",
        state: "class: 2 token buckets, 1 turn; user: a class with 8 deficits and a queue",
        flow_state: FlowState::Each,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    /// CAKE leaves may reorder flows.
    const REORDERS_FLOWS: bool = true;
    /// Deviation 5: the limit applies to each leaf.
    const LIMITS_EACH_USER: bool = true;
    const SHAPES: bool = true;
    type Params = HtbParams;
    type Discipline<P: Packet> = Box<Htb<P>>;

    fn check(params: &HtbParams, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        if params.leaf == LeafQueue::DropTail && params.leaf_queues != HtbParams::default().leaf_queues {
            let problem = format!("{} has no effect with leaf = \"droptail\", which is one queue", params.leaf_queues);
            return Err(ConfigError::new(table.key("leaf_queues"), problem));
        }
        match params.ceil.filter(|&ceil| ceil < params.rate) {
            Some(ceil) => Err(ConfigError::new(
                table.key("ceil"),
                format!("\"{ceil}\" is out of range, it must be at least rate \"{}\"", params.rate),
            )),
            None => Ok(()),
        }
    }

    fn holds_back(params: &HtbParams) -> Option<(&'static str, BitRate)> {
        params.ceil.map(|ceil| ("ceil", ceil))
    }

    fn marks(params: &HtbParams) -> bool {
        params.leaf != LeafQueue::DropTail
    }

    fn build<P: Packet>(params: &HtbParams, port: &Port<'_>) -> Box<Htb<P>> {
        Box::new(Htb::new(params, port))
    }
}

/// Maximum number of levels of a tree, as in Linux (TC_HTB_MAXDEPTH).
pub const LEVELS: usize = 8;
const PRIORITIES: usize = 2;
const ROOT: u32 = 0;
/// Bytes of a class in the heap of waiting classes: its entry and its position.
const WAITING_BYTES: usize = size_of::<(Time, u32)>() + size_of::<u32>();
/// No class.
const NONE: u32 = u32::MAX;

/// Data specific to a leaf or to an inner class.
#[derive(Debug)]
enum Kind<P> {
    /// Children that borrow, by priority.
    Inner(Box<[Turns; PRIORITIES]>),
    Leaf(Box<LeafState<P>>),
    /// Leaf that was removed.
    Free,
}

#[derive(Debug)]
struct LeafState<P> {
    user: u32,
    priority: usize,
    quantum: i64,
    /// Deficit at each level.
    deficits: [i64; LEVELS],
    queue: Leaf<P>,
}

#[derive(Debug)]
struct Class<P> {
    parent: u32,
    level: u8,
    mode: Mode,
    /// Priorities at which the class has packets to send, one bit for each.
    active: u8,
    /// `None` for the root: deviation 1.
    bucket: Option<Box<Bucket>>,
    kind: Kind<P>,
    /// Link in the list of idle leaves.
    link: Link,
}

impl<P> Linked for Class<P> {
    fn link(&self) -> &Link {
        &self.link
    }
    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

impl<P> Class<P> {
    fn leaf(&mut self) -> &mut LeafState<P> {
        match &mut self.kind {
            Kind::Leaf(leaf) => leaf,
            Kind::Inner(_) | Kind::Free => unreachable!("a class at level 0 is a leaf"),
        }
    }

    fn feeds(&mut self) -> &mut [Turns; PRIORITIES] {
        match &mut self.kind {
            Kind::Inner(feeds) => feeds,
            Kind::Leaf(_) | Kind::Free => unreachable!("a class above others is no leaf"),
        }
    }
}

/// Priorities whose bit is set.
fn priorities(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIORITIES).filter(move |priority| mask >> priority & 1 == 1)
}

/// The tree of one port.
#[derive(Debug)]
pub struct Htb<P> {
    classes: Vec<Class<P>>,
    free: Vec<u32>,
    of_user: FlowTable<u32>,
    /// Classes that can send, by level and priority.
    rows: [[Turns; PRIORITIES]; LEVELS],
    /// Times at which classes must be checked again.
    waiting: IndexedHeap<Time>,
    /// Leaves without packets; the leaf idle for the longest time is first.
    idle: IntrusiveList,
    backlog: Backlog,
    tree: ClassTree,
    weights: Weights,
    params: HtbParams,
    buffer: BufferParams,
    work: Work,
}

/// Counters so far.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    sent: u64,
    borrowed: u64,
    charged: u64,
    mode_changes: u64,
}

/// Passes a leaf's drops to the host, with the backlog of the whole port.
struct OfPort<'a, S> {
    drops: &'a mut S,
    found: Backlog,
}

impl<P, S: DropSink<P>> DropSink<P> for OfPort<'_, S> {
    fn dropped(&mut self, packet: &P, reason: DropReason, _: Backlog) {
        self.drops.dropped(packet, reason, self.found);
    }
    fn marked(&mut self, packet: &P) {
        self.drops.marked(packet);
    }
}

impl<P: Packet> Htb<P> {
    /// Creates an empty port without a tree.
    #[must_use]
    pub fn new(params: &HtbParams, port: &Port<'_>) -> Self {
        let mut htb = Self {
            classes: Vec::new(),
            free: Vec::new(),
            of_user: FlowTable::default(),
            rows: Default::default(),
            waiting: IndexedHeap::default(),
            idle: IntrusiveList::default(),
            backlog: Backlog::default(),
            tree: ClassTree::default(),
            weights: port.weights.clone(),
            params: params.clone(),
            buffer: port.buffer.clone(),
            work: Work::default(),
        };
        htb.add_inner(&ClassSpec { parent: None, rate: port.rate, ceil: None });
        htb
    }

    fn add_inner(&mut self, spec: &ClassSpec) {
        self.add(spec, Kind::Inner(Box::default()), Time::ZERO);
    }

    /// Adds a class with full tokens.
    fn add(&mut self, spec: &ClassSpec, kind: Kind<P>, now: Time) -> u32 {
        let is_leaf = matches!(kind, Kind::Leaf(_));
        let level = match spec.parent {
            Some(_) if is_leaf => 0,
            Some(parent) => self.classes[parent as usize].level.checked_sub(1).expect("a tree has at most 8 levels"),
            None => LEVELS as u8 - 1,
        };
        let class = Class {
            parent: spec.parent.unwrap_or(NONE),
            level,
            mode: Mode::CanSend,
            active: 0,
            // Deviation 1: the root has no bucket.
            bucket: spec.parent.map(|_| Box::new(Bucket::new(spec, &self.params, now))),
            kind,
            link: Link::NONE,
        };
        if let Some(place) = self.free.pop() {
            self.classes[place as usize] = class;
            return place;
        }
        self.classes.push(class);
        self.classes.len() as u32 - 1
    }

    /// Rates of the leaf of a user.
    fn spec_of(&self, user: u32) -> ClassSpec {
        self.tree.leaf(user).unwrap_or_else(|| {
            let rate = BitRate(((self.params.rate.as_f64() * self.weights.of(user)).round() as u64).max(1000));
            let ceil = self.params.ceil;
            ClassSpec { parent: Some(ROOT), rate: ceil.map_or(rate, |ceil| rate.min(ceil)), ceil }
        })
    }

    /// Leaf of a packet's user; adds one if necessary.
    fn leaf_of(&mut self, packet: &P, now: Time) -> u32 {
        let user = packet.user();
        if let Some(&leaf) = self.of_user.get(user) {
            return leaf;
        }
        self.close_idle(now);
        let spec = self.spec_of(user);
        // Rule (8).
        let by_rate = (spec.rate.0 / 8 / u64::from(self.params.r2q)).clamp(1000, 200_000);
        let state = LeafState {
            user,
            // Deviation 3: two priorities.
            priority: usize::from(packet.class() != TrafficClass::Expedited),
            quantum: self.params.quantum.map_or(by_rate, |quantum| quantum.0).cast_signed(),
            deficits: [0; LEVELS],
            queue: Leaf::new(&self.params, &self.buffer),
        };
        let leaf = self.add(&spec, Kind::Leaf(Box::new(state)), now);
        self.of_user.insert(user, leaf);
        self.idle.push_back(&mut self.classes, leaf);
        leaf
    }

    /// Removes idle leaves: deviation 4.
    fn close_idle(&mut self, now: Time) {
        while let Some(leaf) = self.idle.front() {
            let class = &mut self.classes[leaf as usize];
            if !class.bucket.as_ref().is_some_and(|bucket| bucket.is_full_at(now)) {
                return;
            }
            let user = class.leaf().user;
            (class.kind, class.bucket) = (Kind::Free, None);
            self.idle.remove(&mut self.classes, leaf);
            self.waiting.remove(leaf);
            self.of_user.remove(user);
            self.free.push(leaf);
        }
    }

    /// Applies rule (2) after a class has changed its mode, or has begun or ceased to have packets at these priorities.
    fn connect(&mut self, mut class: u32, mut mask: u8, is_on: bool) {
        while mask != 0 {
            let Class { mode, parent, level, .. } = self.classes[class as usize];
            match mode {
                Mode::CannotSend => return,
                Mode::CanSend => {
                    priorities(mask).for_each(|priority| _ = self.rows[usize::from(level)][priority].set(class, is_on));
                    return;
                }
                Mode::MayBorrow => {
                    let above = &mut self.classes[parent as usize];
                    let feeds = above.feeds();
                    let changed = priorities(mask).filter(|&priority| feeds[priority].set(class, is_on));
                    let changed = changed.fold(0, |changed, priority| changed | 1 << priority);
                    above.active = if is_on { above.active | changed } else { above.active & !changed };
                    (class, mask) = (parent, changed);
                }
            }
        }
    }

    /// Updates the mode of a class: rules (1) and (7).
    fn update(&mut self, class: u32, now: Time) {
        let state = &self.classes[class as usize];
        let Some(bucket) = &state.bucket else { return };
        let (mode, again) = bucket.mode_at(now);
        let active = state.active;
        if mode != state.mode {
            self.work.mode_changes += 1;
            self.connect(class, active, false);
            self.classes[class as usize].mode = mode;
            self.connect(class, active, true);
        }
        if mode == Mode::CanSend {
            self.waiting.remove(class);
        } else {
            self.waiting.set(class, again);
        }
    }

    /// Applies rule (7).
    fn look_again(&mut self, now: Time) {
        while let Some((time, class)) = self.waiting.first()
            && time <= now
        {
            self.update(class, now);
        }
    }

    /// Returns level and priority by rule (3).
    fn next_row(&self) -> Option<(usize, usize)> {
        let rows = (0..LEVELS).flat_map(|level| (0..PRIORITIES).map(move |priority| (level, priority)));
        rows.into_iter().find(|&(level, priority)| !self.rows[level][priority].is_empty())
    }

    /// Leaf whose turn it is: rule (4). The turn of a class ends after the turns of all its children.
    fn next_leaf(&mut self, level: usize, priority: usize) -> u32 {
        let (mut way, mut depth) = ([NONE; LEVELS], 0);
        loop {
            let turns = self.turns(&way, depth, level, priority);
            let Some(class) = turns.at() else {
                turns.rewind();
                if depth > 0 {
                    depth -= 1;
                    let over = way[depth];
                    self.turns(&way, depth, level, priority).pass(over);
                }
                continue;
            };
            if self.classes[class as usize].level == 0 {
                return class;
            }
            way[depth] = class;
            depth += 1;
        }
    }

    /// Returns the row of `level` if `depth` is 0, otherwise the feed of the last of the first `depth` classes of
    /// `way`.
    fn turns(&mut self, way: &[u32; LEVELS], depth: usize, level: usize, priority: usize) -> &mut Turns {
        match depth {
            0 => &mut self.rows[level][priority],
            _ => &mut self.classes[way[depth - 1] as usize].feeds()[priority],
        }
    }

    /// Applies rule (4) after a leaf has sent these bytes in its turn.
    fn take_turn(&mut self, leaf: u32, level: usize, wire_bytes: u32) {
        let class = &mut self.classes[leaf as usize];
        let parent = class.parent;
        let state = class.leaf();
        let priority = state.priority;
        state.deficits[level] -= i64::from(wire_bytes);
        if state.deficits[level] >= 0 {
            return;
        }
        state.deficits[level] += state.quantum;
        match level {
            0 => self.rows[0][priority].pass(leaf),
            _ => self.classes[parent as usize].feeds()[priority].pass(leaf),
        }
    }

    /// Applies rule (5).
    fn charge(&mut self, leaf: u32, level: usize, wire_bytes: u32, now: Time) {
        self.work.sent += 1;
        self.work.borrowed += u64::from(level > 0);
        let mut class = leaf;
        while class != NONE {
            let state = &mut self.classes[class as usize];
            let above = state.parent;
            if let Some(bucket) = &mut state.bucket {
                bucket.spend(wire_bytes, usize::from(state.level) >= level, now);
                self.work.charged += 1;
                self.update(class, now);
            }
            class = above;
        }
    }

    /// Returns the next packet of a leaf's queue, or `None` if the queue drops all its packets. The flag is true if
    /// more packets wait.
    fn serve(&mut self, leaf: u32, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> (Option<P>, bool) {
        let queue = &mut self.classes[leaf as usize].leaf().queue;
        let before = queue.backlog();
        let packet = queue.dequeue(now, rng, &mut OfPort { drops, found: self.backlog });
        let after = queue.backlog();
        self.backlog.packets -= before.packets - after.packets;
        self.backlog.bytes -= before.bytes - after.bytes;
        (packet, after.packets > 0)
    }

    /// Records that a leaf has no more packets.
    fn rest(&mut self, leaf: u32) {
        let active = self.classes[leaf as usize].active;
        self.connect(leaf, active, false);
        self.classes[leaf as usize].active = 0;
        self.idle.push_back(&mut self.classes, leaf);
    }
}

impl<P: Packet> QueueDiscipline<P> for Box<Htb<P>> {
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let leaf = self.leaf_of(&packet, now);
        let found = self.backlog;
        let state = self.classes[leaf as usize].leaf();
        let (priority, queue) = (state.priority, &mut state.queue);
        let before = queue.backlog();
        queue.enqueue(packet, now, rng, &mut OfPort { drops, found });
        let after = queue.backlog();
        self.backlog.packets = self.backlog.packets + after.packets - before.packets;
        self.backlog.bytes = self.backlog.bytes + after.bytes - before.bytes;
        if after.packets > 0 && self.classes[leaf as usize].active == 0 {
            self.idle.remove(&mut self.classes, leaf);
            self.classes[leaf as usize].active = 1 << priority;
            self.connect(leaf, 1 << priority, true);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        self.look_again(now);
        while let Some((level, priority)) = self.next_row() {
            let leaf = self.next_leaf(level, priority);
            let (packet, more) = self.serve(leaf, now, rng, drops);
            if let Some(packet) = &packet {
                self.take_turn(leaf, level, packet.wire_bytes());
            }
            if !more {
                self.rest(leaf);
            }
            if let Some(packet) = packet {
                self.charge(leaf, level, packet.wire_bytes(), now);
                return Some(packet);
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn ready_at(&self) -> Option<Time> {
        if self.backlog.packets == 0 {
            return None;
        }
        self.waiting.first().map(|(time, _)| time)
    }

    fn set_classes(&mut self, classes: ClassTree) {
        // The first class is the root, which always exists.
        classes.inner().iter().skip(1).for_each(|spec| self.add_inner(spec));
        self.tree = classes;
    }

    fn state_size(&self) -> StateSize {
        let present = self.classes.len() - self.free.len();
        let of_class = |class: &Class<P>| match &class.kind {
            Kind::Inner(_) => size_of::<[Turns; PRIORITIES]>(),
            Kind::Leaf(leaf) => size_of::<LeafState<P>>() + leaf.queue.state_bytes(),
            Kind::Free => 0,
        };
        let buckets = self.classes.iter().filter(|class| class.bucket.is_some()).count() * size_of::<Bucket>();
        let classes: usize = present * size_of::<Class<P>>() + self.classes.iter().map(of_class).sum::<usize>();
        let tables = self.of_user.bytes() + present * WAITING_BYTES;
        let bytes = size_of::<Htb<P>>() + classes + buckets + tables + self.tree.bytes();
        StateSize { records: present, bytes }
    }

    fn report(&self, report: Report<'_>) {
        let per_packet = |count: u64| count as f64 / self.work.sent.max(1) as f64;
        report("borrowed_share", per_packet(self.work.borrowed));
        report("buckets_per_packet", per_packet(self.work.charged));
        report("mode_changes_per_packet", per_packet(self.work.mode_changes));
        report("held_classes", self.classes.iter().filter(|class| class.mode == Mode::CannotSend).count() as f64);
    }
}

#[cfg(test)]
mod tests;
