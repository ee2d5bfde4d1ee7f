//! Time series of TCP senders and queues, as tables of columns.
//!
//! Rows are sampled at multiples of an interval, or written at every change. A table is sent in chunks of
//! [`ROWS_PER_CHUNK`] rows, so memory does not grow with simulated time. A row contains the state after all events up
//! to its time.

use crate::network::Network;
use crate::network::sim_packet::SimPacket;
use crate::network::tcp_flow::TcpFlow;
use crate::scenario::{Scenario, SourceConfig};
use crate::traffic::tcp::{Phase, TcpParams};
use crate::watch::observer::Observer;
use fairlane_schemes::base::config::ConfigError;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::Backlog;

/// Number of rows in a chunk. The TCP columns of a chunk take 6 MB.
pub const ROWS_PER_CHUNK: usize = 1 << 17;
/// Maximum number of rows of a sampled trace, about 10 GB of Parquet.
const MOST_ROWS: u128 = 1_000_000_000;

/// Values of one quantity, as bytes in little-endian order.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name, which ends with the unit.
    pub name: &'static str,
    /// Type of a value, in the notation of numpy.
    pub dtype: &'static str,
    /// All values.
    pub bytes: Vec<u8>,
}

/// Consecutive rows of a table.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Name of the table.
    pub table: &'static str,
    /// Columns, all with the same number of values.
    pub columns: Vec<Column>,
    rows: usize,
}

impl Chunk {
    fn new(table: &'static str, columns: &[(&'static str, &'static str)]) -> Self {
        let column = |&(name, dtype)| Column { name, dtype, bytes: Vec::new() };
        Self { table, columns: columns.iter().map(column).collect(), rows: 0 }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the rows and leaves an empty chunk.
    fn take(&mut self) -> Self {
        let emptied = |column: &Column| Column { bytes: Vec::new(), ..*column };
        let empty = Self { columns: self.columns.iter().map(emptied).collect(), rows: 0, ..*self };
        std::mem::replace(self, empty)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SenderState {
    phase: Phase,
    cwnd: u64,
    ssthresh: u64,
    in_flight: u64,
    srtt: Time,
    rto: Time,
}

impl SenderState {
    fn of(flow: &TcpFlow, params: &TcpParams) -> Self {
        let sender = &flow.sender;
        Self {
            phase: sender.phase(),
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh(),
            in_flight: sender.in_flight(params),
            srtt: sender.srtt(),
            rto: sender.rto(),
        }
    }
}

/// Checks whether a trace of a scenario is possible.
///
/// # Errors
/// The interval gives too many rows.
pub fn check(scenario: &Scenario, interval: Time) -> Result<(), ConfigError> {
    let tcp = |source: &SourceConfig| match source {
        SourceConfig::Tcp { flows, .. } => u128::from(flows.flows),
        SourceConfig::Video { .. } => 1,
        SourceConfig::Rpm { rpm, .. } => u128::from(rpm.flows),
        SourceConfig::Web { .. } | SourceConfig::Transfers { .. } | SourceConfig::Udp(_) => 0,
    };
    let flows = scenario
        .groups
        .iter()
        .map(|group| u128::from(group.params.users) * group.sources.iter().map(tcp).sum::<u128>());
    let rows_per_sample = flows.sum::<u128>() + 1;
    let span = u128::from(scenario.run.end().0);
    if interval > Time::ZERO && span / u128::from(interval.0) * rows_per_sample > MOST_ROWS {
        let shortest = (span * rows_per_sample).div_ceil(MOST_ROWS) as f64 / Time::PER_SECOND as f64;
        let problem = format!(
            "\"{interval}\" is out of range, it must be from {} ms up (at most {MOST_ROWS} rows), or 0 s",
            shortest * 1e3
        );
        return Err(ConfigError::new("trace_interval", problem));
    }
    Ok(())
}

/// An observer that sends tables in chunks.
pub struct Trace<S> {
    /// Time between two samples; zero for every change.
    interval: Time,
    sink: S,
    tcp: Chunk,
    queue: Chunk,
    /// Last row of each flow, used only if rows are written at changes.
    last: Vec<Option<SenderState>>,
    /// Time of the next sample of all flows.
    next: Time,
    /// Last backlog and next sampling time of each link.
    links: Vec<(Backlog, Time)>,
    refused: bool,
}

impl<S> std::fmt::Debug for Trace<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("interval", &self.interval).finish_non_exhaustive()
    }
}

impl<S: FnMut(Chunk) -> bool> Trace<S> {
    /// Creates a trace with a row per `interval`, or at every change if `interval` is zero. `sink` receives the chunks.
    /// If `sink` returns false, the run is cancelled.
    #[must_use]
    pub fn new(interval: Time, sink: S) -> Self {
        let tcp = [
            ("time_s", "<f8"),
            ("user", "<u4"),
            ("flow", "<u4"),
            ("state", "|u1"),
            ("cwnd_bytes", "<u8"),
            ("ssthresh_bytes", "<u8"),
            ("in_flight_bytes", "<u8"),
            ("srtt_s", "<f8"),
            ("rto_s", "<f8"),
        ];
        let queue = [("time_s", "<f8"), ("link", "<u4"), ("queue_packets", "<u4"), ("queue_bytes", "<u8")];
        Self {
            interval,
            sink,
            tcp: Chunk::new("tcp", &tcp),
            queue: Chunk::new("queue", &queue),
            last: Vec::new(),
            next: Time::ZERO,
            links: Vec::new(),
            refused: false,
        }
    }

    fn add_tcp(&mut self, time: Time, flow: &TcpFlow, state: &SenderState) {
        // NaN before the first sample.
        let srtt = if state.srtt == Time::ZERO { f64::NAN } else { state.srtt.as_secs_f64() };
        let [times, users, flows, phases, cwnd, ssthresh, in_flight, srtts, rtos] = self.tcp.columns.as_mut_slice()
        else {
            unreachable!("Trace::new makes nine columns")
        };
        times.bytes.extend(time.as_secs_f64().to_le_bytes());
        users.bytes.extend(flow.user.to_le_bytes());
        flows.bytes.extend(flow.id.to_le_bytes());
        phases.bytes.push(state.phase as u8);
        cwnd.bytes.extend(state.cwnd.to_le_bytes());
        ssthresh.bytes.extend(state.ssthresh.to_le_bytes());
        in_flight.bytes.extend(state.in_flight.to_le_bytes());
        srtts.bytes.extend(srtt.to_le_bytes());
        rtos.bytes.extend(state.rto.as_secs_f64().to_le_bytes());
        self.tcp.rows += 1;
        if self.tcp.rows == ROWS_PER_CHUNK {
            self.refused |= !(self.sink)(self.tcp.take());
        }
    }

    fn add_queue(&mut self, time: Time, link: u32, backlog: Backlog) {
        let [times, links, packets, bytes] = self.queue.columns.as_mut_slice() else {
            unreachable!("Trace::new makes four columns")
        };
        times.bytes.extend(time.as_secs_f64().to_le_bytes());
        links.bytes.extend(link.to_le_bytes());
        packets.bytes.extend(backlog.packets.to_le_bytes());
        bytes.bytes.extend(backlog.bytes.to_le_bytes());
        self.queue.rows += 1;
        if self.queue.rows == ROWS_PER_CHUNK {
            self.refused |= !(self.sink)(self.queue.take());
        }
    }

    /// Adds a row for every flow that has started.
    fn sample_flows(&mut self, time: Time, network: &Network) {
        for flow in &network.flows {
            if flow.sender.phase() != Phase::Closed {
                let state = SenderState::of(flow, &network.tcp_params[flow.params as usize]);
                self.add_tcp(time, flow, &state);
            }
        }
    }

    /// Records that `link` has this backlog from `now` on.
    fn queue_changed(&mut self, link: u32, now: Time, backlog: Backlog) {
        self.sample_queue_until(link, now);
        let (last, _) = &mut self.links[link as usize];
        if std::mem::replace(last, backlog) != backlog && self.interval == Time::ZERO {
            self.add_queue(now, link, backlog);
        }
    }

    /// Samples a link at all sampling times before `now`.
    fn sample_queue_until(&mut self, link: u32, now: Time) {
        while self.interval > Time::ZERO && self.links[link as usize].1 < now {
            let (backlog, next) = self.links[link as usize];
            self.add_queue(next, link, backlog);
            self.links[link as usize].1 = next.saturating_add(self.interval);
        }
    }
}

impl<S: FnMut(Chunk) -> bool> Observer for Trace<S> {
    fn started(&mut self, network: &Network) {
        self.last = vec![None; network.flows.len()];
        self.links = vec![(Backlog::default(), Time::ZERO); network.links.len()];
        if self.interval == Time::ZERO {
            for link in 0..self.links.len() as u32 {
                self.add_queue(Time::ZERO, link, Backlog::default());
            }
        }
    }

    fn advanced(&mut self, now: Time, network: &Network) {
        while self.interval > Time::ZERO && self.next < now {
            self.sample_flows(self.next, network);
            self.next = self.next.saturating_add(self.interval);
        }
    }

    fn offered(&mut self, link: u32, _packet: &SimPacket, now: Time, backlog: Backlog) {
        self.queue_changed(link, now, backlog);
    }

    fn transmitted(&mut self, link: u32, _packet: &SimPacket, start: Time, backlog: Backlog) {
        self.queue_changed(link, start, backlog);
    }

    fn opened(&mut self, index: u32, _flow: &TcpFlow, _params: &TcpParams) {
        let index = index as usize;
        self.last.resize(self.last.len().max(index + 1), None);
        self.last[index] = None;
    }

    fn sender_acted(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams, now: Time) {
        if self.interval > Time::ZERO {
            return;
        }
        let state = SenderState::of(flow, params);
        if self.last[index as usize].replace(state) != Some(state) {
            self.add_tcp(now, flow, &state);
        }
    }

    fn finished(&mut self, end: Time, network: &Network) {
        let after = end.saturating_add(Time(1));
        self.advanced(after, network);
        for link in 0..self.links.len() as u32 {
            self.sample_queue_until(link, after);
        }
        self.refused |= !(self.sink)(self.tcp.take());
        self.refused |= !(self.sink)(self.queue.take());
    }

    fn gives_up(&self) -> bool {
        self.refused
    }
}
