//! Parameters of HTB.

use crate::contract::prelude::*;

choices! {
    /// Queue of a leaf.
    pub enum LeafQueue {
        /// CAKE.
        Cake = "cake",
        /// FQ-CoDel.
        FqCodel = "fq_codel",
        /// First in, first out.
        DropTail = "droptail",
    }
}

choices! {
    /// What the nodes of a tree are assured.
    pub enum NodeRates {
        /// So much of their ceiling that those of all siblings fit into the rate of their parent; leaves as well.
        Fitting = "fitting",
        /// 95 % of their ceiling, and leaves the whole `rate`: siblings may have more together than their parent.
        Full = "full",
    }
}

params! {
    /// HTB.
    pub struct HtbParams {
        /// Queue of each leaf.
        leaf: LeafQueue = "cake", source "LibreQoS";
        /// Queues of a leaf's CAKE, in eights, or of its FQ-CoDel.
        leaf_queues: u32 = 32, in 8..=1024, source "our choice, bounds the memory; 1024 in Linux";
        /// Rate that a user's leaf is assured, times its weight; at most its ceiling. Where files of LibreQoS have a
        /// least rate for a subscriber, that one stands for it.
        rate: BitRate = "1 Mbit/s", in "1 kbit/s"..="10 Tbit/s", source "tc-htb(8)";
        /// Rate that it may reach; on an access network that of its plan, without it and elsewhere the link's.
        ceil: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", source "tc-htb(8)";
        /// Bytes that a leaf may send in its turn; absent: by its rate.
        quantum: Option<Bytes> = null, in "1 B"..="1 MB", source "tc-htb(8)";
        /// What the rate in bytes per second is divided by to give the quantum.
        r2q: u32 = 10, in 1..=100000, source "tc-htb(8)";
        /// Bytes that a class may send at once from its own rate after a silence.
        burst: Bytes = "1600 B", in "1 B"..="100 MB", source "tc: rate / 1 GHz + MTU of 1600 B";
        /// The same from its ceiling.
        cburst: Bytes = "1600 B", in "1 B"..="100 MB", source "tc: ceil / 1 GHz + MTU of 1600 B";
        /// Part of a node's link that is the ceiling of its class: what is left keeps the queue in the tree.
        margin: f64 = 0.95, in 0.1..=1.0, source "our choice";
        /// What the nodes of an access network are assured.
        node_rates: NodeRates = "fitting", source "Devera 2002; full: LibreQoS 1.4, LibreQoS.py";
    }
}
