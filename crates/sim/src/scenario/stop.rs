//! When a source stops: what all kinds of sources have in common.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::params;

params! {
    /// Stop time of a source.
    pub struct StopParams {
        /// Stop time of the source: afterwards, flows send no new data, and no transfer, session or datagram starts.
        /// Started ones are completed. It must be after `start_until` and before the end of the run.
        stop: Option<Time> = null, in "0 s"..="1440 h", source "our choice";
    }
}
