//! The records of the maps as `bpf/node.h` lays them out, in the byte order of the machine.

use crate::config::{
    Backlog, Carrier, ClassRule, Egress, Ingress, MarkMatch, MeterOf, NodeConfig, NodeScheme, Port, Prefix, UserParams,
    Who,
};
use fairlane_schemes::base::units::{BitRate, QueueLimit, Threshold, Time};
use fairlane_schemes::fixed::csfq::{FixedCsfq, FixedCsfqParams, RateConstants};
use fairlane_schemes::fixed::{
    Accounting, Activity, Decay, FixedMeterParams, FixedThreshold, LOG2_OF_ZERO_Q31, OutOfRange, PACKET,
};

/// Fields one after another.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
    fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_ne_bytes())
    }
    fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_ne_bytes())
    }
    fn i64(self, value: i64) -> Self {
        self.bytes(&value.to_ne_bytes())
    }
}

/// Fields by their place; what is too short reads as zeros (lengths are those of the map).
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }
    fn activity(&self, at: usize) -> Activity {
        Activity::from_units(i32::from_ne_bytes(self.field(at)))
    }
    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.field(at))
    }
    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.field(at))
    }
    fn i64(&self, at: usize) -> i64 {
        i64::from_ne_bytes(self.field(at))
    }
}

/// `struct node_config`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// t0 of all meters, on the monotonic clock.
    pub start_ns: u64,
    /// Inode of the network namespace of the ports.
    pub netns: u64,
    /// Silence after which a meter makes room.
    pub user_timeout_ns: u64,
    /// log2 of M_AM, or of K of CSFQ, in ns, Q31: tells memories apart.
    pub log2_memory: i64,
    /// Whether labels are those of CSFQ.
    pub is_csfq: bool,
    step: u64,
    shift: u32,
    factors: [u32; 2],
    log2_tick: i64,
    vlans: u32,
    marks: u32,
}

impl NodeRecord {
    /// The record of a configuration.
    ///
    /// # Errors
    /// The integer arithmetic cannot hold a parameter.
    pub fn new(config: &NodeConfig, start_ns: u64, netns: u64) -> Result<Self, OutOfRange> {
        let params = FixedMeterParams::new(config.meter.memory, config.default_user.reference_rate)?;
        let rates = RateConstants::new(config.csfq_meter.rate_constant)?;
        let is_csfq = config.node.scheme == NodeScheme::Csfq;
        let decay = if is_csfq { rates.decay() } else { params.decay() };
        let users = |is: fn(&Who) -> bool| config.users.iter().filter(|user| is(&user.who)).count() as u32;
        let factors = [config.meter.accounting_be, config.meter.accounting_ef];
        Ok(Self {
            start_ns,
            netns,
            user_timeout_ns: nanos(config.users_table.timeout),
            log2_memory: if is_csfq { rates.log2_constant_q31() } else { params.log2_memory_q31() },
            is_csfq,
            log2_tick: rates.log2_tick_q31(),
            vlans: users(|who| matches!(who, Who::Vlan(_))),
            marks: users(|who| matches!(who, Who::Mark(_))),
            step: decay.step_q56(),
            shift: decay.shift(),
            factors: [Accounting::new(factors[0])?.q20(), Accounting::new(factors[1])?.q20()],
        })
    }

    /// As in the map.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // A tenth of the timeout between two searches, a second at most: expiry is late by no more than that.
        let sweep_ns = (self.user_timeout_ns / 10).min(1_000_000_000);
        let head = Writer::default().u64(self.start_ns).u64(self.netns).u64(self.user_timeout_ns).u64(sweep_ns);
        let head = head.u64(self.step).u32(self.shift).u32(0).i64(self.log2_memory);
        let head = head.u32(self.factors[0]).u32(self.factors[1]).i64(self.log2_tick);
        head.u32(u32::from(self.is_csfq)).u32(self.vlans).u32(self.marks).u32(0).0
    }

    /// From the map.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let at = Reader(bytes);
        Self {
            start_ns: at.u64(0),
            netns: at.u64(8),
            user_timeout_ns: at.u64(16),
            step: at.u64(32),
            shift: at.u32(40),
            log2_memory: at.i64(48),
            factors: [at.u32(56), at.u32(60)],
            log2_tick: at.i64(64),
            is_csfq: at.u32(72) != 0,
            vlans: at.u32(76),
            marks: at.u32(80),
        }
    }
}

/// `struct user_key`: the identity of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserKey {
    /// IPv6 address, or IPv4 mapped into it.
    pub address: [u8; 16],
    /// Length of the prefix.
    pub bits: u8,
    /// What the user is known by.
    pub kind: Kind,
}

/// What a user is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

impl UserKey {
    /// The meter of sources without a user.
    pub const DEFAULT: Self = Self { address: [0; 16], bits: 0, kind: Kind::Default };

    /// The meter of a user.
    #[must_use]
    pub fn of(who: &Who) -> Self {
        let words = |first: u32, second: u32| {
            let mut address = [0; 16];
            address[..4].copy_from_slice(&first.to_be_bytes());
            address[4..8].copy_from_slice(&second.to_be_bytes());
            address
        };
        match who {
            Who::Prefix(prefix) => Self { address: prefix.octets(), bits: prefix.bits(), kind: Kind::Address },
            Who::Vlan(vlan) => Self { address: words(*vlan, 0), bits: 0, kind: Kind::Vlan },
            Who::Mark(mark) => Self { address: words(mark.value, mark.mask), bits: 0, kind: Kind::Mark },
        }
    }

    /// The two numbers of a VLAN or mark.
    #[must_use]
    pub fn words(&self) -> [u32; 2] {
        let [a, b, c, d, e, f, g, h, ..] = self.address;
        [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])]
    }

    /// As in the map.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        Writer::default().bytes(&self.address).bytes(&[self.bits, self.kind as u8]).bytes(&[0; 6]).0
    }

    /// From the map.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let at = Reader(bytes);
        let [bits, kind] = at.field(16);
        let kind = match kind {
            0 => Kind::Address,
            2 => Kind::Vlan,
            3 => Kind::Mark,
            _ => Kind::Default,
        };
        Self { address: at.field(0), bits, kind }
    }
}

/// `struct prefix_key` of a prefix.
#[must_use]
pub(super) fn prefix_key(prefix: &Prefix) -> Vec<u8> {
    Writer::default().u32(u32::from(prefix.bits())).bytes(&prefix.octets()).0
}

/// `struct rule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleRecord {
    key: UserKey,
    offset: i64,
    class: u32,
    per_address: bool,
}

impl RuleRecord {
    /// The rule that gives `key` its rate and class.
    ///
    /// # Errors
    /// The integer arithmetic cannot hold a parameter.
    pub fn new(key: UserKey, params: &UserParams, config: &NodeConfig) -> Result<Self, OutOfRange> {
        let class = match params.class {
            ClassRule::BestEffort => 0,
            ClassRule::Expedited => 1,
            ClassRule::Dscp => 2,
        };
        let offset = match config.node.scheme {
            NodeScheme::Abc => FixedMeterParams::new(config.meter.memory, params.reference_rate)?.offset_q31(),
            NodeScheme::Csfq => RateConstants::new(config.csfq_meter.rate_constant)?.offset_q31(params.reference_rate),
        };
        Ok(Self { key, offset, class, per_address: params.meter_of == MeterOf::Address })
    }

    /// As in the map.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        Writer::default()
            .bytes(&self.key.to_bytes())
            .i64(self.offset)
            .u32(self.class)
            .u32(u32::from(self.per_address))
            .0
    }

    /// `struct mark_rule` with this rule.
    #[must_use]
    pub fn to_mark_bytes(&self, mark: &MarkMatch) -> Vec<u8> {
        Writer::default().u32(mark.value).u32(mark.mask).bytes(&self.to_bytes()).0
    }
}

/// `struct user`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserState {
    /// Label of the last packet.
    pub activity: Activity,
    /// When it came, on the monotonic clock.
    pub last_ns: u64,
    /// Packets metered.
    pub packets: u64,
    /// Bytes metered, from the IP header on.
    pub bytes: u64,
    /// Packets that an AQM of this node dropped.
    pub drops: u64,
}

impl UserState {
    /// Bytes of the record.
    pub const SIZE: usize = 64;

    /// From the map.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let at = Reader(bytes);
        Self {
            activity: at.activity(4),
            last_ns: at.u64(32),
            packets: at.u64(40),
            bytes: at.u64(48),
            drops: at.u64(56),
        }
    }
}

/// `struct port_config`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRecord {
    /// Index of the interface; 0 in a place without a port.
    pub index: u32,
    /// Whether the tool made the clsact qdisc.
    pub made_clsact: bool,
    /// What happens to packets that come in: 0 nothing, 1 metered, 2 trusted.
    pub ingress: u32,
    /// What decides on packets that go out: 0 nothing, 1 the activity AQM, 2 CSFQ.
    pub aqm: u32,
    /// What carries labels on the link: 0 nothing, 1 an 802.1ad tag, 2 an IPv6 option, 3 a shim.
    pub carrier: u32,
    unit: u32,
    classes: [u32; 2],
    thresholds: [i64; 4],
    step: u64,
    shift: u32,
    ns_per_byte_q20: u64,
    csfq: CsfqRecord,
}

/// `struct fair_csfq_params`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CsfqRecord {
    step: u64,
    shift: u32,
    log2_tick: i64,
    window_ns: u64,
    log2_capacity: i64,
    log2_full: i64,
}

impl CsfqRecord {
    fn new(port: &Port, rate: BitRate, unit: BitRate) -> Result<Self, OutOfRange> {
        let params = FixedCsfqParams::new(port.csfq.aggregate_constant, port.csfq.window, rate, unit)?;
        let rates = params.rates();
        Ok(Self {
            step: rates.decay().step_q56(),
            shift: rates.decay().shift(),
            log2_tick: rates.log2_tick_q31(),
            window_ns: params.window_ns(),
            log2_capacity: params.log2_capacity_q31(),
            log2_full: params.log2_full_q31(),
        })
    }
}

// Units of a queue in `struct port_config`.
const UNIT_PACKETS: u32 = 0;
const UNIT_BYTES: u32 = 1;
const UNIT_VIRTUAL: u32 = 2;

const INGRESS_TRUSTED: u32 = 2;
const AQM_CSFQ: u32 = 2;
const CARRIER_SHIM: u32 = 3;

impl PortRecord {
    /// The record of a port; `unit` is the reference rate of weight 1.
    ///
    /// # Errors
    /// The integer arithmetic cannot hold a parameter.
    pub fn new(port: &Port, index: u32, made_clsact: bool, unit: BitRate) -> Result<Self, OutOfRange> {
        let rate = port.params.rate.unwrap_or(BitRate(1));
        let is_virtual = port.params.backlog == Backlog::Virtual;
        let named = port.thresholds();
        let queue_unit = match named[0].1 {
            _ if is_virtual => UNIT_VIRTUAL,
            Threshold::Packets(_) => UNIT_PACKETS,
            Threshold::Bytes(_) | Threshold::Delay(_) => UNIT_BYTES,
        };
        let units = |threshold| units_of(threshold, is_virtual, rate);
        let [q_min, q_base, gamma] = [0, 1, 2].map(|i| named.get(i).map_or(0, |(_, threshold)| units(*threshold)));
        let q_min = q_min.max(i64::from(port.has_q_min()));
        FixedThreshold::new(q_min, q_base, gamma)?;
        let limit = port.params.limit.map_or(0, |limit| match limit {
            QueueLimit::Packets(packets) => units(Threshold::Packets(f64::from(packets))),
            QueueLimit::Bytes(bytes) => units(Threshold::Bytes(bytes as f64)),
        });
        let decay = Decay::new(port.abc.averager_memory)?;
        Ok(Self {
            index,
            made_clsact,
            ingress: match port.params.ingress {
                Ingress::None => 0,
                Ingress::Meter => 1,
                Ingress::Trusted => INGRESS_TRUSTED,
            },
            aqm: match port.params.egress {
                Egress::None => 0,
                Egress::Abc => 1,
                Egress::Csfq => AQM_CSFQ,
            },
            csfq: match port.params.egress {
                Egress::Csfq => CsfqRecord::new(port, rate, unit)?,
                _ => CsfqRecord::default(),
            },
            carrier: match port.params.carrier {
                Carrier::None => 0,
                Carrier::Tag => 1,
                Carrier::Ipv6Option => 2,
                Carrier::Shim => CARRIER_SHIM,
            },
            unit: queue_unit,
            classes: port.qdisc_classes(),
            thresholds: [q_min, q_base, gamma, limit],
            step: decay.step_q56(),
            shift: decay.shift(),
            ns_per_byte_q20: (8e9 * 1_048_576.0 / rate.as_f64()).round() as u64,
        })
    }

    /// Places of ports in the maps.
    pub const PLACES: u32 = 1024;
    /// Bytes of the record.
    pub const SIZE: usize = 136;

    /// The key of the place of the interface with `index`.
    #[must_use]
    pub fn place(index: u32) -> [u8; 4] {
        (index % Self::PLACES).to_ne_bytes()
    }

    /// Whether shims are taken off before the packets come in.
    #[must_use]
    pub fn has_unwrap(&self) -> bool {
        self.ingress == INGRESS_TRUSTED && self.carrier == CARRIER_SHIM
    }

    /// Whether anything happens to packets that go out.
    #[must_use]
    pub fn has_egress(&self) -> bool {
        self.aqm != 0 || self.carrier != 0
    }

    /// Whether the state of a port with the `other` record means the same here.
    #[must_use]
    pub fn keeps_state_of(&self, other: &Self) -> bool {
        let of =
            |record: &Self| (record.step, record.shift, record.unit, record.aqm, record.csfq.step, record.csfq.shift);
        of(self) == of(other)
    }

    /// What carries labels on the link, as in the configuration.
    #[must_use]
    pub fn carrier(&self) -> &'static str {
        match self.carrier {
            1 => Carrier::Tag.name(),
            2 => Carrier::Ipv6Option.name(),
            CARRIER_SHIM => Carrier::Shim.name(),
            _ => Carrier::None.name(),
        }
    }

    /// The scheme of the port.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        match self.aqm {
            0 => "none",
            AQM_CSFQ => "csfq",
            _ => "abc",
        }
    }

    /// A queue of `units` of the record, for people.
    #[must_use]
    pub fn queue_in_words(&self, units: i64) -> String {
        let queue = self.queue_in_units(units);
        match self.unit {
            UNIT_PACKETS => format!("{queue:.1} packets"),
            UNIT_BYTES => format!("{queue} B"),
            _ => format!("{:.3} ms", queue * 1e3),
        }
    }

    /// A queue of `units` of the record: packets, bytes, or seconds of a virtual queue.
    #[must_use]
    pub fn queue_in_units(&self, units: i64) -> f64 {
        match self.unit {
            UNIT_PACKETS => units as f64 / PACKET as f64,
            UNIT_BYTES => units as f64,
            _ => units as f64 * 1e-9,
        }
    }

    /// As in the map.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Writer::default().u32(self.index).u32(self.ingress).u32(self.aqm).u32(self.carrier);
        let head = head.u32(self.unit).u32(u32::from(self.made_clsact)).u32(self.classes[0]).u32(self.classes[1]);
        let head = self.thresholds.iter().fold(head, |writer, threshold| writer.i64(*threshold));
        let head = head.u64(self.step).u32(self.shift).u32(0).u64(self.ns_per_byte_q20);
        let CsfqRecord { step, shift, log2_tick, window_ns, log2_capacity, log2_full } = self.csfq;
        head.u64(step).u32(shift).u32(0).i64(log2_tick).u64(window_ns).i64(log2_capacity).i64(log2_full).0
    }

    /// From the map.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let at = Reader(bytes);
        Self {
            index: at.u32(0),
            ingress: at.u32(4),
            aqm: at.u32(8),
            carrier: at.u32(12),
            unit: at.u32(16),
            made_clsact: at.u32(20) != 0,
            classes: [at.u32(24), at.u32(28)],
            thresholds: [at.i64(32), at.i64(40), at.i64(48), at.i64(56)],
            step: at.u64(64),
            shift: at.u32(72),
            ns_per_byte_q20: at.u64(80),
            csfq: CsfqRecord {
                step: at.u64(88),
                shift: at.u32(96),
                log2_tick: at.i64(104),
                window_ns: at.u64(112),
                log2_capacity: at.i64(120),
                log2_full: at.i64(128),
            },
        }
    }
}

/// A threshold in the unit of the queue, rounded to the nearest; a time is what the link sends in it.
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

/// `struct port_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// A_avg before the last packet; of CSFQ the logarithm of the fair rate, the lowest label without an estimate.
    pub average: Activity,
    /// Queue that the last packet found, in the unit of the port.
    pub queue: i64,
    /// T_drop of the last packet.
    pub threshold: i64,
    /// Packets accepted.
    pub accepted: u64,
    /// Their bytes, Ethernet header included.
    pub accepted_bytes: u64,
    /// Packets dropped by the AQM.
    pub dropped: u64,
    /// Packets dropped at the limit.
    pub overlimit: u64,
    /// Accepted packets without a label.
    pub unlabelled: u64,
}

impl PortState {
    /// Bytes of the record.
    pub const SIZE: usize = 168;

    /// A port that has seen nothing.
    #[must_use]
    pub fn initial() -> Vec<u8> {
        let abc = Writer::default().bytes(&[0; 96]);
        // struct fair_csfq: no fair rate, no label; window, sums and tick; congested, with all cuts.
        let csfq = abc.i64(LOG2_OF_ZERO_Q31).i64(LOG2_OF_ZERO_Q31).bytes(&[0; 48]);
        csfq.u32(1).u32(FixedCsfq::CUTS).0
    }

    /// The fair rate of CSFQ in reference rates, if there is an estimate.
    #[must_use]
    pub fn fair_rate(&self) -> Option<f64> {
        (self.average != Activity::MIN).then(|| self.average.to_f64().exp2())
    }

    /// From the map.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let at = Reader(bytes);
        Self {
            average: at.activity(4),
            queue: at.i64(40),
            threshold: at.i64(48),
            accepted: at.u64(56),
            accepted_bytes: at.u64(64),
            dropped: at.u64(72),
            overlimit: at.u64(80),
            unlabelled: at.u64(88),
        }
    }
}

/// `struct ingress_stats`, summed over the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngressStats {
    /// Packets metered.
    pub metered: u64,
    /// Packets whose label came over a trusted link.
    pub trusted: u64,
    /// Packets from untrusted ports that had a label.
    pub stripped: u64,
    /// Packets dropped because no label could be taken from them or put onto them.
    pub refused: u64,
    /// Packets without an IP address, counted for the default user.
    pub not_ip: u64,
    /// Packets of users that found the table full.
    pub no_room: u64,
    /// Users forgotten.
    pub expired: u64,
    /// Packets dropped because a label made them too large for their link.
    pub too_large: u64,
}

impl IngressStats {
    /// Each counter with its name and what it counts.
    #[must_use]
    pub fn named(&self) -> [(&'static str, &'static str, u64); 8] {
        [
            ("metered", "Packets metered.", self.metered),
            ("trusted", "Packets whose label came over a trusted link.", self.trusted),
            ("stripped", "Packets from untrusted ports that had a label.", self.stripped),
            ("refused", "Packets dropped because no label could be taken from them or put onto them.", self.refused),
            ("not_ip", "Packets without an IP address, counted for the default user.", self.not_ip),
            ("no_room", "Packets of users that found the table full.", self.no_room),
            ("expired", "Users forgotten.", self.expired),
            ("too_large", "Packets dropped because a label made them too large for their link.", self.too_large),
        ]
    }

    /// The sum of the records of all processors.
    #[must_use]
    pub fn sum(records: &[Vec<u8>]) -> Self {
        let field = |at: usize| records.iter().map(|bytes| Reader(bytes).u64(at)).sum();
        Self {
            metered: field(0),
            trusted: field(8),
            stripped: field(16),
            refused: field(24),
            not_ip: field(32),
            no_room: field(40),
            expired: field(48),
            too_large: field(56),
        }
    }
}

/// `struct replay_input`: the clock, the queue and the random number of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayInput {
    /// The time.
    pub now_ns: u64,
    /// Packets in the qdisc.
    pub packets: u32,
    /// Bytes in the qdisc.
    pub bytes: u32,
    /// Random bits.
    pub random: u32,
}

impl ReplayInput {
    /// As in the map.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        Writer::default().u64(self.now_ns).u32(self.packets).u32(self.bytes).u32(self.random).u32(0).0
    }
}

/// Whole nanoseconds of a time.
pub(super) fn nanos(time: Time) -> u64 {
    time.0 / 1000
}
