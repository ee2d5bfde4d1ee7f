//! The table of Cebinae that finds the largest flows.

use crate::base::rng::Rng;
use crate::flows::hash::{bucket, hash};

/// Counts the bytes of flows in two stages of slots, and records the top flows. Slots are allocated in the order of
/// arrival.
#[derive(Clone, Debug)]
pub(super) struct FlowCache {
    /// The slots of the first stage, then the slots of the second stage.
    slots: Vec<Slot>,
    /// Random; drawn at the first packet.
    seeds: Option<[u64; 2]>,
    /// Number of the current counting period. Byte counts with another number are invalid.
    count_number: u64,
    /// Number of the current decision. Top flows with another number are no longer top.
    top_number: u64,
    top_flows: usize,
    /// Slots with a present count.
    seen: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    bytes: u64,
    count_number: u64,
    top_number: u64,
    flow: u32,
    top_flow: u32,
}

impl FlowCache {
    pub(super) fn new(slots_per_stage: u32) -> Self {
        let slots = vec![Slot::default(); 2 * slots_per_stage as usize];
        Self { slots, seeds: None, count_number: 1, top_number: 1, top_flows: 0, seen: Vec::new() }
    }

    pub(super) fn seed(&mut self, rng: &mut Rng) {
        self.seeds.get_or_insert_with(|| [rng.bits(), rng.bits()]);
    }

    fn slot(&self, stage: usize, flow: u32) -> usize {
        let per_stage = (self.slots.len() / 2) as u32;
        let seed = self.seeds.map_or(0, |seeds| seeds[stage]);
        stage * per_stage as usize + bucket(hash(flow, seed), per_stage)
    }

    /// Counts a departure of `flow`, which has one slot in each stage. Uses the first of these slots that is free or
    /// belongs to the flow, and counts nothing if there is none.
    pub(super) fn count(&mut self, flow: u32, bytes: u32) {
        for stage in 0..2 {
            let index = self.slot(stage, flow);
            let slot = &mut self.slots[index];
            if slot.count_number != self.count_number {
                (slot.count_number, slot.flow, slot.bytes) = (self.count_number, flow, 0);
                self.seen.push(index as u32);
            }
            if slot.flow == flow {
                slot.bytes += u64::from(bytes);
                return;
            }
        }
    }

    pub(super) fn forget_counts(&mut self) {
        self.seen.clear();
        self.count_number += 1;
    }

    pub(super) fn choose_nobody(&mut self) {
        if self.top_flows > 0 {
            self.top_number += 1;
            self.top_flows = 0;
        }
    }

    /// Selects as top flows the flow with the largest count, and all flows with more than the fraction `part` of this
    /// count. Returns the bytes of the top flows.
    pub(super) fn choose_top(&mut self, part: f64) -> u64 {
        self.choose_nobody();
        let most = self.seen.iter().map(|&index| self.slots[index as usize].bytes).max().unwrap_or(0);
        let mut sum = 0;
        for &index in &self.seen {
            let slot = &mut self.slots[index as usize];
            if slot.bytes > part_of(most, part) || slot.bytes == most {
                (slot.top_flow, slot.top_number) = (slot.flow, self.top_number);
                sum += slot.bytes;
                self.top_flows += 1;
            }
        }
        sum
    }

    pub(super) fn is_top(&self, flow: u32) -> bool {
        let is_in = |stage| {
            let slot = &self.slots[self.slot(stage, flow)];
            slot.top_number == self.top_number && slot.top_flow == flow
        };
        self.top_flows > 0 && (is_in(0) || is_in(1))
    }

    pub(super) fn table_bytes(&self) -> usize {
        size_of_val(self.slots.as_slice()) + size_of_val(self.seen.as_slice())
    }

    /// Number of top flows.
    pub(super) fn top_flows(&self) -> usize {
        self.top_flows
    }

    /// Number of flows with a current count.
    pub(super) fn seen(&self) -> usize {
        self.seen.len()
    }
}

/// `whole * part`, rounded down.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn part_of(whole: u64, part: f64) -> u64 {
    (whole as f64 * part) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_without_a_slot_cannot_become_top() {
        let mut cache = FlowCache::new(1);
        cache.count(1, 100);
        cache.count(2, 150);
        cache.count(3, 1000);
        cache.count(2, 150);
        assert_eq!(cache.choose_top(0.99), 300);
        assert_eq!([1, 2, 3].map(|flow| cache.is_top(flow)), [false, true, false]);
        cache.forget_counts();
        cache.count(3, 1000);
        assert_eq!((cache.choose_top(0.99), cache.is_top(2), cache.is_top(3)), (1000, false, true));
        cache.choose_nobody();
        assert!(!cache.is_top(3));
    }
}
