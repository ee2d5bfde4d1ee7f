//! Variation of a delay.

use crate::scenario::{JitterDistribution, JitterParams};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;

/// Range of netem's distribution tables, in deviations: the largest signed 16-bit number divided by the scale of 8192.
const MOST_DEVIATIONS: f64 = 4.0;

/// Draws the delay of a packet on a path with mean `delay` (rule 4).
pub(super) fn draw_delay(jitter: &JitterParams, delay: Time, rng: &mut Rng) -> Time {
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
    use crate::network::impairment::Impairment;
    use crate::network::impairment::testing::{DELAY, PACKETS, enter, impairment};
    use crate::network::sim_packet::SimPacket;
    use crate::scenario::{Impairments, Span};

    /// Returns the delays of packets that enter at intervals of `gap`, and true if the packets left in order.
    fn delays(distribution: JitterDistribution, deviation: Time, reorder: bool, gap: Time) -> (Vec<f64>, bool) {
        let jitter = Some(JitterParams { deviation, distribution, reorder, span: Span::default() });
        let mut impairment = impairment(&Impairments { jitter, ..Impairments::default() });
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
            enter(&mut impairment, SimPacket { seq, ..SimPacket::BLANK }, now);
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
}
