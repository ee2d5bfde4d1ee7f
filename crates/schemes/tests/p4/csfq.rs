//! CSFQ: parameters of the setups, and the model, which uses the library.

use super::file::Input;
use super::frame::{ETHERTYPE_8021AD, Recipe};
use super::scheme::{Arrival, Judgement, Metered, Model, Parameters};
use super::setup::{Queue, Setup, addresses, extreme, published};
use super::switch::Switch;
use super::train::Dice;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::fixed::csfq::{FixedCsfq, FixedCsfqParams, FixedRates, QueueState, RateConstants};
use fairlane_schemes::fixed::{Activity, LOG2_OF_ZERO_Q31, scale_down};
use std::collections::HashMap;
use std::net::Ipv4Addr;

pub const COLUMNS: &str = "\
# 4 judged by an AQM, 8 flooded. queue: behind a stroke the random number, hex, if it is not 0. activity: the label,
# biased, hex. average, threshold: of the port behind the packet, S of the arrivals and log2 of alpha in two's
# complement, hex. hash: FNV-1a of the frame that leaves.
";

/// The AQM of a port.
#[derive(Clone, Copy)]
pub struct Aqm {
    pub port: u16,
    constant: Time,
    window: Time,
    capacity: BitRate,
    /// Reference rate of weight 1.
    unit: BitRate,
    q_min: u64,
    q_threshold: u64,
}

impl Aqm {
    pub fn params(&self) -> FixedCsfqParams {
        FixedCsfqParams::new(self.constant, self.window, self.capacity, self.unit).expect("setups are in range")
    }
}

struct Csfq {
    constant: Time,
    aqms: Vec<Aqm>,
    /// Initial registers of meters: index of the meter, S, bytes in the current tick, number of this tick.
    meters: &'static [(u32, u64, u64, u64)],
    /// Initial registers of ports: port, log2 of alpha, the sums S of the rates A and F, number of the current tick.
    states: &'static [(u16, i64, [u64; 2], u64)],
    queues: Queues,
    /// True if the packets are those of [`ties`].
    has_ties: bool,
}

/// Queues that packets find.
#[derive(PartialEq)]
enum Queues {
    /// Around the thresholds.
    Usual,
    /// Ends of the range.
    Extreme,
}

impl Csfq {
    /// Creates parameters with all registers 0 and with queues around the thresholds.
    fn new(constant: Time, aqms: Vec<Aqm>) -> Self {
        Self { constant, aqms, meters: &[], states: &[], queues: Queues::Usual, has_ties: false }
    }

    fn constants(&self) -> RateConstants {
        RateConstants::new(self.constant).expect("setups are in range")
    }
}

/// Configuration arguments of estimators with one time constant.
fn constants_of(rates: RateConstants) -> String {
    format!("{} {} {:#x}", rates.decay().step_q56(), rates.decay().shift(), rates.log2_tick_q31().cast_unsigned())
}

/// Converts log2 of alpha to the value of its register. The value 0, which registers have at first, means that there is
/// no estimate.
fn register_of(log2_alpha: i64) -> u64 {
    log2_alpha.wrapping_sub(LOG2_OF_ZERO_Q31).cast_unsigned()
}

impl Parameters for Csfq {
    fn domain(&self) -> String {
        constants_of(self.constants())
    }

    fn offset(&self, reference_rate: BitRate) -> i64 {
        self.constants().offset_q31(reference_rate)
    }

    fn aqm(&self, port: u16) -> String {
        let aqm = self.aqms.iter().find(|aqm| aqm.port == port).expect("the port has an AQM");
        let params = aqm.params();
        format!(
            "{} {} {:#x} {:#x} {} {}",
            constants_of(params.rates()),
            params.window_ns(),
            params.log2_capacity_q31().cast_unsigned(),
            params.log2_full_q31().cast_unsigned(),
            aqm.q_min,
            aqm.q_threshold
        )
    }

    fn registers(&self) -> Vec<(&'static str, u32, u64)> {
        let meters = self.meters.iter().flat_map(|&(index, sum, pending, tick)| {
            [("meter_sum", index, sum), ("meter_pending", index, pending), ("meter_tick", index, tick)]
        });
        let states = self.states.iter().flat_map(|&(port, log2_alpha, sums, tick)| {
            let port = port.into();
            [
                ("csfq_alpha", port, register_of(log2_alpha)),
                ("csfq_arrival_sum", port, sums[0]),
                ("csfq_accepted_sum", port, sums[1]),
                ("csfq_tick", port, tick),
            ]
        });
        meters.chain(states).collect()
    }

    fn model(&self) -> Box<dyn Model> {
        let meters = self.meters.iter();
        let meters =
            meters.map(|&(index, sum, pending, tick)| (index, FixedRates::from_registers([sum], [pending], tick)));
        let state = |port| {
            let preset = self.states.iter().find(|preset| preset.0 == port);
            preset.map_or(FixedCsfq::default(), |&(_, log2_alpha, sums, tick)| {
                FixedCsfq::from_registers(Some(log2_alpha), FixedRates::from_registers(sums, [0; 2], tick))
            })
        };
        let ports = self.aqms.iter().map(|aqm| (aqm.port, (*aqm, aqm.params(), state(aqm.port))));
        Box::new(Arithmetic { constants: self.constants(), meters: meters.collect(), ports: ports.collect() })
    }

    fn memory(&self) -> Time {
        self.constant
    }

    /// The mean gap is 20 to 400 us. A packet of 900 bytes takes 144 us at 50 Mbit/s.
    fn gap_ns(&self, dice: &mut Dice) -> f64 {
        dice.magnitude(4.3, 5.6)
    }

    /// A quarter of the queues are below the threshold, a quarter above, and the others around it.
    fn queue(&self, dice: &mut Dice, number: usize) -> u64 {
        if self.queues == Queues::Extreme {
            return match dice.below(4) {
                0 => dice.below(200),
                1 => dice.one_of(&[0, 1 << 40, (1 << 40) - 1, u64::MAX, 1 << 63, 90, 89]),
                _ => dice.below(1 << 41),
            };
        }
        match number / 250 % 4 {
            0 => dice.below(12 * 16),
            1 => 12 * 16 + dice.below(14 * 16),
            _ => dice.below(26) * 16,
        }
    }

    fn train(&self, setup: &Setup) -> Option<Vec<Input>> {
        self.has_ties.then(|| ties(setup))
    }

    fn random(&self, dice: &mut Dice) -> u32 {
        if dice.happens(20) { dice.one_of(&[0, u32::MAX]) } else { dice.below(1 << 32) as u32 }
    }
}

struct Arithmetic {
    constants: RateConstants,
    meters: HashMap<u32, FixedRates<1>>,
    ports: HashMap<u16, (Aqm, FixedCsfqParams, FixedCsfq)>,
}

impl Model for Arithmetic {
    fn meter(&mut self, packet: &Metered) -> Activity {
        let rate = self.meters.entry(packet.index).or_default();
        rate.update(&self.constants, [packet.bytes], packet.now_ns);
        let [log2_sum] = rate.log2_sums_q31();
        Activity::from_q31(log2_sum + self.constants.offset_q31(packet.reference_rate))
    }

    fn judge(&mut self, packet: &Arrival) -> Judgement {
        let (aqm, params, port) = self.ports.get_mut(&packet.port).expect("the port has an AQM");
        let queue = QueueState { spares: packet.queue < aqm.q_min, is_short: packet.queue < aqm.q_threshold };
        let (is_dropped, label) = port.admit(params, packet.label, packet.bytes, queue, packet.random, packet.now_ns);
        if !is_dropped && packet.is_over {
            port.overflow();
        }
        let log2_alpha = port.log2_alpha_q31().unwrap_or(LOG2_OF_ZERO_Q31);
        Judgement { is_dropped, label, average: port.rates().sums()[0], threshold: log2_alpha.cast_unsigned() }
    }
}

/// Returns packets that arrive from a neighbour at the ends of windows. Their random numbers alternate between the
/// largest that causes a drop and the smallest that does not.
fn ties(setup: &Setup) -> Vec<Input> {
    let mut switch = Switch::new(setup);
    let mut dice = Dice::new(setup.name);
    let mut log2_alpha = LOG2_OF_ZERO_Q31;
    let mut input = |number: u64| {
        // Labels are from 2^10 to 2^14 reference rates; C is 2^12.3 reference rates.
        let upper = 0x5400 + dice.below(0x800) as u32;
        let label = i64::from(Activity::from_upper_bits(upper, 15).units()) << 15;
        let is_above = log2_alpha != LOG2_OF_ZERO_Q31 && label > log2_alpha;
        let passes = if is_above { scale_down(1 << 32, ((label - log2_alpha) as u64) << 25) } else { 1 << 32 };
        let control = upper >> 12 << 13 | upper & 0xfff;
        let recipe =
            Recipe { tags: vec![(ETHERTYPE_8021AD, control as u16)], ..Recipe::of(Ipv4Addr::new(10, 0, 1, 1).into()) };
        let input = Input {
            // Four packets arrive per window. With 1562 bytes each, their rate would be C.
            now_ns: number * 250_000,
            ingress_port: 4,
            station: 6,
            queue: if number / 100 % 4 == 3 { 5 * 16 } else { 20 * 16 },
            random: ((1 << 32) - passes).saturating_sub(number % 2).min(u64::from(u32::MAX)) as u32,
            bytes: if (number / 40).is_multiple_of(2) { 2500 } else { 700 },
            recipe,
        };
        log2_alpha = switch.process(&input).threshold.cast_signed();
        input
    };
    (1..=1000).map(&mut input).collect()
}

/// All setups.
pub fn setups() -> Vec<Setup> {
    vec![of_weights(), of_extremes(), of_addresses(), of_ties()]
}

/// Thresholds of abc2018 V. Time constants are a twentieth of those in the paper, so a packet sequence has some hundred
/// windows.
const AQM: Aqm = Aqm {
    port: 6,
    constant: Time::from_millis(5),
    window: Time::from_millis(5),
    capacity: BitRate(50_000_000),
    unit: BitRate(10_000),
    q_min: 0,
    q_threshold: 12 * 16,
};

const QUEUE: Queue = Queue { port: 6, limit: 24 * 16, ns_per_byte: None, ef_priority: 1 };

fn of_weights() -> Setup {
    let slower = Aqm { port: 7, capacity: BitRate(20_000_000), q_min: 12 * 16, ..AQM };
    let csfq = Csfq::new(Time::from_millis(5), vec![AQM, slower]);
    published(csfq, vec![QUEUE, Queue { port: 7, ef_priority: 0, ..QUEUE }])
}

/// Returns a setup with the smallest and largest values of all parameters, sums that are almost full, and fair rates
/// above all labels.
fn of_extremes() -> Setup {
    let (short, long) = (Time::from_millis(1), Time::from_secs(3600));
    let (least, most) = (BitRate(1_000), BitRate(1_000_000_000_000));
    let aqm = Aqm { constant: short, window: short, q_min: 100, q_threshold: 1 << 40, ..AQM };
    let aqms = vec![
        Aqm { capacity: most, unit: least, ..aqm },
        Aqm { port: 7, constant: long, capacity: least, unit: most, ..aqm },
        Aqm { port: 8, window: long, capacity: BitRate(1_000_000), unit: least, q_threshold: 0, ..aqm },
    ];
    let csfq = Csfq {
        meters: &[
            // The tick is half a second ahead of the clock, so the rate does not change until the clock reaches it.
            (1, u64::MAX - 5_000, 0, 1 << 29),
            (2, u64::MAX, u64::MAX - 5_000, 40),
            (3, 1, 1, u64::MAX),
            (4095, 1 << 63, 1 << 40, 12),
        ],
        states: &[
            (6, 31 << 31, [u64::MAX - 5_000, u64::MAX], 0),
            // The log2 of alpha is far below the value that means no estimate, so differences reach 256 octaves.
            (7, -256 << 31, [1 << 40, 1 << 30], 0),
            (8, -(32 << 31) + 1, [1, 0], 7),
        ],
        queues: Queues::Extreme,
        ..Csfq::new(short, aqms)
    };
    let queue = Queue { limit: u64::MAX, ..QUEUE };
    extreme(csfq, vec![queue, Queue { port: 7, ..queue }, Queue { port: 8, limit: 90, ..queue }])
}

/// Returns a setup with virtual queues and a meter per address, with the time constant of abc2018 V.
fn of_addresses() -> Setup {
    // The values are 6, 12 and 24 packets of 1500 bytes at 50 Mbit/s, where a packet takes 240 us and a byte 160 ns.
    let aqm = Aqm { q_min: 1_440_000, q_threshold: 2_880_000, ..AQM };
    let faster = Aqm { port: 7, capacity: BitRate(150_000_000), q_min: 0, ..aqm };
    let queue = Queue { limit: 5_760_000, ns_per_byte: Some(160 << 20), ef_priority: 0, ..QUEUE };
    let of_faster = Queue { port: 7, ns_per_byte: Some((160 << 20) / 3), ef_priority: 1, ..queue };
    addresses(Csfq::new(Time::from_millis(100), vec![aqm, faster]), vec![queue, of_faster])
}

/// Returns a setup with packets at the exact limits of windows and drop probabilities.
fn of_ties() -> Setup {
    let short = Time::from_millis(1);
    let csfq = Csfq::new(short, vec![Aqm { constant: short, window: short, ..AQM }]);
    Setup { name: "ties", ..published(Csfq { has_ties: true, ..csfq }, vec![QUEUE]) }
}
