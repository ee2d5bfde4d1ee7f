//! Trait that a preset implements.

use super::link::LinkConfig;
use fairlane_schemes::base::config::ParamSet;

/// Catalogue entry of a topology.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// One or two sentences.
    pub summary: &'static str,
    /// Source.
    pub source: &'static str,
    /// Picture of the links as text.
    pub picture: &'static str,
}

/// A named arrangement of links: a few keys that expand to a graph.
pub trait Preset: ParamSet {
    /// Catalogue entry.
    const ABOUT: About;
    /// True if receivers have separate access links.
    const HAS_RECEIVER_LINKS: bool = true;
    /// True if the first link may have the optional keys of a graph's link: a rate schedule, a trace, and impairments.
    const HAS_COURSE: bool = false;

    /// Returns the links in the order in which a group without a route crosses them.
    fn links(&self) -> Vec<LinkConfig>;
}
