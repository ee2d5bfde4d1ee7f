//! Drops packets from the head of the longest queue, in batches. As in Linux, it drops up to half of the queue's bytes;
//! RFC 8290 section 4.1 drops half of its packets.

use crate::contract::prelude::*;
use crate::fairqueue::queue_store::QueueStore;

/// A packet that was stored although the queues may now exceed the limit.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Its queue.
    pub queue: u32,
    /// Backlog before it.
    pub found: Backlog,
}

/// While the backlog exceeds `limit`, drops packets from the head of the longest queue: `batch` packets or half its
/// bytes, whichever comes first. Calls `cut` for each queue that lost packets, with their number.
pub fn cut_longest<P: Packet, T: Copy, R>(
    queues: &mut QueueStore<P, T, R>,
    limit: QueueLimit,
    batch: u32,
    stored: Stored,
    drops: &mut impl DropSink<P>,
    mut cut: impl FnMut(&mut R, u32),
) {
    //= RFC 8290 5.2.3-1: There is a limit to the packets that wait.
    while queues.exceeds(limit) {
        let fattest = queues.longest().expect("more waits than the limit");
        //= RFC 8290 4.1-4, deviation: Over the limit, the queue of most bytes loses half its packets, 64 at most.
        let half = queues.length(fattest).bytes / 2;
        let (mut packets, mut bytes) = (0, 0);
        //= RFC 8290 4.1-5: The head of that queue is dropped first.
        while let Some((packet, _)) = queues.pop_front(fattest) {
            let arriving = fattest == stored.queue && queues.length(fattest).packets == 0;
            drops.dropped(&packet, if arriving { DropReason::Overlimit } else { DropReason::PushedOut }, stored.found);
            packets += 1;
            bytes += u64::from(packet.wire_bytes());
            if packets >= batch || bytes >= half {
                break;
            }
        }
        cut(&mut queues[fattest], packets);
    }
}
