//! `sink`: receives what `send` sends.

use super::{Outcome, duration, print_line};
use clap::Args;
use fairlane_node::traffic::sink;
use fairlane_schemes::base::units::Time;
use std::net::SocketAddr;

/// Arguments of `sink`.
#[derive(Args)]
pub struct Sink {
    /// Address and port to receive at, such as 0.0.0.0:9000
    address: SocketAddr,
    /// Ends after this time, such as "10 s"; otherwise at SIGINT or SIGTERM
    #[arg(long, value_parser = duration)]
    time: Option<Time>,
}

impl Sink {
    /// Receives; prints a line of JSON when it is ready, at every SIGUSR1 and at the end, the latter about the time
    /// since the one before.
    pub fn run(self) -> Outcome {
        sink::receive(self.address, self.time, print_line)?;
        Ok(())
    }
}
