//! A link with many light Poisson flows and a few unresponsive flows at link rate, as in afc section 4 but without TCP.
//!
//! The link has 5 Mbit/s, packets of 1000 bytes and a buffer of 300 packets. 100 Poisson flows of 50 to 56 kbit/s
//! replace TCP; one or five constant-rate sources send 5 Mbit/s each. One seed determines all random numbers.

use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::discipline::QueueDiscipline;
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::AnyDiscipline;
use fairlane_schemes::testing::{TestPacket, read_queue};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rate of the link.
const LINK: BitRate = BitRate(5_000_000);
/// Length of all packets.
const PACKET_BYTES: u32 = 1000;
/// Number of Poisson flows, numbered 0 to 99.
const POISSON_FLOWS: u32 = 100;
/// Start of the measurement.
const WARMUP: Time = Time::from_secs(50);
/// End of a run.
const END: Time = Time::from_secs(200);

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Mean rate of the Poisson flows, kbit/s.
    pub poisson_kbps: f64,
    /// Mean rate of the constant-rate sources, kbit/s.
    pub cbr_kbps: f64,
    /// Coefficient of variation of the rate of the first constant-rate source, measured in intervals of 1 s.
    pub cbr_variation: f64,
}

/// Runs `queue` with `cbr_flows` sources of 5 Mbit/s each and 100 Poisson flows. Returns the mean rates from 50 to 200
/// s.
pub fn shares(queue: &Value, cbr_flows: u32, seed: u64) -> Shares {
    let mut queue = queue.clone();
    queue.as_object_mut().unwrap().entry("limit").or_insert(json!("300 packets"));
    let config = read_queue(queue).unwrap();
    let mut delivered = Delivered::new(cbr_flows);
    Link::new(&config, cbr_flows, seed).run(|flow, now| delivered.count(flow, now));
    delivered.shares()
}

/// Mean of [`shares`] over five runs.
pub fn mean_shares(queue: &Value, cbr_flows: u32) -> Shares {
    let runs: Vec<Shares> = (1..=5).map(|seed| shares(queue, cbr_flows, seed)).collect();
    let mean = |of: fn(&Shares) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    Shares {
        poisson_kbps: mean(|run| run.poisson_kbps),
        cbr_kbps: mean(|run| run.cbr_kbps),
        cbr_variation: mean(|run| run.cbr_variation),
    }
}

/// Asserts that `measured` equals `expected` within `tolerance`, all in kbit/s.
pub fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!((measured - expected).abs() <= tolerance, "{measured:.2} is not {expected:.2} +- {tolerance:.2}");
    println!("{measured:.2} ({expected:.2} +- {tolerance:.2})");
}

/// The queue, its sources, and the transmission in progress.
struct Link {
    queue: AnyDiscipline<TestPacket>,
    queue_rng: Rng,
    sources: Vec<Rng>,
    arrivals: BinaryHeap<Reverse<(Time, u32)>>,
    free_at: Option<Time>,
}

impl Link {
    fn new(config: &QueueConfig, cbr_flows: u32, seed: u64) -> Self {
        let flows = POISSON_FLOWS + cbr_flows;
        let mut link = Self {
            queue: config.build(LINK, &Weights::equal()),
            queue_rng: Rng::stream(seed, 0, "queue", 0),
            sources: (0..flows).map(|flow| Rng::stream(seed, 0, "source", u64::from(flow))).collect(),
            arrivals: BinaryHeap::new(),
            free_at: None,
        };
        for flow in 0..flows {
            let phase = link.sources[flow as usize].open01() * link.mean_gap_s(flow);
            link.arrivals.push(Reverse((Time::from_secs_f64(phase), flow)));
        }
        link
    }

    /// Mean time between packets. Poisson flows send 50 to 56 kbit/s, and the other flows send at the link rate.
    fn mean_gap_s(&self, flow: u32) -> f64 {
        let bits = f64::from(PACKET_BYTES) * 8.0;
        if flow < POISSON_FLOWS {
            bits / (50e3 + 6e3 * f64::from(flow) / f64::from(POISSON_FLOWS - 1))
        } else {
            bits / LINK.as_f64()
        }
    }

    fn run(&mut self, mut delivered: impl FnMut(u32, Time)) {
        while let Some(Reverse((now, flow))) = self.arrivals.pop() {
            if now >= END {
                return;
            }
            while let Some(free_at) = self.free_at.filter(|&at| at <= now) {
                self.transmit(free_at, &mut delivered);
            }
            let packet = TestPacket { flow, user: flow, wire_bytes: PACKET_BYTES, ..Default::default() };
            self.queue.enqueue(packet, now, &mut self.queue_rng, &mut ());
            if self.free_at.is_none() {
                self.transmit(now, &mut delivered);
            }
            let mean = self.mean_gap_s(flow);
            let gap = if flow < POISSON_FLOWS { self.sources[flow as usize].exponential(mean) } else { mean };
            self.arrivals.push(Reverse((now + Time::from_secs_f64(gap), flow)));
        }
    }

    fn transmit(&mut self, now: Time, delivered: &mut impl FnMut(u32, Time)) {
        let packet = self.queue.dequeue(now, &mut self.queue_rng, &mut ());
        self.free_at = packet.map(|packet| now + LINK.time_of(u64::from(packet.wire_bytes)));
        if let Some(packet) = packet {
            delivered(packet.flow, now);
        }
    }
}

/// Numbers of delivered packets: per flow, and per second for the first unresponsive flow.
struct Delivered {
    packets: Vec<u32>,
    per_second: Vec<u32>,
}

impl Delivered {
    fn new(cbr_flows: u32) -> Self {
        let seconds = (END - WARMUP).0 / Time::PER_SECOND;
        Self { packets: vec![0; (POISSON_FLOWS + cbr_flows) as usize], per_second: vec![0; seconds as usize] }
    }

    fn count(&mut self, flow: u32, now: Time) {
        if now < WARMUP {
            return;
        }
        self.packets[flow as usize] += 1;
        if flow == POISSON_FLOWS {
            let second = (now - WARMUP).0 / Time::PER_SECOND;
            self.per_second[second as usize] += 1;
        }
    }

    fn shares(&self) -> Shares {
        let (poisson, cbr) = self.packets.split_at(POISSON_FLOWS as usize);
        let kbit = f64::from(PACKET_BYTES) * 8e-3;
        let mean = |of: &[u32]| f64::from(of.iter().sum::<u32>()) / of.len() as f64;
        let seconds = (END - WARMUP).as_secs_f64();
        let rate = mean(&self.per_second);
        let variance = self.per_second.iter().map(|&n| (f64::from(n) - rate).powi(2)).sum::<f64>()
            / (self.per_second.len() - 1) as f64;
        Shares {
            poisson_kbps: mean(poisson) * kbit / seconds,
            cbr_kbps: mean(cbr) * kbit / seconds,
            cbr_variation: variance.sqrt() / rate,
        }
    }
}
