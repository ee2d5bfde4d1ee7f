//! A set of parameters with each kind of value, for tests.

use crate::base::units::{BitRate, Bytes, Probability, Threshold, Time};
use crate::{choices, params};

choices! {
    /// A colour.
    pub enum Colour { /// Red.
        Red = "red", /// Blue.
        Blue = "blue", }
}

params! {
    /// A set with each kind of value.
    pub struct Sample {
        /// A time.
        memory: Time = "3 s", in "1 ms"..="1 h", symbol "M", source "here";
        /// A rate that may be absent.
        rate: Option<BitRate> = null, in "1 bit/s"..="1 Gbit/s", source "here";
        /// A size.
        size: Bytes = "10 kB", in "1 B"..="1 GB", source "here";
        /// A threshold.
        threshold: Threshold = "3 packets", in "1 packets"..="9 packets", source "here";
        /// A count.
        flows: u64 = 1, in 1..=100, source "here";
        /// A number.
        factor: f64 = 1.5, in 0.0..=10.0, source "here";
        /// A probability.
        share: Probability = 0.5, in 0.0..=1.0, source "here";
        /// A flag.
        is_on: bool = true, source "here";
        /// A text.
        word: String = "word", source "here";
        /// A choice.
        colour: Colour = "red", source "here";
    }
}
