//! Stop time of a source, shared by all kinds of sources.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::params;

params! {
    /// Stop time of a source.
    pub struct StopParams {
        /// Time after which flows send no new data, and no transfer, session or datagram starts.
        stop: Option<Time> = null, in "0 s"..="1440 h", source "our choice";
    }
}
