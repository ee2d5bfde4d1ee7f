//! The library's integer arithmetic, to which the kernel programs must be equal, and the golden vector of ABC.
#![allow(dead_code)]

use super::START_NS;
use fairlane_node::config::NodeConfig;
use fairlane_schemes::base::units::{QueueLimit, Threshold};
use fairlane_schemes::contract::packet::TrafficClass;
use fairlane_schemes::fixed::{
    Accounting, Activity, Decay, FixedAverager, FixedMeter, FixedMeterParams, FixedThreshold, PACKET, PACKET_WEIGHT,
};
use fairlane_schemes::label::abc::AverageOver;
use serde_json::json;

pub const USERS: u32 = 12;
/// Bytes that the kernel counts in addition to the IP packet: the Ethernet header.
pub const ETHERNET: i64 = 14;

/// One arrival: the input of programs and library.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub now_ns: u64,
    pub user: u32,
    pub ip_bytes: u16,
    pub class: TrafficClass,
    pub queue_packets: u32,
    pub queue_bytes: u32,
}

/// State of the library's integer arithmetic.
pub struct Library {
    params: FixedMeterParams,
    factors: [Accounting; 2],
    meters: Vec<FixedMeter>,
    decay: Decay,
    pub averager: FixedAverager,
    thresholds: FixedThreshold,
    limit: i64,
    in_packets: bool,
    by_bytes: bool,
}

impl Library {
    pub fn new(config: &NodeConfig) -> Self {
        let abc = &config.ports[0].abc;
        let in_packets = matches!(abc.q_min, Threshold::Packets(_));
        let unit = if in_packets { PACKET as f64 } else { 1.0 };
        let [q_min, q_base, gamma] =
            [abc.q_min, abc.q_base, abc.gamma].map(|threshold| (threshold.magnitude() * unit) as i64);
        let limit = match config.ports[0].queue.limit {
            Some(QueueLimit::Packets(packets)) => i64::from(packets) * PACKET,
            Some(QueueLimit::Bytes(bytes)) => bytes as i64,
            None => i64::MAX,
        };
        Self {
            params: FixedMeterParams::new(config.abc_marker.memory, config.default_user.reference_rate).unwrap(),
            factors: [config.abc_marker.accounting_be, config.abc_marker.accounting_ef]
                .map(|f| Accounting::new(f).unwrap()),
            meters: vec![FixedMeter::new(START_NS); USERS as usize],
            decay: Decay::new(abc.averager_memory).unwrap(),
            averager: FixedAverager::default(),
            thresholds: FixedThreshold::new(q_min, q_base, gamma).unwrap(),
            limit,
            in_packets,
            by_bytes: abc.average_over == Some(AverageOver::Bytes),
        }
    }

    /// Decides on an arrival. Returns its label, the average, its drop threshold, and true if it is dropped.
    pub fn decide(&mut self, arrival: &Arrival) -> (Activity, Activity, i64, bool) {
        let factor = self.factors[arrival.class.index()];
        let meter = &mut self.meters[arrival.user as usize];
        let label = meter.label(&self.params, u32::from(arrival.ip_bytes), factor, arrival.now_ns);
        let average = self.averager.average();
        let queue =
            if self.in_packets { i64::from(arrival.queue_packets) * PACKET } else { i64::from(arrival.queue_bytes) };
        let share = if self.in_packets { PACKET } else { i64::from(arrival.ip_bytes) + ETHERNET };
        let drops = self.thresholds.drops(queue, label, average) || queue + share > self.limit;
        if !drops {
            let weight = if self.by_bytes { (i64::from(arrival.ip_bytes) + ETHERNET) as u32 } else { PACKET_WEIGHT };
            self.averager.accept(&self.decay, label, weight, arrival.now_ns);
        }
        (label, average, self.thresholds.drop_threshold(label, average), drops)
    }
}

/// The frame of an arrival. Users with even numbers have IPv4 addresses, users with odd numbers IPv6 addresses.
pub fn frame(arrival: &Arrival) -> Vec<u8> {
    let dscp = if arrival.class == TrafficClass::Expedited { 46 } else { 0 };
    let user = arrival.user as u8;
    if user.is_multiple_of(2) {
        super::ipv4([10, 0, 0, user], dscp, arrival.ip_bytes)
    } else {
        let mut source = [0; 16];
        (source[0], source[15]) = (0xfd, user);
        super::ipv6(source, dscp, arrival.ip_bytes)
    }
}

/// Returns a node whose port has a link of 10 Mbit/s, and the activity AQM with these keys.
pub fn node(queue: &serde_json::Value) -> NodeConfig {
    let mut port = json!({"rate": "10 Mbit/s", "queue": {"scheme": "abc"}});
    port["queue"].as_object_mut().unwrap().extend(queue.as_object().unwrap().clone());
    super::config(&port, &json!({"default_user": {"meter_of": "address", "traffic_class": "dscp"}}))
}

/// Calls `with` with the arrivals of the golden vector, and whether the reference drops each. Returns their number.
pub fn replay_vector(mut with: impl FnMut(&Arrival, bool, &str)) -> u32 {
    let text = include_str!("../../../../tests/vectors/abc.txt");
    let mut lines = text.lines().filter(|line| !line.starts_with('#')).peekable();
    let (mut queue_packets, mut arrivals) = (0u32, 0);
    while let Some(line) = lines.next() {
        let fields: Vec<&str> = line.split(' ').collect();
        match fields[0] {
            "depart" => queue_packets -= 1,
            "arrive" => {
                let arrival = Arrival {
                    now_ns: START_NS + fields[1].parse::<u64>().unwrap() / 1000,
                    user: fields[3].parse().unwrap(),
                    ip_bytes: fields[4].parse().unwrap(),
                    class: if fields[5] == "EF" { TrafficClass::Expedited } else { TrafficClass::BestEffort },
                    queue_packets,
                    queue_bytes: 0,
                };
                let reference_drops = lines.peek().is_some_and(|next| next.starts_with("drop "));
                with(&arrival, reference_drops, line);
                queue_packets += u32::from(!reference_drops);
                arrivals += 1;
            }
            "drop" => {}
            other => panic!("unknown event {other}"),
        }
    }
    arrivals
}
