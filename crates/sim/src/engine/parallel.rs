//! Runs one replication on several threads. Each thread simulates a part of the network. The threads synchronise at the
//! end of each time window.
//!
//! A window is as long as the lookahead of the [`Partition`]: packets sent to another part during a window arrive after
//! its end. Within a window, each part handles its events in order, independently of other parts. A part also starts
//! all transmissions on cut links up to the end of the window, and passes their packets to the other parts. Then all
//! threads synchronise. Events that touch the same state are handled in the same order, by time and rank, as in a run
//! on one thread. So the results are byte-identical.
//!
//! Each part stores the whole network, with the same indices, but touches only the entities that belong to it.

use crate::engine::border::{Inbox, Parcel, PartBorder};
use crate::engine::event::Event;
use crate::engine::event_loop::{EVENTS_PER_CHECK, EventLoop, Stop, cpu_seconds, recorded, try_observe};
use crate::engine::partition::Partition;
use crate::engine::rendezvous::Rendezvous;
use crate::measure::run_record::RunRecord;
use crate::network::Network;
use crate::scenario::Scenario;
use crate::watch::observer::{NoObserver, Observer};
use fairlane_schemes::base::units::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{panic, thread};

/// Runs one replication on at most `threads` threads, or on one if more would save little time. The record does not
/// depend on the number of threads. An observer gets only the progress of the run.
///
/// # Errors
/// The run was cancelled, its observer stopped it, or an external scheme or congestion control failed.
pub fn run_on(
    scenario: &Scenario,
    replication: u32,
    threads: usize,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<RunRecord, Stop> {
    match (threads > 1).then(|| Partition::new(scenario, threads)) {
        Some(Ok(partition)) => run_by(scenario, replication, &partition, cancelled, observer),
        _ => try_observe(scenario, replication, cancelled, observer),
    }
}

/// Runs one replication with a thread for each part of `partition`, including the calling thread.
///
/// # Errors
/// The same errors as [`run_on`].
///
/// # Panics
/// A part panics.
pub fn run_by(
    scenario: &Scenario,
    replication: u32,
    partition: &Partition,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<RunRecord, Stop> {
    let meeting = Meeting::new(partition);
    let part = |number: u16, goes_on: &mut dyn FnMut(Time, u64) -> bool| {
        run_part((scenario, replication), (number, partition), &meeting, cancelled, goes_on)
    };
    let ended = thread::scope(|scope| {
        let mut others = Vec::new();
        for number in 1..partition.parts() as u16 {
            let (part, name) = (&part, "fairlane-part".to_owned());
            let Ok(thread) =
                thread::Builder::new().name(name).spawn_scoped(scope, move || part(number, &mut |_, _| true))
            else {
                meeting.rendezvous.call_off();
                return None;
            };
            others.push(thread);
        }
        let mut progress = |now, events| {
            observer.reached(now, events);
            !observer.gives_up()
        };
        let first = part(0, &mut progress);
        let others: Vec<_> = others
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .collect();
        Some([first].into_iter().chain(others).collect::<Option<Vec<Ended>>>())
    });
    match ended {
        // If no thread can be started, the calling thread runs the whole network.
        None => try_observe(scenario, replication, cancelled, observer),
        Some(None) => Err(Stop::Cancelled),
        Some(Some(parts)) => Ok(joined(scenario, replication, partition, parts)),
    }
}

struct Ended {
    network: Network,
    handled: u64,
    cpu_seconds: Option<f64>,
}

fn joined(scenario: &Scenario, replication: u32, partition: &Partition, parts: Vec<Ended>) -> RunRecord {
    let cpu_seconds = parts.iter().map(|part| part.cpu_seconds).sum();
    let events = parts.iter().map(|part| part.handled).sum();
    let mut networks = parts.into_iter().map(|part| part.network);
    let mut whole = networks.next().expect("there are at least two parts");
    for (number, other) in (1..).zip(networks) {
        whole.take_over(
            other,
            |link| partition.part_of_link(link) == number,
            |user| partition.part_of_user(user) == number,
        );
    }
    RunRecord { cpu_seconds, ..recorded(scenario, replication, &whole, events) }
}

/// State shared by all parts.
struct Meeting {
    rendezvous: Rendezvous,
    /// Mailboxes from each part to each part. There are two sets, used alternately: parcels sent in one window are
    /// received in the next.
    mail: [Vec<Mutex<Vec<Parcel>>>; 2],
    parts: usize,
    events: AtomicU64,
}

impl Meeting {
    fn new(partition: &Partition) -> Self {
        let parts = partition.parts();
        let boxes = || (0..parts * parts).map(|_| Mutex::default()).collect();
        Self { rendezvous: Rendezvous::new(parts), mail: [boxes(), boxes()], parts, events: AtomicU64::new(0) }
    }

    fn mail(&self, side: usize, from: u16, to: u16) -> &Mutex<Vec<Parcel>> {
        &self.mail[side][usize::from(from) * self.parts + usize::from(to)]
    }
}

/// Cancels the barrier when a part panics, so that other threads do not wait forever.
struct CallOffInPanic<'a>(&'a Rendezvous);

impl Drop for CallOffInPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.call_off();
        }
    }
}

/// A part of the network during the run.
struct Part<'a> {
    number: u16,
    engine: EventLoop<'a, PartBorder<'a>, false>,
    inbox: Inbox,
    /// Links of this part that lead to another part.
    cut: Vec<u32>,
    window: Time,
    meeting: &'a Meeting,
    /// Events already added to the total.
    reported: u64,
}

impl Part<'_> {
    /// Executes windows until the end of the run. Returns `None` if the run is cancelled, or if `goes_on` returns
    /// false.
    fn run(&mut self, cancelled: &AtomicBool, goes_on: &mut dyn FnMut(Time, u64) -> bool) -> Option<()> {
        let mut waiting = Time::NEVER; // next transmission on a cut link, which has no event
        for side in [0, 1].into_iter().cycle() {
            let next = self.engine.agenda.next().0.min(self.inbox.earliest_later());
            let earliest = next.min(self.engine.border.take_earliest()).min(waiting);
            if cancelled.load(Ordering::Relaxed) {
                self.meeting.rendezvous.call_off();
            }
            self.send(side);
            let start = self.meeting.rendezvous.meet(earliest)?;
            if start >= self.engine.end {
                break;
            }
            self.receive(side);
            let number = start.0 / self.window.0;
            self.inbox.open(number);
            let until = Time((number + 1).saturating_mul(self.window.0)).min(self.engine.end);
            self.handle_until(until, cancelled, goes_on)?;
            waiting = self.serve_cut_links(until);
        }
        self.engine.finish();
        Some(())
    }

    /// Starts all transmissions on cut links that begin by `until`. Returns the start time of the first later
    /// transmission.
    fn serve_cut_links(&mut self, until: Time) -> Time {
        let mut next = Time::NEVER;
        for &link in &self.cut {
            let served = &mut self.engine.network.links[link as usize];
            served.serve_until(until);
            next = next.min(served.next_start(until));
            self.engine.hand_over(link);
        }
        next
    }

    fn handle_until(
        &mut self,
        until: Time,
        cancelled: &AtomicBool,
        goes_on: &mut dyn FnMut(Time, u64) -> bool,
    ) -> Option<()> {
        loop {
            let (now, rank, event) = self.engine.agenda.next_ranked();
            let (arrival, order) = self.inbox.first();
            if now.min(arrival) >= until {
                return Some(());
            }
            // Counts the event before it is handled, because a timer event without effect decrements the count.
            if (arrival, order) < (now, rank) {
                let packet = self.inbox.take();
                self.engine.handled += 1;
                self.engine.forward(packet, arrival);
            } else {
                // Every part handles the control events, but they are counted only once, by part 0.
                self.engine.handled += u64::from(event != Event::Control || self.number == 0);
                self.engine.handle(event, now);
            }
            if self.engine.handled - self.reported >= EVENTS_PER_CHECK {
                self.look_around(now.min(arrival), cancelled, goes_on)?;
            }
        }
    }

    /// Reports progress and checks for cancellation, every few thousand events.
    #[cold]
    fn look_around(
        &mut self,
        now: Time,
        cancelled: &AtomicBool,
        goes_on: &mut dyn FnMut(Time, u64) -> bool,
    ) -> Option<()> {
        let new = self.engine.handled - self.reported;
        self.reported = self.engine.handled;
        let events = self.meeting.events.fetch_add(new, Ordering::Relaxed) + new;
        self.engine.network.count_losses();
        if cancelled.load(Ordering::Relaxed) || !goes_on(now, events) {
            self.meeting.rendezvous.call_off();
        }
        (!self.meeting.rendezvous.is_off()).then_some(())
    }

    fn send(&mut self, side: usize) {
        for (to, parcels) in (0..).zip(&mut self.engine.border.outgoing) {
            if !parcels.is_empty() {
                self.meeting.mail(side, self.number, to).lock().unwrap_or_else(PoisonError::into_inner).append(parcels);
            }
        }
    }

    fn receive(&mut self, side: usize) {
        for from in 0..self.meeting.parts as u16 {
            let mail = self.meeting.mail(side, from, self.number);
            self.inbox.take_in(&mut mail.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

fn run_part(
    (scenario, replication): (&Scenario, u32),
    (number, partition): (u16, &Partition),
    meeting: &Meeting,
    cancelled: &AtomicBool,
    goes_on: &mut dyn FnMut(Time, u64) -> bool,
) -> Option<Ended> {
    let _guard = CallOffInPanic(&meeting.rendezvous);
    let cpu_start = cpu_seconds();
    let mut nobody = NoObserver;
    let mut engine = EventLoop::new(scenario, replication, &mut nobody, PartBorder::new(number, partition));
    engine.keep_own_events();
    let links = 0..scenario.topology.links.len() as u32;
    let own_cut = |&link: &u32| partition.part_of_link(link) == number && partition.is_cut(link);
    let mut part = Part {
        number,
        engine,
        inbox: Inbox::new(partition.lookahead()),
        cut: links.filter(own_cut).collect(),
        window: partition.lookahead(),
        meeting,
        reported: 0,
    };
    part.run(cancelled, goes_on)?;
    let (network, handled) = (part.engine.network, part.engine.handled);
    Some(Ended { network, handled, cpu_seconds: cpu_seconds().zip(cpu_start).map(|(end, start)| end - start) })
}
