//! The parking lot: links in a row.

use super::dumbbell::BottleneckParams;
use super::link::LinkConfig;
use super::preset::{About, Preset};
use fairlane_schemes::params;

params! {
    /// Links of a parking lot.
    pub struct ParkingLot {
        /// Links in a row, named link1, link2 ...
        congested_links: u32 = 3, in 1..=1000, symbol "L", source "afpft III-D";
        with bottleneck: BottleneckParams;
    }
}

impl Preset for ParkingLot {
    const ABOUT: About = About {
        summary: "Links in a row. A group crosses all of them, or those that its route names: cross traffic.",
        source: "afpft Fig. 4(b)",
        picture: "users --[access link]-- node --[link1: C_b, D_b]-- node --[link2: C_b, D_b]-- ... --[access link]-- \
                  receivers",
    };

    fn links(&self) -> Vec<LinkConfig> {
        (1..=self.congested_links).map(|number| self.bottleneck.link(&format!("link{number}"))).collect()
    }
}
