//! The scheduler of FQ-CoDel and FQ-PIE: queues in two lists, new queues before old.
//!
//! Source: RFC 8290, sections 4.1 and 4.2. A queue has credits ("deficit" in Linux) in bytes.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (N1) | a packet arrives at a queue in no list: the queue joins the new queues with `credits = quantum` | [`NewAndOld::arrived`] |
//! | (N2) | serve the first of the new queues or, if there is none, the first of the old | [`NewAndOld::next`] |
//! | (N3) | `credits <= 0`: `credits += quantum`, move to the end of the old queues, back to (N2) | [`NewAndOld::next`] |
//! | (N4) | a packet is sent: `credits -= L` | [`NewAndOld::next`] |
//! | (N5) | the queue is empty: a new queue moves to the end of the old queues if there are any, otherwise it leaves; back to (N2) | [`NewAndOld::next`] |
//!
//! Cost: O(1) per packet. Rounds in which all queues are in debt are skipped in one step.

use crate::contract::prelude::*;
use crate::fairqueue::intrusive_list::IntrusiveList;
use crate::fairqueue::queue_store::QueueStore;
use crate::fairqueue::skip_rounds::skip_rounds;

/// List of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    New,
    Old,
}

/// State of a queue's turn.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// Integer number of bytes.
    credits: f64,
    place: Option<Place>,
}

/// Record of a queue that is served in turn.
#[derive(Clone, Copy, Debug)]
pub struct Turning<R> {
    /// Part of the scheme.
    pub own: R,
    turn: Turn,
}

impl<R> Turning<R> {
    /// Creates the record of a queue in no list.
    #[must_use]
    pub fn new(own: R) -> Self {
        Self { own, turn: Turn::default() }
    }
}

/// The two lists of one port.
#[derive(Clone, Debug)]
pub struct NewAndOld {
    /// Indexed by [`Place`].
    lists: [IntrusiveList; 2],
    quantum: f64,
}

impl NewAndOld {
    /// Creates empty lists. A queue may send `quantum` per round.
    #[must_use]
    pub fn new(quantum: Bytes) -> Self {
        Self { lists: Default::default(), quantum: quantum.0 as f64 }
    }

    /// Records that a packet was stored in `queue`: rule (N1).
    #[inline]
    pub fn arrived<P: Packet, T: Copy, R: Copy>(&mut self, queues: &mut QueueStore<P, T, Turning<R>>, queue: u32) {
        if queues[queue].turn.place.is_none() {
            //= RFC 8290 4.1-3: A queue in neither list joins the end of the new ones with a quantum of credits.
            queues[queue].turn.credits = self.quantum;
            self.move_to(queues, queue, Some(Place::New));
        }
    }

    /// Returns the next packet. Calls `serve` for the queue whose turn it is. `serve` removes a packet from this queue
    /// and returns the packet, or returns `None` if the queue is empty, possibly after drops.
    pub fn next<P: Packet, T: Copy, R: Copy>(
        &mut self,
        queues: &mut QueueStore<P, T, Turning<R>>,
        mut serve: impl FnMut(&mut QueueStore<P, T, Turning<R>>, u32) -> Option<P>,
    ) -> Option<P> {
        let mut first_in_debt = None;
        loop {
            //= RFC 8290 4.2-1: The first of the new queues is served; if there is none, the first of the old.
            let queue = self.lists.iter().find_map(IntrusiveList::front)?; // rule (N2)
            if queues[queue].turn.credits <= 0.0 {
                if first_in_debt == Some(queue) {
                    self.skip_rounds(queues);
                }
                first_in_debt = first_in_debt.or(Some(queue));
                //= RFC 8290 4.2-2: A queue out of credits gets a quantum and goes to the end of the old ones.
                queues[queue].turn.credits += self.quantum; // rule (N3)
                self.move_to(queues, queue, Some(Place::Old));
                continue;
            }
            if let Some(packet) = serve(queues, queue) {
                queues[queue].turn.credits -= f64::from(packet.wire_bytes()); // rule (N4)
                return Some(packet);
            }
            let was_new = queues[queue].turn.place == Some(Place::New);
            //= RFC 8290 4.2-4: A new queue found empty goes to the end of the old ones, an old one leaves.
            let stays = was_new && !self.lists[Place::Old as usize].is_empty();
            self.move_to(queues, queue, stays.then_some(Place::Old)); // rule (N5)
            first_in_debt = first_in_debt.filter(|&first| first != queue);
        }
    }

    fn move_to<P: Packet, T: Copy, R: Copy>(
        &mut self,
        queues: &mut QueueStore<P, T, Turning<R>>,
        queue: u32,
        place: Option<Place>,
    ) {
        if let Some(from) = queues[queue].turn.place {
            self.lists[from as usize].remove(queues.elements(), queue);
        }
        if let Some(to) = place {
            self.lists[to as usize].push_back(queues.elements(), queue);
        }
        queues[queue].turn.place = place;
    }

    /// Skips the rounds in which all old queues have negative credits.
    fn skip_rounds<P: Packet, T: Copy, R: Copy>(&self, queues: &mut QueueStore<P, T, Turning<R>>) {
        let quantum = self.quantum;
        // Returns the number of visits until the queue sends, including that visit. Each earlier visit adds a quantum.
        // A queue may send if its credits, which are integers, are at least 1.
        let visits = |queues: &QueueStore<P, T, Turning<R>>, queue: u32| {
            ((1.0 - queues[queue].turn.credits) / quantum).ceil().max(0.0) + 1.0
        };
        skip_rounds(queues, &self.lists[Place::Old as usize], visits, |record, rounds| {
            record.turn.credits += rounds * quantum;
        });
    }
}
