//! External schemes: disciplines that a host provides, for example in Python or in a plug-in. They are called
//! dynamically.
//!
//! The packets stay in this module, and the scheme refers to them by [`Handle`]. Every answer is checked for unknown
//! handles, packets served twice, exceeded limits, and a link left idle while packets wait. The first error disables
//! the scheme: from then on arrivals are dropped and no packet is served, so accounting stays correct.
//! [`QueueDiscipline::failure`] returns the error, and the host ends the run.
//!
//! Cost: a dynamic call per arrival and departure, and a slot of the packet's size plus 8 bytes. The size of the
//! scheme's own state is unknown.

use crate::base::config::{ConfigError, ParamSpec, Table, read_declared};
use crate::base::rng::Rng;
use crate::base::units::{BitRate, QueueLimit, Time};
use crate::contract::buffer::BufferParams;
use crate::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline, Report, StateSize};
use crate::contract::marker::MarkerScheme;
use crate::contract::packet::{Ecn, Packet, TrafficClass};
use crate::contract::scheme::Port;
use crate::contract::weights::Weights;
use serde_json::{Map, Value as Json};
use std::fmt::Debug;
use std::sync::Arc;

/// Identifies a packet that was offered to an external scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u64);

impl Handle {
    /// Creates a handle from a slot in a [`Store`] and the serial number of its packet.
    #[inline]
    const fn new(slot: u32, serial: u32) -> Self {
        Self((serial as u64) << 32 | slot as u64)
    }

    #[inline]
    const fn slot(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    const fn serial(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The handle as a number, for hosts that pass it through a foreign language.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Converts a value of [`Handle::bits`] back. Any other number gives a handle that matches no waiting packet.
    #[must_use]
    #[inline]
    pub const fn of_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// An arriving packet, for an external scheme. The order of the fields ensures that no two fields are copied at once,
/// since such a copy stalls if the fields were written recently.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arrival {
    /// Handle of the packet.
    pub handle: Handle,
    /// The marker's label.
    pub label: f64,
    /// The transport connection.
    pub flow: u32,
    /// Traffic class.
    pub class: TrafficClass,
    /// The user.
    pub user: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Bytes on the link.
    pub wire_bytes: u32,
}

/// Description of a port for its external scheme.
#[derive(Clone, Copy, Debug)]
pub struct ExternalPort<'a> {
    /// Limit of the queue.
    pub limit: QueueLimit,
    /// The buffer's parameters.
    pub buffer: &'a BufferParams,
    /// Rate of the link.
    pub rate: BitRate,
    /// Seed for the scheme's own random numbers.
    pub seed: u64,
    /// Weights of the users.
    pub weights: &'a Weights,
    /// Values of the parameters that the scheme declares, in declaration order.
    pub params: &'a Map<String, Json>,
}

/// Results of a call in addition to its answer: actions on packets, and readings.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// Packets to drop: the offered one, or waiting ones. If a drop has no reason, the adaptor sets it. At an arrival
    /// this is `Overlimit` for an offered packet that did not fit, `Aqm` for another offered packet, and `PushedOut`
    /// for a waiting packet. At a departure it is `Aqm`.
    pub drops: Vec<(Handle, Option<DropReason>)>,
    /// Packets to mark.
    pub marks: Vec<Handle>,
    /// New label of the returned packet, if the scheme writes labels.
    pub label: Option<f64>,
    /// Drop threshold for the packet, if the scheme has one.
    pub threshold: Option<f64>,
}

impl Actions {
    /// Drops `packet`. The adaptor sets the reason.
    pub fn drop(&mut self, packet: Handle) {
        self.drops.push((packet, None));
    }

    /// Returns true if no packet is to be dropped or marked.
    #[inline]
    fn are_none(&self) -> bool {
        self.drops.is_empty() && self.marks.is_empty()
    }

    #[inline]
    fn clear(&mut self) {
        self.drops.clear();
        self.marks.clear();
        (self.label, self.threshold) = (None, None);
    }
}

/// Calls that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`ExternalDiscipline::enqueue`].
    Enqueue,
    /// [`ExternalDiscipline::dequeue`].
    Dequeue,
}

/// A scheme at one port. Errors are one line with the name of the scheme.
pub trait ExternalDiscipline: Debug + Send {
    /// Stores a packet that arrives at `now` while `backlog` waits, or drops it through `actions`.
    ///
    /// # Errors
    /// If the scheme fails.
    fn enqueue(&mut self, packet: &Arrival, backlog: Backlog, now: Time, actions: &mut Actions) -> Result<(), String>;
    /// Returns the waiting packet to transmit next; `backlog` waits. Returns `None` only if `actions` drop all packets.
    ///
    /// # Errors
    /// If the scheme fails.
    fn dequeue(&mut self, backlog: Backlog, now: Time, actions: &mut Actions) -> Result<Option<Handle>, String>;
    /// True if [`ExternalDiscipline::dequeue`] is also called when the queue is empty and the link becomes idle.
    fn is_told_of_idleness(&self) -> bool {
        false
    }
    /// Sets the rate of the link.
    fn set_link_rate(&mut self, rate: BitRate);
    /// Name of the method for a call, used in messages.
    fn name_of(&self, call: Call) -> String;
    /// State size of the scheme, if the scheme reports it.
    fn state_size(&self) -> StateSize {
        StateSize::default()
    }
    /// See [`QueueDiscipline::report`].
    fn report(&self, _report: Report<'_>) {}
}

/// Creates the scheme of a port, in the thread of the run.
pub trait ExternalFactory: Debug + Send + Sync {
    /// Parameters that the scheme declares.
    fn params(&self) -> &[ParamSpec] {
        &[]
    }
    /// Identity of the scheme's build, if known. In a configuration it is the key `library`.
    fn library(&self) -> Option<&str> {
        None
    }
    /// The same scheme in another build, if that build is also loaded.
    fn other_build(&self, _library: &str) -> Option<ExternalScheme> {
        None
    }
    /// Marker that writes the scheme's labels.
    fn marker(&self) -> MarkerScheme {
        MarkerScheme::NONE
    }
    /// Checks conditions on several parameters.
    ///
    /// # Errors
    /// If parameters contradict each other or the buffer.
    fn check(
        &self,
        _params: &Map<String, Json>,
        _buffer: &BufferParams,
        _table: &Table<'_>,
    ) -> Result<(), ConfigError> {
        Ok(())
    }
    /// Creates the scheme of an idle port.
    ///
    /// # Errors
    /// If the scheme cannot be created: one line with its name.
    fn create(&self, port: &ExternalPort<'_>) -> Result<Box<dyn ExternalDiscipline>, String>;
}

/// An external scheme with its name in a configuration.
#[derive(Clone, Debug)]
pub struct ExternalScheme {
    /// Name of the scheme.
    pub name: Arc<str>,
    /// Creates the scheme at a port.
    pub factory: Arc<dyn ExternalFactory>,
    /// Values of the parameters.
    params: Arc<Map<String, Json>>,
}

impl ExternalScheme {
    /// Creates the scheme `name` with its default parameters.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, factory: Arc<dyn ExternalFactory>) -> Self {
        let defaults = factory.params().iter().filter(|spec| !spec.default.is_null());
        let params = defaults.map(|spec| (spec.name.to_string(), spec.default.clone())).collect();
        Self { name: name.into(), factory, params: Arc::new(params) }
    }

    /// Reads the parameters from a `[queue]` table.
    ///
    /// # Errors
    /// If a value is out of range, if values contradict each other or the buffer, or if the library is another build.
    pub(super) fn read(self, buffer: &BufferParams, table: &mut Table<'_>) -> Result<Self, ConfigError> {
        if let Some(loaded) = self.factory.library()
            && let Some(named) = table.optional::<String>("library", None)?
            && named != loaded
        {
            let problem = || format!("\"{named}\" is another build than \"{loaded}\", which is loaded");
            let other = self.factory.other_build(&named);
            return other.ok_or_else(|| ConfigError::new(table.key("library"), problem()))?.read(buffer, table);
        }
        let mut params = Map::new();
        for spec in self.factory.params() {
            if let Some(value) = read_declared(spec, table)? {
                params.insert(spec.name.into(), value);
            }
        }
        self.factory.check(&params, buffer, table)?;
        Ok(Self { params: Arc::new(params), ..self })
    }

    pub(super) fn write(&self, into: &mut Map<String, Json>) {
        if let Some(library) = self.factory.library() {
            into.insert("library".into(), library.into());
        }
        into.extend(self.params.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

impl PartialEq for ExternalScheme {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.factory, &other.factory) && self.params == other.params
    }
}

/// Finds an external scheme by name.
pub type FindExternal<'a> = &'a dyn Fn(&str) -> Option<ExternalScheme>;

/// Finds no external scheme.
#[must_use]
pub fn no_external(_: &str) -> Option<ExternalScheme> {
    None
}

/// Discipline of a port with an external scheme.
#[derive(Debug)]
pub struct External<P>(Box<State<P>>);

#[derive(Debug)]
struct State<P> {
    scheme: Option<Box<dyn ExternalDiscipline>>,
    store: Store<P>,
    backlog: Backlog,
    limit: QueueLimit,
    actions: Actions,
    threshold: Option<f64>,
    failure: Option<String>,
    made_of: ExternalScheme,
    buffer: BufferParams,
    weights: Weights,
    rate: BitRate,
}

impl<P: Packet> External<P> {
    /// Creates an idle port. The scheme is created at the first packet, when the seed can be drawn.
    #[must_use]
    pub fn new(scheme: &ExternalScheme, port: &Port<'_>) -> Self {
        Self(Box::new(State {
            scheme: None,
            store: Store::default(),
            backlog: Backlog::default(),
            limit: port.buffer.limit,
            actions: Actions::default(),
            threshold: None,
            failure: None,
            made_of: scheme.clone(),
            buffer: port.buffer.clone(),
            weights: port.weights.clone(),
            rate: port.rate,
        }))
    }
}

impl<P: Packet> State<P> {
    #[cold]
    fn make_scheme(&mut self, rng: &mut Rng) {
        let ExternalScheme { factory, params, .. } = &self.made_of;
        let (limit, buffer, rate, weights) = (self.limit, &self.buffer, self.rate, &self.weights);
        match factory.create(&ExternalPort { limit, buffer, rate, seed: rng.bits(), weights, params }) {
            Ok(scheme) => self.scheme = Some(scheme),
            Err(problem) => self.failure = Some(problem),
        }
    }

    #[inline]
    fn take(&mut self, handle: Handle) -> Option<P> {
        let packet = self.store.remove(handle)?;
        self.backlog.remove(packet.wire_bytes());
        Some(packet)
    }

    /// Marks and drops the packets requested by the last call. Returns the error, if any.
    #[inline(never)]
    fn act(
        &mut self,
        reason: impl Fn(Handle) -> DropReason,
        found: Option<Backlog>,
        drops: &mut impl DropSink<P>,
    ) -> Result<(), &'static str> {
        for index in 0..self.actions.marks.len() {
            let packet = self.store.get_mut(self.actions.marks[index]).ok_or("marked a packet that does not wait")?;
            if !packet.ecn().is_capable() {
                return Err("marked a packet whose transport does not understand marks");
            }
            packet.set_ecn(Ecn::Ce);
            drops.marked(packet);
        }
        for index in 0..self.actions.drops.len() {
            let (handle, given) = self.actions.drops[index];
            let packet = self.take(handle).ok_or("dropped a packet that does not wait")?;
            drops.dropped(&packet, given.unwrap_or_else(|| reason(handle)), found.unwrap_or(self.backlog));
        }
        Ok(())
    }

    #[cold]
    fn fail(&mut self, call: Call, problem: &str) {
        let method = self.scheme.as_ref().map_or_else(String::new, |scheme| scheme.name_of(call));
        self.failure = Some(format!("{method} {problem}"));
    }
}

impl<P: Packet> QueueDiscipline<P> for External<P> {
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let state = &mut *self.0;
        if state.scheme.is_none() && state.failure.is_none() {
            state.make_scheme(rng);
        }
        let found = state.backlog;
        let (Some(scheme), None) = (&mut state.scheme, &state.failure) else {
            return drops.dropped(&packet, DropReason::Overlimit, found);
        };
        let handle = state.store.insert(packet, now);
        state.backlog.add(packet.wire_bytes());
        let arrival = Arrival {
            handle,
            flow: packet.flow(),
            user: packet.user(),
            wire_bytes: packet.wire_bytes(),
            class: packet.class(),
            ecn: packet.ecn(),
            label: packet.label(),
        };
        state.actions.clear();
        let answer = scheme.enqueue(&arrival, found, now, &mut state.actions);
        state.threshold = state.actions.threshold;
        let has_room = !state.backlog.exceeds(state.limit);
        if has_room && answer.is_ok() && state.actions.are_none() {
            return;
        }
        let own_reason = if has_room { DropReason::Aqm } else { DropReason::Overlimit };
        let reason = |dropped| if dropped == handle { own_reason } else { DropReason::PushedOut };
        match answer {
            Err(problem) => state.failure = Some(problem),
            Ok(()) => {
                if let Err(problem) = state.act(reason, Some(found), drops) {
                    state.fail(Call::Enqueue, problem);
                } else if state.backlog.exceeds(state.limit) {
                    let problem = format!("left {:?} waiting, the limit is {}", state.backlog, state.limit);
                    state.fail(Call::Enqueue, &problem);
                }
            }
        }
        // Drops the packet of the failed call, so that the backlog stays within the limit.
        if state.failure.is_some()
            && let Some(packet) = state.take(handle)
        {
            drops.dropped(&packet, DropReason::Overlimit, found);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        let state = &mut *self.0;
        let (Some(scheme), None) = (&mut state.scheme, &state.failure) else { return None };
        if state.backlog.packets == 0 && !scheme.is_told_of_idleness() {
            return None;
        }
        state.actions.clear();
        let answer = match scheme.dequeue(state.backlog, now, &mut state.actions) {
            Ok(answer) => answer,
            Err(problem) => {
                state.failure = Some(problem);
                return None;
            }
        };
        if !state.actions.are_none()
            && let Err(problem) = state.act(|_| DropReason::Aqm, None, drops)
        {
            state.fail(Call::Dequeue, problem);
            return None;
        }
        let Some(handle) = answer else {
            if state.backlog.packets > 0 {
                let problem = format!("gave nothing although packets wait: {}", state.backlog.packets);
                state.fail(Call::Dequeue, &problem);
            }
            return None;
        };
        let Some(mut packet) = state.take(handle) else {
            state.fail(Call::Dequeue, "gave a packet that does not wait: it was given or dropped before");
            return None;
        };
        // Writes the label only if it differs: the packet is copied immediately, which a recent write would delay.
        if let Some(label) = state.actions.label.filter(|label| label.to_bits() != packet.label().to_bits()) {
            packet.set_label(label);
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.0.rate = rate;
        if let Some(scheme) = &mut self.0.scheme {
            scheme.set_link_rate(rate);
        }
    }

    #[inline]
    fn drop_threshold(&self) -> Option<f64> {
        self.0.threshold
    }

    /// Memory reported by the scheme, plus the memory of the adaptor.
    fn state_size(&self) -> StateSize {
        let told = self.0.scheme.as_ref().map_or_else(StateSize::default, |scheme| scheme.state_size());
        StateSize { bytes: told.bytes + size_of::<State<P>>() + self.0.store.bytes(), ..told }
    }

    fn report(&self, report: Report<'_>) {
        if let Some(scheme) = &self.0.scheme {
            scheme.report(report);
        }
    }

    fn failure(&self) -> Option<&str> {
        self.0.failure.as_deref()
    }
}

/// Packets by handle, in slots that are reused with another serial number.
#[derive(Clone, Debug)]
struct Store<P> {
    slots: Vec<(u32, Option<P>)>,
    free: Vec<u32>,
}

impl<P> Default for Store<P> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<P: Packet> Store<P> {
    fn insert(&mut self, packet: P, now: Time) -> Handle {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as u32
        });
        let (serial, place) = &mut self.slots[slot as usize];
        *serial = serial.wrapping_add(1);
        // Sets the time in the slot, not before the copy, since copying a recently written packet is slow.
        place.insert(packet).set_enqueued_at(now);
        Handle::new(slot, *serial)
    }

    fn get_mut(&mut self, handle: Handle) -> Option<&mut P> {
        let (serial, packet) = self.slots.get_mut(handle.slot() as usize)?;
        packet.as_mut().filter(|_| *serial == handle.serial())
    }

    #[inline]
    fn remove(&mut self, handle: Handle) -> Option<P> {
        let (serial, packet) = self.slots.get_mut(handle.slot() as usize)?;
        if *serial != handle.serial() {
            return None;
        }
        let packet = packet.take()?;
        self.free.push(handle.slot());
        Some(packet)
    }

    fn bytes(&self) -> usize {
        size_of_val(self.slots.as_slice()) + size_of_val(self.free.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket};
    use std::collections::VecDeque;
    use std::sync::Mutex;

    /// A scheme that follows a script with an action for each arrival and each departure.
    #[derive(Debug)]
    struct Scripted {
        queue: VecDeque<Handle>,
        script: Script,
        rates: Arc<Mutex<Vec<u64>>>,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Script {
        Fifo,
        KeepAll,
        GiveTwice,
        GiveNothing,
        DropTwice,
        MarkAll,
        PushOut,
        DropAtHead,
        FailEnqueue,
        FailDequeue,
        FailCreate,
    }

    impl Scripted {
        fn drop_oldest(&mut self, actions: &mut Actions) {
            if let Some(oldest) = self.queue.pop_front() {
                actions.drop(oldest);
            }
        }
    }

    impl ExternalDiscipline for Scripted {
        fn enqueue(
            &mut self,
            packet: &Arrival,
            backlog: Backlog,
            _: Time,
            actions: &mut Actions,
        ) -> Result<(), String> {
            match self.script {
                Script::FailEnqueue => return Err("mine: Scripted.enqueue: no".into()),
                Script::MarkAll => actions.marks.push(packet.handle),
                Script::DropTwice => actions.drops.extend([(packet.handle, None); 2]),
                Script::PushOut if backlog.packets == 3 => self.drop_oldest(actions),
                Script::KeepAll | Script::PushOut => {}
                _ if backlog.packets == 3 => actions.drop(packet.handle),
                _ => {}
            }
            self.queue.push_back(packet.handle);
            Ok(())
        }

        fn dequeue(&mut self, _: Backlog, _: Time, actions: &mut Actions) -> Result<Option<Handle>, String> {
            match self.script {
                Script::FailDequeue => Err("mine: Scripted.dequeue: no".into()),
                Script::GiveNothing => Ok(None),
                Script::GiveTwice => Ok(self.queue.front().copied()),
                Script::DropAtHead => {
                    self.drop_oldest(actions);
                    Ok(self.queue.pop_front())
                }
                _ => Ok(self.queue.pop_front()),
            }
        }

        fn set_link_rate(&mut self, rate: BitRate) {
            self.rates.lock().unwrap().push(rate.0);
        }

        fn name_of(&self, call: Call) -> String {
            format!("mine: Scripted.{}", if call == Call::Enqueue { "enqueue" } else { "dequeue" })
        }
    }

    #[derive(Debug)]
    struct Factory(Script, Arc<Mutex<Vec<u64>>>);

    impl ExternalFactory for Factory {
        fn create(&self, _: &ExternalPort<'_>) -> Result<Box<dyn ExternalDiscipline>, String> {
            if self.0 == Script::FailCreate {
                return Err("mine: Scripted: cannot".into());
            }
            Ok(Box::new(Scripted { queue: VecDeque::new(), script: self.0, rates: self.1.clone() }))
        }
    }

    struct Bench {
        port: External<TestPacket>,
        rng: Rng,
        drops: Drops,
        rates: Arc<Mutex<Vec<u64>>>,
    }

    /// Offers one packet of each of `arrivals` flows to a port with room for 3, then serves `departures` times. Returns
    /// the port with its drops, and the flows of the served packets.
    fn bench(script: Script, ecn: Ecn, arrivals: u32, departures: usize) -> (Bench, Vec<u32>) {
        let rates = Arc::new(Mutex::new(Vec::new()));
        let scheme = ExternalScheme::new("mine", Arc::new(Factory(script, rates.clone())));
        let buffer = BufferParams { limit: QueueLimit::Packets(3), ..Default::default() };
        let of = Port { buffer: &buffer, rate: BitRate(1_000_000), weights: &Weights::equal() };
        let port = External::new(&scheme, &of);
        let mut bench = Bench { port, rng: Rng::stream(1, 0, "test", 0), drops: Drops::default(), rates };
        for flow in 0..arrivals {
            let packet = TestPacket { flow, ecn, ..Default::default() };
            bench.port.enqueue(packet, Time::ZERO, &mut bench.rng, &mut bench.drops);
        }
        let serve = |_| bench.port.dequeue(Time::ZERO, &mut bench.rng, &mut bench.drops).map(|packet| packet.flow);
        let served = (0..departures).filter_map(serve).collect();
        (bench, served)
    }

    fn failure(script: Script) -> String {
        let (bench, served) = bench(script, Ecn::NotEct, 4, 4);
        let accounted = served.len() + bench.drops.0.len() + bench.port.backlog().packets as usize;
        assert_eq!(accounted, 4, "{script:?}: packets are accounted for");
        assert!(bench.port.backlog().packets <= 3, "{script:?}: the limit holds");
        bench.port.failure().unwrap_or_default().to_string()
    }

    fn reasons(bench: &Bench) -> Vec<(u32, DropReason)> {
        bench.drops.0.iter().map(|&(packet, reason, _)| (packet.flow, reason)).collect()
    }

    #[test]
    fn a_sound_scheme_serves_and_drops() {
        let (bench, served) = bench(Script::Fifo, Ecn::NotEct, 4, 4);
        assert_eq!((served, reasons(&bench)), (vec![0, 1, 2], vec![(3, DropReason::Overlimit)]));
        assert_eq!((bench.port.failure(), bench.port.backlog()), (None, Backlog::default()));
    }

    #[test]
    fn waiting_packets_can_be_pushed_out_or_dropped_at_the_head() {
        let (pushed, served) = bench(Script::PushOut, Ecn::NotEct, 4, 4);
        assert_eq!((served, reasons(&pushed)), (vec![1, 2, 3], vec![(0, DropReason::PushedOut)]));
        let (headed, served) = bench(Script::DropAtHead, Ecn::NotEct, 2, 1);
        assert_eq!((served, reasons(&headed)), (vec![1], vec![(0, DropReason::Aqm)]));
    }

    #[test]
    fn marks_reach_the_packets_that_understand_them() {
        let (marked, served) = bench(Script::MarkAll, Ecn::Ect0, 2, 2);
        assert_eq!((marked.drops.1.as_slice(), served), (&[0, 1][..], vec![0, 1]));
        assert!(failure(Script::MarkAll).contains("enqueue marked a packet whose transport"));
    }

    #[test]
    fn every_mistake_is_named_and_ends_the_scheme() {
        let limit = "mine: Scripted.enqueue left Backlog { packets: 4, bytes: 6000 } waiting, the limit is 3 packets";
        for (script, message) in [
            (Script::KeepAll, limit),
            (
                Script::GiveTwice,
                "mine: Scripted.dequeue gave a packet that does not wait: it was given or dropped before",
            ),
            (Script::GiveNothing, "mine: Scripted.dequeue gave nothing although packets wait: 3"),
            (Script::DropTwice, "mine: Scripted.enqueue dropped a packet that does not wait"),
            (Script::FailEnqueue, "mine: Scripted.enqueue: no"),
            (Script::FailDequeue, "mine: Scripted.dequeue: no"),
            (Script::FailCreate, "mine: Scripted: cannot"),
        ] {
            assert_eq!(failure(script), message);
        }
    }

    #[test]
    fn changes_of_the_rate_reach_the_scheme() {
        let (mut bench, _) = bench(Script::Fifo, Ecn::NotEct, 1, 1);
        bench.port.set_link_rate(BitRate(7));
        assert_eq!(*bench.rates.lock().unwrap(), [7]);
        assert_eq!(bench.port.state_size().records, 0);
    }

    #[test]
    fn equal_means_the_same_factory() {
        let factory: Arc<dyn ExternalFactory> = Arc::new(Factory(Script::Fifo, Arc::default()));
        let scheme = |factory: &Arc<dyn ExternalFactory>| ExternalScheme::new("a", factory.clone());
        assert_eq!(scheme(&factory), scheme(&factory));
        assert_ne!(scheme(&factory), scheme(&(Arc::new(Factory(Script::Fifo, Arc::default())) as _)));
        assert!(no_external("a").is_none());
    }
}
