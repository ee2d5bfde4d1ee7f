//! Entries for the tables of `planes/p4/abc.p4` or, with `marker.scheme = "csfq"`, of `planes/p4/csfq.p4`.
//!
//! | configuration | table | action |
//! |---|---|---|
//! | `ports[].arrivals` | `ports` | `untrusted` (meter), `trusted`; none: no entry |
//! | `marker` | `domain` | `set_domain` |
//! | `users[]`, `default_user` | `users`, `default_user` | `set_user`, `set_user_of_address` |
//! | `ports[].queue` | `aqm` | `set_aqm` (packets), `set_virtual_aqm` (time) |
//! | `ports[].carrier` | `links` | `carry_label` |
//! | stations, which the kernel's bridge learns by itself | `stations` | `send` |
//!
//! Ports are numbered in the order of the file, from 0. Meters start at time 0 of the switch. The default user has
//! register 0, other users have the registers from 1 on. A prefix with per-address meters has a block of registers,
//! indexed by the hash of the address.
//!
//! Deviations from the node: 1. Meters have no timeout. 2. There are no thresholds in bytes. 3. Two addresses with the
//! same hash share a meter.

use crate::config::{
    Arrivals, BacklogSource, Carrier, ClassRule, FarEnd, MeterOf, NodeConfig, NodeScheme, Port, QueueScheme, UserIs,
    UserParams, Who,
};
use fairlane_schemes::base::config::ConfigError;
use fairlane_schemes::base::units::{BitRate, QueueLimit, QueueMeasure, Threshold};
use fairlane_schemes::fixed::csfq::{FixedCsfqParams, RateConstants};
use fairlane_schemes::fixed::{Accounting, Decay, FixedMeterParams, OutOfRange, PACKET};
use fairlane_schemes::label::abc::AverageOver;
use serde_json::Value as Json;

/// Number of meters of the switch: `USERS` in `planes/p4/sizes.p4`, which `-DUSERS` changes.
pub const METERS: u32 = 4096;
/// Maximum number of meters, limited by the index of the registers.
pub const MOST_METERS: u32 = 1 << 24;
/// Number of ports of the switch: `PORTS` in `planes/p4/sizes.p4`; the last port means drop.
pub const PORTS: usize = 511;
/// Number of prefixes with per-address meters that fit if each has a block of the maximum size.
const BLOCKS: u32 = 16;
/// Capacity of the switch's own queue as a multiple of the AQM's limit. This queue must not drop before the AQM.
/// Packets that arrive while others depart may make it longer than the program's count.
const DEPTH_OF_LIMIT: u32 = 2;
/// Length of a maximum-size packet, for the rate of a queue served in packets.
const FULL_PACKET_BITS: u64 = 1500 * 8;

/// A number of `bits` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Value.
    pub number: u128,
    /// Width.
    pub bits: u32,
}

/// Parameters of an action, in order.
pub type Params = Vec<(&'static str, Value)>;

/// Match of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Exact value of the field.
    Exact(&'static str, Value),
    /// Prefix: the upper bits of the field, and the number of bits.
    Prefix(&'static str, Value, u8),
}

/// An entry of a table. An entry without a match is the table's default action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the table.
    pub table: &'static str,
    /// Match.
    pub key: Option<Key>,
    /// Name of the action.
    pub action: &'static str,
    /// Parameters of the action, in order.
    pub params: Params,
}

/// A queue of the switch itself, outside of P4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Number of the port.
    pub port: usize,
    /// Capacity in packets.
    pub depth_packets: Option<u32>,
    /// Service rate in packets per second.
    pub rate_packets: Option<u64>,
}

/// A station: Ethernet address and interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Station {
    /// Ethernet address.
    pub mac: [u8; 6],
    /// Name of the interface in the configuration.
    pub interface: String,
}

impl std::str::FromStr for Station {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is not an address and an interface such as \"02:00:00:00:00:01=eth0\"");
        let (mac, interface) = text.split_once('=').ok_or_else(wrong)?;
        let octets = mac.split(':').map(|octet| u8::from_str_radix(octet, 16).ok().filter(|_| octet.len() == 2));
        let octets: Vec<u8> = octets.collect::<Option<_>>().ok_or_else(wrong)?;
        Ok(Self { mac: octets.try_into().map_err(|_| wrong())?, interface: interface.into() })
    }
}

/// Complete configuration of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Program of the tables.
    pub scheme: NodeScheme,
    /// Interfaces, by port.
    pub interfaces: Vec<String>,
    /// Entries of tables.
    pub entries: Vec<Entry>,
    /// Queues.
    pub queues: Vec<Queue>,
}

impl Switch {
    /// Translates `config` for a switch with `meters` meters and stations that do not move.
    ///
    /// # Errors
    /// The switch does not support a key of the configuration.
    pub fn new(config: &NodeConfig, meters: u32, stations: &[Station]) -> Result<Self, ConfigError> {
        if config.ports.len() > PORTS {
            let problem = format!("{} of them, the switch has {PORTS}", config.ports.len());
            return Err(ConfigError::new("ports", problem));
        }
        let mut entries = Vec::new();
        for (number, port) in config.ports.iter().enumerate() {
            let refuse = |key: &str, problem: &str| Err(ConfigError::new(format!("ports[{number}].{key}"), problem));
            if port.params.user_is == UserIs::Destination {
                return refuse("user_is", "\"destination\" is not there on a P4 switch, it meters sources");
            }
            if port.abc.ecn == Some(true) {
                return refuse("queue.ecn", "true is not there on a P4 switch, it drops");
            }
            if port.abc.average_over == Some(AverageOver::Bytes) {
                return refuse("queue.average_over", "\"bytes\" is not there on a P4 switch, it averages over packets");
            }
            entries.extend(role(number, port.params.arrivals));
        }
        entries.push(domain(config)?);
        entries.extend(users(config, meters)?);
        for station in stations {
            entries.push(send(config, station)?);
        }
        for (number, port) in config.ports.iter().enumerate() {
            entries.extend(aqm(number, port, config.default_user.reference_rate)?);
            match port.params.carrier {
                Carrier::None => {}
                Carrier::Tag if port.params.far_end == FarEnd::Announced => {
                    let problem = "\"announced\" is not there on a P4 switch, which cannot ask the far end: \"reads\" \
                                   asserts that it takes labels off";
                    return Err(ConfigError::new(format!("ports[{number}].far_end"), problem));
                }
                Carrier::Tag => entries.push(carry_label(number)),
                other => {
                    let problem = format!("\"{}\" is not there on a P4 switch, it has \"802.1ad\"", other.name());
                    return Err(ConfigError::new(format!("ports[{number}].carrier"), problem));
                }
            }
        }
        let interfaces = config.ports.iter().map(|port| port.interface.clone()).collect();
        Ok(Self { scheme: config.scheme, interfaces, entries, queues: queues(&config.ports) })
    }

    /// Program of these tables.
    #[must_use]
    pub fn program(&self) -> &'static str {
        match self.scheme {
            NodeScheme::Abc => "planes/p4/abc.p4",
            NodeScheme::Csfq => "planes/p4/csfq.p4",
        }
    }
}

/// Keys of a configuration that the switch does not use, in the order of the file.
#[must_use]
pub fn unused_keys(json: &Json) -> Vec<String> {
    let in_table = |path: &str, table: &Json, names: &[&str]| -> Vec<String> {
        names.iter().filter(|name| table.get(name).is_some()).map(|name| format!("{path}.{name}")).collect()
    };
    let mut found = in_table("node", &json["node"], &["pin_path", "hook"]);
    found.extend(in_table("users_table", &json["users_table"], &["limit", "configured", "timeout"]));
    for (i, port) in json["ports"].as_array().into_iter().flatten().enumerate() {
        found.extend(in_table(&format!("ports[{i}]"), port, &["qdisc_class_be", "qdisc_class_ef"]));
    }
    found
}

impl Entry {
    fn of_port(table: &'static str, field: &'static str, port: usize, action: &'static str, params: Params) -> Self {
        Self { table, key: Some(Key::Exact(field, bits(9, port as u64))), action, params }
    }
}

fn bits(bits: u32, number: u64) -> Value {
    Value { number: number.into(), bits }
}

/// Returns the error for a value at `key` that is out of range for the integer arithmetic.
fn out_of_range(key: impl Into<String>) -> impl FnOnce(OutOfRange) -> ConfigError {
    move |error| ConfigError::new(key, format!("is out of range, it must be from {} to {}", error.min, error.max))
}

fn carry_label(port: usize) -> Entry {
    Entry::of_port("links", "standard_metadata.egress_port", port, "carry_label", vec![])
}

fn role(port: usize, arrivals: Arrivals) -> Option<Entry> {
    let action = match arrivals {
        Arrivals::None => return None,
        Arrivals::Meter => "untrusted",
        Arrivals::Trusted => "trusted",
    };
    Some(Entry::of_port("ports", "standard_metadata.ingress_port", port, action, vec![]))
}

fn decay(decay: Decay) -> Params {
    vec![("decay_step", bits(64, decay.step_q56())), ("decay_shift", bits(8, decay.shift().into()))]
}

/// Parameters of the rate estimators with one time constant.
fn rates(rates: RateConstants) -> Params {
    let mut params = decay(rates.decay());
    params.push(("log2_tick", signed(rates.log2_tick_q31())));
    params
}

fn signed(number: i64) -> Value {
    bits(64, number.cast_unsigned())
}

fn rate_constants(config: &NodeConfig) -> Result<RateConstants, ConfigError> {
    RateConstants::new(config.csfq_marker.rate_constant).map_err(out_of_range("marker.rate_constant"))
}

fn domain(config: &NodeConfig) -> Result<Entry, ConfigError> {
    let params = match config.scheme {
        NodeScheme::Abc => meters(config)?,
        NodeScheme::Csfq => rates(rate_constants(config)?),
    };
    Ok(Entry { table: "domain", key: None, action: "set_domain", params })
}

fn meters(config: &NodeConfig) -> Result<Params, ConfigError> {
    let meter = &config.abc_marker;
    let meters = FixedMeterParams::new(meter.memory, config.default_user.reference_rate);
    let meters = meters.map_err(out_of_range("marker.memory"))?;
    let factor = |value, key| Accounting::new(value).map(Accounting::q20).map_err(out_of_range(key));
    let mut params = decay(meters.decay());
    params.extend([
        ("log2_memory", signed(meters.log2_memory_q31())),
        ("factor_be", bits(32, factor(meter.accounting_be, "marker.accounting_be")?.into())),
        ("factor_ef", bits(32, factor(meter.accounting_ef, "marker.accounting_ef")?.into())),
        ("start_us", bits(48, 0)),
    ]);
    Ok(params)
}

/// Allocation of the registers of meters.
struct Registers {
    handed_out: u32,
    all: u32,
}

impl Registers {
    fn take(&mut self, count: u32, key: &str) -> Result<u32, ConfigError> {
        let first = self.handed_out;
        self.handed_out = first.saturating_add(count);
        if self.handed_out <= self.all {
            return Ok(first);
        }
        let problem = format!("no meter is left for it, the switch has {}: see -DUSERS and --users", self.all);
        Err(ConfigError::new(key, problem))
    }

    /// Number of meters of a prefix with per-address meters and `host_bits` bits of addresses.
    fn block(&self, host_bits: u32) -> u32 {
        1u32.checked_shl(host_bits).unwrap_or(u32::MAX).min((self.all / BLOCKS).max(1))
    }
}

fn users(config: &NodeConfig, meters: u32) -> Result<Vec<Entry>, ConfigError> {
    let mut registers = Registers { handed_out: 0, all: meters };
    let (action, params) = user(&config.default_user, config, 128, &mut registers, "default_user")?;
    let mut entries = vec![Entry { table: "default_user", key: None, action, params }];
    for (i, of) in config.users.iter().enumerate() {
        let prefix = match of.who[..] {
            [Who::Prefix(prefix)] => prefix,
            [Who::Prefix(_), other, ..] | [other, ..] => {
                let problem = format!("\"{other}\", a P4 switch knows users by one prefix each");
                return Err(ConfigError::new(format!("users[{i}].{}", other.key()), problem));
            }
            [] => continue,
        };
        let host_bits = u32::from(128 - prefix.bits());
        let (action, params) = user(&of.params, config, host_bits, &mut registers, &format!("users[{i}]"))?;
        let address = Value { number: u128::from_be_bytes(prefix.octets()), bits: 128 };
        let key = Some(Key::Prefix("meta.source", address, prefix.bits()));
        entries.push(Entry { table: "users", key, action, params });
    }
    Ok(entries)
}

/// Action and parameters of a user whose prefix has `host_bits` bits of addresses.
fn user(
    params: &UserParams,
    config: &NodeConfig,
    host_bits: u32,
    registers: &mut Registers,
    key: &str,
) -> Result<(&'static str, Params), ConfigError> {
    let rate = params.reference_rate;
    let offset = match config.scheme {
        NodeScheme::Abc => FixedMeterParams::new(config.abc_marker.memory, rate)
            .map_err(out_of_range(format!("{key}.reference_rate")))?
            .offset_q31(),
        NodeScheme::Csfq => rate_constants(config)?.offset_q31(rate),
    };
    let class = match params.traffic_class {
        ClassRule::BestEffort => 0,
        ClassRule::Expedited => 1,
        ClassRule::Dscp => 2,
    };
    let mut values = vec![("offset", signed(offset)), ("class_rule", bits(2, class))];
    match params.meter_of {
        MeterOf::Prefix => {
            values.push(("index", bits(32, registers.take(1, key)?.into())));
            Ok(("set_user", values))
        }
        MeterOf::Address => {
            let size = registers.block(host_bits);
            values.push(("base", bits(32, registers.take(size, key)?.into())));
            values.push(("size", bits(32, size.into())));
            Ok(("set_user_of_address", values))
        }
    }
}

fn send(config: &NodeConfig, station: &Station) -> Result<Entry, ConfigError> {
    let port = config.ports.iter().position(|port| port.interface == station.interface).ok_or_else(|| {
        ConfigError::new("--station", format!("\"{}\" is the interface of no [[ports]] table", station.interface))
    })?;
    let mac = station.mac.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
    Ok(Entry {
        table: "stations",
        key: Some(Key::Exact("hdr.ethernet.destination", bits(48, mac))),
        action: "send",
        params: vec![("port", bits(9, port as u64))],
    })
}

/// Entry of the AQM of a port, if it has one; `unit` is the reference rate of weight 1.
fn aqm(number: usize, port: &Port, unit: BitRate) -> Result<Option<Entry>, ConfigError> {
    let mut params = match port.queue.scheme {
        QueueScheme::DropTail => return Ok(None),
        QueueScheme::Abc => abc(number, port)?,
        QueueScheme::Csfq => csfq(number, port, unit)?,
    };
    let is_virtual = is_virtual(number, port)?;
    let least = |name| if name == "q_min" { u64::from(port.has_q_min()) } else { 0 };
    let thresholds = port.thresholds();
    params.extend(thresholds.iter().map(|&(name, threshold)| (name, bits(64, units(threshold).max(least(name))))));
    let rate = port.params.rate.map_or(0, |rate| rate.0);
    let limit = match port.queue.limit {
        None => u64::MAX,
        Some(QueueLimit::Packets(packets)) => u64::from(packets) * PACKET.unsigned_abs(),
        Some(QueueLimit::Bytes(bytes)) => (bytes as f64 * 8e9 / rate as f64).round() as u64,
    };
    params.push(("limit", bits(64, limit)));
    if is_virtual {
        params.push(("ns_per_byte", bits(64, (8e9 / rate as f64 * f64::from(1 << 20)).round() as u64)));
    }
    params.push(("ef_priority", bits(3, 0)));
    let action = if is_virtual { "set_virtual_aqm" } else { "set_aqm" };
    Ok(Some(Entry::of_port("aqm", "standard_metadata.egress_spec", number, action, params)))
}

/// Returns true if the AQM uses the virtual queue at ingress, in nanoseconds; false if it uses the port's queue, in
/// packets.
fn is_virtual(number: usize, port: &Port) -> Result<bool, ConfigError> {
    let thresholds = port.thresholds();
    let q_min = thresholds[0].1;
    let key = |name: &str| format!("ports[{number}].queue.{name}");
    match (q_min.measure(), port.queue.backlog) {
        (_, BacklogSource::Bpf) => Err(ConfigError::new(
            key("backlog"),
            "\"bpf\" is a qdisc of Linux, a P4 switch has \"qdisc\" or \"virtual\"",
        )),
        (QueueMeasure::Packets, _) => Ok(false),
        (QueueMeasure::Delay, BacklogSource::Virtual) => Ok(true),
        (QueueMeasure::Delay, BacklogSource::Qdisc) => {
            let all = if thresholds.len() == 2 { "q_min and q_threshold" } else { "q_min, q_base and gamma" };
            let problem = format!("\"qdisc\" is a queue in packets here: give {all} in packets, or \"virtual\"");
            Err(ConfigError::new(key("backlog"), problem))
        }
        (QueueMeasure::Bytes, _) => {
            let problem = format!("\"{q_min}\" is in bytes, a P4 switch has packets, or time for a virtual queue");
            Err(ConfigError::new(key("q_min"), problem))
        }
    }
}

fn abc(number: usize, port: &Port) -> Result<Params, ConfigError> {
    let key = format!("ports[{number}].queue.averager_memory");
    Ok(decay(Decay::new(port.abc.averager_memory).map_err(out_of_range(key))?))
}

fn csfq(number: usize, port: &Port, unit: BitRate) -> Result<Params, ConfigError> {
    let of = &port.csfq;
    let rate = port.params.rate.unwrap_or(BitRate(1));
    let csfq = FixedCsfqParams::new(of.aggregate_constant, of.window, rate, unit)
        .map_err(out_of_range(format!("ports[{number}].queue.aggregate_constant")))?;
    let mut params = rates(csfq.rates());
    params.extend([
        ("window_ns", bits(64, csfq.window_ns())),
        ("log2_capacity", signed(csfq.log2_capacity_q31())),
        ("log2_full", signed(csfq.log2_full_q31())),
    ]);
    Ok(params)
}

/// Converts a threshold to an integer number of 1/16 packets or of nanoseconds.
fn units(threshold: Threshold) -> u64 {
    match threshold {
        Threshold::Packets(packets) => (packets * PACKET as f64).round() as u64,
        Threshold::Bytes(bytes) => bytes as u64,
        Threshold::Delay(time) => time.0 / 1000,
    }
}

/// Returns the switch's own queues. Without an AQM their capacity is `limit`. Their rate is in packets per second: the
/// number of maximum-size packets that the link can send.
fn queues(ports: &[Port]) -> Vec<Queue> {
    let of = |(port, Port { params, queue, .. }): (usize, &Port)| {
        let of_limit = if queue.scheme == QueueScheme::DropTail { 1 } else { DEPTH_OF_LIMIT };
        let depth_packets = match queue.limit {
            Some(QueueLimit::Packets(packets)) => Some(packets * of_limit),
            _ => None,
        };
        // With another source of the backlog the queue is virtual, and the switch does not limit its rate.
        let is_served = queue.backlog == BacklogSource::Qdisc;
        let rate_packets = params.rate.filter(|_| is_served).map(|rate| (rate.0 / FULL_PACKET_BITS).max(1));
        Queue { port, depth_packets, rate_packets }
    };
    let is_told = |queue: &Queue| queue.depth_packets.is_some() || queue.rate_packets.is_some();
    ports.iter().enumerate().map(of).filter(is_told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(json: &Json) -> NodeConfig {
        NodeConfig::read(json).unwrap()
    }

    fn message(json: &Json) -> String {
        Switch::new(&read(json), METERS, &[]).unwrap_err().to_string()
    }

    #[test]
    fn sizes_are_those_of_the_program() {
        let sizes = include_str!("../../../../planes/p4/sizes.p4");
        assert!(sizes.contains(&format!("#define USERS {METERS}\n")));
        assert!(sizes.contains(&format!("#define PORTS {}\n", PORTS + 1)));
    }

    #[test]
    fn what_a_switch_cannot_do_is_refused_with_key_and_value() {
        let port = |more: Json| {
            let mut queue = json!({"scheme": "abc"});
            queue.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"ports": [{"interface": "eth0", "rate": "50 Mbit/s", "queue": queue}]})
        };
        let bytes = json!({"q_min": "18 kB", "q_base": "30 kB", "gamma": "24 kB"});
        assert_eq!(
            message(&port(bytes)),
            "ports[0].queue.q_min: \"18000 B\" is in bytes, a P4 switch has packets, or time for a virtual queue"
        );
        let times = json!({"q_min": "3 ms", "q_base": "5 ms", "gamma": "4 ms"});
        assert_eq!(
            message(&port(times)),
            "ports[0].queue.backlog: \"qdisc\" is a queue in packets here: give q_min, q_base and gamma in packets, \
             or \"virtual\""
        );
        let users: Vec<Json> =
            (0..16).map(|i| json!({"prefix": format!("10.{i}.0.0/16"), "meter_of": "address"})).collect();
        let crowd = json!({"ports": [{"interface": "eth0"}], "users": users});
        assert_eq!(message(&crowd), "users[15]: no meter is left for it, the switch has 4096: see -DUSERS and --users");
        let by_vlan = json!({"ports": [{"interface": "eth0"}], "users": [{"vlan": 7}]});
        assert_eq!(message(&by_vlan), "users[0].vlan: \"vlan 7\", a P4 switch knows users by one prefix each");
        let download = json!({"ports": [{"interface": "eth0", "user_is": "destination"}]});
        let problem = "ports[0].user_is: \"destination\" is not there on a P4 switch, it meters sources";
        assert_eq!(message(&download), problem);
        let option = json!({"ports": [{"interface": "eth0", "carrier": "ipv6_option"}]});
        let problem = "ports[0].carrier: \"ipv6_option\" is not there on a P4 switch, it has \"802.1ad\"";
        assert_eq!(message(&option), problem);
        let csfq = json!({"marker": {"scheme": "csfq"}, "ports": [{
            "interface": "eth0", "rate": "50 Mbit/s",
            "queue": {"scheme": "csfq", "q_min": "0 ms", "q_threshold": "3 ms"},
        }]});
        assert_eq!(
            message(&csfq),
            "ports[0].queue.backlog: \"qdisc\" is a queue in packets here: give q_min and q_threshold in packets, or \
             \"virtual\""
        );
        let ports: Vec<Json> = (0..512).map(|i| json!({"interface": format!("p{i}")})).collect();
        assert_eq!(message(&json!({"ports": ports})), "ports: 512 of them, the switch has 511");
        let station = "02:00:00:00:00:01=eth1".parse().unwrap();
        assert_eq!(
            Switch::new(&read(&port(json!({}))), METERS, &[station]).unwrap_err().to_string(),
            "--station: \"eth1\" is the interface of no [[ports]] table"
        );
    }

    #[test]
    fn stations_are_an_address_and_an_interface() {
        let station: Station = "02:fa:00:00:00:0a=eth1".parse().unwrap();
        assert_eq!(station, Station { mac: [2, 0xfa, 0, 0, 0, 10], interface: "eth1".into() });
        for text in ["", "eth1", "02:fa:00:00:00=eth1", "02:fa:00:00:00:g0=eth1", "2:fa:00:00:00:00=eth1"] {
            assert!(text.parse::<Station>().unwrap_err().starts_with(&format!("\"{text}\" is not")), "{text}");
        }
    }

    /// Action and parameters of the AQM of the single port.
    fn aqm_of(port: Json, scheme: &str) -> (&'static str, Params) {
        let config = read(&json!({"marker": {"scheme": scheme}, "ports": [port]}));
        let switch = Switch::new(&config, METERS, &[]).unwrap();
        let entry = switch.entries.into_iter().find(|entry| entry.table == "aqm").unwrap();
        if entry.action == "set_virtual_aqm" {
            // A virtual queue is not a queue of the switch.
            assert_eq!(switch.queues, []);
        }
        (entry.action, entry.params)
    }

    #[test]
    fn a_switch_with_more_meters_has_larger_blocks_for_addresses() {
        let user = json!({"prefix": "10.0.0.0/8", "meter_of": "address"});
        let config = read(&json!({"ports": [{"interface": "eth0"}], "users": [user]}));
        // The block of the prefix has a sixteenth of the meters and begins after the meter of the default user.
        for (meters, size) in [(METERS, 256), (65_536, 4096), (17, 1)] {
            let switch = Switch::new(&config, meters, &[]).unwrap();
            let users = switch.entries.iter().find(|entry| entry.table == "users").unwrap();
            assert_eq!(users.params[2..], [("base", bits(32, 1)), ("size", bits(32, size))], "{meters}");
        }
        let problem = "users[0]: no meter is left for it, the switch has 1: see -DUSERS and --users";
        assert_eq!(Switch::new(&config, 1, &[]).unwrap_err().to_string(), problem);
    }

    #[test]
    fn an_empty_queue_accepts_however_small_q_min_is() {
        // A hundredth of a packet is less than the unit of queues, 1/16 packet.
        let (_, params) =
            aqm_of(json!({"interface": "eth0", "queue": {"scheme": "abc", "q_min": "0.01 packets"}}), "abc");
        assert_eq!(params[2], ("q_min", bits(64, 1)));
        let (_, params) = aqm_of(json!({"interface": "eth0", "rate": "1 Mbit/s", "queue": {"scheme": "csfq"}}), "csfq");
        assert_eq!(params[6], ("q_min", bits(64, 0)));
    }

    #[test]
    fn the_queue_of_the_switch_holds_more_than_the_aqm_lets_in() {
        let config = json!({"ports": [
            {"interface": "a", "queue": {"scheme": "abc", "limit": "24 packets"}},
            {"interface": "b", "queue": {"scheme": "droptail", "limit": "24 packets"}},
        ]});
        let queues = Switch::new(&read(&config), METERS, &[]).unwrap().queues;
        // Without an AQM the switch's queue has the limit.
        assert_eq!(queues.iter().map(|queue| queue.depth_packets).collect::<Vec<_>>(), [Some(48), Some(24)]);
    }

    #[test]
    fn a_virtual_queue_is_in_nanoseconds() {
        // At 50 Mbit/s a byte takes 160 ns, and 160 * 2^20 = 167772160. The limit of 36 kB takes 5.76 ms.
        let (action, params) = aqm_of(
            json!({
                "interface": "eth0", "rate": "50 Mbit/s",
                "queue": {
                    "scheme": "abc", "backlog": "virtual", "limit": "36 kB",
                    "q_min": "2.88 ms", "q_base": "4.8 ms", "gamma": "3.84 ms",
                },
            }),
            "abc",
        );
        assert_eq!(action, "set_virtual_aqm");
        let of = |number: u64| bits(64, number);
        let queue = [("limit", of(5_760_000)), ("ns_per_byte", of(167_772_160)), ("ef_priority", bits(3, 0))];
        let thresholds = [("q_min", of(2_880_000)), ("q_base", of(4_800_000)), ("gamma", of(3_840_000))];
        assert_eq!(params[2..], [&thresholds[..], &queue].concat());
        let (action, params) = aqm_of(
            json!({
                "interface": "eth0", "rate": "50 Mbit/s",
                "queue": {
                    "scheme": "csfq", "backlog": "virtual", "limit": "36 kB", "q_min": "0 ms", "q_threshold": "2.88 ms",
                },
            }),
            "csfq",
        );
        assert_eq!(action, "set_virtual_aqm");
        let thresholds = [("q_min", of(0)), ("q_threshold", of(2_880_000))];
        assert_eq!(params[6..], [&thresholds[..], &queue].concat());
    }
}
