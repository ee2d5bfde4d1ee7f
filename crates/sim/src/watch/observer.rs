//! Observation of a run without changing it: hooks that the engine calls.
//!
//! Every hook has an empty default. An observer gets only shared references, so the record of a run is the same with
//! any observer. The event loop is compiled with and without calls of hooks, and not for each observer. So hooks cost
//! nothing in a run without an observer, and another observer does not compile another loop.
//!
//! Links serve their queue lazily (docs/engine.md). So the start of a transmission is reported late, but before any
//! event that it could influence. The hooks of one link are called in the order of the times that they report. There is
//! no such order between hooks of different links, or between hooks of links and flows.

use crate::network::Network;
use crate::network::hosts::AckTimes;
use crate::network::sim_packet::SimPacket;
use crate::network::tcp_flow::TcpFlow;
use crate::traffic::tcp::{Ack, Segment, TcpParams};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::{Backlog, DropReason};
use fairlane_schemes::port::PortObserver;

/// Hooks for events in a run.
pub trait Observer {
    /// Returns true if the observer uses more hooks than [`Observer::reached`] and [`Observer::gives_up`]. The engine
    /// then handles each event separately at its time; otherwise it may combine deliveries.
    fn looks(&self) -> bool {
        true
    }
    /// The run starts.
    fn started(&mut self, _network: &Network) {}
    /// Called when the next event is at `now` and all earlier events have been handled.
    fn advanced(&mut self, _now: Time, _network: &Network) {}
    /// Called after `packet` was offered to `link`. The current `backlog` includes `packet` only if the link accepted
    /// `packet`.
    fn offered(&mut self, _link: u32, _packet: &SimPacket, _now: Time, _backlog: Backlog) {}
    /// Reports the drop threshold for the next packet offered to `link`, in the unit of the scheme's thresholds.
    fn threshold_met(&mut self, _link: u32, _threshold: f64) {}
    /// Called when `link` dropped `packet`, while `backlog` waited.
    fn dropped(&mut self, _link: u32, _packet: &SimPacket, _now: Time, _reason: DropReason, _backlog: Backlog) {}
    /// Called when `packet` is lost on the wire after `link` transmitted it.
    fn lost(&mut self, _link: u32, _packet: &SimPacket, _now: Time) {}
    /// Called when the transmission of `packet` on `link` starts. `backlog` does not include `packet`.
    fn transmitted(&mut self, _link: u32, _packet: &SimPacket, _start: Time, _backlog: Backlog) {}
    /// Called when `packet` reaches the far end of `link`.
    fn arrived(&mut self, _link: u32, _packet: &SimPacket, _now: Time) {}
    /// Called when a TCP connection is opened during the run, in a new or reused slot. Long-lived connections exist
    /// from the start.
    fn opened(&mut self, _index: u32, _flow: &TcpFlow, _params: &TcpParams) {}
    /// Called when the receiver of a flow sends an acknowledgement. `times` includes its arrival time, which is already
    /// known because the reverse path loses no packets. With a reverse link, called when the acknowledgement has
    /// crossed its link.
    fn ack_sent(&mut self, _index: u32, _flow: &TcpFlow, _ack: &Ack, _wire_bytes: u32, _times: AckTimes) {}
    /// Called when a receiver sends an acknowledgement as `packet`, which a scenario with a reverse link does.
    fn ack_packed(&mut self, _flow: &TcpFlow, _ack: &Ack, _packet: &SimPacket, _now: Time) {}
    /// Called after the sender of a flow has processed an acknowledgement, which may reveal losses, and before it sends
    /// segments. `rtt` is the RTT sample.
    fn ack_taken_in(
        &mut self,
        _index: u32,
        _flow: &TcpFlow,
        _params: &TcpParams,
        _ack: &Ack,
        _rtt: Option<Time>,
        _now: Time,
    ) {
    }
    /// Called after the sender of a flow has handled a timer, which may reveal losses, and before it sends segments.
    fn timer_handled(&mut self, _index: u32, _flow: &TcpFlow, _params: &TcpParams, _now: Time) {}
    /// Called when the sender of a flow has sent a segment.
    fn segment_sent(&mut self, _index: u32, _flow: &TcpFlow, _params: &TcpParams, _segment: &Segment, _now: Time) {}
    /// Called when the sender of a flow has handled an acknowledgement or a timer and has sent all segments that it may
    /// send.
    fn sender_acted(&mut self, _index: u32, _flow: &TcpFlow, _params: &TcpParams, _now: Time) {}
    /// Called when the run is over and the links have been served until `end`.
    fn finished(&mut self, _end: Time, _network: &Network) {}
    /// Called every few thousand events. The run has reached `now` after `events` events.
    fn reached(&mut self, _now: Time, _events: u64) {}
    /// Returns true to cancel the run. Called every few thousand events.
    fn gives_up(&self) -> bool {
        false
    }
}

/// An observer without hooks and without cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn looks(&self) -> bool {
        false
    }
}

/// Passes the events of one link to an observer.
pub struct LinkObserver<'a> {
    /// The observer.
    pub observer: &'a mut dyn Observer,
    /// Index of the link.
    pub link: u32,
}

impl PortObserver<SimPacket> for LinkObserver<'_> {
    fn offered(&mut self, packet: &SimPacket, now: Time, backlog: Backlog, threshold: Option<f64>) {
        if let Some(threshold) = threshold {
            self.observer.threshold_met(self.link, threshold);
        }
        self.observer.offered(self.link, packet, now, backlog);
    }

    fn dropped(&mut self, packet: &SimPacket, now: Time, reason: DropReason, backlog: Backlog) {
        self.observer.dropped(self.link, packet, now, reason, backlog);
    }

    fn arrived(&mut self, packet: &SimPacket, now: Time) {
        self.observer.arrived(self.link, packet, now);
    }

    fn transmitted(&mut self, packet: &SimPacket, start: Time, _: Time, backlog: Backlog) {
        self.observer.transmitted(self.link, packet, start, backlog);
    }
}
