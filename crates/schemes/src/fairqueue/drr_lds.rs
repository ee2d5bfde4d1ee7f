//! Deficit round robin with limited deficit savings: a queue that becomes empty saves some of its turns for later.
//!
//! Source: M. Menth, M. Mehl and S. Veith, "Deficit round robin with limited deficit savings (DRR-LDS) for fairness
//! among TCP users", MMB 2018. We had only the abstract, which names the problem and the remedy, limited savings. The
//! rules are ours.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1), (2), (4), (5) | as in [`crate::fairqueue::drr`] |  |
//! | (3') | queue empty: the queue leaves the round and keeps `min(D_i, D_max)` | `Drr::leave` |
//! | (6) | each round without the queue: `D_i = min(D_i + quantum * w_i, D_max)` | `saved`, `Drr::queue_of` |
//! | (7) | backlogged again: the queue joins the end of the round and may use `D_i` in its first visit | `Drr::queue_of` |
//! | (8) | the port is idle: every empty queue has `D_max`, since rounds without queues take no time | `Drr::forget_savers` |
//!
//! Cost: the cost of DRR. Rounds are counted, so rule (6) is computed only when a queue returns. Additional state: a
//! record of each empty queue that has saved less than `D_max`, for at most `D_max / (quantum * w_i)` rounds. A queue
//! without a record has saved `D_max`.
//!
//! Deviations:
//! 1. A new user starts with `D_max`. Otherwise every user that ever sent a packet would need a record.
//! 2. `D_max` is the same for all weights. With `D_max = 0` the scheme is DRR.

use crate::contract::prelude::*;
use crate::fairqueue::drr::{DropFrom, Drr, DrrParams};

params! {
    /// Deficit round robin with limited deficit savings.
    pub struct DrrLdsParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "user", source "Menth, Mehl and Veith 2018, abstract";
        /// Bytes that a queue of weight 1 may send per round. For O(1) cost, at least the size of a maximum-size
        /// packet.
        quantum: Bytes = "1500 B", in "1 B"..="16 MB", symbol "Q", source "Shreedhar and Varghese 1996 section III";
        /// Packet of the longest queue that is dropped when the buffer is full.
        drop_from: DropFrom = "tail", source "our choice";
        /// Maximum deficit that an empty queue can save. Try values up to the size of the buffer; at 0 the scheme is
        /// DRR.
        max_saving: Bytes = "15 kB", in "0 B"..="1 GB", symbol "D_max", source "our choice: 10 full packets; the \
            paper was not at hand";
    }
}

/// Registry entry of deficit round robin with limited deficit savings.
#[derive(Clone, Copy, Debug)]
pub struct DrrLdsScheme;

impl SchemeSpec for DrrLdsScheme {
    const ABOUT: About = About {
        title: "Deficit round robin with limited deficit savings",
        kind: "a queue per user or flow, served in turn; drops from the longest queue",
        summary: "Deficit round robin in which an empty queue saves turns, up to a limit, and may use them when \
                  packets arrive.",
        source: "Menth, Mehl and Veith 2018",
        state: "flow or user with packets now or some rounds ago: 1 queue, 1 deficit, 1 round number",
        flow_state: FlowState::Each,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = DrrLdsParams;
    type Discipline<P: Packet> = Drr<P>;

    fn build<P: Packet>(params: &DrrLdsParams, port: &Port<'_>) -> Drr<P> {
        let DrrLdsParams { share_per, quantum, drop_from, max_saving } = *params;
        let drr = DrrParams { share_per, quantum, drop_from };
        Drr::with_savings(&drr, max_saving, port.buffer.limit, port.weights.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{self, build, drain, limits, noise, serve, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::TestPacket;
    use proptest::prelude::*;

    fn port(max_saving: u64) -> (Drr<TestPacket>, Rng) {
        let params = DrrLdsParams { max_saving: Bytes(max_saving), quantum: Bytes(1000), ..Default::default() };
        build::<DrrLdsScheme>(&params, QueueLimit::Packets(1000), &Weights::equal())
    }

    fn offer(queue: &mut Drr<TestPacket>, rng: &mut Rng, user: u32, packets: usize) {
        testing::offer(queue, rng, user, &vec![1000; packets]);
    }

    /// User 1 uses up its savings while user 0 also sends, is absent for `rounds` rounds, and returns with 20 packets.
    /// Returns the number of packets that user 1 sends in its first visit after that.
    fn first_visit_after(rounds: usize, max_saving: u64) -> usize {
        let (mut queue, mut rng) = port(max_saving);
        let burst = max_saving as usize / 1000 + 1;
        offer(&mut queue, &mut rng, 0, 200);
        // A new user may send D_max + quantum in its first visit. Afterwards its queue is empty and has no savings.
        offer(&mut queue, &mut rng, 1, burst);
        let first = serve(&mut queue, &mut rng, burst + burst);
        assert_eq!(first[..burst], vec![0; burst]);
        assert_eq!(first[burst..], vec![1; burst]);
        serve(&mut queue, &mut rng, rounds);
        offer(&mut queue, &mut rng, 1, 20);
        // User 0's current or next visit comes first.
        let order = serve(&mut queue, &mut rng, 25);
        order.iter().skip_while(|&&user| user == 0).take_while(|&&user| user == 1).count()
    }

    #[test]
    fn each_round_away_saves_a_quantum_up_to_the_limit() {
        // Each round that began while the user was absent saves a quantum. The visit itself adds one.
        for max_saving in [3000, 5000] {
            let most = max_saving as usize / 1000;
            for rounds in [1, 2, 3, 4, 8] {
                assert_eq!(first_visit_after(rounds, max_saving), rounds.min(most) + 1, "{rounds} {max_saving}");
            }
        }
    }

    #[test]
    fn without_savings_it_is_drr() {
        assert_eq!(first_visit_after(8, 0), 1);
    }

    #[test]
    fn records_of_savers_are_dropped_when_full_and_when_the_port_is_idle() {
        let (mut queue, mut rng) = port(3000);
        offer(&mut queue, &mut rng, 0, 30);
        (1..=5).for_each(|user| offer(&mut queue, &mut rng, user, 4));
        serve(&mut queue, &mut rng, 24);
        assert_eq!(queue.state_size().records, 6, "user 0 waits, five save");
        serve(&mut queue, &mut rng, 4);
        offer(&mut queue, &mut rng, 0, 1);
        assert_eq!(queue.state_size().records, 1, "three rounds later all five have saved enough");
        offer(&mut queue, &mut rng, 1, 4);
        drain(&mut queue, &mut rng);
        assert_eq!(queue.state_size().records, 0);
    }

    proptest! {
        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            max_saving in prop::sample::select(vec![0, 1, 15_000, 1 << 30]),
            quantum in prop::sample::select(vec![1, 1500]),
        ) {
            let params = DrrLdsParams { max_saving: Bytes(max_saving), quantum: Bytes(quantum), ..Default::default() };
            prop_assert_eq!(survives(SchemeParams::DrrLds(params), limit, &noise), 0);
        }
    }
}
