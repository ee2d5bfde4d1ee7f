//! Batches of deliveries that the engine handles slightly late.
//!
//! If all routes end behind one link and all flows last for the whole run, a delivery has only two effects. It sets the
//! receiver's timer, and it causes an acknowledgement. The acknowledgement reaches its sender after the reverse delay
//! or later. So the link has one event for all packets that arrive within [`slack`], which is at most the reverse
//! delay. Each packet is delivered with its actual arrival time. Before a receiver's timer is handled, and before the
//! warm-up or the run ends, all packets that have arrived are delivered. If a delivery sets a timer that expires before
//! the next delivery, the timer is handled first.

use crate::network::tcp_flow::Span;
use crate::network::{Entry, Hop, Network};
use fairlane_schemes::base::units::Time;

/// Maximum number of full-size packets that arrive between two events of the link. A larger number would save no time
/// and need more memory for packets in flight.
const MOST_PACKETS: u64 = 32;
const FULL_PACKET_BYTES: u64 = 1500;

/// Returns the link behind which all routes end, and the slack of the link's deliveries. Returns `None` if deliveries
/// must not be late.
pub(super) fn slack(network: &Network) -> Option<(u32, Time)> {
    let link = last_link(network)?;
    let lasts = network.webs.is_empty() && network.players.is_empty();
    let lasts = lasts && network.flows.iter().all(|flow| flow.span == Span::Endless);
    let at = &network.links[link as usize];
    if !lasts || network.paths.series().is_some() {
        return None;
    }
    let slack = network.hosts.least_way_back().min(at.rate().time_of(MOST_PACKETS * FULL_PACKET_BYTES));
    (slack > Time::ZERO).then_some((link, slack))
}

/// Returns the last link of every route, if all routes have the same last link and nothing follows it. Packets that
/// their receivers discard are not delivered.
fn last_link(network: &Network) -> Option<u32> {
    let ends = network.hops.windows(2).filter(|hops| hops[1].link == Hop::DELIVER || hops[1] == Hop::DISCARD);
    let is_link = |entry| matches!(entry, Entry::Core | Entry::Edge | Entry::Forged);
    let delivers = |hops: &[Hop]| hops[1] != Hop::DISCARD && is_link(hops[0].entry);
    let mut before = ends.map(|hops| delivers(hops).then_some(hops[0].link));
    let link = before.next()??;
    before.all(|other| other == Some(link)).then_some(link)
}
