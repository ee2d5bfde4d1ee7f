//! JSON Schema of a scenario and the list of topologies, generated from the declarations that parse them.

use super::groups::GroupParams;
use super::impairments::{
    ChanceParams, DetourParams, ImpairmentKeys, JitterParams, LossModel, OF_ACCESS, OF_BOTTLENECK, OF_LINK, Part,
    PolicerParams, ReorderParams, SlotParams,
};
use super::sources::SourceKind;
use super::tcp::{TcpConfig, written};
use super::topology::{
    About, LinkParams, SourceDirection, SubscriberParams, TopologyConfig, TopologyKind, TraceParams,
};
use super::{ProbeParams, RunParams};
use crate::network::sim_packet::SimPacket;
use crate::traffic::tcp::{TcpParams, TcpProfile};
use fairlane_schemes::base::config::{ConfigValue, ParamSet, ParamSpec, schema_properties};
use fairlane_schemes::contract::marker::MarkerScheme;
use fairlane_schemes::label::exchange::ExchangeParams;
use fairlane_schemes::registry::catalogue::{SchemeInfo, catalogue};
use fairlane_schemes::registry::markers::MarkerConfig;
use serde_json::{Map, Value as Json, json};

/// JSON Schema (draft 2020-12) of a scenario.
#[must_use]
pub fn scenario_schema() -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Fairlane scenario",
        "type": "object",
        "additionalProperties": false,
        "required": ["queue", "groups"],
        "properties": {
            "name": {"type": "string", "description": "Name in results; does not influence them."},
            "run": object(schema_properties(&RunParams::specs()), &[]),
            "topology": topology(),
            "queue": queues(),
            "marker": {"anyOf": MarkerScheme::ALL.iter().map(|&scheme| marker(scheme)).collect::<Vec<_>>()},
            "tcp": object(tcp_properties(), &[]),
            "probes": object(schema_properties(&ProbeParams::specs()), &[]),
            "groups": {"type": "array", "minItems": 1, "items": group()},
        },
    })
}

/// Topologies: name, summary, picture and parameters.
#[must_use]
pub fn topologies() -> Json {
    let entry = |&kind: &TopologyKind| {
        let About { summary, source, picture } = kind.about();
        json!({"name": kind.name(), "summary": summary, "source": source, "picture": picture,
            "params": TopologyConfig::specs(kind)})
    };
    TopologyKind::ALL.iter().map(entry).collect()
}

fn object(properties: Map<String, Json>, required: &[&str]) -> Json {
    json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
}

fn with(mut properties: Map<String, Json>, name: &str, schema: Json) -> Map<String, Json> {
    properties.insert(name.into(), schema);
    properties
}

fn topology() -> Json {
    let at_and_rate = object(
        Map::from_iter([
            ("at".to_string(), json!({"type": "string"})),
            ("rate".to_string(), json!({"type": "string"})),
        ]),
        &["at", "rate"],
    );
    // Starts from the kind `graph`, which has most of the shared keys.
    let specs: Vec<_> = TopologyKind::ALL.iter().rev().flat_map(|&kind| TopologyConfig::specs(kind)).collect();
    let mut properties = schema_properties(&specs);
    properties = with(
        properties,
        "kind",
        json!({"enum": TopologyKind::CHOICES,
        "default": TopologyKind::OneSidedDumbbell.name(), "description": "The arrangement of the links."}),
    );
    let schedule = |of: &str| {
        json!({"type": "array", "items": at_and_rate,
            "description": format!("Rate changes of the {of}, in order of time.")})
    };
    let name = json!({"type": "string", "description": "Name in routes and results."});
    let mut link = with(schema_properties(&LinkParams::specs()), "name", name);
    if let Some(rate) = link.get_mut("rate").and_then(Json::as_object_mut) {
        rate.remove("default");
        rate.insert("description".into(), "Rate; required unless the link has a trace.".into());
    }
    let mut own_queue = queues();
    own_queue["description"] = "Its queue, if different from the scenario's.".into();
    let link = with(with(link, "schedule", schedule("link")), "queue", own_queue);
    let link = with(impaired(link, OF_LINK, "link"), "trace", trace());
    let mut reverse = link.clone();
    reverse.remove("name");
    let mut reverse = object(reverse, &[]);
    reverse["description"] =
        "Reverse link of a one_sided_dumbbell, for data of sources with direction reverse and for \
                              acknowledgements of all others. Without it, acknowledgements never wait for data."
            .into();
    let links = json!({"type": "array", "items": object(link, &["name"]), "description": "Links of a graph."});
    properties = impaired(properties, OF_BOTTLENECK, "bottleneck");
    properties = with(with(properties, "bottleneck_schedule", schedule("bottleneck")), "bottleneck_trace", trace());
    object(with(with(access_network(properties), "links", links), "reverse", reverse), &[])
}

/// Adds the keys of an access network that are not plain parameters.
fn access_network(mut properties: Map<String, Json>) -> Map<String, Json> {
    for (key, level) in [("gateway_queue", "gateway"), ("site_queue", "sites"), ("access_point_queue", "access points")]
    {
        let mut queue = queues();
        queue["description"] = format!("Queue of the links of the {level}, if different from the scenario's.").into();
        properties = with(properties, key, queue);
    }
    let text = |description: &str| json!({"type": "string", "description": description});
    let failover = Map::from_iter([
        ("node".to_string(), text("Site or access point whose links change their rate.")),
        ("at".to_string(), text("Time of the failover.")),
        ("until".to_string(), text("Time at which the rate is restored; without it, it never is.")),
        (
            "share".to_string(),
            json!({"type": "number", "minimum": 0.001, "maximum": 1.0, "default": 0.5,
                "description": "Remaining part of the rate."}),
        ),
    ]);
    let failovers = json!({"type": "array", "items": object(failover, &["node", "at"]),
        "description": "Links whose rate drops to a part for a time (failover)."});
    let files = Map::from_iter([
        ("network".to_string(), text("LibreQoS's network.json, relative to the scenario's file.")),
        ("devices".to_string(), text("LibreQoS's ShapedDevices.csv, relative to the scenario's file.")),
        ("tree".to_string(), text("Their content; whoever reads the scenario fills it in.")),
    ]);
    let mut files = object(files, &["network", "devices"]);
    files["description"] = "Files that define the tree, instead of counts and rates.".into();
    with(with(properties, "failovers", failovers), "files", files)
}

/// Adds the tables of the impairments of a path.
fn impaired(properties: Map<String, Json>, keys: ImpairmentKeys, of: &str) -> Map<String, Json> {
    let [loss, jitter, detour, reorder, duplicate, corrupt, slot, policer] = keys;
    let models: Vec<_> = LossModel::ALL.iter().map(|&model| loss_model(model)).collect();
    let several = json!({"type": "array", "items": {"oneOf": &models},
        "description": "Losses that act one after another."});
    let one_or_several: Vec<_> = models.into_iter().chain([several]).collect();
    let losses = json!({"oneOf": one_or_several, "description": format!("Packets lost on the {of}.")});
    let tables = [
        (loss, losses),
        (jitter, part::<JitterParams>(format!("Delay variation on the {of}."))),
        (detour, part::<DetourParams>(format!("A longer route that packets take for a time instead of the {of}."))),
        (reorder, part::<ReorderParams>(format!("Packets that skip the delay of the {of}."))),
        (duplicate, part::<ChanceParams>(format!("Packets duplicated on the {of}."))),
        (corrupt, part::<ChanceParams>(format!("Packets corrupted on the {of}; their receivers discard them."))),
        (slot, part::<SlotParams>(format!("Slots in which packets leave the {of}."))),
        (policer, part::<PolicerParams>(format!("A policer, which drops packets above a rate behind the {of}."))),
    ];
    tables.into_iter().fold(properties, |properties, (key, table)| with(properties, key, table))
}

fn part<P: Part>(description: String) -> Json {
    let mut table =
        object(schema_properties(&P::specs()), &P::REQUIRED.iter().map(|&(key, _)| key).collect::<Vec<_>>());
    table["description"] = description.into();
    table
}

fn loss_model(model: LossModel) -> Json {
    let name = json!({"const": model.name(), "description": "The model of loss; random by default."});
    let mut required = model.required().to_vec();
    if model != LossModel::Random {
        required.push("model");
    }
    object(with(schema_properties(&model.specs()), "model", name), &required)
}

fn trace() -> Json {
    let file = json!({"type": "string", "description": "File in Mahimahi's format, relative to the scenario's."});
    let gaps = json!({"type": "string", "description": "Content of the file: gaps in ms between opportunities, the \
                                                        first from time 0, equal ones as GAP*COUNT. Filled in when \
        the file is read."});
    let mut table = object(with(with(schema_properties(&TraceParams::specs()), "file", file), "gaps", gaps), &["file"]);
    table["description"] = "Recorded delivery opportunities that the link follows instead of its rate.".into();
    table
}

fn queues() -> Json {
    json!({"oneOf": catalogue::<SimPacket>().iter().map(queue).collect::<Vec<_>>()})
}

fn specs_of(info: &SchemeInfo, table: &str) -> Vec<ParamSpec> {
    info.params.iter().filter(|param| param.table == table).map(|param| param.spec.clone()).collect()
}

fn queue(info: &SchemeInfo) -> Json {
    let properties = schema_properties(&specs_of(info, "queue"));
    object(with(properties, "scheme", json!({"const": info.name, "description": "The scheme."})), &["scheme"])
}

fn marker(scheme: MarkerScheme) -> Json {
    let mut properties = schema_properties(&scheme.params());
    if MarkerConfig::of(scheme).has_reference_rate() {
        properties.insert("exchange".into(), object(schema_properties(&ExchangeParams::specs()), &[]));
    }
    let about = "Marker; by default the one that the queue's scheme needs.";
    object(with(properties, "scheme", json!({"const": scheme.name(), "description": about})), &[])
}

/// Keys of `[tcp]`. Defaults are the values of the default profile; `x-profiles` has the other profiles' values.
fn tcp_properties() -> Map<String, Json> {
    let standard = TcpConfig::default().write();
    let mut properties = with(
        schema_properties(&TcpParams::specs()),
        "profile",
        json!({"enum": TcpProfile::CHOICES, "description": "Named set of parameters; single ones may differ."}),
    );
    // A default that the profile does not change keeps its declared notation, such as "64 KiB" instead of "65536 B".
    let declared = written(&TcpParams::default());
    for (key, default) in standard.iter().filter(|(key, value)| declared.get(*key) != Some(*value)) {
        properties[key]["default"] = default.clone();
    }
    for &profile in TcpProfile::ALL {
        let own = written(&TcpParams::profile(profile));
        for (key, value) in own.into_iter().filter(|(key, value)| standard.get(key) != Some(value)) {
            properties[&key]["x-profiles"][profile.name()] = value;
        }
    }
    properties
}

fn group() -> Json {
    let mut properties = schema_properties(&GroupParams::specs());
    properties.extend(schema_properties(&SubscriberParams::specs()));
    properties.insert(
        "name".into(),
        json!({"type": "string", "description": "Name in results; by default group and number."}),
    );
    properties.insert(
        "sources".into(),
        json!({"type": "array", "minItems": 1,
            "items": {"oneOf": SourceKind::ALL.iter().copied().map(source).collect::<Vec<_>>()},
        "description": "Traffic sources of each user."}),
    );
    object(impaired(properties, OF_ACCESS, "access links on the way up"), &["sources"])
}

fn source(kind: SourceKind) -> Json {
    let mut properties = schema_properties(&kind.specs());
    if kind.is_tcp() {
        properties.extend(tcp_properties());
    }
    if kind == SourceKind::Transfers {
        let file = Map::from_iter([
            (
                "file".to_string(),
                json!({"type": "string", "description": "The file; relative to that of the scenario."}),
            ),
            (
                "points".to_string(),
                json!({"type": "string", "description": "Content of the file, filled in by the scenario's reader."}),
            ),
        ]);
        let mut cdf = object(file, &["file"]);
        cdf["description"] =
            "Distribution of the payload, instead of `sizes`: a file with a line for each point.".into();
        properties.insert("cdf".into(), cdf);
    }
    let application = json!({"type": "string", "description": "Application name on an access network; by default \
        its kind."});
    properties.insert("application".into(), application);
    properties.insert(
        "direction".into(),
        json!({"enum": SourceDirection::CHOICES, "default": SourceDirection::Forward.name(),
            "description": "The data cross the bottleneck or the reverse link."}),
    );
    let name = json!({"const": kind.name(), "description": "The kind of source."});
    object(with(properties, "kind", name), if kind.has_rate() { &["kind", "rate"] } else { &["kind"] })
}
