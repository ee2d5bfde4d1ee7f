//! Sources of a user: TCP flows, web sessions, and unresponsive UDP flows.

use super::codepoint::CodepointParams;
use super::rpm::RpmParams;
use super::stop::StopParams;
use super::tcp::{TcpConfig, TcpDefaults};
use super::transfers::{TransfersConfig, TransfersParams};
use super::video::VideoParams;
use super::voip::VoipParams;
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table};
use fairlane_schemes::base::units::{BitRate, Bytes, Time};
use fairlane_schemes::contract::packet::Ecn;
use fairlane_schemes::{choices, params};
use serde_json::{Map, Value as Json};

choices! {
    /// Kinds of sources.
    pub enum SourceKind {
        /// TCP.
        Tcp = "tcp",
        /// Short TCP transfers in sessions.
        Web = "web",
        /// TCP transfers with a size distribution, at a given load.
        Transfers = "transfers",
        /// Adaptive-bitrate video over TCP.
        Video = "video",
        /// A test of responsiveness: TCP flows as load, and probes.
        Rpm = "rpm",
        /// UDP with exponential gaps.
        Poisson = "poisson",
        /// UDP with equal gaps.
        Cbr = "cbr",
        /// UDP in bursts.
        OnOff = "on_off",
        /// Telephone calls over UDP.
        Voip = "voip",
    }
}

impl SourceKind {
    /// Returns true if the kind also accepts the keys of TCP.
    pub(super) fn is_tcp(self) -> bool {
        matches!(self, Self::Tcp | Self::Web | Self::Transfers | Self::Video | Self::Rpm)
    }

    pub(super) fn has_rate(self) -> bool {
        matches!(self, Self::Poisson | Self::Cbr | Self::OnOff)
    }

    pub(super) fn specs(self) -> Vec<ParamSpec> {
        match self {
            Self::Tcp => TcpSourceParams::specs(),
            Self::Web => WebParams::specs(),
            Self::Transfers => TransfersParams::specs(),
            Self::Video => VideoParams::specs(),
            Self::Rpm => RpmParams::specs(),
            Self::Poisson => UdpParams::specs(),
            Self::Cbr => CbrParams::specs(),
            Self::OnOff => OnOffParams::specs(),
            Self::Voip => VoipParams::specs(),
        }
    }
}

params! {
    /// TCP flows of one user.
    pub struct TcpSourceParams {
        /// Flows of each user.
        flows: u32 = 1, in 1..=100000, symbol "f", source "abc2018 IV-A3";
        /// Payload of each flow. If absent, the flow is greedy.
        transfer: Option<Bytes> = null, in "1 B"..="1000 TB", source "abc2018 IV-G2";
        /// Number of consecutive transfers of each flow, each over a new connection.
        repeat: u32 = 1, in 1..=1000000000, source "our choice";
        /// Mean of the exponential pause between two transfers.
        pause: Time = "0 s", in "0 s"..="1 h", source "our choice";
        /// Start time of the flows, instead of random times from `start_from` to `start_until`.
        start: Option<Time> = null, in "0 s"..="1440 h", source "HPCC simulation/mix/flow.txt";
        with until: StopParams;
    }
}

choices! {
    /// Distribution of the size of a transfer.
    pub enum SizeDistribution {
        /// Pareto type I: minimum `size * (shape - 1) / shape`.
        Pareto = "pareto",
        /// Lomax, i.e. Pareto type II, from zero: ns-2's ParetoII.
        Lomax = "lomax",
        /// Exponential.
        Exponential = "exponential",
        /// Constant.
        Constant = "constant",
    }
}

params! {
    /// Web sessions of one user: pages with objects, each object a TCP transfer over a new connection. Sessions start
    /// as a Poisson process (`interval`), or a fixed number of sessions (`sessions`) starts at uniform random times.
    pub struct WebParams {
        /// Mean of the exponential time between two session starts of a user, from `start_from` on. Requires that
        /// `sessions` is not set.
        interval: Option<Time> = null, in "1 us"..="720 h", source "afpft III-E: 25 sessions a second";
        /// Sessions of each user, each starting at a uniform time between `start_from` and `start_until`.
        sessions: Option<u32> = null, in 1..=100000000, symbol "w", source "afc 4.4";
        /// Pages per session.
        pages: u32 = 1, in 1..=1000000, source "afpft III-E: a session is one transfer";
        /// Mean of the exponential time from the start of a page's last object to the next page.
        page_interval: Time = "1 s", in "0 s"..="24 h", source "ns-2 tcl/ex/web-traffic.tcl";
        /// Objects per page.
        objects: u32 = 1, in 1..=1000000, source "ns-2 tcl/ex/web-traffic.tcl";
        /// Mean of the exponential time between two object starts of a page.
        object_interval: Time = "10 ms", in "0 s"..="24 h", source "ns-2 tcl/ex/web-traffic.tcl";
        /// Mean payload of an object.
        size: Bytes = "30 kB", in "1 B"..="1 TB", source "afpft III-E";
        /// Distribution of the payload.
        distribution: SizeDistribution = "pareto", source "afpft III-E, afc 4.4";
        /// Shape of a Pareto or Lomax distribution; at 2 and below the variance is infinite.
        shape: f64 = 1.3, in 1.01..=100.0, source "afpft III-E; afc 4.4 has 1.2";
        /// Rounds sizes up to whole TCP segments, which increases the mean. Otherwise sizes are rounded to bytes.
        whole_segments: bool = true, source "ns-2 webcache/webtraf.cc counts packets";
        /// Maximum number of open transfers of a user. Further transfers are refused and counted.
        limit: u32 = 10000, in 1..=1000000, source "our choice, bounds the memory";
        with until: StopParams;
    }
}

params! {
    /// One UDP flow of each user with exponential gaps between packets.
    pub struct UdpParams {
        /// Rate on the wire.
        rate: BitRate = "1 Mbit/s", in "1 bit/s"..="10 Tbit/s", symbol "R_t", source "abc2018 IV-A1";
        /// Length of a packet on the wire, including headers.
        packet_size: Bytes = "1500 B", in "31 B"..="65535 B", source "abc2018 IV-A1";
        with codepoint: CodepointParams;
        with until: StopParams;
    }
}

params! {
    /// One UDP flow of each user with equal gaps between packets, starting at a random phase.
    pub struct CbrParams {
        /// Rate on the wire.
        rate: BitRate = "1 Mbit/s", in "1 bit/s"..="10 Tbit/s", symbol "R_t", source "abc2018 IV-A1";
        /// Length of a packet on the wire, including headers.
        packet_size: Bytes = "1500 B", in "31 B"..="65535 B", source "abc2018 IV-A1";
        /// Width of the uniform jitter of each gap, as a multiple of the gap; 1 is `random_` of ns-2.
        jitter: f64 = 0.0, in 0.0..=2.0, source "ns-2 tools/cbr_traffic.cc";
        with codepoint: CodepointParams;
        with until: StopParams;
    }
}

choices! {
    /// Distribution of the durations of bursts and silences.
    pub enum BurstDistribution {
        /// Exponential.
        Exponential = "exponential",
        /// Pareto type I.
        Pareto = "pareto",
    }
}

params! {
    /// One on/off UDP flow of each user: bursts of packets at equal gaps, separated by silence. The number of packets
    /// in a burst is its duration divided by the gap, rounded, at least one.
    pub struct OnOffParams {
        /// Rate on the wire within a burst.
        rate: BitRate = "10 Mbit/s", in "1 bit/s"..="10 Tbit/s", symbol "R_t", source "afpft III-E: link rate";
        /// Length of a packet on the wire, including headers.
        packet_size: Bytes = "1000 B", in "31 B"..="65535 B", source "afpft III-E";
        /// Mean duration of a burst.
        on: Time = "0.2 s", in "1 ns"..="24 h", source "afpft III-E; afc 4.4 states none";
        /// Mean duration of a silence.
        off: Time = "3.8 s", in "0 s"..="24 h", source "afpft III-E: (N - 1) times 0.2 s for N = 20";
        /// Distribution of burst and silence durations.
        distribution: BurstDistribution = "exponential", source "afpft III-E, afc 4.4";
        /// Shape of a Pareto distribution; at 2 and below the variance is infinite.
        shape: f64 = 1.5, in 1.01..=100.0, source "ns-2 tools/pareto.cc";
        with codepoint: CodepointParams;
        with until: StopParams;
    }
}

/// An unresponsive UDP flow.
#[derive(Clone, Debug, PartialEq)]
pub enum UdpConfig {
    /// Exponential gaps.
    Poisson(UdpParams),
    /// Equal gaps, from a random phase.
    Cbr(CbrParams),
    /// Bursts.
    OnOff(OnOffParams),
    /// A call.
    Voip(VoipParams),
}

impl UdpConfig {
    /// Length of a packet on the wire.
    #[must_use]
    pub fn packet_size(&self) -> Bytes {
        match self {
            Self::Poisson(params) => params.packet_size,
            Self::Cbr(params) => params.packet_size,
            Self::OnOff(params) => params.packet_size,
            Self::Voip(params) => params.packet_size(),
        }
    }

    /// ECN field of the source's packets.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        match self {
            Self::Poisson(params) => params.codepoint.ecn.of_packets(),
            Self::Cbr(params) => params.codepoint.ecn.of_packets(),
            Self::OnOff(params) => params.codepoint.ecn.of_packets(),
            Self::Voip(_) => Ecn::NotEct,
        }
    }

    /// Mean time between two packets while the source sends, `E[T_IAT] = L / R_t` of abc2018 IV-A1.
    #[must_use]
    pub fn gap(&self) -> Time {
        match self {
            Self::Poisson(params) => params.rate.time_of(params.packet_size.0),
            Self::Cbr(params) => params.rate.time_of(params.packet_size.0),
            Self::OnOff(params) => params.rate.time_of(params.packet_size.0),
            Self::Voip(params) => params.packet_interval,
        }
    }

    /// Mean rate on the wire in bit/s.
    #[must_use]
    pub fn mean_rate_bps(&self) -> f64 {
        match self {
            Self::Poisson(params) => params.rate.as_f64(),
            Self::Cbr(params) => params.rate.as_f64(),
            Self::OnOff(params) => {
                let packets = params.mean_burst_packets();
                let burst = packets * self.gap().as_secs_f64();
                packets * params.packet_size.0 as f64 * 8.0 / (burst + params.off.as_secs_f64())
            }
            Self::Voip(params) => params.packet_size().0 as f64 * 8.0 / params.packet_interval.as_secs_f64(),
        }
    }
}

impl OnOffParams {
    /// Mean number of packets in a burst, `E[max(1, round(X / gap))]`, where X is the duration of the burst.
    #[must_use]
    pub fn mean_burst_packets(&self) -> f64 {
        let gap = self.rate.time_of(self.packet_size.0).as_secs_f64();
        let mean = self.on.as_secs_f64() / gap;
        match self.distribution {
            // With X in gaps, the mean is 1 plus the sum of P(X > k + 1/2) over k >= 1. This sum is a geometric series.
            BurstDistribution::Exponential => 1.0 + libm::exp(-1.5 / mean) / (1.0 - libm::exp(-1.0 / mean)),
            // Rounding errors average out, except for bursts of less than half a packet, which count as one packet.
            BurstDistribution::Pareto => mean.max(1.0),
        }
    }
}

/// One source of every user of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceConfig {
    /// TCP flows.
    Tcp {
        /// Number and size of flows.
        flows: TcpSourceParams,
        /// TCP parameters.
        tcp: TcpConfig,
    },
    /// Web sessions.
    Web {
        /// Arrivals and sizes.
        web: WebParams,
        /// TCP parameters.
        tcp: TcpConfig,
    },
    /// Transfers with a size distribution.
    Transfers {
        /// Arrivals and sizes.
        transfers: TransfersConfig,
        /// TCP parameters.
        tcp: TcpConfig,
    },
    /// Video that adapts its bitrate.
    Video {
        /// Bitrates, chunks and buffer.
        video: VideoParams,
        /// TCP parameters.
        tcp: TcpConfig,
    },
    /// A test of responsiveness.
    Rpm {
        /// Load and probes.
        rpm: RpmParams,
        /// TCP parameters.
        tcp: TcpConfig,
    },
    /// An unresponsive UDP flow.
    Udp(UdpConfig),
}

impl SourceConfig {
    /// Reads a `[[groups.sources]]` table; `tcp` has the default values of TCP keys.
    pub(super) fn read(table: &mut Table<'_>, tcp: TcpDefaults<'_>) -> Result<Self, ConfigError> {
        let kind: SourceKind = table.required("kind")?;
        let source = match kind {
            SourceKind::Tcp => {
                let flows = TcpSourceParams::read(table)?;
                check_repeat(&flows, table)?;
                Self::Tcp { flows, tcp: tcp.read_source(table)? }
            }
            SourceKind::Web => {
                let web = WebParams::read(table)?;
                check_arrivals(&web, table)?;
                Self::Web { web, tcp: tcp.read_source(table)? }
            }
            SourceKind::Transfers => {
                let transfers = TransfersConfig::read(table)?;
                Self::Transfers { transfers, tcp: tcp.read_source(table)? }
            }
            SourceKind::Video => {
                let video = VideoParams::read_checked(table)?;
                Self::Video { video, tcp: tcp.read_source(table)? }
            }
            SourceKind::Rpm => {
                let rpm = RpmParams::read(table)?;
                Self::Rpm { rpm, tcp: tcp.read_source(table)? }
            }
            SourceKind::Poisson => Self::Udp(UdpConfig::Poisson(read_udp(table)?)),
            SourceKind::Cbr => Self::Udp(UdpConfig::Cbr(read_udp(table)?)),
            SourceKind::OnOff => Self::Udp(UdpConfig::OnOff(read_udp(table)?)),
            SourceKind::Voip => Self::Udp(UdpConfig::Voip(VoipParams::read_checked(table)?)),
        };
        table.finish()?;
        Ok(source)
    }

    /// Writes the table, including all defaults.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        let mut kind = |kind: SourceKind| map.insert("kind".into(), kind.to_json());
        match self {
            Self::Tcp { flows, tcp } => {
                kind(SourceKind::Tcp);
                flows.write(&mut map);
                map.extend(tcp.write());
            }
            Self::Web { web, tcp } => {
                kind(SourceKind::Web);
                web.write(&mut map);
                map.extend(tcp.write());
            }
            Self::Transfers { transfers, tcp } => {
                kind(SourceKind::Transfers);
                transfers.write(&mut map);
                map.extend(tcp.write());
            }
            Self::Video { video, tcp } => {
                kind(SourceKind::Video);
                video.write(&mut map);
                map.extend(tcp.write());
            }
            Self::Rpm { rpm, tcp } => {
                kind(SourceKind::Rpm);
                rpm.write(&mut map);
                map.extend(tcp.write());
            }
            Self::Udp(UdpConfig::Poisson(params)) => {
                kind(SourceKind::Poisson);
                params.write(&mut map);
            }
            Self::Udp(UdpConfig::Cbr(params)) => {
                kind(SourceKind::Cbr);
                params.write(&mut map);
            }
            Self::Udp(UdpConfig::OnOff(params)) => {
                kind(SourceKind::OnOff);
                params.write(&mut map);
            }
            Self::Udp(UdpConfig::Voip(params)) => {
                kind(SourceKind::Voip);
                params.write(&mut map);
            }
        }
        map
    }

    /// Stop time, or [`Time::NEVER`].
    #[must_use]
    pub fn stop(&self) -> Time {
        let until = match self {
            Self::Tcp { flows, .. } => &flows.until,
            Self::Web { web, .. } => &web.until,
            Self::Transfers { transfers, .. } => &transfers.params.until,
            Self::Video { video, .. } => &video.until,
            Self::Rpm { rpm, .. } => &rpm.until,
            Self::Udp(UdpConfig::Poisson(params)) => &params.until,
            Self::Udp(UdpConfig::Cbr(params)) => &params.until,
            Self::Udp(UdpConfig::OnOff(params)) => &params.until,
            Self::Udp(UdpConfig::Voip(params)) => &params.until,
        };
        until.stop.unwrap_or(Time::NEVER)
    }

    /// Start time of all flows of the source, if it is fixed.
    #[must_use]
    pub fn start(&self) -> Option<Time> {
        if let Self::Tcp { flows, .. } = self { flows.start } else { None }
    }

    /// Checks that flows with a fixed start time start before the `end` of the run.
    pub(super) fn check_start(&self, key: String, end: Time) -> Result<(), ConfigError> {
        let Some(start) = self.start().filter(|&start| start > end) else { return Ok(()) };
        let allowed = format!("it must be at most the end of the run, {end}: later flows never start");
        Err(ConfigError::new(key, format!("\"{start}\" is out of range, {allowed}")))
    }

    /// Checks that the source stops after `started`, its latest start, and before the `end` of the run.
    pub(super) fn check_stop(&self, key: String, started: Time, end: Time) -> Result<(), ConfigError> {
        let stop = self.stop();
        if stop == Time::NEVER {
            return Ok(());
        }
        let is_single = matches!(self, Self::Tcp { flows, .. } if flows.transfer.is_some() && flows.repeat == 1);
        let problem = if is_single {
            "has no effect on a single transfer, which ends by itself".into()
        } else if stop <= started {
            format!("is out of range, it must be after the last start, {started}")
        } else if stop >= end {
            format!("is out of range, it must be before the end of the run, {end}")
        } else {
            return Ok(());
        };
        Err(ConfigError::new(key, format!("\"{stop}\" {problem}")))
    }

    /// Returns true if the source has greedy TCP flows.
    #[must_use]
    pub fn has_endless_flows(&self) -> bool {
        match self {
            Self::Tcp { flows, .. } => flows.transfer.is_none(),
            Self::Rpm { .. } => true,
            _ => false,
        }
    }

    /// Returns true if the source has finite transfers whose times are measured.
    #[must_use]
    pub fn has_transfers(&self) -> bool {
        match self {
            Self::Tcp { flows, .. } => flows.transfer.is_some(),
            Self::Web { .. } | Self::Transfers { .. } | Self::Rpm { .. } => true,
            Self::Video { .. } | Self::Udp(_) => false,
        }
    }

    /// Returns true if the source is a telephone call.
    #[must_use]
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Udp(UdpConfig::Voip(_)))
    }

    /// Flows of each user that last for the whole run.
    #[must_use]
    pub fn lasting_flows(&self) -> u64 {
        match self {
            Self::Tcp { flows, .. } => u64::from(flows.flows),
            Self::Rpm { rpm, .. } => u64::from(rpm.flows),
            Self::Web { .. } | Self::Transfers { .. } => 0,
            Self::Video { .. } | Self::Udp(_) => 1,
        }
    }

    /// Returns true if the source sends until the end of the run, so that its mean throughput depends on its start
    /// time. Finite transfers do not count: they are measured individually.
    #[must_use]
    pub fn sends_to_the_end(&self) -> bool {
        match self {
            Self::Tcp { flows, .. } => flows.transfer.is_none(),
            Self::Web { .. } | Self::Transfers { .. } => false,
            Self::Video { .. } | Self::Rpm { .. } | Self::Udp(_) => true,
        }
    }

    /// TCP parameters of a TCP source.
    #[must_use]
    pub fn tcp(&self) -> Option<&TcpConfig> {
        match self {
            Self::Tcp { tcp, .. }
            | Self::Web { tcp, .. }
            | Self::Transfers { tcp, .. }
            | Self::Video { tcp, .. }
            | Self::Rpm { tcp, .. } => Some(tcp),
            Self::Udp(_) => None,
        }
    }
}

/// Reads the parameters of a UDP source. The rate has no default, since the results of a scenario depend on it.
fn read_udp<T: ParamSet>(table: &mut Table<'_>) -> Result<T, ConfigError> {
    if table.get("rate").is_none() {
        table.required::<BitRate>("rate")?;
    }
    T::read(table)
}

/// Rejects repetitions of a greedy flow, which never ends.
fn check_repeat(flows: &TcpSourceParams, table: &Table<'_>) -> Result<(), ConfigError> {
    if flows.transfer.is_none() && flows.repeat > 1 {
        let problem = format!("{} needs a transfer: a flow that always has data never ends", flows.repeat);
        return Err(ConfigError::new(table.key("repeat"), problem));
    }
    Ok(())
}

/// Checks that either `interval` or `sessions` is set, not both.
fn check_arrivals(web: &WebParams, table: &Table<'_>) -> Result<(), ConfigError> {
    match (web.interval, web.sessions) {
        (None, None) => Err(ConfigError::new(
            table.key("interval"),
            "missing, must be a time such as \"40 ms\" between sessions, or give sessions, their number",
        )),
        (Some(interval), Some(sessions)) => Err(ConfigError::new(
            table.key("sessions"),
            format!("{sessions} and interval \"{interval}\": sessions start by one rule, give one of the two"),
        )),
        _ => Ok(()),
    }
}
