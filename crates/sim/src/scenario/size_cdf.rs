//! Sizes of transfers from a cumulative distribution, linear between its points.
//!
//! The file format is that of traffic generators for data-centre papers (HKUST-SING/TrafficGenerator
//! `src/common/cdf.c`, HPCC `traffic_gen/custom_rand.py`): one line per point, with a size in bytes and the share of
//! transfers up to that size.
//!
//! Deviations:
//! 1. Shares are percentages if the last share is 100 (as in HPCC), and fractions if it is 1 (as in HKUST-SING). Any
//!    other last share is rejected; HKUST-SING stops at the last size.
//! 2. A distribution whose first share is above 0 starts at 0 bytes, as in HKUST-SING; HPCC rejects such a
//!    distribution.
//! 3. Equal sizes on two lines are a jump of the distribution, which HPCC rejects. No transfer has a size between two
//!    points of equal share.
//! 4. Empty lines and text after a `#` are ignored.

use fairlane_schemes::base::config::{ConfigError, ConfigValue, Table, shortened};
use fairlane_schemes::choices;
use serde_json::{Map, Value as Json};
use std::fmt::Write as _;
use std::sync::Arc;

const MOST_POINTS: usize = 100_000;
/// Maximum size of any transfer: 1000 TB.
const MOST_BYTES: f64 = 1e15;
/// Packet size in the tables of pFabric, in bytes.
const PACKET: f64 = 1460.0;

choices! {
    /// Named size distributions.
    pub enum SizeTable {
        /// Alizadeh et al., DCTCP, SIGCOMM 2010, fig. 4: background flows of a web search cluster. The points are from
        /// HKUST-SING `DCTCP_CDF.txt` and HPCC `WebSearch_distribution.txt`. Mean 1.711 MB.
        WebSearch = "web_search",
        /// Greenberg et al., VL2, SIGCOMM 2009, fig. 2: a data mining cluster. The points are from pFabric (SIGCOMM
        /// 2013), in packets of 1460 bytes. Mean 7.470 MB.
        DataMining = "data_mining",
    }
}

impl SizeTable {
    /// Points of the distribution.
    #[must_use]
    pub fn cdf(self) -> SizeCdf {
        let points = match self {
            Self::WebSearch => vec![
                (0.0, 0.0),
                (10e3, 0.15),
                (20e3, 0.2),
                (30e3, 0.3),
                (50e3, 0.4),
                (80e3, 0.53),
                (200e3, 0.6),
                (1e6, 0.7),
                (2e6, 0.8),
                (5e6, 0.9),
                (10e6, 0.97),
                (30e6, 1.0),
            ],
            Self::DataMining => vec![
                (PACKET, 0.0),
                (PACKET, 0.5),
                (2.0 * PACKET, 0.6),
                (3.0 * PACKET, 0.7),
                (7.0 * PACKET, 0.8),
                (267.0 * PACKET, 0.9),
                (2107.0 * PACKET, 0.95),
                (66_667.0 * PACKET, 0.99),
                (666_667.0 * PACKET, 1.0),
            ],
        };
        SizeCdf { points: points.into() }
    }
}

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeCdf {
    /// Sizes in bytes with the share of transfers up to each size. Sizes and shares do not decrease; shares go from 0
    /// to 1.
    points: Arc<[(f64, f64)]>,
}

impl SizeCdf {
    /// Creates a distribution from points. An error contains the number of the wrong point, from 0, and the reason.
    fn new(mut points: Vec<(f64, f64)>) -> Result<Self, (Option<usize>, String)> {
        let Some(&(largest, last)) = points.last() else {
            return Err((None, "is empty, a distribution has at least one point".into()));
        };
        if points.len() > MOST_POINTS {
            return Err((None, format!("{} points are out of range, there may be {MOST_POINTS}", points.len())));
        }
        let mut before = (0.0, 0.0);
        for (index, &(size, share)) in points.iter().enumerate() {
            let problem = if !(0.0..=MOST_BYTES).contains(&size) {
                format!("size {size} is out of range, it must be from 0 to {MOST_BYTES:e} bytes")
            } else if size < before.0 {
                format!("size {size} is out of range, it must be at least the one before, {}", before.0)
            } else if share.is_nan() || share < before.1 {
                format!(
                    "share {share} is out of range, it must be at least the one before, {}: a CDF never falls",
                    before.1
                )
            } else {
                before = (size, share);
                continue;
            };
            return Err((Some(index), problem));
        }
        let end = Some(points.len() - 1);
        if last != 1.0 && last != 100.0 {
            return Err((end, format!("the last share is {last}, it must be 1, or 100 if shares are percentages")));
        }
        if largest < 1.0 {
            return Err((end, format!("the largest size is {largest}, it must be at least 1 byte")));
        }
        if last == 100.0 {
            points.iter_mut().for_each(|(_, share)| *share /= 100.0);
        }
        if points[0].1 > 0.0 {
            points.insert(0, (0.0, 0.0));
        }
        Ok(Self { points: points.into() })
    }

    /// Reads the content of a file.
    ///
    /// # Errors
    /// If a line is wrong. The error contains its line number.
    pub fn of_file(content: &str) -> Result<Self, String> {
        let (mut points, mut lines) = (Vec::new(), Vec::new());
        for (number, line) in (1..).zip(content.lines()) {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
            let ([_, _], [size, share]) = (&words[..], &numbers[..]) else {
                let shown = shortened(line.trim());
                return Err(format!(
                    "line {number}: \"{shown}\" is not a size in bytes and a share, such as 10000 0.15"
                ));
            };
            points.push((*size, *share));
            lines.push(number);
        }
        Self::new(points).map_err(|(index, problem)| match index {
            Some(index) => format!("line {}: {problem}", lines[index]),
            None => problem,
        })
    }

    /// Writes the points in the notation of a scenario: a sequence of `SIZE:SHARE`.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (size, share) in self.points.iter() {
            let separator = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{separator}{size}:{share}");
        }
        text
    }

    fn of_text(text: &str) -> Result<Self, String> {
        let mut points = Vec::new();
        for word in text.split_whitespace() {
            let point = word.split_once(':').and_then(|(size, share)| size.parse().ok().zip(share.parse().ok()));
            points.push(point.ok_or_else(|| {
                format!("\"{}\" is not a size in bytes and a share such as 10000:0.15", shortened(word))
            })?);
        }
        Self::new(points).map_err(|(_, problem)| problem)
    }

    /// Quantile: the size that a share `u` of transfers does not exceed.
    #[must_use]
    pub fn quantile(&self, u: f64) -> f64 {
        let above = self.points.partition_point(|&(_, share)| share < u).clamp(1, self.points.len() - 1);
        let ((low, from), (high, to)) = (self.points[above - 1], self.points[above]);
        if to > from { low + (high - low) * (u - from) / (to - from) } else { high }
    }

    /// Mean size in bytes: the integral over all quantiles.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean_of(|low, high| (low + high) / 2.0)
    }

    /// Mean number of segments of a transfer with `payload` bytes per segment; the last one may be shorter.
    #[must_use]
    pub fn mean_segments(&self, payload: f64) -> f64 {
        // Integral of ceil(x / payload) from 0 to x.
        let integral = |x: f64| {
            let full = (x / payload).floor();
            payload * full * (full + 1.0) / 2.0 + (full + 1.0) * (x - payload * full)
        };
        self.mean_of(|low, high| {
            if high > low { (integral(high) - integral(low)) / (high - low) } else { (high / payload).ceil().max(1.0) }
        })
    }

    /// Mean of a function of the size. `between` returns its mean over sizes that are uniform between two adjacent
    /// points.
    fn mean_of(&self, between: impl Fn(f64, f64) -> f64) -> f64 {
        let pairs = self.points.windows(2);
        pairs.map(|pair| (pair[1].1 - pair[0].1) * between(pair[0].0, pair[1].0)).sum()
    }
}

/// A distribution from a file. The code that loads the scenario passes the content of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct CdfFile {
    /// Name of the file; does not affect results.
    pub file: String,
    /// Content of the file.
    pub cdf: SizeCdf,
}

impl CdfFile {
    pub(super) fn read(table: &mut Table<'_>) -> Result<Option<Self>, ConfigError> {
        let Some(mut table) = table.table("cdf")? else { return Ok(None) };
        let file = table.required_file("file", "sizes.txt")?;
        let points: Option<String> = table.optional("points", None)?;
        table.finish()?;
        let Some(points) = points else {
            let problem = format!("\"{}\" is the name of a file that nobody has read", shortened(&file));
            return Err(ConfigError::new(table.key("file"), problem));
        };
        let cdf = SizeCdf::of_text(&points).map_err(|problem| ConfigError::new(table.key("points"), problem))?;
        Ok(Some(Self { file, cdf }))
    }

    pub(super) fn write(&self) -> Json {
        let keys = [("file".to_string(), self.file.to_json()), ("points".to_string(), self.cdf.text().into())];
        Json::Object(Map::from_iter(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::base::rng::Rng;

    #[test]
    fn built_in_distributions_have_the_means_of_their_tables() {
        // The means were computed by hand from trapezoids. Web search: 0.15*5 + 0.05*15 + 0.1*25 + 0.1*40 + 0.13*65 +
        // 0.07*140 + 0.1*600 + 0.1*1500 + 0.1*3500 + 0.07*7500 + 0.03*20000 = 1711.25 kB. Data mining, in packets: 0.5
        // + 0.15 + 0.25 + 0.5 + 13.7 + 59.35 + 0.04*34387 + 0.01*366667 = 5116.6 packets of 1460 B; pFabric gives 7.4
        // MB.
        assert!((SizeTable::WebSearch.cdf().mean() / 1_711_250.0 - 1.0).abs() < 1e-9);
        assert!((SizeTable::DataMining.cdf().mean() / (5116.6 * 1460.0) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn draws_have_the_mean_of_the_integral_and_the_shares_of_the_points() {
        let cdf = SizeTable::WebSearch.cdf();
        let mut rng = Rng::stream(1, 0, "test", 0);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| cdf.quantile(rng.open01())).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let deviation = (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n)).sqrt();
        // The tolerance is five standard errors.
        assert!((mean - cdf.mean()).abs() < 5.0 * deviation / f64::from(n).sqrt(), "{mean}");
        for (size, share) in [(10e3, 0.15), (80e3, 0.53), (1e6, 0.7), (10e6, 0.97)] {
            let below = draws.iter().filter(|&&x| x <= size).count() as f64 / f64::from(n);
            assert!((below - share).abs() < 5.0 * (share * (1.0 - share) / f64::from(n)).sqrt(), "{below} {share}");
        }
        // With segments of 1000 bytes, the last segment is half full on average.
        let segments = draws.iter().map(|x| (x / 1000.0).ceil()).sum::<f64>() / f64::from(n);
        assert!((segments - cdf.mean_segments(1000.0)).abs() < 5.0 * deviation / 1000.0 / f64::from(n).sqrt());
    }

    #[test]
    fn segments_of_a_jump_and_of_a_uniform_size_are_counted_by_hand() {
        let jump = SizeCdf::of_file("1500 0\n1500 1\n").unwrap();
        assert_eq!((jump.mean(), jump.mean_segments(1000.0)), (1500.0, 2.0));
        // A size drawn uniformly from 0 to 2500 bytes has 1 segment with probability 0.4, 2 with 0.4, and 3 with 0.2.
        let uniform = SizeCdf::of_file("2500 1").unwrap();
        assert!((uniform.mean_segments(1000.0) - 1.8).abs() < 1e-12);
        assert_eq!((uniform.quantile(0.5), uniform.quantile(1.0)), (1250.0, 2500.0));
    }

    #[test]
    fn percentages_and_shares_of_one_mean_the_same() {
        let shares = SizeCdf::of_file("0 0\n10000 0.15\n30000000 1\n").unwrap();
        let percentages = SizeCdf::of_file("# bytes, %\n0 0\n\n10000\t15 # a comment\r\n30000000 100\n").unwrap();
        assert_eq!(shares, percentages);
        assert_eq!(shares.text(), "0:0 10000:0.15 30000000:1");
        assert_eq!(SizeCdf::of_text(&shares.text()).unwrap(), shares);
    }

    #[test]
    fn what_is_no_distribution_is_one_line_that_says_where() {
        for (content, problem) in [
            ("", "is empty, a distribution has at least one point"),
            ("# only this\n", "is empty, a distribution has at least one point"),
            ("0 0\n5 x\n", "line 2: \"5 x\" is not a size in bytes and a share, such as 10000 0.15"),
            ("1 1 0.5\n", "line 1: \"1 1 0.5\" is not a size in bytes and a share, such as 10000 0.15"),
            (
                "0 0\n\n10 0.5\n20 0.4\n30 1\n",
                "line 4: share 0.4 is out of range, it must be at least the one before, 0.5: a CDF never falls",
            ),
            ("10 0.5\n5 1\n", "line 2: size 5 is out of range, it must be at least the one before, 10"),
            ("0 0\n10 0.9\n", "line 2: the last share is 0.9, it must be 1, or 100 if shares are percentages"),
            ("0 1\n", "line 1: the largest size is 0, it must be at least 1 byte"),
            ("-1 0\n", "line 1: size -1 is out of range, it must be from 0 to 1e15 bytes"),
            ("nan 1\n", "line 1: size NaN is out of range, it must be from 0 to 1e15 bytes"),
            (
                "1 -0.1\n",
                "line 1: share -0.1 is out of range, it must be at least the one before, 0: a CDF never falls",
            ),
        ] {
            assert_eq!(SizeCdf::of_file(content).unwrap_err(), problem);
        }
    }

    #[test]
    fn a_file_that_is_missing_is_named_by_an_example_of_its_kind() {
        let refusal = |json: serde_json::Value| {
            let json = serde_json::json!({"cdf": json});
            CdfFile::read(&mut Table::new("source", &json).unwrap()).unwrap_err().to_string()
        };
        assert_eq!(
            refusal(serde_json::json!({"points": "0:0 10:1"})),
            "source.cdf.file: missing, must be the name of a file such as \"sizes.txt\""
        );
        assert_eq!(
            refusal(serde_json::json!({"file": 5})),
            "source.cdf.file: 5 is not the name of a file such as \"sizes.txt\""
        );
    }
}
