//! Notes: what a reader of results ought to know about a scenario that is valid. They follow from the scenario alone.

use super::{GroupConfig, Scenario, SourceConfig, TcpConfig};
use fairlane_schemes::base::units::{BitRate, Time};
use std::fmt;

/// Slow for the simulator; see docs/benchmarks.md.
const PACKETS_PER_SECOND: f64 = 1e6;

/// Something to know about a valid scenario, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Path of the key that it is about, such as `groups[0].start_until`.
    pub key: String,
    /// What to know: the value, what follows from it, and what would avoid that.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.text)
    }
}

impl Scenario {
    /// What a reader of the results ought to know.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        self.late_starts().into_iter().chain(self.early_stops()).chain(self.long_runs()).collect()
    }

    /// A note if a run takes hours: a valid scenario may ask for years of computing.
    #[must_use]
    pub fn long_runs(&self) -> Option<Note> {
        let (mut total, mut largest, mut key) = (0.0, 0.0, String::new());
        for (index, group) in self.groups.iter().enumerate() {
            for (number, source) in group.sources.iter().enumerate() {
                let packets = self.expected_packets(group, source);
                total += packets;
                if packets > largest {
                    (largest, key) = (packets, format!("groups[{index}].sources[{number}]"));
                }
            }
        }
        let hours = total / PACKETS_PER_SECOND / 3600.0;
        let text = format!(
            "this source sends most of about {total:.1e} packets of each run: at a million a second that takes {} hours",
            hours.round()
        );
        (hours >= 1.0).then_some(Note { key, text })
    }

    /// Rate at the start of the slowest link that a group crosses.
    pub(crate) fn slowest_link(&self, group: &GroupConfig) -> BitRate {
        let rates = group.route.iter().map(|&link| self.topology.links[link as usize].params.rate);
        rates.min().expect("a route has links")
    }

    /// About how many packets a source of a group sends, transfers counted as one each.
    fn expected_packets(&self, group: &GroupConfig, source: &SourceConfig) -> f64 {
        let users = f64::from(group.params.users);
        let seconds = self.run.end().saturating_sub(group.params.start_from).as_secs_f64();
        // What the slowest link carries.
        let most = |tcp: &TcpConfig| {
            let links = group.route.iter().map(|&link| self.topology.links[link as usize].params.rate.as_f64());
            let access = group.params.access_rate.unwrap_or(self.topology.access.access_rate).as_f64();
            let rate = links.fold(users * access, f64::min);
            seconds * rate / 8.0 / f64::from(tcp.params.segment_payload)
        };
        match source {
            SourceConfig::Udp(udp) => users * seconds * udp.mean_rate_bps() / 8.0 / udp.packet_size().0 as f64,
            SourceConfig::Web { web, .. } => {
                let started = web.interval.map_or(0.0, |interval| seconds / interval.as_secs_f64());
                let sessions = web.sessions.map_or(started, f64::from);
                users * sessions * f64::from(web.pages) * f64::from(web.objects)
            }
            SourceConfig::Transfers { transfers, tcp } => {
                let interval = transfers.interval(tcp, group.params.users, self.slowest_link(group));
                users * seconds / interval.as_secs_f64()
            }
            SourceConfig::Video { video, tcp } => {
                let highest = video.ladder.last().map_or(0.0, |rate| rate.as_f64());
                users * seconds * highest / 8.0 / f64::from(tcp.params.segment_payload)
            }
            SourceConfig::Rpm { tcp, .. } => most(tcp),
            SourceConfig::Tcp { flows, tcp } => {
                let payload = flows.transfer.map_or(f64::INFINITY, |transfer| transfer.0 as f64);
                let segments = (payload / f64::from(tcp.params.segment_payload)).ceil();
                most(tcp).min(users * f64::from(flows.flows) * f64::from(flows.repeat) * segments)
            }
        }
    }

    /// Sources that stop before the end make means smaller than what they got while they sent.
    fn early_stops(&self) -> Option<Note> {
        let sources = self.groups.iter().enumerate().flat_map(|(index, group)| {
            group.sources.iter().enumerate().map(move |(number, source)| (index, number, source.stop()))
        });
        let stops: Vec<_> = sources.filter(|(_, _, stop)| *stop < Time::NEVER).collect();
        let (&(group, source, stop), others) = stops.split_first()?;
        let others = match others.len() {
            0 => String::new(),
            1 => " (and so does 1 other source)".into(),
            count => format!(" (and so do {count} other sources)"),
        };
        let end = self.run.end();
        let text = format!(
            "\"{stop}\" is before the end of the run, {end}{others}: means include the time in which the source is silent, and \
             max-min shares do not know of it"
        );
        Some(Note { key: format!("groups[{group}].sources[{source}].stop"), text })
    }

    /// Flows that start while it is measured make means smaller than what they get once all of them send.
    fn late_starts(&self) -> Option<Note> {
        let warmup = self.run.warmup;
        let is_late = |group: &GroupConfig| {
            group.params.start_until > warmup && group.sources.iter().any(SourceConfig::sends_to_the_end)
        };
        let late: Vec<usize> = (0..self.groups.len()).filter(|&index| is_late(&self.groups[index])).collect();
        let (&first, others) = late.split_first()?;
        let until = self.groups[first].params.start_until;
        let others = match others.len() {
            0 => String::new(),
            1 => " (and so in 1 other group)".into(),
            count => format!(" (and so in {count} other groups)"),
        };
        let text = format!(
            "\"{until}\" is after the warm-up of {warmup}{others}: flows start while it is measured, and means include \
             the time before; a longer run.warmup or an earlier start_until avoids that"
        );
        Some(Note { key: format!("groups[{first}].start_until"), text })
    }
}
