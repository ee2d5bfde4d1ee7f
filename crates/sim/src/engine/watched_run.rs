//! One run that is watched: a capture of the bottleneck, tables of senders and queues, or both.
//!
//! The run has a thread of its own. Tables come through a channel of few places, so that a reader who is slow slows the
//! run down instead of filling the memory.

use crate::engine::threads::{Around, Threads};
use crate::engine::{self, Stop};
use crate::measure::run_record::RunRecord;
use crate::network::Network;
use crate::network::hosts::AckTimes;
use crate::network::sim_packet::SimPacket;
use crate::network::tcp_flow::TcpFlow;
use crate::scenario::Scenario;
use crate::traffic::tcp::{Ack, TcpParams};
use crate::watch::observer::Observer;
use crate::watch::pcap::{self, Pcap, PcapOptions};
use crate::watch::trace::{self, Chunk, Trace};
use fairlane_schemes::base::config::ConfigError;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::{Backlog, DropReason};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Chunks that may wait for the reader.
const WAITING_CHUNKS: usize = 2;

/// What to watch.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// File of the capture, and what it contains.
    pub pcap: Option<(PathBuf, PcapOptions)>,
    /// Interval of the tables; zero for every change.
    pub trace: Option<Time>,
}

impl Watch {
    /// Says why a scenario cannot be watched, if it cannot.
    ///
    /// # Errors
    /// Packets without room for headers, or tables without end.
    pub fn check(&self, scenario: &Scenario) -> Result<(), ConfigError> {
        if self.pcap.is_some() {
            pcap::check(scenario)?;
        }
        self.trace.map_or(Ok(()), |interval| trace::check(scenario, interval))
    }
}

/// Why there is no record.
#[derive(Debug)]
pub enum Failure {
    /// The capture could not be written.
    Io(io::Error),
    /// A discipline from outside failed.
    Scheme(String),
    /// A defect of the simulator.
    Defect(String),
}

/// What comes out of a watched run.
#[derive(Debug)]
pub enum Message {
    /// Rows of a table.
    Chunk(Chunk),
    /// The end.
    Ended(Result<Box<RunRecord>, Failure>),
}

/// A watched run under way. Dropping it cancels it.
#[derive(Debug)]
pub struct WatchedRun {
    messages: Option<Mutex<Receiver<Message>>>,
    cancelled: Arc<AtomicBool>,
    threads: Threads,
}

impl WatchedRun {
    /// Starts the run; [`Watch::check`] must have agreed.
    ///
    /// # Errors
    /// The file of the capture cannot be written.
    pub fn start(scenario: Scenario, replication: u32, watch: &Watch) -> io::Result<Self> {
        Self::start_within(scenario, replication, watch, |work| work())
    }

    /// As [`WatchedRun::start`], with `around` around the work of the thread.
    ///
    /// # Errors
    /// As [`WatchedRun::start`].
    pub fn start_within(scenario: Scenario, replication: u32, watch: &Watch, around: Around) -> io::Result<Self> {
        let pcap = match &watch.pcap {
            Some((path, options)) => {
                Some(Pcap::new(BufWriter::new(File::create(path)?), &scenario, replication, *options)?)
            }
            None => None,
        };
        let (sender, messages) = sync_channel(WAITING_CHUNKS);
        let cancelled = Arc::new(AtomicBool::new(false));
        let interval = watch.trace;
        let flag = cancelled.clone();
        let mut pcap = pcap;
        let mut work = move || {
            let work = AssertUnwindSafe(|| watched(&scenario, replication, pcap.take(), interval, &sender, &flag));
            let ended = match catch_unwind(work) {
                Ok(None) => return, // cancelled, nobody listens
                Ok(Some(ended)) => ended,
                Err(panic) => Err(Failure::Defect(format!(
                    "replication {replication} of {}: internal error: {}",
                    scenario.name,
                    panic_text(&*panic)
                ))),
            };
            // Nobody listens: nothing is lost.
            let _ = sender.send(Message::Ended(ended.map(Box::new)));
        };
        let threads = Threads::of(vec![thread::Builder::new().spawn(move || around(&mut work))?]);
        Ok(Self { messages: Some(Mutex::new(messages)), cancelled, threads })
    }

    /// What comes next; `None` if nothing does within `timeout`.
    ///
    /// # Panics
    /// After the end.
    pub fn next(&self, timeout: Duration) -> Option<Message> {
        let messages =
            self.messages.as_ref().expect("taken only by drop").lock().expect("no holder of the lock panics");
        match messages.recv_timeout(timeout) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the run has ended"),
        }
    }
}

impl Drop for WatchedRun {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        // A run that is blocked sending a chunk continues once nobody can receive it any more.
        self.messages = None;
        self.threads.join();
    }
}

/// Does the run; `None` if it was cancelled.
fn watched(
    scenario: &Scenario,
    replication: u32,
    pcap: Option<Pcap<BufWriter<File>>>,
    interval: Option<Time>,
    sender: &SyncSender<Message>,
    cancelled: &AtomicBool,
) -> Option<Result<RunRecord, Failure>> {
    let sink = |chunk| sender.send(Message::Chunk(chunk)).is_ok();
    let mut observer = Both { pcap, trace: interval.map(|interval| Trace::new(interval, sink)) };
    let record = engine::try_observe(scenario, replication, cancelled, &mut observer);
    let closed = observer.pcap.map_or(Ok(()), |pcap| pcap.close()?.flush());
    match closed {
        Err(error) => Some(Err(Failure::Io(error))),
        Ok(()) => match record {
            Ok(record) => Some(Ok(record)),
            Err(Stop::Cancelled) => None,
            Err(Stop::SchemeFailed(problem)) => Some(Err(Failure::Scheme(problem))),
        },
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown defect")
}

/// A capture, tables, or both.
#[derive(Debug)]
struct Both<P, T> {
    pcap: Option<P>,
    trace: Option<T>,
}

/// Calls a hook of whichever is there.
macro_rules! each {
    ($both:ident, $hook:ident $(, $argument:expr)*) => {{
        if let Some(pcap) = &mut $both.pcap {
            pcap.$hook($($argument),*);
        }
        if let Some(trace) = &mut $both.trace {
            trace.$hook($($argument),*);
        }
    }};
}

impl<P: Observer, T: Observer> Observer for Both<P, T> {
    fn started(&mut self, network: &Network) {
        each!(self, started, network);
    }

    fn advanced(&mut self, now: Time, network: &Network) {
        each!(self, advanced, now, network);
    }

    fn offered(&mut self, link: u32, packet: &SimPacket, now: Time, backlog: Backlog) {
        each!(self, offered, link, packet, now, backlog);
    }

    fn dropped(&mut self, link: u32, packet: &SimPacket, now: Time, reason: DropReason, backlog: Backlog) {
        each!(self, dropped, link, packet, now, reason, backlog);
    }

    fn lost(&mut self, link: u32, packet: &SimPacket, now: Time) {
        each!(self, lost, link, packet, now);
    }

    fn transmitted(&mut self, link: u32, packet: &SimPacket, start: Time, backlog: Backlog) {
        each!(self, transmitted, link, packet, start, backlog);
    }

    fn arrived(&mut self, link: u32, packet: &SimPacket, now: Time) {
        each!(self, arrived, link, packet, now);
    }

    fn opened(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams) {
        each!(self, opened, index, flow, params);
    }

    fn ack_sent(&mut self, index: u32, flow: &TcpFlow, ack: &Ack, wire_bytes: u32, times: AckTimes) {
        each!(self, ack_sent, index, flow, ack, wire_bytes, times);
    }

    fn ack_arrived(&mut self, index: u32, flow: &TcpFlow, ack: &Ack, now: Time) {
        each!(self, ack_arrived, index, flow, ack, now);
    }

    fn sender_acted(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams, now: Time) {
        each!(self, sender_acted, index, flow, params, now);
    }

    fn finished(&mut self, end: Time, network: &Network) {
        each!(self, finished, end, network);
    }

    fn gives_up(&self) -> bool {
        self.pcap.as_ref().is_some_and(Observer::gives_up) || self.trace.as_ref().is_some_and(Observer::gives_up)
    }
}
