//! Timers that are due soon, looked up before they are.
//!
//! Hosts count in ticks (jiffies), so that of many flows the timers are due in bursts, by number of flow: the next ones
//! can be told, and what they touch is asked for some events before.

use crate::engine::agenda::Agenda;
use crate::network::Network;
use fairlane_schemes::base::units::Time;

/// How many timers of a burst to look ahead for the flow, and for what only the flow tells the place of.
const FLOWS_AHEAD: usize = 8;
const DEADLINES_AHEAD: usize = 4;

/// The timers ahead of the one at hand.
#[derive(Clone, Debug, Default)]
pub struct TimersAhead {
    /// The instant of the burst.
    at: Time,
    /// Timers handled, and looked up, of this instant.
    handled: usize,
    found: usize,
    /// The flows of those looked up last.
    flows: [u32; FLOWS_AHEAD],
    /// The flow whose timer is next, at a later instant, and has been asked for in part.
    single: Option<u32>,
}

impl TimersAhead {
    /// The timer of a flow is handled: asks for those of its burst behind it.
    #[cold]
    #[inline(never)]
    pub fn before(&mut self, flow: u32, now: Time, agenda: &Agenda, network: &Network) {
        if now != self.at {
            *self = Self { at: now, flows: [flow; FLOWS_AHEAD], ..Self::default() };
        }
        while self.found < self.handled + FLOWS_AHEAD {
            let last = if self.found == 0 { flow } else { self.flows[(self.found - 1) % FLOWS_AHEAD] };
            let Some(next) = agenda.flow_due_behind(last, now) else { break };
            network.fetch_for_timer(next);
            self.flows[self.found % FLOWS_AHEAD] = next;
            self.found += 1;
        }
        let soon = self.handled + DEADLINES_AHEAD;
        if soon < self.found {
            network.fetch_for_deadline(self.flows[soon % FLOWS_AHEAD]);
        }
        self.handled += 1;
    }

    /// It has been handled: asks for the next, if that is of another instant.
    #[cold]
    #[inline(never)]
    pub fn after(&mut self, agenda: &Agenda, network: &Network) {
        self.single = agenda.next_flow().filter(|_| self.handled > self.found);
        if let Some(flow) = self.single {
            network.fetch_for_timer(flow);
        }
    }

    /// Some other event is handled: what [`TimersAhead::after`] asked for has come.
    #[inline]
    pub fn between(&mut self, network: &Network) {
        if let Some(flow) = self.single.take() {
            network.fetch_for_deadline(flow);
        }
    }
}
