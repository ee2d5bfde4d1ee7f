//! A test of responsiveness: load-generating connections and probes.

use super::stop::StopParams;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::params;

params! {
    /// A test of responsiveness of each user: greedy TCP flows as load, and probes over separate connections.
    pub struct RpmParams {
        /// Load-generating connections of each user.
        flows: u32 = 16, in 1..=1000, symbol "MNP", source "draft-ietf-ippm-responsiveness-09, test parameters";
        /// Mean of the exponential time between two probes of a user, from `start_from` on.
        interval: Time = "100 ms", in "10 ms"..="1 h", source "our choice; 100 a second at most in the draft, MPS";
        with until: StopParams;
    }
}
