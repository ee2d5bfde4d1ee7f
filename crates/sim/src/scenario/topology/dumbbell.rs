//! Dumbbells: all users share one bottleneck.

use super::link::{LinkConfig, LinkParams};
use super::preset::{About, Preset};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::params;

params! {
    /// The bottleneck of a dumbbell, or each link of a parking lot.
    pub struct BottleneckParams {
        /// Rate of the bottleneck.
        bottleneck_rate: BitRate = "10 Mbit/s", in "1 kbit/s"..="10 Tbit/s", symbol "C_b", source "abc2018 Table 1";
        /// Propagation delay of the bottleneck.
        bottleneck_delay: Time = "5 ms", in "0 s"..="1 h", symbol "D_b", source "abc2018 Table 1";
    }
}

impl BottleneckParams {
    pub(super) fn link(&self, name: &str) -> LinkConfig {
        LinkConfig::plain(name, LinkParams { rate: self.bottleneck_rate, delay: self.bottleneck_delay })
    }
}

params! {
    /// One bottleneck to a server.
    pub struct OneSidedDumbbell {
        with bottleneck: BottleneckParams;
    }
}

impl Preset for OneSidedDumbbell {
    const ABOUT: About = About {
        summary: "Users, each behind a separate access link, share one bottleneck to a server. Meters and the \
                  discipline under study are at the edge node; the base RTT is 2 (D_a + D_b).",
        source: "abc2018 Fig. 2",
        picture: "users --[access link: C_a, D_a]-- edge node --[bottleneck: C_b, D_b]-- server",
    };
    const HAS_RECEIVER_LINKS: bool = false;
    const HAS_COURSE: bool = true;

    fn links(&self) -> Vec<LinkConfig> {
        vec![self.bottleneck.link("bottleneck")]
    }
}

params! {
    /// One bottleneck to receivers with separate access links.
    pub struct TwoSidedDumbbell {
        with bottleneck: BottleneckParams;
    }
}

impl Preset for TwoSidedDumbbell {
    const ABOUT: About = About {
        summary: "As the one-sided dumbbell, with an access link for each receiver; delays of both sides may differ \
                  by group.",
        source: "afpft III, afc 4",
        picture: "users --[access link]-- edge node --[bottleneck: C_b, D_b]-- node --[receiver's access link]-- \
                  receivers",
    };
    const HAS_COURSE: bool = true;

    fn links(&self) -> Vec<LinkConfig> {
        vec![self.bottleneck.link("bottleneck")]
    }
}
