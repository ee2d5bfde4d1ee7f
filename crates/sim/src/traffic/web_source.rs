//! Web sessions: start times and sizes of a user's short transfers (afpft III-E, afc 4.4).
//!
//! Sources are open-loop: a transfer starts at its time, even if earlier ones have not ended. A session uses memory
//! from its start to its last object. So a source's memory grows with the number of concurrent sessions, not with time.

use crate::scenario::{RpmParams, SizeCdf, SizeDistribution, TransfersConfig, TransfersParams, WebParams};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::contract::packet::TrafficClass;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A session that has further objects. Sessions are ordered by the time of their next object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Session {
    next: Time,
    /// Number of the session in order of starts. It decides the order of sessions with equal `next`.
    number: u64,
    objects_left: u32,
    pages_left: u32,
}

/// Sessions of one user.
#[derive(Clone, Debug)]
pub struct WebSource {
    params: WebParams,
    /// Unit of sizes: payload of a TCP segment, or a byte.
    unit: f64,
    /// Size distribution that replaces that of `params`.
    cdf: Option<SizeCdf>,
    next_session: Time,
    /// Number of sessions still to start, if it is fixed. The next field is the latest start of a session.
    sessions_left: u64,
    until: Time,
    /// Time from which no transfer starts.
    stop: Time,
    started: u64,
    under_way: BinaryHeap<Reverse<Session>>,
    rng: Rng,
    /// User that the source belongs to.
    pub user: u32,
    /// Index of the source's TCP parameters.
    pub tcp: u32,
    /// Class of the source's packets.
    pub class: TrafficClass,
    /// Number of ingress nodes of the user.
    pub ingresses: u32,
    /// First of the ingress nodes.
    pub first_ingress: u16,
    /// Load-generating flows, if the source's transfers are the probes of a test of responsiveness; else empty.
    pub load: Range<u32>,
    /// Number of the source's open transfers.
    pub open: u32,
    /// Number of started transfers, which use the user's ingress nodes in turn.
    pub transfers: u64,
    /// Bytes on the wire of transfers started during the measurement: payload and headers of their segments.
    pub measured_wire_bytes: u64,
}

impl WebSource {
    /// Creates a source whose sessions start from `from` on. If their number is fixed, all of them start by `until`.
    /// `segment_payload` is the payload of a TCP segment.
    #[must_use]
    pub fn new(params: &WebParams, segment_payload: u32, (from, until): (Time, Time), rng: Rng) -> Self {
        let mut source = Self {
            params: params.clone(),
            unit: if params.whole_segments { f64::from(segment_payload) } else { 1.0 },
            cdf: None,
            next_session: from,
            sessions_left: params.sessions.map_or(u64::MAX, u64::from),
            until,
            stop: params.until.stop.unwrap_or(Time::NEVER),
            started: 0,
            under_way: BinaryHeap::new(),
            rng,
            user: 0,
            tcp: 0,
            class: TrafficClass::BestEffort,
            ingresses: 1,
            first_ingress: 0,
            load: 0..0,
            open: 0,
            transfers: 0,
            measured_wire_bytes: 0,
        };
        source.schedule_session();
        source
    }

    /// Creates a source of transfers with a size distribution. Each transfer is a session. The mean time between two
    /// starts is `interval`.
    #[must_use]
    pub fn of_transfers(config: &TransfersConfig, interval: Time, from: Time, rng: Rng) -> Self {
        let TransfersParams { limit, until, .. } = config.params.clone();
        let params =
            WebParams { interval: Some(interval), whole_segments: false, limit, until, ..WebParams::default() };
        Self { cdf: Some(config.sizes()), ..Self::new(&params, 1, (from, from), rng) }
    }

    /// Creates a source of probes of one byte, for a test of responsiveness with the flows `load` as its load.
    #[must_use]
    pub fn of_probes(rpm: &RpmParams, load: Range<u32>, from: Time, rng: Rng) -> Self {
        let params = WebParams {
            interval: Some(rpm.interval),
            size: Bytes(1),
            distribution: SizeDistribution::Constant,
            whole_segments: false,
            until: rpm.until.clone(),
            ..WebParams::default()
        };
        Self { load, ..Self::new(&params, 1, (from, from), rng) }
    }

    /// Draws one of the load-generating flows, if there are any.
    pub fn draw_load(&mut self) -> Option<u32> {
        let flows = self.load.end - self.load.start;
        (flows > 0).then(|| self.load.start + (self.rng.bits() % u64::from(flows)) as u32)
    }

    /// Parameters.
    #[must_use]
    pub fn params(&self) -> &WebParams {
        &self.params
    }

    /// Time of the next transfer; [`Time::NEVER`] after the last.
    #[must_use]
    pub fn next(&self) -> Time {
        let next = self.under_way.peek().map_or(Time::NEVER, |Reverse(session)| session.next).min(self.next_session);
        if next < self.stop { next } else { Time::NEVER }
    }

    /// Payload of the transfer that starts now, at [`WebSource::next`].
    pub fn start_transfer(&mut self) -> u64 {
        let session = match self.under_way.peek() {
            Some(Reverse(session)) if session.next <= self.next_session => {
                let session = *session;
                self.under_way.pop();
                session
            }
            _ => self.start_session(),
        };
        self.proceed(session);
        self.draw_size()
    }

    fn start_session(&mut self) -> Session {
        let session = Session {
            next: self.next_session,
            number: self.started,
            objects_left: self.params.objects,
            pages_left: self.params.pages,
        };
        self.started += 1;
        self.sessions_left -= 1;
        self.schedule_session();
        session
    }

    fn schedule_session(&mut self) {
        self.next_session = match self.params.interval {
            _ if self.sessions_left == 0 => Time::NEVER,
            Some(interval) => self.next_session.saturating_add(self.exponential(interval)),
            // The minimum of n uniform numbers is distributed as 1 - U^(1/n), so start times can be drawn in order,
            // without a list.
            None => {
                let left = self.until.saturating_sub(self.next_session).0 as f64;
                let least = 1.0 - libm::pow(self.rng.open01(), 1.0 / self.sessions_left as f64);
                self.next_session + Time((left * least) as u64)
            }
        };
    }

    /// Schedules the next object of a session after one has started.
    fn proceed(&mut self, mut session: Session) {
        session.objects_left -= 1;
        let mut wait = self.params.object_interval;
        if session.objects_left == 0 {
            session.pages_left -= 1;
            if session.pages_left == 0 {
                return;
            }
            session.objects_left = self.params.objects;
            wait = self.params.page_interval;
        }
        session.next = session.next.saturating_add(self.exponential(wait));
        self.under_way.push(Reverse(session));
    }

    fn exponential(&mut self, mean: Time) -> Time {
        Time(self.rng.exponential(mean.0 as f64) as u64)
    }

    /// Draws a payload in bytes: whole units, at least one.
    fn draw_size(&mut self) -> u64 {
        if let Some(cdf) = &self.cdf {
            return cdf.quantile(self.rng.open01()).ceil().max(1.0) as u64;
        }
        let (mean, shape) = (self.params.size.0 as f64, self.params.shape);
        let size = match self.params.distribution {
            SizeDistribution::Pareto => self.rng.pareto(mean, shape),
            SizeDistribution::Lomax => self.rng.lomax(mean, shape),
            SizeDistribution::Exponential => self.rng.exponential(mean),
            SizeDistribution::Constant => mean,
        };
        ((size / self.unit).ceil().max(1.0) * self.unit) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rng() -> Rng {
        Rng::stream(1, 0, "web", 0)
    }

    fn transfers(source: &mut WebSource, end: Time) -> Vec<(Time, u64)> {
        let mut transfers = Vec::new();
        while source.next() < end {
            let time = source.next();
            transfers.push((time, source.start_transfer()));
        }
        transfers
    }

    fn afpft() -> WebParams {
        WebParams { interval: Some(Time::from_millis(40)), ..WebParams::default() }
    }

    #[test]
    fn sessions_arrive_as_a_poisson_process() {
        // afpft III-E: 25 transfers start per second. Counts per second have a mean and a variance of 25. Over n
        // seconds, the standard error of the mean is sqrt(25/n), and that of the variance is about 25 sqrt(2/n). The
        // test allows five standard errors.
        let seconds = 4000;
        let mut source = WebSource::new(&afpft(), 960, (Time::ZERO, Time::ZERO), rng());
        let mut counts = vec![0.0f64; seconds];
        for (time, _) in transfers(&mut source, Time::from_secs(seconds as u64)) {
            counts[(time.0 / Time::PER_SECOND) as usize] += 1.0;
        }
        let n = seconds as f64;
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - 25.0).abs() < 5.0 * (25.0 / n).sqrt(), "{mean}");
        assert!((variance - 25.0).abs() < 5.0 * 25.0 * (2.0 / n).sqrt(), "{variance}");
        assert_eq!(source.under_way.len(), 0);
    }

    #[test]
    fn sizes_are_whole_segments_with_the_tail_of_pareto() {
        // With a mean of 30 kB and a shape of 1.3, the minimum size is 6923 B, so a transfer has at least 8 segments of
        // 960 B. The probability of more than 96 000 B is (6923/96000)^1.3 = 0.0328. The tolerance is five standard
        // errors.
        let mut source = WebSource::new(&afpft(), 960, (Time::ZERO, Time::ZERO), rng());
        let sizes: Vec<u64> = transfers(&mut source, Time::from_secs(4000)).iter().map(|&(_, size)| size).collect();
        assert!(sizes.iter().all(|size| size % 960 == 0 && *size >= 8 * 960));
        let n = sizes.len() as f64;
        let tail = (30_000.0 * 0.3 / 1.3 / 96_000.0f64).powf(1.3);
        let share = sizes.iter().filter(|&&size| size > 96_000).count() as f64 / n;
        assert!((share - tail).abs() < 5.0 * (tail / n).sqrt(), "{share} {tail}");
        let constant = WebParams { distribution: SizeDistribution::Constant, whole_segments: false, ..afpft() };
        let mut source = WebSource::new(&constant, 960, (Time::ZERO, Time::ZERO), rng());
        assert_eq!(source.start_transfer(), 30_000);
    }

    #[test]
    fn exponential_sizes_offer_the_load_that_rounding_up_gives() {
        // For a mean of m = 15 segments, E[ceil(X)] = 1/(1 - e^(-1/m)) = 15.5 segments, with a standard error of
        // m/sqrt(n). The test allows five standard errors.
        let params = WebParams { distribution: SizeDistribution::Exponential, size: Bytes(14_400), ..afpft() };
        let mut source = WebSource::new(&params, 960, (Time::ZERO, Time::ZERO), rng());
        let sizes = transfers(&mut source, Time::from_secs(4000));
        let n = sizes.len() as f64;
        let mean = sizes.iter().map(|&(_, size)| size as f64).sum::<f64>() / n / 960.0;
        let expected = 1.0 / (1.0 - (-1.0 / 15.0f64).exp());
        assert!((mean - expected).abs() < 5.0 * 15.0 / n.sqrt(), "{mean} {expected}");
    }

    #[test]
    fn a_fixed_number_of_sessions_starts_uniformly_in_its_window() {
        // afc 4.4: w sessions start in [0, 250 s]. All of them start, about a tenth in each tenth of the time. The
        // tolerance is five standard errors.
        let params = WebParams { sessions: Some(10_000), ..WebParams::default() };
        let window = (Time::from_secs(10), Time::from_secs(260));
        let mut source = WebSource::new(&params, 960, window, rng());
        let starts = transfers(&mut source, Time::NEVER);
        assert_eq!(starts.len(), 10_000);
        assert!(starts.is_sorted_by_key(|&(time, _)| time));
        assert!(starts[0].0 >= window.0 && starts[9999].0 <= window.1);
        for tenth in 0..10 {
            let within = |time: Time| (time.as_secs_f64() - 10.0) / 25.0;
            let count = starts.iter().filter(|&&(time, _)| within(time) as usize == tenth).count() as f64;
            assert!((count - 1000.0).abs() < 5.0 * (1000.0f64 * 0.9).sqrt(), "{tenth}: {count}");
        }
    }

    #[test]
    fn a_session_has_its_pages_and_objects() {
        // 4 pages of 3 objects have 11 gaps, 3 with a mean of 1 s and 8 with a mean of 10 ms. So the mean time from the
        // first to the last object is 3.08 s.
        let params = WebParams { interval: Some(Time::from_secs(10)), pages: 4, objects: 3, ..WebParams::default() };
        let mut source = WebSource::new(&params, 960, (Time::ZERO, Time::ZERO), rng());
        let mut spans = Vec::new();
        let mut first = std::collections::HashMap::new();
        while source.next() < Time::from_secs(40_000) {
            let now = source.next();
            let next = source.under_way.peek().map(|Reverse(session)| *session).filter(|session| session.next == now);
            let number = next.map_or(source.started, |session| session.number);
            let start = *first.entry(number).or_insert(now);
            if next.is_some_and(|session| (session.pages_left, session.objects_left) == (1, 1)) {
                spans.push((now - start).as_secs_f64());
            }
            source.start_transfer();
        }
        let n = spans.len() as f64;
        let mean = spans.iter().sum::<f64>() / n;
        // The variance of the time from the first to the last object is 3 * 1 + 8 * 0.0001 s^2.
        assert!((mean - 3.08).abs() < 5.0 * (3.0008 / n).sqrt(), "{mean}");
        assert!((n - 4000.0).abs() < 5.0 * 4000f64.sqrt(), "{n}");
    }

    #[test]
    fn sessions_under_way_are_all_that_is_kept() {
        // 10 sessions start per second and last 9 s from the first to the last page. By Little's law 90 sessions are
        // open on average. The number of open sessions is Poisson-distributed, with a standard deviation of 9.5. The
        // test allows six standard deviations.
        let params = WebParams { interval: Some(Time::from_millis(100)), pages: 10, ..WebParams::default() };
        let mut source = WebSource::new(&params, 960, (Time::ZERO, Time::ZERO), rng());
        let mut most = 0;
        while source.next() < Time::from_secs(2000) {
            source.start_transfer();
            most = most.max(source.under_way.len());
        }
        assert!((90..147).contains(&most), "{most}");
    }
}
