//! The layout of a scenario for use outside the simulator: the path of packets, all random draws made before a
//! replication begins, and the seeds of the streams from which links and sources draw later.

use super::random_stream::RandomStream;
use super::{Network, delays};
use crate::scenario::{Impairments, LossConfig, Scenario, Span};
use fairlane_schemes::base::config::ConfigValue;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{Probability, Time};
use serde_json::{Map, Value as Json, json};

/// Returns links, users with their access links, and flows with their start times (in ps), as JSON.
#[must_use]
pub fn layout(scenario: &Scenario, replication: u32) -> Json {
    let network = Network::new(scenario, replication);
    let topology = &scenario.topology;
    let seed = |stream: RandomStream, index: usize| {
        Rng::seed_of_stream(scenario.run.seed, u64::from(replication), stream.name(), index as u64)
    };
    let links = topology.links.iter().enumerate().map(|(index, link)| {
        let queue = link.queue.as_ref().unwrap_or(&scenario.queue);
        let (delay, impaired) = delays(&link.impairments, link.params.delay);
        json!({
            "name": link.name,
            "rate_bps": link.params.rate.0,
            "delay_ps": delay.0,
            "schedule": link.schedule.iter().map(|step| (step.at.0, step.rate.0)).collect::<Vec<_>>(),
            "trace": link.trace.as_ref().map(|trace| (trace.params.opportunity.0, trace.gaps())),
            "impairment": impairment(&link.impairments, impaired, seed(RandomStream::LinkImpairment, index)),
            "queue": Json::Object(queue.write()),
        })
    });
    let placements = scenario.placements();
    let routes = placements.iter().flat_map(|place| {
        let users = place.config.params.users as usize;
        (0..users).map(|number| (place.group, &place.config, number))
    });
    let users: Vec<Json> = (0..)
        .zip(routes)
        .map(|(user, (group, config, number))| {
            let mut map = Map::new();
            map.insert("group".into(), group.into());
            map.insert("route".into(), config.route.clone().into());
            let (rate, delay, limit) = network.hosts.access_link(user);
            let of_number = config.access_delays.get(number).unwrap_or(&config.access_delays[0]);
            let impaired = delays(&config.access, *of_number).1;
            map.insert(
                "access".into(),
                json!({
                    "rate_bps": rate.0,
                    "delay_ps": delay.0,
                    "limit": limit.to_json(),
                    "impairment": impairment(&config.access, impaired, seed(RandomStream::AccessImpairment, group)),
                }),
            );
            Json::Object(map)
        })
        .collect();
    let tcp = network.flows.iter().map(|flow| {
        let params = &network.tcp_params[flow.params as usize];
        let ends = (params.segment_payload + params.header_bytes, params.header_bytes);
        json!({
            "user": flow.user,
            "start_ps": flow.start.0,
            "to_receiver_ps": network.hosts.to_receiver(flow.user, ends.0).0,
            "back_ps": network.hosts.idle_way_back(flow.user, ends).0,
        })
    });
    // The start of a source is the time of its first packet, which follows a random gap.
    let udp = network.sources.iter().enumerate().map(|(index, source)| {
        let seed = seed(RandomStream::Source, index);
        json!({"user": source.user(), "start_ps": source.next().0, "gap_ps": source.gap().0, "seed": seed})
    });
    json!({
        "links": links.collect::<Vec<_>>(),
        "users": users,
        "pause_seed": seed(RandomStream::Pause, 0),
        "tcp": tcp.collect::<Vec<_>>(),
        "udp": udp.collect::<Vec<_>>(),
    })
}

/// Impairment behind a link; null if there is none. `delay` is the constant delay that jitter varies.
fn impairment(config: &Impairments, delay: Time, seed: u64) -> Json {
    if !config.any() {
        return Json::Null;
    }
    let losses = config.loss.iter().map(|loss| match loss {
        LossConfig::Random(params) => ("random", vec![below(params.probability)], span(&params.span)),
        LossConfig::GilbertElliott(params) => {
            let bounds = [params.p, params.r, params.good_loss, params.bad_loss].map(below);
            ("gilbert_elliott", bounds.to_vec(), span(&params.span))
        }
        LossConfig::Periodic(params) => ("periodic", vec![u64::from(params.period)], span(&params.span)),
    });
    let losses: Vec<_> = losses.collect();
    let jitter = config.jitter.as_ref().map(|jitter| {
        json!({
            "distribution": jitter.distribution.name(),
            "deviation_ps": jitter.deviation.0,
            "reorder": jitter.reorder,
            "span": span(&jitter.span),
        })
    });
    let detour = config.detour.as_ref().map(|detour| json!({"delay_ps": detour.delay.0, "span": span(&detour.span)}));
    json!({"seed": seed, "delay_ps": delay.0, "losses": losses, "jitter": jitter, "detour": detour})
}

/// Start and end of a span in ps; null without an end.
fn span(span: &Span) -> (u64, Option<u64>) {
    (span.from.map_or(0, |from| from.0), span.until.map(|until| until.0))
}

/// Number below which the 52 bits of [`Rng::open01`] are for an event of this probability.
fn below(probability: Probability) -> u64 {
    // Exact: these products and differences have at most 53 bits.
    (probability.0 * (1u64 << 52) as f64 - 0.5).ceil().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_below_the_number_are_draws_below_the_probability() {
        let draw = |bits: u64| (bits as f64 + 0.5) * (1.0 / (1u64 << 52) as f64); // as Rng::open01
        for probability in [0.0, 1e-16, 0.01, 0.25, 0.3, 0.5, 0.999, 1.0] {
            let bits = below(Probability(probability));
            assert!(bits == 1 << 52 || draw(bits) >= probability, "{probability}");
            assert!(bits == 0 || draw(bits - 1) < probability, "{probability}");
        }
    }

    #[test]
    fn it_has_the_delays_and_starts_of_the_simulator() {
        let scenario = json!({
            "topology": {"bottleneck_rate": "12 Mbit/s", "bottleneck_delay": "5 ms", "access_rate": "120 Mbit/s"},
            "queue": {"scheme": "droptail"},
            "tcp": {"profile": "linux"},
            "groups": [
                {"name": "a", "users": 2, "start_from": "1 s", "start_until": "2 s", "rtt": "40 ms",
                 "rtt_spread": 0.1, "sources": [{"kind": "tcp"}, {"kind": "cbr", "rate": "1 Mbit/s"}]},
            ],
        });
        let scenario = Scenario::read(&scenario).unwrap();
        let found = layout(&scenario, 3);
        assert_eq!(found, layout(&scenario, 3));
        assert_ne!(found["tcp"], layout(&scenario, 4)["tcp"]);
        let delays: Vec<u64> = found["users"]
            .as_array()
            .unwrap()
            .iter()
            .map(|user| user["access"]["delay_ps"].as_u64().unwrap())
            .collect();
        assert!(delays[0] != delays[1] && delays.iter().all(|delay| (13_000_000_000..=17_000_000_000).contains(delay)));
        for (flow, delay) in found["tcp"].as_array().unwrap().iter().zip(delays) {
            // The time is the transmission of an acknowledgement of 52 bytes at 12 Mbit/s and at 120 Mbit/s, plus the
            // propagation delays of both links.
            let sent = 52 * 8 * 1_000_000 / 12 + 52 * 8 * 1_000_000 / 120;
            let back = flow["back_ps"].as_u64().unwrap();
            assert!(back.abs_diff(5_000_000_000 + delay + sent) <= 2, "{back}");
            assert!((1_000_000_000_000..=2_000_000_000_000).contains(&flow["start_ps"].as_u64().unwrap()));
        }
        assert_eq!(found["udp"].as_array().unwrap().len(), 2);
        assert_eq!(found["links"][0]["queue"]["scheme"], "droptail");
    }
}
