//! `sink`: receives the packets of `send`.

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
    /// End after this time, such as "10 s" [default: at SIGINT or SIGTERM]
    #[arg(long, value_parser = duration)]
    time: Option<Time>,
}

impl Sink {
    /// Receives packets. Prints a line of JSON when ready to receive, at every SIGUSR1 and at the end. Each report
    /// covers the time since the previous one.
    pub fn run(self) -> Outcome {
        sink::receive(self.address, self.time, print_line)?;
        Ok(())
    }
}
