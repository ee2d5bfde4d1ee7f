//! Congestion controllers of published QUIC stacks, unmodified, as senders of Fairlane.
//!
//! [`find`] provides the controllers of [`CONTROLLERS`] to Fairlane by name: `congestion_control = "quinn-bbr"` with
//! `profile = "quic"`. The [`driver`] translates Fairlane's calls to those of a stack's connection. [`quinn`] and
//! [`s2n_quic`] make these calls in the order of their stacks. docs/howto/test-your-controller.md shows how to add one.
//!
//! # Deviations
//! The controllers run on Fairlane's profile `quic` (RFC 9002). It differs from the connections of the stacks:
//!
//! 1. Datagrams have 1200 bytes, without path MTU discovery. quinn and s2n-quic probe for larger ones.
//! 2. The handshake gives one RTT sample. The controllers do not see its packets.
//! 3. quinn's pacer is part of its connection, so Fairlane's pacer replaces it, at 5/4 of the window per smoothed RTT
//!    (RFC 9002 7.7), with the burst lengths of quinn's `connection/pacing.rs`. In s2n-quic the controllers determine
//!    pacing: Fairlane paces at their rate with their burst size, also on paths of less than 2 ms, where s2n-quic does
//!    not pace.
//! 4. quinn's controllers see packets that leave at the same instant as one packet of up to ten datagrams, as with
//!    segmentation offload (GSO) on an idle host. Controllers of s2n-quic see each packet, as from its recovery
//!    manager.
//! 5. A segment that is sent twice gives no RTT sample (Karn), since Fairlane's ACKs do not identify the copy. If the
//!    second copy is a probe, the first is forgotten instead of being considered lost.
//! 6. ACKs do not report their delay, so it is part of the RTT; it is at most 25 ms.
//! 7. Persistent congestion that is detected by the loss timer counts as a loss, as in quinn but not in s2n-quic.

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

/// Creates the control of a connection with payloads of `mss` bytes. `seed` differs by run and flow.
pub type Make = fn(mss: u32, seed: u64) -> Box<dyn ExternalControl>;

/// A controller and its name in scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// Name.
    pub name: &'static str,
    /// Function that creates it.
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

/// Wraps a controller made by `make` for full-sized datagrams in a control of Fairlane.
fn drive<S: Stack + 'static>(make: fn(u16, u64) -> S, mss: u32, seed: u64) -> Box<dyn ExternalControl> {
    Box::new(Driver::new(make(driver::datagram_bytes(mss), seed), mss))
}

impl Controller {
    /// Returns it in the form that Fairlane accepts.
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

/// Returns the published controller called `name`.
#[must_use]
pub fn find(name: &str) -> Option<NamedControl> {
    CONTROLLERS.iter().find(|controller| controller.name == name).map(|controller| controller.named())
}

/// Compiles the example of the page as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/howto/test-your-controller.md")]
struct Page;
