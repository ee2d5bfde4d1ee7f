//! Data of a run for pictures, in addition to the run's record: each packet's path through each queue, its waiting
//! time, and the schemes' readings.

use crate::answer::{Answer, Column, Dtype, Failed};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::{Backlog, DropReason, QueueDiscipline};
use fairlane_sim::network::Network;
use fairlane_sim::network::sim_packet::SimPacket;
use fairlane_sim::scenario::Scenario;
use fairlane_sim::watch::observer::Observer;
use serde_json::json;
use std::collections::HashMap;

/// Names of packet events, by their number in the column `what`.
const WHAT: [&str; 5] = ["waits", "leaves", "aqm", "overlimit", "pushed_out"];
/// Numbers of the first two events, and of the drop for the first reason in [`DropReason::ALL`].
const WAITS: u8 = 0;
const LEAVES: u8 = 1;
const FIRST_DROP: u8 = 2;

/// Maximum number of recorded events, 30 bytes each; later ones are omitted.
const MOST_EVENTS: usize = 600_000;
/// Maximum number of stored waiting times, 12 bytes each.
const MOST_WAITS: usize = 2_000_000;
const MOST_SAMPLES: u64 = 1000;

/// Identity of a packet at a link: flow, number, payload, send time. The time distinguishes a segment from its
/// retransmission, and the payload distinguishes the last packet of a handshake from the data after it.
type Identity = (u32, u32, u32, u16, Time);

/// Watches every link of a run.
#[derive(Debug)]
pub struct Watcher {
    measured_from: Time,
    events: Events,
    waits: Waits,
    samples: Samples,
    /// Number and arrival time of each waiting packet.
    waiting: HashMap<Identity, (u32, Time)>,
    packets: u32,
    /// Reason of the drop, if the arriving packet is dropped.
    refused: Option<DropReason>,
    threshold: f64,
}

#[derive(Debug, Default)]
struct Events {
    rows: usize,
    /// Time of the last recorded event; `None` while all are recorded.
    until: Option<Time>,
    time_s: Vec<u8>,
    what: Vec<u8>,
    link: Vec<u8>,
    packet: Vec<u8>,
    user: Vec<u8>,
    label: Vec<u8>,
    threshold: Vec<u8>,
    queue: Vec<u8>,
}

/// Waiting times of packets during the measurement.
#[derive(Debug, Default)]
struct Waits {
    rows: usize,
    wait_s: Vec<u8>,
    user: Vec<u8>,
    link: Vec<u8>,
}

/// Readings of schemes at equal intervals, all readings of a link together.
#[derive(Debug)]
struct Samples {
    interval: Time,
    next: Time,
    rows: usize,
    /// Names of the readings of each link.
    names: Vec<Vec<&'static str>>,
    values: Vec<u8>,
}

struct Event<'a> {
    now: Time,
    what: u8,
    link: u32,
    packet: &'a SimPacket,
    number: u32,
    threshold: f64,
    backlog: Backlog,
}

impl Watcher {
    /// Creates a watcher of a run of `scenario`.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let interval = Time((scenario.run.end().0 / MOST_SAMPLES).max(1));
        Self {
            measured_from: scenario.run.warmup,
            events: Events::default(),
            waits: Waits::default(),
            samples: Samples { interval, next: Time::ZERO, rows: 0, names: Vec::new(), values: Vec::new() },
            waiting: HashMap::new(),
            packets: 0,
            refused: None,
            threshold: f64::NAN,
        }
    }

    /// Adds the recorded data to an answer: a description, then one part per column, in the order of the description.
    ///
    /// # Errors
    /// The description cannot be written as JSON.
    pub fn tell(self, answer: Answer, scenario: &Scenario) -> Result<Answer, Failed> {
        let groups = (0u32..).zip(&scenario.groups);
        let group_of_user: Vec<u32> =
            groups.flat_map(|(group, config)| (0..config.params.users).map(move |_| group)).collect();
        let links: Vec<&str> = scenario.topology.links.iter().map(|link| &*link.name).collect();
        let (watched_until_s, samples) = (self.events.until.map(Time::as_secs_f64), &self.samples);
        let readings = json!({
            "interval_s": samples.interval.as_secs_f64(), "rows": samples.rows, "names": samples.names,
        });
        let columns = [self.events.columns(), self.waits.columns(), self.samples.columns()].concat();
        let mut answer = answer.json(&json!({
            "what": WHAT,
            "links": links,
            "group_of_user": group_of_user,
            "watched_until_s": watched_until_s,
            "readings": readings,
            "columns": columns,
        }))?;
        answer.parts.extend(columns.into_iter().map(|column| column.bytes));
        Ok(answer)
    }

    fn next_number(&mut self) -> u32 {
        self.packets += 1;
        self.packets - 1
    }
}

fn identity(link: u32, packet: &SimPacket) -> Identity {
    (link, packet.flow, packet.seq, packet.payload, packet.timestamp)
}

impl Observer for Watcher {
    fn started(&mut self, network: &Network) {
        self.samples.names = vec![Vec::new(); network.links.len()];
        for (names, link) in self.samples.names.iter_mut().zip(&network.links) {
            names.extend(["drop_probability", "drop_threshold"]);
            link.discipline().report(&mut |name, _| names.push(name));
        }
    }

    fn advanced(&mut self, now: Time, network: &Network) {
        while self.samples.next < now {
            self.samples.take(network);
        }
    }

    fn threshold_met(&mut self, _link: u32, threshold: f64) {
        self.threshold = threshold;
    }

    fn offered(&mut self, link: u32, packet: &SimPacket, now: Time, backlog: Backlog) {
        let number = self.next_number();
        let what = match self.refused.take() {
            Some(reason) => FIRST_DROP + reason.index() as u8,
            None => {
                self.waiting.insert(identity(link, packet), (number, now));
                WAITS
            }
        };
        let threshold = std::mem::replace(&mut self.threshold, f64::NAN);
        self.events.add(&Event { now, what, link, packet, number, threshold, backlog });
    }

    fn dropped(&mut self, link: u32, packet: &SimPacket, now: Time, reason: DropReason, backlog: Backlog) {
        match self.waiting.remove(&identity(link, packet)) {
            None => self.refused = Some(reason), // it arrives, and is offered next
            Some((number, _)) => {
                let what = FIRST_DROP + reason.index() as u8;
                self.events.add(&Event { now, what, link, packet, number, threshold: f64::NAN, backlog });
            }
        }
    }

    fn transmitted(&mut self, link: u32, packet: &SimPacket, start: Time, backlog: Backlog) {
        let Some((number, came)) = self.waiting.remove(&identity(link, packet)) else { return };
        self.events.add(&Event { now: start, what: LEAVES, link, packet, number, threshold: f64::NAN, backlog });
        if start >= self.measured_from {
            self.waits.add(link, packet.user, start - came);
        }
    }
}

impl Events {
    fn add(&mut self, event: &Event<'_>) {
        if self.rows == MOST_EVENTS {
            self.until.get_or_insert(event.now);
            return;
        }
        self.rows += 1;
        self.time_s.extend(event.now.as_secs_f64().to_le_bytes());
        self.what.push(event.what);
        self.link.extend(event.link.to_le_bytes());
        self.packet.extend(event.number.to_le_bytes());
        self.user.extend(event.packet.user.to_le_bytes());
        self.label.extend((event.packet.label as f32).to_le_bytes());
        self.threshold.extend((event.threshold as f32).to_le_bytes());
        self.queue.extend(event.backlog.packets.to_le_bytes());
    }

    fn columns(self) -> Vec<Column> {
        vec![
            Column { name: "time_s", dtype: Dtype::Float64, bytes: self.time_s },
            Column { name: "what", dtype: Dtype::Uint8, bytes: self.what },
            Column { name: "link", dtype: Dtype::Uint32, bytes: self.link },
            Column { name: "packet", dtype: Dtype::Uint32, bytes: self.packet },
            Column { name: "user", dtype: Dtype::Uint32, bytes: self.user },
            Column { name: "label", dtype: Dtype::Float32, bytes: self.label },
            Column { name: "threshold", dtype: Dtype::Float32, bytes: self.threshold },
            Column { name: "queue_packets", dtype: Dtype::Uint32, bytes: self.queue },
        ]
    }
}

impl Waits {
    fn add(&mut self, link: u32, user: u32, wait: Time) {
        if self.rows == MOST_WAITS {
            return;
        }
        self.rows += 1;
        self.wait_s.extend((wait.as_secs_f64() as f32).to_le_bytes());
        self.user.extend(user.to_le_bytes());
        self.link.extend(link.to_le_bytes());
    }

    fn columns(self) -> Vec<Column> {
        vec![
            Column { name: "wait_s", dtype: Dtype::Float32, bytes: self.wait_s },
            Column { name: "wait_user", dtype: Dtype::Uint32, bytes: self.user },
            Column { name: "wait_link", dtype: Dtype::Uint32, bytes: self.link },
        ]
    }
}

impl Samples {
    /// Records the sample that is due.
    fn take(&mut self, network: &Network) {
        for (names, link) in self.names.iter().zip(&network.links) {
            let discipline = link.discipline();
            let mut values = vec![f64::NAN; names.len()];
            values[0] = discipline.drop_probability().unwrap_or(f64::NAN);
            values[1] = discipline.drop_threshold().unwrap_or(f64::NAN);
            discipline.report(&mut |name, value| {
                if let Some(place) = names.iter().position(|known| *known == name) {
                    values[place] = value;
                }
            });
            self.values.extend(values.into_iter().flat_map(|value| (value as f32).to_le_bytes()));
        }
        self.rows += 1;
        self.next = self.next.saturating_add(self.interval);
    }

    fn columns(self) -> Vec<Column> {
        vec![Column { name: "reading", dtype: Dtype::Float32, bytes: self.values }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::registry::schemes::Scheme;
    use fairlane_sim::engine;
    use serde_json::Value as Json;
    use std::sync::atomic::AtomicBool;

    fn watched(scheme: Scheme, groups: &Json) -> (Watcher, Scenario) {
        let scenario = json!({
            "run": {"warmup": "1 s", "measure": "3 s"},
            "topology": {"kind": "parking_lot", "congested_links": 2, "bottleneck_rate": "4 Mbit/s"},
            "queue": {"scheme": scheme.name(), "limit": "60 packets"},
            "groups": groups,
        });
        let scenario = Scenario::read(&scenario).expect("it is valid");
        let mut watcher = Watcher::new(&scenario);
        engine::observe(&scenario, 0, &AtomicBool::new(false), &mut watcher).expect("nobody cancels");
        (watcher, scenario)
    }

    fn numbers<const N: usize, T>(bytes: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|chunk| read(*chunk)).collect()
    }

    #[test]
    fn packets_that_came_and_did_not_go_are_those_that_wait() {
        let groups = json!([
            {"name": "tcp", "start_until": "1 s", "sources": [{"kind": "tcp", "flows": 3}]},
            {"name": "flood", "start_until": "1 s", "route": ["link1"], "sources": [{"kind": "poisson",
                "rate": "5 Mbit/s"}]},
        ]);
        for scheme in Scheme::ALL {
            let (Watcher { events, .. }, _) = watched(*scheme, &groups);
            let (links, queues) =
                (numbers(&events.link, u32::from_le_bytes), numbers(&events.queue, u32::from_le_bytes));
            let packets = numbers(&events.packet, u32::from_le_bytes);
            let mut waiting = [std::collections::BTreeSet::new(), std::collections::BTreeSet::new()];
            for row in 0..events.rows {
                let own = &mut waiting[links[row] as usize];
                match events.what[row] {
                    WAITS => assert!(own.insert(packets[row])),
                    LEAVES => assert!(own.remove(&packets[row])),
                    _ => drop(own.remove(&packets[row])),
                }
                // When a packet is dropped from the queue, the recorded backlog may still include this packet.
                if events.what[row] < FIRST_DROP {
                    assert_eq!(own.len(), queues[row] as usize, "{} row {row}", scheme.name());
                }
            }
        }
    }
}
