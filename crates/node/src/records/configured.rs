//! Conversion of a configuration to records.

use super::fixed::{CsfqParamsRecord, CsfqRecord, DecayRecord};
use super::maps::{
    Kind, MarkBits, MarkRuleRecord, NeighbourState, NodeRecord, NumberKey, OwnQdisc, Place, PoolRecord, PortRecord,
    PortState, PrefixKey, RuleRecord, Unit, UserKey,
};
use crate::config::{
    Arrivals, BacklogSource, FarEnd, MarkMask, MarkMatch, MeterOf, NodeConfig, NodeScheme, Port, Prefix, QueueScheme,
    UserIs, UserParams, Who,
};
use fairlane_schemes::base::units::{BitRate, QueueLimit, Threshold, Time};
use fairlane_schemes::contract::buffer::Scheduler;
use fairlane_schemes::fixed::csfq::{FixedCsfqParams, RateConstants};
use fairlane_schemes::fixed::{
    Accounting, Activity, Decay, FixedMeterParams, FixedThreshold, OutOfRange, PACKET, PACKET_WEIGHT,
};
use fairlane_schemes::label::abc::AverageOver;
use std::time::Duration;

impl NodeRecord {
    /// Creates the record of a configuration.
    ///
    /// # Errors
    /// A parameter exceeds the integer arithmetic.
    pub fn new(config: &NodeConfig, start_ns: u64, netns: u64, places: Places) -> Result<Self, OutOfRange> {
        let params = FixedMeterParams::new(config.abc_marker.memory, config.default_user.reference_rate)?;
        let rates = RateConstants::new(config.csfq_marker.rate_constant)?;
        let (decay, log2_memory) = match config.scheme {
            NodeScheme::Abc => (params.decay(), params.log2_memory_q31()),
            NodeScheme::Csfq => (rates.decay(), rates.log2_constant_q31()),
        };
        let who = || config.users.iter().flat_map(|user| &user.who);
        let factors = [config.abc_marker.accounting_be, config.abc_marker.accounting_ef];
        let user_timeout_ns = nanos(config.users_table.timeout);
        Ok(Self {
            start_ns,
            netns,
            user_timeout_ns,
            // Interval in which the whole table is searched for silent users, so they expire at most this much too
            // late. The search of a large table takes longer.
            sweep_ns: user_timeout_ns / 10,
            decay: DecayRecord::new(decay),
            log2_memory,
            factor_q20: [Accounting::new(factors[0])?.q20(), Accounting::new(factors[1])?.q20()],
            log2_tick: rates.log2_tick_q31(),
            scheme: config.scheme as u32,
            marks: who().filter(|who| matches!(who, Who::Mark(_))).count() as u32,
            kinds: who().fold(0, |kinds, who| kinds | 1 << who.kind() as u32),
            first_address: places.first_address(),
            addresses: places.addresses,
            carriers: config.ports.iter().fold(0, |all, port| all | 1 << port.params.carrier as u32),
            generation: 1,
            reserved: 0,
            mark_bits: MarkBits::new(config.node.mark_mask),
        })
    }
}

impl MarkBits {
    /// Creates the bit positions of labels from `mask`: all its bits are for the label, except one for the class.
    #[must_use]
    pub fn new(MarkMask(mask): MarkMask) -> Self {
        // One bit is the class.
        let bits = mask.count_ones() - 1;
        let lost = Activity::BITS.saturating_sub(bits);
        Self { mask, shift: mask.trailing_zeros(), lost, most: (1 << bits) - 1 }
    }
}

impl NodeRecord {
    /// Next generation of rules.
    #[must_use]
    pub fn next_generation(&self) -> u32 {
        self.generation.wrapping_add(1).max(1)
    }
}

/// Number of slots in the table of meters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// Maximum number of configured users. Each has two slots: as a source and as a destination.
    pub configured: u32,
    /// Maximum number of per-address meters, with one slot each.
    pub addresses: u32,
}

impl Places {
    /// Minimum capacity for configured users.
    const FEWEST: u32 = 1024;

    /// Sizes required by a configuration.
    #[must_use]
    pub fn of(config: &NodeConfig) -> Self {
        let twice = (config.users.len() as u32).saturating_mul(2).max(Self::FEWEST);
        let configured = config.users_table.configured.unwrap_or(twice);
        Self { configured, addresses: config.users_table.limit }
    }

    /// First slot of addresses.
    #[must_use]
    pub fn first_address(self) -> u32 {
        Place::First as u32 + 2 * self.configured
    }

    /// Total number of slots.
    #[must_use]
    pub fn all(self) -> u32 {
        self.first_address() + self.addresses
    }

    /// Sizes of a table with `all` slots, of which `addresses` are for addresses.
    #[must_use]
    pub fn of_table(all: u32, addresses: u32) -> Self {
        Self { configured: all.saturating_sub(addresses + Place::First as u32) / 2, addresses }
    }

    /// Returns true if a slot is the first of a configured user's two slots.
    #[must_use]
    pub fn is_of_user(self, place: u32) -> bool {
        (Place::First as u32..self.first_address()).contains(&place) && place.is_multiple_of(2)
    }

    /// First slots of configured users.
    pub fn of_users(self) -> impl Iterator<Item = u32> {
        (Place::First as u32..self.first_address()).step_by(2)
    }
}

impl Who {
    /// Kind of the identifier.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Prefix(_) => Kind::Address,
            Self::Vlan(_) => Kind::Vlan,
            Self::Tags(..) => Kind::Tags,
            Self::Service(_) => Kind::Service,
            Self::Session(_) => Kind::Session,
            Self::Tunnel(_) => Kind::Tunnel,
            Self::Mark(_) => Kind::Mark,
        }
    }

    fn numbers(&self) -> (u32, u32) {
        match *self {
            Self::Prefix(_) => (0, 0),
            Self::Tags(first, second) => (first, second),
            Self::Vlan(first) | Self::Service(first) | Self::Session(first) | Self::Tunnel(first) => (first, 0),
            Self::Mark(mark) => (mark.value, mark.mask),
        }
    }
}

impl NumberKey {
    /// Key of an identifier with numbers.
    #[must_use]
    pub fn new(who: &Who) -> Self {
        let (first, second) = who.numbers();
        Self { kind: who.kind() as u32, first, second }
    }
}

impl UserKey {
    /// The meter of addresses without a user.
    pub const DEFAULT: Self = Self::new([0; 16], 0, Kind::Default);
    /// Meter of addresses for which the table has no free slot.
    pub const OVERFLOW: Self = Self::new([0; 16], 0, Kind::Overflow);
    /// Meter of packets without a recognised address.
    pub const UNPARSED: Self = Self::new([0; 16], 0, Kind::Unparsed);

    /// Meters of every node, with their slots.
    #[must_use]
    pub fn fixed() -> [(u32, Self); 3] {
        [
            (Place::Default as u32, Self::DEFAULT),
            (Place::Overflow as u32, Self::OVERFLOW),
            (Place::Unparsed as u32, Self::UNPARSED),
        ]
    }

    /// Creates the key of a meter: of an IPv6 address, an IPv4-mapped IPv6 address, or another identifier.
    #[must_use]
    pub const fn new(address: [u8; 16], bits: u8, kind: Kind) -> Self {
        Self { address, bits, kind: kind as u8, user_is: 0, reserved: [0; 5] }
    }

    /// Meter of a user as a source.
    #[must_use]
    pub fn of(who: &Who) -> Self {
        if let Who::Prefix(prefix) = who {
            return Self::new(prefix.octets(), prefix.bits(), Kind::Address);
        }
        let (first, second) = who.numbers();
        let mut address = [0; 16];
        address[..4].copy_from_slice(&first.to_be_bytes());
        address[4..8].copy_from_slice(&second.to_be_bytes());
        Self::new(address, 0, who.kind())
    }

    /// Key of the same user as a source or as a destination.
    #[must_use]
    pub fn as_a(self, user_is: UserIs) -> Self {
        Self { user_is: user_is as u8, ..self }
    }
}

impl PrefixKey {
    /// The key of a prefix.
    #[must_use]
    pub fn new(prefix: &Prefix) -> Self {
        Self { bits: prefix.bits().into(), address: prefix.octets() }
    }
}

impl RuleRecord {
    /// Creates the rule that assigns rate and class to the user whose meters start at slot `place`.
    ///
    /// # Errors
    /// A parameter exceeds the integer arithmetic.
    pub fn new(place: u32, params: &UserParams, config: &NodeConfig) -> Result<Self, OutOfRange> {
        let offset = match config.scheme {
            NodeScheme::Abc => FixedMeterParams::new(config.abc_marker.memory, params.reference_rate)?.offset_q31(),
            NodeScheme::Csfq => RateConstants::new(config.csfq_marker.rate_constant)?.offset_q31(params.reference_rate),
        };
        let address_limit = match params.meter_of {
            MeterOf::Prefix => 0,
            MeterOf::Address => params.address_limit.unwrap_or(u32::MAX),
        };
        Ok(Self { offset, place, address_limit, class_rule: params.traffic_class as u32, reserved: 0 })
    }

    /// Combines the rule with the mark that it applies to.
    #[must_use]
    pub fn of_mark(self, mark: &MarkMatch) -> MarkRuleRecord {
        MarkRuleRecord { value: mark.value, mask: mark.mask, rule: self }
    }
}

/// Offset of BE with strict priority, about 146 years. A time plus this offset fits in 64 bits.
const MOST_OFFSET_NS: u64 = 1 << 62;

/// Represents an unknown rate.
pub(super) const UNKNOWN_RATE: BitRate = BitRate(1);

impl PortRecord {
    /// Slots of ports in the maps.
    pub const PLACES: u32 = 1024;

    /// Creates the record of a port of a node.
    ///
    /// # Errors
    /// A parameter exceeds the integer arithmetic.
    pub fn new(config: &NodeConfig, port: &Port, ifindex: u32, made_clsact: bool) -> Result<Self, OutOfRange> {
        // Reference rate of weight 1.
        let unit = config.default_user.reference_rate;
        let metered = config.ports.iter().filter(|port| port.params.arrivals == Arrivals::Meter).count() as u32;
        // Each port gets an equal part, so that a port cannot use up the slots of others.
        let address_limit = port.params.address_limit.unwrap_or(config.users_table.limit.div_ceil(metered.max(1)));
        let rate = port.params.rate.unwrap_or(UNKNOWN_RATE);
        let is_virtual = port.queue.backlog == BacklogSource::Virtual;
        let named = port.thresholds();
        let queue_unit = match named[0].1 {
            _ if is_virtual => Unit::Virtual,
            Threshold::Packets(_) => Unit::Packets,
            Threshold::Bytes(_) | Threshold::Delay(_) => Unit::Bytes,
        };
        let units = |threshold| units_of(threshold, is_virtual, rate);
        let [q_min, q_base, gamma] = [0, 1, 2].map(|i| named.get(i).map_or(0, |(_, threshold)| units(*threshold)));
        let q_min = q_min.max(port.has_q_min().into());
        FixedThreshold::new(q_min, q_base, gamma)?;
        let limit = port.queue.limit.map_or(0, |limit| match limit {
            QueueLimit::Packets(packets) => units(Threshold::Packets(f64::from(packets))),
            QueueLimit::Bytes(bytes) => units(Threshold::Bytes(bytes as f64)),
        });
        let csfq = match port.queue.scheme {
            QueueScheme::Csfq => CsfqParamsRecord::new(&FixedCsfqParams::new(
                port.csfq.aggregate_constant,
                port.csfq.window,
                rate,
                unit,
            )?),
            _ => CsfqParamsRecord::default(),
        };
        let record = Self {
            ifindex,
            ingress: port.params.arrivals as u32,
            aqm: port.queue.scheme as u32,
            carrier: port.params.carrier as u32,
            unit: queue_unit as u32,
            made_clsact: made_clsact.into(),
            user_is: port.params.user_is as u32,
            address_limit,
            is_layer3: 0,
            marks_ecn: (port.abc.ecn == Some(true)).into(),
            mark_bits: MarkBits::new(config.node.mark_mask),
            qdisc_class: port.qdisc_classes(),
            asks: 0,
            own_qdisc: match port.queue.scheduler {
                _ if !port.has_own_qdisc() => OwnQdisc::None,
                Scheduler::Fifo => OwnQdisc::Fifo,
                Scheduler::Strict => OwnQdisc::Strict,
                Scheduler::Medf => OwnQdisc::Medf,
            } as u32,
            quiet_until_ns: u64::MAX,
            q_min,
            q_base,
            gamma,
            limit,
            decay: DecayRecord::new(Decay::new(port.abc.averager_memory)?),
            packet_weight: match port.abc.average_over {
                Some(AverageOver::Bytes) => 0,
                Some(AverageOver::Packets) | None => PACKET_WEIGHT.into(),
            },
            ns_per_byte_q20: Self::ns_per_byte_q20(rate),
            control_ns_per_byte_q20: match port.params.control_rate {
                BitRate(0) => 0,
                // At least 1, even if the rate is so high that the result rounds to 0.
                rate => Self::ns_per_byte_q20(rate).max(1),
            },
            csfq,
            shaper_ns_per_byte_q20: match port.params.rate {
                Some(rate) if port.has_own_qdisc() => Self::ns_per_byte_q20(rate).max(1),
                _ => 0,
            },
            be_offset_ns: port.be_offset().map_or(MOST_OFFSET_NS, nanos).min(MOST_OFFSET_NS),
        };
        let asks = record.needs_reader() && port.params.far_end == FarEnd::Announced;
        Ok(Self { asks: asks.into(), ..record })
    }

    /// Time per byte.
    pub(super) fn ns_per_byte_q20(rate: BitRate) -> u64 {
        (8e9 * 1_048_576.0 / rate.as_f64()).round() as u64
    }

    /// Slot of the interface with `index`.
    #[must_use]
    pub fn place(index: u32) -> u32 {
        index % Self::PLACES
    }

    /// Returns true if the state of a port with the record `other` is still valid with this record.
    #[must_use]
    pub fn keeps_state_of(&self, other: &Self) -> bool {
        let queue = |record: &Self| (record.unit, record.own_qdisc != 0);
        let of = |record: &Self| (record.decay, record.packet_weight, queue(record), record.aqm, record.csfq.decay);
        of(self) == of(other)
    }
}

/// Converts a threshold to the unit of the queue, rounded to the nearest integer. A time becomes the number of bytes
/// that the link sends in that time. In a virtual queue, bytes become the time that the link needs for them.
fn units_of(threshold: Threshold, is_virtual: bool, rate: BitRate) -> i64 {
    let units = match threshold {
        Threshold::Delay(time) if is_virtual => time.as_secs_f64() * 1e9,
        Threshold::Delay(time) => time.as_secs_f64() * rate.as_f64() / 8.0,
        Threshold::Bytes(bytes) if is_virtual => bytes * 8e9 / rate.as_f64(),
        Threshold::Bytes(bytes) => bytes,
        Threshold::Packets(packets) => packets * PACKET as f64,
    };
    units.round() as i64
}

impl NeighbourState {
    /// Interval between requests that ask a neighbour whether it reads labels.
    pub const ASK_EVERY: Duration = Duration::from_millis(200);
    /// Time for which labels are written after an answer.
    pub const READ_FOR: Duration = Duration::from_secs(2);
}

impl PoolRecord {
    /// Slots per slice of the search. A slot takes 20 to 30 ns, so 256 slots and 64 expiries take less than 100 us.
    pub const SLICE_LOOKED: u32 = 256;
    /// Maximum number of expiries per slice; each takes 200 to 500 ns.
    pub const SLICE_EXPIRED: u32 = 64;
}

impl PortState {
    /// Initial state of a port.
    #[must_use]
    pub fn initial() -> Self {
        Self { csfq: CsfqRecord::initial(), ..Self::default() }
    }
}

fn nanos(time: Time) -> u64 {
    time.0 / 1000
}
