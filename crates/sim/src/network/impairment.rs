//! Impairments of a path in addition to its constant delay: loss and jitter as in netem, and detours.
//!
//! Source: net/sched/sch_netem.c of Linux 6.6, loss_gilb_ell and tabledist, and netem/ of iproute2; Gilbert, Capacity
//! of a burst-noise channel, Bell System Technical Journal 39, 1960; Elliott, Estimates of error rates for codes on
//! burst-noise channels, Bell System Technical Journal 42, 1963.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | Random loss: each packet with the same probability, independently. | [`loses`] |
//! | (2) | Gilbert-Elliott loss: a Markov chain of a good and a bad state. A packet is lost with the probability of the current state; then the chain takes a step. | [`loses`] |
//! | (3) | Periodic loss: every n-th packet. | [`loses`] |
//! | (4) | Jitter: the delay of the link plus a random time of mean zero; negative sums count as zero. | [`draw_delay`] |
//! | (5) | Without reordering, a packet arrives no earlier than the one before it on the same path. | [`Impairment::enter`] |
//! | (6) | Detour: while the detour lasts, each entering packet takes longer by the detour's delay. Without jitter, packets that enter after the end of the detour overtake packets that took it. | [`Impairment::enter`] |
//!
//! An impairment is a separate hop after a link or an access link, so links without an impairment have no extra cost.
//!
//! Cost: loss takes a random draw or a counter per packet. Jitter or a detour takes an event and a heap entry for each
//! packet in flight.
//!
//! Deviations:
//! 1. netem drops a packet before it waits for the link. Here the packet is lost on the wire, so it uses link capacity.
//! 2. netem draws from tables of 4096 values of 16 bits. Here the distributions themselves are used, truncated at four
//!    deviations, where the tables of netem end.
//! 3. Reordering results from jitter. netem's `reorder`, which sends single packets without delay, is not implemented.
//! 4. netem's default for `r` is 1 - p; here `r` is required.
//!
//! Not implemented: correlation, duplication, corruption, the four-state chain.

use crate::measure::path_probe::Loss;
use crate::network::sim_packet::SimPacket;
use crate::scenario::{DetourParams, Impairments, JitterDistribution, JitterParams, LossConfig};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Range of netem's distribution tables, in deviations: the largest signed 16-bit number divided by the scale of 8192.
const MOST_DEVIATIONS: f64 = 4.0;

/// Location of an impairment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// After a link, given by index: one path for all packets.
    Link(u32),
    /// After the access links of a group: a separate path for each user.
    Access {
        /// Index of the group.
        group: u16,
        /// Number of the group's first user.
        first_user: u32,
    },
}

/// Outcome for a packet that enters an impairment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet continues immediately.
    Passes,
    /// The packet is lost.
    Lost,
    /// The packet continues later.
    Waits {
        /// True if this packet is now the first of the waiting packets to continue.
        is_next: bool,
    },
}

/// Packet accounting of an impairment: at any time, `entered = passed + lost + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairmentAccount {
    /// Packets that entered.
    pub entered: u64,
    /// Packets that continued.
    pub passed: u64,
    /// Packets lost.
    pub lost: u64,
}

/// State of one path, which determines whether the next packet is lost or delayed.
#[derive(Clone, Copy, Debug, Default)]
struct PathState {
    /// True if the Gilbert-Elliott chain is in its bad state.
    is_bad: bool,
    /// Packets since the last periodic loss.
    count: u32,
    /// Arrival time of the last packet.
    last: Time,
}

/// Impairment of a link, or of the access links of a group.
#[derive(Debug)]
pub struct Impairment {
    place: Place,
    loss: Option<LossConfig>,
    jitter: Option<JitterParams>,
    detour: Option<DetourParams>,
    delays: Vec<Time>,
    rng: Rng,
    paths: Vec<PathState>,
    held: BinaryHeap<Reverse<Held>>,
    account: ImpairmentAccount,
    /// Accounting at the start of the measurement.
    before: ImpairmentAccount,
    /// Packets lost behind access links that the users' probes have not counted yet. For packets lost behind a link,
    /// the link keeps this list.
    pub losses: Vec<Loss>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    until: Time,
    /// Sequence number. Packets that continue at the same time keep this order.
    number: u64,
    packet: SimPacket,
}

impl Held {
    fn order(&self) -> (Time, u64) {
        (self.until, self.number)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl Impairment {
    /// Creates an impairment of `paths` paths: one, or one for each user. `delays` has the constant delays that jitter
    /// replaces: the link's, or one for each path.
    #[must_use]
    pub fn new(place: Place, config: &Impairments, delays: Vec<Time>, paths: usize, rng: Rng) -> Self {
        Self {
            place,
            loss: config.loss.clone(),
            jitter: config.jitter.clone(),
            detour: config.detour.clone(),
            delays,
            rng,
            paths: vec![PathState::default(); paths],
            held: BinaryHeap::new(),
            account: ImpairmentAccount::default(),
            before: ImpairmentAccount::default(),
            losses: Vec::new(),
        }
    }

    /// Location of the impairment.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Packet accounting so far. Packets that are neither passed nor lost are in flight.
    #[must_use]
    pub fn account(&self) -> ImpairmentAccount {
        self.account
    }

    /// Numbers of packets that entered, passed or were lost during the measurement.
    #[must_use]
    pub fn measured(&self) -> ImpairmentAccount {
        ImpairmentAccount {
            entered: self.account.entered - self.before.entered,
            passed: self.account.passed - self.before.passed,
            lost: self.account.lost - self.before.lost,
        }
    }

    /// Packets in flight.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Starts the measurement.
    pub fn restart(&mut self) {
        self.before = self.account;
    }

    /// Handles a packet that enters at `now`.
    pub fn enter(&mut self, packet: SimPacket, now: Time) -> Outcome {
        let index = match self.place {
            Place::Link(_) => 0,
            Place::Access { first_user, .. } => (packet.user - first_user) as usize,
        };
        let path = &mut self.paths[index];
        let number = self.account.entered;
        self.account.entered += 1;
        if self.loss.as_ref().is_some_and(|loss| loses(loss, path, &mut self.rng)) {
            self.account.lost += 1;
            if matches!(self.place, Place::Access { .. }) {
                self.losses.push(Loss::of(&packet, now));
            }
            return Outcome::Lost;
        }
        let detour = self.detour.as_ref().map_or(Time::ZERO, |detour| detour.delay_at(now));
        if self.jitter.is_none() && detour == Time::ZERO {
            self.account.passed += 1;
            return Outcome::Passes;
        }
        let mut until = now + detour;
        if let Some(jitter) = &self.jitter {
            let delay = self.delays.get(index).unwrap_or(&self.delays[0]);
            until += draw_delay(jitter, *delay, &mut self.rng);
            if !jitter.reorder {
                until = until.max(path.last);
                path.last = until;
            }
        }
        let held = Held { until, number, packet };
        self.held.push(Reverse(held));
        Outcome::Waits { is_next: self.held.peek().is_some_and(|Reverse(next)| next.number == number) }
    }

    /// Time at which the next packet continues; [`Time::NEVER`] if none is in flight.
    #[must_use]
    pub fn next(&self) -> Time {
        self.held.peek().map_or(Time::NEVER, |Reverse(held)| held.until)
    }

    /// Takes the packet that continues now, which must exist.
    pub fn take(&mut self) -> SimPacket {
        self.account.passed += 1;
        self.held.pop().expect("a packet was announced").0.packet
    }
}

/// Returns true if the next packet of a path is lost (rules 1 to 3).
fn loses(loss: &LossConfig, path: &mut PathState, rng: &mut Rng) -> bool {
    match loss {
        LossConfig::Random(params) => rng.open01() < params.probability.0,
        LossConfig::GilbertElliott(params) => {
            // As in `loss_gilb_ell` of sch_netem.c, the current state applies to this packet. The state after the
            // transition applies to the next packet.
            let (leaves, loss) =
                if path.is_bad { (params.r.0, params.bad_loss.0) } else { (params.p.0, params.good_loss.0) };
            path.is_bad ^= rng.open01() < leaves;
            rng.open01() < loss
        }
        LossConfig::Periodic(params) => {
            path.count += 1;
            let is_last = path.count == params.period;
            if is_last {
                path.count = 0;
            }
            is_last
        }
    }
}

/// Draws the delay of a packet on a path with mean `delay` (rule 4).
fn draw_delay(jitter: &JitterParams, delay: Time, rng: &mut Rng) -> Time {
    let deviations = match jitter.distribution {
        JitterDistribution::Uniform => 2.0 * rng.open01() - 1.0,
        JitterDistribution::Normal => rng.normal().clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS),
        // iproute2 netem/pareto.c: a Pareto distribution of shape 3 and scale 1 (mean 1.5), multiplied by 4/3.
        JitterDistribution::Pareto => ((libm::pow(rng.open01(), -1.0 / 3.0) - 1.5) * (4.0 / 3.0)).min(MOST_DEVIATIONS),
    };
    let drawn = delay.0 as f64 + deviations * jitter.deviation.0 as f64;
    Time(drawn.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{GilbertElliottParams, PeriodicLossParams, RandomLossParams};
    use fairlane_schemes::base::units::Probability;

    const PACKETS: u32 = 200_000;
    const DELAY: Time = Time::from_millis(20);

    fn impairment(loss: Option<LossConfig>, jitter: Option<JitterParams>) -> Impairment {
        let rng = Rng::stream(1, 0, "test", 0);
        let config = Impairments { loss, jitter, detour: None };
        Impairment::new(Place::Link(0), &config, vec![DELAY], 1, rng)
    }

    fn losses(loss: LossConfig) -> Vec<bool> {
        let mut impairment = impairment(Some(loss), None);
        (0..PACKETS).map(|_| impairment.enter(SimPacket::BLANK, Time::ZERO) == Outcome::Lost).collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    #[test]
    fn random_loss_has_its_probability_and_no_memory() {
        // The numbers of losses are binomial. The test allows five standard errors for the share of losses among all
        // packets, and among the packets that follow a loss.
        let p = 0.02;
        let lost = losses(LossConfig::Random(RandomLossParams { probability: Probability(p) }));
        let error = |n: f64| 5.0 * (p * (1.0 - p) / n).sqrt();
        assert!((share(&lost) - p).abs() < error(f64::from(PACKETS)), "{}", share(&lost));
        let behind: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!((share(&behind) - p).abs() < error(behind.len() as f64), "{}", share(&behind));
        for (probability, lost) in [(0.0, false), (1.0, true)] {
            let params = RandomLossParams { probability: Probability(probability) };
            assert!(losses(LossConfig::Random(params)).iter().all(|&other| other == lost));
        }
    }

    #[test]
    fn gilbert_elliott_loss_has_its_bursts_and_its_rate() {
        let (p, r) = (0.01, 0.2);
        let params = |bad_loss, good_loss| {
            let [p, r, bad_loss, good_loss] = [p, r, bad_loss, good_loss].map(Probability);
            LossConfig::GilbertElliott(GilbertElliottParams { p, r, bad_loss, good_loss })
        };
        // The duration of the bad state in packets is geometric, with mean 1/r and variance (1 - r)/r^2. The tolerance
        // is five standard errors.
        let lost = losses(params(1.0, 0.0));
        let bursts: Vec<f64> = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).map(|run| run.len() as f64).collect();
        let n = bursts.len() as f64;
        let mean = bursts.iter().sum::<f64>() / n;
        assert!((mean - 1.0 / r).abs() < 5.0 * (1.0 - r).sqrt() / r / n.sqrt(), "{mean}");
        // The share of the bad state is pi = p/(p + r). States that are k packets apart have a correlation of (1 - p -
        // r)^k, so the variance of the mean is multiplied by (2 - p - r)/(p + r). The losses in each state are
        // proportional to the state's share and loss probability.
        let pi = p / (p + r);
        let error = 5.0 * (pi * (1.0 - pi) / f64::from(PACKETS) * (2.0 - p - r) / (p + r)).sqrt();
        assert!((share(&lost) - pi).abs() < error, "{}", share(&lost));
        let some = share(&losses(params(0.6, 0.01)));
        let expected = 0.6 * pi + 0.01 * (1.0 - pi);
        let own = 5.0 * (expected / f64::from(PACKETS)).sqrt();
        assert!((some - expected).abs() < error + own, "{some} {expected}");
    }

    #[test]
    fn periodic_loss_takes_the_last_packet_of_each_period() {
        let lost = losses(LossConfig::Periodic(PeriodicLossParams { period: 7 }));
        assert!(lost.iter().enumerate().all(|(index, &lost)| lost == (index % 7 == 6)));
    }

    /// Returns the delays of packets that enter at intervals of `gap`, and true if the packets left in order.
    fn delays(distribution: JitterDistribution, deviation: Time, reorder: bool, gap: Time) -> (Vec<f64>, bool) {
        let mut impairment = impairment(None, Some(JitterParams { deviation, distribution, reorder }));
        let (mut left, mut now) = (vec![0.0; PACKETS as usize], Time::ZERO);
        let mut order = Vec::new();
        let mut drain = |impairment: &mut Impairment, until: Time| {
            while impairment.next() <= until && impairment.next() < Time::NEVER {
                let time = impairment.next();
                let seq = impairment.take().seq;
                left[seq as usize] = (time - Time(gap.0 * u64::from(seq))).as_secs_f64();
                order.push(seq);
            }
        };
        for seq in 0..PACKETS {
            drain(&mut impairment, now);
            impairment.enter(SimPacket { seq, ..SimPacket::BLANK }, now);
            now += gap;
        }
        drain(&mut impairment, Time::NEVER);
        assert_eq!((impairment.held(), impairment.account().passed), (0, u64::from(PACKETS)));
        (left, order.is_sorted())
    }

    #[test]
    fn jitter_has_the_mean_and_deviation_of_its_distribution() {
        // The mean delay is about 20 ms. Means and variances are in units of the deviation of 5 ms. The uniform
        // distribution has a variance of 1/3, the normal distribution of 1; truncation at four deviations changes the
        // latter by less than 1e-3. The Pareto distribution is that of 4/3 (Y - 1.5) with P(Y > y) = y^-3, truncated at
        // y = 4.5. Its mean is -4/3 * 4.5^-2/2 = -0.033. Since E[min(Y, a)^2] = 3 - 2/a, its variance is (4/3)^2 (2.556
        // - 1.475^2) = 0.675.
        let deviation = 0.005;
        for (distribution, mean, variance) in [
            (JitterDistribution::Uniform, 0.0, 1.0 / 3.0),
            (JitterDistribution::Normal, 0.0, 1.0),
            (JitterDistribution::Pareto, -4.0 / 3.0 / 4.5 / 4.5 / 2.0, 0.675),
        ] {
            let (delays, _) = delays(distribution, Time::from_secs_f64(deviation), true, Time::from_millis(1));
            let n = f64::from(PACKETS);
            let drawn: Vec<f64> = delays.iter().map(|delay| (delay - DELAY.as_secs_f64()) / deviation).collect();
            let average = drawn.iter().sum::<f64>() / n;
            let spread = drawn.iter().map(|x| (x - average).powi(2)).sum::<f64>() / n;
            assert!((average - mean).abs() < 5.0 * (variance / n).sqrt(), "{distribution:?} {average}");
            // The tolerance of the variance suffices because no distribution here has a kurtosis above 12.
            assert!((spread / variance - 1.0).abs() < 0.04, "{distribution:?} {spread}");
        }
    }

    #[test]
    fn packets_keep_their_order_unless_they_may_overtake() {
        // A packet is sent every 1 ms, and delays are 0 or more. If reordering were permitted, nearly every pair of
        // neighbours would swap.
        let (deviation, gap) = (Time::from_millis(30), Time::from_millis(1));
        for distribution in [JitterDistribution::Uniform, JitterDistribution::Normal, JitterDistribution::Pareto] {
            let (kept, is_sorted) = delays(distribution, deviation, false, gap);
            assert!(is_sorted && kept.iter().all(|&delay| delay >= 0.0));
            let (free, is_sorted) = delays(distribution, deviation, true, gap);
            assert!(!is_sorted && free.iter().all(|&delay| delay >= 0.0));
        }
    }

    #[test]
    fn a_detour_delays_what_comes_meanwhile_and_is_overtaken_afterwards() {
        let ms = Time::from_millis;
        let detour = DetourParams { delay: ms(50), from: ms(10), until: Some(ms(30)) };
        let config = Impairments { detour: Some(detour), ..Impairments::default() };
        let mut impairment =
            Impairment::new(Place::Link(0), &config, vec![Time::ZERO], 1, Rng::stream(1, 0, "test", 0));
        let outcomes = [9, 10, 29, 30].map(|at| impairment.enter(SimPacket::BLANK, ms(at)));
        use Outcome::{Passes, Waits};
        assert_eq!(outcomes, [Passes, Waits { is_next: true }, Waits { is_next: false }, Passes]);
        // The packets sent at 10 and 29 ms take the detour of 50 ms, so they arrive after the packet sent at 30 ms.
        let arrivals: Vec<Time> = std::iter::from_fn(|| {
            let next = impairment.next();
            (next < Time::NEVER).then(|| (impairment.take(), next).1)
        })
        .collect();
        assert_eq!(arrivals, [ms(60), ms(79)]);
        assert_eq!(impairment.account(), ImpairmentAccount { entered: 4, passed: 4, lost: 0 });
    }

    #[test]
    fn each_user_has_a_path_of_its_own_behind_the_access_links() {
        let loss = Some(LossConfig::Periodic(PeriodicLossParams { period: 3 }));
        let place = Place::Access { group: 1, first_user: 10 };
        let config = Impairments { loss, ..Impairments::default() };
        let mut impairment = Impairment::new(place, &config, vec![DELAY], 2, Rng::stream(1, 0, "test", 0));
        let mut enter = |user| impairment.enter(SimPacket { user, ..SimPacket::BLANK }, Time::ZERO);
        let outcomes = [10, 10, 11, 10, 11, 11].map(&mut enter);
        use Outcome::{Lost, Passes};
        assert_eq!(outcomes, [Passes, Passes, Passes, Lost, Passes, Lost]);
    }
}
