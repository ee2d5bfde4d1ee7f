//! Skips rounds in which no queue may send yet, in one step.
//!
//! A round-robin scheduler grants each queue a quantum per visit. If quanta are small compared with packets, or a queue
//! is deep in debt, whole rounds pass without a packet. All of these rounds are skipped in one step: each queue gets
//! one quantum for each skipped round. Cost: O(active queues), at most once per packet, and never if a quantum is a
//! full packet.

use crate::contract::packet::Packet;
use crate::fairqueue::intrusive_list::IntrusiveList;
use crate::fairqueue::queue_store::QueueStore;

/// Skips all rounds before the one in which the first queue of `round` may send, and grants each queue its quanta of
/// these rounds. Returns the number of skipped rounds. `needed` returns the number of visits, 1 or more, that a queue
/// needs until it may send.
pub fn skip_rounds<P: Packet, T: Copy, R>(
    queues: &mut QueueStore<P, T, R>,
    round: &IntrusiveList,
    needed: impl Fn(&QueueStore<P, T, R>, u32) -> f64,
    grant: impl Fn(&mut R, f64),
) -> f64 {
    let first = || std::iter::successors(round.front(), |&queue| queues.after(queue));
    let rounds = first().map(|queue| needed(queues, queue)).fold(f64::INFINITY, f64::min) - 1.0;
    let mut at = round.front();
    while let Some(queue) = at {
        grant(&mut queues[queue], rounds);
        at = queues.after(queue);
    }
    rounds
}
