//! The forwarder without clock and sockets: ports, and a bridge or router. The caller passes the time.
//!
//! Frames carry their arrival times. The steps after the arrival are the end of the emulated link, the decision of the
//! scheme, and the end of the transmission. The time of each step is computed from earlier times, and does not depend
//! on when the host executes it. A late host sends late, but decides as if it were in time. The same frames at the same
//! times give the same result on any host.

use super::bridge::{Bridge, Target};
use super::config::{ForwardConfig, Port};
use super::egress::EgressLink;
use super::frame_pool::{FrameId, FramePool, Layout};
use super::ingress::IngressLink;
use super::packet::NodePacket;
use super::router::{ARP_FRAME_BYTES, Action, Instead, Reason, Router};
use super::stats::{EgressStats, IngressStats};
use crate::config::ClassRule;
use crate::control::Control;
use crate::frame::{Frame, UserIndex};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::packet::TrafficClass;
use serde_json::{Map, Value as Json, json};

/// Aligns frames to cache lines.
const LINE_BYTES: usize = 64;
/// If the earliest due packet is later than this, the host sends port by port (see `next_burst`).
const FAR_BEHIND: Time = Time::from_millis(1);

/// A port, and the time up to which it may send because no other port has an earlier packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Index of the port.
    pub port: usize,
    /// Time up to which packets of the port may be sent.
    pub until: Time,
}

#[derive(Debug)]
struct PortState {
    interface: String,
    ingress: IngressLink,
    received: IngressStats,
    egress: EgressLink,
}

/// Method that selects the port of a frame.
#[derive(Debug)]
enum Paths {
    Bridge(Bridge),
    Router(Router),
}

impl Paths {
    fn of(config: &ForwardConfig) -> Self {
        let addresses: Option<Vec<_>> = config.ports.iter().map(|port| port.address).collect();
        match addresses {
            Some(addresses) => {
                let mtu = |port: &Port| port.egress.params.mtu.map(|mtu| mtu.0 as u16);
                Self::Router(Router::new(addresses, &config.routes, config.ports.iter().map(mtu).collect()))
            }
            None => Self::Bridge(Bridge::new(config.ports.iter().map(|port| port.peer).collect())),
        }
    }
}

/// All ports and the frames between them.
#[derive(Debug)]
pub struct Core {
    ports: Vec<PortState>,
    paths: Paths,
    users: UserIndex,
    classes: Vec<ClassRule>,
    user_names: Vec<String>,
    pool: FramePool,
    now: Time,
    since: Time,
}

impl Core {
    /// Creates idle ports at time zero, with the forwarder's own memory.
    #[must_use]
    pub fn new(config: &ForwardConfig) -> Self {
        let forward = &config.forward;
        let chunk_bytes = (forward.frame_size.0 as usize).next_multiple_of(LINE_BYTES);
        Self::with_layout(config, Layout { frames: forward.frames, for_kernel: 0, chunk_bytes, headroom: 0 })
    }

    /// Creates idle ports at time zero, with the memory that the socket type requires.
    #[must_use]
    pub fn with_layout(config: &ForwardConfig, layout: Layout) -> Self {
        let meters = config.meters();
        let ports = config.ports.iter().enumerate().map(|(number, port)| PortState {
            interface: port.interface.clone(),
            ingress: IngressLink::new(port.ingress.clone()),
            received: IngressStats::default(),
            egress: EgressLink::new(&port.egress, &meters, config.forward.seed, number),
        });
        let prefixes: Vec<_> = config.users.iter().map(|user| user.prefix).collect();
        Self {
            ports: ports.collect(),
            paths: Paths::of(config),
            users: UserIndex::new(&prefixes),
            classes: config
                .users
                .iter()
                .map(|user| user.params.traffic_class)
                .chain([config.default_user.traffic_class])
                .collect(),
            user_names: config.users.iter().map(|user| user.name.clone()).chain(["default".into()]).collect(),
            pool: FramePool::new(layout),
            now: Time::ZERO,
            since: Time::ZERO,
        }
    }

    /// Number of ports.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Shortest delay of an emulated link to a port. Every frame has its first event at least this time after its
    /// arrival.
    #[must_use]
    pub fn shortest_line(&self) -> Time {
        self.ports.iter().map(|port| port.ingress.delay()).min().unwrap_or(Time::ZERO)
    }

    /// Receive counters of `port`.
    pub fn received(&mut self, port: usize) -> &mut IngressStats {
        &mut self.ports[port].received
    }

    /// Send counters of `port`.
    pub fn sent(&mut self, port: usize) -> &mut EgressStats {
        &mut self.ports[port].egress.stats
    }

    /// Accepts a frame, given in two parts, that arrived at `port` at time `at`. Times at one port must not decrease.
    #[inline]
    pub fn arrive(&mut self, port: usize, head: &[u8], tail: &[u8], at: Time) {
        let state = &mut self.ports[port];
        let Some(id) = self.pool.store(head, tail) else {
            state.received.no_frame += 1;
            return;
        };
        self.arrive_in_place(port, id, at);
    }

    /// Accepts a frame of the pool that arrived at `port` at time `at`.
    #[inline]
    pub fn arrive_in_place(&mut self, port: usize, id: FrameId, at: Time) {
        let state = &mut self.ports[port];
        let bytes = self.pool.frame(id);
        let frame = Frame::parse(bytes);
        let user = self.users.of(frame.source);
        // The DSCP of configured users is not trusted, so these users cannot send control traffic.
        let is_control = frame.is_control && user as usize + 1 == self.classes.len();
        let is_expedited = match self.classes[user as usize] {
            ClassRule::BestEffort => false,
            ClassRule::Expedited => true,
            ClassRule::Dscp => frame.is_expedited,
        };
        let packet = NodePacket {
            label: 0.0,
            enqueued_at: at,
            frame: id,
            // Limits per-flow schemes to 65 536 records, in case hosts invent flows.
            flow: frame.flow(bytes) & 0xffff,
            user,
            bytes: frame.bytes,
            class: if is_expedited { TrafficClass::Expedited } else { TrafficClass::BestEffort },
            control: if is_control { Control::Transit } else { Control::No },
            ecn: frame.ecn,
            ecn_before: frame.ecn,
        };
        state.received.arrived(packet.bytes, at);
        if let Err(packet) = state.ingress.offer(packet, at) {
            state.received.line_drops += 1;
            self.pool.release(packet.frame);
        }
    }

    /// Executes all steps up to `now`, in order of time.
    pub fn run_until(&mut self, now: Time) {
        while let Some((at, port)) = self.next_arrival()
            && at <= now
        {
            // A frame that was received late leaves its link no earlier than the latest executed step.
            self.now = self.now.max(at);
            self.forward(port);
        }
        self.now = self.now.max(now);
        for port in &mut self.ports {
            port.egress.serve_until(self.now, &mut self.pool);
        }
    }

    /// Time of the next step or due packet; [`Time::NEVER`] if there is none.
    #[must_use]
    pub fn next(&self) -> Time {
        let due = self.ports.iter().map(|port| port.egress.next_due()).min().unwrap_or(Time::NEVER);
        self.next_arrival().map_or(due, |(at, _)| at.min(due))
    }

    /// Returns the next burst of packets due by `now`, if any.
    ///
    /// Packets of all ports leave in the order of their due times. Two ports may share a queue downstream, which would
    /// favour the port that is always served first. A host that is far behind sends port by port, in larger batches.
    #[must_use]
    #[inline]
    pub fn next_burst(&self, now: Time) -> Option<Burst> {
        let (mut due, mut port, mut others) = (Time::NEVER, 0, Time::NEVER);
        for (number, state) in self.ports.iter().enumerate() {
            let next = state.egress.next_due();
            if next < due {
                (due, port, others) = (next, number, due);
            } else {
                others = others.min(next);
            }
        }
        let until = if now.saturating_sub(due) > FAR_BEHIND { now } else { now.min(others) };
        (due <= now).then_some(Burst { port, until })
    }

    /// The next packet of `port` due by `now`, with its due time.
    #[inline]
    pub fn take_due(&mut self, port: usize, now: Time) -> Option<(Time, FrameId)> {
        let (due, packet) = self.ports[port].egress.take_due(now, &mut self.pool)?;
        Some((due, packet.frame))
    }

    /// Frame of a due packet.
    #[must_use]
    #[inline]
    pub fn frame(&self, id: FrameId) -> &[u8] {
        self.pool.frame(id)
    }

    /// Memory of the frames, for sending a burst.
    pub fn pool(&mut self) -> &mut FramePool {
        &mut self.pool
    }

    /// Frees the frame, which has been sent.
    #[inline]
    pub fn release(&mut self, id: FrameId) {
        self.pool.release(id);
    }

    /// Number of frames held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.pool.used()
    }

    /// Returns the counters since the last report and resets them.
    pub fn report(&mut self) -> Json {
        let now = self.now;
        let ports: Vec<Json> = self.ports.iter().map(|port| port.report(&self.user_names, now)).collect();
        let report = json!({"window_s": [self.since.as_secs_f64(), now.as_secs_f64()], "ports": ports});
        for port in &mut self.ports {
            port.received = IngressStats::default();
            port.egress.stats = EgressStats::new(self.user_names.len(), now, port.egress.backlog());
        }
        self.since = now;
        report
    }

    #[inline]
    fn next_arrival(&self) -> Option<(Time, usize)> {
        let (mut first, mut port) = (Time::NEVER, 0);
        for (number, state) in self.ports.iter().enumerate() {
            let next = state.ingress.next();
            if next < first {
                (first, port) = (next, number);
            }
        }
        (first < Time::NEVER).then_some((first, port))
    }

    #[inline]
    fn forward(&mut self, port: usize) {
        let Some(packet) = self.ports[port].ingress.take() else { return };
        let target = match &mut self.paths {
            Paths::Bridge(bridge) => bridge.target(self.pool.frame(packet.frame), port),
            Paths::Router(router) => {
                let action = router.route(self.pool.frame_mut(packet.frame), port, self.now);
                return self.route(packet, port, action);
            }
        };
        match target {
            Target::Port(to) => self.ports[to].egress.offer(packet, self.now, &mut self.pool),
            Target::None => self.pool.release(packet.frame),
            Target::All => self.flood(packet, port),
        }
    }

    #[inline]
    fn route(&mut self, packet: NodePacket, from: usize, action: Action) {
        let stats = &mut self.ports[from].received.router;
        match action {
            Action::Forward(to) => self.ports[to].egress.offer(packet, self.now, &mut self.pool),
            Action::Arp(to, instead) => {
                match instead {
                    Instead::Request => stats.own += 1,
                    Instead::Packet => stats.unresolved += 1,
                }
                self.pool.shorten(packet.frame, ARP_FRAME_BYTES as u32);
                self.offer_own(packet, to);
            }
            Action::Drop(reason) => {
                *match reason {
                    Reason::Own => &mut stats.own,
                    Reason::Refused => &mut stats.refused,
                    Reason::TtlExpired => &mut stats.ttl_expired,
                    Reason::NoRoute => &mut stats.no_route,
                    Reason::Unresolved => &mut stats.unresolved,
                    Reason::TooBig => &mut stats.too_big,
                } += 1;
                self.tell(packet, from, reason);
                self.pool.release(packet.frame);
            }
        }
    }

    /// Sends an ICMP error about a dropped packet to its sender, if an error is required and allowed.
    #[cold]
    fn tell(&mut self, packet: NodePacket, from: usize, reason: Reason) {
        let Paths::Router(router) = &mut self.paths else { return };
        let Some(answer) = router.answer(self.pool.frame(packet.frame), from, reason, self.now) else { return };
        let Some(frame) = self.pool.store(&answer.frame, &[]) else { return };
        self.ports[from].received.router.icmp += 1;
        self.offer_own(NodePacket { frame, ..packet }, answer.port);
    }

    /// Sends a frame of the router itself: ARP or ICMP.
    fn offer_own(&mut self, packet: NodePacket, to: usize) {
        let frame = self.pool.frame(packet.frame);
        let parsed = Frame::parse(frame);
        let user = self.users.of(parsed.source);
        let flow = parsed.flow(frame) & 0xffff;
        let (class, ecn) = (TrafficClass::BestEffort, parsed.ecn);
        let (bytes, control) = (parsed.bytes, if parsed.is_control { Control::Own } else { Control::No });
        let own = NodePacket { flow, user, bytes, class, control, ecn, ecn_before: ecn, ..packet };
        self.ports[to].egress.offer(own, self.now, &mut self.pool);
    }

    fn flood(&mut self, packet: NodePacket, from: usize) {
        for to in 0..self.ports.len() {
            let is_bridged = matches!(&self.paths, Paths::Bridge(bridge) if bridge.is_bridged(to));
            if to == from || !is_bridged {
                continue;
            }
            match self.pool.duplicate(packet.frame) {
                Some(frame) => self.ports[to].egress.offer(NodePacket { frame, ..packet }, self.now, &mut self.pool),
                None => self.ports[from].received.no_frame += 1,
            }
        }
        self.pool.release(packet.frame);
    }
}

impl PortState {
    fn report(&self, users: &[String], now: Time) -> Json {
        let mut readings = Map::new();
        self.egress.readings(&mut |name, value| {
            readings.insert(name.into(), value.into());
        });
        json!({
            "interface": self.interface,
            "ingress": self.received,
            "egress": self.egress.stats.report(self.egress.rate(), users, now),
            "readings": readings,
        })
    }
}

#[cfg(test)]
mod tests;
