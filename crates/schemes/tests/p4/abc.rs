//! ABC: parameters of the setups, and the model, which uses the library.

use super::scheme::{Arrival, Judgement, Metered, Model, Parameters};
use super::setup::{Queue, Setup, addresses, extreme, published};
use super::train::Dice;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::fixed::{
    Accounting, Activity, Decay, FixedAverager, FixedMeter, FixedMeterParams, FixedThreshold, PACKET_WEIGHT,
};
use std::collections::HashMap;

pub const COLUMNS: &str = "\
# 4 judged by an AQM, 8 flooded. activity, average: biased, hex. threshold: hex. hash: FNV-1a of the frame that leaves.
";

/// The AQM of a port.
#[derive(Clone, Copy)]
struct Aqm {
    port: u16,
    memory: Time,
    q_min: i64,
    q_base: i64,
    gamma: i64,
}

impl Aqm {
    fn decay(&self) -> Decay {
        Decay::new(self.memory).expect("setups are in range")
    }
}

struct Abc {
    memory: Time,
    accounting: [f64; 2],
    start_us: u64,
    aqms: Vec<Aqm>,
    /// Index, S, last tick.
    meters: &'static [(u32, u64, u64)],
    /// Port, S, N, last tick.
    averagers: &'static [(u16, u64, u64, u64)],
    /// True for queues at the ends of the range.
    has_extreme_queues: bool,
}

impl Abc {
    fn params(&self, reference_rate: BitRate) -> FixedMeterParams {
        FixedMeterParams::new(self.memory, reference_rate).expect("setups are in range")
    }

    fn factors(&self) -> [Accounting; 2] {
        self.accounting.map(|factor| Accounting::new(factor).expect("setups are in range"))
    }
}

impl Parameters for Abc {
    fn domain(&self) -> String {
        let decay = Decay::new(self.memory).expect("setups are in range");
        let [be, ef] = self.factors().map(Accounting::q20);
        let log2_memory = self.params(BitRate(10_000)).log2_memory_q31();
        format!("{} {} {log2_memory:#x} {be} {ef} {}", decay.step_q56(), decay.shift(), self.start_us)
    }

    fn offset(&self, reference_rate: BitRate) -> i64 {
        self.params(reference_rate).offset_q31()
    }

    fn aqm(&self, port: u16) -> String {
        let aqm = self.aqms.iter().find(|aqm| aqm.port == port).expect("the port has an AQM");
        let decay = aqm.decay();
        format!("{} {} {} {} {}", decay.step_q56(), decay.shift(), aqm.q_min, aqm.q_base, aqm.gamma)
    }

    fn registers(&self) -> Vec<(&'static str, u32, u64)> {
        let meters = self.meters.iter();
        let meters = meters.flat_map(|&(index, sum, tick)| [("meter_sum", index, sum), ("meter_tick", index, tick)]);
        let averagers = self.averagers.iter().flat_map(|&(port, sum, count, tick)| {
            let port = port.into();
            [("averager_sum", port, sum), ("averager_count", port, count), ("averager_tick", port, tick)]
        });
        meters.chain(averagers).collect()
    }

    fn model(&self) -> Box<dyn Model> {
        let start_ns = self.start_us * 1000;
        let meters = self.meters.iter();
        let meters = meters.map(|&(index, sum, tick)| (index, FixedMeter::from_registers(sum, tick, start_ns)));
        let averagers = self.averagers.iter();
        let averagers =
            averagers.map(|&(port, sum, count, tick)| (port, FixedAverager::from_registers(sum, count, tick)));
        Box::new(Arithmetic {
            memory: self.memory,
            factors: self.factors(),
            start_ns,
            meters: meters.collect(),
            averagers: averagers.collect(),
            aqms: self.aqms.iter().map(|aqm| (aqm.port, *aqm)).collect(),
        })
    }

    fn memory(&self) -> Time {
        self.memory
    }

    fn gap_ns(&self, dice: &mut Dice) -> f64 {
        dice.magnitude(2.5, 6.0)
    }

    /// Draws a queue length in 1/16 packets: mostly whole packets, otherwise any length up to 30 packets. In the setup
    /// `extremes`, lengths include the ends of the range.
    fn queue(&self, dice: &mut Dice, _: usize) -> u64 {
        if self.has_extreme_queues {
            return match dice.below(6) {
                0 => dice.below(200),
                1 => dice.one_of(&[0, 1 << 40, (1 << 40) - 1, u64::MAX, 1 << 63, 90, 89]),
                2 => dice.magnitude(0.0, 14.0) as u64,
                _ => dice.below(1 << 41),
            };
        }
        if dice.happens(500) { dice.below(30 * 16) } else { dice.below(26) * 16 }
    }

    fn random(&self, _: &mut Dice) -> u32 {
        0
    }
}

struct Arithmetic {
    memory: Time,
    factors: [Accounting; 2],
    start_ns: u64,
    meters: HashMap<u32, FixedMeter>,
    averagers: HashMap<u16, FixedAverager>,
    aqms: HashMap<u16, Aqm>,
}

impl Model for Arithmetic {
    fn meter(&mut self, packet: &Metered) -> Activity {
        let params = FixedMeterParams::new(self.memory, packet.reference_rate).expect("setups are in range");
        let meter = self.meters.entry(packet.index).or_insert_with(|| FixedMeter::new(self.start_ns));
        meter.label(&params, packet.bytes, self.factors[usize::from(packet.is_expedited)], packet.now_ns)
    }

    fn judge(&mut self, packet: &Arrival) -> Judgement {
        let aqm = self.aqms[&packet.port];
        let averager = self.averagers.entry(packet.port).or_default();
        let average = averager.average_without_division();
        let rule = FixedThreshold::new(aqm.q_min, aqm.q_base, aqm.gamma).expect("setups are in range");
        let threshold = rule.drop_threshold(packet.label.unwrap_or(average), average) as u64;
        let is_dropped = packet.queue >= threshold;
        if let Some(label) = packet.label
            && !is_dropped
            && !packet.is_over
        {
            averager.accept(&aqm.decay(), label, PACKET_WEIGHT, packet.now_ns);
        }
        Judgement { is_dropped, label: packet.label, average: average.biased().into(), threshold }
    }
}

/// All setups.
pub fn setups() -> Vec<Setup> {
    vec![of_the_paper(), of_extremes(), of_addresses()]
}

/// Parameters of p4abc 6.1.3.
fn of_the_paper() -> Setup {
    let aqm = Aqm { port: 6, memory: Time::from_millis(300), q_min: 6 * 16, q_base: 20 * 16, gamma: 16 * 16 };
    let abc = Abc {
        memory: Time::from_secs(3),
        accounting: [1.0, 3.0],
        start_us: 5_000_000,
        aqms: vec![aqm, Aqm { port: 7, ..aqm }],
        meters: &[],
        averagers: &[],
        has_extreme_queues: false,
    };
    let queue = Queue { port: 6, limit: 24 * 16, ns_per_byte: None, ef_priority: 1 };
    published(abc, vec![queue, Queue { port: 7, limit: u64::MAX, ef_priority: 0, ..queue }])
}

/// Returns a setup with the ends of all ranges and almost full registers.
fn of_extremes() -> Setup {
    let aqm = Aqm { port: 6, memory: Time::from_secs(3600), q_min: 0, q_base: 1 << 40, gamma: 1 << 40 };
    let abc = Abc {
        memory: Time::from_millis(1),
        accounting: [0.001, 1000.0],
        start_us: 0,
        aqms: vec![
            aqm,
            Aqm { port: 7, memory: Time::from_millis(1), q_min: 1 << 40, q_base: 0, gamma: 1 },
            Aqm { port: 8, q_base: 100, gamma: 100, ..aqm },
        ],
        meters: &[(1, u64::MAX - 5_000, 0), (2, u64::MAX, 40), (3, 1, u64::MAX), (4095, 1 << 63, 12)],
        averagers: &[
            // N is one packet below the value at which it is halved; S has the same bits as N, as if all labels were
            // the highest.
            (6, (1 << 63) - (1 << 28) - 1, (1 << 63) - (1 << 28) - 1, 0),
            (7, 0, 1 << 28, 3),
            (8, 1 << 40, 1 << 41, 1 << 50),
        ],
        has_extreme_queues: true,
    };
    let queue = Queue { port: 6, limit: u64::MAX, ns_per_byte: None, ef_priority: 1 };
    extreme(abc, vec![queue, Queue { port: 7, ..queue }, Queue { port: 8, limit: 90, ..queue }])
}

/// Returns a setup with virtual queues, a meter per address, and a memory of one hour.
fn of_addresses() -> Setup {
    // Q_min, Q_base, Gamma and Q_max are 6, 20, 16 and 24 packets of 1500 bytes, as times in ns at 50 Mbit/s. A packet
    // takes 240 us, a byte 160 ns.
    let aqm = Aqm { port: 6, memory: Time::from_millis(300), q_min: 1_440_000, q_base: 4_800_000, gamma: 3_840_000 };
    let abc = Abc {
        memory: Time::from_secs(3600),
        accounting: [1.0, 1.25],
        start_us: 77,
        aqms: vec![aqm, Aqm { port: 7, ..aqm }],
        meters: &[],
        averagers: &[],
        has_extreme_queues: false,
    };
    let queue = Queue { port: 6, limit: 5_760_000, ns_per_byte: Some(160 << 20), ef_priority: 0 };
    addresses(abc, vec![queue, Queue { port: 7, ns_per_byte: Some((160 << 20) / 3), ef_priority: 1, ..queue }])
}
