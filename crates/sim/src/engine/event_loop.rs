//! The event loop.
//!
//! The loop takes the earliest event of the [`Agenda`] and handles it. See docs/engine.md for the cost model.

use crate::engine::agenda::{Agenda, Direction};
use crate::engine::border::{Border, NoBorder, Parcel};
use crate::engine::event::Event;
use crate::engine::late_deliveries;
use crate::engine::prefetch;
use crate::engine::timers_ahead::TimersAhead;
use crate::measure::recorder::record;
use crate::measure::run_record::{Performance, RunRecord};
use crate::network::hosts::{AckTimes, Earlier, FlowAck, Hosts, Queue};
use crate::network::impairment::{Outcome, Place};
use crate::network::sim_packet::{PacketKind, SimPacket};
use crate::network::tcp_flow::{AtEnd, Span, TcpFlow};
use crate::network::{Entry, Hop, Network, Stopping};
use crate::scenario::Scenario;
use crate::traffic::tcp::Ack;
use crate::traffic::video_player::Awaits;
use crate::watch::observer::{LinkObserver, NoObserver, Observer};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::QueueDiscipline;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of events between two checks of the cancellation flag. Handling them takes well below a millisecond.
pub(super) const EVENTS_PER_CHECK: u64 = 4096;

/// Reason for a missing record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Cancelled, or stopped by the observer.
    Cancelled,
    /// An external scheme or congestion control failed; the message has one line.
    ExternalFailed(String),
}

/// Runs one replication of a scenario and returns its record, or `None` if `cancelled` was set.
#[must_use]
pub fn run(scenario: &Scenario, replication: u32, cancelled: &AtomicBool) -> Option<RunRecord> {
    observe(scenario, replication, cancelled, &mut NoObserver)
}

/// Like [`run`], with an observer. Also returns `None` if the observer stops the run.
#[must_use]
pub fn observe(
    scenario: &Scenario,
    replication: u32,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Option<RunRecord> {
    try_observe(scenario, replication, cancelled, observer).ok()
}

/// Like [`observe`], but returns the reason for a missing record.
///
/// # Errors
/// The run was cancelled, its observer stopped it, or an external scheme or congestion control failed.
pub fn try_observe(
    scenario: &Scenario,
    replication: u32,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<RunRecord, Stop> {
    let cpu_start = cpu_seconds();
    let (network, handled) = run_whole(scenario, replication, cancelled, observer)?;
    let record = recorded(scenario, replication, &network, handled);
    Ok(RunRecord { cpu_seconds: cpu_seconds().zip(cpu_start).map(|(end, start)| end - start), ..record })
}

/// Record of a network at the end of its run, without CPU time.
pub(super) fn recorded(scenario: &Scenario, replication: u32, network: &Network, events: u64) -> RunRecord {
    let delivered_packets = network.links.iter().map(|link| link.accounting().departed).sum();
    record(scenario, replication, network, Performance { delivered_packets, events })
}

/// Returns the record of a run before its start, with the groups, links and readings that the run will measure.
#[must_use]
pub fn unstarted(scenario: &Scenario) -> RunRecord {
    recorded(scenario, 0, &Network::new(scenario, 0), 0)
}

/// Runs one replication. Returns the final network and the number of handled events, or `None` if `cancelled` was set.
#[must_use]
pub fn simulate(scenario: &Scenario, replication: u32, cancelled: &AtomicBool) -> Option<(Network, u64)> {
    run_whole(scenario, replication, cancelled, &mut NoObserver).ok()
}

/// Simulates the whole network on this thread. Returns the final network and the number of handled events.
fn run_whole(
    scenario: &Scenario,
    replication: u32,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(Network, u64), Stop> {
    // Loops with a reverse link or hooks are compiled separately, so that both cost nothing if they are not used.
    // Observers in browsers always look, so the other loops would only make the page larger.
    match (observer.looks() || cfg!(target_family = "wasm"), scenario.topology.has_reverse_link) {
        (false, false) => {
            EventLoop::<_, false>::new(scenario, replication, observer, NoBorder::<false>).ended(cancelled)
        }
        (false, true) => EventLoop::<_, false>::new(scenario, replication, observer, NoBorder::<true>).ended(cancelled),
        (true, false) => EventLoop::<_, true>::new(scenario, replication, observer, NoBorder::<false>).ended(cancelled),
        (true, true) => EventLoop::<_, true>::new(scenario, replication, observer, NoBorder::<true>).ended(cancelled),
    }
}

/// CPU time of this thread in seconds, if the system provides it.
#[cfg(not(target_family = "wasm"))]
pub(super) fn cpu_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

/// Browsers do not provide CPU times.
#[cfg(target_family = "wasm")]
pub(super) fn cpu_seconds() -> Option<f64> {
    None
}

/// The loop. Hooks of the observer are called if `LOOKS` is set.
pub(super) struct EventLoop<'a, B, const LOOKS: bool> {
    observer: &'a mut dyn Observer,
    pub(super) network: Network,
    pub(super) agenda: Agenda,
    /// Border to the other parts of the network, if the network is partitioned.
    pub(super) border: B,
    warmup: Time,
    pub(super) end: Time,
    pub(super) handled: u64,
    /// Link whose deliveries may be late, if any; see `late_deliveries`.
    late_link: Option<u32>,
    /// True if prefetching saves time, because the network has many flows.
    prefetches: bool,
    timers_ahead: TimersAhead,
}

impl<'a, B: Border, const LOOKS: bool> EventLoop<'a, B, LOOKS> {
    pub(super) fn new(scenario: &Scenario, replication: u32, observer: &'a mut dyn Observer, border: B) -> Self {
        let mut network = Network::new(scenario, replication);
        let agenda = Agenda::new(&network, scenario.run.warmup.min(network.next_stop()));
        let is_exact = LOOKS || B::EXISTS || B::TWO_WAY || scenario.has_shaper();
        let slack = if is_exact { None } else { late_deliveries::slack(&network) };
        if let Some((link, slack)) = slack {
            network.links[link as usize].set_slack(slack);
        }
        // Always true in debug builds, so tests cover the code for large networks.
        let prefetches = cfg!(debug_assertions) || network.flows.len() >= prefetch::MANY_FLOWS;
        let (warmup, end) = (scenario.run.warmup, scenario.run.end());
        Self {
            observer,
            network,
            agenda,
            border,
            warmup,
            end,
            handled: 0,
            late_link: slack.map(|(link, _)| link),
            prefetches,
            timers_ahead: TimersAhead::default(),
        }
    }

    fn ended(mut self, cancelled: &AtomicBool) -> Result<(Network, u64), Stop> {
        self.run(cancelled)?;
        Ok((self.network, self.handled))
    }

    /// Handles all events before the end.
    fn run(&mut self, cancelled: &AtomicBool) -> Result<(), Stop> {
        self.observer.started(&self.network);
        let mut reached = Time::ZERO;
        loop {
            self.observer.reached(reached, self.handled);
            if cancelled.load(Ordering::Relaxed) || self.observer.gives_up() {
                return Err(Stop::Cancelled);
            }
            self.check_externals()?;
            self.network.count_losses();
            for _ in 0..EVENTS_PER_CHECK {
                let now = self.agenda.next_time();
                if now >= self.end {
                    if !self.deliver_until(Time(self.end.0 - 1)) {
                        continue;
                    }
                    self.finish();
                    return self.check_externals();
                }
                debug_assert!(self.late_link.is_some() || now >= reached, "{now:?} after {reached:?}");
                self.handled += 1;
                if LOOKS {
                    self.observer.advanced(now, &self.network);
                }
                // Determined here, so that each kind of event branches to its code directly.
                let (_, event) = self.agenda.next();
                self.handle(event, now);
                reached = now;
            }
        }
    }

    pub(super) fn finish(&mut self) {
        for (number, link) in (0..).zip(&mut self.network.links) {
            link.finish(self.end, &mut LinkObserver { observer: self.observer, link: number });
        }
        self.network.count_losses();
        self.observer.finished(self.end, &self.network);
    }

    /// Removes the events of sources, web sessions, players and flows whose users belong to other parts of the network.
    pub(super) fn keep_own_events(&mut self) {
        let Self { network, agenda, border, .. } = self;
        let foreign = |user: u32| !border.has_user(user);
        for (number, _) in (0..).zip(&network.sources).filter(|(_, source)| foreign(source.user())) {
            agenda.set_source(number, Time::NEVER);
        }
        for (number, _) in (0..).zip(&network.webs).filter(|(_, web)| foreign(web.user)) {
            agenda.set_web(number, Time::NEVER);
        }
        let of_players = network.players.iter().map(|player| network.flows[player.flow as usize].user);
        for (number, _) in (network.webs.len() as u32..).zip(of_players).filter(|(_, user)| foreign(*user)) {
            agenda.set_web(number, Time::NEVER);
        }
        for (number, _) in (0..).zip(&network.flows).filter(|(_, flow)| foreign(flow.user)) {
            agenda.set_flow(number, Time::NEVER);
        }
    }

    fn check_externals(&self) -> Result<(), Stop> {
        let of_links = self.network.links.iter().find_map(|link| link.discipline().failure());
        let failure = of_links.or_else(|| self.network.failed_control());
        failure.map_or(Ok(()), |problem| Err(Stop::ExternalFailed(problem.into())))
    }

    #[inline]
    pub(super) fn handle(&mut self, event: Event, now: Time) {
        match event {
            Event::Link(link) => self.on_arrival(link, now),
            Event::SharedUp(line) => self.on_up(Queue::SharedLine(line), now),
            Event::Calendar => self.on_calendar(now),
            Event::SharedDown(line) => self.on_down(Queue::SharedLine(line), now),
            Event::AckCalendar => self.on_ack_calendar(now),
            Event::Host(user) => self.on_host(user, now),
            Event::Impairment(number) => self.on_impairment(number, now),
            Event::Source(source) => self.on_source(source, now),
            Event::Web(web) => self.on_web(web, now),
            Event::Flow(flow) => self.on_timer(flow, now),
            Event::Control => self.on_control(now),
        }
    }

    /// Handles the end of the warm-up, or the stop of sources.
    #[cold]
    fn on_control(&mut self, now: Time) {
        if !self.deliver_until(Time(now.0.saturating_sub(1))) {
            self.handled -= 1;
            return;
        }
        if now == self.warmup {
            self.start_measurement(now);
        }
        while let Some(stopping) = self.network.stopping(now) {
            match stopping {
                Stopping::Flows(params) => self.network.stop_flows(params),
                Stopping::Source(source) => {
                    self.network.sources[source as usize].stop();
                    self.agenda.set_source(source, Time::NEVER);
                }
            }
        }
        let next = self.network.next_stop();
        let warmup = if now < self.warmup { self.warmup } else { Time::NEVER };
        self.agenda.set_control(next.min(warmup));
    }

    fn start_measurement(&mut self, now: Time) {
        for (number, link) in (0..).zip(&mut self.network.links) {
            if !self.border.has_link(number) {
                continue;
            }
            link.restart_probe(now, &mut LinkObserver { observer: self.observer, link: number });
        }
        self.network.restart();
    }

    /// Handles an arrival that is neither in a shared line nor in the calendar, but in a line of its host (see
    /// [`crate::network::hosts`]): a packet reaches the edge node, or an acknowledgement reaches the host.
    fn on_host(&mut self, user: u32, now: Time) {
        if let Some(packet) = self.network.hosts.packet_at_edge(user, now) {
            self.agenda.set_host(user, &self.network.hosts);
            self.forward(packet, now);
        } else {
            let ack = self.network.hosts.ack_at_host(user);
            self.agenda.set_host(user, &self.network.hosts);
            self.on_ack(&ack, now);
        }
    }

    /// Handles the arrival of the first packet of a shared queue at the edge node.
    #[inline(always)]
    fn on_up(&mut self, queue: Queue, now: Time) {
        if self.prefetches {
            self.network.fetch_for_edge(queue);
        }
        let (packet, next) = self.network.hosts.up.pop(queue);
        self.agenda.set_first(Direction::Up, queue, next);
        self.forward(packet, now);
    }

    /// Handles the arrival of the first acknowledgement of a shared queue at its host.
    #[inline(always)]
    fn on_down(&mut self, queue: Queue, now: Time) {
        if self.prefetches {
            self.network.fetch_for_acks(queue);
        }
        let (ack, next) = self.network.hosts.down.pop(queue);
        self.agenda.set_first(Direction::Down, queue, next);
        self.on_ack(&ack, now);
    }

    // Not inlined: only large networks use the calendar, and its code would make the loop slower for all others.
    #[inline(never)]
    fn on_calendar(&mut self, now: Time) {
        self.on_up(Queue::Calendar, now);
    }

    #[inline(never)]
    fn on_ack_calendar(&mut self, now: Time) {
        self.on_down(Queue::Calendar, now);
    }

    /// Handles the arrival of an acknowledgement at its host: its sender or, for data from the server, its receiver.
    #[inline(always)]
    fn on_ack(&mut self, ack: &FlowAck, now: Time) {
        if B::TWO_WAY && self.network.acks.is_reverse(self.network.flows[ack.flow as usize].ingress) {
            return self.answer_from_host(ack, now);
        }
        self.on_ack_at_sender(ack, now);
    }

    /// Handles the arrival of an acknowledgement at its sender.
    #[inline(always)]
    fn on_ack_at_sender(&mut self, ack: &FlowAck, now: Time) {
        if self.network.flows[ack.flow as usize].sender.is_tracked() {
            self.on_ack_at::<true>(ack, now);
        } else {
            self.on_ack_at::<false>(ack, now);
        }
    }

    /// Does the work of [`EventLoop::on_ack_at_sender`] for one variant of senders.
    // Not inlined: each variant saves the registers that it needs.
    #[inline(never)]
    fn on_ack_at<const TRACKED: bool>(&mut self, &FlowAck { flow, user, ref ack }: &FlowAck, now: Time) {
        // Pacing comes first, as in Linux, where an acknowledgement is handled a little after it arrives. For a flow
        // alone on a path the times are often equal, since its acknowledgements have the gaps of its packets.
        if TRACKED && self.network.flows[flow as usize].sender.release(now) {
            self.transmit_tracked(flow, user, now);
        }
        let state = &mut self.network.flows[flow as usize];
        let passes = state.span == Span::Passing;
        // Ignores an acknowledgement of an earlier connection in this slot.
        if passes && ack.echo < state.start {
            return;
        }
        let params = &self.network.tcp_params[state.params as usize];
        let sample = state.sender.on_ack::<TRACKED>(params, ack, now);
        if LOOKS {
            self.observer.ack_taken_in(flow, state, params, ack, sample, now);
        }
        if let Some(rtt) = sample {
            self.network.paths.sampled(user, if passes { u32::MAX } else { flow }, rtt, now);
        }
        if TRACKED {
            self.transmit_tracked(flow, user, now);
        } else {
            self.transmit_by::<false>(flow, user, now);
        }
        if passes {
            self.end_transfer(flow, now);
        }
    }

    /// If the flow's transfer is fully acknowledged, lets another transfer reuse the slot.
    #[inline(never)]
    fn end_transfer(&mut self, index: u32, now: Time) {
        if self.network.flows[index as usize].sender.is_done()
            && let Some(start) = self.network.end_transfer(index, now)
        {
            let flow = &mut self.network.flows[index as usize];
            flow.armed = start;
            // A free slot has no connection.
            if start < Time::NEVER {
                self.observer.opened(index, flow, &self.network.tcp_params[flow.params as usize]);
            }
            self.agenda.set_flow(index, start);
        }
    }

    /// Handles the arrival of a packet at the far end of a link.
    fn on_arrival(&mut self, link: u32, now: Time) {
        if self.late_link == Some(link) {
            // Each delivery counts as an event; the event of the link does not.
            self.handled -= 1;
            self.deliver_late(link, now);
            return;
        }
        if self.prefetches {
            self.network.fetch_for_arrivals(link);
            self.timers_ahead.between(&self.network);
        }
        let from = &mut self.network.links[link as usize];
        if from.wire().next_arrival() > now {
            // No packet has arrived yet. Then the event is the time at which a queue that holds packets back may
            // release one.
            from.wake(now, &mut LinkObserver { observer: self.observer, link });
            return self.agenda.set_link(link, from);
        }
        let mut packet = if LOOKS {
            from.arrive(now, &mut LinkObserver { observer: self.observer, link })
        } else {
            from.arrive(now, &mut ())
        };
        self.agenda.set_link(link, from);
        if self.prefetches {
            from.fetch_next_start();
        }
        packet.hop += 1;
        self.forward(packet, now);
    }

    /// Delivers packets of the late link that have arrived by `now`. Returns false if it stopped because another event
    /// is earlier than `now`.
    #[inline]
    fn deliver_until(&mut self, now: Time) -> bool {
        self.late_link.is_none_or(|link| self.deliver_late(link, now))
    }

    /// Does the work of [`EventLoop::deliver_until`] for the late link.
    #[inline(never)]
    fn deliver_late(&mut self, link: u32, mut until: Time) -> bool {
        let now = until;
        self.network.links[link as usize].serve_until(until);
        loop {
            if self.prefetches {
                self.network.fetch_for_arrivals(link);
            }
            let Some((time, packet)) = self.network.links[link as usize].take_arrived(until) else { break };
            self.handled += 1;
            self.deliver(&packet, time);
            until = until.min(self.agenda.next_of_others());
        }
        self.agenda.set_link(link, &self.network.links[link as usize]);
        until == now
    }

    #[inline]
    pub(super) fn forward(&mut self, mut packet: SimPacket, now: Time) {
        let Hop { link, entry } = self.network.hops[usize::from(packet.hop)];
        if link == Hop::DELIVER {
            return self.deliver_forwarded(&packet, now);
        }
        match entry {
            Entry::Core => {}
            Entry::Edge => self.network.label(&mut packet, link, now),
            Entry::Forged => packet.label = self.network.forged_label,
            Entry::Impairment | Entry::Call | Entry::Discard => return self.beside_links(&packet, link, entry, now),
        }
        self.enter_link(link, || packet, now);
    }

    /// Offers the packet that `make` returns to a link. No other function does this, because the scheme's code is
    /// inlined here.
    #[inline(always)]
    fn enter_link(&mut self, link: u32, make: impl Fn() -> SimPacket, now: Time) {
        let next = &mut self.network.links[link as usize];
        let was_idle = next.wire().is_empty();
        if LOOKS {
            next.enqueue(make, now, LinkObserver { observer: self.observer, link });
        } else {
            next.enqueue(make, now, ());
        }
        if B::EXISTS && self.border.is_cut(link) {
            self.hand_over(link);
        } else if was_idle {
            self.agenda.set_link(link, next);
        }
    }

    /// Takes the packets that were sent on a cut link, which ends in another part of the network, and passes them to
    /// that part.
    pub(super) fn hand_over(&mut self, link: u32) {
        let rank = self.agenda.rank_of_link(link);
        while let Some((time, mut packet)) = self.network.links[link as usize].take_sent() {
            packet.hop += 1;
            self.border.post(&self.network.hops[usize::from(packet.hop)], Parcel { time, rank, packet });
        }
    }

    #[inline]
    fn send_up(&mut self, user: u32, packet: SimPacket, now: Time) {
        if B::EXISTS && self.border.enters_elsewhere(user) {
            let Network { hosts, hops, .. } = &mut self.network;
            return send_over(packet, now, hosts, (&hops[usize::from(packet.hop)], &self.agenda), &mut self.border);
        }
        let earlier = self.network.hosts.send(|| packet, now, || now);
        self.agenda.sent(Direction::Up, user, earlier);
    }

    /// Handles a packet that enters an impairment, or reaches the receiver of a call, or its receiver damaged.
    #[cold]
    #[inline(never)]
    fn beside_links(&mut self, packet: &SimPacket, number: u32, entry: Entry, now: Time) {
        match entry {
            Entry::Call => {
                self.network.receive_call(packet, now);
                return self.forward_from_beside(*packet, now);
            }
            Entry::Discard => return self.network.discard(packet, now),
            _ => {}
        }
        let Network { impairments, acks, .. } = &mut self.network;
        let impairment = &mut impairments[number as usize];
        let (before, mut packet) = (impairment.next(), *packet);
        let outcome = impairment.enter(&mut packet, now, acks);
        if impairment.next() != before {
            self.agenda.set_impairment(number, impairment.next());
        }
        match outcome {
            Outcome::Passes => self.forward_from_beside(packet, now),
            Outcome::Waits => {}
            Outcome::Lost => {
                if let Place::Link(link) = impairment.place() {
                    self.network.links[link as usize].lose(&packet, now);
                    self.observer.lost(link, &packet, now);
                }
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn on_impairment(&mut self, number: u32, now: Time) {
        let impairment = &mut self.network.impairments[number as usize];
        let packet = impairment.take();
        self.agenda.set_impairment(number, impairment.next());
        self.forward_from_beside(packet, now);
    }

    /// Forwards a packet that leaves an impairment. Not inlined, so that [`EventLoop::forward`] is inlined only in the
    /// loop, where most packets need it.
    #[inline(never)]
    fn forward_from_beside(&mut self, mut packet: SimPacket, now: Time) {
        packet.hop += 1;
        self.forward(packet, now);
    }

    /// Delivers a packet at the end of its route.
    // Always inlined: full segments in order, most packets, then need no call.
    #[inline(always)]
    fn deliver(&mut self, packet: &SimPacket, now: Time) {
        let mut arrival = now;
        if B::TWO_WAY && packet.kind == PacketKind::Ack {
            return self.deliver_ack(packet, now);
        }
        if B::TWO_WAY && self.network.acks.is_reverse(packet.ingress) {
            arrival = self.network.hosts.carry_down(packet.user, packet.wire_bytes.into(), now);
        }
        self.network.delivered += 1;
        self.network.paths.delivered(packet, arrival);
        if packet.kind == PacketKind::Udp {
            let user = &mut self.network.users[packet.user as usize];
            user.delivered_bytes += u64::from(packet.payload);
            user.datagrams += 1;
            return;
        }
        let Some(index) = self.network.place_of(packet.flow) else { return };
        let flow = &mut self.network.flows[index as usize];
        let params = &self.network.tcp_params[flow.params as usize];
        let segment = packet.segment();
        // In browsers, the other paths would make the page larger.
        let needs_any = cfg!(target_family = "wasm") || flow.span != Span::Endless;
        if needs_any || !flow.receiver.is_next(params, &segment) {
            self.deliver_any(index, packet, now);
        } else if flow.receiver.adapts() {
            self.deliver_adaptively(index, packet, now);
        } else {
            let ack = flow.receiver.on_next_segment::<false>(params, &segment, now);
            let ack = ack.map(|ack| (ack, params.ack_wire_bytes(&ack)));
            self.answer(index, packet, ack, now);
        }
    }

    /// Passes the next segment of a long-lived flow to a receiver that adapts.
    #[inline(never)]
    fn deliver_adaptively(&mut self, index: u32, packet: &SimPacket, now: Time) {
        let flow = &mut self.network.flows[index as usize];
        let params = &self.network.tcp_params[flow.params as usize];
        let ack = flow.receiver.on_next_segment::<true>(params, &packet.segment(), now);
        let ack = ack.map(|ack| (ack, params.ack_wire_bytes(&ack)));
        self.answer(index, packet, ack, now);
    }

    /// Passes a packet to the receiver of its flow, for any flow and packet.
    #[inline(never)]
    fn deliver_any(&mut self, index: u32, packet: &SimPacket, now: Time) {
        if self.network.paths.series().is_some() {
            self.network.note_repeated(index, packet, now);
        }
        let flow = &mut self.network.flows[index as usize];
        if flow.span == Span::Passing && packet.timestamp < flow.start {
            return; // it belongs to an earlier connection in this slot
        }
        let params = &self.network.tcp_params[flow.params as usize];
        let ack = flow.receiver.on_segment(params, packet.segment(), now);
        let ack = ack.map(|ack| (ack, params.ack_wire_bytes(&ack)));
        if flow.span != Span::Endless {
            self.check_finish(index, packet, now);
        }
        self.answer(index, packet, ack, now);
    }

    /// Sends the acknowledgement of a packet, given with its length, or arms the receiver's timer if there is none.
    #[inline(always)]
    fn answer(&mut self, index: u32, packet: &SimPacket, ack: Option<(Ack, u32)>, now: Time) {
        match ack {
            Some((ack, bytes)) => {
                self.send_ack(FlowAck { flow: index, user: packet.user, ack }, (bytes, packet.wire_bytes.into()), now);
            }
            None => {
                // The receiver's timer is the only one that may have moved to an earlier time.
                let flow = &mut self.network.flows[index as usize];
                arm(&mut self.agenda, index, flow, flow.receiver.timer());
            }
        }
    }

    /// Delivers a packet that is forwarded to the end of its route.
    #[inline(never)]
    fn deliver_forwarded(&mut self, packet: &SimPacket, now: Time) {
        self.deliver(packet, now);
    }

    #[inline(never)]
    fn check_finish(&mut self, index: u32, packet: &SimPacket, now: Time) {
        let flow = &mut self.network.flows[index as usize];
        let params = &self.network.tcp_params[flow.params as usize];
        if flow.finish < Time::NEVER || flow.receiver.delivered_bytes(params) < flow.transfer_bytes {
            return;
        }
        // The receiver is at the far end of its access link.
        flow.finish = if B::TWO_WAY && self.network.acks.is_reverse(packet.ingress) {
            self.network.hosts.at_host(packet.user, 0, now)
        } else {
            now + self.network.hosts.to_receiver(packet.user, u32::from(packet.wire_bytes))
        };
        if let AtEnd::NextChunk { player } = flow.at_end {
            return self.on_chunk(player, now);
        }
        let (span, bytes) = ((flow.start, flow.finish), flow.transfer_bytes);
        let (wire_bytes, longer) = (params.transfer_wire_bytes(bytes), self.network.hosts.longer(packet.user));
        if let Some(probe) = self.network.transfer_probe(packet.user) {
            probe.complete((packet.user, longer), span, bytes, wire_bytes);
        }
    }

    /// Sends an acknowledgement for a packet, with the lengths of both.
    // Always inlined: otherwise the acknowledgement is passed through memory.
    #[inline(always)]
    fn send_ack(&mut self, ack: FlowAck, bytes: (u32, u32), now: Time) {
        if B::TWO_WAY {
            return self.send_ack_packet(&ack, bytes.0, now);
        }
        let agenda = &mut self.agenda;
        let times =
            self.network.hosts.acknowledge(ack, bytes, now, |earlier| agenda.sent(Direction::Down, ack.user, earlier));
        if LOOKS {
            self.observer.ack_sent(ack.flow, &self.network.flows[ack.flow as usize], &ack.ack, bytes.0, times);
        }
    }

    /// Sends an acknowledgement over the link opposite to that of the data. The receiver of data from the server is at
    /// the end of the access link. The acknowledgement arrives there right behind the data, and leaves as a packet.
    #[inline(never)]
    fn send_ack_packet(&mut self, ack: &FlowAck, wire_bytes: u32, now: Time) {
        let Network { flows, acks, hosts, .. } = &mut self.network;
        let flow = &flows[ack.flow as usize];
        if acks.is_reverse(flow.ingress) {
            let (_, earlier) = hosts.send_down(ack, 0, now);
            self.agenda.sent(Direction::Down, ack.user, earlier);
        } else {
            let packet = acks.pack(ack, flow, wire_bytes, now);
            if LOOKS {
                self.observer.ack_packed(flow, &ack.ack, &packet, now);
            }
            self.forward_from_edge(packet, now);
        }
    }

    /// Sends the acknowledgement of data that have just reached a host.
    #[inline(never)]
    fn answer_from_host(&mut self, ack: &FlowAck, now: Time) {
        let Network { flows, acks, tcp_params, .. } = &mut self.network;
        let flow = &flows[ack.flow as usize];
        // Ignores an acknowledgement of an earlier connection in this slot.
        if flow.span == Span::Passing && ack.ack.echo < flow.start {
            return;
        }
        let wire_bytes = tcp_params[flow.params as usize].ack_wire_bytes(&ack.ack);
        let packet = acks.pack(ack, flow, wire_bytes, now);
        if LOOKS {
            self.observer.ack_packed(flow, &ack.ack, &packet, now);
        }
        self.send_up(ack.user, packet, now);
    }

    /// Handles an acknowledgement at the end of its route: at the edge node of its user, or at its sender, a server.
    #[inline(never)]
    fn deliver_ack(&mut self, packet: &SimPacket, now: Time) {
        let ack = self.network.acks.unpack(packet);
        let wire_bytes = u32::from(packet.wire_bytes);
        let is_at_server = !self.network.acks.is_reverse(packet.ingress);
        let at_host = if is_at_server {
            now
        } else {
            let (at_host, earlier) = self.network.hosts.send_down(&ack, wire_bytes, now);
            self.agenda.sent(Direction::Down, ack.user, earlier);
            at_host
        };
        let times = AckTimes { sent: packet.timestamp, at_edge: now, at_host };
        if LOOKS {
            self.observer.ack_sent(ack.flow, &self.network.flows[ack.flow as usize], &ack.ack, wire_bytes, times);
        }
        if is_at_server {
            self.on_ack_at_sender(&ack, now);
        }
    }

    /// Handles the start of a flow, or a timer that may have expired. Timers are re-armed lazily: if a deadline moves
    /// to a later time, the entry stays and fires early. Each action of the sender or receiver counts as an event.
    #[inline(never)]
    fn on_timer(&mut self, index: u32, now: Time) {
        self.handled -= 1;
        // Delivered packets may have stopped the receiver's timer, or set an earlier timer of another flow.
        if self.network.flows[index as usize].receiver.timer() <= now
            && !(self.deliver_until(now) && self.agenda.next_flow() == Some(index))
        {
            return;
        }
        if self.prefetches {
            self.timers_ahead.before(index, now, &self.agenda, &self.network);
        }
        let flow = &mut self.network.flows[index as usize];
        let user = flow.user;
        let mut acts = now == flow.start;
        if acts {
            flow.sender.start();
            if flow.transfer_bytes > 0 && flow.span != Span::Chunks {
                let (user, bytes) = (flow.user, flow.transfer_bytes);
                if let Some(probe) = self.network.transfer_probe(user) {
                    probe.start(now, bytes);
                }
            }
        }
        let flow = &mut self.network.flows[index as usize];
        let params = &self.network.tcp_params[flow.params as usize];
        if flow.sender.timer() <= now {
            flow.sender.on_timer(params, now);
            if LOOKS {
                self.observer.timer_handled(index, flow, params, now);
            }
            acts = true;
        }
        if flow.receiver.timer() <= now
            && let Some(ack) = flow.receiver.on_timer(params, now)
        {
            let bytes = (params.ack_wire_bytes(&ack), params.segment_payload + params.header_bytes);
            self.send_ack(FlowAck { flow: index, user, ack }, bytes, now);
            self.handled += 1;
        }
        self.handled += u64::from(acts);
        if acts {
            self.transmit(index, user, now);
        }
        let flow = &mut self.network.flows[index as usize];
        flow.armed = flow.deadline();
        self.agenda.set_flow(index, flow.armed);
        if self.prefetches {
            self.timers_ahead.after(&self.agenda, &self.network);
        }
    }

    /// Sends the segments that a TCP sender may send, and arms the flow. Before the call, the caller must have entered
    /// all other events of the time `now` into the agenda.
    ///
    /// A packet that reaches the edge node before any other event is forwarded at once and needs no entry in the
    /// agenda. Only timers of this flow may fire earlier, and packets that they send leave the access link later.
    #[inline(never)]
    fn transmit(&mut self, index: u32, user: u32, now: Time) {
        if self.network.flows[index as usize].sender.is_tracked() {
            self.transmit_tracked(index, user, now);
        } else {
            self.transmit_by::<false>(index, user, now);
        }
    }

    // Not inlined: with a single caller, all parts of the sender are inlined here.
    #[inline(never)]
    fn transmit_tracked(&mut self, index: u32, user: u32, now: Time) {
        self.transmit_by::<true>(index, user, now);
    }

    /// Does the work of [`EventLoop::transmit`] for one variant of senders.
    #[inline(always)]
    fn transmit_by<const TRACKED: bool>(&mut self, index: u32, user: u32, now: Time) {
        loop {
            let flow = &mut self.network.flows[index as usize];
            let params = &self.network.tcp_params[flow.params as usize];
            let hop = self.network.first_hops[flow.params as usize];
            let id = if flow.span == Span::Passing { flow.id } else { index };
            let (packet, arrival, is_last) = loop {
                let Some(segment) = flow.sender.poll_transmit::<TRACKED>(params, now) else {
                    arm(&mut self.agenda, index, flow, flow.sender.timer());
                    if LOOKS {
                        self.observer.sender_acted(index, flow, params, now);
                    }
                    return;
                };
                if LOOKS {
                    self.observer.segment_sent(index, flow, params, &segment, now);
                }
                let wire_bytes = params.segment_wire_bytes(&segment) as u16;
                let packet = || SimPacket {
                    label: 0.0,
                    enqueued_at: Time::ZERO,
                    timestamp: segment.timestamp,
                    seq: segment.seq,
                    flow: id,
                    user,
                    hop,
                    ingress: flow.ingress,
                    wire_bytes,
                    payload: segment.payload as u16,
                    class: flow.class,
                    ecn: segment.ecn,
                    kind: match (segment.syn, segment.push) {
                        (true, _) => PacketKind::Syn,
                        (false, false) => PacketKind::Data,
                        (false, true) => PacketKind::PushedData,
                    },
                    cwr: segment.cwr,
                };
                if B::TWO_WAY && self.network.acks.is_reverse(flow.ingress) {
                    break (packet(), now, false); // the server sends directly over the reverse link
                }
                if B::EXISTS && self.border.enters_elsewhere(user) {
                    let ways = (&self.network.hops[usize::from(hop)], &self.agenda);
                    send_over(packet(), now, &mut self.network.hosts, ways, &mut self.border);
                    continue;
                }
                let (agenda, end) = (&self.agenda, self.end);
                // A packet may pass its access link at once if no other event comes before its arrival at the edge
                // node. With an observer, or in a run that simulates one part of a network, all events must be handled
                // in order.
                let horizon = || if LOOKS || B::EXISTS { now } else { agenda.next_time().min(end) };
                match self.network.hosts.send(packet, now, horizon) {
                    Earlier::AtEdge(arrival) => {
                        let (packet, is_last) = (packet(), flow.sender.end_batch_if_full::<TRACKED>(params, now));
                        if is_last {
                            arm(&mut self.agenda, index, flow, flow.sender.timer());
                        }
                        break (packet, arrival, is_last);
                    }
                    earlier => self.agenda.sent(Direction::Up, user, earlier),
                }
            };
            self.forward_at_once(&packet, arrival);
            if is_last {
                return;
            }
        }
    }

    /// Handles a packet that reaches the edge node at `now`, before any other event.
    // Always inlined, so that the packet is constructed in its final position.
    #[inline(always)]
    fn forward_at_once(&mut self, &packet: &SimPacket, now: Time) {
        self.handled += 1;
        match self.network.hops[usize::from(packet.hop)] {
            Hop { link, entry: Entry::Core } if link != Hop::DELIVER => self.enter_link(link, || packet, now),
            Hop { link, entry: Entry::Edge } => {
                let mut labelled = packet;
                self.network.label(&mut labelled, link, now);
                self.enter_link(link, || SimPacket { label: labelled.label, ..packet }, now);
            }
            _ => self.forward_from_edge(packet, now),
        }
    }

    /// Forwards a packet from the edge node. Not inlined, so that [`EventLoop::forward`] is inlined only where most
    /// packets need it.
    #[cold]
    #[inline(never)]
    fn forward_from_edge(&mut self, packet: SimPacket, now: Time) {
        self.forward(packet, now);
    }

    fn on_source(&mut self, source: u32, now: Time) {
        let packet = self.network.sources[source as usize].emit();
        self.agenda.set_source(source, self.network.sources[source as usize].next());
        if B::TWO_WAY && self.network.acks.is_reverse(packet.ingress) {
            return self.forward_from_edge(packet, now);
        }
        self.send_up(packet.user, packet, now);
    }

    #[inline(never)]
    fn on_web(&mut self, web: u32, now: Time) {
        if let Some(player) = web.checked_sub(self.network.webs.len() as u32) {
            return self.on_player(player, now);
        }
        let opened = self.network.open_transfer(web, now);
        self.agenda.set_web(web, self.network.webs[web as usize].next());
        let Some(index) = opened else { return };
        let flow = &mut self.network.flows[index as usize];
        let user = flow.user;
        self.observer.opened(index, flow, &self.network.tcp_params[flow.params as usize]);
        flow.sender.start();
        self.transmit(index, user, now);
        let flow = &mut self.network.flows[index as usize];
        flow.armed = flow.deadline();
        self.agenda.set_flow(index, flow.armed);
    }

    /// Handles the last byte of a chunk at the end of its route. The receiver acknowledges it immediately, and the
    /// player requests the next chunk when its buffer has room.
    fn on_chunk(&mut self, player: u32, now: Time) {
        let state = &mut self.network.players[player as usize];
        let flow = &mut self.network.flows[state.flow as usize];
        state.receive(now, flow.finish - flow.start);
        flow.receiver.hasten(now);
        let next = state.next;
        self.set_player(player, next);
    }

    /// Lets a video player request a chunk, or serves a request that has reached the server.
    fn on_player(&mut self, player: u32, now: Time) {
        let state = &mut self.network.players[player as usize];
        let index = state.flow;
        let flow = &mut self.network.flows[index as usize];
        let params = &self.network.tcp_params[flow.params as usize];
        if state.awaits == Awaits::Room {
            // The request is sent as an acknowledgement, over the same path.
            let (user, ack) = (flow.user, flow.receiver.answer(params));
            let (ack_bytes, full) = (params.ack_wire_bytes(&ack), params.segment_payload + params.header_bytes);
            let ack_of = FlowAck { flow: index, user, ack };
            let moved = |earlier| self.agenda.sent(Direction::Down, user, earlier);
            let times = self.network.hosts.acknowledge(ack_of, (ack_bytes, full), now, moved);
            if LOOKS {
                self.observer.ack_sent(index, flow, &ack, ack_bytes, times);
            }
            state.request(now, times.at_host);
            let next = state.next;
            return self.set_player(player, next);
        }
        let segments = state.serve(params.segment_payload);
        let user = flow.user;
        flow.transfer_bytes += u64::from(segments) * u64::from(params.segment_payload);
        flow.finish = Time::NEVER;
        flow.sender.extend(params, segments);
        self.set_player(player, Time::NEVER);
        self.transmit(index, user, now);
    }

    fn set_player(&mut self, player: u32, time: Time) {
        self.agenda.set_web(self.network.webs.len() as u32 + player, time);
    }
}

/// Moves the event of a flow to `deadline` if the event is later. An event that is too early stays.
#[inline(always)]
fn arm(agenda: &mut Agenda, index: u32, flow: &mut TcpFlow, deadline: Time) {
    if deadline < flow.armed {
        flow.armed = deadline;
        agenda.set_flow_earlier(index, deadline);
    }
}

/// Sends a host's packet over its access link to the first link of its route, which is in another part of the network.
fn send_over<B: Border>(
    packet: SimPacket,
    now: Time,
    hosts: &mut Hosts,
    (hop, agenda): (&Hop, &Agenda),
    border: &mut B,
) {
    if let Some(time) = hosts.send_over(&packet, now) {
        let rank = agenda.rank_of_host(packet.user);
        border.post(hop, Parcel { time, rank, packet });
    }
}
