//! A link that follows a recorded trace in Mahimahi's format: one line per opportunity to send a maximum-size packet,
//! with its time in ms. See mm-link(1), "packet-delivery trace".
//!
//! A scenario names the trace file. The code that loads the scenario reads the file and passes its times as gaps
//! between opportunities (`gaps`).

use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, Table, shortened};
use fairlane_schemes::base::units::{BitRate, Bytes, Time};
use fairlane_schemes::params;
use fairlane_schemes::port::{DeliveryTrace, OpportunityTimes};
use serde_json::{Map, Value as Json};
use std::fmt::Write as _;

/// Maximum number of opportunities of a trace. This is enough for 10 Gbit/s over 12 s, or 100 Mbit/s over 20 minutes.
const MOST_OPPORTUNITIES: usize = 10_000_000;
/// Minimum mean rate, as for any link.
const LEAST_RATE: BitRate = BitRate(1000);

params! {
    /// Keys of a link that follows a recorded trace, except the trace's file and content.
    pub struct TraceParams {
        /// Bytes on the wire that a delivery opportunity carries.
        opportunity: Bytes = "1500 B", in "1 B"..="65535 B", source "mm-link(1): an MTU";
        /// Averaging time of the link rate reported to schemes. Until it has passed once, or if absent, schemes get the
        /// link's nominal rate.
        rate_window: Option<Time> = null, in "1 ms"..="1 h", source "our choice";
    }
}

/// The trace of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceConfig {
    /// Name of the file; does not affect results.
    pub file: String,
    /// Times of the opportunities.
    pub times: OpportunityTimes,
    /// Parameters.
    pub params: TraceParams,
}

impl TraceConfig {
    pub(super) fn read(table: &mut Table<'_>, name: &'static str) -> Result<Option<Self>, ConfigError> {
        let Some(mut table) = table.table(name)? else { return Ok(None) };
        let file = table.required_file("file", "radio.up")?;
        let params = TraceParams::read(&mut table)?;
        let key = table.key("gaps");
        let gaps: String = match table.optional("gaps", None)? {
            Some(gaps) => gaps,
            None => {
                let problem = format!("\"{}\" is the name of a file that nobody has read", shortened(&file));
                return Err(ConfigError::new(table.key("file"), problem));
            }
        };
        table.finish()?;
        let times = read_gaps(&gaps).map_err(|problem| ConfigError::new(key, problem))?;
        let trace = Self { file, times, params };
        let rate = trace.delivery().mean_rate();
        if rate < LEAST_RATE {
            let problem =
                format!("\"{}\" has a mean rate of {rate}, it must be at least {LEAST_RATE}", shortened(&trace.file));
            return Err(ConfigError::new(table.key("file"), problem));
        }
        Ok(Some(trace))
    }

    pub(super) fn write(&self) -> Json {
        let mut map = Map::new();
        map.insert("file".into(), self.file.to_json());
        self.params.write(&mut map);
        map.insert("gaps".into(), self.gaps().into());
        Json::Object(map)
    }

    /// Gaps between opportunities in the notation of a scenario.
    pub(crate) fn gaps(&self) -> String {
        write_gaps(&self.times)
    }

    /// Delivery opportunities of the link.
    #[must_use]
    pub fn delivery(&self) -> DeliveryTrace {
        DeliveryTrace {
            times: self.times.clone(),
            opportunity_bytes: self.params.opportunity.0,
            told_window: self.params.rate_window,
        }
    }
}

/// Converts a file in Mahimahi's format to gaps in the notation of a scenario's `gaps`.
///
/// # Errors
/// A wrong line, with its number.
pub fn gaps_of_trace(content: &str) -> Result<String, String> {
    let mut times: Vec<u32> = Vec::new();
    for (number, line) in (1..).zip(content.lines()) {
        let time: u32 = line.trim().parse().map_err(|_| {
            format!("line {number}: \"{}\" is not a time in ms, a whole number from 0 to {}", shortened(line), u32::MAX)
        })?;
        if let Some(before) = times.last().filter(|&&before| before > time) {
            return Err(format!(
                "line {number}: \"{time}\" is out of range, it must be from the line before, {before}, up"
            ));
        }
        times.push(time);
    }
    Ok(write_gaps(&checked(times)?))
}

fn checked(times: Vec<u32>) -> Result<OpportunityTimes, String> {
    if times.is_empty() {
        return Err("is empty, a trace has at least one opportunity".into());
    }
    if times.len() > MOST_OPPORTUNITIES {
        return Err(format!("{} opportunities are out of range, there may be {MOST_OPPORTUNITIES}", times.len()));
    }
    OpportunityTimes::new(times).ok_or_else(|| "ends at 0 ms, the last time must be at least 1 ms".into())
}

/// Writes gaps in ms, starting from time 0. Equal consecutive gaps are written as `GAP*COUNT`.
fn write_gaps(times: &OpportunityTimes) -> String {
    let mut text = String::new();
    let (mut before, mut run) = (0, None::<(u32, usize)>);
    let mut end_run = |run: Option<(u32, usize)>| {
        let Some((gap, count)) = run else { return };
        let separator = if text.is_empty() { "" } else { " " };
        let count = if count > 1 { format!("*{count}") } else { String::new() };
        let _ = write!(text, "{separator}{gap}{count}");
    };
    for &time in times.times_ms() {
        let gap = time - before;
        before = time;
        run = match run {
            Some((same, count)) if same == gap => Some((gap, count + 1)),
            other => {
                end_run(other);
                Some((gap, 1))
            }
        };
    }
    end_run(run);
    text
}

fn read_gaps(text: &str) -> Result<OpportunityTimes, String> {
    let (mut times, mut now) = (Vec::new(), 0u32);
    for word in text.split_whitespace() {
        let (gap, count) = word.split_once('*').unwrap_or((word, "1"));
        let gap_and_count = gap.parse::<u32>().ok().zip(count.parse::<usize>().ok().filter(|&count| count > 0));
        let Some((gap, count)) = gap_and_count else {
            return Err(format!("\"{}\" is not a gap in ms such as 2, or 2*10 for ten of them", shortened(word)));
        };
        if times.len() + count > MOST_OPPORTUNITIES {
            return Err(format!("more opportunities than there may be, {MOST_OPPORTUNITIES}"));
        }
        for _ in 0..count {
            now =
                now.checked_add(gap).ok_or_else(|| format!("times are out of range, the last may be {}", u32::MAX))?;
            times.push(now);
        }
    }
    checked(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_becomes_its_gaps_and_back() {
        let gaps = gaps_of_trace("0\n0\n3\n6\n9\n9\n20\n").unwrap();
        assert_eq!(gaps, "0*2 3*3 0 11");
        assert_eq!(read_gaps(&gaps).unwrap().times_ms(), [0, 0, 3, 6, 9, 9, 20]);
        // Windows line breaks.
        assert_eq!(gaps_of_trace("5\r\n7\r\n").unwrap(), "5 2");
    }

    #[test]
    fn what_is_no_trace_is_one_line_that_says_where() {
        for (content, problem) in [
            ("", "is empty, a trace has at least one opportunity"),
            ("0\n0\n", "ends at 0 ms, the last time must be at least 1 ms"),
            ("1\n\n2\n", "line 2: \"\" is not a time in ms, a whole number from 0 to 4294967295"),
            ("1\nabc\n", "line 2: \"abc\" is not a time in ms, a whole number from 0 to 4294967295"),
            ("-1\n", "line 1: \"-1\" is not a time in ms, a whole number from 0 to 4294967295"),
            ("5\n7\n6\n", "line 3: \"6\" is out of range, it must be from the line before, 7, up"),
        ] {
            assert_eq!(gaps_of_trace(content).unwrap_err(), problem);
        }
        assert!(read_gaps("1*10000001").is_err());
        assert!(read_gaps("4294967295 1").is_err());
        assert!(read_gaps("1 x").is_err());
    }

    #[test]
    fn gaps_without_a_file_ask_for_its_name() {
        let json = serde_json::json!({"trace": {"gaps": "1 2"}});
        let error = TraceConfig::read(&mut Table::new("link", &json).unwrap(), "trace").unwrap_err().to_string();
        assert_eq!(error, "link.trace.file: missing, must be the name of a file such as \"radio.up\"");
    }
}
