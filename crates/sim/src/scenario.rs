//! A scenario: everything that determines a run, read from a table, checked once, written back with every default.

mod groups;
mod schema;
mod tcp;
mod topology;

pub use groups::{GroupConfig, GroupParams, SourceConfig, TcpSourceParams, UDP_HEADER_BYTES, UdpKind, UdpParams};
pub use schema::{scenario_schema, topologies};
pub use tcp::TcpConfig;
pub use topology::{RateChange, TopologyConfig};

use fairlane_schemes::config::{ConfigError, ConfigValue, ParamSet, Table};
use fairlane_schemes::external::{ExternalScheme, FindExternal, no_external};
use fairlane_schemes::marker::{MarkerConfig, MarkerScheme};
use fairlane_schemes::params;
use fairlane_schemes::scheme::{QueueConfig, Scheme};
use fairlane_schemes::units::Time;
use serde_json::{Map, Value as Json};

params! {
    /// How long, how often, and from which seed.
    pub struct RunParams {
        /// Simulated time before the measurement.
        warmup: Time = "100 s", in "0 s"..="720 h", source "abc2018 IV-A5";
        /// Simulated time that is measured.
        measure: Time = "100 s", in "1 ms"..="720 h", source "abc2018 IV-A5";
        /// Independent runs.
        replications: u32 = 10, in 1..=100000, source "abc2018 IV-A5";
        /// Seed of all random streams.
        seed: u64 = 1, in 0..=18446744073709551615u64, source "our choice";
    }
}

impl RunParams {
    /// End of the run.
    #[must_use]
    pub fn end(&self) -> Time {
        self.warmup + self.measure
    }
}

params! {
    /// What is recorded beyond the standard measures.
    pub struct ProbeParams {
        /// Bin of the time series; without it there are none.
        series_interval: Option<Time> = null, in "1 us"..="720 h", source "our choice";
        /// Memory of the rate meters of the time series.
        series_memory: Time = "0.5 s", in "1 us"..="1 h", source "abc2018 IV-G5";
    }
}

/// Longest time series, in bins.
const MOST_BINS: u64 = 100_000;

/// Everything that determines a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name in results; does not influence them.
    pub name: String,
    /// Times, replications, seed.
    pub run: RunParams,
    /// Links and their arrangement.
    pub topology: TopologyConfig,
    /// Discipline of the bottleneck's egress port.
    pub queue: QueueConfig,
    /// Marker of the edge.
    pub marker: MarkerConfig,
    /// Defaults of TCP sources.
    pub tcp: TcpConfig,
    /// Time series.
    pub probes: ProbeParams,
    /// User groups.
    pub groups: Vec<GroupConfig>,
}

impl Scenario {
    /// Reads and checks a scenario.
    ///
    /// # Errors
    /// The first mistake: key, value, what is allowed.
    pub fn read(value: &Json) -> Result<Self, ConfigError> {
        Self::read_with(value, &no_external)
    }

    /// As [`Scenario::read`]; the queue's scheme may also be one that `find` finds.
    ///
    /// # Errors
    /// As [`Scenario::read`].
    pub fn read_with(value: &Json, find: FindExternal<'_>) -> Result<Self, ConfigError> {
        let mut table = Table::new("", value)?;
        let name = table.optional("name", None)?.unwrap_or_else(|| "scenario".to_string());
        let run = read_params::<RunParams>(&mut table, "run")?;
        let probes = read_params::<ProbeParams>(&mut table, "probes")?;
        let topology = TopologyConfig::read(&mut table)?;
        let Some(mut queue_table) = table.table("queue")? else {
            let schemes = Scheme::CHOICES.unwrap_or_default().join(", ");
            return Err(ConfigError::new("queue", format!("missing, must be a table with a scheme, one of {schemes}")));
        };
        let queue = QueueConfig::read_with(&mut queue_table, find)?;
        let marker = match table.table("marker")? {
            Some(mut table) => MarkerConfig::read(&mut table, queue.marker())?,
            None => MarkerConfig::of(queue.marker()),
        };
        let needed = queue.marker();
        if needed != MarkerScheme::None && marker.scheme() != needed {
            let problem = format!(
                "\"{}\" is not what queue.scheme \"{}\" needs: \"{}\"",
                marker.scheme().name(),
                queue.name(),
                needed.name()
            );
            return Err(ConfigError::new("marker.scheme", problem));
        }
        let tcp = match table.table("tcp")? {
            Some(mut table) => {
                let tcp = TcpConfig::read(&mut table)?;
                table.finish()?;
                tcp
            }
            None => TcpConfig::default(),
        };
        let groups = groups::read_groups(&mut table, &tcp, run.end())?;
        table.finish()?;
        let scenario = Self { name, run, topology, queue, marker, tcp, probes, groups };
        scenario.check_series()?;
        Ok(scenario)
    }

    /// Writes what [`Scenario::read`] reads, every default filled in, keys in a fixed order.
    #[must_use]
    pub fn write(&self) -> Json {
        let mut map = Map::new();
        map.insert("name".into(), self.name.to_json());
        map.insert("run".into(), write_params(&self.run));
        map.insert("topology".into(), Json::Object(self.topology.write()));
        map.insert("queue".into(), Json::Object(self.queue.write()));
        map.insert("marker".into(), Json::Object(self.marker.write()));
        map.insert("tcp".into(), Json::Object(self.tcp.write()));
        map.insert("probes".into(), write_params(&self.probes));
        map.insert("groups".into(), Json::Array(self.groups.iter().map(|group| Json::Object(group.write())).collect()));
        Json::Object(map)
    }

    /// The same scenario with another discipline, at its defaults, on the same buffer and with its own marker.
    #[must_use]
    pub fn with_queue(&self, scheme: Scheme) -> Self {
        if Some(scheme) == self.queue.scheme() {
            return self.clone();
        }
        Self {
            queue: QueueConfig::of(scheme, self.queue.buffer.clone()),
            marker: MarkerConfig::of(scheme.marker()),
            ..self.clone()
        }
    }

    /// The same scenario with an external discipline, on the same buffer and with the same marker.
    #[must_use]
    pub fn with_external(&self, scheme: ExternalScheme) -> Self {
        Self { queue: QueueConfig::external(scheme, self.queue.buffer.clone()), ..self.clone() }
    }

    /// Number of users in all groups.
    #[must_use]
    pub fn users(&self) -> usize {
        self.groups.iter().map(|group| group.params.users as usize).sum()
    }

    /// Group, and user within it, of each TCP flow, in the order of their numbers.
    #[must_use]
    pub fn tcp_flows(&self) -> Vec<(u32, u32)> {
        let mut flows = Vec::new();
        for (g, group) in (0..).zip(&self.groups) {
            for user in 0..group.params.users {
                for source in &group.sources {
                    if let SourceConfig::Tcp { flows: tcp, .. } = source {
                        flows.extend((0..tcp.flows).map(|_| (g, user)));
                    }
                }
            }
        }
        flows
    }

    fn check_series(&self) -> Result<(), ConfigError> {
        let Some(interval) = self.probes.series_interval else { return Ok(()) };
        let bins = self.run.end().0.div_ceil(interval.0);
        if bins > MOST_BINS {
            let shortest = Time(self.run.end().0.div_ceil(MOST_BINS));
            let problem = format!(
                "\"{interval}\" is out of range, it must be from {} ms up (at most {MOST_BINS} bins)",
                shortest.as_secs_f64() * 1e3
            );
            return Err(ConfigError::new("probes.series_interval", problem));
        }
        Ok(())
    }
}

/// Reads the table `name` of plain parameters, defaults if it is absent.
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
