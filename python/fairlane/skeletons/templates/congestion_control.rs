//! $Type: how it treats the window, in one sentence. Source: authors, "title", year, section; or RFC.
//!
//! Deviations:
//! 1. Differences from the source, with reasons.

use super::control::{Connection, Control, Flight, Progress, Window};
use fairlane_schemes::params;

params! {
    /// $Type has no parameters yet; the names of its keys in `[tcp]` start with `${name}_`.
    pub struct ${Type}Params {}
}

/// State of a sender with $Type between ACKs.
#[derive(Clone, Debug)]
pub struct $Type;

impl Control for $Type {
    type Params = ${Type}Params;

    #[inline]
    fn new(_: Connection, _: &${Type}Params, _: u64) -> Self {
        Self
    }

    /// Does not grow.
    #[inline]
    fn avoid(&mut self, _: Connection, _: &${Type}Params, _: Window<'_>, _: Progress) {}

    /// Half of the flight.
    fn reduce(&mut self, _: Connection, _: &${Type}Params, flight: Flight) -> u64 {
        flight.used() / 2
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_window_grows_as_the_source_says() {
        panic!("$name: write its growth in `$Type::avoid`, and here a window that is derived from the equation");
    }
}
