//! The contract of a preset.

use super::link::LinkConfig;
use fairlane_schemes::base::config::ParamSet;

/// What the catalogue says about a topology.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// One or two sentences.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The links in a row of text.
    pub picture: &'static str,
}

/// A named arrangement of links: a few keys that compile to a graph.
pub trait Preset: ParamSet {
    /// Its entry in the catalogue.
    const ABOUT: About;
    /// Whether receivers have access links of their own.
    const HAS_RECEIVER_LINKS: bool = true;
    /// Whether its first link may have what a link of a graph may have beyond rate and delay: steps, a trace, loss,
    /// jitter.
    const HAS_COURSE: bool = false;

    /// Its links, in the order in which a group without a route crosses them.
    fn links(&self) -> Vec<LinkConfig>;
}
