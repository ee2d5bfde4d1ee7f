//! Notes: caveats on the results of a valid scenario. They depend only on the scenario.

use super::groups::least_rtt;
use super::impairments::{OF_LINK, Spanned};
use super::{AccessNetwork, Direction, GroupConfig, Scenario, SourceConfig, TcpConfig};
use crate::traffic::tcp::{CongestionControl, TcpParams};
use fairlane_schemes::base::config::shortened;
use fairlane_schemes::base::units::{BitRate, Bytes, QueueLimit, Time};
use fairlane_schemes::fairqueue::htb::HtbParams;
use fairlane_schemes::registry::schemes::{Scheme, SchemeParams};
use std::fmt;

/// Low estimate of the simulator's speed; see docs/benchmarks.md.
const PACKETS_PER_SECOND: f64 = 1e6;

/// A caveat on a valid scenario, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Path of the key that the note concerns, such as `groups[0].start_until`.
    pub key: String,
    /// Text: the value, its consequence, and how to avoid it.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.text)
    }
}

impl Scenario {
    /// Caveats on the results.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let of_marks = [self.sources_deaf_to_marks(), self.sources_never_marked()].into_iter().flatten();
        let of_times = self.late_starts().into_iter().chain(self.early_stops());
        let of_tree = self.access_notes().into_iter().chain(self.short_buffers());
        let of_buffers = self.too_small_for_a_packet().into_iter().chain(self.small_socket_buffers());
        let of_network = self.late_changes().into_iter().chain(of_tree);
        of_times.chain(of_network).chain(of_marks).chain(of_buffers).chain(self.long_runs()).collect()
    }

    /// Returns a note if a run takes hours, because a valid scenario may need years of computing.
    #[must_use]
    pub fn long_runs(&self) -> Option<Note> {
        let (mut total, mut largest, mut key) = (0.0, 0.0, String::new());
        for (index, group) in self.groups.iter().enumerate() {
            for (number, source) in group.sources.iter().enumerate() {
                let packets = self.expected_packets(group, number, source);
                total += packets;
                if packets > largest {
                    (largest, key) = (packets, format!("groups[{index}].sources[{number}]"));
                }
            }
        }
        let hours = total / PACKETS_PER_SECOND / 3600.0;
        let text = format!(
            "this source sends most of about {total:.1e} packets of each run: at a million a second that takes {} \
             hours",
            hours.round()
        );
        (hours >= 1.0).then_some(Note { key, text })
    }

    /// Initial rate of the slowest link of a route.
    pub(crate) fn slowest_link(&self, route: &[u32]) -> BitRate {
        let rates = route.iter().map(|&link| self.topology.links[link as usize].params.rate);
        rates.min().expect("a route has links")
    }

    /// Approximate number of packets that a source of a group sends. Each transfer of `web` and `transfers` counts as
    /// one packet.
    fn expected_packets(&self, group: &GroupConfig, number: usize, source: &SourceConfig) -> f64 {
        let slowest = self.slowest_link(group.route_of(number));
        let users = f64::from(group.params.users);
        let seconds = self.run.end().saturating_sub(group.params.start_from).as_secs_f64();
        // Number of segments that the slowest link can carry.
        let most = |tcp: &TcpConfig| {
            let access = group.params.access_rate.unwrap_or(self.topology.access.access_rate).as_f64();
            let rate = slowest.as_f64().min(users * access);
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
                let interval = transfers.interval(tcp, group.params.users, slowest);
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

    /// Returns the TCP sources for which `holds` returns true, as pairs of group and source index.
    fn tcp_sources(&self, holds: impl Fn(&GroupConfig, &TcpParams) -> bool) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (index, group) in self.groups.iter().enumerate() {
            let sources = group.sources.iter().enumerate();
            let wanted = sources.filter(|(_, source)| source.tcp().is_some_and(|tcp| holds(group, &tcp.params)));
            found.extend(wanted.map(|(number, _)| (index, number)));
        }
        found
    }

    /// Returns a note about senders that need ECN but have it disabled.
    fn sources_deaf_to_marks(&self) -> Option<Note> {
        let needs = |control| matches!(control, CongestionControl::Dctcp | CongestionControl::Prague);
        let deaf = self.tcp_sources(|_, tcp| !tcp.ecn && needs(tcp.congestion_control));
        let (&(group, source), others) = deaf.split_first()?;
        let tcp = self.groups[group].sources[source].tcp()?;
        let text = format!(
            "\"{}\" answers marks only with ecn = true, which is false here{}: without marks it is little else than \
             Reno",
            tcp.params.control_name(),
            and_others(others.len(), "and in")
        );
        Some(Note { key: format!("groups[{group}].sources[{source}].congestion_control"), text })
    }

    /// Returns a note about senders with ECN on routes without a queue that marks.
    fn sources_never_marked(&self) -> Option<Note> {
        let links = &self.topology.links;
        let marks: Vec<bool> = links.iter().map(|link| link.queue.as_ref().unwrap_or(&self.queue).marks()).collect();
        // On an access network `route` is valid only for the first user of the group.
        let marks_on = |group: &GroupConfig| match &self.topology.tree {
            Some(_) => marks.contains(&true),
            None => group.route.iter().any(|&link| marks[link as usize]),
        };
        let unmarked = self.tcp_sources(|group, tcp| tcp.ecn && !marks_on(group));
        let (&(group, source), others) = unmarked.split_first()?;
        let text =
            format!("true changes nothing{}: no queue on the way marks packets", and_others(others.len(), "nor in"));
        Some(Note { key: format!("groups[{group}].sources[{source}].ecn"), text })
    }

    /// Returns a note about senders limited by their socket buffer: the buffer, not the congestion control, determines
    /// their throughput.
    fn small_socket_buffers(&self) -> Option<Note> {
        // On an access network each user has a separate path.
        if self.topology.tree.is_some() {
            return None;
        }
        let mut small = Vec::new();
        for (index, group) in self.groups.iter().enumerate() {
            for (number, source) in group.sources.iter().enumerate() {
                let Some(tcp) = source.tcp().filter(|_| source.has_endless_flows()) else { continue };
                let (path, queue) = self.room(group, number, &tcp.params);
                if tcp.params.socket_buffer.0 < path + queue {
                    small.push((index, number, tcp.params.socket_buffer, path, queue));
                }
            }
        }
        let (&(group, source, socket_buffer, path, queue), others) = small.split_first()?;
        let queue = if queue > 0 { format!(", its full queue {}", Bytes(queue)) } else { String::new() };
        let text = format!(
            "\"{socket_buffer}\" may limit a flow{}: the path holds {} of payload{queue}; a larger socket_buffer \
             leaves that to the congestion control",
            and_others(others.len(), "and in"),
            Bytes(path),
        );
        Some(Note { key: format!("groups[{group}].sources[{source}].socket_buffer"), text })
    }

    /// Returns the payload in flight on a source's path while its queues are empty, and the additional payload in the
    /// full drop-tail queue of its slowest link. Other schemes keep their queues far below the limit.
    fn room(&self, group: &GroupConfig, number: usize, tcp: &TcpParams) -> (u64, u64) {
        let packet = tcp.segment_payload + tcp.header_bytes;
        let payload = |bytes: u64| {
            u64::try_from(u128::from(bytes) * u128::from(tcp.segment_payload) / u128::from(packet)).unwrap_or(u64::MAX)
        };
        let held = |limit: QueueLimit| match limit {
            QueueLimit::Packets(packets) => u64::from(packets) * u64::from(packet),
            QueueLimit::Bytes(bytes) => bytes,
        };
        let links = group.route_of(number).iter().map(|&link| {
            let link = &self.topology.links[link as usize];
            let queue = link.queue.as_ref().unwrap_or(&self.queue);
            let is_plain = queue.scheme() == Some(Scheme::DropTail);
            (link.params.rate, if is_plain { held(queue.buffer.limit) } else { 0 })
        });
        let access = &self.topology.access;
        let access = (group.params.access_rate.unwrap_or(access.access_rate), held(access.access_limit));
        let (rate, queue) = links.chain([access]).min_by_key(|&(rate, _)| rate).unwrap_or(access);
        let longest = group.access_delays.iter().max().copied().unwrap_or_default();
        let rtt = least_rtt(&group.params, &group.route, &self.topology) + Time(2 * longest.0);
        (payload((rate.as_f64() / 8.0 * rtt.as_secs_f64()) as u64), payload(queue))
    }

    /// Returns a note about a queue that is smaller than a maximum-size packet of a source, and so drops all such
    /// packets.
    fn too_small_for_a_packet(&self) -> Option<Note> {
        let (links, access) = (&self.topology.links, self.topology.access.access_limit);
        let queues = |group: &GroupConfig| -> Vec<(String, QueueLimit)> {
            let own = |&link: &u32| match &links[link as usize].queue {
                // On a tree, queues are configured per level. The route of a group's first user has one link of each
                // level.
                Some(queue) if self.topology.tree.is_some() => ("topology".into(), queue.buffer.limit),
                Some(queue) => (self.topology.key_of_link(link as usize, "queue.limit"), queue.buffer.limit),
                None => ("queue.limit".into(), self.queue.buffer.limit),
            };
            group.route.iter().map(own).chain([("topology.access_limit".into(), access)]).collect()
        };
        let mut found = self.groups.iter().enumerate().flat_map(|(index, group)| {
            let queues = queues(group);
            group.sources.iter().enumerate().flat_map(move |(number, source)| {
                let bytes = match (source, source.tcp()) {
                    (SourceConfig::Udp(udp), _) => udp.packet_size().0,
                    (_, tcp) => tcp.map_or(0, |tcp| (tcp.params.segment_payload + tcp.params.header_bytes).into()),
                };
                let too_small = |(_, limit): &(_, _)| matches!(limit, QueueLimit::Bytes(most) if *most < bytes);
                let queue = queues.iter().find(|queue| too_small(queue)).cloned();
                queue.map(|(key, limit)| (key, limit, format!("groups[{index}].sources[{number}], {bytes} B")))
            })
        });
        let (key, limit, source) = found.next()?;
        let others = and_others(found.count(), "nor of");
        let text = format!("\"{limit}\" has no room for a full packet of {source}{others}: all of them are lost");
        Some(Note { key, text })
    }

    /// Returns notes about rate steps and spans of impairments after the end of the run: one note for the first of each
    /// kind, with the number of others.
    fn late_changes(&self) -> Vec<Note> {
        let links = self.topology.links.iter().enumerate();
        let steps = match self.topology.tree {
            Some(_) => Vec::new(), // failovers have a separate note
            None => links
                .flat_map(|(index, link)| {
                    let key = self.topology.key_of_link(index, "schedule");
                    let times = link.schedule.iter().map(|step| step.at).enumerate();
                    times.map(move |(number, at)| (format!("{key}[{number}].at"), at))
                })
                .collect(),
        };
        let late_part = |&part: &&str| {
            let late_key = |Spanned { key, span, .. }: Spanned| match (span.from, span.until) {
                (Some(from), _) if from >= self.run.end() => Some((format!("{key}.from"), from)),
                (_, until) => until.map(|until| (format!("{key}.until"), until)),
            };
            let what = if part == "detour" { "detour" } else { "impairment" };
            self.late(self.spans().filter(|found| found.part == part).filter_map(late_key).collect(), what)
        };
        self.late(steps, "step").into_iter().chain(OF_LINK.iter().filter_map(late_part)).collect()
    }

    /// Returns a note on the first of `changes` (key and time) that is not before the end of the run.
    fn late(&self, changes: Vec<(String, Time)>, what: &str) -> Option<Note> {
        let end = self.run.end();
        let mut late = changes.into_iter().filter(|(_, at)| *at >= end);
        let (key, at) = late.next()?;
        let others = match late.count() {
            0 => String::new(),
            1 => format!(" (nor is 1 other {what})"),
            count => format!(" (nor are {count} other {what}s)"),
        };
        Some(Note {
            key,
            text: format!("\"{at}\" is not before the end of the run, {end}{others}: it changes nothing"),
        })
    }

    /// Returns notes on an access network that are not obvious from its keys and files.
    fn access_notes(&self) -> Vec<Note> {
        let Some(tree) = &self.topology.tree else { return Vec::new() };
        let late = tree.late_failover(self.run.end()).map(|(index, at)| Note {
            key: format!("topology.failovers[{index}].at"),
            text: format!("\"{at}\" is not before the end of the run, {}: it changes nothing", self.run.end()),
        });
        let at_gateway = tree.without_parent();
        let plural = if at_gateway == 1 { "circuit has" } else { "circuits have" };
        let parentless = (at_gateway > 0).then(|| Note {
            key: "topology.files.devices".into(),
            text: format!("{at_gateway} {plural} no parent node: at the gateway, behind no other link"),
        });
        let of_files = tree.notes_of_files().into_iter();
        let of_files = of_files.map(|(file, text)| Note { key: format!("topology.files.{file}"), text });
        let unread = if self.keeps_plans_in_tree() { self.unread_by_shaper(tree) } else { Vec::new() };
        late.into_iter().chain(of_files).chain(parentless).chain(unread).collect()
    }

    /// Returns notes about keys that have no effect if a tree of shapers enforces the plans.
    fn unread_by_shaper(&self, tree: &AccessNetwork) -> Vec<Note> {
        let own = self.topology.links[0].queue.as_ref();
        let mut notes = Vec::new();
        if let SchemeParams::Htb(params) = &own.unwrap_or(&self.queue).scheme {
            for (way, direction) in ["down", "up"].into_iter().enumerate() {
                let Some((node, assured, has)) = tree.overbooked(way, params.margin, params.rate) else { continue };
                let (assured, has) = (BitRate(assured.round() as u64), BitRate(has.round() as u64));
                let node = shortened(node);
                let text = format!(
                    "least rates below \"{node}\" are {assured} together, its class is assured {has} {direction}: \
                     nobody there is assured the whole"
                );
                notes.push(Note { key: "topology.files.devices".into(), text });
            }
        }
        if let SchemeParams::Htb(params) = &own.unwrap_or(&self.queue).scheme
            && params.rate != HtbParams::default().rate
            && tree.subscribers.iter().all(|some| some.least.iter().all(Option::is_some))
        {
            let table = if own.is_some() { "topology.gateway_queue" } else { "queue" };
            let text = format!("\"{}\" has no effect: the files have a least rate for every circuit", params.rate);
            notes.push(Note { key: format!("{table}.rate"), text });
        }
        for (index, group) in self.groups.iter().enumerate() {
            let Some((params, _)) = &group.subscribers else { continue };
            if let (Direction::Local, Some(rate)) = (params.direction, params.configured_plan) {
                let text = format!("\"{rate}\" keeps nobody to it: local packets do not pass the tree of shapers");
                notes.push(Note { key: format!("groups[{index}].configured_plan"), text });
            }
        }
        notes
    }

    /// Returns a note about sources that stop before the end: their means are lower than their rates while they sent.
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
            "\"{stop}\" is before the end of the run, {end}{others}: means include the time in which the source is \
             silent, and max-min shares do not know of it"
        );
        Some(Note { key: format!("groups[{group}].sources[{source}].stop"), text })
    }

    /// Returns a note about flows that start during the measurement: means are lower than the rates once all flows
    /// send.
    fn late_starts(&self) -> Option<Note> {
        let warmup = self.run.warmup;
        let started = |group: &GroupConfig, source: &SourceConfig| source.start().unwrap_or(group.params.start_until);
        let late_source = |(index, group): (usize, &GroupConfig)| {
            let is_late = |source: &SourceConfig| source.sends_to_the_end() && started(group, source) > warmup;
            Some((index, group.sources.iter().position(is_late)?))
        };
        let late: Vec<(usize, usize)> = self.groups.iter().enumerate().filter_map(late_source).collect();
        let (&(first, number), others) = late.split_first()?;
        let source = &self.groups[first].sources[number];
        let until = started(&self.groups[first], source);
        let (place, name) = match source.start() {
            Some(_) => (format!("sources[{number}]."), "start"),
            None => (String::new(), "start_until"),
        };
        let others = match others.len() {
            0 => String::new(),
            1 => " (and so in 1 other group)".into(),
            count => format!(" (and so in {count} other groups)"),
        };
        let text = format!(
            "\"{until}\" is after the warm-up of {warmup}{others}: flows start while it is measured, and means include \
             the time before; a longer run.warmup or an earlier {name} avoids that"
        );
        Some(Note { key: format!("groups[{first}].{place}{name}"), text })
    }
}

/// Returns text with the number of further sources that a note concerns.
fn and_others(count: usize, how: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!(" ({how} 1 other source)"),
        _ => format!(" ({how} {count} other sources)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn notes(json: &Json) -> Vec<String> {
        Scenario::read(json).unwrap().notes().iter().map(ToString::to_string).collect()
    }

    fn of_source(queue: &Json, source: Json) -> Vec<String> {
        let tcp = json!({"profile": "linux"});
        notes(&json!({"queue": queue, "tcp": tcp, "groups": [{"sources": [source]}]}))
    }

    #[test]
    fn a_queue_without_room_for_a_packet_is_told_of() {
        let queue = |limit: &str| json!({"scheme": "droptail", "limit": limit});
        let note = |limit: &str, bytes: u32| {
            format!(
                "queue.limit: \"{limit}\" has no room for a full packet of groups[0].sources[0], {bytes} B: all of \
                 them are lost"
            )
        };
        // With the profile linux, a packet has 1448 bytes of payload and 52 bytes of headers.
        for (source, bytes) in [(json!({"kind": "tcp"}), 1500), (json!({"kind": "cbr", "rate": "1 Mbit/s"}), 1500)] {
            assert_eq!(of_source(&queue("100 B"), source.clone()), [note("100 B", bytes)]);
            assert_eq!(of_source(&queue("1499 B"), source.clone()), [note("1499 B", bytes)]);
            assert_eq!(of_source(&queue("1500 B"), source), [""; 0]);
        }
        let small = json!({"kind": "poisson", "rate": "1 Mbit/s", "packet_size": "100 B"});
        assert_eq!(of_source(&queue("100 B"), small.clone()), [""; 0]);
        let links = json!([{"name": "a", "rate": "1 Mbit/s"},
            {"name": "b", "rate": "1 Mbit/s", "queue": {"scheme": "droptail", "limit": "99 B"}}]);
        let group = json!({"route": ["a", "b"], "start_until": "1 s", "sources": [small.clone(), small]});
        let told = notes(&json!({"queue": {"scheme": "droptail"}, "topology": {"kind": "graph", "links": links},
            "groups": [group]}));
        let text = "topology.links[1].queue.limit: \"99 B\" has no room for a full packet of groups[0].sources[0], \
                    100 B (nor of 1 other source): all of them are lost";
        assert_eq!(told, [text]);
    }

    #[test]
    fn senders_that_are_there_for_marks_and_ask_for_none_are_told_of() {
        let codel = json!({"scheme": "codel", "ecn": true});
        for control in ["dctcp", "prague"] {
            let source = json!({"kind": "tcp", "congestion_control": control});
            let note = format!(
                "groups[0].sources[0].congestion_control: \"{control}\" answers marks only with ecn = true, which is \
                 false here: without marks it is little else than Reno"
            );
            assert_eq!(of_source(&codel, source), [note]);
        }
        let asking = json!({"kind": "tcp", "congestion_control": "prague", "ecn": true});
        assert_eq!(of_source(&codel, asking), [""; 0]);
        assert_eq!(of_source(&codel, json!({"kind": "tcp"})), [""; 0]);
    }

    #[test]
    fn a_socket_buffer_below_what_path_and_queue_hold_is_told_of() {
        // The BDP is 50 Mbit/s times 40 ms = 250 kB, and the queue has 4 MB. 1448 of 1500 bytes are payload, which
        // gives 241 333 and 3 861 333 bytes.
        let scenario = |queue: Json, tcp: Json| {
            json!({
                "topology": {"bottleneck_rate": "50 Mbit/s", "bottleneck_delay": "20 ms", "access_delay": "0 s"},
                "queue": queue, "tcp": tcp, "groups": [{"start_until": "0 s", "sources": [{"kind": "tcp"},
                    {"kind": "tcp"}]}],
            })
        };
        let deep = || json!({"scheme": "droptail", "limit": "4 MB"});
        let linux = |socket_buffer: &str| json!({"profile": "linux", "socket_buffer": socket_buffer});
        let note = |size: &str, queue: &str| {
            format!(
                "groups[0].sources[0].socket_buffer: \"{size}\" may limit a flow (and in 1 other source): the path \
                 holds 241.333 kB of payload{queue}; a larger socket_buffer leaves that to the congestion control"
            )
        };
        let full = ", its full queue 3861333 B";
        assert_eq!(notes(&scenario(deep(), linux("4 MB"))), [note("4 MB", full)]);
        assert_eq!(notes(&scenario(deep(), linux("4.2 MB"))), [""; 0]);
        let codel = || json!({"scheme": "codel", "limit": "4 MB"});
        assert_eq!(notes(&scenario(codel(), linux("4 MB"))), [""; 0], "CoDel keeps its queue short");
        assert_eq!(notes(&scenario(codel(), linux("200 kB"))), [note("200 kB", "")]);
    }

    #[test]
    fn marks_that_are_asked_for_where_no_queue_marks_are_told_of() {
        let asking = || json!({"kind": "tcp", "ecn": true});
        let note = "groups[0].sources[0].ecn: true changes nothing: no queue on the way marks packets";
        for queue in [
            json!({"scheme": "droptail"}),
            json!({"scheme": "codel"}),
            json!({"scheme": "abc"}),
            json!({"scheme": "htb", "leaf": "droptail"}),
            json!({"scheme": "hcsfq"}),
        ] {
            assert_eq!(of_source(&queue, asking()), [note], "{queue}");
        }
        for queue in [
            json!({"scheme": "codel", "ecn": true}),
            json!({"scheme": "abc", "ecn": true}),
            json!({"scheme": "dualpi2"}),
            json!({"scheme": "docsis_qp"}),
            json!({"scheme": "cake"}),
            json!({"scheme": "htb"}),
            json!({"scheme": "hcsfq", "mark_above": "48 kB"}),
        ] {
            assert_eq!(of_source(&queue, asking()), [""; 0], "{queue}");
        }
    }

    #[test]
    fn a_queue_that_marks_counts_on_the_way_of_the_group_only() {
        let link = |name: &str, queue: Json| json!({"name": name, "rate": "5 Mbit/s", "queue": queue});
        let links = [link("a", json!({"scheme": "droptail"})), link("b", json!({"scheme": "cake"}))];
        let group =
            |route: &[&str]| json!({"route": route, "sources": [{"kind": "tcp", "ecn": true}, {"kind": "tcp"}]});
        let found = notes(&json!({"topology": {"kind": "graph", "links": links}, "queue": {"scheme": "droptail"},
            "groups": [group(&["a", "b"]), group(&["a"]), group(&["b"])]}));
        assert_eq!(found, ["groups[1].sources[0].ecn: true changes nothing: no queue on the way marks packets"]);
    }

    #[test]
    fn of_several_sources_the_first_is_named_and_the_others_are_counted() {
        let source = json!({"kind": "tcp", "ecn": true});
        let found = notes(&json!({"queue": {"scheme": "droptail"}, "groups": [{"sources": [source, source, source]}]}));
        let note = "groups[0].sources[0].ecn: true changes nothing (nor in 2 other sources): no queue on the way \
                    marks packets";
        assert_eq!(found, [note]);
    }

    /// Returns an access network from files: one circuit at a node with minimum rates, and one at the gateway with or
    /// without minimum rates.
    fn access(mut queue: Json, least: Json, groups: Json) -> Json {
        queue["limit"] = json!("1000 packets");
        let rows = json!([[1, 2, 25_000_000, 5_000_000, 8_000_000, 2_000_000], least]);
        let tree = json!({"nodes": [["ap", 0, 100_000_000, 100_000_000]], "subscribers": rows});
        let files = json!({"network": "n", "devices": "d", "tree": tree.to_string()});
        let failovers = json!([{"node": "ap", "at": "10 s"}, {"node": "ap", "at": "20 s"}]);
        json!({"run": {"warmup": "5 s", "measure": "15 s"}, "queue": queue, "groups": groups,
            "topology": {"kind": "access", "files": files, "failovers": failovers, "access_limit": "1000 packets"}})
    }

    #[test]
    fn steps_of_a_rate_that_the_run_does_not_reach_are_told_of() {
        let of_dumbbell = |times: &[&str]| {
            let steps: Vec<_> = times.iter().map(|at| json!({"at": at, "rate": "5 Mbit/s"})).collect();
            notes(&json!({"queue": {"scheme": "droptail"}, "run": {"warmup": "5 s", "measure": "15 s"},
                    "topology": {"bottleneck_schedule": steps},
                "groups": [{"start_until": "1 s", "sources": [{"kind": "tcp"}]}]}))
        };
        let text = "is not before the end of the run, 20 s";
        assert_eq!(of_dumbbell(&["1 s", "19.999 s"]), [""; 0]);
        let one = format!("topology.bottleneck_schedule[1].at: \"20 s\" {text}: it changes nothing");
        assert_eq!(of_dumbbell(&["1 s", "20 s"]), [one]);
        let many =
            format!("topology.bottleneck_schedule[0].at: \"21 s\" {text} (nor are 2 other steps): it changes nothing");
        assert_eq!(of_dumbbell(&["21 s", "22 s", "23 s"]), [many]);
    }

    #[test]
    fn detours_that_begin_after_the_run_are_told_of() {
        let run = json!({"warmup": "5 s", "measure": "15 s"});
        let detour = |from: &str| json!({"delay": "10 ms", "from": from});
        let group =
            |from: &str| json!({"start_until": "1 s", "access_detour": detour(from), "sources": [{"kind": "tcp"}]});
        let text = "is not before the end of the run, 20 s";
        let of_dumbbell = |link: &str, access: &str| {
            let topology = json!({"bottleneck_detour": detour(link)});
            notes(
                &json!({"queue": {"scheme": "droptail"}, "run": run, "topology": topology, "groups": [group(access)]}),
            )
        };
        assert_eq!(of_dumbbell("19.9 s", "0 s"), [""; 0]);
        let access = format!("groups[0].access_detour.from: \"20 s\" {text}: it changes nothing");
        assert_eq!(of_dumbbell("0 s", "20 s"), [access]);
        let both =
            format!("topology.bottleneck_detour.from: \"30 s\" {text} (nor is 1 other detour): it changes nothing");
        assert_eq!(of_dumbbell("30 s", "20 s"), [both]);
    }

    #[test]
    fn spans_after_the_end_of_the_run_are_reported() {
        let of = |topology: Json| {
            notes(&json!({"queue": {"scheme": "droptail"}, "run": {"warmup": "5 s", "measure": "15 s"},
                "topology": topology, "groups": [{"start_until": "1 s", "sources": [{"kind": "tcp"}]}]}))
        };
        let outage = |from: &str, until: &str| json!({"probability": 1, "from": from, "until": until});
        assert_eq!(of(json!({"bottleneck_loss": outage("5 s", "19 s")})), [""; 0]);
        let text = "is not before the end of the run, 20 s: it changes nothing";
        let both = json!({"bottleneck_loss": outage("20 s", "30 s"), "bottleneck_corrupt": outage("1 s", "21 s")});
        let expected = [
            format!("topology.bottleneck_loss.from: \"20 s\" {text}"),
            format!("topology.bottleneck_corrupt.until: \"21 s\" {text}"),
        ];
        assert_eq!(of(both), expected);
    }

    #[test]
    fn late_changes_of_a_graph_are_told_by_their_link() {
        let link = |name: &str, more: Json| {
            let mut link = json!({"name": name, "rate": "5 Mbit/s"});
            link.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            link
        };
        let late =
            json!({"schedule": [{"at": "40 s", "rate": "1 Mbit/s"}], "detour": {"delay": "1 ms", "from": "50 s"}});
        let links = [link("a", json!({})), link("b", late)];
        let found = notes(&json!({"queue": {"scheme": "droptail"}, "run": {"warmup": "5 s", "measure": "15 s"},
                "topology": {"kind": "graph", "links": links},
            "groups": [{"route": ["a", "b"], "start_until": "1 s", "sources": [{"kind": "tcp"}]}]}));
        let text = "is not before the end of the run, 20 s: it changes nothing";
        let step = format!("topology.links[1].schedule[0].at: \"40 s\" {text}");
        let detour = format!("topology.links[1].detour.from: \"50 s\" {text}");
        assert_eq!(found, [step, detour]);
    }

    #[test]
    fn an_access_network_tells_of_what_is_not_as_it_looks() {
        let group = |direction: &str| {
            json!({"direction": direction, "configured_plan": "9 Mbit/s", "start_until": "1 s",
            "sources": [{"kind": "tcp"}]})
        };
        let groups = json!([group("down"), group("local")]);
        let failover = "topology.failovers[1].at: \"20 s\" is not before the end of the run, 20 s: it changes nothing";
        let parent = "topology.files.devices: 1 circuit has no parent node: at the gateway, behind no other link";
        let assured = json!([0, 1, 25_000_000, 5_000_000, 1_000_000, 1_000_000]);
        let htb = json!({"scheme": "htb", "rate": "2 Mbit/s"});
        assert_eq!(notes(&access(json!({"scheme": "droptail"}), assured.clone(), groups.clone())), [failover, parent]);
        let rate = "queue.rate: \"2 Mbit/s\" has no effect: the files have a least rate for every circuit";
        let plan =
            "groups[1].configured_plan: \"9 Mbit/s\" keeps nobody to it: local packets do not pass the tree of shapers";
        assert_eq!(notes(&access(htb.clone(), assured, groups.clone())), [failover, parent, rate, plan]);
        // The circuit at the gateway has no minimum rates.
        let unassured = json!([0, 1, 25_000_000, 5_000_000]);
        assert_eq!(notes(&access(htb, unassured, groups)), [failover, parent, plan]);
    }
}
