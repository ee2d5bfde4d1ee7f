//! Prefetches memory for upcoming timers.
//!
//! Hosts measure time in ticks (jiffies), so timers of many flows expire in bursts, ordered by flow number. The next
//! timers are therefore known, and their memory is prefetched some events ahead.

use crate::engine::agenda::Agenda;
use crate::network::Network;
use fairlane_schemes::base::units::Time;

/// Prefetch distance of flows, in timers of a burst. `DEADLINES_AHEAD` is the distance of the data to which a flow
/// points.
const FLOWS_AHEAD: usize = 8;
const DEADLINES_AHEAD: usize = 4;

/// State of prefetching for timers.
#[derive(Clone, Debug, Default)]
pub struct TimersAhead {
    at: Time,
    /// Number of timers of the current time that have been handled. `found` is the number of timers that have been
    /// looked up.
    handled: usize,
    found: usize,
    flows: [u32; FLOWS_AHEAD],
    /// Flow of the next timer, if this timer expires after the current time. The flow is partly prefetched.
    single: Option<u32>,
}

impl TimersAhead {
    /// Prefetches later timers of a burst. Call it before the timer of a flow is handled.
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

    /// Prefetches the next timer if it expires after the current time. Call it after a timer was handled.
    #[cold]
    #[inline(never)]
    pub fn after(&mut self, agenda: &Agenda, network: &Network) {
        self.single = agenda.next_flow().filter(|_| self.handled > self.found);
        if let Some(flow) = self.single {
            network.fetch_for_timer(flow);
        }
    }

    /// Prefetches the data to which the next timer's flow points. By now, the lines that [`TimersAhead::after`]
    /// prefetched should be in the cache. Call it while handling other events.
    #[inline]
    pub fn between(&mut self, network: &Network) {
        if let Some(flow) = self.single.take() {
            network.fetch_for_deadline(flow);
        }
    }
}
