//! `send`: sends UDP packets at constant or exponential gaps.

use super::{Outcome, duration, print_out};
use clap::Args;
use fairlane_node::traffic::PayloadHeader;
use fairlane_node::traffic::sender::{self, Gaps, Sending};
use fairlane_schemes::base::config::read_value;
use fairlane_schemes::base::units::{BitRate, Time};
use serde_json::json;
use std::net::SocketAddr;

/// Arguments of `send`.
#[derive(Args)]
pub struct Send {
    /// Address and port of the receiver
    to: SocketAddr,
    /// Rate, including IP and UDP headers, such as "40 Mbit/s"
    #[arg(long, value_parser = rate)]
    rate: BitRate,
    /// Payload of a packet in bytes
    #[arg(
        long,
        default_value_t = 1448,
        value_parser = clap::value_parser!(u16).range(PayloadHeader::BYTES as i64..=65_507)
    )]
    payload: u16,
    /// Gaps between packets: "cbr" (constant) or "poisson" (exponential)
    #[arg(long, default_value = "cbr", value_parser = gaps)]
    gaps: Gaps,
    /// Width of the uniform jitter of constant gaps, as a multiple of the gap, 0 to 2
    #[arg(long, default_value_t = 0.0, value_parser = jitter)]
    jitter: f64,
    /// End after this time, such as "10 s" [default: at SIGINT or SIGTERM]
    #[arg(long, value_parser = duration)]
    time: Option<Time>,
    /// Seed of the random gaps
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stream number carried by the packets
    #[arg(long, default_value_t = 0)]
    stream: u32,
}

impl Send {
    /// Sends, then prints a line of JSON.
    pub fn run(self) -> Outcome {
        let Self { to, rate, payload, gaps, jitter, time, seed, stream } = self;
        let sending = Sending { to, rate, payload: payload.into(), gaps, jitter, time, seed, stream };
        Ok(print_out(&format!("{}\n", sender::send(&sending)?))?)
    }
}

fn rate(text: &str) -> Result<BitRate, String> {
    let range = (json!("1 kbit/s"), json!("10 Tbit/s"));
    read_value("rate", &json!(text), Some(range)).map_err(|error| error.problem)
}

fn gaps(text: &str) -> Result<Gaps, String> {
    [Gaps::Constant, Gaps::Exponential]
        .into_iter()
        .find(|gaps| gaps.name() == text)
        .ok_or_else(|| "must be cbr or poisson".into())
}

fn jitter(text: &str) -> Result<f64, String> {
    let jitter: Option<f64> = text.parse().ok();
    jitter.filter(|jitter| (0.0..=2.0).contains(jitter)).ok_or_else(|| "must be from 0 to 2".into())
}
