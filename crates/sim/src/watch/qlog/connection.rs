//! State of one connection in the log: its outstanding packets, and the last logged metrics of its sender.

use super::text::{Events, Kind, Millis, Ranges};
use crate::network::tcp_flow::TcpFlow;
use crate::traffic::tcp::{Ack, LossDetection, Phase, Segment, TcpParams};
use fairlane_schemes::base::units::{BitRate, Time};
use std::collections::VecDeque;
use std::fmt::{self, Display, Write};
use std::mem;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Number,
    Time,
    Timeout,
}

impl Cause {
    fn of_loss(self) -> &'static str {
        match self {
            Self::Number => "reordering_threshold",
            Self::Time => "time_threshold",
            Self::Timeout => "pto_expired",
        }
    }

    /// Returns the trigger of `packet_sent` for the retransmission.
    fn of_resending(self) -> &'static str {
        match self {
            Self::Number => "retransmit_reordered",
            Self::Time | Self::Timeout => "retransmit_timeout",
        }
    }
}

/// Trigger of a retransmission of a segment that is not considered lost.
const PROBE: &str = "pto_probe";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Lost(Cause),
    Acked,
}

/// A segment that is not cumulatively acknowledged.
#[derive(Clone, Debug)]
struct Outstanding {
    /// Number of the packet that last carried the segment.
    packet: u64,
    /// Numbers of earlier packets that were not considered lost.
    earlier: Vec<u64>,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Metrics {
    cwnd: u64,
    ssthresh: u64,
    in_flight: u64,
    smoothed_rtt: Time,
    latest_rtt: Time,
    min_rtt: Time,
    pacing: Option<BitRate>,
}

#[derive(Debug)]
pub(super) struct Connection {
    /// Identity of the connection, as a JSON string.
    pub(super) label: String,
    /// Number of the connection among all connections in its slot, from 1.
    pub(super) ordinal: u32,
    /// Number of the connection's trace in a contained log.
    pub(super) trace: u32,
    una: u32,
    outstanding: VecDeque<Outstanding>,
    /// Number of the next sent handshake packet. The next three fields are the numbers of the next received handshake
    /// packet, and of the next sent and the next received packet after the handshake.
    initial_sent: u64,
    initial_received: u64,
    sent: u64,
    received: u64,
    largest_acked: u64,
    /// Numbers of the packets that the current ACK newly acknowledges.
    news: Vec<u64>,
    /// Number of marked segments that the receiver has counted. The next field has the low 16 bits of this number, as
    /// reported in the last ACK.
    marks: u64,
    last_marks: u8,
    timeouts: u32,
    phase: Phase,
    metrics: Option<Metrics>,
    latest_rtt: Time,
    min_rtt: Time,
}

impl Connection {
    pub(super) fn new(label: String, ordinal: u32, trace: u32, flow: &TcpFlow) -> Self {
        Self {
            label,
            ordinal,
            trace,
            una: 0,
            outstanding: VecDeque::new(),
            initial_sent: 0,
            initial_received: 0,
            sent: 0,
            received: 0,
            largest_acked: 0,
            news: Vec::new(),
            marks: 0,
            last_marks: 0,
            timeouts: 0,
            phase: flow.sender.phase(),
            metrics: None,
            latest_rtt: Time::ZERO,
            min_rtt: Time::NEVER,
        }
    }

    pub(super) fn sent(&mut self, events: &mut Events<'_>, flow: &TcpFlow, params: &TcpParams, segment: &Segment) {
        let length = params.segment_wire_bytes(segment);
        if segment.payload == 0 {
            return self.handshake_sent(events, params, segment.syn, length);
        }
        let packet = self.sent;
        self.sent += 1;
        let place = (segment.seq - self.una) as usize;
        let trigger = if place < self.outstanding.len() { self.send_again(events, flow, place) } else { None };
        if place == self.outstanding.len() {
            self.outstanding.push_back(Outstanding { packet, earlier: Vec::new(), fate: Fate::InFlight });
        } else {
            let record = &mut self.outstanding[place];
            (record.packet, record.fate) = (packet, Fate::InFlight);
        }
        let payload = segment.payload;
        let offset = u64::from(segment.seq) * u64::from(params.segment_payload);
        let length_of_frame = events.dialect.length_of_frame(payload);
        events.add(Kind::PacketSent, |text| {
            write!(text, r#"{{"header":{},"raw":{},"frames":["#, Data(packet), Raw { length, payload })?;
            write!(text, r#"{{"frame_type":"stream","stream_id":0,"offset":{offset},{length_of_frame}}}]"#)?;
            if let Some(trigger) = trigger {
                write!(text, r#","trigger":"{trigger}""#)?;
            }
            text.write_char('}')
        });
    }

    /// Handles a retransmission and returns its trigger. For a sender without a list of lost segments, the
    /// retransmission shows that the segment is considered lost.
    fn send_again(&mut self, events: &mut Events<'_>, flow: &TcpFlow, place: usize) -> Option<&'static str> {
        let record = &mut self.outstanding[place];
        match record.fate {
            Fate::Lost(cause) => Some(cause.of_resending()),
            Fate::Acked => Some(Cause::Timeout.of_resending()),
            Fate::InFlight if flow.sender.lost_segments().is_some() => {
                record.earlier.push(record.packet);
                Some(PROBE)
            }
            Fate::InFlight => {
                let cause = if flow.sender.phase() == Phase::Loss { Cause::Timeout } else { Cause::Number };
                lost(events, record.packet, cause);
                Some(cause.of_resending())
            }
        }
    }

    fn handshake_sent(&mut self, events: &mut Events<'_>, params: &TcpParams, syn: bool, length: u32) {
        if self.initial_sent == 0 {
            parameters(events, params);
        }
        let (packet, answered) = (self.initial_sent, self.initial_received.saturating_sub(1));
        self.initial_sent += 1;
        events.add(Kind::PacketSent, |text| {
            write!(text, r#"{{"header":{},"raw":{},"frames":["#, Initial(packet), Raw { length, payload: 0 })?;
            if !syn {
                write!(text, r#"{{"frame_type":"ack","acked_ranges":[[{answered}]]}}"#)?;
            }
            text.write_str("]}")
        });
    }

    pub(super) fn received(&mut self, events: &mut Events<'_>, params: &TcpParams, ack: &Ack, rtt: Option<Time>) {
        if let Some(rtt) = rtt {
            self.latest_rtt = rtt;
            self.min_rtt = self.min_rtt.min(rtt);
        }
        let raw = Raw { length: params.ack_wire_bytes(ack), payload: 0 };
        if ack.is_syn() {
            let (packet, answered) = (self.initial_received, self.initial_sent.saturating_sub(1));
            self.initial_received += 1;
            return events.add(Kind::PacketReceived, |text| {
                write!(text, r#"{{"header":{},"raw":{raw},"frames":["#, Initial(packet))?;
                write!(text, r#"{{"frame_type":"ack","acked_ranges":[[{answered}]]}}]}}"#)
            });
        }
        self.take_in(ack);
        self.marks += u64::from(ack.marks.wrapping_sub(self.last_marks));
        self.last_marks = ack.marks;
        let (packet, marks) = (self.received, params.has_accurate_ecn().then_some(self.marks));
        self.received += 1;
        let news = &self.news;
        events.add(Kind::PacketReceived, |text| {
            write!(text, r#"{{"header":{},"raw":{raw},"frames":[{{"frame_type":"ack""#, Data(packet))?;
            if !news.is_empty() {
                write!(text, r#","acked_ranges":{}"#, Ranges(news))?;
            }
            if let Some(marks) = marks {
                write!(text, r#","ce":{marks}"#)?;
            }
            text.write_str("}]}")
        });
    }

    fn take_in(&mut self, ack: &Ack) {
        self.news.clear();
        let nxt = self.una + self.outstanding.len() as u32;
        // RFC 9293 3.10.7.4: the sender ignores such an ACK, too.
        if ack.ack < self.una || ack.ack > nxt {
            return;
        }
        for block in ack.sacks.iter().filter(|block| block.end <= nxt) {
            for seq in block.start.max(self.una)..block.end {
                acked(&mut self.outstanding[(seq - self.una) as usize], &mut self.news);
            }
        }
        for mut record in self.outstanding.drain(..(ack.ack - self.una) as usize) {
            acked(&mut record, &mut self.news);
        }
        self.una = ack.ack;
        self.news.sort_unstable();
        self.largest_acked = self.largest_acked.max(self.news.last().copied().unwrap_or(0));
    }

    pub(super) fn judged(&mut self, events: &mut Events<'_>, flow: &TcpFlow, params: &TcpParams) {
        let timeouts = flow.sender.stats().timeouts;
        let timed_out = mem::replace(&mut self.timeouts, timeouts) != timeouts;
        for seq in flow.sender.lost_segments().into_iter().flatten() {
            let record = &mut self.outstanding[(seq - self.una) as usize];
            if record.fate != Fate::InFlight {
                continue;
            }
            let by_number = params.loss_detection == LossDetection::PacketThreshold
                && record.packet + u64::from(params.dupack_threshold) <= self.largest_acked;
            let cause = match (timed_out, by_number) {
                (true, _) => Cause::Timeout,
                (false, true) => Cause::Number,
                (false, false) => Cause::Time,
            };
            record.fate = Fate::Lost(cause);
            for packet in mem::take(&mut record.earlier).into_iter().chain([record.packet]) {
                lost(events, packet, cause);
            }
        }
    }

    /// Logs metrics after the sender has sent everything that it may send.
    pub(super) fn acted(&mut self, events: &mut Events<'_>, flow: &TcpFlow, params: &TcpParams) {
        let sender = &flow.sender;
        let phase = sender.phase();
        let before = mem::replace(&mut self.phase, phase);
        if before != phase {
            let [old, new] = [before, phase].map(|phase| Phase::NAMES[phase as usize]);
            events.add(Kind::StateUpdated, |text| write!(text, r#"{{"old":"{old}","new":"{new}"}}"#));
        }
        let metrics = Metrics {
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh(),
            in_flight: sender.in_flight(params),
            smoothed_rtt: sender.srtt(),
            latest_rtt: self.latest_rtt,
            min_rtt: self.min_rtt,
            pacing: sender.pacing_rate(params).or_else(|| self.metrics?.pacing),
        };
        let last = self.metrics.replace(metrics);
        if last != Some(metrics) {
            events.add(Kind::MetricsUpdated, |text| metrics.write_changes(last, text));
        }
    }
}

/// Records that a segment is acknowledged. Adds its packets to `news` unless an earlier ACK has acknowledged them.
fn acked(record: &mut Outstanding, news: &mut Vec<u64>) {
    if record.fate != Fate::Acked {
        record.fate = Fate::Acked;
        news.append(&mut record.earlier);
        news.push(record.packet);
    }
}

fn lost(events: &mut Events<'_>, packet: u64, cause: Cause) {
    let trigger = cause.of_loss();
    events.add(Kind::PacketLost, |text| write!(text, r#"{{"header":{},"trigger":"{trigger}"}}"#, Data(packet)));
}

/// Logs parameters that stay constant. The name of the congestion control is a field of Fairlane; qlog allows
/// additional fields in this event.
fn parameters(events: &mut Events<'_>, params: &TcpParams) {
    let datagram = params.segment_payload + params.header_bytes;
    let window = u64::from(params.initial_window) * u64::from(params.segment_payload);
    let granularity = params.rto_granularity.0 / Time::from_millis(1).0;
    let (threshold, control) = (params.dupack_threshold, params.congestion_control.name());
    events.add(Kind::ParametersSet, |text| {
        write!(text, r#"{{"reordering_threshold":{threshold},"timer_granularity":{granularity},"#)?;
        write!(text, r#""max_datagram_size":{datagram},"initial_congestion_window":{window},"#)?;
        write!(text, r#""congestion_control":"{control}"}}"#)
    });
}

impl Metrics {
    fn write_changes(&self, last: Option<Self>, text: &mut String) -> fmt::Result {
        let mut separator = '{';
        let mut write = |name: &str, changed: bool, value: &dyn Display| -> fmt::Result {
            if changed {
                write!(text, r#"{separator}"{name}":{value}"#)?;
                separator = ',';
            }
            Ok(())
        };
        let differs = |value: fn(&Self) -> u64| last.is_none_or(|last| value(&last) != value(self));
        write("congestion_window", differs(|metrics| metrics.cwnd), &self.cwnd)?;
        write("ssthresh", differs(|metrics| metrics.ssthresh), &self.ssthresh)?;
        write("bytes_in_flight", differs(|metrics| metrics.in_flight), &self.in_flight)?;
        // There is no RTT before the first sample.
        let sampled = self.smoothed_rtt > Time::ZERO;
        write("smoothed_rtt", sampled && differs(|metrics| metrics.smoothed_rtt.0), &Millis(self.smoothed_rtt))?;
        let sampled = self.min_rtt < Time::NEVER;
        write("latest_rtt", sampled && differs(|metrics| metrics.latest_rtt.0), &Millis(self.latest_rtt))?;
        write("min_rtt", sampled && differs(|metrics| metrics.min_rtt.0), &Millis(self.min_rtt))?;
        if let Some(rate) = self.pacing {
            write("pacing_rate", last.is_none_or(|last| last.pacing != self.pacing), &rate.0)?;
        }
        text.write_char('}')
    }
}

/// Header of a packet after the handshake, with data or with an ACK.
struct Data(u64);

impl Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"packet_type":"1RTT","packet_number":{}}}"#, self.0)
    }
}

/// Header of a handshake packet.
struct Initial(u64);

impl Display for Initial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"packet_type":"initial","packet_number":{}}}"#, self.0)
    }
}

#[derive(Clone, Copy)]
struct Raw {
    length: u32,
    payload: u32,
}

impl Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"length":{},"payload_length":{}}}"#, self.length, self.payload)
    }
}
