//! A policer: drops packets above a rate.

use crate::scenario::PolicerParams;
use fairlane_schemes::base::units::{BitRate, Bytes, Time};

/// The buckets of a path's policer after the last packet that passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policed {
    passed: Time,
    /// Time in which the bucket's rate transmits its content.
    tokens: Time,
    /// The same for the second bucket.
    peak_tokens: Time,
}

impl Policed {
    /// Returns true if the buckets hold the tokens of a packet, and takes them (rule 12).
    pub(super) fn takes(last: &mut Option<Self>, params: &PolicerParams, bytes: u32, now: Time) -> bool {
        if !params.span.has(now) {
            return true;
        }
        let filled = |tokens: Option<Time>, rate: BitRate, burst: Bytes| {
            let full = rate.time_of(burst.0);
            let held = tokens.map_or(full, |tokens| tokens.saturating_add(now - last.map_or(now, |last| last.passed)));
            held.min(full).0.checked_sub(rate.time_of(bytes.into()).0).map(Time)
        };
        let tokens = filled(last.map(|last| last.tokens), params.rate, params.burst);
        let peak = params.peak().map(|(rate, burst)| filled(last.map(|last| last.peak_tokens), rate, burst));
        let (Some(tokens), Some(peak_tokens)) = (tokens, peak.unwrap_or(Some(Time::ZERO))) else { return false };
        *last = Some(Self { passed: now, tokens, peak_tokens });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::impairment::testing::{PACKETS, arrivals, every_ms, span};
    use crate::scenario::{Impairments, Span};
    use fairlane_schemes::base::rng::Rng;

    /// Virtual scheduling algorithm of ITU-T I.371, a bucket without tokens: the expected time after a packet of 1500
    /// bytes, or `None` if it does not conform.
    fn conforms(expected: Time, now: Time, (rate, burst): (BitRate, Bytes)) -> Option<Time> {
        let next = expected.max(now) + rate.time_of(1500);
        (next <= now + rate.time_of(burst.0)).then_some(next)
    }

    #[test]
    fn a_policer_passes_what_its_buckets_hold() {
        let (rate, burst) = (BitRate(12_000_000), Bytes(15_000));
        let policer = |peak_rate, peak_burst, span| {
            let policer = Some(PolicerParams { rate, burst, peak_rate, peak_burst, span });
            Impairments { policer, ..Impairments::default() }
        };
        let passed = |config: &Impairments, times: &[Time]| arrivals(config, times.iter().copied()).0;
        let single = policer(None, None, Span::default());
        // 10 of 20 packets at once; then one each ms is the rate.
        let mut times = vec![Time::ZERO; 20];
        times.extend(every_ms(50).skip(1));
        assert_eq!(passed(&single, &times).len(), 10 + 49);
        // A pause fills the bucket, but not above its size.
        let times = [[0; 15], [5; 15], [1000; 15]].concat().into_iter().map(Time::from_millis).collect::<Vec<_>>();
        assert_eq!(passed(&single, &times).len(), 10 + 5 + 10);
        // Outside its span, a policer has no effect.
        assert_eq!(passed(&policer(None, None, span(1000, 2000)), &times).len(), 15 + 15 + 10);
        let (peak_rate, peak_burst) = (BitRate(30_000_000), Bytes(3000));
        let double = policer(Some(peak_rate), Some(peak_burst), Span::default());
        let mut rng = Rng::stream(1, 0, "arrivals", 0);
        let (mut now, mut times) = (Time::ZERO, Vec::new());
        for _ in 0..PACKETS / 10 {
            now += Time((rng.open01() * 1.5e9) as u64);
            times.push(now);
        }
        for (config, buckets) in [(single, vec![(rate, burst)]), (double, vec![(rate, burst), (peak_rate, peak_burst)])]
        {
            let mut expected = vec![Time::ZERO; buckets.len()];
            let conforming = times.iter().filter(|&&now| {
                let next = expected.iter().zip(&buckets).map(|(&expected, &bucket)| conforms(expected, now, bucket));
                next.collect::<Option<Vec<_>>>().map(|next| expected = next).is_some()
            });
            let conforming: Vec<Time> = conforming.copied().collect();
            assert_eq!(passed(&config, &times).into_iter().map(|(_, at)| at).collect::<Vec<_>>(), conforming);
            assert!((conforming.len() as f64) < 0.9 * f64::from(PACKETS / 10));
        }
    }
}
