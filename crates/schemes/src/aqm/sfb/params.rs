//! Parameters of SFB.

use crate::contract::prelude::*;
choices! {
    /// Time at which the probability of an empty bin is decremented.
    pub enum DecrementAt {
        /// When a packet arrives at the empty bin.
        Arrival = "arrival",
        /// When the bin's last packet leaves.
        Drain = "drain",
    }
}

choices! {
    /// Implementation of SFB.
    pub enum SfbProfile {
        /// The paper and ns.
        Ns = "ns",
        /// `sch_sfb` of Linux 6.12.
        Linux = "linux",
    }
}

choices! {
    /// Scope of the rate limit for non-responsive flows.
    pub enum Penalty {
        /// One limit, shared by all non-responsive flows.
        Shared = "shared",
        /// A separate limit for each flow.
        PerFlow = "per_flow",
    }
}

params! {
    /// SFB. The defaults are from ns, which afc used.
    pub struct SfbParams {
        /// Implementation whose rules apply.
        profile: SfbProfile = "ns", source "sfb2001, ns; Linux sch_sfb";
        /// Number of levels, each with a hash function.
        levels: u32 = 2, in 1..=16, symbol "L", source "afc IV; 8 in Linux";
        /// Bins per level.
        bins: u32 = 23, in 2..=65536, symbol "N", source "afc IV; 32 in ns, 16 in Linux";
        /// Increment of a full bin's probability.
        increment: f64 = 0.005, in 0.000000001..=1.0, symbol "d1", source "ns; 0.001 in Linux";
        /// Decrement of an empty bin's probability.
        decrement: f64 = 0.001, in 0.0..=1.0, symbol "d2", source "ns; 1/6000 in Linux";
        /// Lower bound of the random minimum time between two changes of a bin's probability.
        freeze: Time = "10 ms", in "0 s"..="100 s", source "ns; 0 in Linux";
        /// Upper bound of the random minimum time between two changes of a bin's probability.
        freeze_most: Time = "50 ms", in "0 s"..="100 s", source "ns; 0 in Linux";
        /// Number of packets in a bin at which its probability starts to rise; absent: `1.5*limit/bins`, at least 2.
        bin_size: Option<u32> = null, in 1..=1000000, source "sfb2001; limit/3 in ns, 20 in Linux";
        /// Limit of the packets in a bin. If all bins of a flow have reached it, arrivals of the flow are dropped;
        /// absent: no such limit.
        bin_limit: Option<u32> = null, in 1..=1000000, source "25 in Linux; none in sfb2001";
        /// Time at which the probability of an empty bin is decremented.
        decrement_at: DecrementAt = "drain", source "ns; arrival in Linux";
        /// Probability at which a flow counts as non-responsive.
        unresponsive_at: f64 = 0.98, in 0.01..=1.0, source "ns; 1 in sfb2001 and Linux";
        /// Lower bound of the random time between changes of the hash functions.
        rehash: Time = "11 s", in "1 ms"..="1 h", source "ns; 600 s in Linux";
        /// Upper bound of the random time between changes of the hash functions.
        rehash_most: Time = "23 s", in "1 ms"..="1 h", source "ns; 600 s in Linux";
        /// Time before a change during which all flows also update the next set of bins.
        warm_up: Time = "0 s", in "0 s"..="1 h", source "sfb2001 and ns: only flows of rule (3) do; 60 s in Linux";
        /// Rate limit for non-responsive flows.
        penalty_rate: BitRate = "49.5 kbit/s", in "1 bit/s"..="1 Tbit/s",
            source "afc Table 1: fair rate 5 Mbit/s / 101";
        /// Burst allowed by the rate limit.
        penalty_burst: Bytes = "2 kB", in "64 B"..="1 GB", source "two packets of afc; 20 packets in Linux";
        /// Scope of the rate limit.
        penalty: Penalty = "shared", source "sfb2001; afc Table 1 with five senders needs per_flow";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "sfb2001";
        /// Marks ECN-capable packets instead of dropping them with `p_min`.
        ecn: bool = false, source "sfb2001: mark or drop";
    }
}

// With `profile = "linux"`, SFB follows `sch_sfb.c` of Linux 6.12. The differences from ns, with the numbers of the
// rules in `sfb/mod.rs`:
//
// - (L1) There are 8 levels of 16 bins, no freeze time, and one rate limit for all flows. Probabilities have steps of
//   1/65 535, `decrement_at` is `arrival`, `unresponsive_at` is 1, and packets are marked: `SfbParams::fixed`.
// - (L2) A full buffer drops packets before rule (1): `Sfb::admit`.
// - (L3) If `p_min > 1/2`, rule (4) drops a fraction `(2*p_min - 1)/p_min` of the packets that it selects, and marks
//   the others.
// - (L4) In rule (3), an arrival that finds no token gets the whole tokens earned since the previous such arrival. That
//   time is counted in ticks of 4 ms: `TokenBucket::take_token`.
//
// With (L4), no packet passes after the first burst if arrivals of rule (3) are more frequent than tokens: each arrival
// finds less than a whole token earned, and the fraction is lost.

impl SfbParams {
    pub(super) fn is_linux(&self) -> bool {
        self.profile == SfbProfile::Linux
    }

    /// Returns the parameters. With the profile `linux`, the kernel's constants replace some of them: (L1).
    pub(super) fn fixed(&self) -> Self {
        if !self.is_linux() {
            return self.clone();
        }
        let whole = |probability: f64| libm::round(probability * 65_535.0) / 65_535.0;
        Self {
            levels: 8,
            bins: 16,
            increment: whole(self.increment),
            decrement: whole(self.decrement),
            freeze: Time::ZERO,
            freeze_most: Time::ZERO,
            decrement_at: DecrementAt::Arrival,
            unresponsive_at: 1.0,
            rehash_most: self.rehash,
            penalty: Penalty::Shared,
            share_per: FlowKey::Flow,
            ecn: true,
            ..self.clone()
        }
    }
}
