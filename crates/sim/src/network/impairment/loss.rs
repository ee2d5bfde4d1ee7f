//! Losses: random, in bursts, or periodic.

use crate::scenario::LossConfig;
use fairlane_schemes::base::rng::Rng;

/// State of a loss on one path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossState {
    /// True if the Gilbert-Elliott chain is in its bad state.
    is_bad: bool,
    /// Packets since the last periodic loss.
    count: u32,
}

/// Returns true if the next packet of a path is lost (rules 1 to 3).
pub(super) fn loses(loss: &LossConfig, state: &mut LossState, rng: &mut Rng) -> bool {
    match loss {
        LossConfig::Random(params) => rng.open01() < params.probability.0,
        LossConfig::GilbertElliott(params) => {
            // As in `loss_gilb_ell` of sch_netem.c, the current state applies to this packet. The state after the
            // transition applies to the next packet.
            let (leaves, loss) =
                if state.is_bad { (params.r.0, params.bad_loss.0) } else { (params.p.0, params.good_loss.0) };
            state.is_bad ^= rng.open01() < leaves;
            rng.open01() < loss
        }
        LossConfig::Periodic(params) => {
            state.count = (state.count + 1) % params.period;
            state.count == 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::impairment::Outcome;
    use crate::network::impairment::testing::{PACKETS, arrivals, enter, every_ms, impairment, random, span};
    use crate::network::sim_packet::SimPacket;
    use crate::scenario::{GilbertElliottParams, Impairments, PeriodicLossParams, RandomLossParams, Span};
    use fairlane_schemes::base::units::{Probability, Time};

    fn losses(loss: LossConfig) -> Vec<bool> {
        let mut impairment = impairment(&Impairments { loss: vec![loss], ..Impairments::default() });
        (0..PACKETS).map(|_| enter(&mut impairment, SimPacket::BLANK, Time::ZERO) == Outcome::Lost).collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    #[test]
    fn random_loss_has_its_probability_and_no_memory() {
        // The numbers of losses are binomial. The test allows five standard errors for the share of losses among all
        // packets, and among the packets that follow a loss.
        let p = 0.02;
        let lost = losses(LossConfig::Random(random(p)));
        let error = |n: f64| 5.0 * (p * (1.0 - p) / n).sqrt();
        assert!((share(&lost) - p).abs() < error(f64::from(PACKETS)), "{}", share(&lost));
        let behind: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!((share(&behind) - p).abs() < error(behind.len() as f64), "{}", share(&behind));
        for (probability, lost) in [(0.0, false), (1.0, true)] {
            assert!(losses(LossConfig::Random(random(probability))).iter().all(|&other| other == lost));
        }
    }

    #[test]
    fn gilbert_elliott_loss_has_its_bursts_and_its_rate() {
        let (p, r) = (0.01, 0.2);
        let params = |bad_loss, good_loss| {
            let [p, r, bad_loss, good_loss] = [p, r, bad_loss, good_loss].map(Probability);
            LossConfig::GilbertElliott(GilbertElliottParams { p, r, bad_loss, good_loss, span: Span::default() })
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
        let lost = losses(LossConfig::Periodic(PeriodicLossParams { period: 7, span: Span::default() }));
        assert!(lost.iter().enumerate().all(|(index, &lost)| lost == (index % 7 == 6)));
    }

    #[test]
    fn losses_act_one_after_another() {
        let periodic = |period| LossConfig::Periodic(PeriodicLossParams { period, span: Span::default() });
        let outage = LossConfig::Random(RandomLossParams { span: span(10, 15), ..random(1.0) });
        let arrived = |loss: &[LossConfig]| -> Vec<u32> {
            let config = Impairments { loss: loss.to_vec(), ..Impairments::default() };
            arrivals(&config, every_ms(24)).0.into_iter().map(|(seq, _)| seq).collect()
        };
        // The first loss takes 2, 5, 8 ... of 0 to 23. The second takes the fourth of each four others: 4, 10, 16, 22.
        let expected: Vec<u32> = (0..24).filter(|seq| seq % 3 != 2 && seq % 6 != 4).collect();
        assert_eq!(arrived(&[periodic(3), periodic(4)]), expected);
        // The periodic loss counts the packets that an outage behind it takes, but not those of an outage before it.
        let first: Vec<u32> = (0..10).chain(15..24).filter(|seq| ![6, 18].contains(seq)).collect();
        assert_eq!(arrived(&[outage.clone(), periodic(7)]), first);
        let last: Vec<u32> = (0..10).chain(15..24).filter(|seq| seq % 7 != 6).collect();
        assert_eq!(arrived(&[periodic(7), outage]), last);
    }
}
