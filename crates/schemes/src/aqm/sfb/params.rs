//! Parameters of SFB.

use crate::contract::prelude::*;
choices! {
    /// When the probability of an empty bin shrinks.
    pub enum DecrementAt {
        /// At an arrival to the empty bin.
        Arrival = "arrival",
        /// When its last packet leaves.
        Drain = "drain",
    }
}

choices! {
    /// Who shares the rate that flows which do not react are limited to.
    pub enum Penalty {
        /// All of them together.
        Shared = "shared",
        /// Each has it for itself.
        PerFlow = "per_flow",
    }
}

params! {
    /// SFB. Defaults: ns, as afc used it; columns of ns and Linux in the chapter.
    pub struct SfbParams {
        /// Levels, each with a hash function.
        levels: u32 = 2, in 1..=16, symbol "L", source "afc IV; 8 in Linux";
        /// Bins of a level.
        bins: u32 = 23, in 2..=65536, symbol "N", source "afc IV; 32 in ns, 16 in Linux";
        /// How much a full bin adds to its probability.
        increment: f64 = 0.005, in 0.000000001..=1.0, symbol "d1", source "ns; 0.001 in Linux";
        /// How much an empty bin takes off.
        decrement: f64 = 0.001, in 0.0..=1.0, symbol "d2", source "ns; 1/6000 in Linux";
        /// Least time between two changes of a bin's probability: shortest.
        freeze: Time = "10 ms", in "0 s"..="100 s", source "ns; 0 in Linux";
        /// Least time between two changes of a bin's probability: longest, drawn between the two.
        freeze_most: Time = "50 ms", in "0 s"..="100 s", source "ns; 0 in Linux";
        /// Packets in a bin from which on its probability grows; absent: `1.5*limit/bins`, at least 2.
        bin_size: Option<u32> = null, in 1..=1000000, source "sfb2001; limit/3 in ns, 20 in Linux";
        /// Packets that all bins of a flow may hold at most; absent: no cap.
        bin_limit: Option<u32> = null, in 1..=1000000, source "25 in Linux; none in sfb2001";
        /// When the probability of an empty bin shrinks.
        decrement_at: DecrementAt = "drain", source "ns; arrival in Linux";
        /// Smallest probability of a flow that does not react.
        unresponsive_at: f64 = 0.98, in 0.01..=1.0, source "ns; 1 in sfb2001 and Linux";
        /// Time between changes of the hash functions: shortest.
        rehash: Time = "11 s", in "1 ms"..="1 h", source "ns; 600 s in Linux";
        /// Time between changes of the hash functions: longest, uniformly between the two.
        rehash_most: Time = "23 s", in "1 ms"..="1 h", source "ns; 600 s in Linux";
        /// How long before a change all flows teach the other set.
        warm_up: Time = "0 s", in "0 s"..="1 h", source "sfb2001 and ns: only flows of rule (3) do; 60 s in Linux";
        /// Rate that flows which do not react are limited to.
        penalty_rate: BitRate = "49.5 kbit/s", in "1 bit/s"..="1 Tbit/s",
            source "afc Table 1: fair rate 5 Mbit/s / 101";
        /// Burst that the limit lets through.
        penalty_burst: Bytes = "2 kB", in "64 B"..="1 GB", source "two packets of afc; 20 packets in Linux";
        /// Who shares that rate.
        penalty: Penalty = "shared", source "sfb2001; afc Table 1 with five senders needs per_flow";
        /// What gets one share: each flow, which is one connection, or each user with all its flows.
        share_per: FlowKey = "flow", source "sfb2001";
        /// Mark ECN-capable packets instead of dropping them with `p_min`.
        ecn: bool = false, source "sfb2001: mark or drop";
    }
}
