//! Merges the parts of a network after they have run separately.

use super::Network;
use crate::network::impairment::Place;
use std::mem::swap;

impl Network {
    /// Merges `other` into this network after a run in which each of them has simulated a part of the same network.
    /// Takes from `other` the links and users that it has simulated, with all their state, and adds its measurements of
    /// groups to those of this network.
    pub fn take_over(&mut self, mut other: Self, has_link: impl Fn(u32) -> bool, has_user: impl Fn(u32) -> bool) {
        let has_place = |place: Place| match place {
            Place::Link(link) => has_link(link),
            Place::Access { first_user, .. } => has_user(first_user),
        };
        swap_if(&mut self.links, &mut other.links, |link, _| has_link(link));
        swap_if(&mut self.impairments, &mut other.impairments, |_, impairment| has_place(impairment.place()));
        swap_if(&mut self.users, &mut other.users, |user, _| has_user(user));
        self.flows.extend(other.flows.drain(self.lasting_flows..));
        swap_if(&mut self.flows[..self.lasting_flows], &mut other.flows, |_, flow| has_user(flow.user));
        swap_if(&mut self.sources, &mut other.sources, |_, source| has_user(source.user()));
        swap_if(&mut self.webs, &mut other.webs, |_, web| has_user(web.user));
        let flows = &self.flows;
        swap_if(&mut self.players, &mut other.players, |_, player| has_user(flows[player.flow as usize].user));
        let sources = &self.sources;
        self.calls.take_over(&mut other.calls, |source| has_user(sources[source].user()));
        for (own, other) in self.transfers.iter_mut().flatten().zip(other.transfers.iter().flatten()) {
            own.add(other);
        }
        for (own, other) in self.probes.iter_mut().flatten().zip(other.probes.iter().flatten()) {
            own.add(other);
        }
        self.ended.iter_mut().zip(&other.ended).for_each(|(own, other)| own.add(other));
        self.paths.add(&other.paths);
        self.delivered += other.delivered;
        self.discarded += other.discarded;
    }
}

fn swap_if<T>(own: &mut [T], others: &mut [T], is_others: impl Fn(u32, &T) -> bool) {
    for (number, (own, others)) in (0..).zip(own.iter_mut().zip(others)) {
        if is_others(number, own) {
            swap(own, others);
        }
    }
}
