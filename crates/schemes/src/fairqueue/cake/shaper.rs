//! CAKE's shaper: sends below the rate of the link, and counts the bytes that a packet occupies on a link further on.

use crate::contract::prelude::*;
use std::num::NonZeroU64;

choices! {
    /// Framing of the link further on.
    pub enum Framing {
        /// None.
        NoAtm = "noatm",
        /// ATM: cells of 53 bytes carry 48.
        Atm = "atm",
        /// PTM, of VDSL2: one byte more for each 64.
        Ptm = "ptm",
    }
}

params! {
    /// CAKE's shaper.
    pub struct ShaperParams {
        /// Rate of the shaper; absent: unlimited.
        bandwidth: Option<BitRate> = null, in "1 kbit/s"..="1 Tbit/s", source "tc-cake(8)";
        /// Added to the length of each packet.
        overhead: Option<Bytes> = null, in "0 B"..="256 B", source "tc-cake(8)";
        /// Minimum length, including the overhead.
        mpu: Option<Bytes> = null, in "0 B"..="256 B", source "tc-cake(8)";
        /// Framing of the link further on; absent: `noatm`.
        framing: Option<Framing> = null, source "tc-cake(8)";
    }
}

/// Shaper of one port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    /// Rate in bit/s.
    rate: Option<NonZeroU64>,
    overhead: u16,
    mpu: u16,
    framing: Framing,
    /// Time before which no packet may be sent.
    pub(super) ready: Time,
}

impl Shaper {
    pub(super) fn new(params: &ShaperParams) -> Self {
        let bytes = |bytes: &Option<Bytes>| bytes.map_or(0, |bytes| bytes.0 as u16);
        Self {
            rate: params.bandwidth.and_then(|bandwidth| NonZeroU64::new(bandwidth.0)),
            overhead: bytes(&params.overhead),
            mpu: bytes(&params.mpu),
            framing: params.framing.unwrap_or(Framing::NoAtm),
            ready: Time::ZERO,
        }
    }

    /// Rate of the shaper, or of the link if there is no shaper.
    pub(super) fn rate_at(&self, link: BitRate) -> BitRate {
        self.rate.map_or(link, |rate| BitRate(rate.get()))
    }

    /// Length of a packet on the link further on: rule (11).
    pub(super) fn length(&self, wire_bytes: u32) -> u64 {
        let bytes = (u64::from(wire_bytes) + u64::from(self.overhead)).max(self.mpu.into());
        match self.framing {
            Framing::NoAtm => bytes,
            Framing::Atm => bytes.div_ceil(48) * 53,
            Framing::Ptm => bytes + bytes.div_ceil(64),
        }
    }

    /// Applies rule (12) to a packet that arrives at an empty port.
    pub(super) fn rested(&mut self, now: Time) {
        self.ready = self.ready.max(now);
    }

    /// Applies rule (12) to a sent packet of this length.
    pub(super) fn sent(&mut self, length: u64) {
        if let Some(rate) = self.rate {
            self.ready += BitRate(rate.get()).time_of(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_cake_calc_overhead() {
        let length = |framing, overhead, mpu, wire_bytes| {
            let [overhead, mpu] = [overhead, mpu].map(|bytes| Some(Bytes(bytes)));
            Shaper::new(&ShaperParams { bandwidth: None, overhead, mpu, framing: Some(framing) }).length(wire_bytes)
        };
        // 1518 B fill 31.6 cells of 48 B; 48 B fill one, and 49 B two.
        assert_eq!(length(Framing::Atm, 18, 0, 1500), 32 * 53);
        assert_eq!([length(Framing::Atm, 8, 0, 40), length(Framing::Atm, 9, 0, 40)], [53, 2 * 53]);
        // 1530 B are 23.9 times 64 B; 64 B take 65, and 65 B take 67.
        assert_eq!(length(Framing::Ptm, 30, 0, 1500), 1530 + 24);
        assert_eq!([length(Framing::Ptm, 0, 0, 64), length(Framing::Ptm, 0, 0, 65)], [65, 67]);
        // The minimum includes the overhead, but not the framing.
        assert_eq!([length(Framing::NoAtm, 38, 84, 40), length(Framing::NoAtm, 38, 84, 1500)], [84, 1538]);
        assert_eq!(length(Framing::Atm, 0, 97, 40), 3 * 53);
        assert_eq!(Shaper::new(&ShaperParams::default()).length(u32::MAX), u64::from(u32::MAX));
    }
}
