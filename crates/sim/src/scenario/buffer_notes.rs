//! Notes on default buffers that are smaller than a bandwidth-delay product.
//!
//! A window-based sender that halves its window keeps a link busy only if the buffer is at least a bandwidth-delay
//! product (Appenzeller et al., "Sizing Router Buffers", SIGCOMM 2004, section 2). The default buffers suit the link of
//! 10 Mbit/s of one paper. On other links a small buffer may dominate the results, which the user may not expect.

use super::topology::Direction;
use super::{Note, Placement, Scenario, SourceConfig};
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::contract::buffer::BufferParams;
use fairlane_schemes::registry::schemes::Scheme;
use std::collections::BTreeMap;

/// A default buffer of a link or of an access link.
struct Buffer {
    limit: QueueLimit,
    bytes: u64,
    place: String,
    rate: BitRate,
    rtt: Time,
}

impl Buffer {
    fn bdp(&self) -> f64 {
        self.rate.as_f64() * self.rtt.as_secs_f64() / 8.0
    }

    /// Size as a fraction of the bandwidth-delay product.
    fn part(&self) -> f64 {
        self.bytes as f64 / self.bdp()
    }
}

fn has_window(source: &SourceConfig) -> bool {
    source.tcp().is_some()
}

impl Scenario {
    /// Returns a note for each default buffer that is smaller than the bandwidth-delay product of a link that may be
    /// full.
    pub(super) fn short_buffers(&self) -> Vec<Note> {
        let placements: Vec<_> =
            self.placements().into_iter().filter(|place| place.config.sources.iter().any(has_window)).collect();
        let mut offered = vec![0.0; self.topology.links.len()];
        for place in &placements {
            let most = self.fastest(place).as_f64() * f64::from(place.config.params.users);
            place.config.route.iter().for_each(|&link| offered[link as usize] += most);
        }
        let mut worst = BTreeMap::<String, Buffer>::new();
        for place in &placements {
            let of_links = place
                .config
                .route
                .iter()
                .filter(|&&link| offered[link as usize] >= self.topology.links[link as usize].params.rate.as_f64());
            let found =
                of_links.filter_map(|&link| self.link_buffer(link as usize, place)).chain(self.access_buffer(place));
            for (key, buffer) in found.filter(|(_, buffer)| buffer.part() < 1.0) {
                let is_worse = worst.get(&key).is_none_or(|other| buffer.part() < other.part());
                if is_worse {
                    worst.insert(key, buffer);
                }
            }
        }
        worst.into_iter().map(|(key, buffer)| Note { key, text: buffer.text() }).collect()
    }

    /// Maximum rate of a user at this location: the rate of its access link, or a lower rate that a tree of shapers
    /// enforces.
    fn fastest(&self, place: &Placement<'_>) -> BitRate {
        let access = place.config.params.access_rate.unwrap_or(self.topology.access.access_rate);
        match &place.at {
            Some(at) if self.is_shaped(place) => access.min(at.configured),
            _ => access,
        }
    }

    fn is_shaped(&self, place: &Placement<'_>) -> bool {
        let direction = place.config.subscribers.as_ref().map(|(params, _)| params.direction);
        self.keeps_plans_in_tree() && direction != Some(Direction::Local)
    }

    /// Round-trip time of the location's users without queueing: the maximum if the times are given, the mean if they
    /// are random.
    fn base_rtt(&self, place: &Placement<'_>) -> Time {
        let access = place.config.access_delays.iter().copied().max().unwrap_or(Time::ZERO);
        let least = super::groups::least_rtt(&place.config.params, &place.config.route, &self.topology);
        // A random delay of up to the spread applies in each direction, so its mean per round trip is the spread.
        least + access + access + place.config.access_spread
    }

    fn link_buffer(&self, index: usize, place: &Placement<'_>) -> Option<(String, Buffer)> {
        let link = &self.topology.links[index];
        let (key, queue) = match &link.queue {
            Some(queue) => (self.topology.key_of_queue(index), queue),
            None => ("queue".into(), &self.queue),
        };
        if queue.buffer.limit != BufferParams::default().limit {
            return None;
        }
        // If the queue is a tree of shapers, the limit applies to each leaf.
        let is_leaf = queue.scheme().is_some_and(Scheme::shapes);
        let rate = if is_leaf { link.params.rate.min(self.fastest(place)) } else { link.params.rate };
        let bytes = queue.buffer.full_bytes();
        let (limit, place_of, rtt) = (queue.buffer.limit, format!("\"{}\"", link.name), self.base_rtt(place));
        let place_of = if is_leaf { format!("a leaf of {place_of}") } else { place_of };
        Some((format!("{key}.limit"), Buffer { limit, bytes, place: place_of, rate, rtt }))
    }

    /// Returns the buffer of an access link if it has the default limit, the access link is the slowest link of the
    /// route, and no tree of shapers enforces the plan.
    fn access_buffer(&self, place: &Placement<'_>) -> Option<(String, Buffer)> {
        let (rate, limit) = (self.fastest(place), self.topology.access.access_limit);
        let slowest = place.config.route.iter().map(|&link| self.topology.links[link as usize].params.rate).min()?;
        if limit != super::topology::AccessParams::default().access_limit || rate > slowest || self.is_shaped(place) {
            return None;
        }
        let bytes = BufferParams { limit, ..BufferParams::default() }.full_bytes();
        let rtt = self.base_rtt(place);
        Some(("topology.access_limit".into(), Buffer { limit, bytes, place: "access links".into(), rate, rtt }))
    }
}

impl Buffer {
    fn text(&self) -> String {
        let Self { limit, place, rate, .. } = self;
        let (holds, needed, rtt_ms) = (self.bytes as f64 / 1e3, self.bdp() / 1e3, self.rtt.as_secs_f64() * 1e3);
        format!(
            "\"{limit}\", the default, holds {holds:.0} of the {needed:.0} kB that {place} of {rate} carries in a \
             round trip of {rtt_ms:.1} ms: it may idle, and the buffer may decide the result"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn notes(json: &Json) -> Vec<String> {
        let notes = Scenario::read(json).unwrap().short_buffers();
        notes.iter().map(ToString::to_string).collect()
    }

    fn dumbbell(rate: &str, queue: Json, source: Json) -> Vec<String> {
        let topology = json!({"bottleneck_rate": rate, "access_rate": "1 Gbit/s", "access_limit": "1000 packets"});
        notes(&json!({"topology": topology, "queue": queue, "groups": [{"rtt": "40 ms", "sources": [source]}]}))
    }

    #[test]
    fn a_default_buffer_below_a_bandwidth_delay_product_is_noted() {
        let tcp = json!({"kind": "tcp"});
        let default = || json!({"scheme": "codel"});
        // The buffer of 24 packets has 36 000 B, which is exactly 7.2 Mbit/s times 40 ms.
        assert_eq!(dumbbell("7.2 Mbit/s", default(), tcp.clone()), [""; 0]);
        let text = "queue.limit: \"24 packets\", the default, holds 36 of the 250 kB that \"bottleneck\" of 50 Mbit/s \
                    carries in a round trip of 40.0 ms: it may idle, and the buffer may decide the result";
        assert_eq!(dumbbell("50 Mbit/s", default(), tcp.clone()), [text]);
        assert_eq!(dumbbell("50 Mbit/s", json!({"scheme": "codel", "limit": "25 packets"}), tcp.clone()), [""; 0]);
        assert_eq!(dumbbell("50 Mbit/s", default(), json!({"kind": "cbr", "rate": "60 Mbit/s"})), [""; 0]);
        // No sender can reach the rate of this link, so there is no note.
        assert_eq!(dumbbell("2 Gbit/s", default(), tcp), [""; 0]);
    }

    #[test]
    fn queues_of_links_and_levels_have_the_limit_of_the_queue_unless_they_have_one() {
        let link = |queue: Json| json!({"name": "a", "rate": "50 Mbit/s", "queue": queue});
        let graph = |queue: Json, limit: Json| {
            let group = json!({"route": ["a"], "rtt": "40 ms", "sources": [{"kind": "tcp"}]});
            let mut own = json!({"scheme": "droptail"});
            own.as_object_mut().unwrap().extend(limit.as_object().unwrap().clone());
            let access = json!({"kind": "graph", "links": [link(queue)], "access_rate": "50 Mbit/s",
                "access_limit": "167 packets"});
            Scenario::read(&json!({"topology": access, "queue": own, "groups": [group]})).unwrap()
        };
        let limit = |scenario: &Scenario| scenario.topology.links[0].queue.as_ref().unwrap().buffer.limit;
        let codel = || json!({"scheme": "codel"});
        let inherited = graph(codel(), json!({"limit": "200 packets"}));
        assert_eq!(limit(&inherited), QueueLimit::Packets(200));
        assert_eq!(limit(&Scenario::read(&inherited.write()).unwrap()), QueueLimit::Packets(200));
        let own = graph(json!({"scheme": "codel", "limit": "9 packets"}), json!({"limit": "200 packets"}));
        assert_eq!(limit(&own), QueueLimit::Packets(9));
        let short = graph(codel(), json!({})).short_buffers();
        assert_eq!(short.iter().map(|note| note.key.as_str()).collect::<Vec<_>>(), ["topology.links[0].queue.limit"]);
    }

    #[test]
    fn on_an_access_network_each_kind_of_buffer_is_noted_once() {
        let topology = json!({"kind": "access", "sites": 2, "access_points": 2, "subscribers": 4,
            "gateway_rate": "100 Mbit/s",
            "site_rate": "100 Mbit/s", "access_point_rate": "100 Mbit/s", "plan": "25 Mbit/s"});
        let group = json!({"share": 1.0, "rtt": "30 ms", "sources": [{"kind": "tcp"}]});
        let keys = |queue: Json| {
            let scenario = json!({"topology": topology, "queue": queue, "groups": [group]});
            let found = Scenario::read(&scenario).unwrap().short_buffers();
            found.into_iter().map(|note| (note.key, note.text)).collect::<Vec<_>>()
        };
        // The bandwidth-delay product of a plan is 25 Mbit/s times 30 ms, 93 750 B. This exceeds both the access buffer
        // (50 packets) and the buffer of a leaf (24 packets).
        let found = keys(json!({"scheme": "droptail", "limit": "300 packets"}));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == "topology.access_limit" && found[0].1.contains("75 of the 94 kB"), "{found:?}");
        let found = keys(json!({"scheme": "htb"}));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == "queue.limit" && found[0].1.contains("36 of the 94 kB that a leaf of"), "{found:?}");
    }
}
