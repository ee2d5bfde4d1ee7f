//! Texts of qlog in its two formats.

use fairlane_schemes::base::units::Time;
use serde_json::json;
use std::fmt::{self, Display, Write};

/// Nanoseconds per millisecond, and picoseconds per nanosecond.
const NANOS_PER_MILLI: u64 = 1_000_000;
const PICOS_PER_NANO: u64 = 1_000;

/// Format of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// qlog 0.3: one JSON value with a trace for each connection.
    #[default]
    Contained,
    /// A JSON text sequence with a group for each connection, as in the current drafts.
    Sequential,
}

impl Dialect {
    /// Returns the key and value of a stream frame's length, by quic-events-01 appendix A.7.8 or quic-events-13 section
    /// 8.13.8.
    pub(super) fn length_of_frame(self, bytes: u32) -> String {
        match self {
            Self::Contained => format!(r#""length":{bytes}"#),
            Self::Sequential => format!(r#""raw":{{"payload_length":{bytes}}}"#),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    PacketSent,
    PacketReceived,
    PacketLost,
    ParametersSet,
    MetricsUpdated,
    StateUpdated,
}

impl Kind {
    /// Returns the event's name, from the tables of events in quic-events-01 and -13.
    fn name(self, dialect: Dialect) -> &'static str {
        let (contained, sequential) = match self {
            Self::PacketSent => ("transport:packet_sent", "quic:packet_sent"),
            Self::PacketReceived => ("transport:packet_received", "quic:packet_received"),
            Self::PacketLost => ("recovery:packet_lost", "quic:packet_lost"),
            Self::ParametersSet => ("recovery:parameters_set", "quic:recovery_parameters_set"),
            Self::MetricsUpdated => ("recovery:metrics_updated", "quic:recovery_metrics_updated"),
            Self::StateUpdated => ("recovery:congestion_state_updated", "quic:congestion_state_updated"),
        };
        if dialect == Dialect::Contained { contained } else { sequential }
    }
}

/// Receives the events of one connection at one time.
#[derive(Debug)]
pub(super) struct Events<'a> {
    pub(super) text: &'a mut String,
    pub(super) dialect: Dialect,
    /// Identity of the connection, as a JSON string.
    pub(super) label: &'a str,
    pub(super) now: Time,
}

impl Events<'_> {
    /// Adds an event; `data` writes its data.
    pub(super) fn add(&mut self, kind: Kind, data: impl FnOnce(&mut String) -> fmt::Result) {
        self.try_add(kind, data).expect("a text takes everything");
    }

    fn try_add(&mut self, kind: Kind, data: impl FnOnce(&mut String) -> fmt::Result) -> fmt::Result {
        let (time, name) = (Millis(self.now), kind.name(self.dialect));
        match self.dialect {
            Dialect::Contained => write!(self.text, r#"{SEPARATOR}{{"time":{time},"name":"{name}","data":"#)?,
            Dialect::Sequential => {
                let group = self.label;
                write!(self.text, r#"{RECORD}{{"time":{time},"name":"{name}","group_id":{group},"data":"#)?;
            }
        }
        data(self.text)?;
        self.text.push_str(if self.dialect == Dialect::Contained { "}" } else { "}\n" });
        Ok(())
    }
}

/// Separator before each event of a contained log, except the first of a trace.
pub(super) const SEPARATOR: &str = ",\n";
/// RFC 7464 2.2: separator before each text of a sequence.
const RECORD: char = '\u{1e}';

/// End of a trace in a contained log, and end of the log.
pub(super) const TRACE_END: &str = "\n]}";
pub(super) const FILE_END: &str = "\n]}\n";

/// Start of a contained log. Schema and format come first, because qvis expects them there.
pub(super) fn file_header(title: &str, description: &str) -> String {
    let (title, description) = (json!(title), json!(description));
    format!(
        "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"title\":{title},\"description\":{description},\
         \"traces\":[\n"
    )
}

/// Start of a trace in a contained log, for the connection named by the JSON string `label`.
pub(super) fn trace_header(label: &str, user: &str) -> String {
    let vantage_point = json!({"name": user, "type": "client"});
    let common = format!(r#"{{"group_id":{label},"time_format":"relative","reference_time":0}}"#);
    format!("{{\"title\":{label},\"vantage_point\":{vantage_point},\"common_fields\":{common},\"events\":[\n")
}

/// First text of a sequence. main-schema-14 section 3: schema and format must be within the first 256 bytes.
pub(super) fn sequence_header(title: &str, description: &str) -> String {
    let (title, description) = (json!(title), json!(description));
    let trace = json!({
        // main-schema-14 section 7.1: a monotonic clock has no known epoch.
        "common_fields": {
            "time_format": "relative_to_epoch",
            "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
        },
        "vantage_point": {"name": "fairlane", "type": "client"},
        "event_schemas": ["urn:ietf:params:qlog:events:quic-13"],
    });
    format!(
        "{RECORD}{{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\
         \"serialization_format\":\"application/qlog+json-seq\",\"title\":{title},\"description\":{description},\
         \"trace\":{trace}}}\n"
    )
}

/// A time in ms, accurate to the nanosecond.
#[derive(Clone, Copy, Debug)]
pub(super) struct Millis(pub(super) Time);

impl Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.0 / PICOS_PER_NANO;
        write!(f, "{}.{:06}", nanos / NANOS_PER_MILLI, nanos % NANOS_PER_MILLI)
    }
}

/// Ascending numbers as ranges, `[[0,3],[5]]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranges<'a>(pub(super) &'a [u64]);

impl Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = '[';
        for run in self.0.chunk_by(|before, after| before + 1 == *after) {
            write!(f, "{separator}[{}", run[0])?;
            if let [_, .., last] = run {
                write!(f, ",{last}")?;
            }
            f.write_char(']')?;
            separator = ',';
        }
        f.write_char(']')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_milliseconds_to_the_nanosecond() {
        assert_eq!(Millis(Time::from_nanos(12_000_345)).to_string(), "12.000345");
        assert_eq!(Millis(Time(999)).to_string(), "0.000000");
    }

    #[test]
    fn a_range_of_one_has_one_number() {
        assert_eq!(Ranges(&[0, 1, 2, 5, 7, 8]).to_string(), "[[0,2],[5],[7,8]]");
    }
}
