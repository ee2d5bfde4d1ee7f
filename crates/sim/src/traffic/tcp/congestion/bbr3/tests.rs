//! Each transition of the state machine, and each estimate, by hand-made ACKs. Sections are those of draft-ietf-ccwg-bbr.

mod diary;
mod draft;
mod loss;
mod path;
mod probe_bw;
mod probe_rtt;
mod random;
mod startup;
mod window;

use super::super::control::{Connection, Control, Event, FlightSize, Moment, Output, Sample};
use super::params::{Bbr3Ecn, Bbr3Params};
use super::state::State;
use super::{Bbr3, UNBOUNDED};
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::units::{BitRate, Time};

const MSS: u32 = 1000;
const RTT: Time = Time::from_millis(100);
/// 8 Mbit/s: 1 MB/s, which is 100 segments in an RTT of 100 ms.
const RATE: BitRate = BitRate(8_000_000);
const BDP: u32 = 100 * MSS;
const OF: Connection =
    Connection { mss: MSS, socket_buffer: 1 << 40, byte_counting: true, flight_size: FlightSize::Outstanding };

/// A flow whose ACKs are made by hand.
struct Flow {
    params: Bbr3Params,
    bbr: Bbr3,
    output: Output,
    now: Time,
    delivered: u64,
    lost: u64,
    marked: u64,
}

/// What differs between ACKs.
#[derive(Clone, Copy)]
struct Told {
    rate: BitRate,
    rtt: Time,
    acked: u32,
    lost: u32,
    in_flight: u32,
    app_limited: bool,
    cwnd_limited: bool,
    phase: Phase,
    marked: u32,
}

/// A round trip at the rate of the path, with a bandwidth-delay product in flight.
const CALM: Told = Told {
    rate: RATE,
    rtt: RTT,
    acked: BDP,
    lost: 0,
    in_flight: BDP,
    app_limited: false,
    cwnd_limited: false,
    phase: Phase::Open,
    marked: 0,
};

impl Flow {
    fn new(params: Bbr3Params) -> Self {
        let output = Output { cwnd: 10 * MSS, ssthresh: u32::MAX, pacing: None, quantum: 0 };
        let mut flow = Self {
            bbr: Bbr3::new(OF, &params, 7),
            params,
            output,
            now: Time::from_secs(1),
            delivered: 0,
            lost: 0,
            marked: 0,
        };
        flow.event(Event::Open);
        flow
    }

    /// The connection at this point.
    fn moment(&self) -> Moment {
        Moment {
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

    fn event(&mut self, event: Event) {
        let at = self.moment();
        self.bbr.on_event(OF, &self.params, &mut self.output, event, &at);
    }

    fn app_limited_event(&mut self, event: Event) {
        let at = Moment { app_limited: true, ..self.moment() };
        self.bbr.on_event(OF, &self.params, &mut self.output, event, &at);
    }

    /// An ACK whose newest segment was sent at `prior` of C.delivered.
    fn ack(&mut self, prior: u64, told: Told) -> State {
        self.delivered += u64::from(told.acked);
        self.lost += u64::from(told.lost);
        self.marked += u64::from(told.marked);
        let sample = Sample {
            now: self.now,
            rtt: Some(told.rtt),
            srtt: RTT,
            min_rtt: RTT,
            acked: told.acked,
            in_order: told.acked,
            lost: told.lost,
            marked: told.marked,
            ece: false,
            in_flight: told.in_flight,
            prior_in_flight: told.in_flight,
            delivered: self.delivered,
            total_lost: self.lost,
            delivered_ce: self.marked,
            prior_delivered: prior,
            tx_in_flight: told.in_flight,
            lost_since_sent: u64::from(told.lost),
            interval: RTT,
            delivery_rate: Some(told.rate),
            app_limited: told.app_limited,
            cwnd_limited: told.cwnd_limited,
            phase: told.phase,
        };
        self.bbr.on_sample(OF, &self.params, &mut self.output, &sample);
        self.bbr.state
    }

    /// An ACK that begins a round trip, an RTT after the last one.
    fn round(&mut self, told: Told) -> State {
        self.now += RTT;
        self.ack(self.delivered, told)
    }

    /// An ACK within the round trip.
    fn within(&mut self, told: Told) -> State {
        self.ack(0, told)
    }

    /// A segment of a flight of `tx_in_flight` is lost, after `lost` bytes of it, itself included.
    fn lose(&mut self, tx_in_flight: u32, lost: u64) {
        self.lost += u64::from(MSS);
        self.event(Event::SegmentLost {
            bytes: MSS,
            tx_in_flight,
            lost_since_sent: lost,
            prior_delivered: self.delivered,
            app_limited: false,
        });
    }

    /// Out of Startup and Drain into ProbeBW_CRUISE: a round that grows, and three that do not.
    fn cruising(params: Bbr3Params) -> Self {
        let mut flow = Self::new(params);
        for _ in 0..8 {
            flow.round(CALM);
        }
        assert_eq!(flow.bbr.state, State::Cruise);
        flow
    }

    /// On from ProbeBW_CRUISE into ProbeBW_UP, with a ProbeRTT far ahead.
    fn probe(&mut self) {
        self.now = self.bbr.cycle_stamp + Time::from_secs(3);
        self.bbr.probe_rtt_min_stamp = self.now;
        assert_eq!(self.round(CALM), State::Refill);
        assert_eq!(self.round(CALM), State::Up);
    }

    /// In ProbeBW_UP.
    fn probing_up(params: Bbr3Params) -> Self {
        let mut flow = Self::cruising(params);
        flow.probe();
        flow
    }
}
