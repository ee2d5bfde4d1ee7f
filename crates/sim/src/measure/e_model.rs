//! The E-model: estimates how a listener would rate a call with a given delay and loss.
//!
//! Source: ITU-T G.107 (06/2015), clause 7, annex B. Codec values: ITU-T G.113, appendix I.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (7-1) | `R = Ro - Is - Id - Ie,eff + A`, A = 0 | [`rating`] |
//! | (7-18) | `Id = Idte + Idle + Idd` | [`delay_impairment`] |
//! | (7-19) | `Idte = ((Roe - Re)/2 + sqrt((Roe - Re)^2/4 + 100) - 1) (1 - exp(-T))` | the same |
//! | (7-20) | `Roe = -1.5 (No - RLR)` | [`ROE`] |
//! | (7-21) | `Re = 80 + 2.5 (TERV - 14)` | [`delay_impairment`] |
//! | (7-22) | `TERV = TELR - 40 log10((1 + T/10)/(1 + T/150)) + 6 exp(-0.3 T^2)` | the same |
//! | (7-25) | `Idle = (Ro - Rle)/2 + sqrt((Ro - Rle)^2/4 + 169)` | the same |
//! | (7-26) | `Rle = 10.5 (WEPL + 7) (Tr + 1)^(-0.25)` | the same |
//! | (7-27) | `Idd = 25 ((1 + X^6)^(1/6) - 3 (1 + (X/3)^6)^(1/6) + 2)` above 100 ms, else 0 | the same |
//! | (7-28) | `X = log2(Ta/100)` | the same |
//! | (7-29) | `Ie,eff = Ie + (95 - Ie) Ppl / (Ppl/BurstR + Bpl)`, BurstR = 1 | [`loss_impairment`] |
//! | (B-4) | `MOS = 1 + 0.035 R + R (R - 60) (100 - R) 7e-6` | [`opinion`] |
//!
//! Times are in ms, losses in percent. All other parameters have the defaults of table 2, which give Ro - Is = 93.36,
//! and R = 93.2 without delay and loss. The equations were checked against public implementations, not against the
//! recommendation itself.
//!
//! Cost: one evaluation per call, at the end of a run.
//!
//! Deviations:
//! 1. The delays T (echo path), Ta (connection) and Tr/2 (half of the loop) all equal the mouth-to-ear delay: both
//!    directions have the same delay, and the echo comes from the far end.
//! 2. Losses are treated as random (BurstR = 1), even if they occur in bursts.
//! 3. MOS is at least 1: the formula gives slightly less for R between 0 and 6.5.

use crate::scenario::Codec;
use fairlane_schemes::base::units::Time;

/// Signal-to-noise ratio Ro (7-2): `15 - 1.5 (8 + No)`, where the defaults give the noise No = -61.179 (7-3).
const RO: f64 = 94.768_821;
/// Simultaneous impairment Is (7-8), with the defaults.
const IS: f64 = 1.413_568;
/// (7-20) with RLR = 2.
const ROE: f64 = 94.768_821;
/// Talker echo loudness rating in dB, by table 2. The next constant is the weighted echo path loss in dB.
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;

/// Returns the transmission rating for a mouth-to-ear delay and a share `lost` of packets that are not played.
#[must_use]
pub fn rating(codec: Codec, delay: Time, lost: f64) -> f64 {
    RO - IS - delay_impairment(delay.as_secs_f64() * 1e3) - loss_impairment(codec, 100.0 * lost)
}

/// Id for a delay in ms.
fn delay_impairment(ta: f64) -> f64 {
    let terv = TELR - 40.0 * libm::log10((1.0 + ta / 10.0) / (1.0 + ta / 150.0)) + 6.0 * libm::exp(-0.3 * ta * ta);
    let re = 80.0 + 2.5 * (terv - 14.0);
    let half = (ROE - re) / 2.0;
    let idte = if ta < 1.0 { 0.0 } else { (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - libm::exp(-ta)) };
    let rle = 10.5 * (WEPL + 7.0) * libm::pow(2.0 * ta + 1.0, -0.25);
    let half = (RO - rle) / 2.0;
    let idle = half + (half * half + 169.0).sqrt();
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    let x = libm::log2(ta / 100.0);
    let idd = if ta <= 100.0 { 0.0 } else { 25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0) };
    idte + idle + idd
}

/// Ie,eff for a packet loss in percent.
fn loss_impairment(codec: Codec, ppl: f64) -> f64 {
    let (ie, bpl) = codec.impairment();
    ie + (95.0 - ie) * ppl / (ppl + bpl)
}

/// Mean opinion score of a rating, 1 to 4.5.
#[must_use]
pub fn opinion(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    (1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_rating_is_that_of_the_recommendation() {
        // G.107 clause 7.7: with all defaults R = 93.2, and MOS = 4.41.
        let rating = rating(Codec::G711, Time::ZERO, 0.0);
        assert!((rating - 93.2).abs() < 0.05, "{rating}");
        assert!((opinion(rating) - 4.41).abs() < 0.005);
    }

    #[test]
    fn a_clean_call_of_50_ms_has_the_rating_computed_by_hand() {
        // TERV = 65 - 40 log10(6/1.33333) = 65 - 26.1285 = 38.8715; Re = 142.179; (Roe - Re)/2 = -23.7050;
        // Idte = -23.7050 + sqrt(561.925 + 100) - 1 = 1.0229. Rle = 1228.5/101^0.25 = 387.521; (Ro - Rle)/2 = -146.376;
        // Idle = -146.376 + sqrt(21425.9 + 169) = 0.5761. R = 93.3553 - 1.5991 = 91.7562.
        let rating = rating(Codec::G711, Time::from_millis(50), 0.0);
        assert!((rating - 91.7562).abs() < 2e-4, "{rating}");
        // MOS = 1 + 3.21147 + 91.7562 * 31.7562 * 8.2438 * 7e-6 = 1 + 3.21147 + 0.16815.
        assert!((opinion(rating) - 4.37962).abs() < 2e-5, "{}", opinion(rating));
    }

    #[test]
    fn losses_and_long_delays_cost_what_the_formulas_say() {
        // A loss of 5 % lowers R by 95 * 5/9.3 = 51.075 without concealment, and by 95 * 5/30.1 = 15.781 with
        // concealment. With G.729A it lowers R by 11 + 84 * 5/24 = 28.5.
        for (codec, cost) in [(Codec::G711, 51.0753), (Codec::G711Plc, 15.7807), (Codec::G729a, 28.5)] {
            let clean = rating(Codec::G711, Time::ZERO, 0.0);
            assert!((clean - rating(codec, Time::ZERO, 0.05) - cost).abs() < 1e-3);
        }
        // Ta = 400 ms: X = 2, root(2) = 65^(1/6) = 2.00519, root(2/3) = (1 + 64/729)^(1/6) = 1.01413: Idd = 25 (2.00519
        // - 3.04238 + 2) = 24.07. Idte and Idle are positive and increase with the delay, so R falls by at least 24.07.
        let long = rating(Codec::G711, Time::from_millis(400), 0.0);
        assert!(long < 93.36 - 24.07 && long > 50.0, "{long}");
    }

    #[test]
    fn opinions_stay_between_1_and_4_5() {
        assert_eq!((opinion(-3.0), opinion(0.0), opinion(3.0), opinion(101.0)), (1.0, 1.0, 1.0, 4.5));
        let opinions: Vec<f64> = (0..=100).map(|rating| opinion(f64::from(rating))).collect();
        assert!(opinions.is_sorted());
    }
}
