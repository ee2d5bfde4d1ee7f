//! The ECN field of datagrams: what all sources of UDP but calls have in common.

use fairlane_schemes::contract::packet::Ecn;
use fairlane_schemes::{choices, params};

choices! {
    /// Codepoint of the ECN field.
    pub enum Codepoint {
        /// Not ECN-capable.
        NotEct = "not_ect",
        /// ECN-capable, as of classic transports.
        Ect0 = "ect0",
        /// ECN-capable, as of scalable transports: DualPI2 puts it into its L queue.
        Ect1 = "ect1",
    }
}

impl Codepoint {
    /// Conversion to the field in packets.
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
