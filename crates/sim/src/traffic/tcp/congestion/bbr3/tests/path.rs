//! A BBRv3 flow over a bottleneck with losses and delays chosen by a test.

use super::super::super::State as AnyState;
use super::super::Bbr3;
use crate::traffic::tcp::{Ack, AnySender, Receiver, Segment, TcpParams, TcpProfile};
use fairlane_schemes::base::config::{ParamSet, Table};
use fairlane_schemes::base::units::{BitRate, Time};
use serde_json::json;
use std::collections::BTreeMap;

/// Rate of the bottleneck, for payload. The propagation delay is 20 ms each way.
const RATE: BitRate = BitRate(10_000_000);
const DELAY: Time = Time::from_millis(20);
/// Queue limit: 4 bandwidth-delay products.
const QUEUE: Time = Time::from_millis(160);

/// Outcome for a segment at the bottleneck.
pub enum Lot {
    Arrives,
    /// The segment is delayed by this time, and arrives after segments sent later.
    Late(Time),
    /// The segment arrives at this time or later.
    NotBefore(Time),
    Lost,
}

enum Packet {
    Segment(Segment),
    Ack(Ack),
}

pub struct Path {
    params: TcpParams,
    pub sender: AnySender,
    receiver: Receiver,
    pub now: Time,
    pub sent: u64,
    pub lost: u64,
    /// Time at which the link will have sent everything that waits.
    free_at: Time,
    travelling: BTreeMap<(Time, u64), Packet>,
    emitted: u64,
}

impl Path {
    pub fn new() -> Self {
        let linux = TcpParams::profile(TcpProfile::Linux);
        let keys = json!({"congestion_control": "bbr3", "segment_payload": 1250, "socket_buffer": "100 MB"});
        let params = TcpParams::read_over(linux, &mut Table::new("", &keys).unwrap()).unwrap();
        let mut sender = AnySender::new(&params, None, 5);
        sender.start();
        Self {
            receiver: Receiver::new(&params),
            params,
            sender,
            now: Time::ZERO,
            sent: 0,
            lost: 0,
            free_at: Time::ZERO,
            travelling: BTreeMap::new(),
            emitted: 0,
        }
    }

    /// The congestion control; must not be called before the first ACK.
    pub fn bbr(&self) -> Bbr3 {
        match self.sender.control().and_then(|(congestion, _)| congestion.0.as_deref()) {
            Some(AnyState::Bbr3(bbr)) => bbr.clone(),
            other => panic!("it is BBRv3: {other:?}"),
        }
    }

    /// Runs while `goes_on` returns true. `lot` decides whether and when each segment arrives.
    pub fn run(&mut self, mut lot: impl FnMut(Time) -> Lot, mut goes_on: impl FnMut(&Self) -> bool) {
        self.transmit(&mut lot);
        while goes_on(self) {
            let packet = self.travelling.keys().next().map_or(Time::NEVER, |key| key.0);
            self.now = packet.min(self.sender.timer()).min(self.receiver.timer());
            assert!(self.now < Time::from_secs(1000), "stuck");
            let due = self.travelling.first_entry().filter(|entry| entry.key().0 == self.now);
            let ack = match due.map(|entry| entry.remove()) {
                Some(Packet::Segment(segment)) => self.receiver.on_segment(&self.params, segment, self.now),
                Some(Packet::Ack(ack)) => {
                    self.sender.on_ack::<true>(&self.params, &ack, self.now);
                    None
                }
                None => {
                    self.sender.on_timer(&self.params, self.now);
                    (self.receiver.timer() <= self.now)
                        .then(|| self.receiver.on_timer(&self.params, self.now))
                        .flatten()
                }
            };
            if let Some(ack) = ack {
                self.emit(Packet::Ack(ack), self.now + DELAY);
            }
            self.transmit(&mut lot);
        }
    }

    fn transmit(&mut self, lot: &mut impl FnMut(Time) -> Lot) {
        while let Some(segment) = self.sender.poll_transmit::<true>(&self.params, self.now) {
            let (late, not_before) = match lot(self.now) {
                _ if segment.payload == 0 => (Time::ZERO, Time::ZERO),
                Lot::Arrives => (Time::ZERO, Time::ZERO),
                Lot::Late(late) => (late, Time::ZERO),
                Lot::NotBefore(time) => (Time::ZERO, time),
                Lot::Lost => {
                    (self.sent, self.lost) = (self.sent + 1, self.lost + 1);
                    continue;
                }
            };
            self.sent += 1;
            if self.free_at.saturating_sub(self.now) > QUEUE {
                self.lost += 1;
                continue;
            }
            self.free_at = self.free_at.max(self.now) + RATE.time_of(u64::from(segment.payload));
            self.emit(Packet::Segment(segment), (self.free_at + DELAY + late).max(not_before));
        }
    }

    fn emit(&mut self, packet: Packet, at: Time) {
        self.travelling.insert((at, self.emitted), packet);
        self.emitted += 1;
    }
}
