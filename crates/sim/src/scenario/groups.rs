//! User groups and their sources.

use super::tcp::TcpConfig;
use fairlane_schemes::config::{ConfigError, ConfigValue, ParamSet, Table};
use fairlane_schemes::packet::TrafficClass;
use fairlane_schemes::units::{BitRate, Bytes, Time};
use fairlane_schemes::{choices, params};
use serde_json::{Map, Value as Json};

/// Headers of a UDP packet on the wire: PPP 2, IP 20, UDP 8 bytes. abc2018 IV-A1.
pub const UDP_HEADER_BYTES: u32 = 30;
/// Most users, and most flows, in a scenario.
const MOST: u64 = 1_000_000;

params! {
    /// A group of users that behave alike.
    pub struct GroupParams {
        /// Number of users.
        users: u32 = 1, in 1..=1000000, symbol "u", source "abc2018 IV-A3";
        /// Class of their packets.
        traffic_class: TrafficClass = "BE", symbol "PHB", source "abc2018 III-D";
        /// Reference rate of each user.
        reference_rate: BitRate = "10 kbit/s", in "1 bit/s"..="10 Tbit/s", symbol "R_r", source "abc2018 Table 1";
        /// Flows start uniformly between this time ...
        start_from: Time = "0 s", in "0 s"..="1440 h", source "abc2018 IV-A5";
        /// ... and this.
        start_until: Time = "15 s", in "0 s"..="1440 h", source "abc2018 IV-A5";
        /// Rate of these users' access links, if other than the topology's.
        access_rate: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", symbol "C_a", source "our choice";
        /// Delay of these users' access links, if other than the topology's.
        access_delay: Option<Time> = null, in "0 s"..="1 h", symbol "D_a", source "our choice";
        /// Ingress nodes over which a user's flows spread, each with a meter and an equal part of the reference rate.
        ingresses: u32 = 1, in 1..=64, source "abc2018 III-F";
    }
}

params! {
    /// TCP flows of one user.
    pub struct TcpSourceParams {
        /// Flows of each user.
        flows: u32 = 1, in 1..=100000, symbol "f", source "abc2018 IV-A3";
        /// Payload that each flow transfers; without it the flow always has data to send.
        transfer: Option<Bytes> = null, in "1 B"..="1000 TB", source "abc2018 IV-G2";
    }
}

choices! {
    /// Spacing of the packets of a source that does not react.
    pub enum UdpKind {
        /// Exponential gaps.
        Poisson = "poisson",
        /// Equal gaps, from a random phase.
        Cbr = "cbr",
    }
}

params! {
    /// One flow of each user that does not react.
    pub struct UdpParams {
        /// Rate on the wire.
        rate: BitRate = "1 Mbit/s", in "1 bit/s"..="10 Tbit/s", symbol "R_t", source "abc2018 IV-A1";
        /// Length of a packet on the wire, headers included.
        packet_size: Bytes = "1500 B", in "31 B"..="65535 B", source "abc2018 IV-A1";
    }
}

/// One source of every user of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceConfig {
    /// TCP flows.
    Tcp {
        /// Number and size of flows.
        flows: TcpSourceParams,
        /// Their TCP.
        tcp: TcpConfig,
    },
    /// A UDP flow that does not react.
    Udp {
        /// Spacing of the packets.
        kind: UdpKind,
        /// Rate and size.
        params: UdpParams,
    },
}

/// A group and its sources.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupConfig {
    /// Name in results.
    pub name: String,
    /// Users.
    pub params: GroupParams,
    /// Sources of each user.
    pub sources: Vec<SourceConfig>,
}

choices! {
    /// The sources there are.
    pub enum SourceKind {
        /// TCP.
        Tcp = "tcp",
        /// UDP with exponential gaps.
        Poisson = "poisson",
        /// UDP with equal gaps.
        Cbr = "cbr",
    }
}

/// Reads the `[[groups]]` of a scenario whose run ends at `end`.
pub(super) fn read_groups(
    scenario: &mut Table<'_>,
    tcp: &TcpConfig,
    end: Time,
) -> Result<Vec<GroupConfig>, ConfigError> {
    let mut groups: Vec<GroupConfig> = Vec::new();
    let (mut users, mut flows) = (0, 0);
    for (i, mut table) in scenario.tables("groups")?.into_iter().enumerate() {
        let group = GroupConfig::read(&mut table, i, tcp, end)?;
        if let Some(twin) = groups.iter().position(|other| other.name == group.name) {
            let problem = format!("\"{}\" is already the name of groups[{twin}], names must differ", group.name);
            return Err(ConfigError::new(table.key("name"), problem));
        }
        users += u64::from(group.params.users);
        flows += u64::from(group.params.users) * group.flows_per_user();
        let counts = [(users, "users", group.params.users.to_json()), (flows, "sources", flows.into())];
        for (total, key, value) in counts {
            if total > MOST {
                let problem =
                    format!("{value} is out of range, all groups together may have {MOST} users and {MOST} flows");
                return Err(ConfigError::new(table.key(key), problem));
            }
        }
        groups.push(group);
    }
    if groups.is_empty() {
        return Err(ConfigError::new("groups", "missing, must be at least one [[groups]] table"));
    }
    Ok(groups)
}

impl GroupConfig {
    fn read(table: &mut Table<'_>, index: usize, tcp: &TcpConfig, end: Time) -> Result<Self, ConfigError> {
        let name: String = table.optional("name", None)?.unwrap_or_else(|| format!("group{index}"));
        if name.trim().is_empty() {
            return Err(ConfigError::new(table.key("name"), format!("\"{name}\" is empty, results need a name")));
        }
        let params = GroupParams::read(table)?;
        if params.start_until < params.start_from {
            let problem = format!(
                "\"{}\" is out of range, it must be from start_from, {}, up",
                params.start_until, params.start_from
            );
            return Err(ConfigError::new(table.key("start_until"), problem));
        }
        if params.start_until > end {
            let problem = format!(
                "\"{}\" is out of range, it must be at most the end of the run, {end}: later flows never start",
                params.start_until
            );
            return Err(ConfigError::new(table.key("start_until"), problem));
        }
        if params.reference_rate.0 < u64::from(params.ingresses) {
            let problem =
                format!("{} is out of range, each ingress needs 1 bit/s of the reference rate", params.ingresses);
            return Err(ConfigError::new(table.key("ingresses"), problem));
        }
        let mut sources = Vec::new();
        for mut source in table.tables("sources")? {
            sources.push(SourceConfig::read(&mut source, tcp)?);
        }
        if sources.is_empty() {
            return Err(ConfigError::new(
                table.key("sources"),
                "missing, must be at least one [[groups.sources]] table",
            ));
        }
        table.finish()?;
        Ok(Self { name, params, sources })
    }

    /// Writes the table, every default filled in.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("name".into(), self.name.to_json());
        self.params.write(&mut map);
        map.insert("sources".into(), self.sources.iter().map(|source| Json::Object(source.write())).collect());
        map
    }

    /// Flows of each user, all sources together.
    #[must_use]
    pub fn flows_per_user(&self) -> u64 {
        let flows = |source: &SourceConfig| match source {
            SourceConfig::Tcp { flows, .. } => u64::from(flows.flows),
            SourceConfig::Udp { .. } => 1,
        };
        self.sources.iter().map(flows).sum()
    }
}

impl SourceConfig {
    fn read(table: &mut Table<'_>, tcp: &TcpConfig) -> Result<Self, ConfigError> {
        let kind: SourceKind = table.required("kind")?;
        let source = match kind {
            SourceKind::Tcp => {
                let flows = TcpSourceParams::read(table)?;
                Self::Tcp { flows, tcp: TcpConfig::read_over(tcp, table)? }
            }
            SourceKind::Poisson => Self::Udp { kind: UdpKind::Poisson, params: read_udp(table)? },
            SourceKind::Cbr => Self::Udp { kind: UdpKind::Cbr, params: read_udp(table)? },
        };
        table.finish()?;
        Ok(source)
    }

    fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        match self {
            Self::Tcp { flows, tcp } => {
                map.insert("kind".into(), SourceKind::Tcp.to_json());
                flows.write(&mut map);
                map.extend(tcp.write());
            }
            Self::Udp { kind, params } => {
                map.insert("kind".into(), kind.to_json());
                params.write(&mut map);
            }
        }
        map
    }
}

/// The rate of a UDP source has no default: it is what the scenario is about.
fn read_udp(table: &mut Table<'_>) -> Result<UdpParams, ConfigError> {
    if table.get("rate").is_none() {
        table.required::<BitRate>("rate")?;
    }
    UdpParams::read(table)
}
