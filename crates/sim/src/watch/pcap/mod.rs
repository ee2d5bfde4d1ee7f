//! Packet capture of a link: pcapng with IPv4, TCP and UDP headers, for Wireshark and similar tools.
//!
//! # Capture point
//!
//! The capture is taken at the edge node, on its interface to the bottleneck. A packet is captured when its
//! transmission starts, and an acknowledgement when it has left the reverse bottleneck. So round-trip times in the
//! capture exclude the queue of the port and the access links. Dropped packets are captured only if requested, at the
//! time of the drop and with a comment. Packets lost on the wire are captured when they are sent. If drops are
//! requested, these packets are captured a second time, with a comment, when they would have arrived.
//!
//! With a reverse link, the capture is taken where packets enter the captured link: at the edge node, or at the server
//! for the reverse link. Packets of the other link, data and acknowledgements, are captured when they arrive there.
//!
//! # Contents of a packet
//!
//! - The link type is 101, raw IPv4. The original length is the length in the simulator, including the link layer. With
//!   the default of 54 bytes of headers, it is 2 bytes (PPP) longer than the IPv4 packet. Only headers are simulated;
//!   the payload is zeros.
//! - Users have the addresses from 10.0.0.1 on, the server has 192.0.2.1. Flow f has port 50000 + f mod 10000 at the
//!   user and port 40000 + f div 10000 (modulo 2^16) at the server. TCP flows are numbered before UDP flows; transfers
//!   of web sources have larger numbers.
//! - The DSCP is 46 (EF, RFC 3246) or 0, depending on the traffic class, also for acknowledgements. The ECN field is
//!   that of the simulated packet.
//! - TCP's initial sequence numbers are 0, so segment k starts at 1 + k * MSS (modulo 2^32). Timestamps (RFC 7323) are
//!   in milliseconds, and are present if `header_bytes` is at least 52. Segments have SACK blocks, and the flags ECE
//!   and CWR. A SYN contains the options window scale, timestamps, SACK permitted and MSS, in this order, as far as
//!   they fit in `syn_bytes`. The window is the socket buffer, or, with `autotuning`,
//!   the window that the receiver offers. As in the simulator, a SYN does not negotiate ECN.
//!
//! # Cost
//!
//! A TCP flow takes 110 bytes of memory, and an acknowledgement in flight takes 16 bytes. The file has 100 to 140 bytes
//! per packet.

mod headers;

use crate::network::Network;
use crate::network::ack_packets::ACK_FLOW;
use crate::network::hosts::AckTimes;
use crate::network::sim_packet::{PacketKind, SimPacket};
use crate::network::tcp_flow::{TcpFlow, flow_index};
use crate::scenario::Scenario;
use crate::traffic::tcp::{Ack, SackBlocks, TcpParams};
use crate::watch::observer::Observer;
use fairlane_schemes::base::config::ConfigError;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::{Backlog, DropReason};
use fairlane_schemes::contract::packet::Ecn;
use headers::{Direction, Frame, HeaderPlan, IpFields, TcpFields};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, PcapError};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::time::Duration;

/// Minimum length of a TCP packet: IPv4 and TCP headers without options.
const LEAST_TCP_BYTES: u32 = 40;

/// Maximum number of bytes of an option: pcapng counts them in 16 bits.
const LONGEST_OPTION: usize = u16::MAX as usize;

/// Content of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct PcapOptions {
    /// True if the capture contains dropped packets.
    pub drops: bool,
    /// Bytes captured of each packet; headers are always captured.
    pub snaplen: u32,
    /// Index of the link.
    pub link: u32,
}

/// Checks whether a scenario can be captured.
///
/// # Errors
/// The packets of a TCP source are shorter than their headers.
pub fn check(scenario: &Scenario) -> Result<(), ConfigError> {
    for (g, group) in scenario.groups.iter().enumerate() {
        for (s, source) in group.sources.iter().enumerate() {
            let Some(tcp) = source.tcp() else { continue };
            for (key, bytes) in [("header_bytes", tcp.params.header_bytes), ("syn_bytes", tcp.params.syn_bytes)] {
                if bytes < LEAST_TCP_BYTES {
                    let problem = format!(
                        "{bytes} is out of range, a capture needs at least {LEAST_TCP_BYTES} for the IPv4 and TCP \
                         headers"
                    );
                    return Err(ConfigError::new(format!("groups[{g}].sources[{s}].{key}"), problem));
                }
            }
        }
    }
    Ok(())
}

/// State for the headers of one TCP connection.
#[derive(Debug)]
struct Connection {
    plan: HeaderPlan,
    ip: IpFields,
    /// TSval of the last acknowledgement that the sender had received when it sent the current packet.
    echo: Time,
    /// Acknowledgements in flight to the sender: arrival time at the sender, and TSval.
    later_echoes: VecDeque<(Time, Time)>,
}

impl Connection {
    /// Updates `echo` for a packet that its sender sent at `sent`. These times never decrease, since packets of a flow
    /// keep their order.
    fn know(&mut self, sent: Time) {
        while let Some(&(_, value)) = self.later_echoes.front().filter(|(arrival, _)| *arrival <= sent) {
            self.echo = value;
            self.later_echoes.pop_front();
        }
    }
}

/// An acknowledgement that has not reached the edge node yet.
#[derive(Debug)]
struct PendingAck {
    at_edge: Time,
    sent: Time,
    flow: u32,
    ack: Ack,
    wire_bytes: u32,
}

/// An observer that writes the capture of one run.
pub struct Pcap<W: Write> {
    writer: PcapNgWriter<W>,
    options: PcapOptions,
    connections: Vec<Connection>,
    /// Slots of short-lived connections, by the flow number in their packets.
    passing: HashMap<u32, u32>,
    /// For each group: delay of acknowledgements from the link to the edge node, if the group's route contains the
    /// link.
    beyond: Vec<Option<Time>>,
    group_of_user: Vec<u16>,
    /// The link opposite to the captured one, and the direction of its packets, if there is a reverse link.
    opposite: Option<(u32, Direction)>,
    /// Acknowledgements in packets by slot, if there is a reverse link.
    packed: Vec<Ack>,
    /// Packets that arrived over the other link and are not written yet, like `acks`.
    inbound: VecDeque<(Time, SimPacket, Ack)>,
    /// Acknowledgements in the order in which they reach the edge node. They are not written at once, because an
    /// earlier start of a transmission may be reported after them.
    acks: VecDeque<PendingAck>,
    frame: Frame,
    failure: Option<io::Error>,
}

impl<W: Write> std::fmt::Debug for Pcap<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pcap").field("options", &self.options).field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl<W: Write> Pcap<W> {
    /// Starts a capture of a replication of a scenario.
    ///
    /// # Errors
    /// Writing to `output` failed.
    pub fn new(output: W, scenario: &Scenario, replication: u32, options: PcapOptions) -> io::Result<Self> {
        let run = format!(", seed {}, replication {replication}", scenario.run.seed);
        let comment =
            format!("scenario {}{run}", beginning(&scenario.name, LONGEST_OPTION - "scenario ".len() - run.len()));
        let program = concat!("fairlane ", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            options: vec![
                SectionHeaderOption::Comment(comment.into()),
                SectionHeaderOption::UserApplication(program.into()),
            ],
            ..Default::default()
        };
        let link = &scenario.topology.links[options.link as usize];
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(beginning(&link.name, LONGEST_OPTION).into()),
                InterfaceDescriptionOption::IfSpeed(link.params.rate.0),
                InterfaceDescriptionOption::IfTsResol(9),
            ],
        };
        let mut writer = PcapNgWriter::with_section_header(output, section).map_err(io_error)?;
        writer.write_pcapng_block(interface).map_err(io_error)?;
        Ok(Self {
            writer,
            options,
            connections: Vec::new(),
            passing: HashMap::new(),
            beyond: scenario.groups.iter().map(|group| beyond(scenario, &group.route, options.link)).collect(),
            group_of_user: Vec::new(),
            opposite: scenario.topology.has_reverse_link.then_some(match options.link {
                0 => (1, Direction::ToUser),
                _ => (0, Direction::ToServer),
            }),
            packed: Vec::new(),
            inbound: VecDeque::new(),
            acks: VecDeque::new(),
            frame: Frame::default(),
            failure: None,
        })
    }

    /// Finishes the capture and returns the output. The caller must flush it.
    ///
    /// # Errors
    /// A write failed.
    pub fn close(self) -> io::Result<W> {
        self.failure.map_or_else(|| Ok(self.writer.into_inner()), Err)
    }

    /// Direction of packets on the captured link.
    fn outward(&self) -> Direction {
        match self.opposite {
            Some((_, Direction::ToServer)) => Direction::ToUser,
            _ => Direction::ToServer,
        }
    }

    /// Builds the frame of a packet on the captured link.
    fn build_packet(&mut self, packet: &SimPacket) {
        let ack = self.packed_ack(packet);
        self.build_packet_towards(packet, &ack, self.outward());
    }

    /// The acknowledgement in a packet; without content for other packets.
    fn packed_ack(&self, packet: &SimPacket) -> Ack {
        let is_ack = packet.kind == PacketKind::Ack;
        if is_ack { self.packed[packet.seq as usize] } else { Ack::default() }
    }

    fn build_packet_towards(&mut self, packet: &SimPacket, ack: &Ack, direction: Direction) {
        let ip = IpFields::of(packet.user, packet.flow, packet.class);
        if packet.kind == PacketKind::Udp {
            return self.frame.build_udp(&ip, direction, packet.ecn, u32::from(packet.payload));
        }
        let is_ack = packet.kind == PacketKind::Ack;
        let flow = if is_ack { packet.flow ^ ACK_FLOW } else { packet.flow };
        let place = self.passing.get(&flow).copied().unwrap_or_else(|| flow_index(flow));
        let connection = &mut self.connections[place as usize];
        if is_ack {
            let tcp = connection.acknowledgement(ack, packet.timestamp, direction);
            return self.frame.build_tcp(&connection.ip, Ecn::NotEct, &tcp, &connection.plan, 0);
        }
        connection.know(packet.timestamp);
        let syn = packet.kind == PacketKind::Syn;
        let plan = &connection.plan;
        let tcp = TcpFields {
            direction,
            sequence: if syn { 0 } else { plan.sequence_of(packet.seq) },
            acknowledgment: (!syn).then_some(1),
            syn,
            echo: false,
            reduced: packet.cwr,
            sacks: SackBlocks::default(),
            window: None,
            timestamps: (packet.timestamp, if syn { Time::ZERO } else { connection.echo }),
        };
        self.frame.build_tcp(&connection.ip, packet.ecn, &tcp, plan, u32::from(packet.payload));
    }

    /// Captures the packets and acknowledgements that reach the edge node before `now`.
    fn flush_acks(&mut self, now: Time) {
        while self.inbound.front().is_some_and(|(at, ..)| *at < now) {
            let Some((at, packet, ack)) = self.inbound.pop_front() else { return };
            let Some((_, direction)) = self.opposite else { return };
            self.build_packet_towards(&packet, &ack, direction);
            self.write(at, u32::from(packet.wire_bytes), false, None);
        }
        while self.acks.front().is_some_and(|pending| pending.at_edge < now) {
            let Some(PendingAck { at_edge, sent, flow, ack, wire_bytes }) = self.acks.pop_front() else { return };
            let connection = &self.connections[flow as usize];
            let tcp = connection.acknowledgement(&ack, sent, Direction::ToUser);
            //= RFC 3168 6.1.4-1: ACKs without data are not ECN-capable.
            self.frame.build_tcp(&connection.ip, Ecn::NotEct, &tcp, &connection.plan, 0);
            self.write(at_edge, wire_bytes, false, None);
        }
    }

    /// Writes the frame just built, whose length on the wire is `wire_bytes`.
    fn write(&mut self, time: Time, wire_bytes: u32, is_outbound: bool, comment: Option<String>) {
        if self.failure.is_some() {
            return;
        }
        // Bits 0 and 1 of the flags are the direction: 1 is inbound, 2 is outbound.
        let mut options = vec![EnhancedPacketOption::Flags(if is_outbound { 2 } else { 1 })];
        options.extend(comment.map(|text| EnhancedPacketOption::Comment(text.into())));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(time.0 / 1000),
            original_len: wire_bytes,
            data: Cow::Borrowed(self.frame.captured(self.options.snaplen)),
            options,
        };
        self.failure = self.writer.write_block(&block.into_block()).map_err(io_error).err();
    }
}

/// Longest prefix of a text that fits in `bytes`.
fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// Propagation delay from the start of `link` back to the start of the route; `None` if the route does not contain it.
fn beyond(scenario: &Scenario, route: &[u32], link: u32) -> Option<Time> {
    let before = route.iter().position(|&other| other == link)?;
    let links = &scenario.topology.links;
    Some(route[..before].iter().fold(Time::ZERO, |sum, &other| sum + links[other as usize].params.delay))
}

impl Connection {
    /// Header fields of an acknowledgement that the receiver sent at `sent`.
    fn acknowledgement(&self, ack: &Ack, sent: Time, direction: Direction) -> TcpFields {
        TcpFields {
            direction,
            sequence: u32::from(!ack.is_syn()),
            acknowledgment: Some(self.plan.sequence_of(ack.ack)),
            syn: ack.is_syn(),
            echo: ack.echoes_congestion(),
            reduced: false,
            sacks: ack.sacks,
            window: (self.plan.autotuning && !ack.is_syn()).then_some(ack.window),
            timestamps: (sent, ack.echo),
        }
    }

    fn new(flow: &TcpFlow, params: &TcpParams) -> Self {
        Self {
            plan: HeaderPlan::new(params, flow.transfer_bytes),
            ip: IpFields::of(flow.user, flow.id, flow.class),
            echo: Time::ZERO,
            later_echoes: VecDeque::new(),
        }
    }
}

impl<W: Write> Observer for Pcap<W> {
    fn started(&mut self, network: &Network) {
        let connection = |flow: &TcpFlow| Connection::new(flow, &network.tcp_params[flow.params as usize]);
        self.connections = network.flows.iter().map(connection).collect();
        self.group_of_user = network.users.iter().map(|user| user.group).collect();
    }

    fn opened(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams) {
        self.passing.insert(flow.id, index);
        let connection = Connection::new(flow, params);
        match self.connections.get_mut(index as usize) {
            Some(present) => *present = connection,
            None => self.connections.push(connection),
        }
    }

    fn dropped(&mut self, link: u32, packet: &SimPacket, now: Time, reason: DropReason, backlog: Backlog) {
        if link == self.options.link && self.options.drops {
            self.flush_acks(now);
            self.build_packet(packet);
            let waiting = backlog.packets;
            let comment = format!("dropped ({}), {waiting} packets waiting", reason.name());
            self.write(now, u32::from(packet.wire_bytes), true, Some(comment));
        }
    }

    fn lost(&mut self, link: u32, packet: &SimPacket, now: Time) {
        if link == self.options.link && self.options.drops {
            self.flush_acks(now);
            self.build_packet(packet);
            self.write(now, u32::from(packet.wire_bytes), true, Some("lost on the wire".into()));
        }
    }

    fn transmitted(&mut self, link: u32, packet: &SimPacket, start: Time, _backlog: Backlog) {
        if link == self.options.link {
            self.flush_acks(start);
            self.build_packet(packet);
            self.write(start, u32::from(packet.wire_bytes), true, None);
        }
    }

    fn arrived(&mut self, link: u32, packet: &SimPacket, now: Time) {
        if self.opposite.is_some_and(|(other, _)| other == link) {
            self.inbound.push_back((now, *packet, self.packed_ack(packet)));
        }
    }

    fn ack_packed(&mut self, _flow: &TcpFlow, ack: &Ack, packet: &SimPacket, _now: Time) {
        let slot = packet.seq as usize;
        self.packed.resize(self.packed.len().max(slot + 1), Ack::default());
        self.packed[slot] = *ack;
    }

    fn ack_sent(&mut self, index: u32, flow: &TcpFlow, ack: &Ack, wire_bytes: u32, times: AckTimes) {
        let AckTimes { sent, at_edge, at_host } = times;
        if let Some(beyond) = self.beyond[usize::from(self.group_of_user[flow.user as usize])]
            && self.opposite.is_none()
        {
            let at_edge = at_edge - beyond;
            // The position is nearly always the last one, unless paths have different lengths.
            let place = self.acks.iter().rposition(|other| other.at_edge <= at_edge).map_or(0, |last| last + 1);
            self.acks.insert(place, PendingAck { at_edge, sent, flow: index, ack: *ack, wire_bytes });
        }
        let connection = &mut self.connections[index as usize];
        if connection.plan.timestamps {
            connection.later_echoes.push_back((at_host, sent));
        }
    }

    fn finished(&mut self, end: Time, _network: &Network) {
        self.flush_acks(end);
    }

    fn gives_up(&self) -> bool {
        self.failure.is_some()
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
