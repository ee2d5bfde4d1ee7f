//! When a source stops: what all kinds of sources have in common.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::params;

params! {
    /// When a source stops.
    pub struct StopParams {
        /// When the source stops: a flow sends no new data from then on, and no transfer, session or datagram begins;
        /// what is under way is finished. It must be after `start_until`, and before the end of the run.
        stop: Option<Time> = null, in "0 s"..="1440 h", source "our choice";
    }
}
