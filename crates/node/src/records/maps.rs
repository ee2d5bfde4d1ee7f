//! Keys and values of the maps of the kernel programs.

use super::declare::records;
use super::fixed::{AveragerRecord, CsfqParamsRecord, CsfqRecord, DecayRecord, MeterRecord};

/// What a user is known by. What has a number has it in the first four bytes of a key, a second one in the next four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A place that nobody has.
    Free,
    /// A prefix of addresses.
    Address,
    /// Nothing: who has no user of its own.
    Default,
    /// Nothing: addresses that found no place.
    Overflow,
    /// Nothing: packets in which no address is found.
    Unparsed,
    /// The number of the outermost 802.1Q tag.
    Vlan,
    /// Value and mask of a mark.
    Mark,
    /// The number of the outer of two tags, or of a single 802.1ad tag, whatever is within.
    Service,
    /// The numbers of outer and inner tag.
    Tags,
    /// A PPPoE session.
    Session,
    /// The number of a tunnel, as the kernel's tunnel interfaces give it.
    Tunnel,
}

impl Kind {
    /// All of them.
    pub(super) const ALL: [Self; 11] = [
        Self::Free,
        Self::Address,
        Self::Default,
        Self::Overflow,
        Self::Unparsed,
        Self::Vlan,
        Self::Mark,
        Self::Service,
        Self::Tags,
        Self::Session,
        Self::Tunnel,
    ];
}

/// What comes before the places of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Of the default user; each meter has two places, as a source and as a destination.
    Default = 0,
    /// Of addresses that found no place of their own.
    Overflow = 2,
    /// Of packets in which no address is found.
    Unparsed = 4,
    /// The first of configured users.
    First = 6,
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

    /// Where a label lies in the mark of a packet: a bit for the class, above it the upper bits of the activity plus 1.
    /// The other bits of the mark are not the node's.
    struct MarkBits = mark_bits {
        /// Which bits.
        mask: u32,
        /// Its lowest bit.
        shift: u32,
        /// Lower bits of the activity that have no room.
        lost: u32,
        /// The highest number above the bit for the class.
        most: u32,
    }

    /// The node.
    struct NodeRecord = node_config {
        /// t0 of all meters, on the monotonic clock.
        start_ns: u64,
        /// Inode of the network namespace of the ports.
        netns: u64,
        /// Silence after which a meter makes room.
        user_timeout_ns: u64,
        /// Time for a search of the whole table for silent users.
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
        /// Number of users by mark.
        marks: u32,
        /// What users are known by, a bit for each kind.
        kinds: u32,
        /// Place of the first address that has a meter of its own.
        first_address: u32,
        /// Number of such places.
        addresses: u32,
        /// What carries labels at the ports of the node, a bit for each carrier.
        carriers: u32,
        /// How often rules have changed, never zero: what programs remember of them holds as long as it is the same.
        generation: u32,
        /// Zero.
        reserved: u32,
        /// Where labels lie in marks.
        mark_bits: MarkBits,
    }

    /// Key of the trie: IPv4 addresses are ::ffff:0:0/96.
    #[derive(Hash)]
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
        /// Of the prefix, or the address itself; numbers of other kinds.
        address: [u8; 16],
        /// Length of the prefix; 128 for an address.
        bits: u8,
        /// What the user is known by.
        kind: u8,
        /// Whether it is metered as a source or as a destination.
        user_is: u8,
        /// Zero.
        reserved: [u8; 5],
    }

    /// What a user is known by, other than addresses and marks.
    #[derive(Hash)]
    struct NumberKey = number_key {
        /// What the numbers are.
        kind: u32,
        /// The first.
        first: u32,
        /// The second, or zero.
        second: u32,
    }

    /// Meter, rate and class of a user.
    struct RuleRecord = rule {
        /// What the reference rate adds to the label, Q31.
        offset: i64,
        /// Of its meter as a source; that as a destination follows.
        place: u32,
        /// Most meters of its addresses at a time; 0 if all share one.
        address_limit: u32,
        /// Which packets are expedited.
        class_rule: u32,
        /// Zero.
        reserved: u32,
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

    /// A user: its meter and counters. What packets that found it locked add is in the fields `late`.
    struct UserState = user {
        /// Of the meter; the programs take it, the tool writes zero.
        lock: u32,
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
        /// Who it is.
        key: UserKey,
        /// Of an address: the place of the user whose limit it counts for.
        owner: u32,
        /// Of an address: the place of the port that it first came in at.
        port: u32,
        /// Of a user: its addresses that have meters.
        addresses: u32,
        /// Zero.
        reserved: u32,
        /// What the next packet that takes the lock adds to the meter, in bytes, Q16.
        late_amount: u64,
        /// Packets metered without the lock.
        late_packets: u64,
        /// Their bytes.
        late_bytes: u64,
    }

    /// The search for silent users: a slice of the table at a time.
    struct PoolRecord = pool {
        /// Places that were ever given to addresses; those behind have not been touched.
        fresh: u32,
        /// Where the next slice begins.
        cursor: u32,
        /// Addresses that have meters.
        live: u32,
        /// Most places that a slice has looked at.
        most_looked: u32,
        /// Most users that a slice has expired.
        most_expired: u32,
        /// Zero.
        reserved: u32,
        /// Slices so far.
        slices: u64,
        /// Longest time of a slice, in ns.
        most_ns: u64,
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
        /// Whether users that come in are sources or destinations.
        user_is: u32,
        /// Most meters of addresses that come in here at a time.
        address_limit: u32,
        /// Whether packets begin with their IP header.
        is_layer3: u32,
        /// Whether the AQM marks packets that can be marked, in place of dropping them.
        marks_ecn: u32,
        /// Where labels lie in marks.
        mark_bits: MarkBits,
        /// skb->priority of each class, 0 leaves it.
        qdisc_class: [u32; 2],
        /// Whether labels wait until the far end says that it reads them.
        asks: u32,
        /// Zero.
        reserved: u32,
        /// Until when a port that reads labels does not say so; 0 if it does.
        quiet_until_ns: u64,
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
        /// What a packet counts for in A_avg, FAIR_PACKET_WEIGHT; 0 for its bytes.
        packet_weight: u64,
        /// What a byte adds to the virtual queue.
        ns_per_byte_q20: u64,
        /// What a byte of control traffic takes of its rate, 0 if none passes.
        control_ns_per_byte_q20: u64,
        /// Parameters of CSFQ.
        csfq: CsfqParamsRecord,
    }

    /// Packets of a port, as they are on the wire.
    struct PortCounts = port_counts {
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
        /// Accepted packets that were marked in place of dropped (ECN).
        marked: u64,
        /// Control packets that passed the AQM within their rate.
        control: u64,
        /// Control packets beyond their rate, which the AQM judged as others without a label.
        control_excess: u64,
    }

    /// What a port has done. What packets that found it locked add is in the fields `late`.
    struct PortState = port_state {
        /// Of all but the fields `late`; the programs take it, the tool writes zero.
        lock: u32,
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
        /// Packets counted under the lock.
        counts: PortCounts,
        /// When control traffic will have used up what it has taken of its rate.
        control_at_ns: u64,
        /// State of CSFQ.
        csfq: CsfqRecord,
        /// Packets counted without the lock.
        late: PortCounts,
        /// What the next packet that takes the lock adds to the sum of the averager.
        late_sum: u64,
        /// The same for its count.
        late_count: u64,
        /// The same for the virtual queue, in ns.
        late_ns: u64,
        /// The same for the bytes of CSFQ, Q16: arrived, accepted.
        late_pending: [u64; 2],
    }

    /// A neighbour that packets are sent to.
    struct NeighbourKey = neighbour_key {
        /// Index of the interface.
        ifindex: u32,
        /// Its address.
        mac: [u8; 6],
        /// What carries labels to it.
        carrier: u8,
        /// Zero.
        reserved: u8,
    }

    /// Whether a neighbour reads labels.
    struct NeighbourState = neighbour {
        /// Until when labels may be written; of one that never answered, when it was met.
        until_ns: u64,
        /// When it was asked last.
        asked_ns: u64,
        /// What its answer must repeat.
        nonce: u32,
        /// Zero.
        reserved: u32,
    }

    /// What is known of the far end of the link of a port.
    struct LinkState = link_state {
        /// When a new neighbour was met last.
        asked_ns: u64,
        /// Until when the last neighbour that answered may be sent labels.
        until_ns: u64,
        /// When the port last said that it reads labels.
        answered_ns: u64,
        /// When a label came last while the port did not say so.
        late_ns: u64,
        /// Packets sent without what the carrier would have said.
        held_back: u64,
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
        /// Packets of protocols other than IP.
        not_ip: u64,
        /// Packets whose headers are cut off or contradict themselves.
        malformed: u64,
        /// Packets with more tags than are looked through.
        too_many_tags: u64,
        /// Packets of PPPoE that are not IP: discovery, control.
        pppoe_not_ip: u64,
        /// Packets of MPLS that are not IP below at most four labels.
        mpls_not_ip: u64,
        /// Packets of addresses that found the table full.
        no_room: u64,
        /// Packets of addresses whose user has as many meters as it may.
        user_full: u64,
        /// Packets of addresses that came in at a port that has as many meters as it may.
        port_full: u64,
        /// Users forgotten.
        expired: u64,
        /// Packets dropped because a label made them too large for their link.
        too_large: u64,
    }

    /// Counters of the program that hands frames to the forwarder, one of each for every processor.
    struct RedirectStats = redirect_stats {
        /// Frames dropped since they are too long.
        oversized: u64,
        /// Frames dropped since their checksum was left to a network card.
        without_checksum: u64,
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
