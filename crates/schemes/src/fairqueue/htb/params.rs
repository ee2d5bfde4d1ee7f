//! Parameters of HTB.

use crate::contract::prelude::*;

choices! {
    /// Queue of a leaf.
    pub enum LeafQueue {
        /// CAKE.
        Cake = "cake",
        /// FQ-CoDel.
        FqCodel = "fq_codel",
        /// A FIFO queue.
        DropTail = "droptail",
    }
}

choices! {
    /// Assured rates of the nodes of a tree.
    pub enum NodeRates {
        /// Ceilings, scaled down until the assured rates of all siblings, including leaves, fit into the rate of their
        /// parent.
        Fitting = "fitting",
        /// For nodes 95 % of their ceiling, for leaves the whole `rate`. The sum over siblings may exceed the rate of
        /// their parent.
        Full = "full",
    }
}

params! {
    /// HTB.
    pub struct HtbParams {
        /// Queue of each leaf.
        leaf: LeafQueue = "cake", source "LibreQoS";
        /// Number of queues in a leaf's CAKE (a multiple of 8) or FQ-CoDel.
        leaf_queues: u32 = 32, in 8..=1024, source "our choice, bounds the memory; 1024 in Linux";
        /// Assured rate of a user's leaf, multiplied by the user's weight; at most its ceiling. A subscriber's minimum
        /// rate in LibreQoS files takes precedence.
        rate: BitRate = "1 Mbit/s", in "1 kbit/s"..="10 Tbit/s", source "tc-htb(8)";
        /// Ceiling of a user's leaf; absent: the rate of its plan on an access network, otherwise the rate of the link.
        ceil: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", source "tc-htb(8)";
        /// Bytes that a leaf may send per turn (quantum); absent: derived from its rate.
        quantum: Option<Bytes> = null, in "1 B"..="1 MB", source "tc-htb(8)";
        /// Divisor of the rate in bytes per second that gives the quantum (r2q).
        r2q: u32 = 10, in 1..=100000, source "tc-htb(8)";
        /// Burst at a class's own rate after an idle time.
        burst: Bytes = "1600 B", in "1 B"..="100 MB", source "tc: rate / 1 GHz + MTU of 1600 B";
        /// Burst at the ceiling after an idle time.
        cburst: Bytes = "1600 B", in "1 B"..="100 MB", source "tc: ceil / 1 GHz + MTU of 1600 B";
        /// Ceiling of a node's class as a fraction of the node's link rate. A value below 1 keeps the queue in the
        /// tree.
        margin: f64 = 0.95, in 0.1..=1.0, source "our choice";
        /// Assured rates of the nodes of an access network.
        node_rates: NodeRates = "fitting", source "Devera 2002; full: LibreQoS 1.4, LibreQoS.py";
    }
}
