//! Keys and values of the maps of the kernel programs.

use super::declare::records;
use super::fixed::{AveragerRecord, CsfqParamsRecord, CsfqRecord, DecayRecord, MeterRecord};

/// Kinds of user identifiers. In a key, a numeric identifier is in the first four bytes of the address, a second number
/// in the next four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An unused slot.
    Free,
    /// A prefix of addresses.
    Address,
    /// No identifier: the default user.
    Default,
    /// No identifier: addresses for which the table has no free slot.
    Overflow,
    /// No identifier: packets without a recognised address.
    Unparsed,
    /// The outermost 802.1Q tag.
    Vlan,
    /// Value and mask of a mark.
    Mark,
    /// The outer of two VLAN tags, or a single 802.1ad tag, whatever the frame contains after it.
    Service,
    /// The outer and the inner tag.
    Tags,
    /// A PPPoE session.
    Session,
    /// Tunnel number as reported by the kernel's tunnel interfaces.
    Tunnel,
}

impl Kind {
    /// All kinds.
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

/// Slots before those of configured users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Default user. Each meter has two slots, as a source and as a destination.
    Default = 0,
    /// Addresses for which the table has no free slot.
    Overflow = 2,
    /// Packets without a recognised address.
    Unparsed = 4,
    /// First slot of configured users.
    First = 6,
}

/// Scheduler of a port's own qdisc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnQdisc {
    /// The kernel's qdisc is the queue.
    None,
    /// One queue for both classes.
    Fifo,
    /// EF first.
    Strict,
    /// The earliest deadline first.
    Medf,
}

/// Unit of a queue.
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
    /// Layouts of all records.
    fn layouts;

    /// Position of the label in a packet mark: a bit for the class, and above this bit the upper bits of the activity
    /// plus 1. Other bits of the mark are not used.
    struct MarkBits = mark_bits {
        /// Bits of the label.
        mask: u32,
        /// Lowest bit of the label.
        shift: u32,
        /// Number of low activity bits that are cut off.
        lost: u32,
        /// Maximum value above the class bit.
        most: u32,
    }

    /// The node.
    struct NodeRecord = node_config {
        /// t0 of all meters, on the monotonic clock.
        start_ns: u64,
        /// Inode of the network namespace of the ports.
        netns: u64,
        /// Idle time after which a meter is freed.
        user_timeout_ns: u64,
        /// Duration of a search of the whole table for idle users.
        sweep_ns: u64,
        /// Decay of M_AM, or of K of CSFQ.
        decay: DecayRecord,
        /// log2 of the memory in ns, Q31. A reload must not change it.
        log2_memory: i64,
        /// Accounting factor of each class.
        factor_q20: [u32; 2],
        /// For CSFQ, log2 of a tick divided by the memory, Q31.
        log2_tick: i64,
        /// Scheme, which determines the quantity in labels.
        scheme: u32,
        /// Number of users by mark.
        marks: u32,
        /// Kinds of identifiers in use, one bit each.
        kinds: u32,
        /// First slot of per-address meters.
        first_address: u32,
        /// Number of slots of per-address meters.
        addresses: u32,
        /// Label carriers in use at the node's ports, one bit each.
        carriers: u32,
        /// Generation of the rules, never zero: programs' cached rules are valid only for the same generation.
        generation: u32,
        /// Zero.
        reserved: u32,
        /// Position of labels in marks.
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

    /// Identity of a meter, kept when the configuration changes. Aligned, since it is copied in three steps.
    #[derive(Hash, PartialOrd, Ord)]
    #[repr(align(8))]
    struct UserKey = user_key {
        /// Address of the prefix, or the numbers of another identifier.
        address: [u8; 16],
        /// Length of the prefix; 128 for an address.
        bits: u8,
        /// Kind of identifier.
        kind: u8,
        /// Role of the user: source or destination.
        user_is: u8,
        /// Zero.
        reserved: [u8; 5],
    }

    /// Key of an identifier other than addresses and marks.
    #[derive(Hash)]
    struct NumberKey = number_key {
        /// Kind of identifier.
        kind: u32,
        /// First number.
        first: u32,
        /// Second number, or zero.
        second: u32,
    }

    /// Rule: meter, rate and class of a user.
    struct RuleRecord = rule {
        /// Contribution of the reference rate to the label, Q31.
        offset: i64,
        /// Slot of the user's meter as a source. The next slot is the meter as a destination.
        place: u32,
        /// Maximum number of per-address meters; 0 if all addresses share one.
        address_limit: u32,
        /// Rule for which packets are expedited.
        class_rule: u32,
        /// Zero.
        reserved: u32,
    }

    /// A user identified by a mark. The first matching entry applies.
    struct MarkRuleRecord = mark_rule {
        /// Bits under the mask.
        value: u32,
        /// Significant bits.
        mask: u32,
        /// Rule of the user.
        rule: RuleRecord,
    }

    /// A user: meter and counters. The fields `late` count packets that arrived while the meter was locked.
    struct UserState = user {
        /// Lock of the meter. Only programs use it; the tool writes zero.
        lock: u32,
        /// Label of the last packet.
        activity: i32,
        /// Amount S, and time of the last count.
        meter: MeterRecord,
        /// For CSFQ, bytes of the current tick, Q16.
        pending: u64,
        /// Time of the last packet, on the monotonic clock.
        last_ns: u64,
        /// Packets metered.
        packets: u64,
        /// Bytes metered, including the IP header.
        bytes: u64,
        /// Packets dropped by AQMs of this node.
        dropped: u64,
        /// Identity of the meter.
        key: UserKey,
        /// For an address: slot of the user whose limit includes it.
        owner: u32,
        /// For an address: slot of the port at which it first arrived.
        port: u32,
        /// For a user: number of its per-address meters.
        addresses: u32,
        /// Zero.
        reserved: u32,
        /// Amount in bytes, Q16, to be added to the meter by the next packet that gets the lock.
        late_amount: u64,
        /// Packets metered without the lock.
        late_packets: u64,
        /// Bytes of these packets.
        late_bytes: u64,
    }

    /// State of the search for idle users, one slice of the table at a time.
    struct PoolRecord = pool {
        /// Number of slots that were ever used for addresses. Later slots have never been used.
        fresh: u32,
        /// Start of the next slice.
        cursor: u32,
        /// Number of per-address meters.
        live: u32,
        /// Maximum number of slots in a slice so far.
        most_looked: u32,
        /// Maximum number of expired users in a slice so far.
        most_expired: u32,
        /// Zero.
        reserved: u32,
        /// Slices so far.
        slices: u64,
        /// Maximum time of a slice, in ns.
        most_ns: u64,
    }

    /// Configuration of a port.
    struct PortRecord = port_config {
        /// Index of the interface; 0 in an unused slot.
        ifindex: u32,
        /// Treatment of arriving packets.
        ingress: u32,
        /// Scheme that decides on departing packets.
        aqm: u32,
        /// Carrier of labels on the link.
        carrier: u32,
        /// Unit of the queue.
        unit: u32,
        /// True if the tool created the clsact qdisc.
        made_clsact: u32,
        /// Role of users in arriving packets: source or destination.
        user_is: u32,
        /// Maximum number of per-address meters for addresses that arrive at this port.
        address_limit: u32,
        /// True if packets begin with their IP header.
        is_layer3: u32,
        /// True if the AQM marks ECN-capable packets instead of dropping them.
        marks_ecn: u32,
        /// Position of labels in marks.
        mark_bits: MarkBits,
        /// skb->priority of each class; 0 leaves it unchanged.
        qdisc_class: [u32; 2],
        /// True if no labels are written until the far end announces that it reads them.
        asks: u32,
        /// Scheduler of the port's own qdisc, or 0 if the kernel's qdisc is the queue.
        own_qdisc: u32,
        /// Time until which a port that reads labels does not announce this; 0 if it does.
        quiet_until_ns: u64,
        /// Q_min.
        q_min: i64,
        /// Q_base; for CSFQ the queue threshold.
        q_base: i64,
        /// Gamma.
        gamma: i64,
        /// Q_max; 0 for none.
        limit: i64,
        /// Decay of M_AA.
        decay: DecayRecord,
        /// Weight of a packet in A_avg, FAIR_PACKET_WEIGHT; 0 to weight by bytes.
        packet_weight: u64,
        /// Time per byte of the virtual queue.
        ns_per_byte_q20: u64,
        /// Time per byte of the control rate; 0 if no control traffic bypasses the AQM.
        control_ns_per_byte_q20: u64,
        /// Parameters of CSFQ.
        csfq: CsfqParamsRecord,
        /// For the own qdisc: time per byte at the rate to which it shapes; 0 if it doesn't shape.
        shaper_ns_per_byte_q20: u64,
        /// For the own qdisc: time by which a BE packet may wait longer than an EF packet.
        be_offset_ns: u64,
    }

    /// Packet counters of a port, with sizes on the wire.
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
        /// Accepted packets that were ECN-marked instead of dropped.
        marked: u64,
        /// Control packets that bypassed the AQM within their rate.
        control: u64,
        /// Control packets above their rate, treated by the AQM like other unlabelled packets.
        control_excess: u64,
    }

    /// State of a port. The fields `late` count packets that arrived while the state was locked.
    struct PortState = port_state {
        /// Lock of all fields except `late`. Only programs use it; the tool writes zero.
        lock: u32,
        /// A_avg before the last packet. For CSFQ, log2 of the fair rate, or the lowest label if there is no estimate.
        average: i32,
        /// A_avg.
        averager: AveragerRecord,
        /// Time at which the virtual queue will be empty, or the shaper of the own qdisc sends again.
        free_at_ns: u64,
        /// Queue at the arrival of the last packet, in the unit of the port.
        queue: i64,
        /// T_drop of the last packet; for CSFQ Q_min.
        threshold: i64,
        /// Packets counted under the lock.
        counts: PortCounts,
        /// Theoretical arrival time of the control rate limiter.
        control_at_ns: u64,
        /// State of CSFQ.
        csfq: CsfqRecord,
        /// Packets counted without the lock.
        late: PortCounts,
        /// Amount to be added to the averager's sum by the next packet that gets the lock.
        late_sum: u64,
        /// Amount to be added to the averager's count by the next packet that gets the lock.
        late_count: u64,
        /// Time in ns to be added to the virtual queue by the next packet that gets the lock.
        late_ns: u64,
        /// For CSFQ, arrived and accepted bytes, Q16, to be added by the next packet that gets the lock.
        late_pending: [u64; 2],
    }

    /// Packets of a traffic class that left the own qdisc of a port.
    struct ClassCounts = class_counts {
        /// Packets sent.
        packets: u64,
        /// Their bytes, Ethernet header included.
        bytes: u64,
        /// Sum of their waiting times in ns. An aggregate counts once.
        waited_ns: u64,
        /// Longest waiting time in ns.
        longest_ns: u64,
        /// Number of waiting times in the sum.
        waits: u64,
    }

    /// Own qdisc of a port.
    struct QdiscState = qdisc_state {
        /// Counts of each class, BE first.
        classes: [ClassCounts; 2],
    }

    /// Key of a neighbour to which packets are sent.
    struct NeighbourKey = neighbour_key {
        /// Index of the interface.
        ifindex: u32,
        /// Ethernet address.
        mac: [u8; 6],
        /// Carrier of labels to it.
        carrier: u8,
        /// Zero.
        reserved: u8,
    }

    /// State of a neighbour: if it reads labels.
    struct NeighbourState = neighbour {
        /// Time until which labels may be written; if the neighbour has never answered, when it was first seen.
        until_ns: u64,
        /// Time of the last question.
        asked_ns: u64,
        /// Nonce that the neighbour's answer must repeat.
        nonce: u32,
        /// Zero.
        reserved: u32,
    }

    /// State of the far end of a port's link.
    struct LinkState = link_state {
        /// Time when a new neighbour was last seen.
        asked_ns: u64,
        /// Time until which labels may be sent to the last neighbour that answered.
        until_ns: u64,
        /// Time of the port's last announcement that it reads labels.
        answered_ns: u64,
        /// Time of the last label that arrived while the port did not announce that it reads them.
        late_ns: u64,
        /// Packets sent without the label that they should have.
        held_back: u64,
    }

    /// Label counters of one processor.
    struct IngressStats = ingress_stats {
        /// Packets metered.
        metered: u64,
        /// Packets with a label from a trusted link.
        trusted: u64,
        /// Packets with a label from an untrusted port.
        stripped: u64,
        /// Packets dropped because a label could not be removed or added.
        refused: u64,
        /// Packets of protocols other than IP.
        not_ip: u64,
        /// Packets with truncated or inconsistent headers.
        malformed: u64,
        /// Packets with more tags than are parsed.
        too_many_tags: u64,
        /// PPPoE packets that are not IP: discovery, control.
        pppoe_not_ip: u64,
        /// MPLS packets without IP after at most four labels.
        mpls_not_ip: u64,
        /// Packets of addresses for which the table has no free slot.
        no_room: u64,
        /// Packets of addresses whose user has its maximum number of meters.
        user_full: u64,
        /// Packets of addresses that arrived at a port with its maximum number of meters.
        port_full: u64,
        /// Expired users.
        expired: u64,
        /// Packets dropped because a label made them too large for their link.
        too_large: u64,
    }

    /// Counters of the program that passes frames to the forwarder, one set per processor.
    struct RedirectStats = redirect_stats {
        /// Frames dropped because they are too long.
        oversized: u64,
        /// Frames dropped because the sender left the checksum to a network card.
        without_checksum: u64,
    }

    /// Inputs of a replay, instead of the clock, the qdisc and random numbers.
    struct ReplayInput = replay_input {
        /// Time.
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
