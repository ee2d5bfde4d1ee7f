//! Keys and values of the maps of the kernel programs.

use super::declare::{CType, records};
use super::fixed::{AveragerRecord, CsfqParamsRecord, CsfqRecord, DecayRecord, MeterRecord};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// `struct bpf_spin_lock`; the kernel shows it as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct SpinLock(u32);

impl CType for SpinLock {
    fn declare(name: &str) -> String {
        format!("struct bpf_spin_lock {name}")
    }
}

/// What a user is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A prefix of source addresses.
    Address,
    /// Nothing: who has no user of its own.
    Default,
    /// The number of a VLAN, in the first four bytes.
    Vlan,
    /// Value and mask of a mark, four bytes each.
    Mark,
}

/// The unit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// 1/16 packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Nanoseconds of a virtual queue.
    Virtual,
}

records! {
    /// The layouts of all of them.
    fn layouts;

    /// The node.
    struct NodeRecord = node_config {
        /// t0 of all meters, on the monotonic clock.
        start_ns: u64,
        /// Inode of the network namespace of the ports.
        netns: u64,
        /// Silence after which a meter makes room.
        user_timeout_ns: u64,
        /// Time between two searches for silent users.
        sweep_ns: u64,
        /// Of M_AM, or of K of CSFQ.
        decay: DecayRecord,
        /// log2 of that memory in ns, Q31: tells memories apart.
        log2_memory: i64,
        /// Accounting factor of each class.
        factor_q20: [u32; 2],
        /// log2 of a tick over the memory, Q31: CSFQ.
        log2_tick: i64,
        /// What labels say and ports decide by.
        scheme: u32,
        /// Number of users by VLAN.
        vlans: u32,
        /// Number of users by mark.
        marks: u32,
        /// Zero.
        reserved: u32,
    }

    /// Key of the trie: IPv4 addresses are ::ffff:0:0/96.
    struct PrefixKey = prefix_key {
        /// Length of the prefix.
        bits: u32,
        /// IPv6 address, or IPv4 mapped into it.
        address: [u8; 16],
    }

    /// The identity of a meter, which survives every change of the configuration. Aligned: copied in three steps.
    #[derive(Hash, PartialOrd, Ord)]
    #[repr(align(8))]
    struct UserKey = user_key {
        /// Of the prefix, or the address itself; VLAN; value and mask of a mark.
        address: [u8; 16],
        /// Length of the prefix; 128 for an address.
        bits: u8,
        /// What the user is known by.
        kind: u8,
        /// Zero.
        reserved: [u8; 6],
    }

    /// Rate and class of a user.
    struct RuleRecord = rule {
        /// Of the meter that the prefix has.
        key: UserKey,
        /// What the reference rate adds to the label, Q31.
        offset: i64,
        /// Which packets are expedited.
        class_rule: u32,
        /// Whether each address has a meter of its own.
        per_address: u32,
    }

    /// Users by mark: the first whose mask and value fit counts.
    struct MarkRuleRecord = mark_rule {
        /// What the bits under the mask are.
        value: u32,
        /// Which bits count.
        mask: u32,
        /// What the user has.
        rule: RuleRecord,
    }

    /// A user: its meter and counters.
    struct UserState = user {
        /// Of the meter.
        lock: SpinLock,
        /// Label of the last packet.
        activity: i32,
        /// Amount, and when it was counted.
        meter: MeterRecord,
        /// Bytes of the tick, Q16: CSFQ.
        pending: u64,
        /// When the last packet came, on the monotonic clock.
        last_ns: u64,
        /// Packets metered.
        packets: u64,
        /// Bytes metered, from the IP header on.
        bytes: u64,
        /// Packets that an AQM of this node dropped.
        dropped: u64,
    }

    /// What happens at a port.
    struct PortRecord = port_config {
        /// Index of the interface; 0 in a place without a port.
        ifindex: u32,
        /// What happens to packets that come in.
        ingress: u32,
        /// What decides on packets that go out.
        aqm: u32,
        /// What carries labels on the link.
        carrier: u32,
        /// Of the queue.
        unit: u32,
        /// Whether the tool made the clsact qdisc.
        made_clsact: u32,
        /// skb->priority of each class, 0 leaves it.
        qdisc_class: [u32; 2],
        /// Q_min.
        q_min: i64,
        /// Q_base; of CSFQ the threshold of its queue.
        q_base: i64,
        /// Gamma.
        gamma: i64,
        /// Q_max; 0 for none.
        limit: i64,
        /// Of M_AA.
        decay: DecayRecord,
        /// What a byte adds to the virtual queue.
        ns_per_byte_q20: u64,
        /// Parameters of CSFQ.
        csfq: CsfqParamsRecord,
    }

    /// What a port has done; under one lock with what it counts.
    struct PortState = port_state {
        /// Of all that follows.
        lock: SpinLock,
        /// A_avg before the last packet; of CSFQ log2 of the fair rate, the lowest label without an estimate.
        average: i32,
        /// A_avg.
        averager: AveragerRecord,
        /// When the virtual queue will be empty.
        free_at_ns: u64,
        /// Queue that the last packet found, in the unit of the port.
        queue: i64,
        /// T_drop of the last packet; of CSFQ Q_min.
        threshold: i64,
        /// Packets accepted.
        accepted: u64,
        /// Their bytes, Ethernet header included.
        accepted_bytes: u64,
        /// Packets dropped by the AQM.
        dropped: u64,
        /// Packets dropped at the limit.
        overlimit: u64,
        /// Accepted packets without a label.
        unlabelled: u64,
        /// State of CSFQ.
        csfq: CsfqRecord,
    }

    /// Counters of what happens to labels, of one processor.
    struct IngressStats = ingress_stats {
        /// Packets metered.
        metered: u64,
        /// Packets whose label came over a trusted link.
        trusted: u64,
        /// Packets from untrusted ports that had a label.
        stripped: u64,
        /// Packets dropped because no label could be taken from them or put onto them.
        refused: u64,
        /// Packets without an IP address, counted for the default user.
        not_ip: u64,
        /// Packets of users that found the table full.
        no_room: u64,
        /// Users forgotten.
        expired: u64,
        /// Packets dropped because a label made them too large for their link.
        too_large: u64,
    }

    /// Inputs of a replay, in place of the clock, the qdisc and the random number.
    struct ReplayInput = replay_input {
        /// The time.
        now_ns: u64,
        /// Packets in the qdisc.
        packets: u32,
        /// Bytes in the qdisc.
        bytes: u32,
        /// Random bits.
        random: u32,
        /// Zero.
        reserved: u32,
    }
}
