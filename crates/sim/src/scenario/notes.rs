//! What to know about a scenario that is valid.

use super::{GroupConfig, Scenario, SourceConfig};
use fairlane_schemes::note::{Note, Notes};

/// Slow for the simulator; see docs/benchmarks.md.
const PACKETS_PER_SECOND: f64 = 1e6;

impl Scenario {
    /// What a reader of the results ought to know, each thing once: of the queues, then of the groups.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for (index, link) in self.topology.links.iter().enumerate() {
            let of_link = match &link.queue {
                Some(queue) => queue.notes(&format!("topology.links[{index}].queue"), link.params.rate),
                None => self.queue.notes("queue", link.params.rate),
            };
            for note in of_link {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        notes.extend(self.late_starts());
        notes.extend(self.long_runs());
        notes
    }

    /// What to know if a run takes hours: a valid scenario may ask for years of computing.
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

    /// About how many packets a source of a group sends, transfers counted as one each.
    fn expected_packets(&self, group: &GroupConfig, source: &SourceConfig) -> f64 {
        let users = f64::from(group.params.users);
        let seconds = self.run.end().saturating_sub(group.params.start_from).as_secs_f64();
        match source {
            SourceConfig::Udp(udp) => users * seconds * udp.mean_rate_bps() / 8.0 / udp.packet_size().0 as f64,
            SourceConfig::Web { web, .. } => {
                let started = web.interval.map_or(0.0, |interval| seconds / interval.as_secs_f64());
                let sessions = web.sessions.map_or(started, f64::from);
                users * sessions * f64::from(web.pages) * f64::from(web.objects)
            }
            SourceConfig::Tcp { flows, tcp } => {
                let links = group.route.iter().map(|&link| self.topology.links[link as usize].params.rate.as_f64());
                let access = group.params.access_rate.unwrap_or(self.topology.access.access_rate).as_f64();
                let rate = links.fold(users * access, f64::min);
                let most = seconds * rate / 8.0 / f64::from(tcp.params.segment_payload);
                let payload = flows.transfer.map_or(f64::INFINITY, |transfer| transfer.0 as f64);
                let segments = (payload / f64::from(tcp.params.segment_payload)).ceil();
                most.min(users * f64::from(flows.flows) * f64::from(flows.repeat) * segments)
            }
        }
    }

    /// Flows that start while it is measured make means smaller than what they get once all of them send.
    fn late_starts(&self) -> Vec<Note> {
        let warmup = self.run.warmup;
        let is_late = |group: &GroupConfig| {
            group.params.start_until > warmup && group.sources.iter().any(SourceConfig::sends_to_the_end)
        };
        let late: Vec<usize> = (0..self.groups.len()).filter(|&index| is_late(&self.groups[index])).collect();
        let Some((&first, others)) = late.split_first() else { return Vec::new() };
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
        let mut notes = Notes::about(format!("groups[{first}]"));
        notes.add("start_until", text);
        notes.into_vec()
    }
}
