//! A scenario: all parameters of a run. It is parsed from a table, checked once, and written with all defaults.

mod buffer_notes;
mod codepoint;
mod groups;
mod headers;
mod impairments;
mod notes;
mod placements;
mod rpm;
mod run;
mod schema;
mod size_cdf;
mod sources;
mod stop;
mod tcp;
mod topology;
mod transfers;
mod video;
mod voip;

pub use codepoint::{Codepoint, CodepointParams};
pub use groups::{GroupConfig, GroupParams};
pub use headers::UDP_HEADER_BYTES;
pub use impairments::{
    ChanceParams, DetourParams, GilbertElliottParams, Impairments, JitterDistribution, JitterParams, LossConfig, Part,
    PeriodicLossParams, PolicerParams, RandomLossParams, ReorderParams, SlotParams, Span, Spanned,
};
pub use notes::Note;
pub use placements::Placement;
pub use rpm::RpmParams;
pub use run::RunParams;
pub use schema::{scenario_schema, topologies};
pub use size_cdf::{SizeCdf, SizeTable};
pub use sources::*;
pub use stop::StopParams;
pub use tcp::TcpConfig;
use tcp::TcpDefaults;
pub use topology::{
    AccessNetwork, AccessNode, Dealt, Direction, LinkConfig, NODE_RATE, RateChange, SourceDirection, SubscriberParams,
    TopologyConfig, TopologyKind, TraceConfig, gaps_of_trace, nodes_of_network, tree_of_files,
};
pub use transfers::{TransfersConfig, TransfersParams};
pub use video::VideoParams;
pub use voip::{Codec, VoipParams};

use crate::traffic::tcp::external::{FindControl, no_control};
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, Table, shortened};
use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::contract::marker::MarkerScheme;
use fairlane_schemes::label::exchange::ExchangeParams;
use fairlane_schemes::registry::external::{ExternalScheme, FindExternal, no_external};
use fairlane_schemes::registry::markers::MarkerConfig;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::Scheme;
use fairlane_schemes::{choices, params};
use serde_json::{Map, Value as Json};

choices! {
    /// Level of detail of delays, round-trip times, losses and marks in a record.
    pub enum Detail {
        /// By group.
        Group = "group",
        /// By group and user.
        User = "user",
        /// By group, user, and flow that lasts for the whole run.
        Flow = "flow",
    }
}

params! {
    /// Additional measurements in the record.
    pub struct ProbeParams {
        /// Bin width of the time series. If absent, no series are recorded.
        series_interval: Option<Time> = null, in "1 us"..="720 h", source "our choice";
        /// Link whose time series are recorded, by name; default: the first.
        series_link: Option<String> = null, source "our choice";
        /// Time constant of the rate meters of the time series.
        series_memory: Time = "0.5 s", in "1 us"..="1 h", source "abc2018 IV-G5";
        /// Level of detail of delays, round-trip times, losses and marks.
        detail: Detail = "group", source "our choice";
        /// Records the values of each user and flow, instead of percentiles and the worst-off users. The default is
        /// false on an access network, otherwise true.
        user_rows: Option<bool> = null, source "our choice";
        /// Records the distribution of the one-way delay of each group, in addition to its quantiles.
        delay_distribution: Option<bool> = null, source "our choice";
        /// Lower bounds of the classes of transfers by duration, in ascending order; the first class starts at zero.
        transfer_times: Vec<Time> = ["0.05 s", "0.5 s", "1 s", "2 s", "5 s"], source "afpft Table III";
        /// Lower bounds of the classes of transfers by payload, in ascending order; the first class starts at zero.
        transfer_sizes: Vec<Bytes> = ["10 kB", "100 kB", "1 MB"], source "our choice";
    }
}

/// Maximum number of classes of transfers of either kind.
const MOST_CLASSES: usize = 100;

const MOST_BINS: u64 = 100_000;

/// Maximum number of values in the time series of a run: six for each group and three for the link, in each bin. This
/// number of values takes 96 MB in the simulator, 192 MB in the record, and 240 MB as text.
const MOST_SERIES_NUMBERS: u64 = 12_000_000;

/// Maximum number of users and flows whose delays are measured separately. Each typically takes 1.5 kB of memory, at
/// most 16 kB, and 400 bytes of text in the record.
const MOST_DETAILED: u64 = 100_000;

/// Maximum number of values in the classes of transfers of all groups; they take about 100 MB of text in the record.
const MOST_CLASS_NUMBERS: usize = 4_000_000;

/// External schemes and congestion controls that a scenario may use.
#[derive(Clone, Copy)]
pub struct Externals<'a> {
    /// Finds a scheme by name.
    pub schemes: FindExternal<'a>,
    /// Finds a congestion control by name.
    pub controls: FindControl<'a>,
}

impl Externals<'static> {
    /// No external schemes and congestion controls.
    pub const NONE: Self = Self { schemes: &no_external, controls: &no_control };
}

/// Everything that determines a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name in results, which it does not affect.
    pub name: String,
    /// Times, replications, seed.
    pub run: RunParams,
    /// Links and their arrangement.
    pub topology: TopologyConfig,
    /// Queue of every link that does not specify one.
    pub queue: QueueConfig,
    /// Marker of the edge.
    pub marker: MarkerConfig,
    /// Exchange between the ingress nodes of users, which moves the parts of their reference rates.
    pub exchange: Option<ExchangeParams>,
    /// Defaults of TCP sources.
    pub tcp: TcpConfig,
    /// Probes.
    pub probes: ProbeParams,
    /// User groups.
    pub groups: Vec<GroupConfig>,
    /// True if each user has its own random stream and flow numbers, so that users interact only through links: see
    /// `network/own_streams.rs`. Otherwise all transfers share one random stream, and all markers share another.
    pub own_streams: bool,
}

impl Scenario {
    /// Locations of the users, in the order of user numbers.
    #[must_use]
    pub fn placements(&self) -> Vec<Placement<'_>> {
        placements::placements(&self.groups, &self.topology, self.keeps_plans_in_tree())
    }

    /// Returns true if the queue at the gateway of an access network enforces the plans, false if the edge does.
    #[must_use]
    pub fn keeps_plans_in_tree(&self) -> bool {
        let queue = self.topology.links[0].queue.as_ref().unwrap_or(&self.queue);
        self.topology.tree.is_some() && queue.scheme().is_some_and(Scheme::shapes)
    }

    /// Reads and checks a scenario.
    ///
    /// # Errors
    /// Returns the first error, with key, value and allowed values.
    pub fn read(value: &Json) -> Result<Self, ConfigError> {
        Self::read_with(value, Externals::NONE)
    }

    /// Like [`Scenario::read`], but also finds schemes and congestion controls in `externals`.
    ///
    /// # Errors
    /// The same errors as [`Scenario::read`].
    pub fn read_with(value: &Json, externals: Externals<'_>) -> Result<Self, ConfigError> {
        let find = externals.schemes;
        let mut table = Table::new("", value)?;
        let name = table.optional("name", None)?.unwrap_or_else(|| "scenario".to_string());
        let run = read_params::<RunParams>(&mut table, "run")?;
        let probes = read_params::<ProbeParams>(&mut table, "probes")?;
        let limit = value.get("queue").and_then(|queue| queue.get("limit"));
        let topology = TopologyConfig::read(&mut table, topology::OwnQueues { find, limit })?;
        let Some(mut queue_table) = table.table("queue")? else {
            let schemes = Scheme::CHOICES.unwrap_or_default().join(", ");
            return Err(ConfigError::new("queue", format!("missing, must be a table with a scheme, one of {schemes}")));
        };
        let queue = QueueConfig::read_with(&mut queue_table, find)?;
        let (marker, exchange) = match table.table("marker")? {
            Some(mut table) => {
                let has_exchange = table.get("exchange").is_some();
                let exchange = has_exchange.then(|| read_params(&mut table, "exchange")).transpose()?;
                (MarkerConfig::read(&mut table, queue.marker())?, exchange)
            }
            None => (MarkerConfig::of(queue.marker()), None),
        };
        check_marker(&marker, &queue, "queue.scheme")?;
        for (index, link) in topology.links.iter().enumerate() {
            if let Some(queue) = &link.queue {
                check_marker(&marker, queue, &format!("{}.scheme", topology.key_of_queue(index)))?;
            }
        }
        let tcp = match table.table("tcp")? {
            Some(mut table) => {
                let tcp = TcpConfig::read(&mut table, externals.controls)?;
                table.finish()?;
                tcp
            }
            None => TcpConfig::default(),
        };
        let defaults = TcpDefaults { config: &tcp, find: externals.controls };
        let mut groups = groups::read_groups(&mut table, &topology, defaults, &run)?;
        if let Some(tree) = &topology.tree {
            placements::check_placements(&mut groups, tree, &topology)?;
        }
        groups::check_groups(&groups, &topology)?;
        check_labels(&groups, &marker)?;
        if let Some(exchange) = &exchange {
            check_exchange(exchange, &groups, &marker, &topology)?;
        }
        table.finish()?;
        tcp.check_effects(groups.iter().flat_map(|group| &group.sources).filter_map(SourceConfig::tcp))?;
        // An access network may have thousands of users. With separate random streams, its parts can be simulated in
        // parallel.
        let own_streams = topology.tree.is_some();
        let scenario = Self { name, run, topology, queue, marker, exchange, tcp, probes, groups, own_streams };
        scenario.check_series()?;
        scenario.check_class_numbers()?;
        scenario.check_detail()?;
        check_classes("probes.transfer_times", &scenario.probes.transfer_times)?;
        check_classes("probes.transfer_sizes", &scenario.probes.transfer_sizes)?;
        Ok(scenario)
    }

    /// Writes the scenario with all defaults and keys in a fixed order, for [`Scenario::read`].
    #[must_use]
    pub fn write(&self) -> Json {
        let mut map = Map::new();
        map.insert("name".into(), self.name.to_json());
        map.insert("run".into(), write_params(&self.run));
        map.insert("topology".into(), Json::Object(self.topology.write()));
        map.insert("queue".into(), Json::Object(self.queue.write()));
        let mut marker = self.marker.write();
        if let Some(exchange) = &self.exchange {
            marker.insert("exchange".into(), write_params(exchange));
        }
        map.insert("marker".into(), Json::Object(marker));
        map.insert("tcp".into(), Json::Object(self.tcp.write()));
        map.insert("probes".into(), write_params(&self.probes));
        map.insert("groups".into(), Json::Array(self.groups.iter().map(|group| Json::Object(group.write())).collect()));
        Json::Object(map)
    }

    /// Returns the scenario with another scheme, with default parameters, the same buffer, and the scheme's marker.
    /// Without a marker, no user forges labels.
    #[must_use]
    pub fn with_queue(&self, scheme: Scheme) -> Self {
        if Some(scheme) == self.queue.scheme() {
            return self.clone();
        }
        let marker = MarkerConfig::of(scheme.marker());
        let mut groups = self.groups.clone();
        for group in &mut groups {
            group.params.forged_labels &= marker != MarkerConfig::None;
        }
        let exchange = self.exchange.clone().filter(|_| marker.has_reference_rate());
        Self { queue: QueueConfig::of(scheme, self.queue.buffer.clone()), marker, exchange, groups, ..self.clone() }
    }

    /// Returns the scenario with an external scheme and the same buffer. If the scheme names no marker, the marker does
    /// not change.
    #[must_use]
    pub fn with_external(&self, scheme: ExternalScheme) -> Self {
        if *scheme.name == *self.queue.name() {
            return self.clone();
        }
        let named = scheme.factory.marker();
        let marker = if named == MarkerScheme::NONE { self.marker.clone() } else { MarkerConfig::of(named) };
        let exchange = self.exchange.clone().filter(|_| marker.has_reference_rate());
        Self { queue: QueueConfig::external(scheme, self.queue.buffer.clone()), marker, exchange, ..self.clone() }
    }

    /// Returns true if a queue has an external scheme, or a sender an external congestion control.
    #[must_use]
    pub fn is_external(&self) -> bool {
        let queues = self.topology.links.iter().filter_map(|link| link.queue.as_ref()).chain([&self.queue]);
        let senders = self.groups.iter().flat_map(|group| group.sources.iter().filter_map(SourceConfig::tcp));
        queues.into_iter().any(|queue| queue.scheme().is_none())
            || senders.into_iter().any(|tcp| tcp.params.congestion.external.control.is_some())
    }

    /// Returns true if a queue can hold packets back while its link is idle.
    #[must_use]
    pub fn has_shaper(&self) -> bool {
        let mut queues = self.topology.links.iter().filter_map(|link| link.queue.as_ref()).chain([&self.queue]);
        queues.any(QueueConfig::may_hold_back)
    }

    /// Returns true if the record has values of each user and flow.
    #[must_use]
    pub fn has_user_rows(&self) -> bool {
        self.probes.user_rows.unwrap_or(self.topology.tree.is_none() || self.probes.detail != Detail::Group)
    }

    /// Number of users in all groups.
    #[must_use]
    pub fn users(&self) -> usize {
        self.groups.iter().map(|group| group.params.users as usize).sum()
    }

    /// Spans of all parts of impairments: those of links, then those of access links.
    pub fn spans(&self) -> impl Iterator<Item = Spanned> {
        let of_links = self.topology.links.iter().enumerate().flat_map(move |(index, link)| {
            let key = move |part| self.topology.key_of_link(index, part);
            impairments::spans(&link.impairments, key).map(move |spanned| Spanned { link: Some(index), ..spanned })
        });
        let of_groups = self.groups.iter().enumerate().flat_map(|(index, group)| {
            let key = move |part| format!("groups[{index}].access_{part}");
            impairments::spans(&group.access, key).map(move |spanned| Spanned { group: Some(index), ..spanned })
        });
        of_links.chain(of_groups)
    }

    /// Index of the link whose time series are recorded.
    #[must_use]
    pub fn series_link(&self) -> usize {
        let name = self.probes.series_link.as_ref();
        name.and_then(|name| self.topology.links.iter().position(|link| link.name == *name)).unwrap_or(0)
    }

    /// Width and number of the bins of the time series, if requested.
    #[must_use]
    pub fn series_bins(&self) -> Option<(Time, usize)> {
        let bins = |interval: Time| (interval, self.run.end().0.div_ceil(interval.0) as usize);
        self.probes.series_interval.map(bins)
    }

    fn check_series(&self) -> Result<(), ConfigError> {
        if let Some(name) = &self.probes.series_link
            && !self.topology.links.iter().any(|link| link.name == *name)
        {
            let problem = format!("\"{}\" is not a link of the topology", shortened(name));
            return Err(ConfigError::new("probes.series_link", problem));
        }
        let Some(interval) = self.probes.series_interval else { return Ok(()) };
        let numbers_per_bin = 6 * self.groups.len() as u64 + 3;
        let most = MOST_BINS.min(MOST_SERIES_NUMBERS / numbers_per_bin).max(1);
        if self.run.end().0.div_ceil(interval.0) > most {
            let shortest = Time(self.run.end().0.div_ceil(most));
            let groups = if most < MOST_BINS { format!(" with {} groups", self.groups.len()) } else { String::new() };
            let problem = format!(
                "\"{interval}\" is out of range, it must be from {} ms up (at most {most} bins{groups})",
                shortest.as_secs_f64() * 1e3
            );
            return Err(ConfigError::new("probes.series_interval", problem));
        }
        Ok(())
    }

    /// Checks the number of users and long-lived flows whose delays are measured separately.
    fn check_detail(&self) -> Result<(), ConfigError> {
        let users = self.users() as u64;
        let flows = |group: &GroupConfig| u64::from(group.params.users) * group.flows_per_user();
        let detailed = match self.probes.detail {
            Detail::Group => 0,
            Detail::User => users,
            Detail::Flow => users + self.groups.iter().map(flows).sum::<u64>(),
        };
        if detailed > MOST_DETAILED {
            let problem = format!(
                "{} is out of range, there may be {MOST_DETAILED} users and flows, here are {detailed}",
                self.probes.detail.to_json()
            );
            return Err(ConfigError::new("probes.detail", problem));
        }
        Ok(())
    }

    /// Checks the number of values in the classes of transfers. A group with finite transfers has four values per
    /// class.
    fn check_class_numbers(&self) -> Result<(), ConfigError> {
        let classes = self.probes.transfer_times.len() + self.probes.transfer_sizes.len() + 2;
        if 4 * classes * self.groups.len() > MOST_CLASS_NUMBERS {
            let problem = format!(
                "{classes} classes by time and size are out of range, with {} groups there may be {}",
                self.groups.len(),
                MOST_CLASS_NUMBERS / 4 / self.groups.len()
            );
            return Err(ConfigError::new("probes.transfer_times", problem));
        }
        Ok(())
    }
}

/// Checks that the edge writes the labels that a queue uses.
fn check_marker(marker: &MarkerConfig, queue: &QueueConfig, key: &str) -> Result<(), ConfigError> {
    let needed = queue.marker();
    if needed == MarkerScheme::NONE || marker.scheme() == needed {
        return Ok(());
    }
    let problem =
        format!("\"{}\" is not what {key} \"{}\" needs: \"{}\"", marker.scheme().name(), queue.name(), needed.name());
    Err(ConfigError::new("marker.scheme", problem))
}

/// Checks the exchange, which needs users with several ingress nodes and meters with reference rates.
fn check_exchange(
    exchange: &ExchangeParams,
    groups: &[GroupConfig],
    marker: &MarkerConfig,
    topology: &TopologyConfig,
) -> Result<(), ConfigError> {
    let most = groups.iter().map(|group| group.params.ingresses).max().unwrap_or(1);
    let of_marker =
        format!("has no effect with marker \"{}\", whose labels depend on no reference rate", marker.scheme().name());
    let obstacles = [
        (most < 2, "has no effect with groups with one ingress node"),
        (!marker.has_reference_rate(), of_marker.as_str()),
        (topology.has_reverse_link, "is not available with a reverse link"),
    ];
    if let Some((_, problem)) = obstacles.iter().find(|(applies, _)| *applies) {
        return Err(ConfigError::new("marker.exchange", *problem));
    }
    if exchange.lease < exchange.interval {
        let problem = format!("\"{}\" is out of range, it must be at least interval", exchange.lease);
        return Err(ConfigError::new("marker.exchange.lease", problem));
    }
    let times = [("silent_from", exchange.silent_from), ("silent_until", exchange.silent_until)];
    if let Some((key, _)) = times.iter().find(|(_, time)| time.is_some() && exchange.silent_node.is_none()) {
        return Err(ConfigError::new(format!("marker.exchange.{key}"), "has no effect without silent_node"));
    }
    if let (Some(from), Some(until)) = (exchange.silent_from, exchange.silent_until)
        && until <= from
    {
        let problem = format!("\"{until}\" is out of range, it must be after silent_from");
        return Err(ConfigError::new("marker.exchange.silent_until", problem));
    }
    if exchange.delay.0 > exchange.interval.0 / 2 {
        let problem = format!("\"{}\" is out of range, it must be at most half of interval", exchange.delay);
        return Err(ConfigError::new("marker.exchange.delay", problem));
    }
    if let Some(node) = exchange.silent_node.filter(|&node| node >= most) {
        let problem = format!("{node} is out of range, it must be below {most}, the largest number of ingresses");
        return Err(ConfigError::new("marker.exchange.silent_node", problem));
    }
    Ok(())
}

fn check_labels(groups: &[GroupConfig], marker: &MarkerConfig) -> Result<(), ConfigError> {
    match groups.iter().position(|group| group.params.forged_labels) {
        Some(index) if *marker == MarkerConfig::None => {
            let problem = "true has no effect with marker \"none\", which writes no labels: use a scheme with a \
                           marker, such as abc";
            Err(ConfigError::new(format!("groups[{index}].forged_labels"), problem))
        }
        _ => Ok(()),
    }
}

/// Checks that the lower bounds of classes are positive and ascending.
fn check_classes<T: ConfigValue + PartialOrd + Default>(key: &str, begins: &[T]) -> Result<(), ConfigError> {
    let mut before = &T::default();
    for (index, begin) in begins.iter().enumerate() {
        if begin <= before {
            let problem = format!("{} is out of range, it must be above {}", begin.to_json(), before.to_json());
            return Err(ConfigError::new(format!("{key}[{index}]"), problem));
        }
        before = begin;
    }
    if begins.len() >= MOST_CLASSES {
        return Err(ConfigError::new(key, format!("{} values, there may be {MOST_CLASSES} classes", begins.len())));
    }
    Ok(())
}

/// Reads the table `name` of plain parameters; an absent table has the defaults.
fn read_params<T: ParamSet>(table: &mut Table<'_>, name: &'static str) -> Result<T, ConfigError> {
    let Some(mut table) = table.table(name)? else { return Ok(T::default()) };
    let params = T::read(&mut table)?;
    table.finish()?;
    Ok(params)
}

fn write_params(params: &impl ParamSet) -> Json {
    let mut map = Map::new();
    params.write(&mut map);
    Json::Object(map)
}
