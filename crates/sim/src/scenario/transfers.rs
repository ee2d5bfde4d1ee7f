//! Transfers with random sizes from a distribution, starting as a Poisson process.

use super::size_cdf::{CdfFile, SizeCdf, SizeTable};
use super::stop::StopParams;
use super::tcp::TcpConfig;
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, Table};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::params;
use serde_json::{Map, Value as Json};

/// A share of a link's rate, written as a percentage. It may exceed 100 %.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Load {
    percent: f64,
}

impl Load {
    /// Load as a fraction of the rate.
    #[must_use]
    pub fn share(self) -> f64 {
        self.percent / 100.0
    }
}

impl ConfigValue for Load {
    const KIND: &'static str = "load";
    const EXAMPLE: &'static str = "60 %";
    fn parse(value: &Json) -> Option<Self> {
        let percent: f64 = value.as_str()?.trim().strip_suffix('%')?.trim().parse().ok()?;
        percent.is_finite().then_some(Self { percent })
    }
    fn to_json(&self) -> Json {
        format!("{} %", self.percent).into()
    }
    fn within(&self, min: &Self, max: &Self) -> bool {
        min <= self && self <= max
    }
}

params! {
    /// TCP transfers of one user, each over a new connection, starting as a Poisson process. Their sizes follow a named
    /// distribution (`sizes`) or one from a file (`cdf`).
    pub struct TransfersParams {
        /// Load offered by all users of the group together, as a share of the rate of the slowest link of their route.
        /// It includes payload and headers, but no handshakes and retransmissions. Set either `load` or `interval`.
        load: Option<Load> = null, in "0.01 %"..="1000 %", symbol "rho", source "pFabric (SIGCOMM 2013) 5.1";
        /// Mean of the exponential time between two transfer starts of a user, from `start_from` on.
        interval: Option<Time> = null, in "1 us"..="720 h", source "as of web";
        /// Distribution of the payload: web search (DCTCP, SIGCOMM 2010, fig. 4; mean 1.711 MB) or data mining (VL2,
        /// SIGCOMM 2009, fig. 2, with the points of pFabric; mean 7.470 MB). Set either `sizes` or `cdf`.
        sizes: Option<SizeTable> = null, source "DCTCP, SIGCOMM 2010; VL2, SIGCOMM 2009";
        /// Maximum number of open transfers of a user. Further transfers are refused and counted.
        limit: u32 = 10000, in 1..=1000000, source "our choice, bounds the memory";
        with until: StopParams;
    }
}

/// Transfers of one user.
#[derive(Clone, Debug, PartialEq)]
pub struct TransfersConfig {
    /// Arrivals, and the distribution if it has a name.
    pub params: TransfersParams,
    /// The distribution if it comes from a file.
    pub file: Option<CdfFile>,
}

impl TransfersConfig {
    pub(super) fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let params = TransfersParams::read(table)?;
        let file = CdfFile::read(table)?;
        match (&params.sizes, &file) {
            (None, None) => {
                let problem = "missing, must be one of web_search, data_mining, or give cdf, a table with a file";
                return Err(ConfigError::new(table.key("sizes"), problem));
            }
            (Some(sizes), Some(_)) => {
                let problem =
                    format!("{} and a cdf: sizes have one distribution, give one of the two", sizes.to_json());
                return Err(ConfigError::new(table.key("sizes"), problem));
            }
            _ => {}
        }
        match (params.load, params.interval) {
            (None, None) => {
                let problem = "missing, must be a load such as \"60 %\", or give interval, a time between transfers";
                Err(ConfigError::new(table.key("load"), problem))
            }
            (Some(load), Some(interval)) => {
                let problem = format!("{} and interval \"{interval}\": give one of the two", load.to_json());
                Err(ConfigError::new(table.key("load"), problem))
            }
            _ => Ok(Self { params, file }),
        }
    }

    pub(super) fn write(&self, map: &mut Map<String, Json>) {
        self.params.write(map);
        if let Some(file) = &self.file {
            map.insert("cdf".into(), file.write());
        }
    }

    /// Distribution of the payload.
    #[must_use]
    pub fn sizes(&self) -> SizeCdf {
        let named = || self.params.sizes.unwrap_or(SizeTable::WebSearch).cdf();
        self.file.as_ref().map_or_else(named, |file| file.cdf.clone())
    }

    /// Mean time between the starts of two transfers of a user. `users` users share a link of `rate`.
    #[must_use]
    pub fn interval(&self, tcp: &TcpConfig, users: u32, rate: BitRate) -> Time {
        let Some(load) = self.params.load else { return self.params.interval.unwrap_or(Time::NEVER) };
        let sizes = self.sizes();
        let segments = sizes.mean_segments(f64::from(tcp.params.segment_payload));
        let bits = 8.0 * (sizes.mean() + segments * f64::from(tcp.params.header_bytes));
        let seconds = f64::from(users) * bits / (load.share() * rate.as_f64());
        Time(((seconds * Time::PER_SECOND as f64) as u64).max(1))
    }
}
