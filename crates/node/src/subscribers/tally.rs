//! Outcome of RADIUS accounting requests: counters, and at most one log line per second.

use super::radius::Refused;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Minimum time between two log lines.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    kept: u64,
    not_kept: u64,
    discarded: [u64; Refused::ALL.len()],
    passed_over: u64,
}

/// Counters since the start, and at the last report.
#[derive(Debug, Default)]
pub struct Tally {
    now: Counts,
    told: Counts,
    told_at: Option<Instant>,
    /// The last unanswered request, with the reason.
    last: String,
}

impl Tally {
    /// Counts a stored and answered request. `passed_over` is the number of skipped addresses in the request.
    pub fn kept(&mut self, passed_over: u64) {
        self.now.kept += 1;
        self.now.passed_over += passed_over;
    }

    /// Counts a request from `from` that is valid but cannot be fulfilled.
    pub fn not_kept(&mut self, from: impl std::fmt::Display, why: impl std::fmt::Display) {
        self.now.not_kept += 1;
        self.last = format!("{from}: {why}");
    }

    /// Counts a discarded request from `from`.
    pub fn discarded(&mut self, from: impl std::fmt::Display, why: Refused) {
        if let Some(at) = Refused::ALL.iter().position(|reason| *reason == why) {
            self.now.discarded[at] += 1;
        }
        self.last = format!("{from}: {why}");
    }

    /// Time until the next report, if one is pending.
    #[must_use]
    pub fn due_in(&self, now: Instant) -> Option<Duration> {
        let waited = self.told_at.map_or(PAUSE, |at| now.saturating_duration_since(at));
        (self.now != self.told).then(|| PAUSE.saturating_sub(waited))
    }

    /// Returns the pending report: the counters and the log line. The line is empty if all requests were answered.
    /// Returns `None` if the last report was too recent, or if no counter has changed since.
    pub fn tell(&mut self, now: Instant) -> Option<(String, String)> {
        if self.due_in(now) != Some(Duration::ZERO) {
            return None;
        }
        let line = self.line();
        (self.told, self.told_at) = (self.now, Some(now));
        Some((line, self.prometheus()))
    }

    fn line(&self) -> String {
        let mut parts = Vec::new();
        for (at, reason) in Refused::ALL.iter().enumerate() {
            match self.now.discarded[at] - self.told.discarded[at] {
                0 => {}
                count => parts.push(format!("{count} {reason}")),
            }
        }
        let discarded: u64 = self.now.discarded.iter().sum::<u64>() - self.told.discarded.iter().sum::<u64>();
        let not_kept = self.now.not_kept - self.told.not_kept;
        let mut line = String::new();
        if discarded > 0 {
            let _ = write!(line, "discarded {} ({})", requests(discarded), parts.join(", "));
        }
        if not_kept > 0 {
            let and = if line.is_empty() { "" } else { ", " };
            let _ = write!(line, "{and}could not keep {}", requests(not_kept));
        }
        if !line.is_empty() {
            let _ = write!(line, "; the last: {}", self.last);
        }
        line
    }

    /// Counters in the text format of Prometheus.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let name = "fairlane_radius_requests_total";
        let mut text = format!("# HELP {name} Accounting-Requests by what became of them.\n# TYPE {name} counter\n");
        let discarded = Refused::ALL.iter().zip(self.now.discarded).map(|(reason, count)| (reason.label(), count));
        for (result, count) in [("kept", self.now.kept), ("not_kept", self.now.not_kept)].into_iter().chain(discarded) {
            let _ = writeln!(text, "{name}{{result=\"{result}\"}} {count}");
        }
        let name = "fairlane_radius_addresses_passed_over_total";
        let help = "Addresses of kept requests that no subscriber can have.";
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {}", self.now.passed_over);
        text
    }
}

fn requests(count: u64) -> String {
    format!("{count} request{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_line_a_second_and_all_of_it_is_counted() {
        let (mut tally, start) = (Tally::default(), Instant::now());
        assert_eq!((tally.due_in(start), tally.tell(start)), (None, None));
        tally.discarded("192.0.2.7:9", Refused::Stranger);
        let (line, _) = tally.tell(start).unwrap();
        assert_eq!(line, "discarded 1 request (1 from a stranger); the last: 192.0.2.7:9: from a stranger");
        for _ in 0..100_000 {
            tally.discarded("192.0.2.7:9", Refused::Stranger);
        }
        tally.discarded("192.0.2.8:9", Refused::NotAuthentic);
        tally.not_kept("192.0.2.9:9", "no place");
        tally.kept(2);
        let half = start + Duration::from_millis(400);
        assert_eq!((tally.due_in(half), tally.tell(half)), (Some(Duration::from_millis(600)), None));
        let (line, counters) = tally.tell(start + PAUSE).unwrap();
        assert_eq!(
            line,
            "discarded 100001 requests (100000 from a stranger, 1 not authentic), could not keep 1 request; the last: \
             192.0.2.9:9: no place"
        );
        for count in [
            "{result=\"stranger\"} 100001",
            "{result=\"not_authentic\"} 1",
            "{result=\"kept\"} 1",
            "{result=\"name\"} 0",
        ] {
            assert!(counters.contains(count), "{count}: {counters}");
        }
        assert!(counters.ends_with("fairlane_radius_addresses_passed_over_total 2\n"), "{counters}");
        // If all requests are answered, nothing is logged, only counted.
        tally.kept(0);
        assert_eq!(tally.tell(start + 2 * PAUSE).unwrap().0, "");
        assert_eq!(tally.tell(start + 9 * PAUSE), None);
    }
}
