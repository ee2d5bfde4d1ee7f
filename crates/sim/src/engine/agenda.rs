//! What happens next: one event for each entity, and always the earliest at hand.
//!
//! Entities are numbered: the control entry first, then links, hosts, sources, web sources, flows. That is also the
//! order of events at equal times; of a host, a packet comes before an acknowledgement. Links and lanes, few and always
//! busy, have their events in the small [`Front`], all others in the [`EventSet`].

use crate::engine::event_set::EventSet;
use crate::engine::ranked_event_set::Front;
use crate::network::Network;
use crate::network::hosts::{Hosts, NextOf};
use crate::network::link::Link;
use fairlane_schemes::units::Time;

const CONTROL: u32 = 0;
const FIRST_LINK: u32 = 1;

/// What the earliest event is about, with its index among its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The warm-up is over.
    Control,
    /// A packet reaches the far end of a link.
    Link(u32),
    /// A packet of a lane reaches the edge node.
    UpLane(u32),
    /// An acknowledgement of a lane reaches its host.
    DownLane(u32),
    /// A packet reaches the edge node from this host, or an acknowledgement the host; in no lane.
    Host(u32),
    /// A source that does not react sends.
    Source(u32),
    /// A transfer of a web source starts.
    Web(u32),
    /// A TCP flow starts, or one of its timers may be due.
    Flow(u32),
}

/// The events of all entities of a network.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Links, then lanes up, then lanes down.
    front: Front,
    /// The others, by number.
    others: EventSet,
    // First entity of each kind.
    hosts: u32,
    sources: u32,
    webs: u32,
    flows: u32,
    // First slot of lanes in the front; links have the slots before.
    up_lanes: u32,
    down_lanes: u32,
}

/// The order of an entity's event among those due at the same time; one more for an acknowledgement.
fn rank(entity: u32) -> u32 {
    2 * entity
}

impl Agenda {
    /// What a network has to do at first, and the end of its warm-up.
    #[must_use]
    pub fn new(network: &Network, warmup: Time) -> Self {
        let hosts = FIRST_LINK + network.links.len() as u32;
        let sources = hosts + network.hosts.len() as u32;
        let webs = sources + network.sources.len() as u32;
        let flows = webs + network.webs.len() as u32;
        let up_lanes = network.links.len() as u32;
        let (up, down) = network.hosts.lanes();
        let down_lanes = up_lanes + up;
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
        let front = Front::new((down_lanes + down) as usize);
        Self { front, others, hosts, sources, webs, flows, up_lanes, down_lanes }
    }

    /// The earliest event and when it is due; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> (Time, Event) {
        let (time, order, slot) = self.front.next();
        let (other, entity) = self.others.next();
        if (time, order) <= (other, rank(entity)) {
            (time, self.of_slot(slot))
        } else {
            (other, self.of_entity(entity))
        }
    }

    #[inline]
    fn of_slot(&self, slot: u32) -> Event {
        if slot < self.up_lanes {
            Event::Link(slot)
        } else if slot < self.down_lanes {
            Event::UpLane(slot - self.up_lanes)
        } else {
            Event::DownLane(slot - self.down_lanes)
        }
    }

    #[inline]
    fn of_entity(&self, entity: u32) -> Event {
        if entity == CONTROL {
            Event::Control
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

    /// The control entry has been handled.
    pub fn end_control(&mut self) {
        self.others.set(CONTROL, Time::NEVER);
    }

    /// The first packet on its way over a link is another.
    #[inline]
    pub fn set_link(&mut self, number: u32, link: &Link) {
        self.front.set(number, link.next_arrival(), rank(FIRST_LINK + number));
    }

    /// The first of a lane up is another.
    #[inline]
    pub fn set_up_lane(&mut self, lane: u32, hosts: &Hosts) {
        let (time, user) = hosts.next_up(lane);
        self.front.set(self.up_lanes + lane, time, rank(self.hosts + user));
    }

    /// The first of a lane down is another.
    #[inline]
    pub fn set_down_lane(&mut self, lane: u32, hosts: &Hosts) {
        let (time, user) = hosts.next_down(lane);
        self.front.set(self.down_lanes + lane, time, rank(self.hosts + user) + 1);
    }

    /// What is first in the lines of a host is another.
    #[inline]
    pub fn set_host(&mut self, user: u32, hosts: &Hosts) {
        self.others.set(self.hosts + user, hosts.next_event(user));
    }

    /// A packet has been sent over the access link of `user`.
    #[inline]
    pub fn sent_up(&mut self, user: u32, next: NextOf, hosts: &Hosts) {
        match next {
            NextOf::Nobody => {}
            NextOf::Lane(lane) => self.set_up_lane(lane, hosts),
            NextOf::Host => self.others.set_earlier(self.hosts + user, hosts.next_event(user)),
        }
    }

    /// An acknowledgement has been sent to `user`.
    #[inline]
    pub fn sent_down(&mut self, user: u32, next: NextOf, hosts: &Hosts) {
        match next {
            NextOf::Nobody => {}
            NextOf::Lane(lane) => self.set_down_lane(lane, hosts),
            NextOf::Host => self.others.set_earlier(self.hosts + user, hosts.next_event(user)),
        }
    }

    /// When a source next sends.
    #[inline]
    pub fn set_source(&mut self, source: u32, time: Time) {
        self.others.set(self.sources + source, time);
    }

    /// When a web source next starts a transfer.
    pub fn set_web(&mut self, web: u32, time: Time) {
        self.others.set(self.webs + web, time);
    }

    /// When a flow next has something to do; of a flow that the network got a moment ago too.
    #[inline]
    pub fn set_flow(&mut self, flow: u32, time: Time) {
        let entity = self.flows + flow;
        if entity as usize >= self.others.entities() {
            self.others.grow(2 * (entity as usize + 1));
        }
        self.others.set(entity, time);
    }
}
