//! A run that also writes a packet capture of the bottleneck, tables of senders and queues, or a log of senders.
//!
//! The run has a separate thread, which sends tables through a bounded channel. So a slow receiver slows the run down
//! instead of filling the memory.

use crate::engine::threads::{Around, Threads};
use crate::engine::{self, Stop};
use crate::measure::run_record::RunRecord;
use crate::network::Network;
use crate::network::hosts::AckTimes;
use crate::network::sim_packet::SimPacket;
use crate::network::tcp_flow::TcpFlow;
use crate::scenario::Scenario;
use crate::traffic::tcp::{Ack, Segment, TcpParams};
use crate::watch::observer::Observer;
use crate::watch::pcap::{self, Pcap, PcapOptions};
use crate::watch::qlog::{self, Dialect, Qlog, QlogOptions};
use crate::watch::trace::{self, Chunk, Trace};
use fairlane_schemes::base::config::ConfigError;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::{Backlog, DropReason};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const WAITING_CHUNKS: usize = 2;

/// Requested outputs.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// File and content of the capture.
    pub pcap: Option<(PathBuf, PcapOptions)>,
    /// Interval of the tables; zero for every change.
    pub trace: Option<Time>,
    /// File and content of the log. During the run the traces are in a temporary file next to the log, whose name ends
    /// in `.spool`. The temporary file is unlinked as soon as it is open.
    pub qlog: Option<(PathBuf, QlogOptions)>,
}

impl Watch {
    /// Checks whether a scenario can be run with these outputs.
    ///
    /// # Errors
    /// A TCP packet has no room for its headers, the tables would have too many rows, or a flow does not exist.
    pub fn check(&self, scenario: &Scenario) -> Result<(), ConfigError> {
        if self.pcap.is_some() {
            pcap::check(scenario)?;
        }
        if let Some((_, options)) = &self.qlog {
            qlog::check(scenario, options)?;
        }
        self.trace.map_or(Ok(()), |interval| trace::check(scenario, interval))
    }
}

/// Reason for a missing record.
#[derive(Debug)]
pub enum Failure {
    /// Writing this file failed.
    Io(PathBuf, io::Error),
    /// A thread cannot be started.
    Thread(io::Error),
    /// An external scheme or congestion control failed.
    External(String),
    /// A bug in the simulator.
    Defect(String),
}

/// Output of a watched run.
#[derive(Debug)]
pub enum Message {
    /// Rows of a table.
    Chunk(Chunk),
    /// End of the run.
    Ended(Result<Box<RunRecord>, Failure>),
}

/// A running watched run. Dropping it cancels it.
#[derive(Debug)]
pub struct WatchedRun {
    messages: Option<Mutex<Receiver<Message>>>,
    cancelled: Arc<AtomicBool>,
    threads: Threads,
}

impl WatchedRun {
    /// Starts the run. [`Watch::check`] must have succeeded.
    ///
    /// # Errors
    /// A file cannot be written, or a thread cannot be started.
    pub fn start(scenario: Scenario, replication: u32, watch: &Watch) -> Result<Self, Failure> {
        Self::start_within(scenario, replication, watch, |work| work())
    }

    /// Like [`WatchedRun::start`], but runs the work of the thread inside `around`.
    ///
    /// # Errors
    /// The same errors as [`WatchedRun::start`].
    pub fn start_within(scenario: Scenario, replication: u32, watch: &Watch, around: Around) -> Result<Self, Failure> {
        let mut files = Some(Files::open(watch, &scenario, replication)?);
        let (sender, messages) = sync_channel(WAITING_CHUNKS);
        let cancelled = Arc::new(AtomicBool::new(false));
        let interval = watch.trace;
        let flag = cancelled.clone();
        let mut work = move || {
            let files = files.take().unwrap_or_default();
            let work = AssertUnwindSafe(|| watched(&scenario, replication, files, interval, &sender, &flag));
            let ended = match catch_unwind(work) {
                Ok(None) => return, // cancelled, so nobody receives
                Ok(Some(ended)) => ended,
                Err(panic) => Err(Failure::Defect(format!(
                    "replication {replication} of {}: internal error: {}",
                    scenario.name,
                    panic_text(&*panic)
                ))),
            };
            // Sending fails only if the receiver is gone.
            let _ = sender.send(Message::Ended(ended.map(Box::new)));
        };
        let thread = thread::Builder::new().spawn(move || around(&mut work)).map_err(Failure::Thread)?;
        let threads = Threads::of(vec![thread]);
        Ok(Self { messages: Some(Mutex::new(messages)), cancelled, threads })
    }

    /// Returns the next output, or `None` if there is none within `timeout`.
    ///
    /// # Panics
    /// The run has already returned its end.
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
        // Dropping the receiver unblocks a run that is sending a chunk.
        self.messages = None;
        self.threads.join();
    }
}

/// Files written by the run itself, with their paths.
#[derive(Debug, Default)]
struct Files {
    pcap: Option<(PathBuf, Pcap<BufWriter<File>>)>,
    qlog: Option<(PathBuf, Qlog<BufWriter<File>, File>)>,
}

impl Files {
    fn open(watch: &Watch, scenario: &Scenario, replication: u32) -> Result<Self, Failure> {
        let pcap = watch.pcap.as_ref().map(|(path, options)| {
            let output = || Pcap::new(BufWriter::new(File::create(path)?), scenario, replication, *options);
            named(path, output())
        });
        let qlog = watch.qlog.as_ref().map(|(path, options)| {
            let output = || {
                let storage = (options.dialect == Dialect::Contained).then(|| unnamed_beside(path)).transpose()?;
                Qlog::new(BufWriter::new(File::create(path)?), storage, scenario, replication, options)
            };
            named(path, output())
        });
        Ok(Self { pcap: pcap.transpose()?, qlog: qlog.transpose()? })
    }

    fn close(self) -> Result<(), Failure> {
        if let Some((path, pcap)) = self.pcap {
            named(&path, pcap.close().and_then(|mut file| file.flush()))?;
        }
        if let Some((path, qlog)) = self.qlog {
            named(&path, qlog.close().and_then(|mut file| file.flush()))?;
        }
        Ok(())
    }
}

/// Adds `path` to the result, on success or error.
fn named<T>(path: &Path, written: io::Result<T>) -> Result<(PathBuf, T), Failure> {
    match written {
        Ok(written) => Ok((path.to_owned(), written)),
        Err(error) => Err(Failure::Io(path.to_owned(), error)),
    }
}

/// Creates a temporary file in the folder of `path` that disappears with the process.
fn unnamed_beside(path: &Path) -> io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".spool");
    let file = File::options().read(true).write(true).create_new(true).open(&name)?;
    fs::remove_file(name)?;
    Ok(file)
}

/// Executes the run. Returns `None` if it was cancelled.
fn watched(
    scenario: &Scenario,
    replication: u32,
    files: Files,
    interval: Option<Time>,
    sender: &SyncSender<Message>,
    cancelled: &AtomicBool,
) -> Option<Result<RunRecord, Failure>> {
    let sink = |chunk| sender.send(Message::Chunk(chunk)).is_ok();
    let mut observer = All { files, trace: interval.map(|interval| Trace::new(interval, sink)) };
    let record = engine::try_observe(scenario, replication, cancelled, &mut observer);
    match (observer.files.close(), record) {
        (Err(failure), _) => Some(Err(failure)),
        (Ok(()), Ok(record)) => Some(Ok(record)),
        (Ok(()), Err(Stop::Cancelled)) => None,
        (Ok(()), Err(Stop::ExternalFailed(problem))) => Some(Err(Failure::External(problem))),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown defect")
}

/// Any of a capture, a log and tables.
#[derive(Debug)]
struct All<T> {
    files: Files,
    trace: Option<T>,
}

/// Calls a hook of each observer that exists.
macro_rules! each {
    ($all:ident, $hook:ident $(, $argument:expr)*) => {{
        if let Some((_, pcap)) = &mut $all.files.pcap {
            pcap.$hook($($argument),*);
        }
        if let Some((_, qlog)) = &mut $all.files.qlog {
            qlog.$hook($($argument),*);
        }
        if let Some(trace) = &mut $all.trace {
            trace.$hook($($argument),*);
        }
    }};
}

impl<T: Observer> Observer for All<T> {
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

    fn ack_packed(&mut self, flow: &TcpFlow, ack: &Ack, packet: &SimPacket, now: Time) {
        each!(self, ack_packed, flow, ack, packet, now);
    }

    fn ack_taken_in(
        &mut self,
        index: u32,
        flow: &TcpFlow,
        params: &TcpParams,
        ack: &Ack,
        rtt: Option<Time>,
        now: Time,
    ) {
        each!(self, ack_taken_in, index, flow, params, ack, rtt, now);
    }

    fn timer_handled(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams, now: Time) {
        each!(self, timer_handled, index, flow, params, now);
    }

    fn segment_sent(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams, segment: &Segment, now: Time) {
        each!(self, segment_sent, index, flow, params, segment, now);
    }

    fn sender_acted(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams, now: Time) {
        each!(self, sender_acted, index, flow, params, now);
    }

    fn finished(&mut self, end: Time, network: &Network) {
        each!(self, finished, end, network);
    }

    fn gives_up(&self) -> bool {
        self.files.pcap.as_ref().is_some_and(|(_, pcap)| pcap.gives_up())
            || self.files.qlog.as_ref().is_some_and(|(_, qlog)| qlog.gives_up())
            || self.trace.as_ref().is_some_and(Observer::gives_up)
    }
}
