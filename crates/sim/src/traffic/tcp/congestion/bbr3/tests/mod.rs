//! Tests of BBRv3: each transition of the state machine, and each estimate, with constructed ACKs. Sections are those
//! of draft-ietf-ccwg-bbr.

mod diary;
mod draft;
mod loss;
mod path;
mod probe_bw;
mod probe_rtt;
mod random;
mod startup;
mod window;

use super::super::control::{Connection, Event};
use super::super::testing::path::{BDP, CALM, Modelled, PathFlow, RATE, Told};
use super::super::testing::{MSS, OF};
use super::params::{Bbr3Ecn, Bbr3Params};
use super::state::State;
use super::{Bbr3, UNBOUNDED};
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::units::{BitRate, Time};

type Flow = PathFlow<Bbr3>;

impl Modelled for Bbr3 {
    type State = State;

    fn state(&self) -> State {
        self.state
    }
}

impl Flow {
    /// Loses a segment that was sent with `tx_in_flight` bytes in flight. `lost` bytes, including this segment, were
    /// lost since then.
    fn lose(&mut self, tx_in_flight: u32, lost: u64) {
        self.lost += u64::from(MSS);
        self.event(Event::SegmentLost {
            bytes: MSS,
            sent: Time::ZERO,
            number: 1,
            tx_in_flight,
            lost_since_sent: lost,
            prior_delivered: self.delivered,
            app_limited: false,
        });
    }

    /// Creates a flow and moves it through Startup and Drain into ProbeBW_CRUISE, by one round with growth and three
    /// rounds without.
    fn cruising(params: Bbr3Params) -> Self {
        let mut flow = Self::new(params);
        for _ in 0..8 {
            flow.round(CALM);
        }
        assert_eq!(flow.control.state, State::Cruise);
        flow
    }

    /// Moves the flow from ProbeBW_CRUISE into ProbeBW_UP, with the next ProbeRTT far in the future.
    fn probe(&mut self) {
        self.now = self.control.cycle_stamp + Time::from_secs(3);
        self.control.probe_rtt_min_stamp = self.now;
        assert_eq!(self.round(CALM), State::Refill);
        assert_eq!(self.round(CALM), State::Up);
    }

    fn probing_up(params: Bbr3Params) -> Self {
        let mut flow = Self::cruising(params);
        flow.probe();
        flow
    }
}
