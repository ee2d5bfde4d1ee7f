//! A flow with constructed ACKs for controls that model the path. Each ACK carries a rate sample chosen by the test.

use super::{MSS, OF, RTT};
use crate::traffic::tcp::congestion::control::{Control, Event, Moment, Output, Sample};
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::units::{BitRate, Time};

/// Rate of the path: 1 MB/s, which is 100 segments in an RTT of 100 ms.
pub const RATE: BitRate = BitRate(8_000_000);
pub const BDP: u32 = 100 * MSS;

/// Fields of an ACK that differ between tests.
#[derive(Clone, Copy)]
pub struct Told {
    pub rate: Option<BitRate>,
    pub rtt: Time,
    pub acked: u32,
    pub lost: u32,
    pub in_flight: u32,
    pub app_limited: bool,
    pub cwnd_limited: bool,
    pub phase: Phase,
    pub marked: u32,
    pub until_release: Time,
}

/// A round trip at the rate of the path, with a bandwidth-delay product in flight.
pub const CALM: Told = Told {
    rate: Some(RATE),
    rtt: RTT,
    acked: BDP,
    lost: 0,
    in_flight: BDP,
    app_limited: false,
    cwnd_limited: false,
    phase: Phase::Open,
    marked: 0,
    until_release: Time::ZERO,
};

/// A control whose state tests inspect.
pub trait Modelled: Control {
    type State;
    fn state(&self) -> Self::State;
}

/// A flow with constructed ACKs. It starts with ten segments.
pub struct PathFlow<C: Modelled> {
    pub params: C::Params,
    pub control: C,
    pub output: Output,
    pub now: Time,
    pub delivered: u64,
    pub lost: u64,
    marked: u64,
}

impl<C: Modelled> PathFlow<C> {
    pub fn new(params: C::Params) -> Self {
        let output = Output { cwnd: 10 * MSS, ssthresh: u32::MAX, pacing: None, quantum: 0 };
        let control = C::new(OF, &params, 7);
        let now = Time::from_secs(1);
        let mut flow = Self { params, control, output, now, delivered: 0, lost: 0, marked: 0 };
        flow.event(Event::Open);
        flow
    }

    pub fn moment(&self) -> Moment {
        Moment {
            reducing: false,
            now: self.now,
            srtt: RTT,
            min_rtt: RTT,
            in_flight: 0,
            delivered: self.delivered,
            total_lost: self.lost,
            app_limited: false,
            phase: Phase::Open,
        }
    }

    pub fn event(&mut self, event: Event) {
        let at = self.moment();
        self.control.on_event(OF, &self.params, &mut self.output, event, &at);
    }

    pub fn app_limited_event(&mut self, event: Event) {
        let at = Moment { app_limited: true, ..self.moment() };
        self.control.on_event(OF, &self.params, &mut self.output, event, &at);
    }

    /// Reports an event while a mark reduces the window.
    pub fn reducing_event(&mut self, event: Event) {
        let at = Moment { reducing: true, ..self.moment() };
        self.control.on_event(OF, &self.params, &mut self.output, event, &at);
    }

    /// Passes an ACK. Its newest segment was sent when C.delivered was `prior`. Returns the new state of the control.
    pub fn ack(&mut self, prior: u64, told: Told) -> C::State {
        self.delivered += u64::from(told.acked);
        self.lost += u64::from(told.lost);
        self.marked += u64::from(told.marked);
        let sample = Sample {
            until_release: told.until_release,
            now: self.now,
            rtt: Some(told.rtt),
            rtt_in_milliseconds: false,
            since_echo: told.rtt,
            srtt: RTT,
            min_rtt: RTT,
            acked: told.acked,
            in_order: told.acked,
            lost: told.lost,
            marked: told.marked,
            ece: false,
            duplicate: false,
            in_flight: told.in_flight,
            prior_in_flight: told.in_flight,
            prior_outstanding: told.in_flight,
            delivered: self.delivered,
            total_lost: self.lost,
            delivered_ce: self.marked,
            prior_delivered: prior,
            tx_in_flight: told.in_flight,
            lost_since_sent: u64::from(told.lost),
            interval: RTT,
            delivery_rate: told.rate,
            app_limited: told.app_limited,
            cwnd_limited: told.cwnd_limited,
            phase: told.phase,
            reducing: false,
        };
        self.control.on_sample(OF, &self.params, &mut self.output, &sample);
        self.control.state()
    }

    /// Passes an ACK that starts a round trip, an RTT after the last ACK. Returns the new state of the control.
    pub fn round(&mut self, told: Told) -> C::State {
        self.now += RTT;
        self.ack(self.delivered, told)
    }

    pub fn within(&mut self, told: Told) -> C::State {
        self.ack(0, told)
    }
}
