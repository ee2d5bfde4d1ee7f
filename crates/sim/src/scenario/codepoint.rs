//! ECN field of datagrams, shared by all UDP sources except calls.

use fairlane_schemes::contract::packet::Ecn;
use fairlane_schemes::{choices, params};

choices! {
    /// Codepoint of the ECN field.
    pub enum Codepoint {
        /// Not ECN-capable.
        NotEct = "not_ect",
        /// ECN-capable, as in classic transports.
        Ect0 = "ect0",
        /// ECN-capable, as in scalable transports. DualPI2 puts such packets into its L queue.
        Ect1 = "ect1",
    }
}

impl Codepoint {
    /// Converts the codepoint to the ECN field of packets.
    #[must_use]
    pub const fn of_packets(self) -> Ecn {
        match self {
            Self::NotEct => Ecn::NotEct,
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
        }
    }
}

params! {
    /// ECN codepoint of datagrams.
    pub struct CodepointParams {
        /// ECN field of the packets. The source never reacts to marks.
        ecn: Codepoint = "not_ect", source "RFC 3168 section 5; RFC 9331 for ECT(1)";
    }
}
