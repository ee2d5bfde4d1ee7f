//! Congestion controllers of published QUIC stacks, unmodified, as senders of Fairlane.
//!
//! [`find`] gives Fairlane the controllers of [`CONTROLLERS`] by name: `congestion_control = "quinn-bbr"` with
//! `profile = "quic"`. The [`driver`] makes of Fairlane's calls those that the connection of a stack makes; [`quinn`]
//! and [`s2n_quic`] keep the order of calls of their stack. docs/howto/test-your-controller.md is about how to add one.
//!
//! # Deviations
//! What surrounds the controllers is the profile `quic` of Fairlane, RFC 9002. It differs from the connections of the
//! stacks:
//!
//! 1. Datagrams have 1200 bytes, without discovery of the path's MTU: quinn and s2n-quic look for larger ones.
//! 2. The handshake gives one round-trip time, and its packets are not shown to the controllers.
//! 3. What quinn calls the pacer is in its connection: here it is Fairlane's, at 5/4 of the window in a smoothed
//!    round-trip time (RFC 9002 7.7), in bursts as long as those of quinn's `connection/pacing.rs`. That of s2n-quic is
//!    part of its controllers: Fairlane's paces at the rate that they publish in bursts of their size, also on paths of
//!    less than 2 ms, where s2n-quic does not pace.
//! 4. What leaves at one instant is shown to controllers of quinn as one, up to ten datagrams, as with segmentation
//!    offload (GSO) on an idle host; to those of s2n-quic packet by packet, as its recovery manager does.
//! 5. A segment that is sent twice gives no round-trip time (Karn): Fairlane's ACKs do not tell which copy they answer.
//!    If it is a probe, the first copy is forgotten instead of being taken for lost.
//! 6. ACKs do not tell for how long they were delayed, so that the delay, at most 25 ms, is part of the round-trip
//!    time.
//! 7. Persistent congestion that the timer for late packets finds counts as a loss, as in quinn but not in s2n-quic.

pub mod driver;
pub mod duel;
mod entropy;
pub mod quinn;
pub mod s2n_quic;

use driver::{Driver, Stack};
use fairlane_sim::traffic::tcp::control::{Connection, EcnUse};
use fairlane_sim::traffic::tcp::external::{ControlFactory, ExternalControl, NamedControl};
use quinn::Quinn;
use s2n_quic::S2nQuic;
use std::sync::Arc;

#[cfg(not(getrandom_backend = "custom"))]
compile_error!(
    "quinn's BBR would draw from the entropy of the system: call cargo in the folder of this crate, without RUSTFLAGS"
);

/// Makes the control of a connection with payloads of `mss` bytes. `seed` differs by run and flow.
pub type Make = fn(mss: u32, seed: u64) -> Box<dyn ExternalControl>;

/// A controller with the name that it has in a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// Its name.
    pub name: &'static str,
    /// Makes it.
    pub make: Make,
}

/// All published controllers.
pub const CONTROLLERS: &[Controller] = &[
    Controller { name: "quinn-newreno", make: |mss, _| drive(Quinn::new_reno, mss, 0) },
    Controller { name: "quinn-cubic", make: |mss, _| drive(Quinn::cubic, mss, 0) },
    Controller { name: "quinn-bbr", make: |mss, seed| drive(Quinn::bbr, mss, seed) },
    Controller { name: "s2n-cubic", make: |mss, seed| drive(S2nQuic::cubic, mss, seed) },
    Controller { name: "s2n-bbr", make: |mss, seed| drive(S2nQuic::bbr, mss, seed) },
];

/// A controller made by `make` for datagrams of full packets, behind the calls of Fairlane.
fn drive<S: Stack + 'static>(make: fn(u16, u64) -> S, mss: u32, seed: u64) -> Box<dyn ExternalControl> {
    Box::new(Driver::new(make(driver::datagram_bytes(mss), seed), mss))
}

impl Controller {
    /// For Fairlane.
    #[must_use]
    pub fn named(self) -> NamedControl {
        NamedControl { name: self.name.into(), factory: Arc::new(self) }
    }
}

impl ControlFactory for Controller {
    fn ecn(&self) -> EcnUse {
        // RFC 9000 13.4.2: ACKs count the marks of packets with ECT(0).
        EcnUse::AccurateEct0
    }

    fn create(&self, connection: &Connection, seed: u64) -> Result<Box<dyn ExternalControl>, String> {
        Ok((self.make)(connection.mss, seed))
    }
}

/// The published controller of a name.
#[must_use]
pub fn find(name: &str) -> Option<NamedControl> {
    CONTROLLERS.iter().find(|controller| controller.name == name).map(|controller| controller.named())
}

/// The page's example.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/howto/test-your-controller.md")]
struct Page;
