//! Watching a run without changing it: hooks that the engine calls, dispatched statically.
//!
//! Every hook has an empty default, so that [`NoObserver`] compiles to nothing. An observer sees references only: the
//! record of a run is the same with any observer.
//!
//! Links serve their queue lazily (docs/engine.md), so that the start of a transmission is reported later than it
//! happens, yet before anything that it could influence. The hooks of one link come in the order of the times that they
//! report; those of different links, and of links and flows, need not.

use crate::network::Network;
use crate::network::hosts::AckTimes;
use crate::network::sim_packet::SimPacket;
use crate::network::tcp_flow::TcpFlow;
use crate::traffic::tcp::{Ack, Segment, TcpParams};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::{Backlog, DropReason};
use fairlane_schemes::port::PortObserver;

/// Sees what happens in a run.
pub trait Observer {
    /// True if the observer uses more hooks than [`Observer::reached`] and [`Observer::gives_up`]. The engine then
    /// handles each event at its own time; otherwise it may handle deliveries together.
    const LOOKS: bool = true;
    /// The run begins.
    #[inline]
    fn started(&mut self, _network: &Network) {}
    /// The next event happens at `now`; those before it have been handled.
    #[inline]
    fn advanced(&mut self, _now: Time, _network: &Network) {}
    /// `packet` was offered to `link`, and `backlog` waits after that, be it with the packet or without.
    #[inline]
    fn offered(&mut self, _link: u32, _packet: &SimPacket, _now: Time, _backlog: Backlog) {}
    /// The packet that is offered to `link` next met this drop threshold, in the unit of the scheme's thresholds.
    #[inline]
    fn threshold_met(&mut self, _link: u32, _threshold: f64) {}
    /// `link` dropped `packet`, which found `backlog` waiting.
    #[inline]
    fn dropped(&mut self, _link: u32, _packet: &SimPacket, _now: Time, _reason: DropReason, _backlog: Backlog) {}
    /// `packet`, which `link` transmitted, is lost on the wire.
    #[inline]
    fn lost(&mut self, _link: u32, _packet: &SimPacket, _now: Time) {}
    /// The transmission of `packet` on `link` starts, and `backlog` stays behind.
    #[inline]
    fn transmitted(&mut self, _link: u32, _packet: &SimPacket, _start: Time, _backlog: Backlog) {}
    /// `packet` reaches the far end of `link`.
    #[inline]
    fn arrived(&mut self, _link: u32, _packet: &SimPacket, _now: Time) {}
    /// A TCP connection is opened during the run, in a new or reused slot; long-lived ones exist from the start.
    #[inline]
    fn opened(&mut self, _index: u32, _flow: &TcpFlow, _params: &TcpParams) {}
    /// The receiver of a flow sends an acknowledgement. Its whole way back is known: nothing can be lost on it.
    #[inline]
    fn ack_sent(&mut self, _index: u32, _flow: &TcpFlow, _ack: &Ack, _wire_bytes: u32, _times: AckTimes) {}
    /// The sender of a flow processed an acknowledgement, which may have shown losses, and has sent nothing yet; `rtt`
    /// is its sample.
    #[inline]
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
    /// A timer of the sender of a flow was due; it may take segments for lost, and has sent nothing yet.
    #[inline]
    fn timer_handled(&mut self, _index: u32, _flow: &TcpFlow, _params: &TcpParams, _now: Time) {}
    /// The sender of a flow has sent a segment.
    #[inline]
    fn segment_sent(&mut self, _index: u32, _flow: &TcpFlow, _params: &TcpParams, _segment: &Segment, _now: Time) {}
    /// The sender of a flow has handled an acknowledgement or a timer and has sent what it may.
    #[inline]
    fn sender_acted(&mut self, _index: u32, _flow: &TcpFlow, _params: &TcpParams, _now: Time) {}
    /// The run is over; the links have been served until `end`.
    #[inline]
    fn finished(&mut self, _end: Time, _network: &Network) {}
    /// The run has reached `now`, after `events` events: reported every few thousand.
    #[inline]
    fn reached(&mut self, _now: Time, _events: u64) {}
    /// Returns true to cancel the run; called every few thousand events.
    #[inline]
    fn gives_up(&self) -> bool {
        false
    }
}

/// Sees nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const LOOKS: bool = false;
}

/// An observer as one link sees it.
#[derive(Debug)]
pub struct LinkObserver<'a, O> {
    /// The observer.
    pub observer: &'a mut O,
    /// The number of the link.
    pub link: u32,
}

impl<O: Observer> PortObserver<SimPacket> for LinkObserver<'_, O> {
    #[inline]
    fn offered(&mut self, packet: &SimPacket, now: Time, backlog: Backlog, threshold: Option<f64>) {
        if let Some(threshold) = threshold {
            self.observer.threshold_met(self.link, threshold);
        }
        self.observer.offered(self.link, packet, now, backlog);
    }

    #[inline]
    fn dropped(&mut self, packet: &SimPacket, now: Time, reason: DropReason, backlog: Backlog) {
        self.observer.dropped(self.link, packet, now, reason, backlog);
    }

    #[inline]
    fn arrived(&mut self, packet: &SimPacket, now: Time) {
        self.observer.arrived(self.link, packet, now);
    }

    #[inline]
    fn transmitted(&mut self, packet: &SimPacket, start: Time, _: Time, backlog: Backlog) {
        self.observer.transmitted(self.link, packet, start, backlog);
    }
}
