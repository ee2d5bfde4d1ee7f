//! The configuration of a port's queue, from which the discipline is built.

use crate::base::config::{ConfigError, ParamSet, Table};
use crate::base::units::BitRate;
use crate::contract::buffer::{BufferParams, Scheduler};
use crate::contract::marker::MarkerScheme;
use crate::contract::packet::Packet;
use crate::contract::scheme::Port;
use crate::contract::weights::Weights;
use crate::registry::external::{ExternalScheme, FindExternal, no_external};
use crate::registry::schemes::{AnyDiscipline, Scheme, SchemeParams};
use serde_json::{Map, Value as Json};

/// Configuration of a port's discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Buffer and scheduler.
    pub buffer: BufferParams,
    /// The scheme.
    pub scheme: SchemeParams,
}

impl QueueConfig {
    /// Creates a configuration of `scheme` with default parameters and the given buffer.
    #[must_use]
    pub fn of(scheme: Scheme, buffer: BufferParams) -> Self {
        Self { buffer, scheme: scheme.default_params() }
    }

    /// Creates a configuration of an external scheme with the given buffer.
    #[must_use]
    pub fn external(scheme: ExternalScheme, buffer: BufferParams) -> Self {
        Self { buffer, scheme: SchemeParams::External(scheme) }
    }

    /// The scheme, unless it is external.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        self.scheme.scheme()
    }

    /// Name of the scheme.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.scheme {
            SchemeParams::External(scheme) => &scheme.name,
            listed => listed.scheme().map_or("", Scheme::name),
        }
    }

    /// Marker that writes the scheme's labels. An external scheme without a marker accepts the labels of any.
    #[must_use]
    pub fn marker(&self) -> MarkerScheme {
        match &self.scheme {
            SchemeParams::External(scheme) => scheme.factory.marker(),
            listed => listed.scheme().map_or(MarkerScheme::NONE, Scheme::marker),
        }
    }

    /// Returns true if the scheme may mark ECN-capable packets.
    #[must_use]
    pub fn marks(&self) -> bool {
        self.scheme.marks()
    }

    /// Reads a `[queue]` table.
    ///
    /// # Errors
    /// If a key is unknown, a value is out of range, or values contradict each other or the limit.
    pub fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        Self::read_with(table, &no_external)
    }

    /// Like [`QueueConfig::read`]; `scheme` may also name a scheme that `find` returns.
    ///
    /// # Errors
    /// See [`QueueConfig::read`].
    pub fn read_with(table: &mut Table<'_>, find: FindExternal<'_>) -> Result<Self, ConfigError> {
        if let Some(scheme) = table.get("scheme").and_then(Json::as_str).and_then(find) {
            let buffer = BufferParams::read(table)?;
            Self::check_scheduler(&scheme.name, &buffer, table)?;
            let scheme = scheme.read(&buffer, table)?;
            table.finish()?;
            return Ok(Self::external(scheme, buffer));
        }
        let scheme: Scheme = table.required("scheme")?;
        let buffer = BufferParams::read(table)?;
        if scheme.orders_packets() {
            Self::check_scheduler(scheme.name(), &buffer, table)?;
        }
        let scheme = scheme.read_params(&buffer, table)?;
        table.finish()?;
        Ok(Self { buffer, scheme })
    }

    /// Rejects a scheduler other than `fifo` for a scheme that orders packets itself.
    fn check_scheduler(name: &str, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        if buffer.scheduler == Scheduler::Fifo {
            return Ok(());
        }
        let problem =
            format!("\"{}\" is out of range, it must be fifo: {name} orders packets itself", buffer.scheduler.name());
        Err(ConfigError::new(table.key("scheduler"), problem))
    }

    /// Writes the table that [`QueueConfig::read`] reads, including defaults.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("scheme".into(), self.name().into());
        self.buffer.write(&mut map);
        self.scheme.write(&mut map);
        map
    }

    /// Returns true if packets may wait while the link is idle.
    #[must_use]
    pub fn may_hold_back(&self) -> bool {
        self.scheme().is_some_and(Scheme::shapes) || self.scheme.holds_back().is_some()
    }

    /// Rejects schemes that hold packets back while the link is idle. A host that acts only on arrivals and departures
    /// would never send these packets.
    ///
    /// # Errors
    /// If the scheme holds packets back. The error names the responsible key.
    pub fn check_never_idles(&self, key: impl Fn(&str) -> String) -> Result<(), ConfigError> {
        let Some((name, rate)) = self.scheme.holds_back() else { return Ok(()) };
        let problem =
            format!("\"{rate}\" needs a host that asks a queue again at a time of its choice, as the simulator does");
        Err(ConfigError::new(key(name), problem))
    }

    /// Builds the discipline for a link of rate `rate`. `weights` are the weights of its flows or users.
    #[must_use]
    pub fn build<P: Packet>(&self, rate: BitRate, weights: &Weights) -> AnyDiscipline<P> {
        self.scheme.build(&Port { buffer: &self.buffer, rate, weights })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::base::units::Time;
    use crate::contract::discipline::QueueDiscipline;
    use crate::contract::packet::Ecn;
    use crate::testing::TestPacket;
    use crate::testing::refusal;
    use serde_json::json;

    #[test]
    fn what_is_written_reads_back() {
        for &scheme in Scheme::ALL {
            let config = QueueConfig::of(scheme, BufferParams::default());
            let value = Json::Object(config.write());
            assert_eq!(QueueConfig::read(&mut Table::new("queue", &value).unwrap()).unwrap(), config);
        }
    }

    /// Returns true if any packet is marked in an overload of ECN-capable packets.
    fn is_seen_to_mark(config: &QueueConfig) -> bool {
        let rate = BitRate(10_000_000);
        let mut queue = config.build(rate, &Weights::equal());
        let mut rng = Rng::stream(1, 0, "marks", 0);
        let mut seen = false;
        for number in 0..8000u32 {
            let now = Time::from_micros(u64::from(number) * 600);
            let ecn = if number % 3 == 0 { Ecn::Ect1 } else { Ecn::Ect0 };
            let packet = TestPacket { flow: number % 2, user: number % 2, ecn, ..Default::default() };
            queue.enqueue(packet, now, &mut rng, &mut ());
            if number % 2 == 1 {
                seen |= queue.dequeue(now, &mut rng, &mut ()).is_some_and(|packet| packet.ecn() == Ecn::Ce);
            }
        }
        seen
    }

    #[test]
    fn a_scheme_that_marks_says_so() {
        for &scheme in Scheme::ALL {
            let config = QueueConfig::of(scheme, BufferParams::default());
            assert!(config.marks() || !is_seen_to_mark(&config), "{}", scheme.name());
        }
        for scheme in [Scheme::DualPi2, Scheme::FqCodel, Scheme::Cake, Scheme::Htb] {
            assert!(is_seen_to_mark(&QueueConfig::of(scheme, BufferParams::default())), "{}", scheme.name());
        }
    }

    #[test]
    fn a_rate_below_the_links_needs_a_host_that_asks_again() {
        let found = |queue: Json| {
            let queue = QueueConfig::read(&mut Table::new("queue", &queue).unwrap()).unwrap();
            let refused = queue.check_never_idles(|key| format!("queue.{key}")).err();
            (queue.may_hold_back(), refused.map(|error| error.key))
        };
        let cake = json!({"scheme": "cake", "bandwidth": "5 Mbit/s"});
        assert_eq!(found(cake), (true, Some("queue.bandwidth".into())));
        assert_eq!(found(json!({"scheme": "cake", "framing": "atm"})), (false, None));
        assert_eq!(found(json!({"scheme": "htb", "ceil": "5 Mbit/s"})), (true, Some("queue.ceil".into())));
        assert_eq!(found(json!({"scheme": "htb"})), (true, None));
    }

    #[test]
    fn a_key_of_another_scheme_is_unknown() {
        assert!(refusal(json!({"scheme": "droptail", "gamma": "16 packets"})).starts_with("queue.gamma: unknown key"));
    }
}
