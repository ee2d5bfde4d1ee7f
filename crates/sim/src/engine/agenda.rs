//! The next event of each entity, and the earliest of all.
//!
//! Entities are numbered in this order: control entry, links, impairments, hosts, sources, web sources, video players,
//! flows. Simultaneous events are handled in the same order; for a host, packets come before acknowledgements. The few
//! entities that are always busy (links, shared lines, calendars) have a small [`RankedEventSet`]. All other entities
//! are in the [`EventSet`].

use crate::engine::event::Event;
use crate::engine::event_set::EventSet;
use crate::engine::ranked_event_set::RankedEventSet;
use crate::network::Network;
use crate::network::hosts::{Earlier, Hosts, Queue};
use crate::network::link::Link;
use fairlane_schemes::base::units::Time;

const CONTROL: u32 = 0;
const FIRST_LINK: u32 = 1;

/// Events of all entities of a network.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Events of links, shared upstream lines and shared downstream lines, in this order. The calendars of packets and
    /// of acknowledgements follow if hosts use them.
    busy: RankedEventSet,
    /// Events of all other entities, by number.
    others: EventSet,
    // First entity of each kind.
    impairments: u32,
    hosts: u32,
    sources: u32,
    webs: u32,
    flows: u32,
    // First slot of shared lines in `busy`, and slots of the calendars. Links have the first slots.
    shared_up: u32,
    shared_down: u32,
    calendar: u32,
    ack_calendar: u32,
}

/// Rank of an entity's event among simultaneous events. For a host, this is the rank of a packet, and an
/// acknowledgement has the next higher rank.
fn rank(entity: u32) -> u32 {
    2 * entity
}

/// Returns true if an event of a busy entity precedes a simultaneous event of another entity.
#[cold]
#[inline(never)]
fn is_before(rank: u32, other: u32) -> bool {
    rank <= other
}

/// Direction on an access link: packets go up, acknowledgements down.
#[derive(Clone, Copy, Debug)]
pub enum Direction {
    /// Towards the edge node.
    Up,
    /// Towards the host.
    Down,
}

impl Agenda {
    /// Creates the initial events of a network, including the end of its warm-up.
    #[must_use]
    pub fn new(network: &Network, warmup: Time) -> Self {
        let impairments = FIRST_LINK + network.links.len() as u32;
        let hosts = impairments + network.impairments.len() as u32;
        let sources = hosts + network.hosts.len() as u32;
        let webs = sources + network.sources.len() as u32;
        // Video players are numbered after the web sources.
        let flows = webs + (network.webs.len() + network.players.len()) as u32;
        let shared_up = network.links.len() as u32;
        let (up, down) = (&network.hosts.up, &network.hosts.down);
        let shared_down = shared_up + up.shared_lines();
        let mut others = EventSet::new(flows as usize + network.flows.len());
        for (entity, source) in (sources..).zip(&network.sources) {
            others.set(entity, source.next());
        }
        for (entity, web) in (webs..).zip(&network.webs) {
            others.set(entity, web.next());
        }
        for (entity, flow) in (flows..).zip(&network.flows) {
            others.set(entity, flow.start);
        }
        others.set(CONTROL, warmup);
        let calendar = shared_down + down.shared_lines();
        let ack_calendar = calendar + u32::from(up.has_calendar());
        let busy = RankedEventSet::new((ack_calendar + u32::from(down.has_calendar())) as usize);
        Self { busy, others, impairments, hosts, sources, webs, flows, shared_up, shared_down, calendar, ack_calendar }
    }

    /// Earliest event and its time; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> (Time, Event) {
        let (time, _, event) = self.next_ranked();
        (time, event)
    }

    /// Like [`Agenda::next`], with the rank of the event among simultaneous events.
    #[must_use]
    #[inline]
    pub fn next_ranked(&self) -> (Time, u32, Event) {
        let (time, order, slot) = self.busy.next();
        let (other, entity) = self.others.next();
        // Compares times first, since they are seldom equal.
        if time < other || (time == other && is_before(order, rank(entity))) {
            (time, order, self.of_slot(slot))
        } else {
            (other, rank(entity), self.of_entity(entity))
        }
    }

    /// Time of the next event.
    #[must_use]
    #[inline]
    pub fn next_time(&self) -> Time {
        self.busy.next().0.min(self.others.next().0)
    }

    /// Time of the next event of entities outside `busy`.
    #[must_use]
    #[inline]
    pub fn next_of_others(&self) -> Time {
        self.others.next().0
    }

    /// Returns the flow with the earliest event of all entities that are not busy; `None` if this event is no flow's.
    #[must_use]
    pub fn next_flow(&self) -> Option<u32> {
        self.others.next().1.checked_sub(self.flows)
    }

    /// Returns the flow with the next higher number that also has an event at `now`.
    #[must_use]
    pub fn flow_due_behind(&self, flow: u32, now: Time) -> Option<u32> {
        Some(self.others.due_behind(self.flows + flow, now)? - self.flows)
    }

    /// Rank among simultaneous events of an arrival at the far end of a link.
    #[must_use]
    pub fn rank_of_link(&self, number: u32) -> u32 {
        rank(FIRST_LINK + number)
    }

    /// Rank among simultaneous events of an arrival at the edge node from a host.
    #[must_use]
    #[inline]
    pub fn rank_of_host(&self, user: u32) -> u32 {
        rank(self.hosts + user)
    }

    #[inline]
    fn of_slot(&self, slot: u32) -> Event {
        if slot < self.shared_up {
            Event::Link(slot)
        } else if slot < self.shared_down {
            Event::SharedUp(slot - self.shared_up)
        } else if slot < self.calendar {
            Event::SharedDown(slot - self.shared_down)
        } else if slot < self.ack_calendar {
            Event::Calendar
        } else {
            Event::AckCalendar
        }
    }

    #[inline]
    fn of_entity(&self, entity: u32) -> Event {
        if entity < self.hosts {
            if entity == CONTROL { Event::Control } else { Event::Impairment(entity - self.impairments) }
        } else if entity < self.sources {
            Event::Host(entity - self.hosts)
        } else if entity < self.webs {
            Event::Source(entity - self.sources)
        } else if entity < self.flows {
            Event::Web(entity - self.webs)
        } else {
            Event::Flow(entity - self.flows)
        }
    }

    /// Sets the time of the control entry.
    pub fn set_control(&mut self, time: Time) {
        self.others.set(CONTROL, time);
    }

    /// Updates an impairment whose next packet changed.
    pub fn set_impairment(&mut self, number: u32, time: Time) {
        self.others.set(self.impairments + number, time);
    }

    /// Updates a link whose first packet in flight changed.
    #[inline(always)]
    pub fn set_link(&mut self, number: u32, link: &Link) {
        self.busy.set(number, link.next_event(), rank(FIRST_LINK + number));
    }

    /// Updates a shared queue whose first arrival changed.
    #[inline(always)]
    pub fn set_first(&mut self, direction: Direction, queue: Queue, (time, user): (Time, u32)) {
        self.busy.set(self.slot(direction, queue), time, self.rank_of_host(user) + direction as u32);
    }

    #[inline(always)]
    fn slot(&self, direction: Direction, queue: Queue) -> u32 {
        match (queue, direction) {
            (Queue::SharedLine(number), Direction::Up) => self.shared_up + number,
            (Queue::SharedLine(number), Direction::Down) => self.shared_down + number,
            (Queue::Calendar, Direction::Up) => self.calendar,
            (Queue::Calendar, Direction::Down) => self.ack_calendar,
        }
    }

    /// Updates a host whose first arrival changed.
    #[inline]
    pub fn set_host(&mut self, user: u32, hosts: &Hosts) {
        self.others.set(self.hosts + user, hosts.next_event(user));
    }

    /// Updates the events after a transmission over the access link of `user`.
    // Always inlined, so that `earlier` is known at compile time.
    #[inline(always)]
    pub fn sent(&mut self, direction: Direction, user: u32, earlier: Earlier) {
        let rank = self.rank_of_host(user) + direction as u32;
        match earlier {
            Earlier::Nothing | Earlier::AtEdge(_) => {}
            Earlier::SharedLine(line, time) => {
                self.busy.put(self.slot(direction, Queue::SharedLine(line)), time, rank);
            }
            Earlier::Calendar(time) => self.set_calendar(self.slot(direction, Queue::Calendar), time, rank),
            Earlier::Host(time) => self.set_host_earlier(user, time),
        }
    }

    #[inline(never)]
    fn set_calendar(&mut self, slot: u32, time: Time, rank: u32) {
        self.busy.set(slot, time, rank);
    }

    #[inline(never)]
    fn set_host_earlier(&mut self, user: u32, time: Time) {
        self.others.set_earlier(self.hosts + user, time);
    }

    /// Sets the next send time of a source.
    #[inline]
    pub fn set_source(&mut self, source: u32, time: Time) {
        self.others.set(self.sources + source, time);
    }

    /// Sets the next transfer start of a web source, or the next action of a video player (numbered after the web
    /// sources).
    pub fn set_web(&mut self, web: u32, time: Time) {
        self.others.set(self.webs + web, time);
    }

    /// Sets the next event of a flow, possibly a newly created one.
    #[inline]
    pub fn set_flow(&mut self, flow: u32, time: Time) {
        let entity = self.flows + flow;
        if entity as usize >= self.others.entities() {
            self.others.grow(2 * (entity as usize + 1));
        }
        self.others.set(entity, time);
    }

    /// Sets the next event of a flow to `time`, which precedes its previous one.
    #[inline(never)]
    pub fn set_flow_earlier(&mut self, flow: u32, time: Time) {
        self.others.set_earlier(self.flows + flow, time);
    }
}
