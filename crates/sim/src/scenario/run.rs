//! Duration, replications and seed of a scenario.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::params;

params! {
    /// Duration, replications and seed.
    pub struct RunParams {
        /// Simulated time before the measurement.
        warmup: Time = "100 s", in "0 s"..="720 h", source "abc2018 IV-A5";
        /// Simulated duration of the measurement.
        measure: Time = "100 s", in "1 ms"..="720 h", source "abc2018 IV-A5";
        /// Independent replications.
        replications: u32 = 10, in 1..=100000, source "abc2018 IV-A5";
        /// Seed of all random streams.
        seed: u64 = 1, in 0..=18446744073709551615, source "our choice";
    }
}

impl RunParams {
    /// End of the run.
    #[must_use]
    pub fn end(&self) -> Time {
        self.warmup + self.measure
    }
}
