//! The records of a configuration.

use super::fixed::{CsfqParamsRecord, CsfqRecord, DecayRecord};
use super::maps::{Kind, MarkRuleRecord, NodeRecord, PortRecord, PortState, PrefixKey, RuleRecord, Unit, UserKey};
use crate::config::{
    BacklogSource, MarkMatch, MeterOf, NodeConfig, NodeScheme, Port, Prefix, QueueScheme, UserParams, Who,
};
use fairlane_schemes::base::units::{BitRate, QueueLimit, Threshold, Time};
use fairlane_schemes::fixed::csfq::{FixedCsfqParams, RateConstants};
use fairlane_schemes::fixed::{Accounting, Decay, FixedMeterParams, FixedThreshold, OutOfRange, PACKET};

impl NodeRecord {
    /// The record of a configuration.
    ///
    /// # Errors
    /// The integer arithmetic cannot hold a parameter.
    pub fn new(config: &NodeConfig, start_ns: u64, netns: u64) -> Result<Self, OutOfRange> {
        let params = FixedMeterParams::new(config.abc_marker.memory, config.default_user.reference_rate)?;
        let rates = RateConstants::new(config.csfq_marker.rate_constant)?;
        let (decay, log2_memory) = match config.scheme {
            NodeScheme::Abc => (params.decay(), params.log2_memory_q31()),
            NodeScheme::Csfq => (rates.decay(), rates.log2_constant_q31()),
        };
        let users = |is: fn(&Who) -> bool| config.users.iter().filter(|user| is(&user.who)).count() as u32;
        let factors = [config.abc_marker.accounting_be, config.abc_marker.accounting_ef];
        let user_timeout_ns = nanos(config.users_table.timeout);
        Ok(Self {
            start_ns,
            netns,
            user_timeout_ns,
            // A tenth of the timeout, a second at most: expiry is late by no more than that.
            sweep_ns: (user_timeout_ns / 10).min(1_000_000_000),
            decay: DecayRecord::new(decay),
            log2_memory,
            factor_q20: [Accounting::new(factors[0])?.q20(), Accounting::new(factors[1])?.q20()],
            log2_tick: rates.log2_tick_q31(),
            scheme: config.scheme as u32,
            vlans: users(|who| matches!(who, Who::Vlan(_))),
            marks: users(|who| matches!(who, Who::Mark(_))),
            reserved: 0,
        })
    }
}

impl UserKey {
    /// The meter of sources without a user.
    pub const DEFAULT: Self = Self::new([0; 16], 0, Kind::Default);

    /// The meter of an IPv6 address, or of an IPv4 address mapped into it; of what else the user is known by.
    #[must_use]
    pub const fn new(address: [u8; 16], bits: u8, kind: Kind) -> Self {
        Self { address, bits, kind: kind as u8, reserved: [0; 6] }
    }

    /// The meter of a user.
    #[must_use]
    pub fn of(who: &Who) -> Self {
        let words = |first: u32, second: u32, kind| {
            let mut address = [0; 16];
            address[..4].copy_from_slice(&first.to_be_bytes());
            address[4..8].copy_from_slice(&second.to_be_bytes());
            Self::new(address, 0, kind)
        };
        match who {
            Who::Prefix(prefix) => Self::new(prefix.octets(), prefix.bits(), Kind::Address),
            Who::Vlan(vlan) => words(*vlan, 0, Kind::Vlan),
            Who::Mark(mark) => words(mark.value, mark.mask, Kind::Mark),
        }
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
    /// The rule that gives `key` its rate and class.
    ///
    /// # Errors
    /// The integer arithmetic cannot hold a parameter.
    pub fn new(key: UserKey, params: &UserParams, config: &NodeConfig) -> Result<Self, OutOfRange> {
        let offset = match config.scheme {
            NodeScheme::Abc => FixedMeterParams::new(config.abc_marker.memory, params.reference_rate)?.offset_q31(),
            NodeScheme::Csfq => RateConstants::new(config.csfq_marker.rate_constant)?.offset_q31(params.reference_rate),
        };
        let per_address = (params.meter_of == MeterOf::Address).into();
        Ok(Self { key, offset, class_rule: params.traffic_class as u32, per_address })
    }

    /// With the mark that it counts for.
    #[must_use]
    pub fn of_mark(self, mark: &MarkMatch) -> MarkRuleRecord {
        MarkRuleRecord { value: mark.value, mask: mark.mask, rule: self }
    }
}

impl PortRecord {
    /// Places of ports in the maps.
    pub const PLACES: u32 = 1024;

    /// The record of a port; `unit` is the reference rate of weight 1.
    ///
    /// # Errors
    /// The integer arithmetic cannot hold a parameter.
    pub fn new(port: &Port, ifindex: u32, made_clsact: bool, unit: BitRate) -> Result<Self, OutOfRange> {
        let rate = port.params.rate.unwrap_or(BitRate(1));
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
        Ok(Self {
            ifindex,
            ingress: port.params.arrivals as u32,
            aqm: port.queue.scheme as u32,
            carrier: port.params.carrier as u32,
            unit: queue_unit as u32,
            made_clsact: made_clsact.into(),
            qdisc_class: port.qdisc_classes(),
            q_min,
            q_base,
            gamma,
            limit,
            decay: DecayRecord::new(Decay::new(port.abc.averager_memory)?),
            ns_per_byte_q20: (8e9 * 1_048_576.0 / rate.as_f64()).round() as u64,
            csfq,
        })
    }

    /// The place of the interface with `index`.
    #[must_use]
    pub fn place(index: u32) -> u32 {
        index % Self::PLACES
    }

    /// Whether the state of a port with the `other` record means the same here.
    #[must_use]
    pub fn keeps_state_of(&self, other: &Self) -> bool {
        let of = |record: &Self| (record.decay, record.unit, record.aqm, record.csfq.decay);
        of(self) == of(other)
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

impl PortState {
    /// A port that has seen nothing.
    #[must_use]
    pub fn initial() -> Self {
        Self { csfq: CsfqRecord::initial(), ..Self::default() }
    }
}

/// Whole nanoseconds of a time.
fn nanos(time: Time) -> u64 {
    time.0 / 1000
}
