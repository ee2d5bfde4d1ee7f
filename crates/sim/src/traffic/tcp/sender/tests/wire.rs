//! A sender and a receiver connected by a path of fixed delay. Each test selects losses and delays.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::contract::packet::Ecn;

use crate::traffic::tcp::sender::{Phase, Sender};
use crate::traffic::tcp::{Ack, Receiver, Segment, TcpParams};

/// Payload of a full segment in the tests, a round number.
pub(super) const MSS: u32 = 1000;
/// Delay of the path in each direction: the RTT is 100 ms.
const ONE_WAY: Time = Time::from_millis(50);

/// Parameters of `ns3.26` with segments of [`MSS`].
pub(super) fn ns3() -> TcpParams {
    TcpParams { segment_payload: MSS, ..TcpParams::default() }
}

/// Like [`ns3`], but with an ACK for each segment, so that all windows can be computed by hand.
pub(super) fn ack_each() -> TcpParams {
    TcpParams { delayed_ack: 1, ..ns3() }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Packet {
    Segment(Segment),
    Ack(Ack),
}

/// Actions and inputs of the sender, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    /// Sends data segment `.0` for the `.1`-th time, counted from 0.
    Sent(u32, u32),
    /// Processes an ACK with number `.0` in phase `.1`. Afterwards cwnd is `.2` bytes.
    Acked(u32, Phase, u64),
    /// The timer expires and the sender enters the loss state; cwnd becomes `.0` bytes.
    TimedOut(u64),
}

/// Reference implementation of the scoreboard.
#[derive(Debug, Default)]
struct Board {
    sacked: BTreeSet<u32>,
    /// All un-SACKed segments below this one were considered lost at the last timeout.
    lost_until: u32,
    una: u32,
}

impl Board {
    fn record(&mut self, ack: &Ack) {
        if ack.ack >= self.una {
            self.una = ack.ack;
            ack.sacks.iter().for_each(|block| self.sacked.extend(block.start..block.end));
            self.sacked = self.sacked.split_off(&ack.ack);
        }
    }
}

/// The path. `fate` returns the additional delay of a packet, or `None` if the packet is lost. Its second argument is
/// the number of earlier transmissions of the segment.
pub(super) struct Wire<F> {
    pub(super) params: TcpParams,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) now: Time,
    pub(super) log: Vec<(Time, Event)>,
    fate: F,
    /// Returns true if a data transmission gets a congestion mark, with ECN. The argument is its number, counted from
    /// 0.
    pub(super) marks: fn(u64) -> bool,
    /// True if both ends use their fast paths where possible.
    pub(super) fast: bool,
    transmissions: u64,
    board: Board,
    travelling: BTreeMap<(Time, u64), Packet>,
    emitted: u64,
    times_sent: Vec<u32>,
    arrived: Vec<bool>,
}

impl<F: FnMut(Packet, u32) -> Option<Time>> Wire<F> {
    /// Starts a transfer of `total` bytes at time zero.
    pub(super) fn new(params: TcpParams, total: Option<u64>, fate: F) -> Self {
        let mut sender = Sender::new(&params, total.map(Bytes), 0);
        sender.start();
        let mut wire = Self {
            sender,
            receiver: Receiver::new(&params),
            params,
            now: Time::ZERO,
            log: Vec::new(),
            fate,
            marks: |_| false,
            fast: true,
            transmissions: 0,
            board: Board::default(),
            travelling: BTreeMap::new(),
            emitted: 0,
            times_sent: Vec::new(),
            arrived: Vec::new(),
        };
        wire.transmit();
        wire
    }

    pub(super) fn run_until(&mut self, end: Time) {
        while self.next_event() <= end {
            self.step();
        }
        self.now = end;
    }

    /// Runs until the transfer is done. Fails if this takes 100 simulated days.
    pub(super) fn run_to_completion(&mut self) {
        while !self.sender.is_done() {
            self.step();
            assert!(self.now < Time::from_secs(100 * 86_400), "stuck: {:?}", self.sender);
        }
    }

    pub(super) fn sent_at(&self, seq: u32) -> Vec<Time> {
        self.log
            .iter()
            .filter(|(_, event)| matches!(event, Event::Sent(k, _) if *k == seq))
            .map(|entry| entry.0)
            .collect()
    }

    pub(super) fn resent(&self) -> Vec<u32> {
        self.events().filter_map(|event| if let Event::Sent(seq, 1..) = event { Some(seq) } else { None }).collect()
    }

    /// Events without times.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> {
        self.log.iter().map(|(_, event)| *event)
    }

    fn next_event(&self) -> Time {
        let packet = self.travelling.keys().next().map_or(Time::NEVER, |key| key.0);
        packet.min(self.sender.timer()).min(self.receiver.timer())
    }

    /// Handles the next event. At equal times, packets come before timers.
    pub(super) fn step(&mut self) {
        self.now = self.next_event();
        assert!(self.now < Time::NEVER, "nothing will ever happen: {:?}", self.sender);
        match self.travelling.first_entry() {
            Some(entry) if entry.key().0 == self.now => match entry.remove() {
                Packet::Segment(segment) => self.deliver_segment(segment),
                Packet::Ack(ack) => self.deliver_ack(ack),
            },
            _ if self.receiver.timer() == self.now => {
                let ack = self.receiver.on_timer(&self.params, self.now).expect("the timer is due");
                self.emit(Packet::Ack(ack), 0);
            }
            _ => self.fire_sender_timer(),
        }
    }

    fn deliver_segment(&mut self, segment: Segment) {
        let on_segment = if self.fast { Receiver::on_segment } else { Receiver::on_any_segment };
        let answer = on_segment(&mut self.receiver, &self.params, segment, self.now);
        if segment.payload > 0 {
            let index = segment.seq as usize;
            self.arrived.resize(self.arrived.len().max(index + 1), false);
            self.arrived[index] = true;
        }
        let Some(ack) = answer else { return };
        let expected = self.arrived.iter().take_while(|arrived| **arrived).count();
        assert_eq!(ack.ack as usize, expected, "the ACK names the first segment that has not arrived");
        self.check_blocks(&ack, segment.seq);
        assert!(
            self.receiver.delivered_bytes(&self.params) <= u64::from(ack.ack) * u64::from(self.params.segment_payload)
        );
        self.emit(Packet::Ack(ack), 0);
    }

    /// Checks the SACK blocks of the ACK of segment `seq` (RFC 2018 section 4). Each block must be a complete run of
    /// segments above a gap. The first block must contain `seq`, unless the ACK number covers it or ACKs are delayed.
    fn check_blocks(&self, ack: &Ack, seq: u32) {
        let arrived = |seq: u32| self.arrived.get(seq as usize).copied().unwrap_or(false);
        for block in ack.sacks.iter() {
            assert!(block.start > ack.ack && (block.start..block.end).all(arrived), "{block:?} of {}", ack.ack);
            assert!(!arrived(block.start - 1) && !arrived(block.end), "{block:?} is not whole");
        }
        let first = ack.sacks.iter().next();
        if self.params.sack && self.params.sack_delay == Time::ZERO && seq > ack.ack {
            assert!(first.is_some_and(|block| (block.start..block.end).contains(&seq)), "{seq} comes first");
        }
        assert!(first.is_none() || self.params.sack);
    }

    fn deliver_ack(&mut self, ack: Ack) {
        let phase = self.sender.phase;
        self.board.record(&ack);
        let on_ack = if self.fast { Sender::on_ack } else { Sender::on_any_ack };
        on_ack(&mut self.sender, &self.params, &ack, self.now);
        if !ack.is_syn() {
            self.log.push((self.now, Event::Acked(ack.ack, phase, self.sender.cwnd())));
        }
        self.transmit();
    }

    fn fire_sender_timer(&mut self) {
        let before = self.sender.stats().timeouts;
        self.sender.on_timer(&self.params, self.now);
        if self.sender.stats().timeouts > before {
            self.board.lost_until = self.sender.nxt;
            self.log.push((self.now, Event::TimedOut(self.sender.cwnd())));
        }
        self.transmit();
    }

    fn transmit(&mut self) {
        loop {
            let by_window = !(self.sender.retransmission_due || self.sender.limited_due);
            self.check_pipe();
            let poll = if self.fast { Sender::poll_transmit } else { Sender::poll_special };
            let Some(segment) = poll(&mut self.sender, &self.params, self.now) else { break };
            let mut times = 0;
            if segment.payload > 0 {
                times = self.count(segment.seq);
                self.log.push((self.now, Event::Sent(segment.seq, times)));
                self.check_window(segment.seq, by_window);
            }
            self.emit(Packet::Segment(segment), times);
            // As in the engine, the connection with fast paths saves the last call.
            if self.fast && self.sender.has_sent_all(&self.params) {
                break;
            }
        }
        self.check_resent();
    }

    /// Counts a transmission. Returns the number of earlier transmissions.
    fn count(&mut self, seq: u32) -> u32 {
        let index = seq as usize;
        self.times_sent.resize(self.times_sent.len().max(index + 1), 0);
        self.times_sent[index] += 1;
        self.times_sent[index] - 1
    }

    fn check_window(&self, seq: u32, by_window: bool) {
        let sender = &self.sender;
        let outstanding = u64::from(sender.bytes(&self.params, sender.una, sender.nxt));
        assert!(outstanding <= self.params.socket_buffer.0);
        let pipe = if self.params.sack { sender.in_flight(&self.params) } else { outstanding };
        let rescue = self.params.sack && seq + 1 == sender.nxt;
        assert!(!by_window || rescue || pipe <= sender.cwnd(), "sent {pipe} of {}", sender.cwnd());
        if let Some(selective) = &sender.selective {
            assert!(!selective.board.contains(sender.una, seq), "segment {seq} has arrived");
        }
    }

    /// Checks the scoreboard against the routines of RFC 6675 section 4, executed segment by segment.
    fn check_pipe(&self) {
        let sender = &self.sender;
        let Some(selective) = &sender.selective else { return };
        let (lost_below, resent_below) = selective.board.boundaries();
        let mut pipe = 0;
        for seq in sender.una..sender.nxt {
            let sacked = self.board.sacked.contains(&seq);
            assert_eq!(selective.board.contains(sender.una, seq), sacked, "segment {seq}");
            if !sacked {
                let above = self.board.sacked.range(seq..).count() as u32;
                let lost = above >= self.params.dupack_threshold || seq < self.board.lost_until;
                assert_eq!(seq < lost_below, lost, "IsLost({seq}), {above} above");
                pipe += u32::from(!lost) + u32::from(seq < resent_below);
            }
        }
        assert_eq!(selective.pipe(sender.una, sender.nxt), pipe);
    }

    /// Checks that, without SACK, the outstanding segments sent more than once are exactly those below `resent_below`.
    fn check_resent(&self) {
        if self.params.sack {
            return;
        }
        for seq in self.sender.una..self.sender.high {
            assert_eq!(self.times_sent[seq as usize] > 1, seq < self.sender.resent_below, "segment {seq}");
        }
    }

    fn emit(&mut self, mut packet: Packet, times: u32) {
        if let Packet::Segment(segment) = &mut packet
            && segment.payload > 0
        {
            let marked = (self.marks)(self.transmissions) && segment.ecn == Ecn::Ect0;
            segment.ecn = if marked { Ecn::Ce } else { segment.ecn };
            self.transmissions += 1;
        }
        if let Some(extra) = (self.fate)(packet, times) {
            self.travelling.insert((self.now + ONE_WAY + extra, self.emitted), packet);
        }
        self.emitted += 1;
    }
}

/// Returns a function for `fate` that loses the first transmission of each of these data segments.
pub(super) fn lose_once(segments: &[u32]) -> impl FnMut(Packet, u32) -> Option<Time> {
    move |packet, times| match packet {
        Packet::Segment(segment) if segment.payload > 0 && times == 0 && segments.contains(&segment.seq) => None,
        _ => Some(Time::ZERO),
    }
}

pub(super) fn lose_nothing(_: Packet, _: u32) -> Option<Time> {
    Some(Time::ZERO)
}
