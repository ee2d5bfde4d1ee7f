//! Writes events of TCP senders as qlog, for qvis and similar tools: packets sent, received and lost, windows and
//! round-trip times.
//!
//! # Formats
//!
//! [`Dialect::Contained`] is one JSON value with a trace for each connection, `qlog_version` 0.3, which qvis loads:
//! draft-ietf-quic-qlog-main-schema-02, draft-ietf-quic-qlog-quic-events-01. [`Dialect::Sequential`] is a JSON text
//! sequence (RFC 7464) with a group for each connection: main-schema-14, quic-events-13.
//!
//! # Mapping of TCP to QUIC
//!
//! - A packet is one transmission of a segment. Packets of type `1RTT` are numbered in the order of sending, from 0, so
//!   a retransmission has a new number. The SYN and the ACK that ends the handshake have the type `initial`.
//! - `raw.length` is the length of the packet on the wire, `raw.payload_length` the length of its payload. Each packet
//!   has one frame, of stream 0, whose offset is the segment's offset in the transfer.
//! - An ACK is a received packet. Its ranges contain the packets that it newly acknowledges. For a segment sent several
//!   times, the ranges contain all transmissions not considered lost, or the last transmission if all are: TCP cannot
//!   tell which transmission arrived.
//! - A packet is lost when the sender considers it lost. A sender without a record of each segment (`loss_detection =
//!   "dupack"`) does not detect losses one by one; its packets count as lost when their segment is retransmitted.
//! - Metrics are the sender's own, as in the table `tcp` of [`crate::watch::trace`]. The latest and the minimum RTT
//!   come from samples that the sender used.
//! - Times are simulated times, in ms with six decimals.
//!
//! # Cost
//! The file has 450 to 600 bytes per packet with its ACK. Each outstanding segment needs 48 bytes of memory. Data
//! that are not yet written to disk need up to 16 MiB.

mod connection;
mod spool;
mod text;

pub use text::Dialect;

use crate::network::Network;
use crate::network::tcp_flow::TcpFlow;
use crate::scenario::{Scenario, SourceConfig};
use crate::traffic::tcp::{Ack, Segment, TcpParams};
use crate::watch::observer::Observer;
use connection::Connection;
use fairlane_schemes::base::config::ConfigError;
use fairlane_schemes::base::units::Time;
use serde_json::json;
use spool::Spool;
use std::io::{self, Read, Seek, Write};
use text::Events;

/// Selects the senders to log and the format.
#[derive(Clone, Debug, Default)]
pub struct QlogOptions {
    /// Format of the file.
    pub dialect: Dialect,
    /// Flow numbers, as in traces; all flows if absent.
    pub flows: Option<Vec<u32>>,
}

/// Checks that the senders of a scenario can be logged.
///
/// # Errors
/// A flow does not exist, or the scenario has no TCP sender.
pub fn check(scenario: &Scenario, options: &QlogOptions) -> Result<(), ConfigError> {
    let sources = || scenario.groups.iter().flat_map(|group| group.sources.iter().map(move |source| (group, source)));
    if !sources().any(|(_, source)| source.tcp().is_some()) {
        return Err(ConfigError::new("qlog", "has no effect, the scenario has no TCP source"));
    }
    let tcp = sources().filter(|(_, source)| matches!(source, SourceConfig::Tcp { .. }));
    let flows: u64 = tcp.map(|(group, source)| u64::from(group.params.users) * source.lasting_flows()).sum();
    match options.flows.iter().flatten().find(|&&flow| u64::from(flow) >= flows) {
        Some(flow) if flows == 0 => {
            Err(ConfigError::new("qlog_flows", format!("{flow} is no flow, the scenario has transfers only")))
        }
        Some(flow) => {
            let problem = format!("{flow} is out of range, it must be from 0 to {}", flows - 1);
            Err(ConfigError::new("qlog_flows", problem))
        }
        None => Ok(()),
    }
}

/// An observer that writes the log of one run.
pub struct Qlog<W, S> {
    output: W,
    flows: Option<Vec<u32>>,
    dialect: Dialect,
    /// Storage for the traces of a contained log; a sequence needs none.
    spool: Option<Spool<S>>,
    title: String,
    description: String,
    groups: Vec<String>,
    /// For each user: index of its group, and its number within the group.
    users: Vec<(u16, u32)>,
    /// Logs by slot of the flow; `None` for flows that are not logged.
    connections: Vec<Option<Connection>>,
    events: String,
    failure: Option<io::Error>,
}

impl<W, S> std::fmt::Debug for Qlog<W, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Qlog").field("dialect", &self.dialect).field("flows", &self.flows).finish_non_exhaustive()
    }
}

impl<W: Write, S: Read + Write + Seek> Qlog<W, S> {
    /// Starts the log of a replication of a scenario that passed [`check`]. A contained log needs an empty `storage`
    /// for the events that it collects.
    ///
    /// # Errors
    /// Writing to `output` failed.
    ///
    /// # Panics
    /// A contained log has no `storage`.
    pub fn new(
        mut output: W,
        storage: Option<S>,
        scenario: &Scenario,
        replication: u32,
        options: &QlogOptions,
    ) -> io::Result<Self> {
        let program = concat!("fairlane ", env!("CARGO_PKG_VERSION"));
        let title = scenario.name.clone();
        let description = format!("{program}, seed {}, replication {replication}", scenario.run.seed);
        if options.dialect == Dialect::Sequential {
            output.write_all(text::sequence_header(&title, &description).as_bytes())?;
        }
        let spool = match options.dialect {
            Dialect::Contained => Some(Spool::new(storage.expect("a contained log has storage"))),
            Dialect::Sequential => None,
        };
        Ok(Self {
            output,
            flows: options.flows.clone(),
            dialect: options.dialect,
            spool,
            title,
            description,
            groups: scenario.groups.iter().map(|group| group.name.clone()).collect(),
            users: Vec::new(),
            connections: Vec::new(),
            events: String::new(),
            failure: None,
        })
    }

    /// Finishes the log and returns the output. The caller must flush it.
    ///
    /// # Errors
    /// A write failed.
    pub fn close(mut self) -> io::Result<W> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        if let Some(spool) = self.spool {
            self.output.write_all(text::file_header(&self.title, &self.description).as_bytes())?;
            spool.pour(&mut self.output)?;
            self.output.write_all(text::FILE_END.as_bytes())?;
        }
        Ok(self.output)
    }

    /// Starts the log of the connection in a slot, if it must be logged.
    fn open(&mut self, index: u32, flow: &TcpFlow) {
        let place = index as usize;
        if place >= self.connections.len() {
            self.connections.resize_with(place + 1, || None);
        }
        if self.flows.as_ref().is_some_and(|flows| !flows.contains(&index)) {
            return;
        }
        let ordinal = self.connections[place].as_ref().map_or(1, |earlier| earlier.ordinal + 1);
        let (group, number) = self.users[flow.user as usize];
        let user = format!("{} {number}", self.groups[usize::from(group)]);
        let mut label = format!("{user}, flow {index}");
        if ordinal > 1 {
            label += &format!(", connection {ordinal}");
        }
        let label = json!(label).to_string();
        let trace = match &mut self.spool {
            Some(spool) => spool.open(text::trace_header(&label, &user)),
            None => 0,
        };
        self.connections[place] = Some(Connection::new(label, ordinal, trace, flow));
    }

    #[inline]
    fn log(&mut self, index: u32, now: Time, tell: impl FnOnce(&mut Connection, &mut Events<'_>)) {
        let Some(connection) = &mut self.connections[index as usize] else { return };
        if self.failure.is_some() {
            return;
        }
        self.events.clear();
        let label = std::mem::take(&mut connection.label);
        tell(connection, &mut Events { text: &mut self.events, dialect: self.dialect, label: &label, now });
        connection.label = label;
        let written = match &mut self.spool {
            Some(spool) => spool.add(connection.trace, self.events.as_bytes()),
            None => self.output.write_all(self.events.as_bytes()),
        };
        self.failure = written.err();
    }
}

impl<W: Write, S: Read + Write + Seek> Observer for Qlog<W, S> {
    fn started(&mut self, network: &Network) {
        let mut counts = vec![0; self.groups.len()];
        for user in &network.users {
            let count = &mut counts[usize::from(user.group)];
            self.users.push((user.group, *count));
            *count += 1;
        }
        for (index, flow) in (0..).zip(&network.flows) {
            self.open(index, flow);
        }
    }

    fn opened(&mut self, index: u32, flow: &TcpFlow, _params: &TcpParams) {
        self.open(index, flow);
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
        self.log(index, now, |connection, events| {
            connection.received(events, params, ack, rtt);
            connection.judged(events, flow, params);
        });
    }

    fn timer_handled(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams, now: Time) {
        self.log(index, now, |connection, events| connection.judged(events, flow, params));
    }

    fn segment_sent(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams, segment: &Segment, now: Time) {
        self.log(index, now, |connection, events| connection.sent(events, flow, params, segment));
    }

    fn sender_acted(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams, now: Time) {
        self.log(index, now, |connection, events| connection.acted(events, flow, params));
    }

    fn gives_up(&self) -> bool {
        self.failure.is_some()
    }
}
